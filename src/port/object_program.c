#include "port/object_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <unistd.h>

static int function_order(const void *a, const void *b)
{
	const struct program_function *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return strcmp(left->name, right->name);
}

static bool segments_read(struct arena *arena, Elf *elf, struct program *program)
{
	size_t count = 0;
	if (elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, (int)i, &header))
			return false;
		struct program_segment segment = {.offset = header.p_offset, .address = header.p_vaddr, .size = header.p_filesz};
		if (header.p_type == PT_LOAD)
			list_push(arena, &program->segments, segment);
	}
	return true;
}

/* Every symbol that lies in code: hand-written assembler often has no type. */
static bool functions_read(struct arena *arena, Elf *elf, struct program *program)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr header, place;
		if (!gelf_getshdr(scn, &header))
			return false;
		if (header.sh_type != SHT_SYMTAB)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
		for (size_t i = 0; data && entry && i < data->d_size / entry; i++) {
			GElf_Sym symbol;
			if (!gelf_getsym(data, (int)i, &symbol))
				return false;
			unsigned type = GELF_ST_TYPE(symbol.st_info);
			Elf_Scn *in = symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE ? NULL
			                                                                              : elf_getscn(elf, symbol.st_shndx);
			if (!in || !gelf_getshdr(in, &place) || !(place.sh_flags & SHF_EXECINSTR) ||
			    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
				continue;
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
			uint64_t limit = place.sh_addr + place.sh_size;
			if (!name || !name[0] || symbol.st_value < place.sh_addr || symbol.st_value >= limit)
				continue;
			struct program_function function = {.name = arena_strdup(arena, name), .start = symbol.st_value,
			                                    .end = symbol.st_size < limit - symbol.st_value
			                                               ? symbol.st_value + symbol.st_size
			                                               : limit};
			list_push(arena, &program->functions, function);
		}
	}
	struct program_function_list *list = &program->functions;
	if (list->count)
		qsort(list->at, list->count, sizeof *list->at, function_order);
	/* What has no size reaches to the next symbol. */
	for (size_t i = 0; i < list->count; i++) {
		if (list->at[i].end != list->at[i].start)
			continue;
		size_t next = i + 1;
		while (next < list->count && list->at[next].start == list->at[i].start)
			next++;
		list->at[i].end = next < list->count ? list->at[next].start : list->at[i].start + 1;
	}
	return true;
}

/* ---- threads, and code that is chosen by the CPU --------------------------------------------------------------------- */

static bool name_listed(const char *name, const char *const *list, size_t count)
{
	/* "pthread_create@GLIBC_2.34" */
	size_t size = strcspn(name, "@");
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == size && strncmp(name, list[i], size) == 0)
			return true;
	return false;
}

static const char *const thread_names[] = {"pthread_create", "__pthread_create_2_1", "thrd_create", "GOMP_parallel",
                                           "GOMP_parallel_start", "GOMP_parallel_loop_static", "GOMP_parallel_loop_dynamic",
                                           "GOMP_parallel_loop_guided", "GOMP_parallel_sections", "__kmpc_fork_call",
                                           "clone", "clone3"};
/* __builtin_cpu_supports(), __builtin_cpu_is() and the target_clones of both compilers; the kernel's word on the CPU. */
static const char *const cpu_names[] = {"__cpu_model", "__cpu_indicator_init", "__cpu_features2", "__aarch64_cpu_features",
                                        "getauxval", "__get_cpuid"};

/* In all symbol tables, of names that are used as well as of those that are defined. */
static bool names_read(struct arena *arena, Elf *elf, struct program *program)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr header;
		if (!gelf_getshdr(scn, &header))
			return false;
		if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
		for (size_t i = 0; data && entry && i < data->d_size / entry; i++) {
			GElf_Sym symbol;
			if (!gelf_getsym(data, (int)i, &symbol))
				return false;
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (!name || !name[0])
				continue;
			/* A weak reference (of the runtime that every workload carries) is no use of it. */
			bool weak = symbol.st_shndx == SHN_UNDEF && GELF_ST_BIND(symbol.st_info) == STB_WEAK;
			if (!program->threads && !weak && name_listed(name, thread_names, sizeof thread_names / sizeof *thread_names))
				program->threads = arena_strndup(arena, name, strcspn(name, "@"));
			/* The C library's memcpy is indirect too, but it is not defined here unless the program is linked statically. */
			bool indirect = GELF_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC && symbol.st_shndx != SHN_UNDEF;
			if (!program->cpu_choice &&
			    (indirect || name_listed(name, cpu_names, sizeof cpu_names / sizeof *cpu_names)))
				program->cpu_choice = arena_strndup(arena, name, strcspn(name, "@"));
		}
	}
	return true;
}

static size_t asks_cpu(const unsigned char *at, size_t left)
{
	if (left >= 2 && at[0] == 0x0f && at[1] == 0xa2)
		return 2; /* cpuid */
	return left >= 3 && at[0] == 0x0f && at[1] == 0x01 && at[2] == 0xd0 ? 3 : 0; /* xgetbv */
}

/* Does an instruction start at `wanted`? The same bytes inside of another one are a constant or an address. What can't be
 * decoded counts as one. */
static bool instruction_starts(LLVMDisasmContextRef decoder, const unsigned char *bytes, size_t size, size_t wanted)
{
	size_t at = 0;
	while (at < wanted) {
		char text[256];
		size_t step = LLVMDisasmInstruction(decoder, (uint8_t *)bytes + at, size - at, at, text, sizeof text);
		if (step == 0)
			return true;
		at += step;
	}
	return at == wanted;
}

/* The instructions that tell one CPU from another, in x86 functions. */
static bool instructions_read(struct arena *arena, Elf *elf, struct program *program)
{
	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86Disassembler();
	LLVMDisasmContextRef decoder = LLVMCreateDisasm("x86_64-linux-gnu", NULL, 0, NULL, NULL);
	bool good = true;
	for (Elf_Scn *scn = NULL; good && !program->cpu_choice && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr header;
		good = gelf_getshdr(scn, &header) != NULL;
		if (!good || header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		for (size_t i = 0; data && data->d_buf && i < program->functions.count && !program->cpu_choice; i++) {
			const struct program_function *function = &program->functions.at[i];
			if (function->start < header.sh_addr || function->start - header.sh_addr >= data->d_size)
				continue;
			size_t offset = function->start - header.sh_addr, size = function->end - function->start;
			const unsigned char *bytes = (const unsigned char *)data->d_buf + offset;
			size = size < data->d_size - offset ? size : data->d_size - offset;
			for (size_t k = 0; k < size && !program->cpu_choice; k++) {
				size_t length = asks_cpu(bytes + k, size - k);
				if (length && (!decoder || instruction_starts(decoder, bytes, size, k)))
					program->cpu_choice = arena_printf(arena, "%s in %s", length == 2 ? "cpuid" : "xgetbv", function->name);
			}
		}
	}
	if (decoder)
		LLVMDisasmDispose(decoder);
	return good;
}

enum status program_open(struct arena *arena, const char *path, struct program *ret_program, struct err *err)
{
	*ret_program = (struct program){0};
	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_set(err, ST_SYSTEM, "libelf is too old for this program");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, "can't read %s", path);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	GElf_Ehdr header;
	enum status status = ST_OK;
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		status = err_set(err, ST_INPUT, "%s is not a linked ELF program", path);
	else if (!segments_read(arena, elf, ret_program) || !functions_read(arena, elf, ret_program) ||
	         !names_read(arena, elf, ret_program) ||
	         (header.e_machine == EM_X86_64 && !instructions_read(arena, elf, ret_program)))
		status = err_set(err, ST_INPUT, "%s is truncated or damaged: its tables can't be read", path);
	if (elf)
		elf_end(elf);
	close(fd);
	return status;
}

bool program_address(const struct program *program, uint64_t offset, uint64_t *ret_address)
{
	for (size_t i = 0; i < program->segments.count; i++) {
		const struct program_segment *segment = &program->segments.at[i];
		if (offset >= segment->offset && offset - segment->offset < segment->size) {
			*ret_address = segment->address + (offset - segment->offset);
			return true;
		}
	}
	return false;
}
