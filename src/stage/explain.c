/* ln(t'/t) = ln(I'/I) + ln(CPI'/CPI) + ln(f/f'): the instructions, what each costs, and how long a cycle lasts.
 *
 * The effect is the measured one. With hardware counters the cycles per instruction are known as well and the rest is the
 * frequency's; with emulated instructions and a probed frequency, the rest is the cycles per instruction, and estimated. */
#include "stage/stages.h"

#include <math.h>

static const struct counter *counter_find(const struct trial *trial, enum counter_kind kind, bool emulated)
{
	for (size_t i = 0; i < trial->counters.count; i++) {
		const struct counter *counter = &trial->counters.at[i];
		if (counter->kind == kind && counter->emulated == emulated && !counter->unavailable && counter->baseline > 0 &&
		    counter->candidate > 0)
			return counter;
	}
	return NULL;
}

static double counter_log(const struct counter *counter)
{
	return counter ? log(counter->candidate / counter->baseline) : 0;
}

static const char *part(struct arena *arena, double log_ratio)
{
	double value = effect_percent(log_ratio);
	return arena_printf(arena, "%+.1f %%", fabs(value) < 0.05 ? 0.0 : value);
}

void explain(struct session *session, struct trial *trial)
{
	struct arena *arena = &session->arena;
	struct explanation *explanation = &trial->explanation;
	*explanation = (struct explanation){0};
	if (!trial->effect.known || !isfinite(trial->effect.theta))
		return;
	const struct counter *cycles = counter_find(trial, COUNTER_CYCLES, false);
	const struct counter *instructions = counter_find(trial, COUNTER_INSTRUCTIONS, false);
	const struct counter *frequency = counter_find(trial, COUNTER_FREQUENCY, false);
	bool hardware = cycles && instructions;
	if (!hardware)
		instructions = counter_find(trial, COUNTER_INSTRUCTIONS, true);
	if (!instructions)
		return;
	explanation->known = true;
	explanation->emulated = !hardware;
	explanation->instructions = counter_log(instructions);
	explanation->frequency_known = hardware || frequency;
	if (hardware) {
		explanation->cycles_per_instruction = counter_log(cycles) - counter_log(instructions);
		explanation->frequency = trial->effect.theta - counter_log(cycles);
	} else {
		explanation->frequency = -counter_log(frequency);
		explanation->cycles_per_instruction = trial->effect.theta - explanation->instructions - explanation->frequency;
	}
	const char *text =
	    arena_printf(arena, "%s = instructions %s%s x cycles per instruction %s%s", part(arena, trial->effect.theta),
	                 part(arena, explanation->instructions), hardware ? "" : " (emulated)",
	                 part(arena, explanation->cycles_per_instruction), hardware ? "" : " (estimated)");
	if (explanation->frequency_known)
		text = arena_printf(arena, "%s x time of a cycle %s%s", text, part(arena, explanation->frequency),
		                    hardware ? "" : " (probed)");
	else
		text = arena_printf(arena, "%s; the clock frequency is taken as equal", text);
	explanation->text = text;
}
