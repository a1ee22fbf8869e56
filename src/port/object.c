#include "port/object.h"

#include "base/text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static enum status not_usable(const struct object *object, struct err *err, const char *why)
{
	return err_set(err, ST_INPUT, "%s %s", object->name, why);
}

/* A name out of a damaged file, fit for a sentence. */
static const char *shown(struct object *object, const char *name)
{
	char *text = arena_strndup(&object->arena, name, strnlen(name, 80));
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '?';
	return text;
}

/* What a file is that isn't ELF, for the message. */
static const char *foreign_format(const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return "is empty: was the compiler interrupted?";
	if (size >= 4 && (memcmp(bytes, "BC\xC0\xDE", 4) == 0 || memcmp(bytes, "\xDE\xC0\x17\x0B", 4) == 0))
		return "holds LLVM bitcode, not machine code: compile without -flto";
	if (size >= 8 && memcmp(bytes, "!<arch>\n", 8) == 0)
		return "is an archive: name the objects themselves";
	if (size >= 4 && (memcmp(bytes, "\xCF\xFA\xED\xFE", 4) == 0 || memcmp(bytes, "\xFE\xED\xFA\xCF", 4) == 0))
		return "is a Mach-O object: only ELF objects can be compared";
	return "is not an ELF object: only ELF objects can be compared";
}

static enum status sections_read(struct object *object, Elf *elf, const uint8_t *image, size_t size, struct err *err)
{
	size_t count = 0, names = 0;
	if (elf_getshdrnum(elf, &count) != 0 || elf_getshdrstrndx(elf, &names) != 0)
		return not_usable(object, err, "is truncated or damaged: its section headers can't be read");
	object->sections = arena_alloc(&object->arena, count * sizeof *object->sections);
	object->section_count = count;
	for (size_t i = 0; i < count; i++) {
		struct object_section *section = &object->sections[i];
		Elf_Scn *scn = elf_getscn(elf, i);
		GElf_Shdr header;
		if (!scn || !gelf_getshdr(scn, &header))
			return not_usable(object, err, "is truncated or damaged: its section headers can't be read");
		const char *name = elf_strptr(elf, names, header.sh_name);
		*section = (struct object_section){
		    .name = arena_strdup(&object->arena, name ? name : ""),
		    .size = header.sh_type == SHT_NULL ? 0 : header.sh_size,
		    .align = header.sh_addralign ? header.sh_addralign : 1,
		    .entsize = header.sh_entsize,
		    .alloc = header.sh_flags & SHF_ALLOC,
		    .exec = header.sh_flags & SHF_EXECINSTR,
		    .write = header.sh_flags & SHF_WRITE,
		    .tls = header.sh_flags & SHF_TLS,
		    .merge = header.sh_flags & SHF_MERGE,
		    .strings = header.sh_flags & SHF_STRINGS,
		    .nobits = header.sh_type == SHT_NOBITS,
		};
		section->ordinary = section->alloc && (header.sh_type == SHT_PROGBITS || header.sh_type == SHT_NOBITS ||
		                                       header.sh_type == SHT_INIT_ARRAY || header.sh_type == SHT_FINI_ARRAY ||
		                                       header.sh_type == SHT_PREINIT_ARRAY);
		if (text_starts(section->name, ".gnu.lto_") || text_equal(section->name, ".llvm.lto"))
			return not_usable(object, err, "holds LTO bytecode, and the machine code is made at link time: compile without -flto");
		if (!section->nobits && header.sh_type != SHT_NULL) {
			if (header.sh_offset > size || header.sh_size > size - header.sh_offset)
				return err_set(err, ST_INPUT, "%s is truncated or damaged: section %s lies outside the file", object->name,
				               shown(object, section->name));
			section->bytes = image + header.sh_offset;
		}
	}
	return ST_OK;
}

static enum object_symbol_kind symbol_kind(unsigned type)
{
	switch (type) {
	case STT_NOTYPE: return SYMBOL_NOTYPE;
	case STT_OBJECT:
	case STT_TLS:
	case STT_COMMON: return SYMBOL_OBJECT;
	case STT_FUNC: return SYMBOL_FUNCTION;
	case STT_GNU_IFUNC: return SYMBOL_IFUNC;
	case STT_SECTION: return SYMBOL_SECTION;
	default: return SYMBOL_OTHER;
	}
}

static enum status symbols_read(struct object *object, Elf *elf, struct err *err)
{
	static const char damaged[] = "is truncated or damaged: its symbol table can't be read";
	Elf_Scn *table = NULL;
	Elf_Data *wide_indexes = NULL;
	GElf_Shdr header = {0}, table_header = {0};
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		if (!gelf_getshdr(scn, &header))
			return not_usable(object, err, damaged);
		if (header.sh_type == SHT_SYMTAB && !table) {
			table = scn;
			table_header = header;
		} else if (header.sh_type == SHT_SYMTAB_SHNDX) {
			wide_indexes = elf_getdata(scn, NULL);
		}
	}
	if (!table)
		return ST_OK;
	Elf_Data *data = elf_getdata(table, NULL);
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	if (!data || !entry)
		return table_header.sh_size ? not_usable(object, err, damaged) : ST_OK;
	size_t count = data->d_size / entry;
	object->symbols = arena_alloc(&object->arena, count * sizeof *object->symbols);
	object->symbol_count = count;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym raw;
		Elf32_Word wide_index = 0;
		if (!gelf_getsymshndx(data, wide_indexes, (int)i, &raw, &wide_index))
			return not_usable(object, err, damaged);
		struct object_symbol *symbol = &object->symbols[i];
		const char *name = raw.st_name ? elf_strptr(elf, table_header.sh_link, raw.st_name) : "";
		if (!name)
			return not_usable(object, err, damaged);
		unsigned bind = GELF_ST_BIND(raw.st_info);
		*symbol = (struct object_symbol){
		    .name = arena_strdup(&object->arena, name),
		    .value = raw.st_value,
		    .size = raw.st_size,
		    .binding = bind == STB_LOCAL ? BINDING_LOCAL : bind == STB_WEAK ? BINDING_WEAK : BINDING_GLOBAL,
		    .kind = symbol_kind(GELF_ST_TYPE(raw.st_info)),
		    .visibility = GELF_ST_VISIBILITY(raw.st_other),
		};
		size_t section = raw.st_shndx == SHN_XINDEX ? wide_index : raw.st_shndx;
		if (raw.st_shndx == SHN_UNDEF)
			symbol->place = PLACE_UNDEFINED;
		else if (raw.st_shndx == SHN_COMMON)
			symbol->place = PLACE_COMMON;
		else if (raw.st_shndx == SHN_ABS)
			symbol->place = PLACE_ABSOLUTE;
		else if (section < object->section_count)
			symbol->section = section;
		else
			return err_set(err, ST_INPUT, "%s is damaged: symbol %s belongs to no section", object->name,
				               shown(object, symbol->name));
		if (symbol->place == PLACE_SECTION) {
			uint64_t limit = object->sections[section].size;
			if (symbol->value > limit || symbol->size > limit - symbol->value)
				return err_set(err, ST_INPUT, "%s is damaged: symbol %s lies outside its section", object->name,
				               shown(object, symbol->name));
		}
	}
	return ST_OK;
}

static int reloc_order(const void *a, const void *b)
{
	const struct object_reloc *left = a, *right = b;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* The relocations of one SHT_REL or SHT_RELA section, in front of which `total` are there already. */
static enum status relocs_of(struct object *object, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header, size_t *total,
                             struct err *err)
{
	bool explicit = header->sh_type == SHT_RELA;
	size_t entry = gelf_fsize(elf, explicit ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	Elf_Data *data = elf_getdata(scn, NULL);
	struct object_section *section = &object->sections[header->sh_info];
	if (section->reloc_count)
		return err_set(err, ST_INPUT, "%s is damaged: section %s has two tables of relocations", object->name,
		               shown(object, section->name));
	section->reloc_first = *total;
	section->implicit_addends = !explicit;
	for (size_t i = 0; data && entry && i < data->d_size / entry && *total < object->reloc_count; i++) {
		GElf_Rela raw = {0};
		GElf_Rel rel;
		bool ok = false;
		if (explicit) {
			ok = gelf_getrela(data, (int)i, &raw);
		} else if (gelf_getrel(data, (int)i, &rel)) {
			raw = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
			ok = true;
		}
		struct object_reloc reloc = {.offset = raw.r_offset, .type = (uint32_t)GELF_R_TYPE(raw.r_info),
		                             .symbol = GELF_R_SYM(raw.r_info), .addend = raw.r_addend};
		if (!ok || reloc.symbol >= object->symbol_count || reloc.offset >= section->size)
			return err_set(err, ST_INPUT, "%s is damaged: a relocation of section %s points nowhere", object->name,
			               shown(object, section->name));
		object->relocs[(*total)++] = reloc;
		section->reloc_count++;
	}
	if (section->reloc_count)
		qsort(object->relocs + section->reloc_first, section->reloc_count, sizeof *object->relocs, reloc_order);
	return ST_OK;
}

static enum status relocs_read(struct object *object, Elf *elf, struct err *err)
{
	size_t total = 0;
	for (int counting = 1; counting >= 0; counting--) {
		for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
			GElf_Shdr header;
			if (!gelf_getshdr(scn, &header))
				return not_usable(object, err, "is truncated or damaged: its section headers can't be read");
			if ((header.sh_type != SHT_REL && header.sh_type != SHT_RELA) || header.sh_info >= object->section_count ||
			    !object->sections[header.sh_info].alloc)
				continue;
			if (!counting) {
				enum status status = relocs_of(object, elf, scn, &header, &total, err);
				if (status != ST_OK)
					return status;
				continue;
			}
			size_t entry = gelf_fsize(elf, header.sh_type == SHT_RELA ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
			Elf_Data *data = elf_getdata(scn, NULL);
			if (!data && header.sh_size)
				return not_usable(object, err, "is truncated or damaged: its relocations can't be read");
			object->reloc_count += data && entry ? data->d_size / entry : 0;
		}
		if (counting)
			object->relocs = arena_alloc(&object->arena, object->reloc_count * sizeof *object->relocs);
	}
	object->reloc_count = total;
	return ST_OK;
}

static enum status object_fill(struct object *object, const uint8_t *image, size_t size, struct err *err)
{
	if (size < EI_NIDENT || memcmp(image, ELFMAG, SELFMAG) != 0)
		return not_usable(object, err, foreign_format(image, size));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_set(err, ST_SYSTEM, "libelf is too old for this program");
	Elf *elf = elf_memory((char *)image, size);
	GElf_Ehdr header;
	enum status status = ST_OK;
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		status = not_usable(object, err, "is truncated or damaged: its ELF header can't be read");
	else if (header.e_type != ET_REL)
		status = not_usable(object, err, "is a linked program or library: only relocatable objects (.o) can be compared");
	else {
		object->machine = header.e_machine;
		object->little_endian = header.e_ident[EI_DATA] == ELFDATA2LSB;
		object->wide = header.e_ident[EI_CLASS] == ELFCLASS64;
		status = sections_read(object, elf, image, size, err);
		if (status == ST_OK)
			status = symbols_read(object, elf, err);
		if (status == ST_OK)
			status = relocs_read(object, elf, err);
	}
	if (elf)
		elf_end(elf);
	return status;
}

static struct object *object_new(const char *name)
{
	struct arena arena;
	arena_init(&arena);
	struct object *object = arena_new(&arena, struct object);
	object->arena = arena;
	object->name = arena_strdup(&object->arena, name);
	return object;
}

enum status object_parse(const void *bytes, size_t size, const char *name, struct object **ret_object, struct err *err)
{
	struct object *object = object_new(name);
	uint8_t *image = arena_alloc(&object->arena, size + 1);
	if (size)
		memcpy(image, bytes, size);
	enum status status = object_fill(object, image, size, err);
	if (status != ST_OK) {
		object_free(object);
		object = NULL;
	}
	*ret_object = object;
	return status;
}

enum status object_open(const char *path, struct object **ret_object, struct err *err)
{
	*ret_object = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	if (fd < 0 || fstat(fd, &info) != 0) {
		int code = errno;
		if (fd >= 0)
			close(fd);
		return err_errno(err, code, "can't read %s", path);
	}
	struct object *object = object_new(path);
	size_t size = info.st_size > 0 ? (size_t)info.st_size : 0, got = 0;
	uint8_t *image = arena_alloc(&object->arena, size + 1);
	enum status status = ST_OK;
	while (got < size && status == ST_OK) {
		ssize_t more = read(fd, image + got, size - got);
		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			status = err_errno(err, errno, "can't read %s", path);
		if (more == 0)
			size = got;
		if (more > 0)
			got += (size_t)more;
	}
	close(fd);
	if (status == ST_OK)
		status = object_fill(object, image, size, err);
	if (status != ST_OK) {
		object_free(object);
		return status;
	}
	*ret_object = object;
	return ST_OK;
}

/* ---- relocations ------------------------------------------------------------------------------------------------- */

struct object_reloc_traits object_reloc_traits(const struct object *object, uint32_t type)
{
	if (object->machine != EM_X86_64)
		return (struct object_reloc_traits){0};
	switch (type) {
	case R_X86_64_64:
	case R_X86_64_GOTOFF64:
	case R_X86_64_TPOFF64:
	case R_X86_64_DTPOFF64:
	case R_X86_64_SIZE64: return (struct object_reloc_traits){.known = true, .size = 8};
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_X86_64_TPOFF32:
	case R_X86_64_DTPOFF32:
	case R_X86_64_SIZE32: return (struct object_reloc_traits){.known = true, .size = 4};
	case R_X86_64_16: return (struct object_reloc_traits){.known = true, .size = 2};
	case R_X86_64_8: return (struct object_reloc_traits){.known = true, .size = 1};
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
	case R_X86_64_GOTTPOFF:
	case R_X86_64_TLSGD:
	case R_X86_64_TLSLD:
	case R_X86_64_GOTPC32:
	case R_X86_64_GOTPC32_TLSDESC: return (struct object_reloc_traits){.known = true, .pc_relative = true, .size = 4};
	default: return (struct object_reloc_traits){0};
	}
}

size_t object_reloc_at(const struct object *object, const struct object_section *section, uint64_t offset)
{
	size_t low = section->reloc_first, high = section->reloc_first + section->reloc_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (object->relocs[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

enum { FIELDS_MAX = 4, LONGEST_INSTRUCTION = 16 };

struct object_decoder {
	LLVMDisasmContextRef context; /* NULL: no decoder for this machine */
	/* of the instruction at hand, filled by the call-backs */
	uint64_t pc;
	unsigned last_field_offset, last_field_size;
	unsigned operand_count; /* PC-relative ones */
	enum object_operand operand;
	unsigned field_offset, field_size;
	uint64_t target;
	const struct object_operand_text *texts;
	size_t text_count;
};

static const char *const placeholders[FIELDS_MAX] = {"assay_operand_0", "assay_operand_1", "assay_operand_2",
                                                     "assay_operand_3"};

/* LLVM asks for every immediate and displacement what symbol it is; with no answer it goes on to operand_lookup(). */
static int operand_info(void *context, uint64_t pc, uint64_t offset, uint64_t operand_size, uint64_t instruction_size,
                        int tag_type, void *tag)
{
	(void)pc;
	(void)instruction_size;
	struct object_decoder *decoder = context;
	decoder->last_field_offset = (unsigned)offset;
	decoder->last_field_size = (unsigned)operand_size;
	if (tag_type != 1)
		return 0;
	for (size_t i = 0; i < decoder->text_count && i < FIELDS_MAX; i++)
		if (decoder->texts[i].field_offset == offset) {
			struct LLVMOpInfo1 *info = tag;
			memset(info, 0, sizeof *info);
			info->AddSymbol.Present = 1;
			info->AddSymbol.Name = placeholders[i];
			return 1;
		}
	return 0;
}

static const char *operand_lookup(void *context, uint64_t value, uint64_t *type, uint64_t pc, const char **name)
{
	struct object_decoder *decoder = context;
	*name = NULL;
	if (*type == LLVMDisassembler_ReferenceType_In_Branch) {
		decoder->operand = OPERAND_BRANCH;
		decoder->field_offset = decoder->last_field_offset;
		decoder->field_size = decoder->last_field_size;
		decoder->target = value;
		decoder->operand_count++;
	} else if (*type == LLVMDisassembler_ReferenceType_In_PCrel_Load) {
		decoder->operand = OPERAND_ADDRESS;
		decoder->field_offset = (unsigned)(pc - decoder->pc);
		decoder->field_size = 4;
		decoder->target = value;
		decoder->operand_count++;
	} else if (*type == LLVMDisassembler_ReferenceType_In_ARM64_ADR ||
	           *type == LLVMDisassembler_ReferenceType_In_ARM64_LDRXl) {
		decoder->operand = OPERAND_ADDRESS;
		decoder->field_offset = decoder->field_size = 0;
		decoder->target = UINT64_MAX; /* somewhere: nothing may be concluded */
		decoder->operand_count++;
	}
	*type = LLVMDisassembler_ReferenceType_InOut_None;
	return NULL;
}

static struct object_decoder *decoder_of(struct object *object)
{
	if (object->decoder)
		return object->decoder;
	struct object_decoder *decoder = arena_new(&object->arena, struct object_decoder);
	object->decoder = decoder;
	const char *triple = NULL;
	if (object->machine == EM_X86_64) {
		LLVMInitializeX86TargetInfo();
		LLVMInitializeX86TargetMC();
		LLVMInitializeX86Disassembler();
		triple = "x86_64-unknown-linux-gnu";
	} else if (object->machine == EM_AARCH64) {
		LLVMInitializeAArch64TargetInfo();
		LLVMInitializeAArch64TargetMC();
		LLVMInitializeAArch64Disassembler();
		triple = "aarch64-unknown-linux-gnu";
	}
	if (triple)
		decoder->context = LLVMCreateDisasm(triple, decoder, 1, operand_info, operand_lookup);
	return decoder;
}

void object_free(struct object *object)
{
	if (!object)
		return;
	if (object->decoder && object->decoder->context)
		LLVMDisasmDispose(object->decoder->context);
	struct arena arena = object->arena;
	arena_release(&arena);
}

static bool x86_is_padding(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	while (at < size && (bytes[at] == 0x66 || bytes[at] == 0x2e))
		at++;
	if (at + 1 == size)
		return bytes[at] == 0x90 || (size == 1 && bytes[at] == 0xcc);
	return at + 2 < size && bytes[at] == 0x0f && bytes[at + 1] == 0x1f;
}

/* Would the CPU take this for a direct branch? A second opinion: a branch that the decoder did not report would be
 * compared by its distance alone. */
static bool x86_is_direct_branch(const uint8_t *bytes, size_t size)
{
	static const uint8_t prefixes[] = {0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0};
	size_t at = 0;
	while (at < size && (memchr(prefixes, bytes[at], sizeof prefixes) || (bytes[at] & 0xf0) == 0x40))
		at++;
	if (at >= size)
		return false;
	uint8_t op = bytes[at], next = at + 1 < size ? bytes[at + 1] : 0;
	return op == 0xe8 || op == 0xe9 || op == 0xeb || (op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3) ||
	       (op == 0x0f && next >= 0x80 && next <= 0x8f) || (op == 0xc7 && next == 0xf8);
}

/* The little-endian signed number in a field of an instruction. */
static int64_t field_value(const uint8_t *bytes, unsigned size)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	unsigned unused = 64 - 8 * size;
	return (int64_t)(value << unused) >> unused;
}

bool object_decode(struct object *object, const struct object_section *section, uint64_t start, uint64_t end,
                   struct arena *arena, struct object_instruction_list *ret_instructions)
{
	struct object_decoder *decoder = decoder_of(object);
	if (!decoder->context || !section->bytes)
		return false;
	bool x86 = object->machine == EM_X86_64;
	decoder->text_count = 0;
	size_t reloc = object_reloc_at(object, section, start), reloc_end = section->reloc_first + section->reloc_count;
	for (uint64_t at = start; at < end;) {
		char text[512];
		decoder->pc = at;
		decoder->operand = OPERAND_NONE;
		decoder->operand_count = 0;
		size_t left = end - at < LONGEST_INSTRUCTION ? (size_t)(end - at) : LONGEST_INSTRUCTION;
		const uint8_t *bytes = section->bytes + at;
		size_t size = LLVMDisasmInstruction(decoder->context, (uint8_t *)bytes, left, at, text, sizeof text);
		if (size == 0 || size > left)
			return false;
		struct object_instruction instruction = {.offset = at, .size = (uint8_t)size};
		bool covered = false; /* the PC-relative field has a relocation */
		for (; reloc < reloc_end && object->relocs[reloc].offset < at + size; reloc++) {
			const struct object_reloc *r = &object->relocs[reloc];
			struct object_reloc_traits traits = object_reloc_traits(object, r->type);
			if (traits.known && r->offset + traits.size > at + size)
				return false;
			covered |= !x86 || r->offset == at + decoder->field_offset;
		}
		if (decoder->operand_count > 1)
			return false;
		if (decoder->operand != OPERAND_NONE && !covered) {
			instruction.operand = decoder->operand;
			instruction.target = decoder->target;
			if (x86) {
				unsigned offset = decoder->field_offset, field = decoder->field_size;
				if ((field != 1 && field != 4) || offset + field > size ||
				    at + size + (uint64_t)field_value(bytes + offset, field) != decoder->target)
					return false;
				instruction.field_offset = (uint8_t)offset;
				instruction.field_size = (uint8_t)field;
			}
		}
		if (x86) {
			if (decoder->operand != OPERAND_BRANCH && x86_is_direct_branch(bytes, size))
				return false;
			instruction.padding = x86_is_padding(bytes, size);
		}
		list_push(arena, ret_instructions, instruction);
		at += size;
	}
	return true;
}

const char *object_instruction_text(struct object *object, const struct object_section *section,
                                    const struct object_instruction *instruction,
                                    const struct object_operand_text *operands, size_t operand_count,
                                    struct arena *arena)
{
	struct object_decoder *decoder = decoder_of(object);
	char raw[1024] = "";
	if (decoder->context && section->bytes) {
		decoder->pc = instruction->offset;
		decoder->texts = operands;
		decoder->text_count = operand_count;
		LLVMDisasmInstruction(decoder->context, (uint8_t *)section->bytes + instruction->offset, instruction->size,
		                      instruction->offset, raw, sizeof raw);
		decoder->text_count = 0;
	}
	const char *text = raw;
	while (*text == '\t' || *text == ' ')
		text++;
	text = arena_strdup(arena, text);
	for (char *tab = (char *)text; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	for (size_t i = 0; i < operand_count && i < FIELDS_MAX; i++) {
		const char *at = strstr(text, placeholders[i]);
		if (at)
			text = arena_printf(arena, "%.*s%s%s", (int)(at - text), text, operands[i].text, at + strlen(placeholders[i]));
	}
	return text;
}
