/* What this machine can do for each proof, found by trying it. A table of probes, each tried once; the idea of a table
 * whose entries try for themselves is that of libbpf's feature detection. */
#include "base/text.h"
#include "port/ast.h"
#include "port/host.h"
#include "port/host_probe.h"
#include "port/pace.h"
#include "port/perf.h"
#include "port/perf_events.h"
#include "port/proc.h"
#include "port/store.h"
#include "port/tree.h"
#include "stage/stages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char MEASURING[] = "measuring", EXPLAINING[] = "explaining", BUILDING[] = "building", KEEPING[] = "keeping";

struct trying {
	struct session *session;
	struct arena *arena; /* the session's */
	struct probe *probe; /* the one at hand: group and name are set */
};

static void fine(struct trying *trying, const char *found)
{
	trying->probe->result = PROBE_FINE;
	trying->probe->found = found;
}

static void lacks(struct trying *trying, enum probe_result result, const char *found, const char *costs, const char *mend)
{
	*trying->probe = (struct probe){.group = trying->probe->group, .name = trying->probe->name, .result = result,
	                                .found = found, .costs = costs, .mend = mend};
}

/* ---- measuring -------------------------------------------------------------------------------------------------------- */

static void try_cpus(struct trying *trying)
{
	unsigned usable = host_cpus_usable(), online = trying->session->run.host.cpus;
	const char *found = arena_printf(trying->arena, "%u, of which this process may use %u", online, usable);
	if (usable < 2)
		lacks(trying, PROBE_LIMIT, found, "assay itself and all else interrupt the workload", "a machine, or a container, with 2 CPUs");
	else
		fine(trying, found);
}

static void try_pinning(struct trying *trying)
{
	struct host_affinity before;
	bool moved = host_cpu_join(host_cpu_choose(), &before);
	if (moved)
		host_cpu_return(&before);
	if (moved)
		fine(trying, "works");
	else
		lacks(trying, PROBE_LIMIT, "not allowed", "samples are left out when a process is moved between CPUs",
		      "allow sched_setaffinity in the container's seccomp profile");
}

static void try_realtime(struct trying *trying)
{
	bool allowed = proc_realtime_enter();
	if (allowed) {
		proc_realtime_leave();
		fine(trying, "allowed");
	} else
		lacks(trying, PROBE_NOTE, "not allowed", "neighbours may interrupt samples; such pairs are left out",
		      "ulimit -r 10, or CAP_SYS_NICE");
}

static void try_clock(struct trying *trying)
{
	double ns = pace_clock_ns();
	const char *found = arena_printf(trying->arena, "%.0f ns for a reading", ns);
	if (ns > 200)
		lacks(trying, PROBE_LIMIT, found, "short samples hold more of the clock than of the work",
		      "a clock source that is read without entering the kernel (tsc)");
	else
		fine(trying, found);
}

static void try_pace(struct trying *trying)
{
	double hz = pace_core_hz();
	if (hz > 0)
		fine(trying, arena_printf(trying->arena, "%.2f GHz, by a probe of dependent multiplications", 1e-9 * hz));
	else
		lacks(trying, PROBE_NOTE, "can't be probed on this processor", "cycles can't be estimated from times", NULL);
}

/* ---- explaining ------------------------------------------------------------------------------------------------------- */

static void try_counters(struct trying *trying)
{
	const char *lack = host_counters_lack(trying->arena), *remedy = lack ? strstr(lack, ": ") : NULL;
	if (lack)
		lacks(trying, PROBE_LIMIT, remedy ? arena_strndup(trying->arena, lack, (size_t)(remedy - lack)) : lack,
		      "cycles and misses can't be counted: instructions are emulated, cycles estimated", remedy ? remedy + 2 : NULL);
	else
		fine(trying, "the cycle counter counts");
}

static void try_topdown(struct trying *trying)
{
	struct perf_event_set set;
	const char *lack = host_counters_lack(trying->arena) ? "there are no hardware counters"
	                                                     : perf_events_topdown(trying->arena, "", &set);
	if (lack)
		lacks(trying, PROBE_NOTE, lack, "where slots of the processor are lost is not told", NULL);
	else
		fine(trying, "level 1, by the kernel's events");
}

static void try_paranoid(struct trying *trying)
{
	const char *text = NULL;
	size_t size = 0;
	struct err ignored = ERR_INIT;
	if (file_read(trying->arena, "/proc/sys/kernel/perf_event_paranoid", &text, &size, &ignored) != ST_OK) {
		lacks(trying, PROBE_NOTE, "not shown", "what perf_event_open allows can't be told", NULL);
		return;
	}
	int level = atoi(text);
	const char *found = arena_printf(trying->arena, "%d", level);
	if (level > 2 && geteuid() != 0)
		lacks(trying, PROBE_LIMIT, found, "neither counters nor samples for ordinary users",
		      "sysctl kernel.perf_event_paranoid=2 (1 shows time in the kernel too)");
	else if (level > 1 && geteuid() != 0)
		lacks(trying, PROBE_NOTE, found, "time in the kernel is not sampled, so shares below it are not bounded",
		      "sysctl kernel.perf_event_paranoid=1");
	else
		fine(trying, found);
}

static void try_sampling(struct trying *trying)
{
	const char *lack = NULL;
	struct perf_sample_list samples = {0};
	struct perf_sampler *sampler = perf_sampler_open(trying->arena, getpid(), -1, 100000, &lack);
	double started = proc_now();
	while (sampler && proc_now() - started < 0.03)
		;
	if (sampler) {
		perf_sampler_drain(sampler, trying->arena, &samples);
		bool kernel = perf_sampler_kernel(sampler);
		perf_sampler_close(sampler);
		if (samples.count >= 10) {
			fine(trying, arena_printf(trying->arena, "%zu samples in 30 ms%s", samples.count,
			                          kernel ? ", time in the kernel included" : ", time in the kernel not included"));
			return;
		}
		lack = "the software clock gives no samples";
	}
	lacks(trying, PROBE_LIMIT, "not available", "shares of time are not known, so the rung reach bounds nothing", lack);
}

static void program_try(struct trying *trying, const char *const *argv, const char *costs, const char *package,
                        enum probe_result result)
{
	struct proc_request request = {.cpu = -1, .timeout_s = 20, .interrupted = trying->session->interrupted};
	for (; *argv; argv++)
		list_push(trying->arena, &request.argv, *argv);
	struct proc_result ran;
	struct err trouble = ERR_INIT;
	enum status status = proc_run(trying->arena, &request, &ran, &trouble);
	if (status == ST_OK && proc_ok(&ran)) {
		fine(trying, arena_printf(trying->arena, "runs (%.1f s)", ran.wall_s));
		return;
	}
	bool missing = status == ST_OK && ran.end == PROC_NOT_FOUND;
	const char *said = status == ST_OK ? text_tail(trying->arena, ran.err, 1) : trouble.text;
	lacks(trying, result,
	      missing      ? "not installed"
	      : said[0]    ? arena_printf(trying->arena, "does not run: %s", said)
	                   : "does not run",
	      costs, missing ? arena_printf(trying->arena, "apt-get install %s", package) : NULL);
}

static void try_valgrind(struct trying *trying)
{
	static const char *const argv[] = {"valgrind", "--tool=none", "--vgdb=no", "-q", "/bin/true", NULL};
	program_try(trying, argv, "no proof that changed code is never reached, and no counts of instructions", "valgrind",
	            PROBE_LIMIT);
}

/* ---- building ----------------------------------------------------------------------------------------------------------- */

/* "gcc", "gcc-12", "clang-19", "cc". */
static bool is_compiler(const char *name)
{
	static const char *const stems[] = {"gcc", "clang"};
	for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
		const char *rest = name + strlen(stems[i]);
		if (text_starts(name, stems[i]) &&
		    (!rest[0] || (rest[0] == '-' && rest[1] && strspn(rest + 1, "0123456789.") == strlen(rest + 1))))
			return true;
	}
	return strcmp(name, "cc") == 0;
}

static int text_order(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every compiler of PATH, under all of its names. */
static struct string_list compilers_of_path(struct arena *arena)
{
	struct string_list found = {0};
	const char *path = getenv("PATH");
	for (const char *at = path ? path : ""; *at;) {
		size_t size = strcspn(at, ":");
		const char *folder = arena_strndup(arena, at, size);
		DIR *entries = opendir(folder);
		for (struct dirent *entry; entries && (entry = readdir(entries));) {
			if (!is_compiler(entry->d_name) || access(path_join(arena, folder, entry->d_name), X_OK) != 0)
				continue;
			bool known = false;
			for (size_t i = 0; i < found.count && !known; i++)
				known = strcmp(found.at[i], entry->d_name) == 0;
			if (!known)
				list_push(arena, &found, arena_strdup(arena, entry->d_name));
		}
		if (entries)
			closedir(entries);
		at += size + (at[size] == ':');
	}
	if (found.count)
		qsort(found.at, found.count, sizeof *found.at, text_order);
	return found;
}

/* Compiles, links and runs a program. NULL: it works; else what was said. */
static const char *compiler_lack(struct trying *trying, const char *compiler, const char *source, const char *program)
{
	struct arena *arena = trying->arena;
	const char *const commands[2][5] = {{compiler, "-o", program, source, NULL}, {program, NULL}};
	for (int i = 0; i < 2; i++) {
		struct proc_request request = {.cpu = -1, .timeout_s = 20, .interrupted = trying->session->interrupted};
		for (const char *const *word = commands[i]; *word; word++)
			list_push(arena, &request.argv, *word);
		struct proc_result ran;
		struct err trouble = ERR_INIT;
		if (proc_run(arena, &request, &ran, &trouble) != ST_OK)
			return arena_strdup(arena, trouble.text);
		if (proc_ok(&ran))
			continue;
		const char *said = text_tail(arena, ran.err, 1);
		return said[0] ? said : i ? "what it makes does not run" : "it does not compile";
	}
	return NULL;
}

static void try_compilers(struct trying *trying)
{
	static const char text[] = "#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n";
	struct arena *arena = trying->arena;
	const char *folder = trying->session->workdir, *broken = NULL;
	struct string_list names = compilers_of_path(arena), works = {0};
	struct err trouble = ERR_INIT;
	if (names.count == 0) {
		lacks(trying, PROBE_UNFIT, "none in PATH", "nothing can be built: findings are reported, nothing is settled",
		      "apt-get install gcc libc6-dev");
		return;
	}
	if (!folder || file_write(path_join(arena, folder, "probe.c"), text, strlen(text), &trouble) != ST_OK) {
		lacks(trying, PROBE_NOTE, arena_printf(arena, "%s; not tried, there is no folder to work in", text_join(arena, &names, ", ")),
		      "whether they work is not known", NULL);
		return;
	}
	const char *source = path_join(arena, folder, "probe.c"), *program = path_join(arena, folder, "probe");
	for (size_t i = 0; i < names.count && !*trying->session->interrupted; i++) {
		const char *lack = compiler_lack(trying, names.at[i], source, program);
		if (!lack)
			list_push(arena, &works, names.at[i]);
		else if (!broken)
			broken = arena_printf(arena, "%s: %s", names.at[i], lack);
	}
	unlink(source);
	unlink(program);
	if (works.count == 0)
		lacks(trying, PROBE_UNFIT, broken, "nothing can be built: findings are reported, nothing is settled",
		      "apt-get install gcc libc6-dev");
	else if (broken)
		lacks(trying, PROBE_LIMIT, arena_printf(arena, "%s; but %s", text_join(arena, &works, ", "), broken),
		      "nothing is settled under that one", "repair or remove it");
	else
		fine(trying, arena_printf(arena, "%s: each compiles, links and runs", text_join(arena, &works, ", ")));
}

struct parsing {
	const char *file, *folder;
};

/* In a process of its own, as scan does it. */
static int parse_main(void *context, int in, int out)
{
	const struct parsing *parsing = context;
	struct arena arena;
	struct err err = ERR_INIT;
	struct ast_unit *unit = NULL;
	(void)in;
	(void)out;
	arena_init(&arena);
	struct compile_command command = {.file = parsing->file, .directory = parsing->folder};
	list_push(&arena, &command.argv, "cc");
	list_push(&arena, &command.argv, parsing->file);
	bool parsed = ast_parse(&command, parsing->folder, &unit, &err) == ST_OK && unit->errors.count == 0 &&
	              unit->top.count >= 1;
	if (unit)
		ast_unit_free(unit);
	arena_release(&arena);
	return parsed ? 0 : 1;
}

static void try_front_end(struct trying *trying)
{
	static const char source[] = "#include <stddef.h>\nsize_t probe(size_t n) { return n + sizeof(void *); }\n";
	struct parsing parsing = {.folder = trying->session->workdir};
	struct proc_child child;
	struct err trouble = ERR_INIT;
	char byte;
	bool parsed = false;
	if (parsing.folder) {
		parsing.file = path_join(trying->arena, parsing.folder, "probe.c");
		if (file_write(parsing.file, source, strlen(source), &trouble) == ST_OK &&
		    proc_fork(parse_main, &parsing, 0, &child, &trouble) == ST_OK) {
			enum status status = proc_receive(&child, &byte, 1, 30, trying->session->interrupted, &trouble);
			proc_child_said(trying->arena, &child, 1);
			parsed = status == ST_INPUT && child.ended && child.wait_status == 0;
			proc_child_end(&child);
		}
		unlink(parsing.file);
	}
	if (parsed)
		fine(trying, "reads C with <stddef.h>");
	else
		lacks(trying, PROBE_LIMIT, "can't parse a file that includes <stddef.h>", "scan finds less: headers are not understood",
		      "apt-get install libclang-common-19-dev");
}

static void try_bubblewrap(struct trying *trying)
{
	static const char *const argv[] = {"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "/bin/true", NULL};
	program_try(trying, argv, "nothing yet: what is measured runs with your rights, walled off or not", "bubblewrap",
	            PROBE_NOTE);
}

/* ---- keeping ------------------------------------------------------------------------------------------------------------ */

static const char *file_system(long type)
{
	switch ((unsigned long)type) {
	case 0x01021994ul: return "tmpfs";
	case 0xef53ul: return "ext4";
	case 0x58465342ul: return "xfs";
	case 0x9123683eul: return "btrfs";
	case 0x794c7630ul: return "overlay";
	case 0x2fc12fc1ul: return "zfs";
	case 0x6969ul: return "nfs";
	case 0x01021997ul: return "9p";
	default: return "unknown kind";
	}
}

/* How long making and removing a small file takes, in milliseconds; below 0: it can't be done. */
static double file_ms(struct trying *trying)
{
	enum { FILES = 50 };
	const char *path = path_join(trying->arena, trying->session->workdir, "probe.c");
	struct err trouble = ERR_INIT;
	double started = proc_now();
	for (int i = 0; i < FILES; i++)
		if (file_write(path, "probe\n", 6, &trouble) != ST_OK || unlink(path) != 0)
			return -1;
	return 1000 * (proc_now() - started) / FILES;
}

static void try_temp(struct trying *trying)
{
	const char *folder = trying->session->workdir;
	struct statfs info;
	struct statvfs mount;
	if (!folder || statfs(folder, &info) != 0 || statvfs(folder, &mount) != 0) {
		lacks(trying, PROBE_UNFIT, "can't be written", "nothing can be built", "set TMPDIR to a folder that can be written");
		return;
	}
	double left = (double)info.f_bavail * (double)info.f_bsize / 1073741824;
	double ms = file_ms(trying);
	const char *found = arena_printf(trying->arena, "%s, %s, %.1f GiB free, %.2g ms a file", path_dir(trying->arena, folder),
	                                 file_system(info.f_type), left, ms);
	if (mount.f_flag & ST_NOEXEC)
		lacks(trying, PROBE_UNFIT, arena_printf(trying->arena, "%s, but mounted noexec", found), "no workload can be started",
		      "set TMPDIR to a folder where programs may run");
	else if (ms < 0)
		lacks(trying, PROBE_UNFIT, "can't be written", "nothing can be built", "set TMPDIR to a folder that can be written");
	else if (ms > 5)
		lacks(trying, PROBE_LIMIT, found, "copies of large trees take minutes", "set TMPDIR to a faster disk, or to /dev/shm");
	else if (left < 0.5)
		lacks(trying, PROBE_LIMIT, found, "large trees can't be copied", "set TMPDIR to a folder with more space");
	else
		fine(trying, found);
}

static void try_store(struct trying *trying)
{
	const char *path = NULL;
	struct store *store = NULL;
	struct err trouble = ERR_INIT;
	if (store_default_path(trying->arena, &path, &trouble) == ST_OK && store_open(path, &store, &trouble) == ST_OK) {
		store_close(store);
		fine(trying, path);
	} else
		lacks(trying, PROBE_LIMIT, arena_strdup(trying->arena, trouble.text), "runs are not kept: no samples to examine again",
		      "set XDG_STATE_HOME to a folder that can be written");
}

/* ---- the table ------------------------------------------------------------------------------------------------------------ */

static const struct {
	const char *group, *name;
	void (*run)(struct trying *);
} probes[] = {
    {MEASURING, "CPUs", try_cpus},
    {MEASURING, "pinning", try_pinning},
    {MEASURING, "real-time priority", try_realtime},
    {MEASURING, "clock", try_clock},
    {MEASURING, "core frequency", try_pace},
    {EXPLAINING, "hardware counters", try_counters},
    {EXPLAINING, "top-down", try_topdown},
    {EXPLAINING, "perf_event_paranoid", try_paranoid},
    {EXPLAINING, "sampling by clock", try_sampling},
    {EXPLAINING, "valgrind", try_valgrind},
    {BUILDING, "compilers", try_compilers},
    {BUILDING, "front end", try_front_end},
    {BUILDING, "bubblewrap", try_bubblewrap},
    {KEEPING, "working folder", try_temp},
    {KEEPING, "store", try_store},
};

void checkup_probes(struct session *session, struct checkup *checkup)
{
	struct trying trying = {.session = session, .arena = &session->arena};
	size_t count = sizeof probes / sizeof *probes;
	checkup->host = session->run.host;
	for (size_t i = 0; i < count && !*session->interrupted; i++) {
		struct probe probe = {.group = probes[i].group, .name = probes[i].name};
		trying.probe = &probe;
		session_progress(session, "probing", (double)i, (double)count, -1);
		/* What the files say belongs to the first group, behind what was tried. */
		if (i && strcmp(probes[i].group, MEASURING) != 0 && strcmp(probes[i - 1].group, MEASURING) == 0)
			host_probe_files(&session->arena, "", host_cpus_usable(), &checkup->probes);
		probes[i].run(&trying);
		list_push(&session->arena, &checkup->probes, probe);
	}
}

/* ---- the verdict ------------------------------------------------------------------------------------------------------------ */

static const char *noise_text(struct arena *arena, const struct checkup *checkup)
{
	struct string_list words = {0};
	for (size_t i = 0; i < checkup->noises.count; i++) {
		const struct noise *noise = &checkup->noises.at[i];
		if (noise->control.done)
			list_push(arena, &words, arena_printf(arena, "%.2f %% (%s)", effect_percent(noise->control.floor), noise->name));
	}
	return words.count ? arena_printf(arena, "; noise floor %s", text_join(arena, &words, ", ")) : "; noise floor not measured";
}

void checkup_judge(struct arena *arena, double margin, struct checkup *checkup)
{
	unsigned limits = 0;
	const char *unfit = NULL;
	for (size_t i = 0; i < checkup->probes.count; i++) {
		const struct probe *probe = &checkup->probes.at[i];
		limits += probe->result == PROBE_LIMIT;
		if (probe->result == PROBE_UNFIT && !unfit)
			unfit = arena_printf(arena, "%s: %s", probe->name, probe->found);
	}
	bool loud = checkup->noises.count == 0;
	for (size_t i = 0; i < checkup->noises.count; i++) {
		const struct noise *noise = &checkup->noises.at[i];
		if (noise->control.done && !noise->control.quiet && !unfit)
			unfit = arena_printf(arena, "equal programs differ here (%s)", noise->name);
		loud |= !noise->control.done || effect_percent(noise->control.floor) > 100 * margin;
	}
	const char *noise = noise_text(arena, checkup);
	checkup->verdict = unfit ? PROBE_UNFIT : limits || loud ? PROBE_LIMIT : PROBE_FINE;
	if (unfit)
		checkup->text = arena_printf(arena, "unfit to judge: %s", unfit);
	else if (limits)
		checkup->text = arena_printf(arena, "fit with limits: %u of %zu probes found a lack%s", limits, checkup->probes.count, noise);
	else if (loud)
		checkup->text = arena_printf(arena, "fit with limits: small effects can't be seen%s", noise);
	else
		checkup->text = arena_printf(arena, "fit to judge%s", noise);
}
