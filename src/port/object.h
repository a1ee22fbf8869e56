/* Relocatable objects: what the compiler made of a unit. object.c is the only file that includes libelf and LLVM.
 *
 * An object is read into plain tables (sections, symbols, relocations), and ranges of its code can be decoded into
 * instructions. Nothing is normalised here: see port/object_compare.h.
 */
#ifndef ASSAY_PORT_OBJECT_H
#define ASSAY_PORT_OBJECT_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct object_section {
	const char *name;
	const uint8_t *bytes; /* NULL with `nobits` */
	uint64_t size, align, entsize;
	bool alloc, exec, write, tls, nobits, merge, strings;
	bool implicit_addends; /* its relocations keep their addends in the bytes (REL) */
	bool ordinary;         /* holds code or data, not a note, a symbol table, a group, … */
	size_t reloc_first, reloc_count; /* in object.relocs, by offset */
};

enum object_binding { BINDING_LOCAL, BINDING_GLOBAL, BINDING_WEAK };
enum object_symbol_kind { SYMBOL_NOTYPE, SYMBOL_OBJECT, SYMBOL_FUNCTION, SYMBOL_IFUNC, SYMBOL_SECTION, SYMBOL_OTHER };
enum object_place { PLACE_SECTION, PLACE_UNDEFINED, PLACE_ABSOLUTE, PLACE_COMMON };

struct object_symbol {
	const char *name;
	uint64_t value, size; /* PLACE_COMMON: value is the alignment */
	enum object_place place;
	size_t section; /* with PLACE_SECTION */
	enum object_binding binding;
	enum object_symbol_kind kind;
	unsigned visibility;
};

struct object_reloc {
	uint64_t offset; /* in its section */
	uint32_t type;   /* of the machine */
	size_t symbol;
	int64_t addend;
};

struct object {
	struct arena arena;
	const char *name; /* for messages */
	unsigned machine; /* ELF's e_machine */
	bool little_endian, wide;
	struct object_section *sections;
	size_t section_count;
	struct object_symbol *symbols;
	size_t symbol_count;
	struct object_reloc *relocs;
	size_t reloc_count;
	struct object_decoder *decoder; /* NULL: not needed yet */
};

/* ST_INPUT, one sentence: not an ELF file, not relocatable, LTO bitcode, truncated, inconsistent. */
MUST_CHECK enum status object_open(const char *path, struct object **ret_object, struct err *err);
/* As object_open() for bytes in memory, which are copied. */
MUST_CHECK enum status object_parse(const void *bytes, size_t size, const char *name, struct object **ret_object,
                                    struct err *err);
void object_free(struct object *object);

/* How a relocation computes. `known` false: nothing may be concluded from its addend. */
struct object_reloc_traits {
	bool known, pc_relative;
	unsigned size; /* bytes that it fills */
};
struct object_reloc_traits object_reloc_traits(const struct object *object, uint32_t type);
/* The first relocation of a section at or after `offset`: an index into object.relocs up to the section's end. */
size_t object_reloc_at(const struct object *object, const struct object_section *section, uint64_t offset);

enum object_operand { OPERAND_NONE, OPERAND_BRANCH, OPERAND_ADDRESS };

struct object_instruction {
	uint64_t offset; /* in its section */
	uint8_t size;
	bool padding; /* nop or int3 */
	/* A PC-relative operand that the assembler resolved, without a relocation. */
	enum object_operand operand;
	uint8_t field_offset, field_size; /* its bytes in the instruction; size 0: not whole bytes (other machines) */
	uint64_t target;                  /* in the same section; may lie outside it */
};
LIST_OF(struct object_instruction, object_instruction_list);

/* Decodes [start, end) of a section. False: some of it is no instruction that the decoder knows, or it knows nothing
 * of the machine; the list then holds what came before. */
bool object_decode(struct object *object, const struct object_section *section, uint64_t start, uint64_t end,
                   struct arena *arena, struct object_instruction_list *ret_instructions);

/* Text of a symbolic operand: stands in place of the bytes at `field_offset` of the instruction. */
struct object_operand_text {
	unsigned field_offset;
	const char *text;
};
/* One instruction for people, AT&T syntax on x86. */
const char *object_instruction_text(struct object *object, const struct object_section *section,
                                    const struct object_instruction *instruction,
                                    const struct object_operand_text *operands, size_t operand_count,
                                    struct arena *arena);

#endif
