/* Linked programs: which function an address of a running process belongs to. */
#ifndef ASSAY_PORT_OBJECT_PROGRAM_H
#define ASSAY_PORT_OBJECT_PROGRAM_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Addresses are those of the file, before it is loaded. Aliases are functions of one range. */
struct program_function {
	const char *name; /* as the symbol table spells it: "decode.part.0" */
	uint64_t start, end;
};
LIST_OF(struct program_function, program_function_list);

struct program_segment {
	uint64_t offset, address, size; /* of the part that comes out of the file */
};
LIST_OF(struct program_segment, program_segment_list);

struct program {
	struct program_function_list functions; /* by start */
	struct program_segment_list segments;
	/* By the symbol tables: a function that starts threads which the program uses ("pthread_create"). NULL: none. */
	const char *threads;
	/* What may choose code by the CPU it runs on: an indirect function, a name of the compiler's CPU detection, or an
	 * instruction, with the function that it is in ("cpuid in detect"). NULL: nothing does. What its shared
	 * libraries choose is not looked at. */
	const char *cpu_choice;
};

/* ST_INPUT: not a linked ELF program, or damaged. A program without a symbol table has no functions. */
MUST_CHECK enum status program_open(struct arena *arena, const char *path, struct program *ret_program, struct err *err);
/* The address of the byte at `offset` of the file; false: it isn't loaded. */
bool program_address(const struct program *program, uint64_t offset, uint64_t *ret_address);

#endif
