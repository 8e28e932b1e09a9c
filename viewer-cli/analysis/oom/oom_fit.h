/*
 * oom_fit.h - what would have let a request through that was refused: the recording up to it, and
 * then the request, done again with other settings of the allocator and the memory that there was.
 *
 * How much memory there was is exact where the allocator had a limit. It never includes the CUDA
 * context of a rehearsal, which is known. Otherwise the refusal tells
 * its bounds: at least what was reserved at any time, and less than what was reserved plus the
 * segment that the request would have taken, for then it would not have been refused. A setting
 * gets the request through if it does so with the least of it, does not if it fails with the most,
 * and between the two nobody can tell.
 *
 * What would have come after the request is not known: `needed` is for the run up to it.
 *
 * Invariants (oom_fit_is_valid): low <= high, equal where exact; short_by only where exact; rows
 * only where state is OOM_FIT_DONE, the first one is of the recorded settings and does not get it
 * through; `helping` counts those that do.
 */
#ifndef TIDEMARK_ANALYSIS_OOM_FIT_H
#define TIDEMARK_ANALYSIS_OOM_FIT_H

#include "fit.h"
#include "oom.h"

enum oom_fit_state {
    OOM_FIT_DONE,
    OOM_FIT_CPU,       /* host memory: no caching allocator refused it */
    OOM_FIT_NO_MEMORY, /* how much there was is not known */
    OOM_FIT_LARGE,     /* more events than the caller has time for */
    OOM_FIT_DIFFERS    /* the replay gets it through as it was: it says nothing about others */
};

enum oom_through { OOM_REFUSED, OOM_THROUGH, OOM_PERHAPS };

struct oom_setting {
    const char *text; /* "" is the default */
    enum oom_through through;
    int64_t retries; /* with the most memory, the cache went back so many times */
};

struct oom_fit {
    enum oom_fit_state state;
    int64_t low, high; /* memory that the allocator could have; OOM_NONE */
    bool exact;        /* it is a limit that the record names */
    int64_t short_by;  /* the request less all that was not allocated, fragmented or not: what no
                        * arrangement helps against if it is above 0; OOM_NONE */
    struct oom_setting settings[FIT_TRIED + 1];
    size_t count, helping;
    int64_t needed; /* memory that gets it through with the recorded settings; OOM_NONE */
    char *recorded; /* those settings, as the record has them */
};

/* `oom` is of that process and device. Events before it beyond `most` are not replayed. 0 or an
 * error; oom_fit_clear in both cases. */
int oom_fit_read(struct db *db, int64_t process, int64_t device, const struct oom *oom,
                 int64_t most, struct oom_fit *out);
void oom_fit_clear(struct oom_fit *fit);
bool oom_fit_is_valid(const struct oom_fit *fit);
const char *oom_through_text(enum oom_through through);

#endif
