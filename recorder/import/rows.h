/*
 * rows.h - rows of an SQLite database that somebody else wrote, read without SQLite: page by page
 * (schema/pages.h, schema/btree.h). Nothing of the file is executed: no SQL, no view, no trigger,
 * no default, no collation. What it says of a table is only where its pages begin and what its
 * columns are called.
 *
 * The list of tables is the tree of page 1. The text of CREATE TABLE is read as far as names of
 * columns go; a table with generated columns, a virtual one, and one WITHOUT ROWID are not
 * readable here. A row may have fewer values than its table has columns: the others are NULL. The
 * column that is INTEGER PRIMARY KEY stands in the row's key.
 *
 * A page that is damaged, missing, or seen before in the same walk ends the walk. A row of more
 * than ROWS_PAYLOAD bytes is passed over and counted.
 */
#ifndef TIDEMARK_IMPORT_ROWS_H
#define TIDEMARK_IMPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "btree.h"
#include "pages.h"

#define ROWS_COLUMNS 128 /* of a table */
#define ROWS_ASKED 16    /* columns that are asked for at once */
#define ROWS_PAYLOAD ((uint64_t)16 << 20)
#define ROWS_MESSAGE 160

struct rows {
    struct pages pages;
    unsigned char *seen;    /* a bit for each page, of one walk */
    unsigned char *payload; /* of a row that goes on on other pages */
    size_t payload_cap;
    uint64_t passed_over;
    uint64_t rows;        /* that were seen, of all tables */
    uint32_t application; /* the number that its header has for who made it */
    char message[ROWS_MESSAGE];
};

struct rows_table {
    const char *name; /* the caller's */
    uint32_t root;    /* 0 = there is no such table */
    int key;          /* the column that is the row's key, -1 = none */
    int columns;
    int at[ROWS_ASKED]; /* of the columns that were asked for; -1 = it has none */
};

struct rows_value {
    bool is_number, is_text; /* neither: NULL, or of a kind that is not asked for */
    int64_t number;
    const char *text; /* not terminated; valid until the next row */
    size_t bytes;
};

/* A base_err, with `message`. What is opened is to be closed in any case. */
int rows_open(struct rows *rows, const char *path);
void rows_close(struct rows *rows);
/* `columns` ends with NULL. A base_err; a table that is not there is none. */
int rows_find(struct rows *rows, const char *name, const char *const *columns,
              struct rows_table *table);
/* Calls `see` for each row, with a value for each column that was asked for. A base_err: its own,
 * or ERR_CORRUPT for a page, with `message`. */
typedef int rows_see(void *self, const struct rows_value *values);
int rows_walk(struct rows *rows, const struct rows_table *table, rows_see *see, void *self);

#endif
