/* Recordings judged by each rule, as it would have judged while they were made. */
#ifndef ASSAY_EVAL_REPLAY_H
#define ASSAY_EVAL_REPLAY_H

#include "recording.h"

enum rule {
	RULE_ASSAY,      /* the confidence sequence over blocks, alpha 1 %, margin 1 %, to the first decision */
	RULE_ASSAY_FINE, /* the same with a margin of 0.1 % */
	RULE_BLOCKS_99,  /* the same blocks, all of them: a sign interval at a fixed number */
	RULE_PAIRS_95,   /* interleaved pairs, each counted as a value: a sign interval */
	RULE_WELCH_95,   /* one process a side, all of A before all of B */
	RULE_WELCH_99,
	RULE_RANKS_95,
	RULE_RANKS_99,
	RULE_POOP,       /* whole processes, all of A before all of B */
	RULE_HYPERFINE,
	RULES
};
extern const char *const rule_names[RULES];

#define REPLAY_ALPHA 0.01

enum claim { CLAIM_NONE, CLAIM_FASTER, CLAIM_SLOWER, CLAIM_NO_EFFECT, CLAIM_NEGLIGIBLE };

struct outcome {
	bool present; /* the recording has what the rule needs */
	enum claim claim;
	double low, high; /* natural logarithms; infinite when the rule gives no interval */
	double measured_s; /* inside samples, until the verdict; when there is none, of all samples */
	double wall_s;     /* of the recording, until the verdict */
};

/* hyperfine's rule after each side's first runs, of which hyperfine makes ten at least: what a shorter
 * benchmark would have said. */
enum { PREFIXES = 8 };
extern const size_t prefix_runs[PREFIXES];

struct replayed {
	struct outcome rules[RULES];
	struct outcome hyperfine_prefix[PREFIXES]; /* not present where the recording is shorter */
	double estimate; /* median over all blocks, natural logarithm */
	double scatter;  /* the median distance of a block from it */
	uint32_t blocks;
	bool failed; /* the engine said that one of the programs fails */
	size_t pairs, pairs_excluded;
};

/* assay's rule on blocks of pairs: the same arithmetic as in stage/measure.c, to the block at which it stops.
 * *ret_pairs_used counts the pairs up to there, all of them when nothing is decided. */
enum claim replay_assay(const struct pair_list *pairs, double alpha, double margin, size_t *ret_pairs_used, double *ret_low,
                        double *ret_high);
void replay(const struct recording *recording, struct replayed *ret_replayed);

#endif
