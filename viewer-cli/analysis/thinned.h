/*
 * thinned.h - what `record --keep` and `--max-size` left out, where a report would have looked.
 */
#ifndef TIDEMARK_ANALYSIS_THINNED_H
#define TIDEMARK_ANALYSIS_THINNED_H

#include <stdint.h>

#include "db.h"

struct thinned {
    int64_t count;               /* 0: nothing was left out */
    int64_t first_seq, last_seq; /* of the stretches that meet what was asked for */
};

/* `what`: "blocks" or "phases". Stretches of the process that meet first..last. 0 or an error. */
int thinned_read(struct db *db, const char *what, int64_t process, int64_t first_seq,
                 int64_t last_seq, struct thinned *out);

#endif
