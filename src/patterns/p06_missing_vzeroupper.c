/* P06 missing-vzeroupper: a function returns with the upper halves of the vector registers in use.
 *
 * Decided from the object code: an instruction writes a ymm or zmm register of 0 to 15, and a `ret`, or a call out of the
 * object, is reached with no vzeroupper or vzeroall on the way. Compilers insert it for intrinsics, so only units with
 * assembly that names such registers, and assembly sources, are compiled for it; nothing of the project is run.
 *
 * It must not fire on helpers whose callers clean up, on zmm16 to 31 (they have no legacy halves), on functions that take
 * or return such vectors, nor on kernel code, where the end of the FPU section restores the state.
 */
#include "patterns/query.h"

#include "base/text.h"
#include "port/flags.h"
#include "port/object.h"
#include "port/proc.h"
#include "port/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COMPILE_TIMEOUT_S 100.0
enum { MACHINE_X86_64 = 62 };

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink);
static void detect_project(const struct project_view *view, struct pattern_sink *sink);

const struct pattern pattern_p06 = {
    .id = "P06",
    .slug = "missing-vzeroupper",
    .title = "wide vector registers left in use at the return",
    .tier = TIER_A,
    .what = "In the object code a function writes a ymm or zmm register and reaches its return, or a call to other code, with "
            "no vzeroupper or vzeroall on the way. Compilers insert it after intrinsics; inline assembly and assembly "
            "sources have to do it themselves.",
    .why = "While the upper halves are in use, every legacy SSE instruction that follows pays for them: Intel cores merge the "
           "halves or save and restore them, so that plain floating point becomes many times slower.",
    .when_not = "A helper whose callers do it; all code around is compiled for AVX; kernel code, whose FPU section ends with a "
                "restore; no SSE code follows before the next call.",
    .expected = "15 % of a loop of SSE additions with such a helper on Zen 3, 170 to 250 ns against 0.3 to 0.7 ns a step in the worst "
                "case (catalogue's own measurements); nothing where no SSE code follows",
    .refuted_by = "No legacy SSE code follows, or the measured times are equal. One call is enough: the state stays until somebody "
                  "cleans up.",
    .sources =
        (const char *const[]){
            "Intel 64 and IA-32 Architectures Optimization Reference Manual, section on mixing AVX and SSE code",
            "Agner Fog, Optimizing subroutines in assembly language, chapter 13 (transitions between VEX and non-VEX code)",
            NULL},
    .detect = detect,
    .detect_project = detect_project,
};

/* ---- compiling ---------------------------------------------------------------------------------------------------- */

/* The command's own words but for those that write elsewhere or run code of the project (port/flags.h), and without the
 * file's name: another one may be compiled like it. */
static bool argv_take(struct arena *arena, const struct compile_command *command, const char *tree, struct string_list *argv)
{
	if (!command->argv.count)
		return false;
	const char *compiler = command->argv.at[0];
	if (strchr(compiler, '/') && path_under(path_clean(arena, path_join(arena, command->directory, compiler)), tree))
		return false; /* a program of the project's own */
	struct string_list given = flags_given(arena, command), kept = flags_kept(arena, &given);
	list_push(arena, argv, compiler);
	for (size_t i = 0; i < kept.count; i++) {
		const char *word = kept.at[i];
		bool own = word[0] != '-' && strcmp(path_clean(arena, path_join(arena, command->directory, word)), command->file) == 0;
		if (!own && !text_starts(word, "-fsanitize"))
			list_push(arena, argv, word);
	}
	return true;
}

/* Compiles `file` as the command says, in a private folder that is removed again; NULL: it can't be, or isn't x86-64. */
static struct object *object_of(const struct compile_command *command, const char *file, const char *tree,
                                const char *const *more)
{
	struct arena arena;
	arena_init(&arena);
	const char *base = getenv("TMPDIR");
	char *folder = arena_printf(&arena, "%s/assay-object-XXXXXX", base && *base ? base : "/tmp");
	struct object *object = NULL;
	struct proc_request request = {.directory = command->directory, .timeout_s = COMPILE_TIMEOUT_S, .cpu = -1};
	struct proc_result result;
	struct err err = ERR_INIT;
	if (argv_take(&arena, command, tree, &request.argv) && mkdtemp(folder)) {
		const char *out = arena_printf(&arena, "%s/unit.o", folder);
		const char *const last[] = {"-w", "-fno-lto", "-c", "-o", out, file};
		for (; more && *more; more++)
			list_push(&arena, &request.argv, *more);
		for (size_t i = 0; i < sizeof last / sizeof *last; i++)
			list_push(&arena, &request.argv, last[i]);
		if (proc_run(&arena, &request, &result, &err) == ST_OK && proc_ok(&result) && object_open(out, &object, &err) != ST_OK)
			object = NULL;
		unlink(out);
		rmdir(folder);
	}
	if (object && object->machine != MACHINE_X86_64) {
		object_free(object);
		object = NULL;
	}
	arena_release(&arena);
	return object;
}

/* ---- the flow of a function ------------------------------------------------------------------------------------------ */

struct step {
	uint64_t offset;
	bool writes, cleans, ends, returns, branches, calls, conditional;
	bool known_target;   /* in this section */
	uint64_t target;
	const char *symbol;  /* a branch or call that a relocation leads out of the object, or to one of its symbols */
	bool has_address;    /* it takes the address of something in this section */
	uint64_t address;
	const char *address_of; /* or of this symbol */
	bool dirty;          /* on entry */
};

struct routine {
	const char *name;
	bool local;
	size_t section;
	uint64_t start, end;
	struct step *steps;
	size_t count;
	bool cleans;            /* vzeroupper or vzeroall stands in it */
	unsigned returns, dirty_returns;
	const char *dirty_call; /* a function outside that is called with dirty halves */
	bool decoded;
	bool *return_is_dirty; /* one for each return, in order */
};

struct routines {
	struct arena *arena;
	struct object *object;
	struct routine *at;
	size_t count;
};

static bool mnemonic_is(const char *text, const char *mnemonic)
{
	size_t size = strlen(mnemonic);
	return strncmp(text, mnemonic, size) == 0 && (text[size] == ' ' || text[size] == '\0' || text[size] == 'q' || text[size] == 'l') &&
	       (text[size] == ' ' || text[size] == '\0' || text[size + 1] == ' ' || text[size + 1] == '\0');
}

/* Whether the last operand (where AT&T syntax has the destination) is a wide register of 0 to 15. */
static bool writes_wide(const char *text)
{
	if (text[0] != 'v')
		return false;
	int depth = 0;
	const char *last = strchr(text, ' ');
	for (const char *at = last; at && *at; at++) {
		depth += (*at == '(' || *at == '{') - (*at == ')' || *at == '}');
		if (*at == ',' && depth == 0)
			last = at + 1;
	}
	while (last && *last == ' ')
		last++;
	if (!last || (!text_starts(last, "%ymm") && !text_starts(last, "%zmm")))
		return false;
	return strtoul(last + 4, NULL, 10) < 16;
}

/* What an instruction that is no jump names: a function that is handed on as a callback. */
static void address_read(const struct object *object, const struct object_section *section,
                         const struct object_instruction *instruction, struct step *step)
{
	if (instruction->operand == OPERAND_ADDRESS) {
		step->has_address = true;
		step->address = instruction->target;
		return;
	}
	size_t reloc = object_reloc_at(object, section, instruction->offset);
	if (reloc >= section->reloc_first + section->reloc_count || object->relocs[reloc].offset >= instruction->offset + instruction->size)
		return;
	const struct object_reloc *at = &object->relocs[reloc];
	const struct object_symbol *symbol = &object->symbols[at->symbol];
	if (symbol->kind != SYMBOL_SECTION) {
		step->address_of = symbol->name;
	} else if (symbol->place == PLACE_SECTION && &object->sections[symbol->section] == section) {
		step->has_address = true;
		step->address = (uint64_t)(at->addend + (object_reloc_traits(object, at->type).pc_relative ? 4 : 0));
	}
}

static void step_read(struct routines *routines, const struct object_section *section,
                      const struct object_instruction *instruction, struct step *step)
{
	struct object *object = routines->object;
	const char *text = object_instruction_text(object, section, instruction, NULL, 0, routines->arena);
	while (text_starts(text, "rep") || text_starts(text, "bnd ") || text_starts(text, "notrack ")) {
		const char *blank = strchr(text, ' ');
		if (!blank)
			break;
		text = blank + 1;
	}
	step->offset = instruction->offset;
	step->cleans = text_starts(text, "vzeroupper") || text_starts(text, "vzeroall");
	step->writes = !step->cleans && writes_wide(text);
	step->returns = mnemonic_is(text, "ret") || mnemonic_is(text, "iret");
	step->calls = mnemonic_is(text, "call");
	bool jump = text[0] == 'j';
	bool always = jump && mnemonic_is(text, "jmp");
	step->branches = jump;
	step->conditional = jump && !always;
	step->ends = step->returns || always || mnemonic_is(text, "ud2") || mnemonic_is(text, "hlt");
	if (!jump && !step->calls) {
		address_read(object, section, instruction, step);
		return;
	}
	if (instruction->operand == OPERAND_BRANCH) {
		step->known_target = true;
		step->target = instruction->target;
		return;
	}
	size_t reloc = object_reloc_at(object, section, instruction->offset);
	if (reloc < section->reloc_first + section->reloc_count && object->relocs[reloc].offset < instruction->offset + instruction->size) {
		const struct object_symbol *symbol = &object->symbols[object->relocs[reloc].symbol];
		if (symbol->kind == SYMBOL_SECTION && symbol->place == PLACE_SECTION && &object->sections[symbol->section] == section) {
			step->known_target = true;
			step->target = (uint64_t)(object->relocs[reloc].addend + 4);
		} else {
			step->symbol = symbol->name;
		}
	}
}

static struct routine *routine_at(const struct routines *routines, size_t section, uint64_t offset)
{
	for (size_t i = 0; i < routines->count; i++)
		if (routines->at[i].section == section && routines->at[i].start <= offset && offset < routines->at[i].end)
			return &routines->at[i];
	return NULL;
}

static struct routine *routine_named(const struct routines *routines, const char *name)
{
	for (size_t i = 0; name && i < routines->count; i++)
		if (text_equal(routines->at[i].name, name))
			return &routines->at[i];
	return NULL;
}

static struct routine *routine_of_step(const struct routines *routines, const struct routine *from, const struct step *step)
{
	return step->known_target ? routine_at(routines, from->section, step->target) : routine_named(routines, step->symbol);
}

static size_t step_at(const struct routine *routine, uint64_t offset)
{
	size_t low = 0, high = routine->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (routine->steps[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < routine->count && routine->steps[low].offset == offset ? low : SIZE_MAX;
}

static bool enter(struct routine *routine, size_t step, bool dirty)
{
	if (step >= routine->count || !dirty || routine->steps[step].dirty)
		return false;
	routine->steps[step].dirty = true;
	return true;
}

/* May-analysis to a fixed point: once dirty on some way, dirty. Indirect jumps lead nowhere that is known. */
static void routine_flow(const struct routines *routines, struct routine *routine)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < routine->count; i++) {
			const struct step *step = &routine->steps[i];
			bool dirty = step->cleans ? false : step->dirty || step->writes;
			if (step->calls) {
				struct routine *callee = routine_of_step(routines, routine, step);
				dirty = dirty && !(callee && callee->cleans);
			}
			if (step->branches && step->known_target && step->target >= routine->start && step->target < routine->end)
				changed |= enter(routine, step_at(routine, step->target), dirty);
			if (!step->ends)
				changed |= enter(routine, i + 1, dirty);
		}
	}
	routine->return_is_dirty = arena_alloc(routines->arena, routine->count + 1);
	for (size_t i = 0; i < routine->count; i++) {
		const struct step *step = &routine->steps[i];
		bool leaves = step->branches && !step->conditional && step->symbol; /* a tail call */
		if (step->returns)
			routine->return_is_dirty[routine->returns++] = step->dirty;
		if (step->returns && step->dirty)
			routine->dirty_returns++;
		struct routine *callee = step->calls || leaves ? routine_of_step(routines, routine, step) : NULL;
		if ((step->calls || leaves) && step->dirty && step->symbol && !callee && !routine->dirty_call)
			routine->dirty_call = step->symbol;
	}
}

static int routine_compare(const void *a, const void *b)
{
	const struct routine *left = a, *right = b;
	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	return left->start < right->start ? -1 : left->start > right->start;
}

static void routines_read(struct arena *arena, struct object *object, struct routines *ret_routines)
{
	*ret_routines = (struct routines){.arena = arena, .object = object};
	struct routine *at = arena_alloc(arena, (object->symbol_count + 1) * sizeof *at);
	size_t count = 0;
	for (size_t i = 0; i < object->symbol_count; i++) {
		const struct object_symbol *symbol = &object->symbols[i];
		bool code = symbol->place == PLACE_SECTION && object->sections[symbol->section].exec;
		bool function = symbol->kind == SYMBOL_FUNCTION || (symbol->kind == SYMBOL_NOTYPE && symbol->binding != BINDING_LOCAL);
		if (!code || !function || !symbol->name || !*symbol->name)
			continue;
		at[count++] = (struct routine){.name = symbol->name, .local = symbol->binding == BINDING_LOCAL, .section = symbol->section,
		                               .start = symbol->value, .end = symbol->value + symbol->size};
	}
	qsort(at, count, sizeof *at, routine_compare);
	/* Labels without a size reach to the next one. */
	for (size_t i = 0; i < count; i++) {
		const struct object_section *section = &object->sections[at[i].section];
		uint64_t next = i + 1 < count && at[i + 1].section == at[i].section ? at[i + 1].start : section->size;
		if (at[i].end <= at[i].start || at[i].end > section->size)
			at[i].end = next;
	}
	ret_routines->at = at;
	ret_routines->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct object_section *section = &object->sections[at[i].section];
		struct object_instruction_list list = {0};
		at[i].decoded = object_decode(object, section, at[i].start, at[i].end, arena, &list);
		at[i].steps = arena_alloc(arena, (list.count + 1) * sizeof *at[i].steps);
		for (size_t k = 0; k < list.count; k++) {
			step_read(ret_routines, section, &list.at[k], &at[i].steps[k]);
			at[i].cleans = at[i].cleans || at[i].steps[k].cleans;
		}
		at[i].count = list.count;
	}
	for (size_t i = 0; i < count; i++)
		if (at[i].decoded)
			routine_flow(ret_routines, &at[i]);
}

/* Whether the routine calls the other one, jumps to it, or hands it on. */
static bool routine_uses(const struct routines *routines, const struct routine *user, const struct routine *used)
{
	for (size_t i = 0; user != used && i < user->count; i++) {
		const struct step *step = &user->steps[i];
		if ((step->calls || step->branches) && routine_of_step(routines, user, step) == used)
			return true;
		if (step->has_address && user->section == used->section && step->address == used->start)
			return true;
		if (step->address_of && text_equal(step->address_of, used->name))
			return true;
	}
	return false;
}

/* A helper that only this object uses, and a user of it cleans up. */
static bool is_cleaned_by_caller(const struct routines *routines, const struct routine *routine)
{
	for (size_t i = 0; routine->local && i < routines->count; i++)
		if (routines->at[i].cleans && routine_uses(routines, &routines->at[i], routine))
			return true;
	return false;
}

static const char *evidence_of(struct arena *arena, const struct routine *routine)
{
	const char *calls = routine->dirty_call ? arena_printf(arena, "; %s is called in that state", routine->dirty_call) : "";
	return arena_printf(arena, "%u of %u returns%s, and %s", routine->dirty_returns, routine->returns, calls,
	                    routine->cleans ? "vzeroupper only on other ways" : "no vzeroupper at all");
}

/* ---- C units with assembly ---------------------------------------------------------------------------------------------- */

struct wide {
	const struct ast_unit *unit;
	bool found;
};

static bool find_wide_asm(struct ast_node *node, void *context)
{
	struct wide *wide = context;
	if (node->kind == AST_ASM && !wide->found) {
		/* The registers may come out of a macro: the text that can be read decides only when there is none. */
		const char *text = node->range.file ? ast_text(wide->unit, &node->range) : NULL;
		wide->found = node->range.in_macro || (text && (strstr(text, "ymm") || strstr(text, "zmm")));
	}
	return !wide->found;
}

/* Whether the unit's files name wide registers at all. */
static bool names_wide(const struct ast_unit *unit)
{
	for (size_t i = 0; i < unit->files.count; i++) {
		size_t size = 0;
		const char *text = ast_file_text(unit, unit->files.at[i], &size);
		if (text && (memmem(text, size, "ymm", 3) || memmem(text, size, "zmm", 3)))
			return true;
	}
	return false;
}

static bool find_return(struct ast_node *node, void *context)
{
	if (node->kind == AST_RETURN || node->kind == AST_GOTO)
		*(bool *)context = true;
	return true;
}

static bool takes_vectors(const struct ast_node *function)
{
	const char *type = function->type ? function->type->canonical : NULL;
	return type && (strstr(type, "vector_size") || strstr(type, "__vector") || strstr(type, "m256") || strstr(type, "m512") ||
	                strstr(type, "ext_vector"));
}

static bool has_avx(const struct compile_command *command)
{
	for (size_t i = 0; i < command->argv.count; i++) {
		const char *word = command->argv.at[i];
		if (text_starts(word, "-mavx") || (text_starts(word, "-march=") && strcmp(word, "-march=x86-64") != 0))
			return true;
	}
	return false;
}

static void c_candidate(const struct ast_unit *unit, const struct compile_command *command, const struct ast_node *function,
                        struct pattern_sink *sink, struct finding *finding)
{
	bool leaves = false;
	const char *type = function->type ? function->type->canonical : NULL;
	size_t size = 0, brace = function->range.end_offset;
	const char *text = ast_file_text(unit, function->range.file, &size);
	if (!text || !type || !text_starts(type, "void (") || brace == 0 || brace > size || text[brace - 1] != '}' ||
	    function->range.edge_in_macro || has_avx(command))
		return;
	ast_walk(function->body, find_return, &leaves);
	size_t line = brace - 1;
	while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '\t'))
		line--;
	if (leaves || line == 0 || text[line - 1] != '\n')
		return;
	finding_edit(sink, finding, line, 0, "\t__asm__ volatile(\"vzeroupper\");\n");
	finding->contract = "the function's caller keeps nothing in the upper halves of the vector registers";
}

/* Functions of an included file: it is this unit that makes them wide, so the finding stands here, one for all, where a
 * function of the unit uses one of them. No edit: other units include the file too, perhaps for other processors. */
static void templates_report(const struct ast_unit *unit, const struct routines *routines, const struct ast_node_list *templates,
                             struct pattern_sink *sink)
{
	const struct ast_node *place = NULL;
	for (size_t i = 0; templates->count && i < unit->top.count; i++) {
		const struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !text_equal(function->range.file, unit->main_file))
			continue;
		const struct routine *routine = routine_named(routines, function->name);
		bool uses = false;
		for (size_t k = 0; routine && k < templates->count && !uses; k++) {
			const struct routine *used = routine_named(routines, templates->at[k]->name);
			uses = used && routine_uses(routines, routine, used);
		}
		if (uses || !place)
			place = function;
		if (uses)
			break;
	}
	if (!place)
		return;
	const struct ast_node *first = templates->at[0];
	struct finding *finding = finding_new(
	    sink, unit, &pattern_p06, &place->range, place->name, SEVERITY_MEDIUM,
	    arena_printf(sink->arena, "%zu function%s from %s leave%s the upper halves of vector registers in use, and nothing here "
	                 "cleans up after them", templates->count, templates->count == 1 ? "" : "s",
	                 unit_relative(unit, first->range.file), templates->count == 1 ? "s" : ""));
	finding->evidence = arena_printf(sink->arena, "in the object code, %s() first: %s", first->name,
	                                 evidence_of(sink->arena, routine_named(routines, first->name)));
}

static void detect(const struct ast_unit *unit, const struct compile_command *command, struct pattern_sink *sink)
{
	struct wide wide = {.unit = unit};
	bool intrinsics = command_flag(command, "-mno-vzeroupper", "-mvzeroupper", false);
	if (command_is_kernel(command) || command->guessed || (!intrinsics && !names_wide(unit)))
		return;
	for (size_t i = 0; i < unit->top.count && !wide.found && !intrinsics; i++)
		if (unit->top.at[i]->kind == AST_FUNCTION && unit->top.at[i]->is_definition)
			ast_walk(unit->top.at[i], find_wide_asm, &wide);
	if (!wide.found && !intrinsics)
		return;
	struct object *object = object_of(command, command->file, unit->tree, NULL);
	if (!object)
		return;
	struct arena arena;
	arena_init(&arena);
	struct routines routines;
	routines_read(&arena, object, &routines);
	struct ast_node_list templates = {0}; /* from included files */
	for (size_t i = 0; i < unit->top.count; i++) {
		struct ast_node *function = unit->top.at[i];
		if (function->kind != AST_FUNCTION || !function->is_definition || !function->range.in_tree || takes_vectors(function))
			continue;
		const struct routine *routine = routine_named(&routines, function->name);
		if (!routine || (!routine->dirty_returns && !routine->dirty_call) || is_cleaned_by_caller(&routines, routine))
			continue;
		if (!text_equal(function->range.file, unit->main_file)) {
			list_push(&arena, &templates, function);
			continue;
		}
		struct finding *finding = finding_new(
		    sink, unit, &pattern_p06, &function->range, function->name,
		    has_avx(command)         ? SEVERITY_LOW
		    : routine->dirty_returns ? SEVERITY_HIGH /* whatever is compiled like this unit is legacy SSE */
		                             : SEVERITY_MEDIUM,
		    arena_printf(sink->arena, "%s() %s with the upper halves of vector registers in use", function->name,
		                 routine->dirty_returns ? "returns" : "calls other code"));
		finding->evidence = evidence_of(sink->arena, routine);
		if (routine->dirty_returns)
			c_candidate(unit, command, function, sink, finding);
	}
	templates_report(unit, &routines, &templates, sink);
	arena_release(&arena);
	object_free(object);
}

/* ---- assembly sources ----------------------------------------------------------------------------------------------------- */

/* The line where a label, or a macro that makes one, names the function: "name:", "ENTRY(name)"; 0: none. */
static unsigned label_line(const char *text, const char *name, const char **ret_after)
{
	size_t size = strlen(name);
	unsigned line = 0;
	for (const char *at = text; *at;) {
		size_t length = strcspn(at, "\n");
		line++;
		const char *found = memmem(at, length, name, size);
		if (found && !text_is_word(found[size]) &&
		    (found == at || !text_is_word(found[-1]))) {
			const char *after = found + size + strspn(found + size, " \t");
			bool label = *after == ':' && strspn(at, " \t") == (size_t)(found - at);
			bool macro = *after == ')' && found > at && isupper((unsigned char)at[strspn(at, " \t")]) &&
			             (memmem(at, length, "ENTRY", 5) || memmem(at, length, "START", 5) || memmem(at, length, "FUNC", 4));
			if (label || (macro && !memmem(at, length, "END", 3) && !memmem(at, length, "SIZE", 4))) {
				*ret_after = at + length;
				return line;
			}
		}
		at += length + (at[length] == '\n');
	}
	return 0;
}

static bool is_ret_line(const char *at, size_t length)
{
	static const char *const rets[] = {"ret", "retq", "RET"};
	size_t indent = strspn(at, " \t");
	for (size_t i = 0; i < sizeof rets / sizeof *rets; i++) {
		size_t size = strlen(rets[i]);
		if (indent + size <= length && strncmp(at + indent, rets[i], size) == 0 &&
		    (indent + size == length || isspace((unsigned char)at[indent + size]) || strchr("#/;", at[indent + size])))
			return true;
	}
	return false;
}

/* Before each return of the function that is reached so, when the text's returns are those of the object. */
static void assembly_candidate(struct pattern_sink *sink, struct finding *finding, const char *text, const char *after,
                               const struct routine *routine)
{
	const char *end = after + strlen(after);
	const char *size_line = strstr(after, arena_printf(sink->arena, ".size %s", routine->name));
	const char *tab_line = strstr(after, arena_printf(sink->arena, ".size\t%s", routine->name));
	const char *macro_line = strstr(after, "SET_SIZE(");
	if (size_line && size_line < end)
		end = size_line;
	if (tab_line && tab_line < end)
		end = tab_line;
	if (macro_line && macro_line < end)
		end = macro_line;
	unsigned rets = 0;
	for (const char *at = after; at < end;) {
		size_t length = strcspn(at, "\n");
		rets += is_ret_line(at, length);
		at += length + (at[length] == '\n');
	}
	if (rets != routine->returns)
		return;
	unsigned index = 0;
	for (const char *at = after; at < end;) {
		size_t length = strcspn(at, "\n");
		if (is_ret_line(at, length) && routine->return_is_dirty[index++])
			finding_edit(sink, finding, (size_t)(at - text), 0, "\tvzeroupper\n");
		at += length + (at[length] == '\n');
	}
	finding->contract = "the function's caller keeps nothing in the upper halves of the vector registers";
}

static void assembly_look(const struct project_view *view, struct pattern_sink *sink, const char *file,
                          const struct compile_command *command, bool own)
{
	struct arena arena;
	arena_init(&arena);
	size_t size = 0;
	const char *path = path_join(&arena, view->tree, file), *text = NULL;
	struct err unread = ERR_INIT; /* then there is nothing to look at */
	if (file_read(&arena, path, &text, &size, &unread) != ST_OK)
		text = NULL;
	static const char *const as_assembly[] = {"-D_ASM", "-D__ASSEMBLY__", NULL};
	struct object *object = NULL;
	if (text && (strstr(text, "ymm") || strstr(text, "zmm")))
		object = object_of(command, path, view->tree, own ? NULL : as_assembly);
	if (object) {
		struct routines routines;
		routines_read(&arena, object, &routines);
		for (size_t i = 0; i < routines.count; i++) {
			const struct routine *routine = &routines.at[i];
			const char *after = NULL;
			unsigned line = routine->local || !routine->dirty_returns ? 0 : label_line(text, routine->name, &after);
			if (!line)
				continue;
			struct finding *finding = finding_new_at(
			    sink, &pattern_p06, file, line, 1, routine->name, own ? SEVERITY_MEDIUM : SEVERITY_LOW,
			    arena_printf(sink->arena, "%s returns with the upper halves of vector registers in use", routine->name));
			finding->evidence = own ? evidence_of(sink->arena, routine)
			                        : arena_printf(sink->arena, "%s; assembled with another file's flags", evidence_of(sink->arena, routine));
			assembly_candidate(sink, finding, text, after, routine);
		}
		object_free(object);
	}
	arena_release(&arena);
}

static size_t common_size(const char *a, const char *b)
{
	size_t size = 0;
	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			size = i;
	return size;
}

static void detect_project(const struct project_view *view, struct pattern_sink *sink)
{
	for (size_t i = 0; i < view->sources.count; i++) {
		const char *file = view->sources.at[i];
		if (!text_ends(file, ".S") && !text_ends(file, ".s"))
			continue;
		/* Its own command, or that of the nearest C file. */
		const struct compile_command *own = NULL, *nearest = NULL;
		size_t most = 0;
		for (size_t k = 0; k < view->commands->count && !own; k++) {
			const struct compile_command *command = &view->commands->at[k];
			const char *other = command->guessed ? NULL : path_under(command->file, view->tree);
			if (!other)
				continue;
			if (strcmp(other, file) == 0)
				own = command;
			size_t common = common_size(other, file);
			if (!nearest || common > most) {
				nearest = command;
				most = common;
			}
		}
		const struct compile_command *command = own ? own : nearest;
		if (command && (own || most) && !command_is_kernel(command))
			assembly_look(view, sink, file, command, own != NULL);
	}
}

#if 0 /* assay example: costs */
#include <assay/bench.h>
#include <stdlib.h>

enum { FLOATS = 8 };

struct state {
	float *from, to[FLOATS];
	double sum;
	size_t groups, every;
};

static __attribute__((noinline)) void add_wide(const float *from, float *to) // finds
{
	__asm__ volatile("vmovups (%0), %%ymm0\n\t"
	                 "vaddps (%1), %%ymm0, %%ymm0\n\t"
	                 "vmovups %%ymm0, (%1)"
	                 :
	                 : "r"(from), "r"(to)
	                 : "xmm0", "memory");
}

static void add_narrow(const float *from, float *to)
{
	for (size_t i = 0; i < FLOATS; i++)
		to[i] += from[i];
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->groups = 512;
	s->every = assay_param_u64(b, "every", 1);
	s->from = malloc(s->groups * FLOATS * sizeof *s->from);
	for (size_t i = 0; i < s->groups * FLOATS; i++)
		s->from[i] = (float)(assay_random(b) % 256);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	void (*add)(const float *from, float *to) = __builtin_cpu_supports("avx") ? add_wide : add_narrow;
	for (uint64_t i = 0; i < iterations; i++) {
		double sum = 0;
		for (size_t k = 0; k < FLOATS; k++)
			s->to[k] = 0;
		for (size_t k = 0; k < s->groups; k++) {
			if (k % s->every == 0)
				add(s->from + k * FLOATS, s->to);
			sum += s->from[k * FLOATS] * 0.5;
		}
		s->sum = sum;
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "columns", s->to, sizeof s->to);
	assay_output(b, "sum", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	size_t groups = s->groups;
	s->groups = 1;
	run(state, 1);
	output(state, b);
	s->groups = groups;
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: costs fixed */
#include <assay/bench.h>
#include <stdlib.h>

enum { FLOATS = 8 };

struct state {
	float *from, to[FLOATS];
	double sum;
	size_t groups, every;
};

static __attribute__((noinline)) void add_wide(const float *from, float *to) // finds
{
	__asm__ volatile("vmovups (%0), %%ymm0\n\t"
	                 "vaddps (%1), %%ymm0, %%ymm0\n\t"
	                 "vmovups %%ymm0, (%1)"
	                 :
	                 : "r"(from), "r"(to)
	                 : "xmm0", "memory");
	__asm__ volatile("vzeroupper");
}

static void add_narrow(const float *from, float *to)
{
	for (size_t i = 0; i < FLOATS; i++)
		to[i] += from[i];
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->groups = 512;
	s->every = assay_param_u64(b, "every", 1);
	s->from = malloc(s->groups * FLOATS * sizeof *s->from);
	for (size_t i = 0; i < s->groups * FLOATS; i++)
		s->from[i] = (float)(assay_random(b) % 256);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	void (*add)(const float *from, float *to) = __builtin_cpu_supports("avx") ? add_wide : add_narrow;
	for (uint64_t i = 0; i < iterations; i++) {
		double sum = 0;
		for (size_t k = 0; k < FLOATS; k++)
			s->to[k] = 0;
		for (size_t k = 0; k < s->groups; k++) {
			if (k % s->every == 0)
				add(s->from + k * FLOATS, s->to);
			sum += s->from[k * FLOATS] * 0.5;
		}
		s->sum = sum;
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "columns", s->to, sizeof s->to);
	assay_output(b, "sum", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	size_t groups = s->groups;
	s->groups = 1;
	run(state, 1);
	output(state, b);
	s->groups = groups;
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: harmless */
// refuted by measuring
#include <assay/bench.h>
#include <stdlib.h>

enum { FLOATS = 8 };

struct state {
	float *from, to[FLOATS];
	uint32_t *numbers, sum;
	size_t groups, every;
};

static __attribute__((noinline)) void add_wide(const float *from, float *to)
{
	__asm__ volatile("vmovups (%0), %%ymm0\n\t"
	                 "vaddps (%1), %%ymm0, %%ymm0\n\t"
	                 "vmovups %%ymm0, (%1)"
	                 :
	                 : "r"(from), "r"(to)
	                 : "xmm0", "memory");
}

static void add_narrow(const float *from, float *to)
{
	for (size_t i = 0; i < FLOATS; i++)
		to[i] += from[i];
}

static void *setup(struct assay_bench *b)
{
	struct state *s = calloc(1, sizeof *s);
	s->groups = 512;
	s->every = assay_param_u64(b, "every", 4);
	s->from = malloc(s->groups * FLOATS * sizeof *s->from);
	s->numbers = malloc(s->groups * sizeof *s->numbers);
	for (size_t i = 0; i < s->groups * FLOATS; i++)
		s->from[i] = (float)(assay_random(b) % 256);
	assay_fill_random(b, s->numbers, s->groups * sizeof *s->numbers);
	return s;
}

static void run(void *state, uint64_t iterations)
{
	struct state *s = state;
	void (*add)(const float *from, float *to) = __builtin_cpu_supports("avx") ? add_wide : add_narrow;
	for (uint64_t i = 0; i < iterations; i++) {
		uint32_t sum = 0;
		for (size_t k = 0; k < FLOATS; k++)
			s->to[k] = 0;
		for (size_t k = 0; k < s->groups; k++) {
			if (k % s->every == 0)
				add(s->from + k * FLOATS, s->to);
			for (size_t n = 0; n < 16; n++) /* no SSE code: nothing waits for the upper halves */
				sum = sum * 31 + (s->numbers[k] >> n);
		}
		s->sum = sum;
		assay_keep(s);
	}
}

static void output(void *state, struct assay_bench *b)
{
	struct state *s = state;
	assay_output(b, "columns", s->to, sizeof s->to);
	assay_output(b, "sum", &s->sum, sizeof s->sum);
}

static void edges(void *state, struct assay_bench *b)
{
	struct state *s = state;
	size_t groups = s->groups;
	s->groups = 1;
	run(state, 1);
	output(state, b);
	s->groups = groups;
}

const struct assay_workload assay_workload = {.setup = setup, .run = run, .output = output, .edges = edges};
#endif

#if 0 /* assay example: also one way out, and a call */
void work(void);
int copy_some(const float *from, float *to, int n) // finds
{
	for (int i = 0; i < n; i++)
		__asm__ volatile("vmovups (%0), %%ymm1\n\tvmovups %%ymm1, (%1)" : : "r"(from + 8 * i), "r"(to + 8 * i) : "xmm1", "memory");
	if (n > 100)
		return 1;
	__asm__ volatile("vzeroupper");
	return 0;
}
void copy_and_work(const float *from, float *to) // finds
{
	__asm__ volatile("vmovups (%0), %%ymm1\n\tvmovups %%ymm1, (%1)" : : "r"(from), "r"(to) : "xmm1", "memory");
	work();
	__asm__ volatile("vzeroupper");
}
#endif

#if 0 /* assay example: lookalike cleaned up */
static void load(const float *from)
{
	__asm__ volatile("vmovups (%0), %%ymm0" : : "r"(from) : "memory");
}
static __attribute__((noinline)) void store(float *to)
{
	__asm__ volatile("vaddps %%ymm0, %%ymm0, %%ymm1\n\tvmovups %%ymm1, (%0)" : : "r"(to) : "memory");
}
void copy_twice(const float *from, float *to)
{
	load(from);
	store(to);
	__asm__ volatile("vzeroupper");
}
void copy_all(const float *from, float *to)
{
	__asm__ volatile("vmovups (%0), %%ymm0\n\tvmovups %%ymm0, (%1)\n\tvzeroall" : : "r"(from), "r"(to) : "memory");
}
#endif

#if 0 /* assay example: lookalike registers without a legacy half, narrow writes, intrinsics */
#include <immintrin.h>
__attribute__((target("avx512f"))) void copy_high(const float *from, float *to)
{
	__asm__ volatile("vmovups (%0), %%zmm16\n\tvmovups %%zmm16, (%1)" : : "r"(from), "r"(to) : "memory");
}
void copy_narrow(const float *from, float *to)
{
	__asm__ volatile("vmovups (%0), %%xmm0\n\tvmovups %%xmm0, (%1)" : : "r"(from), "r"(to) : "xmm0", "memory");
}
__attribute__((target("avx"))) void add_eight(const float *from, float *to)
{
	_mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(to)));
}
__attribute__((target("avx"))) __m256 load_eight(const float *from)
{
	__m256 all;
	__asm__ volatile("vmovups (%1), %0" : "=x"(all) : "r"(from));
	return all;
}
#endif
