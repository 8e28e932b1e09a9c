/*
 * salvage.h - the rows of a damaged recording, read without SQLite (pages.h, btree.h).
 *
 * How. The tables and their columns are those of a fresh database of this build; their roots are
 * what the damaged file's own list of tables says, or, where that is gone, the fresh database's,
 * for db_create always puts them in the same places. Each table is walked from its root. A page
 * that does not pass (btree.h), is not there, was seen before, or has keys that its parent does not
 * promise, leaves a hole: a stretch of keys, from which nothing is taken.
 *
 * What was below a damaged inner page is then looked for among the pages that belong to no table
 * and are not free: such a page is taken if all its rows fit one table with a hole, by number and
 * types of columns and by key, and no other. Where the list of free pages is damaged this is not
 * done, since what stands on a free page was deleted.
 *
 * Each row is checked on its own, too: types, NOT NULL, ranges that make sense. A row that does not
 * pass is refused and counted. The file is read in one pass of its pages; memory is a page for each
 * level of a tree, a bit for each page of the file, the holes and the largest row.
 *
 * Invariants (salvage_is_valid): of each table saved + refused == found, and damaged > 0 if it has
 * a hole; a hole's keys do not end before they begin.
 */
#ifndef TIDEMARK_SCHEMA_SALVAGE_H
#define TIDEMARK_SCHEMA_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"

#define SALVAGE_COLUMNS 32
#define SALVAGE_NAME 32

struct salvage_table {
    char name[SALVAGE_NAME];
    bool derived; /* can be made anew from the others */
    bool absent;  /* the file's list of tables was read, and it is not in it */
    uint64_t found, saved, refused;
    uint64_t damaged; /* pages that could not be read */
    uint64_t missing; /* rows that stood on them, at the most; */
    bool known;       /* unless this is false: then nothing can be said */
};

struct salvage_hole { /* keys that could not be read: after < key <= last */
    size_t table;
    uint32_t page;       /* of the file, 1 = the first */
    bool keyed;          /* the table has numbers as keys, and the two are known: */
    int64_t after, last; /* INT64_MIN and INT64_MAX: no such end */
    uint64_t rows;       /* found again, of what was below the page */
};

struct salvage_file {
    bool header;      /* the first page begins as a database */
    bool ours;        /* by its number, or by its list of tables */
    bool list;        /* of tables: read whole */
    bool free_list;   /* read whole */
    bool log_damaged; /* transactions in the log are lost */
    bool log_missing; /* it was written with a log, which is not there, or empty */
    uint32_t page_bytes;
    uint64_t pages, pages_there; /* that should be in the file, that are */
    int64_t bytes;
};

struct salvage;

/* `fresh` is a new database, open for writing; rows go there if `write` is set. A base_err if the
 * file cannot be read at all. */
int salvage_new(struct salvage **out, const char *path, struct db *fresh, bool write);
void salvage_free(struct salvage *salvage);
/* Reads all and writes it, a transaction at a time. Damage is no error; what `fresh` says is. */
int salvage_run(struct salvage *salvage);
/* Before `fresh` is closed, if what was found is to be asked behind that. */
void salvage_let_go(struct salvage *salvage);

const struct salvage_file *salvage_file(const struct salvage *salvage);
size_t salvage_table_count(const struct salvage *salvage);
const struct salvage_table *salvage_table(const struct salvage *salvage, size_t at);
size_t salvage_hole_count(const struct salvage *salvage);
const struct salvage_hole *salvage_hole(const struct salvage *salvage, size_t at);
bool salvage_is_valid(const struct salvage *salvage);

#endif
