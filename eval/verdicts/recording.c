#include "recording.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 3, COUNT_MAX = 100000000 };

/* Recordings stay on the machine that they were made on, so its byte order will do; but struct pair may change. */
struct file_pair {
	uint32_t block, index, baseline_flags, candidate_flags;
	uint64_t layout, candidate_first, iterations, baseline_ns, candidate_ns, baseline_cpu_ns, candidate_cpu_ns;
	uint64_t metric;
};

struct file_head {
	char magic[8];
	uint32_t version, kind;
	char workload[16], load[8];
	double effect_percent, seconds;
	int32_t layout;
	uint32_t index;
	uint64_t seed, iterations, command_iterations;
	double interleaved_s;
	uint32_t stop, unused;
	uint64_t pairs, samples[2], commands[2];
};

static const char magic[8] = "assayrec";

const char *recording_name(struct arena *arena, const struct recording *recording)
{
	static const char *const kinds[KINDS] = {"", "over-", "command-", "truth-"};
	const char *what = recording->layout != NO_LAYOUT ? arena_printf(arena, "layout%02d", recording->layout)
	                                                  : arena_printf(arena, "%g", recording->effect_percent);
	return arena_printf(arena, "%s-%s-%s%s-%05u", recording->workload, what, kinds[recording->kind], recording->load,
	                    recording->index);
}

/* An empty list has no memory, and fwrite() may not be given none. */
static void list_write(const void *at, size_t size, size_t count, FILE *file)
{
	if (count)
		fwrite(at, size, count, file);
}

enum status recording_write(const char *path, const struct recording *recording, struct err *err)
{
	struct file_head head = {
	    .version = VERSION,
	    .kind = (uint32_t)recording->kind,
	    .effect_percent = recording->effect_percent,
	    .seconds = recording->seconds,
	    .layout = recording->layout,
	    .index = recording->index,
	    .seed = recording->seed,
	    .iterations = recording->iterations,
	    .command_iterations = recording->command_iterations,
	    .interleaved_s = recording->interleaved_s,
	    .stop = recording->stop,
	    .pairs = recording->pairs.count,
	    .samples = {recording->samples[0].count, recording->samples[1].count},
	    .commands = {recording->commands[0].count, recording->commands[1].count},
	};
	memcpy(head.magic, magic, sizeof magic);
	memcpy(head.workload, recording->workload, sizeof head.workload);
	memcpy(head.load, recording->load, sizeof head.load);
	struct arena scratch;
	arena_init(&scratch);
	const char *partial = arena_printf(&scratch, "%s.partial", path);
	FILE *file = fopen(partial, "we");
	bool good = file && fwrite(&head, sizeof head, 1, file) == 1;
	if (good) {
		for (size_t i = 0; i < recording->pairs.count; i++) {
			const struct pair *pair = &recording->pairs.at[i];
			struct file_pair record = {pair->block,  pair->index,           pair->baseline_flags, pair->candidate_flags,
			                           pair->layout, pair->candidate_first, pair->iterations,     pair->baseline_ns,
			                           pair->candidate_ns, pair->baseline_cpu_ns, pair->candidate_cpu_ns, (uint64_t)pair->metric};
			fwrite(&record, sizeof record, 1, file);
		}
		list_write(recording->stamps.at, sizeof(double), recording->stamps.count, file);
		for (int i = 0; i < 2; i++)
			list_write(recording->samples[i].at, sizeof(struct timed), recording->samples[i].count, file);
		for (int i = 0; i < 2; i++)
			list_write(recording->commands[i].at, sizeof(struct timed), recording->commands[i].count, file);
		good = !ferror(file);
	}
	if (file && fclose(file) != 0)
		good = false;
	good = good && rename(partial, path) == 0;
	enum status status = good ? ST_OK : err_errno(err, errno, "can't write the recording %s", path);
	if (!good)
		unlink(partial);
	arena_release(&scratch);
	return status;
}

static void *array_read(struct arena *arena, FILE *file, uint64_t count, size_t size, bool *good)
{
	if (count > COUNT_MAX)
		*good = false;
	if (!*good || count == 0)
		return NULL;
	void *array = arena_alloc(arena, (size_t)count * size);
	*good = fread(array, size, (size_t)count, file) == (size_t)count;
	return array;
}

enum status recording_read(struct arena *arena, const char *path, struct recording *ret_recording, struct err *err)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return err_errno(err, errno, "can't read the recording %s", path);
	struct file_head head;
	bool good = fread(&head, sizeof head, 1, file) == 1 && memcmp(head.magic, magic, sizeof magic) == 0 &&
	            head.version == VERSION && head.kind < KINDS && memchr(head.workload, '\0', sizeof head.workload) && memchr(head.load, '\0', sizeof head.load);
	if (good) {
		*ret_recording = (struct recording){
		    .kind = (enum recording_kind)head.kind,
		    .effect_percent = head.effect_percent,
		    .seconds = head.seconds,
		    .layout = head.layout,
		    .index = head.index,
		    .seed = head.seed,
		    .iterations = head.iterations,
		    .command_iterations = head.command_iterations,
		    .interleaved_s = head.interleaved_s,
		    .stop = head.stop,
		};
		memcpy(ret_recording->workload, head.workload, sizeof head.workload);
		memcpy(ret_recording->load, head.load, sizeof head.load);
		const struct file_pair *records = array_read(arena, file, head.pairs, sizeof *records, &good);
		ret_recording->pairs.at = arena_alloc(arena, (good ? head.pairs + 1 : 1) * sizeof(struct pair));
		for (size_t i = 0; good && i < head.pairs; i++)
			ret_recording->pairs.at[i] = (struct pair){
			    .block = records[i].block,
			    .index = records[i].index,
			    .layout = records[i].layout,
			    .candidate_first = records[i].candidate_first,
			    .iterations = records[i].iterations,
			    .baseline_ns = records[i].baseline_ns,
			    .candidate_ns = records[i].candidate_ns,
			    .baseline_flags = records[i].baseline_flags,
			    .candidate_flags = records[i].candidate_flags,
			    .baseline_cpu_ns = records[i].baseline_cpu_ns,
			    .candidate_cpu_ns = records[i].candidate_cpu_ns,
			    .metric = (enum metric)records[i].metric,
			};
		ret_recording->stamps.at = array_read(arena, file, head.pairs, sizeof(double), &good);
		ret_recording->pairs.count = ret_recording->stamps.count = good ? head.pairs : 0;
		for (int i = 0; i < 2; i++) {
			ret_recording->samples[i].at = array_read(arena, file, head.samples[i], sizeof(struct timed), &good);
			ret_recording->samples[i].count = good ? head.samples[i] : 0;
		}
		for (int i = 0; i < 2; i++) {
			ret_recording->commands[i].at = array_read(arena, file, head.commands[i], sizeof(struct timed), &good);
			ret_recording->commands[i].count = good ? head.commands[i] : 0;
		}
	}
	fclose(file);
	if (!good)
		return err_set(err, ST_INPUT, "%s is no whole recording of this version: delete it and record again", path);
	return ST_OK;
}
