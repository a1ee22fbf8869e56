/* What reports for people have in common: numbers, labels and summaries as text, without layout or colour. Results live
 * in the arena that is given, or are constant. */
#ifndef ASSAY_REPORT_PHRASE_H
#define ASSAY_REPORT_PHRASE_H

#include "model/agreement.h"

/* Bytes of the character at `at` that a reader may see; 0: a control character, which may steer a terminal, or broken
 * UTF-8. */
size_t character_seen(const char *at);
/* "12,345" */
const char *count_text(struct arena *arena, unsigned long long value);
/* "1 pair", "12,345 pairs" */
const char *counted(struct arena *arena, unsigned long long count, const char *one, const char *many);
/* "812 MB/s", "2.31 GB/s": of `bytes` in `ns`. */
const char *rate_text(struct arena *arena, double bytes, double ns);
/* "0.21 %" of 0.0021. */
const char *fraction_text(struct arena *arena, double fraction);
/* "+3.1" of the logarithm of a ratio; "-100" and "inf" where there is no bound. */
const char *percent_part(struct arena *arena, double log_value, int decimals);
/* "-34.1 % [-35.0, -33.2]"; a bound that is not there is "...". */
const char *effect_text(struct arena *arena, const struct effect *effect);
/* "-12.0 to +9.1 %" of two logarithms of ratios. */
const char *span_text(struct arena *arena, double low, double high);
/* "0.21 %", or "unknown". */
const char *floor_text(struct arena *arena, const struct control *control);
/* "12.5 %"; "" where it is not known. */
const char *share_text(struct arena *arena, bool known, double share);
/* "gcc-12 -O2"; empty for a command, which the project builds. */
const char *config_text(struct arena *arena, const struct build_config *config);
/* "cipher block=4096", with the configuration when the run has several. */
const char *trial_label(struct arena *arena, const struct trial *trial, bool with_config);
/* "zstd decompress level=3". */
const char *map_label(struct arena *arena, const struct hotmap *map);
/* What a change could gain at most that is confined to the part. */
const char *part_bound(struct arena *arena, const struct hot_share *part);
/* Were trials built in more than one way? */
bool many_configs(const struct run *run);
/* The families, and each trial that belongs to none (of a run that was killed) as one of its own. */
struct family_list all_families(struct arena *arena, const struct run *run);
/* Is the finding a hypothesis of one of these? */
bool finding_tried(const struct family_list *families, const struct finding *finding);
/* "4 findings (1 critical, …) and 1 guard in 17 files, 5,812 lines, in 0.84 s". */
const char *scan_summary(struct arena *arena, const struct run *run);
/* "beside OLD.json: 2 new, …"; `all`: the unchanged are listed too. */
const char *baseline_summary(struct arena *arena, const struct run *run, bool all);
/* "11.3 ms -> 20.9 ms", or "98.1 -> 104 printed". */
const char *sides_text(struct arena *arena, const struct trial *trial);
/* "CPU time: +0.1 % [-0.3, +0.5], 11.3 ms -> 11.3 ms". */
const char *other_text(struct arena *arena, const struct metric_result *other);
/* Is the evidence of a trial worth a line of its own beside its numbers? */
bool trial_explains(const struct trial *trial);
/* What limits the numbers of a trial whose evidence is not printed; NULL: nothing does. */
const char *trial_limits(struct arena *arena, const struct trial *trial);
/* "tokens: the 8,812 preprocessed tokens …". */
const char *rung_evidence(struct arena *arena, enum rung rung, const char *evidence);
/* "confirmed by gcc-12: lib/x.c:7:3: …" of a finding whose compiler was asked. */
const char *compiler_text(struct arena *arena, const struct finding *finding);
/* The finding's own evidence and that, or NULL. */
const char *finding_evidence(struct arena *arena, const struct finding *finding);
/* What "faster" rests on besides the measurement, and who has confirmed that, or how to; NULL where nothing does, or the
 * verdict needs none of it. */
const char *contract_text(struct arena *arena, const struct family *family);
/* " (in 1 of 12 trials)", where the verdict is not all trials' own. */
const char *family_share(struct arena *arena, const struct family *family);
/* "1 faster, 2 no effect". */
const char *verdict_counts(struct arena *arena, const struct family_list *families);
/* A hypothesis has a family, and so a verdict, under each build configuration. */
const char *hypotheses_text(struct arena *arena, const struct family_list *families);
/* alpha, margin, budget, layouts and seed. */
const char *plan_text(struct arena *arena, const struct run *run);
/* "AMD EPYC 7B13, 2 CPUs". */
const char *host_short(struct arena *arena, const struct host *host);
/* How the layouts' effects are distributed, a column for each bin; no blanks, so that it stays in one line. */
const char *spread_drawing(struct arena *arena, const struct spread *spread, bool utf8);
/* What can't be had here, each once for the whole run, with its reason. */
struct string_list unavailable_counters(struct arena *arena, const struct run *run);

/* ---- surveys ---- */
/* "checksum over impl, size=4096", before it the survey's name where that says more; with the configuration when the run
 * has several. */
const char *survey_label(struct arena *arena, const struct survey *survey, bool with_config);
/* Indexes of the values: the fastest first, those that were not timed last. */
void survey_rank(struct arena *arena, const struct survey *survey, size_t *ret_order);
/* "MB/s", where the driver says how many bytes an iteration has, else "ns an iteration". */
const char *survey_unit(const struct survey *survey);
bool survey_in_bytes(const struct survey *survey);
/* "31200 [31050, 31400]" in that unit: the median over blocks and its sign interval; "-": not timed. */
const char *survey_speed_text(struct arena *arena, const struct survey *survey, const struct survey_value *value);
/* What is to be said of a value beside its numbers; NULL: they say all. */
const char *survey_value_note(const struct survey *survey, const struct survey_value *value);
/* Everything that is known of a value besides its speed: verdict, evidence, iterations, p, the effect against the fastest. */
const char *survey_value_text(struct arena *arena, const struct survey *survey, const struct survey_value *value);
/* "control: a copy of generic in the same squares, …"; NULL: none that may be judged by. */
const char *survey_control_text(struct arena *arena, const struct survey *survey);
/* "95 rounds in 19 blocks of fresh processes; in 2 of them …"; NULL: none was taken. */
const char *survey_rounds_text(struct arena *arena, const struct survey *survey);
/* What the intervals hold at; NULL: there are none. */
const char *survey_alpha_text(struct arena *arena, const struct survey *survey);
/* "2 surveys of 7 values: 3 faster, 1 missing from the build". */
const char *survey_counts(struct arena *arena, const struct run *run);

/* ---- two runs beside each other ---- */
/* "20261201-1012, AMD EPYC, 2 CPUs, 2026-12-01T10:12:34Z". */
const char *agreement_run_text(struct arena *arena, const struct run *run);
/* "of 310 questions that both answered: 280 same, 3 of them with intervals that exclude each other; …". */
const char *agreement_summary(struct arena *arena, const struct agreement_of_runs *agreement);
/* What the rows of a kind have in common: a heading. */
const char *agreement_heading(enum agreement kind);
/* The hypothesis or the survey, and under it the workload with its parameters, the value and the configuration. */
const char *agreement_question(const struct agreement_row *row);
const char *agreement_where(struct arena *arena, const struct agreement_row *row);
/* "faster, -2.0 % [-3.0, -1.1]". */
const char *agreement_side(struct arena *arena, const struct agreement_row *row, int side);
/* How their intervals lie to each other; NULL: one of them has none. */
const char *agreement_intervals(const struct agreement_row *row);

#endif
