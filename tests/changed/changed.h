/*
 * changed.h - recordings whose rows and bytes were changed, asked by every report.
 *
 * What no recorder writes may stand in a file all the same: a disk, a tool or somebody changed it.
 * Every command has to end, by one of its exit codes, and "internal" (4) is none of them: it would
 * say that the command is wrong, where the file is. What it prints is no danger to a terminal.
 */
#ifndef TIDEMARK_TESTS_CHANGED_H
#define TIDEMARK_TESTS_CHANGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "db.h"

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #what);               \
            exit(99);                                                                              \
        }                                                                                          \
    } while (0)

uint32_t changed_random(uint64_t *seed);

/* ---- changed_rows.c: what is changed ---- */

/* A recording of the rows in `sql`, whose columns take NULL; open for writing, in a transaction. */
struct db *changed_begin(const char *path, const char *sql);
/* Finishes the file. `strict`: its columns say NOT NULL again, whatever they have. */
void changed_end(struct db *db, bool strict);

/* How many ways there are to change one column of the recording: each column of each table that has
 * rows, a row of it and all, times the values. */
size_t changed_columns(const char *sql, const char *path);
/* The one with that number. False: SQLite does not take it. *what says what it was; of a length of
 * at least CHANGED_TEXT. */
#define CHANGED_TEXT 640
bool changed_column(const char *path, const char *sql, size_t number, char *what);
/* By the statements given. */
void changed_with(const char *path, const char *sql, const char *statements);
/* Any rows of any tables, and then perhaps any bytes. */
void changed_any(const char *path, const char *sql, uint64_t seed, char *what);

/* ---- changed_ask.c: who is asked ---- */

struct changed_answers {
    uint64_t runs, codes[5], findings;
};

size_t changed_questions(void);
/* Asks the questions whose place in `asked` is set about the file, the recording without changes
 * beside it; `what` is printed with what should not be. */
void changed_ask(const char *path, const char *whole, const bool *asked, const char *what,
                 struct changed_answers *answers);

/* ---- changed_memory.c ---- */

/* Before the first database: SQLite's memory is not that of the sanitizer. */
void changed_memory(void);

#endif
