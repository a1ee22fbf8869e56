/* Names of a CPU's events, by libpfm4, whose only includer this is. */
#include "base/text.h"
#include "port/perf_events.h"

#include <perfmon/pfmlib_perf_event.h>
#include <string.h>

enum { SUGGESTED = 5 };

/* Events of the PMUs that this machine has whose names hold `part`; a line for people. */
static const char *names_like(struct arena *arena, const char *part)
{
	struct string_list found = {0};
	for (int pmu = 0; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t info = {.size = sizeof info};
		if (pfm_get_pmu_info((pfm_pmu_t)pmu, &info) != PFM_SUCCESS || !info.is_present)
			continue;
		for (int i = info.first_event; i != -1; i = pfm_get_event_next(i)) {
			pfm_event_info_t event = {.size = sizeof event};
			if (pfm_get_event_info(i, PFM_OS_PERF_EVENT, &event) != PFM_SUCCESS || !strcasestr(event.name, part))
				continue;
			if (found.count == SUGGESTED)
				return arena_printf(arena, "; some that hold it: %s, …", text_join(arena, &found, ", "));
			list_push(arena, &found, arena_strdup(arena, event.name));
		}
	}
	return found.count ? arena_printf(arena, "; some that hold it: %s", text_join(arena, &found, ", ")) : "";
}

static enum status event_named(struct arena *arena, const char *name, struct perf_event *ret_event, struct err *err)
{
	struct perf_event_attr attributes = {0};
	pfm_perf_encode_arg_t encoded = {.attr = &attributes, .size = sizeof encoded};
	int code = pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &encoded);
	if (code == PFM_SUCCESS) {
		*ret_event = (struct perf_event){
		    .name = arena_strdup(arena, name),
		    .code = {.type = attributes.type, .config = attributes.config, .config1 = attributes.config1}};
		return ST_OK;
	}
	const char *part = arena_strndup(arena, name, strcspn(name, ":"));
	return err_set(err, ST_USAGE, "'%s' is no event of this CPU that libpfm4 knows (%s)%s", name, pfm_strerror(code),
	               names_like(arena, part));
}

enum status perf_events_named(struct arena *arena, const struct string_list *names, struct perf_event_set *ret_set,
                              struct err *err)
{
	*ret_set = (struct perf_event_set){.count = 1};
	int code = pfm_initialize(); /* again and again costs nothing */
	if (code != PFM_SUCCESS)
		return err_set(err, ST_USAGE, "libpfm4, which knows the names of events, does not start: %s", pfm_strerror(code));
	if (names->count > BENCH_EVENTS_MAX - 1)
		return err_set(err, ST_USAGE, "%zu events are too many to be counted at once: name at most %d", names->count,
		               BENCH_EVENTS_MAX - 1);
	bool hardware = false;
	for (size_t i = 0; i < names->count; i++) {
		enum status status = event_named(arena, names->at[i], &ret_set->at[ret_set->count], err);
		if (status != ST_OK)
			return status;
		hardware |= perf_event_hardware(&ret_set->at[ret_set->count]);
		ret_set->count++;
	}
	ret_set->at[0] = hardware ? perf_events_core().at[PERF_CYCLES] : perf_events_software().at[0];
	return ST_OK;
}
