/*
 * loss.h - from where on a recording is not the whole truth.
 */
#ifndef TIDEMARK_ANALYSIS_LOSS_H
#define TIDEMARK_ANALYSIS_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "db.h"

#define LOSS_KINDS 20
/* The kind of a row of `lost` that repair wrote: a gap in the table of blocks. Its n says nothing;
 * no more blocks than that have a seq in it are missing. */
#define LOSS_DAMAGED "damaged pages of blocks"

struct loss {
    int64_t events;              /* 0 = nothing was lost */
    int64_t first_seq, first_ns; /* the last event before the first loss */
    size_t kind_count;
    struct {
        char name[32];
        int64_t n;
    } kinds[LOSS_KINDS]; /* largest first; what finds no room is in the last one */
    struct {             /* gaps, which are in no number above */
        bool any;
        int64_t first_seq, first_ns; /* as above, of the first gap */
        int64_t most;                /* blocks that are missing, at most; -1 = not known */
    } damage;
    char repaired[160]; /* tables of which repair found not all rows, but that of blocks; "" = none
                         */
};

struct loss_span { /* what is looked at */
    int64_t process;
    int64_t last_seq; /* of what is looked at; INT64_MAX = to the end */
};

/* Losses of these processes that began before the last seq looked at, and those that belong to no
 * process. 0 or an error. */
int loss_read(struct db *db, const struct loss_span *spans, size_t count, struct loss *out);

/* Sets the span's last_seq to the end of these steps. Where nothing of them is recorded that may be
 * a loss's doing, so they have no end. 0 or an error. */
int loss_end_of_steps(struct db *db, int64_t first_step, int64_t last_step, struct loss_span *span);
/* Where the first of the steps from `first_step` on begins. 0 or an error. */
int loss_begin_of_step(struct db *db, int64_t process, int64_t first_step, int64_t *seq);
bool loss_is_valid(const struct loss *loss);

/* Has the recorder ended in good order? If not, *last_ns is how far the recording reaches. */
int loss_read_finished(struct db *db, bool *finished, int64_t *last_ns);
/* Why not, as far as that can be seen: "not finished: ...". */
void loss_unfinished(struct db *db, struct buf *out);

#endif
