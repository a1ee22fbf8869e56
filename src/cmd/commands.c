/* The table of commands: the dispatcher, the help, the manual page and the completion read it. */
#include "cmd/cmd.h"

#include <string.h>

static const char *const scan_examples[] = {
	"assay scan", "the current folder, with its compile_commands.json",
	"assay scan -p build --pattern P02 src/codec.c", "one pattern in one file, with the database of build/",
	"assay scan --patches fixes --format json -o scan.json", "the candidates as patches, the findings as JSON",
	"assay scan --baseline scan.json --changed-since main", "what a branch adds", NULL};
static const char *const explain_examples[] = {
	"assay explain", "the patterns that are known",
	"assay explain P02", "a pattern: what, why, when to leave it, what refutes it",
	"assay explain P03:lib/cipher.c:cipher_xor:9c01", "a finding, with its candidate", NULL};
static const char *const try_examples[] = {
	"assay try P03:lib/cipher.c:cipher_xor:9c01", "settles one finding",
	"assay try --patch faster.patch --project lib --forbid slower", "a patch, as a gate: exit status 1 if it is slower",
	"assay try --define CACHE_LINE=128 --workload lookup --param size=4096", "a macro, on one workload and size",
	"assay try --patch a.patch --bench bench.c --bench-source codec.c", "without a project file",
	"assay try --rev v1.0..v1.1 --project lib", "two revisions of the tree",
	"assay try --vs 'zstd -c corpus' --any-output -- gzip -c corpus", "two commands whose outputs differ",
	"assay try --patch a.patch --build 'make -j2' --run './tool -d corpus'", "a patch, on a whole command",
	"assay try --over impl=generic,sse2,avx2 --workload checksum", "how the values of a parameter compare: a survey",
	"assay try --flags -O3 --matrix 'cc=gcc-12,clang-19 opt=-O2'", "flags, under two compilers", NULL};
static const char *const audit_examples[] = {
	"assay audit", "everything in the current folder that has a candidate",
	"assay audit studies/openzfs --budget 60s --alpha 0.1%", "a project, with more time and less risk for each trial",
	"assay audit --to-rung code", "what is settled without running anything", NULL};
static const char *const prove_examples[] = {
	"assay prove", "the whole catalogue",
	"assay prove P03 P12 --matrix 'cc=clang-19 opt=-O3' --budget 10s", "two patterns, more exactly",
	"assay prove --to-rung code", "where the compilers see no difference; nothing is run", NULL};
static const char *const show_examples[] = {
	"assay show", "the last run: each step of each proof, and how to repeat it",
	"assay show 20261201-1015 --format json", "a run by the beginning of its id, as JSON",
	"assay show last --samples", "its raw pairs, tab-separated",
	"assay show last --beside other-machine.json", "do two runs agree? One of them as a file of another machine", NULL};
static const char *const report_examples[] = {
	"assay report last --format sarif -o last.sarif", "the last run, for code hosts and editors",
	"assay report last --format markdown -o last.md", "the last run, for a review or a repository", NULL};
static const char *const log_examples[] = {"assay log -n 5", "the last five runs", NULL};
static const char *const doctor_examples[] = {
	"assay doctor", "what this machine can prove, what disturbs it, and how to mend it",
	"assay doctor --format json -o machine.json", "the same for a script: exit status 3 if it is unfit", NULL};
static const char *const help_examples[] = {"assay help try", "what `assay try` does and takes", NULL};

const struct command command_table[] = {
	{CMD_SCAN, "scan", "[PATH...]", 0, 1000000, "finds places that may cost time: anti-patterns, and good practice in place",
	 "Looks for the patterns of the catalogue in C source and lists what it finds, the most promising first. No code of the "
	 "project is run and nothing is written to it. With a compile_commands.json the flags of each file are known, else they "
	 "are guessed.",
	 scan_examples, command_scan},
	{CMD_EXPLAIN, "explain", "[ID]", 0, 1, "says what a pattern or a finding is, and when to leave it",
	 "A pattern by its id or name, or a finding by its id or FILE:LINE: what it is, what it costs, when to leave it, the size "
	 "that is claimed, what refutes it, what the last `assay prove` showed of it here, and the candidate of a finding as a diff. Without ID: all patterns.",
	 explain_examples, command_explain},
	{CMD_TRY, "try", "[FINDING | -- COMMAND...]", 0, 1,
	 "settles one hypothesis: a finding, a patch, a macro, flags, a compiler, a command",
	 "Exactly one candidate: a FINDING (its id, or FILE:LINE), --patch, --rev, --define, --flags, --cc, --env, or --vs with the command "
	 "that it is compared with behind `--`. It is settled by the cheapest "
	 "proof that suffices, in this order: is it built; do the tokens differ; does the machine code differ; is it deliberate; "
	 "does the workload run it; are the results the same; and only then time, measured in pairs against a control. What has no workload is settled as "
	 "far as the code goes.",
	 try_examples, command_try},
	{CMD_AUDIT, "audit", "[PATH...]", 0, 1000000, "scans, and settles everything that has a candidate",
	 "Scans the project, then settles the hypotheses of its assay.yaml and every finding that has a candidate. After Ctrl-C "
	 "what is settled stands, is kept and is shown.",
	 audit_examples, command_audit},
	{CMD_PROVE, "prove", "[ID...]", 0, 1000000, "tries the catalogue's own examples: which patterns cost here",
	 "Every pattern brings a driver where it costs, with its candidate, and one that looks the same and costs nothing. Each is "
	 "settled with every installed gcc-N and clang-N at -O2 and -O3 (or those of --matrix), and a table says where the pattern "
	 "costs. Without ID: the whole catalogue, which takes some minutes.",
	 prove_examples, command_prove},
	{CMD_SHOW, "show", "[RUN]", 0, 1, "shows the whole record of a run",
	 "Each step of each proof with its evidence, effects with their intervals, controls, counters, code differences, candidates "
	 "and the command that repeats each trial. RUN is an id of `assay log`, a beginning of one, `last` (the default), or a file that "
	 "`--format json` wrote.",
	 show_examples, command_show},
	{CMD_REPORT, "report", "[RUN]", 0, 1, "prints the report of an old run again, in any format",
	 "The report as it was printed at the time, from the store, in any format. RUN is an id of `assay log`, a beginning of one, or "
	 "`last` (the default), or a file that `--format json` wrote. `assay show` prints the whole record instead.",
	 report_examples, command_report},
	{CMD_LOG, "log", "", 0, 0, "lists the runs that are kept", "The runs that are kept in the store, the newest first.",
	 log_examples, command_log},
	{CMD_DOCTOR, "doctor", "", 0, 0, "says whether this machine is fit to judge",
	 "Tries everything that a proof may need: counters, sampling, emulation, compilers, clocks, quiet neighbours. For each lack "
	 "it says what it costs and how to mend it. Then a program is measured against a copy of itself, once for arithmetic and once "
	 "for memory, which shows the noise floor. Exit status 3: unfit.",
	 doctor_examples, command_doctor},
	{CMD_HELP, "help", "[COMMAND]", 0, 1, "says what a command does and takes", "Says what a command does and which options it takes.",
	 help_examples, command_help},
};
const size_t command_count = sizeof command_table / sizeof *command_table;

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (strcmp(command_table[i].name, name) == 0)
			return &command_table[i];
	return NULL;
}

int command_help(struct invocation *invocation)
{
	struct err err = ERR_INIT;
	if (invocation->options.operands.count == 0) {
		help_program(stdout);
		return EXIT_DONE;
	}
	const struct command *command = command_find(invocation->options.operands.at[0]);
	if (command) {
		help_command(stdout, command);
		return EXIT_DONE;
	}
	err_set(&err, ST_USAGE, "no command '%s': see `assay help`", invocation->options.operands.at[0]);
	return complain(&err);
}
