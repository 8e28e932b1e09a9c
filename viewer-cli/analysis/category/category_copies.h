/*
 * category_copies.h - blocks from before the first step in a process whose parameters have tags:
 * what has none is no parameter. It is a copy of parameters (an exponential moving average, or a
 * frozen copy) where such blocks match most of the parameters in size. In step with view
 * parameter_size.
 */
#ifndef TIDEMARK_ANALYSIS_CATEGORY_COPIES_H
#define TIDEMARK_ANALYSIS_CATEGORY_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"
#include "map.h"

enum copies_verdict {
    COPIES_NO_TAGS, /* no parameter of the process has a tag */
    COPIES_NONE,    /* parameters have, and this block is no copy that is known */
    COPIES_COPY
};

/* Sizes of parameters that have a tag, of blocks from before the first step that are kept. */
struct category_copies {
    struct map sizes; /* bytes to the number of the first block of that size that is a parameter */
    bool copied;      /* blocks without a tag match more than half of them */
};

/* 0 or an error; category_copies_clear in both cases. last_seq: INT64_MIN = the last step has not
 * ended. */
int category_copies_read(struct db *db, int64_t process, int64_t first_seq, int64_t last_seq,
                         struct category_copies *out);
void category_copies_clear(struct category_copies *copies);
/* Of a block from before the first step that is kept. */
enum copies_verdict category_copies_decide(const struct category_copies *copies, int64_t seq,
                                           int64_t size, bool tagged);

#endif
