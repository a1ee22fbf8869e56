# Sourced by the cases of tests/fault: a small project of its own, assay run on it, and what is expected of it.
# shellcheck shell=bash
#
# The project has two workloads. `sum` exercises src/sum.c, `other` exercises src/other.c, which empties `restrict`
# without any use after it: a finding that is settled at rung tokens, so what a fault leaves alone is quick to see.

set -euo pipefail
export LC_ALL=C NO_COLOR=1
: "${ASSAY:?the path of the program under test}" "${FLATTEN:?the path of fault_flatten}"
case_name=$(basename "$0")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/assay-fault-XXXXXX")
chmod 755 "$scratch"
trap 'chmod -R u+w "$scratch" 2>/dev/null || :; rm -rf "$scratch"' EXIT
mkdir "$scratch"/{bin,state,tmp,logs}
# A copy: it has to work wherever it lies, and another user may have to reach it.
cp "$ASSAY" "$scratch/bin/assay"
export XDG_STATE_HOME=$scratch/state XDG_CACHE_HOME=$scratch/cache TMPDIR=$scratch/tmp
project=$scratch/project
command_line='' status=0

fail()
{
	{
		printf 'fault/%s: %s\n' "$case_name" "$*"
		printf -- '--- command (status %s): %s\n' "$status" "$command_line"
		for file in stdout stderr; do
			[[ ! -s $scratch/logs/$file ]] || printf -- '--- %s\n%s\n' "$file" "$(tail -n 60 "$scratch/logs/$file")"
		done
	} >&2
	exit 1
}

skip()
{
	printf 'skip: fault/%s: %s\n' "$case_name" "$*"
	exit 77
}

# ---- the project -----------------------------------------------------------------------------------------------------

# The claims are added by hypothesis_add, the commands by command_add.
project_make()
{
	mkdir -p "$project"/{src,bench,patches}
	cat >"$project/src/sum.c" <<'EOF'
#include "sum.h"

unsigned sum(const unsigned char *data, unsigned long size)
{
	unsigned value = 1;
	for (unsigned long i = 0; i < size; i++)
		value = value * 31 + data[i];
	return value;
}
EOF
	printf 'unsigned sum(const unsigned char *data, unsigned long size);\n' >"$project/src/sum.h"
	cat >"$project/src/other.c" <<'EOF'
#include "other.h"

unsigned other(const unsigned char *data, unsigned long size)
{
	unsigned count = 0;
	for (unsigned long i = 0; i < size; i++)
		count += data[i] == ' ';
	return count;
}

/* Disable restrict */
#define restrict
EOF
	printf 'unsigned other(const unsigned char *data, unsigned long size);\n' >"$project/src/other.h"
	local name
	for name in sum other; do
		cat >"$project/bench/$name.c" <<EOF
#include <assay/bench.h>
#include "$name.h"
#include <stdlib.h>

struct state {
	unsigned char data[4096];
	unsigned result;
};
static void *setup(struct assay_bench *bench)
{
	struct state *s = calloc(1, sizeof(*s));
	if (!s)
		assay_fail(bench, "no memory");
	assay_fill_text(bench, s->data, sizeof(s->data));
	return s;
}
static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	for (uint64_t i = 0; i < iterations; i++) {
		assay_keep(s->data);
		s->result = $name(s->data, sizeof(s->data));
		assay_keep(&s->result);
	}
}
static void output(void *state, struct assay_bench *bench)
{
	struct state *s = state;
	assay_output(bench, "result", &s->result, sizeof(s->result));
}
const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .teardown = free};
EOF
	done
	cat >"$project/assay.yaml" <<'EOF'
compile_commands: compile_commands.json
scan: [src]
workloads:
  - name: sum
    bench: bench/sum.c
    sources: [src/sum.c]
    flags: [-Isrc]
  - name: other
    bench: bench/other.c
    sources: [src/other.c]
    flags: [-Isrc]
EOF
	printf '[\n]\n' >"$project/compile_commands.json"
	command_add src/sum.c -Isrc
	command_add src/other.c -Isrc
}

# command_add FILE FLAG…: to the database.
command_add()
{
	local file=$1 separator='' text
	shift
	[[ $(wc -l <"$project/compile_commands.json") == 2 ]] || separator=,
	text="$separator{\"directory\": \"$project\", \"file\": \"$file\", \"command\": \"gcc-12 -O2 $* -c $file\"}"
	sed -i "\$i $text" "$project/compile_commands.json"
}

# patch_make NAME FILE SED-SCRIPT: patches/NAME.patch, and a claim of that name.
patch_make()
{
	local name=$1 file=$2
	sed "$3" "$project/$file" >"$scratch/changed"
	if diff -u --label "a/$file" --label "b/$file" "$project/$file" "$scratch/changed" >"$project/patches/$name.patch"; then
		fail "the case is wrong: patch $name changes nothing"
	fi
	hypothesis_add "$name"
}

# hypothesis_add NAME: a claim for the workload sum, whose patch is patches/NAME.patch.
hypothesis_add()
{
	grep -q '^hypotheses:' "$project/assay.yaml" || printf 'hypotheses:\n' >>"$project/assay.yaml"
	printf '  - name: %s\n    patch: patches/%s.patch\n    claim: 5 %%\n' "$1" "$1" >>"$project/assay.yaml"
}

# A change of the comments only: settled at rung tokens.
patch_harmless()
{
	# shellcheck disable=SC2016
	patch_make harmless src/sum.c '1i /* A comment more. */'
}

# What lies in the project, every byte, mode and time of change of it.
project_state()
{
	(cd "$project" && find . -printf '%p %y %m %s %T@\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

# ---- assay -------------------------------------------------------------------------------------------------------------

# run ARGUMENT…: assay, its status in $status, its words in logs/stdout and logs/stderr.
run()
{
	command_line="assay $*"
	status=0
	timeout --kill-after=10 200 "${prefix[@]}" "$scratch/bin/assay" "$@" >"$scratch/logs/stdout" 2>"$scratch/logs/stderr" \
		</dev/null || status=$?
	((status != 124 && status != 137)) || fail "it does not end within 200 s"
	((status < 128)) || fail "it was killed by a signal"
	! grep -qE 'Sanitizer|runtime error' "$scratch/logs/stderr" || fail "a sanitizer speaks up"
}
prefix=()

# `assay audit` of the project: its words in logs/stdout and logs/stderr, the run as JSON flat in logs/json. With kept=no,
# where the store has nothing to show, it is done a second time for that.
audit_options=() kept=yes
audit()
{
	local words
	run audit "$project" --budget 1s --seed 1 "${audit_options[@]}"
	words=$status
	mkdir "$scratch/logs/words"
	mv "$scratch"/logs/std* "$scratch/logs/words"
	if [[ $kept == yes ]]; then
		run show last --format json
		((status == 0)) || fail "the run is not kept"
	else
		run audit "$project" --budget 1s --seed 1 "${audit_options[@]}" --format json
		# 3: on a busy machine a control may show too little to judge by, in one of the two runs or in both.
		((words == status || words == 3 || status == 3)) || fail "as text it ended with status $words"
	fi
	status=$words
	[[ ! -s $scratch/logs/stdout ]] || "$FLATTEN" <"$scratch/logs/stdout" >"$scratch/logs/json" ||
		fail "what --format json prints is not JSON"
	mv "$scratch"/logs/words/* "$scratch/logs"
	rmdir "$scratch/logs/words"
}

# ---- what is expected ------------------------------------------------------------------------------------------------------

expect_status()
{
	local expected
	for expected; do
		((status != expected)) || return 0
	done
	fail "status $status, expected ${*}"
}

# trial HYPOTHESIS FIELD: of the first trial whose hypothesis has an id with this in it.
trial()
{
	local at
	at=$(sed -n "s|^\(trials\[[0-9]*\]\)\.hypothesis=.*$1.*|\1|p" "$scratch/logs/json" | head -n 1)
	[[ -n $at ]] || fail "no trial of $1"
	sed -n "s/^${at//[\[\]]/.}\.$2=//p" "$scratch/logs/json" | head -n 1
}

# expect_trial HYPOTHESIS VERDICT RUNG [REGEX]: its verdict, the rung that settled it, and what its evidence says.
expect_trial()
{
	local verdict rung evidence
	verdict=$(trial "$1" verdict)
	rung=$(trial "$1" rung)
	evidence=$(trial "$1" evidence)
	[[ $verdict == "$2" ]] || fail "$1 is \"$verdict\" at rung $rung ($evidence), expected \"$2\""
	[[ $3 == any || $rung == "$3" ]] || fail "$1 is settled at rung $rung, expected $3"
	[[ $# -lt 4 || $evidence =~ $4 ]] || fail "the evidence of $1 does not match /$4/: $evidence"
}

# The finding in src/other.c is there and settled: the rest went on.
expect_rest()
{
	expect_trial P02:src/other.c 'no effect' tokens
}

# expect_measured HYPOTHESIS: it got as far as the time rung. What comes out there is not a matter of faults, and on a busy
# machine it may be nothing at all: then the exit status is 3.
# shellcheck disable=SC2034 # the cases use it
measured=(0 3)
expect_measured()
{
	[[ $(trial "$1" rung) == time ]] || fail "$1 was not measured: $(trial "$1" verdict), $(trial "$1" evidence)"
	[[ $(trial "$1" verdict) =~ ^(faster|slower|no effect|inconclusive)$ ]] ||
		fail "$1 was measured, but its verdict is $(trial "$1" verdict): $(trial "$1" evidence)"
}

# expect_said REGEX [TIMES]: the text output says so that many times, by default once. It breaks lines where it likes,
# so all white space counts as one blank.
expect_said()
{
	local times
	times=$(cat "$scratch/logs/stdout" "$scratch/logs/stderr" | tr -s ' \t\n' ' ' | grep -oE -- "$1" | wc -l || :)
	((times == ${2:-1})) || fail "it says /$1/ $times times, expected ${2:-1}"
}
