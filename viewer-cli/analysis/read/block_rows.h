/*
 * block_rows.h - parts of the statements that read blocks of one process on one device, a hundred
 * thousand of them for an instant: what is asked of each row of table allocation (a), as cheaply as
 * SQLite can ask it.
 *
 * Is it one of theirs? Mostly the heaps from their first to their last are all theirs, and then
 * table heap is not looked at again. Was its thread in a phase of its own when it was born? Mostly
 * no thread of the recording ever was, and then table allocation_phase is not looked at: each such
 * statement has two texts.
 */
#ifndef TIDEMARK_ANALYSIS_BLOCK_ROWS_H
#define TIDEMARK_ANALYSIS_BLOCK_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"
#include "query.h"

struct block_rows {
    int64_t first, last; /* heap.id, QUERY_NONE: they have none */
    bool all;            /* each heap between these is theirs */
    bool born;           /* there are threads that had phases of their own: the second text */
};

/* 0 or an error. */
int block_rows_find(struct db *db, int64_t process, int64_t device, struct block_rows *out);

/* With ?1 and ?2, process and device, and as ?5 to ?7 what BLOCK_ROWS_IN has. */
#define BLOCK_ROWS_THEIRS                                                                          \
    " a.heap BETWEEN ?5 AND ?6 AND"                                                                \
    " (?7 OR a.heap IN (SELECT id FROM heap WHERE process = ?1 AND device = ?2))"
#define BLOCK_ROWS_IN(rows) query_opt((rows).first), query_opt((rows).last), (int64_t)(rows).all

/* TEXT(born, join): the statement, with a column `born` and behind its other tables `join`. An
 * array of two, by block_rows.born. */
#define BLOCK_ROWS_TEXTS(TEXT)                                                                     \
    {                                                                                              \
        TEXT("NULL AS born", ""),                                                                  \
            TEXT("ap.phase AS born", " LEFT JOIN allocation_phase ap ON ap.allocation = a.seq")    \
    }

#endif
