/* The words that people and files see for the model's enumerations, in one place. */
#include "model/checkup.h"
#include "model/session.h"
#include "model/survey.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool name_find(const char *const *names, size_t count, const char *name, unsigned *ret_index)
{
	for (size_t i = 0; i < count; i++)
		if (name && strcmp(names[i], name) == 0) {
			*ret_index = (unsigned)i;
			return true;
		}
	return false;
}

/* Defines TYPE_name() and TYPE_parse() over a table; `type` is also the enum's tag. */
#define NAMES(type, tag, ...)                                                                                          \
	static const char *const type##_names[] = {__VA_ARGS__};                                                           \
	const char *type##_name(enum tag value)                                                                            \
	{                                                                                                                  \
		if ((unsigned)value >= COUNT(type##_names))                                                                    \
			BUG("no name for " #type " %d", (int)value);                                                               \
		return type##_names[value];                                                                                    \
	}                                                                                                                  \
	bool type##_parse(const char *name, enum tag *ret_value)                                                           \
	{                                                                                                                  \
		unsigned index = 0;                                                                                            \
		if (!name_find(type##_names, COUNT(type##_names), name, &index))                                               \
			return false;                                                                                              \
		*ret_value = (enum tag)index;                                                                                  \
		return true;                                                                                                   \
	}

NAMES(tier, tier, "A", "B", "C")
NAMES(severity, severity, "low", "medium", "high", "critical")
NAMES(finding_kind, finding_kind, "finding", "guard")
NAMES(baseline_state, baseline_state, "none", "new", "unchanged", "absent")
NAMES(compiler_word, compiler_word, "not asked", "confirmed", "denied", "nothing said")
NAMES(deliberate_in, deliberate_in, "nowhere", "source", "project")
NAMES(candidate_kind, candidate_kind, "patch", "define", "flags", "cc", "env", "command", "none")
NAMES(verdict, verdict, "not settled", "faster", "slower", "no effect", "mixed", "inconclusive", "wrong results",
      "not built", "not reached", "deliberate", "failed")
NAMES(rung, rung, "none", "built", "tokens", "code", "intent", "reach", "outputs", "time")
NAMES(step_result, step_result, "passed", "settled", "skipped")
NAMES(stop_reason, stop_reason, "decided", "budget", "interrupted", "failed", "not to be seen")
NAMES(value_verdict, value_verdict, "not settled", "baseline", "faster", "slower", "no effect", "inconclusive", "wrong results",
      "unavailable", "missing from the build", "failed")
NAMES(metric, metric, "time", "wall clock", "CPU time", "printed, lower is better", "printed, higher is better")
static const char *const probe_results[] = {"fine", "note", "limit", "unfit"};

const char *probe_result_name(enum probe_result result)
{
	return probe_results[result];
}

bool finding_is_removal(const struct finding *finding)
{
	return finding->pattern && finding->pattern[0] == 'R';
}

NAMES(run_state, run_state, "unfinished", "done", "interrupted", "failed")

double effect_percent(double theta)
{
	return 100.0 * expm1(theta);
}

void session_progress(const struct session *session, const char *what, double done, double total, double seconds_left)
{
	if (session->progress.tick)
		session->progress.tick(session->progress.context, what, done, total, seconds_left);
}

void session_note(struct session *session, const char *where, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	struct note note = {.where = arena_strdup(&session->arena, where),
	                    .text = arena_vprintf(&session->arena, fmt, ap)};
	va_end(ap);
	list_push(&session->arena, &session->run.notes, note);
}
