/* The order in which threads get CPUs, by small trees of /sys. */
#include "port/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static void put(struct arena *arena, const char *root, int cpu, const char *name, const char *text)
{
	static const char *const folders[] = {"sys", "devices", "system", "cpu", NULL};
	const char *path = root;
	for (int i = 0; folders[i]; i++)
		mkdir(path = arena_printf(arena, "%s/%s", path, folders[i]), 0700);
	mkdir(path = arena_printf(arena, "%s/cpu%d", path, cpu), 0700);
	mkdir(path = arena_printf(arena, "%s/topology", path), 0700);
	FILE *file = fopen(arena_printf(arena, "%s/%s", path, name), "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void ordered(struct arena *arena, const char *root, int count, int first, const char *wanted)
{
	struct cpu_list cpus = {0}, order;
	for (int cpu = 0; cpu < count; cpu++)
		list_push(arena, &cpus, cpu);
	topology_order(arena, root, &cpus, first, &order);
	assert_string_equal(cpu_list_text(arena, &order, order.count), wanted);
}

static void siblings_come_last(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	char root[] = "/tmp/assay-topology-test-XXXXXX";
	assert_non_null(mkdtemp(root));
	/* Nothing is known: each a core. */
	ordered(&arena, root, 3, 1, "1,2,0");
	/* Two packages of two cores with two threads each, numbered as Linux does: 0 and 4 are one core's. */
	static const char *const siblings[] = {"0,4\n", "1,5\n", "2,6\n", "3,7\n"};
	for (int cpu = 0; cpu < 8; cpu++) {
		put(&arena, root, cpu, "thread_siblings_list", siblings[cpu % 4]);
		put(&arena, root, cpu, "physical_package_id", cpu % 4 < 2 ? "0\n" : "1\n");
	}
	ordered(&arena, root, 8, 7, "7,6,5,4,3,2,1,0");
	ordered(&arena, root, 8, 0, "0,5,7,6,4,1,3,2");
	struct cpu_list none = {0}, order;
	topology_order(&arena, root, &none, -1, &order);
	assert_int_equal(order.count, 0);
	assert_string_equal(cpu_list_text(&arena, &order, 0), "");
	assert_int_equal(system(arena_printf(&arena, "rm -r %s", root)), 0);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(siblings_come_last)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
