/* compile_commands.json (the format is described in clang's "JSON Compilation Database" document), and a guess for
 * files that no database knows. */
#ifndef ASSAY_PORT_COMPDB_H
#define ASSAY_PORT_COMPDB_H

#include "base/arena.h"
#include "base/err.h"
#include "model/compdb.h"

/* Reads a database: entries with `arguments` or `command`, in file order, C or not. Paths become absolute and clean,
 * launchers (ccache gcc …) are left out of argv. An entry that can't be used is skipped with one sentence in
 * `ret_problems` (at most 20, then one that counts the others). ST_INPUT: the file can't be read, isn't JSON or isn't
 * an array; the sentence names the file and what to do. */
MUST_CHECK enum status compdb_read(struct arena *arena, const char *path, struct compdb *ret_commands,
                                   struct string_list *ret_problems, struct err *err);
/* The same for a text in memory; `path` (absolute) is for messages and for relative directories. */
MUST_CHECK enum status compdb_parse(struct arena *arena, const char *text, size_t size, const char *path,
                                    struct compdb *ret_commands, struct string_list *ret_problems, struct err *err);

/* A guess how `file` (absolute) under `tree` may be compiled: `cc -std=gnu17` and the usual include folders that exist.
 * `guessed` is set. */
struct compile_command compdb_guess(struct arena *arena, const char *file, const char *tree);

#endif
