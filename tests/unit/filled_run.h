/* A run filled by hand: every field of the model, every verdict, text that is hard to print. */
#ifndef ASSAY_TESTS_FILLED_RUN_H
#define ASSAY_TESTS_FILLED_RUN_H

#include "base/text.h"
#include "model/run.h"

#include <math.h>

static inline struct trial *filled_trial(struct arena *arena, struct run *run, const struct hypothesis *hypothesis,
                                         const struct workload *workload, const char *block, enum verdict verdict,
                                         enum rung rung, const char *evidence)
{
	struct trial *trial = arena_new(arena, struct trial);
	trial->id = arena_printf(arena, "t%zu", run->trials.count + 1);
	trial->hypothesis = hypothesis;
	trial->workload = workload;
	if (block) {
		struct binding binding = {.name = "block", .value = block};
		list_push(arena, &trial->params, binding);
	}
	trial->config = (struct build_config){.cc = "gcc-12", .flags = "-O2"};
	trial->verdict = verdict;
	trial->rung = rung;
	trial->evidence = evidence;
	trial->alpha = 0.01;
	trial->margin = 0.01;
	trial->repeat = arena_printf(arena, "assay try %s --seed 4242 --project lib%s%s", hypothesis->argument,
	                             block ? " --param block=" : "", block ? block : "");
	trial->seconds = 0.5 + (double)run->trials.count;
	list_push(arena, &run->trials, trial);
	return trial;
}

static inline void filled_step(struct arena *arena, struct trial *trial, enum rung rung, enum step_result result,
                               const char *text, double seconds)
{
	struct step step = {.rung = rung, .result = result, .text = text, .seconds = seconds};
	list_push(arena, &trial->steps, step);
}

static inline void filled_effect(struct trial *trial, double percent, double low, double high, uint32_t pairs)
{
	trial->effect = (struct effect){.known = true, .theta = log1p(percent / 100), .low = log1p(low / 100),
	                                .high = log1p(high / 100), .population = "as built"};
	trial->pairs = pairs;
	trial->blocks = 4;
	trial->baseline_ns = 4521.5;
	trial->candidate_ns = 4521.5 * (1 + percent / 100);
	trial->bytes_per_iteration = 4096;
	trial->control = (struct control){
		.done = true, .quiet = true, .floor = log1p(0.0021), .pairs = 160, .blocks = 4, .seconds = 0.8,
		.effect = {.known = true, .theta = 0.0001, .low = -0.002, .high = 0.0019, .population = "as built"},
		.text = "A against a copy of A: +0.0 % [-0.2, +0.2], floor 0.2 %"};
}

static inline void filled_family(struct arena *arena, struct run *run, const struct hypothesis *hypothesis,
                                 enum verdict verdict, const char *evidence, size_t first_trial)
{
	struct family family = {.hypothesis = hypothesis, .verdict = verdict, .evidence = evidence};
	for (size_t i = first_trial; i < run->trials.count; i++)
		list_push(arena, &family.trials, run->trials.at[i]);
	list_push(arena, &run->families, family);
}

static inline struct hypothesis *filled_hypothesis(struct arena *arena, struct run *run, const struct finding *finding,
                                                   enum candidate_kind kind, const char *id, const char *title,
                                                   const char *text)
{
	struct hypothesis *hypothesis = arena_new(arena, struct hypothesis);
	*hypothesis = (struct hypothesis){.id = id, .title = title, .finding = finding, .kind = kind, .text = text,
	                                  .claim = finding ? finding->claim : NULL};
	hypothesis->argument = kind == CANDIDATE_PATCH && !finding ? arena_printf(arena, "--patch %s.patch", id + 6) : id;
	list_push(arena, &run->hypotheses, hypothesis);
	return hypothesis;
}

static inline struct effect filled_interval(double percent, double low, double high)
{
	return (struct effect){.known = true, .theta = log1p(percent / 100), .low = log1p(low / 100), .high = log1p(high / 100),
	                       .population = "as built"};
}

/* One survey of values with every verdict, and one that could not be made. */
static inline void filled_surveys(struct arena *arena, struct run *run)
{
	struct binding block = {.name = "block", .value = "131072"};
	struct survey *survey = arena_new(arena, struct survey);
	*survey = (struct survey){
		.id = "s1", .name = "which | `checksum` <is best>", .workload = "checksum", .over = "impl",
		.config = {.cc = "gcc-12", .flags = "-O2"}, .baseline = 0, .finished = true, .alpha = 0.01, .margin = 0.01,
		.interval_alpha = 0.01 / 11, .candidates = 6, .rounds = 95, .excluded_rounds = 2, .blocks = 19, .top_known = true, .top = 2,
		.evidence = "among the fastest of those that round as generic does: avx2, avx2_by_hand_4x; rounded otherwise, which nobody "
		            "has confirmed: pair_wise; slower than generic: byte*wise; wrong results: fast|er; "
		            "missing from the build: sha-ni; failed: cut`off; inconclusive: sse2, pair_wise; unavailable: avx512bw",
		.repeat = "assay try --survey 'which | `checksum` <is best>' --seed 4242", .seconds = 21.25,
		.control = {.done = true, .quiet = true, .floor = log1p(0.0021), .pairs = 95, .blocks = 19, .seconds = 4.5,
		            .effect = {.known = true, .theta = 0.0001, .low = -0.002, .high = 0.0019, .population = "as built"},
		            .text = "generic against a copy of itself: +0.0 % [-0.2, +0.2], floor 0.2 %"}};
	list_push(arena, &survey->params, block);
	const struct survey_value values[] = {
		{.value = "generic", .verdict = VALUE_BASELINE, .evidence = "what the others are compared with", .iterations = 4,
		 .ns = 52000, .ns_low = 51800, .ns_high = 52300, .against_top = filled_interval(1200, 1180, 1225)},
		{.value = "sse2", .needs = "sse2", .verdict = VALUE_INCONCLUSIVE, .iterations = 4, .ns = 51500, .ns_low = 50100,
		 .ns_high = 53900, .effect = filled_interval(-0.9, -3.7, 3.6), .p = 0.4, .p_adjusted = 0.4, .drifts = true, .excluded = 2,
		 .evidence = "the interval is wider than the margin when the budget of 10 s is spent",
		 .against_top = filled_interval(1187.5, 1150, 1245)},
		{.value = "avx2", .needs = "avx2", .verdict = VALUE_FASTER, .evidence = "the interval lies below 0", .iterations = 50,
		 .ns = 4000, .ns_low = 3990, .ns_high = 4012, .effect = filled_interval(-92.31, -92.35, -92.26), .p = 1.9e-6,
		 .p_adjusted = 9.5e-6, .among_fastest = true},
		{.value = "avx2_by_hand_4x", .needs = "avx2", .verdict = VALUE_FASTER, .evidence = "the interval lies below 0",
		 .iterations = 50, .ns = 4004, .ns_low = 3991, .ns_high = 4020, .effect = filled_interval(-92.3, -92.35, -92.24),
		 .p = 1.9e-6, .p_adjusted = 9.5e-6, .among_fastest = true, .against_top = filled_interval(0.1, -0.2, 0.3)},
		{.value = "avx512bw", .needs = "avx512bw", .verdict = VALUE_UNAVAILABLE, .evidence = "this CPU has no avx512bw"},
		{.value = "sha-ni", .needs = "sha_ni", .verdict = VALUE_MISSING,
		 .evidence = "this CPU has sha_ni, but the driver says: \033[31mbuilt without <sha.h>\nuse `--with-sha` | \351"},
		{.value = "fast|er", .verdict = VALUE_WRONG_RESULTS, .evidence = "output \"digest\" differs from byte 3 on"},
		{.value = "byte*wise", .verdict = VALUE_SLOWER, .evidence = "the interval lies above 0", .iterations = 1, .ns = 163000,
		 .ns_low = 162100, .ns_high = 164400, .effect = filled_interval(213.5, 211.9, 215.2), .p = 1.9e-6, .p_adjusted = 9.5e-6,
		 .against_top = filled_interval(3975, 3940, 4010)},
		{.value = "copy", .verdict = VALUE_NO_EFFECT, .evidence = "the interval lies within the margin", .iterations = 4, .ns = 52010,
		 .ns_low = 51790, .ns_high = INFINITY, .effect = filled_interval(0, -0.2, 0.3), .p = 1, .p_adjusted = 1,
		 .against_top = filled_interval(1200, 1179, 1226)},
		{.value = "pair_wise", .verdict = VALUE_INCONCLUSIVE, .iterations = 90, .ns = 2300, .ns_low = 2290, .ns_high = 2312,
		 .rounding = "record 1 \"sum\" is rounded otherwise, by up to 2.2e-16 of its numbers, within the 1e-12 that the driver tolerates",
		 .unconfirmed = true, .effect = filled_interval(-95.58, -95.61, -95.55), .p = 1.9e-6, .p_adjusted = 9.5e-6,
		 .evidence = "rests on a contract that nobody has confirmed: record 1 \"sum\" is rounded otherwise, by up to 2.2e-16 of its "
		             "numbers, within the 1e-12 that the driver tolerates; measured: the interval lies below 0"},
		{.value = "cut`off", .verdict = VALUE_FAILED, .evidence = "killed by SIGSEGV"}};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct survey_value value = values[i];
		value.bytes_per_iteration = value.iterations ? 131072 : 0;
		for (int k = 0; k < 2 && value.iterations; k++)
			list_push(arena, &value.block_ns, value.ns * (1 + 0.001 * k));
		list_push(arena, &survey->values, value);
	}
	list_push(arena, &run->surveys, survey);
	struct survey *none = arena_new(arena, struct survey);
	*none = (struct survey){.id = "s2", .contract_accepted = "jd: three digits are shown", .name = "cipher over key", .workload = "cipher", .over = "key", .baseline = 1,
	                        .config = {.cc = "gcc-12", .flags = "-O2"}, .finished = true, .alpha = 0.01, .margin = 0.01,
	                        .failure = "the workload can't be built: key.c:3: error: 'kye' undeclared", .seconds = 0.25};
	none->evidence = arena_printf(arena, "%s; inconclusive: 128", none->failure);
	const struct survey_value unasked[] = {{.value = "128", .verdict = VALUE_INCONCLUSIVE, .evidence = none->failure},
	                                       {.value = "256", .verdict = VALUE_BASELINE,
	                                        .evidence = "what the others are compared with"}};
	list_push(arena, &none->values, unasked[0]);
	list_push(arena, &none->values, unasked[1]);
	list_push(arena, &run->surveys, none);
}

static inline struct run *filled_run(struct arena *arena)
{
	static const char hoist_diff[] =
		"--- a/lib/cipher.c\n"
		"+++ b/lib/cipher.c\n"
		"@@ -38,6 +38,7 @@ void cipher_xor(struct cipher *c, uint8_t *out, const uint8_t *in, size_t size)\n"
		" {\n"
		"-\tfor (size_t i = 0; i < size; i++)\n"
		"-\t\tout[i] = in[i] ^ c->key;\n"
		"+\tconst uint8_t key = c->key;\n"
		"+\tfor (size_t i = 0; i < size; i++)\n"
		"+\t\tout[i] = in[i] ^ key;\n"
		" }\n";
	struct run *run = arena_new(arena, struct run);
	*run = (struct run){
		.id = "20261201-101500-3f2a", .command = "assay audit lib --seed 4242", .version = "0.1.0",
		.started = "2026-12-01T10:15:00Z", .state = RUN_DONE, .seed = 4242, .alpha = 0.01, .margin = 0.01, .budget_s = 10,
		.tree = "/src/lib", .files_scanned = 17, .files_failed = 1, .lines_scanned = 5812, .scan_seconds = 0.8412,
		.database = true, .seconds = 84.27,
		.host = {.name = "build7", .cpu = "AMD EPYC 7B13", .kernel = "Linux 6.1.0-18-amd64 x86_64", .system = "Debian GNU/Linux 12",
		         .cpus = 2, .clock_source = "tsc", .load_average = 0.42,
		         .counters = "hardware counters: not available: this virtual machine has no PMU"}};
	struct compiler gcc = {.command = "gcc-12", .version = "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0"};
	struct compiler clang = {.command = "clang-19", .version = "Debian clang version 19.1.7"};
	list_push(arena, &run->compilers, gcc);
	list_push(arena, &run->compilers, clang);

	struct finding *reload = arena_new(arena, struct finding);
	*reload = (struct finding){
		.id = "P03:lib/cipher.c:cipher_xor:9c01", .pattern = "P03", .kind = FINDING_ANTIPATTERN, .file = "lib/cipher.c",
		.line = 40, .column = 21, .symbol = "cipher_xor", .tier = TIER_B, .severity = SEVERITY_HIGH,
		.message = "`c->key` is read again in every iteration, since the store through `out` may change it",
		.claim = "up to 60 times faster when the loop vectorises (XOR with a key, gcc -O3)",
		.evidence = "stores through `uint8_t *`, which may alias `c->key`; 31.2% of the profile (perf report) is in cipher_xor: "
		            "ranked one step higher",
		.compiler = COMPILER_CONFIRMED,
		.remark = "clang-19: lib/cipher.c:41:22: licm: failed to move load with loop-invariant address because the loop may "
		          "invalidate its value",
		.profiled = true, .profile_share = 0.312,
		.contract = "`out` doesn't overlap `*c`", .candidate = hoist_diff, .built = true};
	struct finding *empty = arena_new(arena, struct finding);
	*empty = (struct finding){
		.id = "P02:lib/lz4.c:restrict:1f3a", .pattern = "P02", .kind = FINDING_ANTIPATTERN, .file = "lib/lz4.c", .line = 133,
		.column = 9, .symbol = "restrict", .tier = TIER_A, .severity = SEVERITY_CRITICAL,
		.message = "`restrict` is defined to nothing", .claim = "5 to 20 % (as claimed in a review)",
		.evidence = "expanded 0 times after its definition", .built = true,
		.candidate = "--- a/lib/lz4.c\n+++ b/lib/lz4.c\n@@ -132,3 +132,2 @@\n #endif\n-#define restrict\n \n"};
	struct finding *quadratic = arena_new(arena, struct finding);
	*quadratic = (struct finding){
		.id = "P12:lib/text.c:lower:77aa", .pattern = "P12", .kind = FINDING_ANTIPATTERN, .file = "lib/text.c", .line = 12,
		.column = 2, .symbol = "lower", .tier = TIER_B, .severity = SEVERITY_MEDIUM,
		.message = "`strlen(s)` in the loop's condition while the loop stores to `s`", .built = true,
		.deliberate = "inputs are at most 8 bytes, see the comment above"};
	struct finding *unbuilt = arena_new(arena, struct finding);
	*unbuilt = (struct finding){
		.id = "P02:contrib/old/na\303\257ve.c:inline:0001", .pattern = "P02", .kind = FINDING_ANTIPATTERN,
		.file = "contrib/old/na\303\257ve.c", .line = 3, .column = 1, .symbol = "inline", .tier = TIER_A,
		.severity = SEVERITY_LOW, .message = "`inline` is defined to nothing, says \"Latin-1: \351\"", .built = false};
	struct finding *guard = arena_new(arena, struct finding);
	*guard = (struct finding){
		.id = "P08:lib/stat.h:bucket:5b5b", .pattern = "P08", .kind = FINDING_GUARD, .file = "lib/stat.h", .line = 20,
		.column = 1, .symbol = "bucket", .tier = TIER_A, .severity = SEVERITY_LOW,
		.message = "each bucket has a cache line of its own", .built = true};
	list_push(arena, &run->findings, reload);
	list_push(arena, &run->findings, quadratic);
	list_push(arena, &run->findings, guard);
	list_push(arena, &run->findings, unbuilt);
	list_push(arena, &run->findings, empty);

	struct workload *cipher = arena_new(arena, struct workload);
	*cipher = (struct workload){.name = "cipher", .bench = "bench/cipher.c"};
	struct workload *lz4 = arena_new(arena, struct workload);
	*lz4 = (struct workload){.name = "decompress-large-frames", .bench = "bench/lz4.c"};

	/* Faster, two trials, all rungs. */
	struct hypothesis *hoist = filled_hypothesis(arena, run, reload, CANDIDATE_PATCH, reload->id,
	                                             "P03 lib/cipher.c:40 hoist `c->key` out of the loop", hoist_diff);
	hoist->contract = reload->contract;
	hoist->contract_accepted = "jd: cipher.h forbids overlap";
	size_t first = run->trials.count;
	for (int i = 0; i < 2; i++) {
		struct trial *trial = filled_trial(arena, run, hoist, cipher, i ? "131072" : "4096", VERDICT_FASTER, RUNG_TIME,
		                                   "the interval lies below 0");
		filled_effect(trial, i ? -33.04 : -34.12, i ? -33.9 : -35.04, i ? -32.2 : -33.19, i ? 160 : 180);
		trial->alpha = 0.005;
		filled_step(arena, trial, RUNG_BUILT, STEP_PASSED, "lib/cipher.c is compiled by cipher", 0.0004);
		filled_step(arena, trial, RUNG_TOKENS, STEP_PASSED, "1 of 2 units differs", 0.021);
		filled_step(arena, trial, RUNG_CODE, STEP_PASSED, "1 of 14 functions differs", 0.034);
		filled_step(arena, trial, RUNG_INTENT, STEP_PASSED, "no comment speaks of it", 0.0001);
		filled_step(arena, trial, RUNG_REACH, STEP_SKIPPED, "not part of this version", 0);
		filled_step(arena, trial, RUNG_OUTPUTS, STEP_PASSED, "3 outputs, 12,288 bytes, equal", 0.052);
		filled_step(arena, trial, RUNG_TIME, STEP_SETTLED, "the interval lies below 0", 1.7);
		trial->tokens = (struct token_difference){.differ = true, .units = 2, .units_differing = 1, .tokens = 8812,
		                                          .first = "lib/cipher.c:39: `for` | `const`"};
		trial->code = (struct code_difference){.differ = true, .units = 2, .functions = 14};
		struct function_change change = {.unit = "lib/cipher.c", .name = "cipher_xor", .change = CHANGE_CHANGED,
		                                 .baseline_instructions = 11, .candidate_instructions = 38,
		                                 .first = "movzbl (%rdi),%eax | test %rcx,%rcx"};
		struct function_change added = {.unit = "lib/cipher.c", .name = "cipher_tail", .change = CHANGE_ADDED,
		                                .candidate_instructions = 9};
		list_push(arena, &trial->code.changed, change);
		list_push(arena, &trial->code.changed, added);
		struct named_change record = {.unit = "lib/cipher.c", .name = "struct cipher", .what = "alignment 8, was 64"};
		list_push(arena, &trial->code.records, record);
		struct counter instructions = {.name = "instructions (valgrind, emulated CPU)", .unit = "per iteration",
		                               .baseline = 28690, .candidate = 9120};
		struct counter cycles = {.name = "cycles", .unit = "per iteration",
		                         .unavailable = "this virtual machine has no PMU: run on hardware, or with a vPMU"};
		list_push(arena, &trial->counters, instructions);
		list_push(arena, &trial->counters, cycles);
		trial->reach = (struct reach){.counted = true, .executed = true, .instruction_share = 0.91, .sampled = true,
		                              .samples = 5012, .time_share = 0.87, .time_share_high = 0.89};
		trial->explanation = (struct explanation){.known = true, .instructions = -1.146, .cycles_per_instruction = 0.74,
		                                          .emulated = true, .frequency_known = true, .frequency = 0.001,
		                                          .text = "-33.4 % = instructions -68.2 % (emulated) x cycles per instruction "
		                                                  "+109.6 % (estimated) x time of a cycle +0.1 % (probed)"};
	}
	filled_family(arena, run, hoist, VERDICT_FASTER, "all 2 trials are faster, by 33.0 to 34.1 %", first);

	/* Settled at rung tokens, no workload. */
	struct hypothesis *drop = filled_hypothesis(arena, run, empty, CANDIDATE_PATCH, empty->id,
	                                            "P02 lib/lz4.c:133 drop the empty `#define restrict`", empty->candidate);
	first = run->trials.count;
	struct trial *trial = filled_trial(arena, run, drop, NULL, NULL, VERDICT_NO_EFFECT, RUNG_TOKENS,
	                                   "the 8,812 preprocessed tokens of 1 unit are the same; `restrict` is expanded 0 times "
	                                   "after its definition");
	filled_step(arena, trial, RUNG_BUILT, STEP_PASSED, "lib/lz4.c is in the compile database", 0.0004);
	filled_step(arena, trial, RUNG_TOKENS, STEP_SETTLED, trial->evidence, 0.031);
	trial->tokens = (struct token_difference){.units = 1, .tokens = 8812};
	filled_family(arena, run, drop, VERDICT_NO_EFFECT, trial->evidence, first);

	/* Mixed, over three sizes. */
	struct hypothesis *real = filled_hypothesis(arena, run, NULL, CANDIDATE_PATCH, "patch:restrict-for-real",
	                                            "restrict on the decoder's parameters for real, as the review asked",
	                                            "--- a/lib/lz4.c\n+++ b/lib/lz4.c\n");
	real->claim = "5-20 % faster";
	first = run->trials.count;
	trial = filled_trial(arena, run, real, lz4, "4096", VERDICT_FASTER, RUNG_TIME, "the interval lies below 0");
	filled_effect(trial, -16.1, -17, -15.3, 180);
	trial = filled_trial(arena, run, real, lz4, "65536", VERDICT_NO_EFFECT, RUNG_TIME,
	                     "the interval lies within 8 % of 0 (the control's floor)");
	filled_effect(trial, 0.1, -0.4, 0.5, 240);
	trial->control.floor = log1p(0.08);
	trial = filled_trial(arena, run, real, lz4, "1048576", VERDICT_SLOWER, RUNG_TIME, "the interval lies above 0");
	filled_effect(trial, 2.02, 1.3, 2.7, 1410);
	trial->excluded_pairs = 3;
	trial->drifts = true;
	trial->p = 0.00012;
	trial->p_adjusted = 0.00036;
	trial->effect.population = "over layouts";
	trial->spread = (struct spread){
		.layouts = 24, .low = log1p(-0.011), .high = log1p(0.093), .least = log1p(-0.02), .most = log1p(0.121),
		.bins = {1, 3, 0, 2, 8, 4, 1, 0, 0, 0, 1, 0, 2, 1, 0, 1}, .deviation = 0.05, .noise = 0.004, .sensitive = true};
	trial->control.trial = trial->id;
	trial->control.spread = (struct spread){.layouts = 24, .low = -0.004, .high = 0.004, .least = -0.006, .most = 0.005,
	                                        .bins = {2, 20, 2}, .deviation = 0.004};
	filled_family(arena, run, real, VERDICT_MIXED, "faster at 1, slower at 1, no effect at 1 of 3 trials", first);

	/* Inconclusive, with an interval that is open above; a disturbed control. */
	struct hypothesis *flags = filled_hypothesis(arena, run, NULL, CANDIDATE_FLAGS, "flags:-O3", "-O3 for everything", "-O3");
	flags->argument = "--flags -O3";
	first = run->trials.count;
	trial = filled_trial(arena, run, flags, cipher, "4096", VERDICT_INCONCLUSIVE, RUNG_TIME,
	                     "the budget of 10 s is spent: an effect below -2.1 % is excluded; 40 s would show 1 %");
	filled_effect(trial, 0.8, -2.1, 1, 12);
	trial->effect.high = INFINITY;
	trial->held_back = true;
	trial->control.quiet = false;
	trial->control.text = "A against a copy of A differs by 3.1 %: another process runs on this CPU";
	filled_family(arena, run, flags, VERDICT_INCONCLUSIVE, trial->evidence, first);

	/* Measured as faster, but on a promise that nobody has confirmed. */
	struct hypothesis *four = filled_hypothesis(arena, run, NULL, CANDIDATE_PATCH, "patch:four-sums", "sum into four accumulators",
	                                            "--- a/lib/sum.c\n+++ b/lib/sum.c\n");
	four->contract = "the last digits of the sum may change";
	first = run->trials.count;
	trial = filled_trial(arena, run, four, cipher, "4096", VERDICT_INCONCLUSIVE, RUNG_TIME,
	                     "rests on a contract that nobody has confirmed: the last digits of the sum may change; measured: "
	                     "-71.20 % [-71.90, -70.60] in time");
	filled_effect(trial, -71.2, -71.9, -70.6, 57);
	trial->rounding = "record 1 \"sum\" is rounded otherwise, by up to 2.2e-16 of its numbers, within the 1e-12 that the "
	                  "driver tolerates";
	trial->unconfirmed = true;
	filled_family(arena, run, four, VERDICT_INCONCLUSIVE, trial->evidence, first);

	/* The verdicts that refuse. */
	struct hypothesis *wrong = filled_hypothesis(arena, run, NULL, CANDIDATE_PATCH, "patch:skip-tail", "skip the tail",
	                                             "--- a/lib/cipher.c\n+++ b/lib/cipher.c\n");
	first = run->trials.count;
	trial = filled_trial(arena, run, wrong, cipher, "4096", VERDICT_WRONG_RESULTS, RUNG_OUTPUTS,
	                     "output \"cipher text\" differs from byte 4,088 on");
	filled_family(arena, run, wrong, VERDICT_WRONG_RESULTS, trial->evidence, first);
	struct hypothesis *broken = filled_hypothesis(arena, run, NULL, CANDIDATE_PATCH, "patch:broken", "broken", "--- a\n");
	first = run->trials.count;
	trial = filled_trial(arena, run, broken, cipher, "4096", VERDICT_FAILED, RUNG_BUILT,
	                     "the candidate does not compile:\nlib/cipher.c:40:3: error: 'kye' undeclared\n"
	                     "cc1: some warnings being treated as errors");
	filled_family(arena, run, broken, VERDICT_FAILED, trial->evidence, first);
	struct hypothesis *meant = filled_hypothesis(arena, run, quadratic, CANDIDATE_NONE, quadratic->id,
	                                             "P12 lib/text.c:12 take `strlen(s)` out of the loop", NULL);
	meant->deliberate = quadratic->deliberate;
	first = run->trials.count;
	trial = filled_trial(arena, run, meant, NULL, NULL, VERDICT_DELIBERATE, RUNG_INTENT, quadratic->deliberate);
	filled_family(arena, run, meant, VERDICT_DELIBERATE, trial->evidence, first);
	struct hypothesis *old = filled_hypothesis(arena, run, unbuilt, CANDIDATE_PATCH, unbuilt->id,
	                                           "P02 contrib/old/na\303\257ve.c:3 drop the empty `#define inline`", "--- a\n");
	first = run->trials.count;
	trial = filled_trial(arena, run, old, NULL, NULL, VERDICT_NOT_BUILT, RUNG_BUILT,
	                     "no compile command reaches contrib/old/na\303\257ve.c");
	filled_family(arena, run, old, VERDICT_NOT_BUILT, trial->evidence, first);

	struct workload *mapped = arena_new(arena, struct workload);
	*mapped = (struct workload){.name = "zlib | decode"};
	struct binding level = {.name = "level", .value = "3"};
	struct hotmap map = {.id = "m1", .workload = run->trials.at[0]->workload, .config = {.cc = "gcc-12", .flags = "-O2"},
	                     .samples = 4980, .iterations = 12, .seconds = 1.5};
	list_push(arena, &map.params, level);
	static const struct hot_share hot[] = {
		{.name = "huf_decode.constprop.0", .counted = true, .sampled = true, .instruction_share = 0.5, .time_share = 0.625},
		{.name = "memcpy", .object = "libc.so.6", .counted = true, .instruction_share = 0.125},
		{.name = "(unnamed)", .object = "libc.so.6", .sampled = true, .time_share = 0.0625}};
	static const struct hot_share parts[] = {
		{.name = "Huffman decoding", .found = true, .counted = true, .sampled = true, .instruction_share = 0.125,
		 .time_share = 0.125, .time_share_high = 0.140625, .gain_most = 0.1640625},
		{.name = "all of it", .found = true, .counted = true, .sampled = true, .instruction_share = 1, .time_share = 1,
		 .time_share_high = 1, .gain_most = INFINITY},
		{.name = "assembly"}};
	for (size_t i = 0; i < 3; i++) {
		list_push(arena, &map.functions, hot[i]);
		list_push(arena, &map.parts, parts[i]);
	}
	list_push(arena, &run->maps, map);
	struct hotmap lacking = {.id = "m2", .workload = mapped, .config = map.config, .seconds = 0.25,
	                         .lack = "neither valgrind nor perf_event_open can be had"};
	list_push(arena, &run->maps, lacking);
	struct note note = {.where = "lib/odd.c", .text = "the front end could not read it: 'odd.h' file not found"};
	list_push(arena, &run->notes, note);
	filled_surveys(arena, run);
	return run;
}

/* A run of whole commands: decided by the wall clock, by CPU time, by what is printed; and one that fails. */
static inline struct run *filled_commands(struct arena *arena)
{
	struct run *run = arena_new(arena, struct run);
	*run = (struct run){
		.id = "20261201-101500-3f2b", .command = "assay try --vs 'sort -S 1M data' -- sort data", .version = "0.1.0",
		.started = "2026-12-01T10:15:00Z", .state = RUN_DONE, .seed = 4242, .alpha = 0.01, .margin = 0.01, .budget_s = 10,
		.tree = "/src/lib", .seconds = 12.5,
		.host = {.name = "build7", .cpu = "AMD EPYC 7B13", .kernel = "Linux 6.1.0-18-amd64 x86_64", .system = "Debian GNU/Linux 12",
		         .cpus = 2, .clock_source = "tsc", .load_average = 0.42, .counters = "available"}};
	static const char *const why[] = {"because nobody contends for the CPUs",
	                                  "because tasks waited for a CPU during 41 % of the last 10 s",
	                                  "as asked: ([0-9.]+) MB/s"};
	static const enum metric metrics[] = {METRIC_WALL, METRIC_CPU, METRIC_HIGHER};
	for (int i = 0; i < 4; i++) {
		struct workload *workload = arena_new(arena, struct workload);
		*workload = (struct workload){.run = "sort data", .name = "sort data"};
		const char *text = arena_printf(arena, "sort -S %dM data", i + 1);
		struct hypothesis *hypothesis =
			filled_hypothesis(arena, run, NULL, CANDIDATE_COMMAND, arena_printf(arena, "command:%s", text),
		                      arena_printf(arena, "%s against sort data", text), text);
		hypothesis->argument = arena_printf(arena, "--vs '%s'", text);
		size_t first = run->trials.count;
		struct trial *trial = filled_trial(arena, run, hypothesis, workload, NULL, i == 3 ? VERDICT_FAILED : VERDICT_FASTER,
		                                   i == 3 ? RUNG_OUTPUTS : RUNG_TIME,
		                                   i == 3 ? "the candidate failed: exit status 2: sort: -S: no room" : "below 0");
		trial->config = (struct build_config){.cc = "", .flags = ""};
		filled_step(arena, trial, RUNG_BUILT, STEP_PASSED, "both can be started", 0.0004);
		filled_family(arena, run, hypothesis, trial->verdict, trial->evidence, first);
		if (i == 3)
			continue;
		filled_effect(trial, -12.5, -14.25, -10.5, 42);
		trial->bytes_per_iteration = 0;
		trial->baseline_ns = 11.2e6;
		trial->candidate_ns = 9.8e6;
		trial->effect.population = trial->control.effect.population = "as run";
		trial->metric = metrics[i];
		trial->metric_why = why[i];
		if (i == 2) {
			trial->baseline_printed = 98.25;
			trial->candidate_printed = 112.5;
		}
		for (enum metric metric = METRIC_WALL; metric <= METRIC_CPU; metric++) {
			if (metric == trial->metric)
				continue;
			struct metric_result other = {.metric = metric, .effect = trial->effect, .baseline = 11.1e6, .candidate = 9.9e6};
			if (i == 1)
				other.effect.high = INFINITY;
			list_push(arena, &trial->other_metrics, other);
		}
	}
	return run;
}

#endif
