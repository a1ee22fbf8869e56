/* The project file, assay.yaml. project.c is the only file that reads YAML of the user's.
 *
 * Keys (all optional):
 *
 *     tree: ../zfs-2.3.2             the source tree that is scanned, copied and patched; relative to this file
 *     scan: [module, include]        what of it is scanned; relative to the tree; default: all
 *     compile_commands: build/compile_commands.json   default: looked for in ., build/ and build/…/
 *     build: make -j2                builds the whole tree: a line for /bin/sh, run in a copy; for workloads with `run`
 *     budget: 3s                     for each trial and each value of a survey; --budget goes before it; default: 20s
 *     workloads:
 *       - name: decompress
 *         bench: bench/decompress.c  the driver (include/assay/bench.h), relative to this file
 *         sources: [lib/decode.c]    compiled with it, relative to the tree; what isn't there, to this file; a pattern
 *                                    (lib/fast_*.c, lib/fast_*.S) takes what matches in the tree
 *         flags: [-Ilib]             or one string of shell words; relative paths count from the tree
 *         libs: [-lm]
 *         params: { block: [4096, 131072] }
 *       - name: cli                  or a command; where there is a `build`, in the copy that it made, else here
 *         run: ./tool -d corpus.bin  split into words as a shell does; `shell: true` hands it to /bin/sh
 *         metric: cpu                or wall, or { regex: "([0-9.]+) MB/s", better: higher }; default: by rule
 *         stdin: input.txt           default: /dev/null
 *         any_output: true           what it prints may differ
 *         cpus: none                 not pinned; or the number of a CPU; default: the idlest one
 *     hypotheses:
 *       - name: restrict on the decoder's parameters
 *         patch: patches/restrict.patch      or [a.patch, b.patch]: the first that applies; or define: X=Y, flags: -O3,
 *                                              cc: clang-19, env: X=Y; relative to this file
 *         claim: 5-20 % faster
 *         workloads: [decompress]
 *         budget: 12s                in place of the project's; surveys may say it too, for each value
 *     surveys:
 *       - name: checksum implementations
 *         workload: checksum         one with a `bench`
 *         over: impl                 a parameter of that workload, whose values are compared
 *         baseline: generic          default: the first value
 *         needs: { avx2: avx2 }      the CPU feature, as /proc/cpuinfo spells it, that a value needs
 *         params: { size: [4096] }   in place of the values of the workload's other parameters
 *     maps:                          where the time of a workload goes: drawn by `audit` before anything is tried
 *       - workload: decompress       one with a `bench`
 *         parts:                     each gets a bound on what any change confined to it could gain
 *           - name: Huffman decoding
 *             functions: [HUF_*]     symbols, as shell patterns
 *     decisions:                     what is deliberate; a finding's id as `assay scan` prints it, or its beginning
 *       - finding: P04:lib/x.c:decode
 *         reason: kernel objtool
 *     contracts:                     that what a candidate promises holds; ids as above, patch:NAME, survey:NAME, …
 *       - finding: P01:lib/add.c:add_rows
 *         reason: "jd: add.h forbids overlap"    compulsory: who confirms it, and why
 */
#ifndef ASSAY_PORT_PROJECT_H
#define ASSAY_PORT_PROJECT_H

#include "base/err.h"
#include "model/project.h"
#include "model/run.h"

/* `path` is a folder, a project file (*.yaml), any other file (its folder counts) or NULL (the current folder).
 * `source_override`, when given, takes the place of `tree:`. dir, tree, file, compile_commands and claimed.patches are
 * absolute and clean in the result. What can't be used although the rest can (a compile_commands that isn't there)
 * is appended to `notes` (may be NULL). ST_USAGE: one sentence that begins with "FILE:LINE: ". */
MUST_CHECK enum status project_load(struct arena *arena, const char *path, const char *source_override,
                                    struct project *ret_project, struct note_list *notes, struct err *err);

/* The same for text that is in memory already: `file` names it in messages and its folder is project.dir. */
MUST_CHECK enum status project_parse(struct arena *arena, const char *text, size_t size, const char *file,
                                     const char *source_override, struct project *ret_project,
                                     struct note_list *notes, struct err *err);

/* What `metric`, `regex` and `better` (NULL: not given) say of a command; `metric` may also be "regex:PATTERN". NULL: it is
 * set; else what is wrong. */
const char *workload_metric_set(struct arena *arena, struct workload *workload, const char *metric, const char *pattern,
                                const char *better);
/* NULL: the survey can be made of the workload; else what is wrong. */
const char *survey_problem(struct arena *arena, const struct workload *workload, const struct asked_survey *survey);
/* "none", the number of a CPU, or NULL: the idlest one. NULL: it is set; else what is wrong. */
const char *workload_cpus_set(struct arena *arena, struct workload *workload, const char *cpus);

#endif
