/* Is an equal verdict ever wrong? Two independent answers.
 *
 * Damage: every bit-flipped byte of what an object holds, and every altered relocation, must be called different.
 * Variants: many small changes of one source are compiled, loaded and run; two objects that are called equal must
 * give the same results.
 */
#include "base/text.h"
#include "port/object_compare.h"
#include "port/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct fixture {
	struct arena arena;
	char dir[64];
};

static void run(struct fixture *fixture, const char *command)
{
	struct proc_request request = {.cpu = -1, .directory = fixture->dir};
	assert_true(shell_split(&fixture->arena, command, &request.argv));
	struct proc_result result;
	struct err err = ERR_INIT;
	assert_int_equal(proc_run(&fixture->arena, &request, &result, &err), ST_OK);
	if (!proc_ok(&result))
		fail_msg("%s: %s", command, result.err);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	arena_init(&fixture->arena);
	snprintf(fixture->dir, sizeof fixture->dir, "/tmp/assay-mutation-XXXXXX");
	*state = fixture;
	return mkdtemp(fixture->dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	run(fixture, arena_printf(&fixture->arena, "rm -rf %s", fixture->dir));
	arena_release(&fixture->arena);
	free(fixture);
	return 0;
}

static void file_write(struct fixture *fixture, const char *name, const char *text)
{
	FILE *file = fopen(path_join(&fixture->arena, fixture->dir, name), "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static bool differ(struct fixture *fixture, struct object *a, struct object *b, bool thorough, const char **ret_text)
{
	struct code_difference difference = {0};
	object_compare(a, b, "x.c", thorough, &fixture->arena, &difference);
	*ret_text = difference.changed.count ? difference.changed.at[0].name
	            : difference.data.count  ? difference.data.at[0].name
	                                     : "nothing";
	return difference.differ;
}

/* ---- damage ------------------------------------------------------------------------------------------------------- */

static const char base_source[] =
    "extern int sink(const char *, ...); extern int other(int), far[]; extern __thread int tls;\n"
    "static int state = 7, zero; static long *where = (long *)&state; int common_like;\n"
    "static const short table[9] = {3, 1, 4, 1, 5, 9, 2, 6, 5};\n"
    "static const char *const words[] = {\"alpha\", \"beta\", \"gamma\"};\n"
    "static __attribute__((noinline)) int one(int x) { return x * 5 + state; }\n"
    "static __attribute__((noinline)) int two(int x) { return x * 7 - zero++; }\n"
    "int (*const calls[])(int) = {one, two, other};\n"
    "int f(int a, unsigned b, double d)\n"
    "{\n"
    "	int r = a + (int)b;\n"
    "	switch (b % 11) {\n"
    "	case 0: r += one(a); break;\n"
    "	case 1: r -= two(a + 1); break;\n"
    "	case 2: r ^= sink(\"word %d\", table[b % 9]); break;\n"
    "	case 3: r *= 3; break;\n"
    "	case 4: r = far[2] - far[5]; break;\n"
    "	case 5: r += sink(words[b % 3]); break;\n"
    "	case 6: tls += r; break;\n"
    "	case 7: r = calls[b & 1](r); break;\n"
    "	case 8: r += (int)(d * 1.75 + (float)d * 2.5f); break;\n"
    "	case 9: where[0] = r; break;\n"
    "	default: r = one(two(r)); break;\n"
    "	}\n"
    "	for (int i = 0; i < a; i++)\n"
    "		r += table[i % 9] << (i & 3);\n"
    "	return r;\n"
    "}\n";

struct image {
	uint8_t *bytes;
	size_t size;
};

static struct image image_read(struct fixture *fixture, const char *name)
{
	const char *path = path_join(&fixture->arena, fixture->dir, name);
	struct stat info;
	assert_int_equal(stat(path, &info), 0);
	struct image image = {arena_alloc(&fixture->arena, (size_t)info.st_size), (size_t)info.st_size};
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(image.bytes, 1, image.size, file), image.size);
	fclose(file);
	return image;
}

static struct object *parse(const struct image *image)
{
	struct object *object = NULL;
	struct err err = ERR_INIT;
	return object_parse(image->bytes, image->size, "x.o", &object, &err) == ST_OK ? object : NULL;
}

/* Must the damaged image be called different from the sound one, in both ways of comparing? A damage that is refused
 * with a sentence is as good. */
static void expect_noticed(struct fixture *fixture, struct object *sound, const struct image *damaged, const char *what,
                           uint64_t at)
{
	struct object *object = parse(damaged);
	if (!object)
		return;
	const char *text = NULL;
	for (int thorough = 0; thorough < 2; thorough++)
		if (!differ(fixture, sound, object, thorough, &text))
			fail_msg("%s at %llu: damage is called equal (thorough: %d)", what, (unsigned long long)at, thorough);
	object_free(object);
}

static bool in_symbol(const struct object *object, size_t section, uint64_t offset)
{
	for (size_t i = 0; i < object->symbol_count; i++) {
		const struct object_symbol *symbol = &object->symbols[i];
		if (symbol->place == PLACE_SECTION && symbol->section == section && offset >= symbol->value &&
		    offset < symbol->value + symbol->size)
			return true;
	}
	return false;
}

static unsigned damage_bytes(struct fixture *fixture, struct object *sound, const struct image *image, const char *cc)
{
	unsigned flips = 0;
	Elf64_Ehdr *header = (Elf64_Ehdr *)image->bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(image->bytes + header->e_shoff);
	for (size_t s = 0; s < header->e_shnum; s++) {
		const struct object_section *section = &sound->sections[s];
		if (!section->ordinary || section->nobits || text_starts(section->name, ".eh_frame"))
			continue;
		for (uint64_t at = 0; at < section->size; at++) {
			/* Between functions stands padding. */
			if (section->exec && !in_symbol(sound, s, at))
				continue;
			uint8_t *byte = image->bytes + sections[s].sh_offset + at, old = *byte;
			*byte ^= (uint8_t)(1u << (at * 5 % 8));
			expect_noticed(fixture, sound, image, arena_printf(&fixture->arena, "%s: %s", cc, section->name), at);
			*byte = old;
			flips++;
		}
	}
	return flips;
}

static unsigned damage_relocs(struct fixture *fixture, struct object *sound, const struct image *image, const char *cc)
{
	unsigned changes = 0;
	Elf64_Ehdr *header = (Elf64_Ehdr *)image->bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(image->bytes + header->e_shoff);
	for (size_t s = 0; s < header->e_shnum; s++) {
		if (sections[s].sh_type != SHT_RELA)
			continue;
		const struct object_section *target = &sound->sections[sections[s].sh_info];
		if (!target->ordinary || text_starts(target->name, ".eh_frame"))
			continue;
		Elf64_Rela *relocs = (Elf64_Rela *)(image->bytes + sections[s].sh_offset);
		size_t count = sections[s].sh_size / sizeof *relocs;
		for (size_t i = 0; i < count; i++) {
			Elf64_Rela old = relocs[i];
			const char *what = arena_printf(&fixture->arena, "%s: relocation of %s", cc, target->name);
			static const int64_t steps[] = {1, -1, 2, 4, -4, 8, 16, 64};
			for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
				relocs[i].r_addend = old.r_addend + steps[k];
				expect_noticed(fixture, sound, image, arena_printf(&fixture->arena, "%s, addend", what), old.r_offset);
				changes++;
			}
			relocs[i] = old;
			size_t symbol = ELF64_R_SYM(old.r_info);
			uint32_t type = ELF64_R_TYPE(old.r_info);
			for (size_t k = 1; k < sound->symbol_count; k++) {
				const struct object_symbol *was = &sound->symbols[symbol], *is = &sound->symbols[k];
				bool same_place = was->place == PLACE_SECTION && is->place == PLACE_SECTION &&
				                  was->section == is->section && was->value == is->value;
				if (k == symbol || same_place)
					continue;
				relocs[i].r_info = ELF64_R_INFO(k, type);
				expect_noticed(fixture, sound, image, arena_printf(&fixture->arena, "%s, symbol %zu", what, k), old.r_offset);
				changes++;
			}
			relocs[i] = old;
			relocs[i].r_info = ELF64_R_INFO(symbol, type == R_X86_64_PC32 ? R_X86_64_PLT32 : R_X86_64_PC32);
			expect_noticed(fixture, sound, image, arena_printf(&fixture->arena, "%s, type", what), old.r_offset);
			relocs[i] = old;
			relocs[i].r_offset = old.r_offset + 1;
			expect_noticed(fixture, sound, image, arena_printf(&fixture->arena, "%s, offset", what), old.r_offset);
			relocs[i] = old;
			changes += 2;
		}
	}
	return changes;
}

static void damage_is_noticed(void **state)
{
	struct fixture *fixture = *state;
	static const char *const commands[] = {"gcc-12 -O2", "gcc-12 -O2 -fno-pie -ffunction-sections", "clang-19 -O2 -fPIC",
	                                       "gcc-12 -O0"};
	file_write(fixture, "x.c", base_source);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		run(fixture, arena_printf(&fixture->arena, "%s -w -c x.c -o x.o", commands[i]));
		struct image image = image_read(fixture, "x.o");
		struct object *sound = parse(&image);
		assert_non_null(sound);
		const char *text = NULL;
		struct object *again = parse(&image);
		assert_false(differ(fixture, sound, again, false, &text));
		if (differ(fixture, sound, again, true, &text))
			fail_msg("%s: differs from itself: %s", commands[i], text);
		object_free(again);
		assert_true(damage_bytes(fixture, sound, &image, commands[i]) > 400);
		assert_true(damage_relocs(fixture, sound, &image, commands[i]) > 400);
		object_free(sound);
	}
}

/* ---- variants ------------------------------------------------------------------------------------------------------ */

static const char variant_source[] =
    "static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
    "static int state[4] = {1, 2, 3, 4};\n"
    "static __attribute__((noinline)) int one(int x) { return x * 5 + state[x & 1]; }\n"
    "static __attribute__((noinline)) int two(int x) { return x * 7 + state[x & 3]; }\n"
    "static int text(const char *s) { int r = 0; while (*s) r = r * 31 + *s++; return r; }\n"
    "const char *word(int k) { return k & 1 ? \"odd one\" : \"even one\"; }\n"
    "int f(int a, unsigned b)\n"
    "{\n"
    "	unsigned r = (unsigned)a + b;\n"
    "	switch (b % 8) {\n"
    "	case 0: r += one(a); break;\n"
    "	case 1: r -= two(a + 1); break;\n"
    "	case 2: r ^= table[b % 7]; break;\n"
    "	case 3: r *= 3; break;\n"
    "	case 4: r = state[2] - state[1]; break;\n"
    "	case 5: r += (unsigned)((double)a * 1.75); break;\n"
    "	case 6: r += (unsigned)((float)a * 2.5f); break;\n"
    "	default: r = one(two(r)); break;\n"
    "	}\n"
    "	for (int i = 0; i < (a & 7); i++)\n"
    "		r += table[i] << (i & 3);\n"
    "	state[b & 3] += 1;\n"
    "	return (int)r + text(word(a));\n"
    "}\n";

static const struct {
	const char *from, *to;
} changes[] = {
    {"", ""},
    {"\n", "\n\n"},
    {"unsigned r", "register unsigned r"},
    {"(unsigned)a + b", "b + (unsigned)a"},
    {"int one(int x) { return x * 5", "int one(int y) { int x = y; return x * 5"},
    {"(unsigned)a + b", "(unsigned)a - b"},
    {"(unsigned)a + b", "(unsigned)a + b + 1"},
    {"3, 1, 4, 1, 5, 9, 2, 6}", "3, 1, 4, 1, 5, 9, 6, 2}"},
    {"3, 1, 4, 1, 5, 9, 2, 6}", "3, 1, 4, 2, 5, 9, 2, 6}"},
    {"{1, 2, 3, 4}", "{1, 2, 3, 5}"},
    {"{1, 2, 3, 4}", "{2, 1, 3, 4}"},
    {"x * 5 + state[x & 1]", "x * 5 + state[x & 2]"},
    {"x * 5 + state[x & 1]", "x * 7 + state[x & 3]"},
    {"x * 7 + state[x & 3]", "x * 5 + state[x & 1]"},
    {"\"odd one\" : \"even one\"", "\"even one\" : \"odd one\""},
    {"\"odd one\"", "\"odd ones\""},
    {"\"odd one\"", "\"odd onf\""},
    {"case 0: r += one(a)", "case 0: r += two(a)"},
    {"case 1: r -= two(a + 1)", "case 1: r -= one(a + 1)"},
    {"case 1: r -= two(a + 1)", "case 1: r -= two(a + 2)"},
    {"case 0: r += one(a); break;\n	case 1: r -= two(a + 1)", "case 1: r += one(a); break;\n	case 0: r -= two(a + 1)"},
    {"table[b % 7]", "table[b % 7 + 1]"},
    {"r *= 3", "r *= 5"},
    {"state[2] - state[1]", "state[1] - state[2]"},
    {"state[2] - state[1]", "state[3] - state[1]"},
    {"1.75", "1.5"},
    {"1.75", "2.5"},
    {"2.5f", "1.75f"},
    {"one(two(r))", "two(one(r))"},
    {"one(two(r))", "one(one(r))"},
    {"a & 7", "a & 6"},
    {"i < (a", "i <= (a"},
    {"i & 3)", "i & 1)"},
    {"state[b & 3] += 1", "state[b & 1] += 1"},
    {"state[b & 3] += 1", "state[b & 3] += 2"},
    {"r = r * 31", "r = r * 33"},
    {"(int)r + text", "(int)r - text"},
    {"k & 1 ?", "k & 2 ?"},
    {"static __attribute__((noinline)) int one(int x) { return x * 5 + state[x & 1]; }\n", ""}, /* moved behind, below */
};
#define CHANGES (sizeof changes / sizeof *changes)

static const char *variant_text(struct arena *arena, size_t change)
{
	const char *from = changes[change].from, *to = changes[change].to;
	const char *at = strstr(variant_source, from);
	assert_non_null(at);
	const char *text = arena_printf(arena, "%.*s%s%s", (int)(at - variant_source), variant_source, to, at + strlen(from));
	if (change + 1 == CHANGES) {
		const char *place = strstr(text, "static int text");
		text = arena_printf(arena, "%.*s%s%s", (int)(place - text), text, from, place);
	}
	return text;
}

enum { CALLS = 256 };

static void results_of(struct fixture *fixture, const char *library, int *ret_results)
{
	void *handle = dlopen(path_join(&fixture->arena, fixture->dir, library), RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		fail_msg("%s", dlerror());
	int (*f)(int, unsigned) = NULL;
	*(void **)&f = dlsym(handle, "f");
	assert_non_null(f);
	uint32_t seed = 12345;
	for (size_t i = 0; i < CALLS; i++) {
		seed = seed * 1664525 + 1013904223;
		ret_results[i] = f((int)(seed >> 20), seed >> 8 & 0xffff);
	}
	dlclose(handle);
}

static void equal_variants_give_equal_results(void **state)
{
	struct fixture *fixture = *state;
	struct arena *arena = &fixture->arena;
	static const char *const commands[] = {"gcc-12 -O2 -fPIC", "gcc-12 -O1 -fPIC -fdata-sections -ffunction-sections",
	                                       "clang-19 -O2 -fPIC"};
	for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
		struct object *objects[CHANGES] = {0};
		static int results[CHANGES][CALLS];
		for (size_t i = 0; i < CHANGES; i++) {
			file_write(fixture, "x.c", variant_text(arena, i));
			run(fixture, arena_printf(arena, "%s -w -c x.c -o x.o", commands[c]));
			const char *library = arena_printf(arena, "%zu-%zu.so", c, i);
			run(fixture, arena_printf(arena, "gcc-12 -shared x.o -o %s", library));
			struct image image = image_read(fixture, "x.o");
			objects[i] = parse(&image);
			assert_non_null(objects[i]);
			results_of(fixture, library, results[i]);
		}
		unsigned equal = 0, different = 0;
		for (size_t i = 0; i < CHANGES; i++)
			for (size_t k = 0; k < i; k++) {
				const char *quick_text = NULL, *text = NULL;
				bool quick = differ(fixture, objects[i], objects[k], false, &quick_text);
				bool thorough = differ(fixture, objects[i], objects[k], true, &text);
				assert_int_equal(quick, thorough);
				bool same_results = memcmp(results[i], results[k], sizeof results[i]) == 0;
				if (!thorough && !same_results)
					fail_msg("%s: %zu (`%s`) and %zu (`%s`) are called equal, but their results differ", commands[c], i,
					         changes[i].to, k, changes[k].to);
				equal += !thorough;
				different += thorough;
			}
		/* The first five and the moved function are the same program: 15 pairs. */
		if (equal < 10)
			fail_msg("%s: only %u pairs are called equal", commands[c], equal);
		assert_true(different > 600);
		for (size_t i = 0; i < CHANGES; i++)
			object_free(objects[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(damage_is_noticed, setup, teardown),
	    cmocka_unit_test_setup_teardown(equal_variants_give_equal_results, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
