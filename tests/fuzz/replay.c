/* Runs a fuzz target over files and folders that are named on the command line, each in turn, without a fuzzer: what
 * was found once stays found, under any compiler and sanitizer. Also an empty input, and every input cut in half. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return 1;
	}
	uint8_t *data = NULL;
	size_t size = 0, cap = 0;
	for (;;) {
		if (size == cap) {
			cap = cap ? 2 * cap : 4096;
			data = realloc(data, cap);
			if (!data)
				abort();
		}
		size_t got = fread(data + size, 1, cap - size, file);
		size += got;
		if (got == 0)
			break;
	}
	fclose(file);
	/* Exact copies, so that a sanitizer sees every byte read past the end. */
	for (size_t part = size;; part = size / 2) {
		uint8_t *copy = malloc(part ? part : 1);
		if (!copy)
			abort();
		memcpy(copy, data, part);
		LLVMFuzzerTestOneInput(copy, part);
		free(copy);
		if (part != size || size == 0)
			break;
	}
	free(data);
	replayed++;
	return 0;
}

static int replay(const char *path)
{
	struct stat info;
	if (stat(path, &info) != 0) {
		perror(path);
		return 1;
	}
	if (!S_ISDIR(info.st_mode))
		return replay_file(path);
	DIR *folder = opendir(path);
	if (!folder) {
		perror(path);
		return 1;
	}
	int failed = 0;
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char name[4096];
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		failed |= replay(name);
	}
	closedir(folder);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%u inputs replayed\n", replayed);
	if (replayed == 0)
		fprintf(stderr, "no inputs: put at least one file into the target's corpus folder\n");
	return failed || replayed == 0;
}
