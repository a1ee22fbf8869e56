/* Compile commands: how each translation unit of the project is compiled. */
#ifndef ASSAY_MODEL_COMPDB_H
#define ASSAY_MODEL_COMPDB_H

#include "base/arena.h"

#include <stdbool.h>

struct compile_command {
	const char *file;        /* absolute, clean */
	const char *directory;   /* absolute, clean: where the compiler was started */
	struct string_list argv; /* argv[0] is the compiler; holds the file, and -c -o -MD … as recorded */
	bool guessed;            /* no database knows the file: best effort */
	bool of_workload;        /* made from a workload of the project file: it compiles the file just so */
};
LIST_OF(struct compile_command, compdb);

#endif
