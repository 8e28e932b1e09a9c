/*
 * living_kept.h - the rows of the last instants that living_read_kept was asked for: a page of
 * `peak` asks for that of its peak two or three times, for others once.
 *
 * The connection keeps them (db_keep), LIVING_SETS instants of at most LIVING_MOST rows: of these
 * the one that was asked for most stays. What category a row has is decided anew each time, for the
 * rules may have gone meanwhile.
 *
 * Invariants: rows[0 .. count) are those of one reading that came to its end; capacity >= count.
 */
#ifndef TIDEMARK_ANALYSIS_LIVING_KEPT_H
#define TIDEMARK_ANALYSIS_LIVING_KEPT_H

#include <stddef.h>

#include "living.h"

enum { LIVING_SETS = 2, LIVING_MOST = 1 << 17 };

struct living_rows {
    int64_t process, device, seq;
    unsigned asked; /* how often */
    size_t count, capacity;
    struct living_row {
        struct living_block block; /* without its category */
        int64_t born;              /* LIVING_NONE */
    } * rows;
};

/* NULL: nobody kept them. They stay until the next living_rows_keep. */
const struct living_rows *living_rows_kept(struct db *db, int64_t process, int64_t device,
                                           int64_t seq);
/* NULL: no memory; then they are not kept, which is no error. */
struct living_rows *living_rows_begin(int64_t process, int64_t device, int64_t seq);
/* Too many, or no memory: *rows is freed, and NULL from then on. */
void living_rows_add(struct living_rows **rows, const struct living_block *block, int64_t born);
/* Takes the rows, or frees them where they are not whole; NULL is nothing. */
void living_rows_keep(struct db *db, struct living_rows *rows, bool whole);

#endif
