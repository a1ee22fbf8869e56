#include "stage/judge_outlook.h"

#include "base/stat.h"

#include <math.h>

/* Blocks differ in length, and the next machine is not this one. */
static const double SPARE = 1.3;

const char *seconds_text(struct arena *arena, double seconds)
{
	if (seconds < 10)
		return arena_printf(arena, "%.1f s", seconds);
	if (seconds < 600)
		return arena_printf(arena, "%.0f s", seconds);
	if (seconds < 48 * 3600)
		return arena_printf(arena, "%.0f min", seconds / 60);
	return arena_printf(arena, "%.0f days", seconds / 86400);
}

static const char *excluded_text(struct arena *arena, const struct effect *effect)
{
	bool faster = effect->known && isfinite(effect->low), slower = effect->known && isfinite(effect->high);
	double low = fmax(0, -effect_percent(effect->low)), high = fmax(0, effect_percent(effect->high));
	if (faster && slower)
		return arena_printf(arena, "more than %.2f %% faster and more than %.2f %% slower are excluded", low, high);
	if (faster || slower)
		return arena_printf(arena, "more than %.2f %% %s is excluded", faster ? low : high, faster ? "faster" : "slower");
	return "nothing is excluded";
}

static double half_width(const struct effect *effect)
{
	return effect->known ? fmax(effect->high - effect->theta, effect->theta - effect->low) : INFINITY;
}

/* An effect of one half-width is seen in one measurement of two, one of two half-widths in nearly all. */
static const char *seen_text(struct arena *arena, const struct effect *effect)
{
	double half = half_width(effect);
	if (!isfinite(half))
		return "no effect could have been seen, however large";
	return arena_printf(arena, "an effect of %.2f %% would have been seen", effect_percent(2 * half));
}

static struct outlook outlook_of(struct arena *arena, const struct effect *effect, const char *needs, double needs_s)
{
	return (struct outlook){.text = arena_printf(arena, "%s; %s; %s", excluded_text(arena, effect), seen_text(arena, effect),
	                                             needs),
	                        .needs_s = needs_s};
}

struct outlook outlook_open(struct arena *arena, const struct measurement *measurement, const struct effect *effect,
                            double margin)
{
	double half = half_width(effect), blocks = measurement->blocks, needed;
	if (!isfinite(half)) {
		size_t least = cseq_least(measurement->plan.alpha);
		needed = SPARE * measurement->elapsed_s * (double)least / fmax(blocks, 1);
		return outlook_of(arena, effect, arena_printf(arena, "%zu blocks are the least that decide: about %s would be needed",
		                                              least, seconds_text(arena, needed)), needed);
	}
	/* The interval's half-width shrinks with the square root of the time. It must come down to the distance of theta
	 * from 0 (faster, slower) or from the margin's ends (no effect), whichever is larger. */
	double size = fabs(effect->theta), target = fmax(size, margin - size);
	needed = measurement->elapsed_s * fmax(SPARE, half / target * (half / target));
	return outlook_of(arena, effect, arena_printf(arena, "about %s would be needed", seconds_text(arena, needed)), needed);
}

struct outlook outlook_cut_short(struct arena *arena, const struct measurement *measurement, const struct effect *effect)
{
	uint32_t layouts = measurement->plan.layouts;
	bool lack = layouts >= 2 && measurement->blocks < layouts;
	double needed = lack ? SPARE * measurement->elapsed_s * layouts / fmax(measurement->blocks, 1) : measurement->plan.budget_s;
	return outlook_of(arena, effect, arena_printf(arena, "%s %s would be needed", lack ? "about" : "at most",
	                                              seconds_text(arena, needed)), needed);
}

struct outlook outlook_no_pair(struct arena *arena, const struct measurement *measurement)
{
	const struct effect none = {0};
	size_t least = cseq_least(measurement->plan.alpha);
	double needed = fmax(measurement->elapsed_s, measurement->plan.budget_s) * (double)least;
	return outlook_of(arena, &none, arena_printf(arena, "%zu blocks are the least that decide: %s or more would be needed", least,
	                                             seconds_text(arena, needed)), needed);
}

struct outlook outlook_control(struct arena *arena, const struct control *control, double alpha)
{
	const struct effect none = {0};
	if (control->done && effect_bounded(&control->effect))
		return (struct outlook){
		    .text = arena_printf(arena, "nothing is excluded; where equal programs differ by %.2f %%, no effect could have been "
		                         "seen for what it is; no time would help while that lasts",
		                         fabs(effect_percent(control->effect.theta))),
		    .needs_s = INFINITY};
	if (control->transfer.threads && !transfer_visible(&control->transfer))
		return outlook_of(arena, &none, "no time would help while that can't be seen", INFINITY);
	size_t least = cseq_least(alpha);
	double needed = SPARE * control->seconds * (double)least / fmax(control->blocks, 1);
	/* As long again for the trial. */
	return outlook_of(arena, &none, arena_printf(arena, "about %s would be needed for the control, and as long for the trial",
	                                             seconds_text(arena, needed)), 2 * needed);
}

struct outlook outlook_crowd(struct arena *arena, const struct trial *trial, double alpha, size_t count, double budget_s)
{
	/* ln(1 / p) grows with the number of blocks. */
	double times = trial->p < 1 ? fmax(SPARE, log(alpha / (double)count) / log(trial->p)) : INFINITY;
	if (!isfinite(times))
		return outlook_of(arena, &trial->effect, "how long would be needed can't be told", INFINITY);
	return outlook_of(arena, &trial->effect, arena_printf(arena, "about %.1f times as long would be needed", times),
	                  times * budget_s);
}

struct outlook outlook_unmeasured(struct arena *arena, bool interrupted, double budget_s)
{
	static const struct effect none = {0};
	if (interrupted) /* as long for the control as for the trial */
		return outlook_of(arena, &none, arena_printf(arena, "at most %s would be needed", seconds_text(arena, 2 * budget_s)),
		                  2 * budget_s);
	return outlook_of(arena, &none, "no time would help, since nothing was measured", INFINITY);
}
