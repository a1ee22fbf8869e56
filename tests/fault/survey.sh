# Sourced after lib.sh by the cases that measure a survey: a workload whose parameter `impl` chooses how bytes are added up.
# shellcheck shell=bash

# A feature that this CPU has, whatever it is.
# shellcheck disable=SC2034 # the cases use it
feature=$(sed -nE '/^(flags|Features)/{s/.*: *([^ ]+).*/\1/p;q}' /proc/cpuinfo)
[[ -n $feature ]] || skip '/proc/cpuinfo names no feature of this CPU'

survey_project_make()
{
	project_make
	cat >"$project/bench/impl.c" <<'END'
#include <assay/bench.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096 };
typedef uint32_t adds(const unsigned char *data);

static uint32_t plain(const unsigned char *data)
{
	uint32_t sum = 0;
	for (int i = 0; i < SIZE; i++)
		sum += data[i];
	return sum;
}
static uint32_t backwards(const unsigned char *data)
{
	uint32_t sum = 0;
	for (int i = SIZE - 1; i >= 0; i--)
		sum += data[i];
	return sum;
}
static uint32_t twice(const unsigned char *data)
{
	plain(data);
	assay_keep(data);
	return plain(data);
}
static uint32_t wrong(const unsigned char *data)
{
	return plain(data) + 1;
}
struct state {
	unsigned char data[SIZE];
	adds *impl;
	uint32_t sum;
};
static void *setup(struct assay_bench *bench)
{
	static const struct {
		const char *name;
		adds *impl;
	} known[] = {{"plain", plain}, {"again", plain}, {"backwards", backwards}, {"twice", twice}, {"wrong", wrong}};
	struct state *s = calloc(1, sizeof(*s));
	const char *name = assay_param(bench, "impl", "plain");
	if (strcmp(name, "absent") == 0 || strcmp(name, "later") == 0)
		assay_unavailable("built without it");
	for (unsigned i = 0; s && i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(name, known[i].name) == 0)
			s->impl = known[i].impl;
	if (!s || !s->impl)
		assay_fail(bench, "impl: no such implementation");
	assay_fill_random(bench, s->data, sizeof(s->data));
	assay_bytes_per_iteration(bench, sizeof(s->data));
	return s;
}
static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		assay_keep(s->data);
		s->sum = s->impl(s->data);
		assay_keep(&s->sum);
	}
}
static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	assay_output(bench, "sum", &s->sum, sizeof(s->sum));
}
const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};
END
	printf '  - name: impl\n    bench: bench/impl.c\n' >>"$project/assay.yaml"
}

# values VALUE…: as --over wants them.
values()
{
	local IFS=,
	printf 'impl=%s\n' "$*"
}

flattened()
{
	"$FLATTEN" <"$scratch/logs/stdout" >"$scratch/logs/json" || fail "what --format json prints is not JSON"
}

# survey OPTION…: of the workload impl, flat in logs/json.
survey()
{
	run try --project "$project" --workload impl --budget 1s --seed 1 "$@" --format json
	flattened
}

# field NAME, value VALUE FIELD: of the survey.
field()
{
	sed -n "s/^surveys\[0\]\.$1=//p" "$scratch/logs/json"
}
value()
{
	local at
	at=$(sed -n "s/^\(surveys\[0\]\.values\[[0-9]*\]\)\.value=$1\$/\1/p" "$scratch/logs/json")
	[[ -n $at ]] || fail "no value $1 in the survey"
	sed -n "s/^${at//[\[\]]/.}\.$2=//p" "$scratch/logs/json"
}
