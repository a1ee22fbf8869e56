/* rank: findings x a profile → findings in another order. */
#include "stage/stages.h"

#include "base/text.h"
#include "port/profile.h"

/* What nothing compiles can't be critical, here as in the scan; and a removal gains nothing where the code is hot. */
static bool rank_up(struct finding *finding)
{
	enum severity most = finding_is_removal(finding) ? SEVERITY_LOW : finding->built ? SEVERITY_CRITICAL : SEVERITY_HIGH;
	if (finding->severity >= most)
		return false;
	finding->severity++;
	return true;
}

static bool rank_down(struct finding *finding)
{
	if (finding->severity == SEVERITY_LOW)
		return false;
	finding->severity--;
	return true;
}

static void rank_one(struct arena *arena, struct finding *finding, const struct profile *profile)
{
	double share = 0;
	bool seen = profile_share(profile, finding->function, &share);
	bool moved = share >= RANK_HOT_SHARE ? rank_up(finding) : !seen && rank_down(finding);
	const char *text =
	    !seen ? arena_printf(arena, "the profile never saw %s, unless inlined%s", finding->function,
	                         moved ? ": ranked one step lower" : "")
	          : arena_printf(arena, "%.1f%% of the profile (%s) is in %s%s", 100 * share, profile->kind, finding->function,
	                         moved ? ": ranked one step higher" : "");
	finding->evidence = finding->evidence ? arena_printf(arena, "%s; %s", finding->evidence, text) : text;
	finding->profiled = true;
	finding->profile_share = share;
}

void rank_by_profile(struct session *session, const struct profile *profile)
{
	for (size_t i = 0; i < session->run.findings.count; i++) {
		struct finding *finding = session->run.findings.at[i];
		if (finding->kind == FINDING_ANTIPATTERN && finding->function)
			rank_one(&session->arena, finding, profile);
	}
}
