/*
 * unheard.h - while the driver was not heard: what it gave and took then is not known, and what was
 * there before may be gone.
 */
#ifndef TIDEMARK_ANALYSIS_UNHEARD_H
#define TIDEMARK_ANALYSIS_UNHEARD_H

#include <stdint.h>

#include "db.h"

#define UNHEARD_OPEN INT64_MIN /* to the end of the process */

enum unheard_why {
    UNHEARD_NOT_KNOWN,
    UNHEARD_TOOL, /* another one had CUPTI */
    UNHEARD_FATAL /* CUDA was at its end */
};

struct unheard {
    int64_t count;     /* 0: it was heard; else of gaps, and the following is of all of them */
    int64_t first_seq; /* of the first */
    int64_t begin_ns, end_ns; /* UNHEARD_OPEN */
    enum unheard_why why;     /* of the last */
    char name[64];            /* of that in words: the tool; "" = not known */
};

/* Gaps of the driver's source in the process that meet the events first..last. 0 or an error. */
int unheard_read(struct db *db, int64_t process, int64_t first_seq, int64_t last_seq,
                 struct unheard *out);

#endif
