#include "port/object_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
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
	else if (!segments_read(arena, elf, ret_program) || !functions_read(arena, elf, ret_program))
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
