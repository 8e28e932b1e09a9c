/*
 * oom.h - allocations that failed, each explained by what the segments held at that moment.
 *
 * A request finds room in one hole of its own stream and pool only. Which stream it was for is not
 * in the event: with one heap on the device it is that one's, otherwise each heap says what its
 * largest hole was. Which settings would have let the request through: oom_fit.h.
 *
 * Invariants (ooms_is_valid): failures come by seq; shown <= count; the verdict is what the numbers
 * say; frag is valid.
 */
#ifndef TIDEMARK_ANALYSIS_OOM_H
#define TIDEMARK_ANALYSIS_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "frag.h"
#include "host.h"
#include "oom_growth.h"

#define OOM_NONE GROUP_NONE

enum oom_verdict {
    OOM_UNKNOWN,   /* segments are not known */
    OOM_FULL,      /* all holes together are smaller than the request */
    OOM_SCATTERED, /* together they would do, but none is large enough */
    OOM_ELSEWHERE  /* a hole is large enough: another stream's or pool's, or the source passed it by
                    */
};

struct oom {
    int64_t seq, at_ns;
    int64_t asked;
    int64_t allocated, reserved; /* OOM_NONE */
    int64_t total;               /* the device's memory, OOM_NONE */
    int64_t step;                /* OOM_NONE */
    int64_t phase_id;            /* the innermost one; OOM_NONE */
    char *phase;                 /* with the phases around it; NULL */
    bool between;                /* it was in no phase that the program named */
    int64_t site;                /* OOM_NONE */
    char *name, *shown;          /* of the site; NULL */
    enum oom_verdict verdict;
    struct frag frag; /* at that moment */
    bool on_cpu;
    struct host host;    /* around it; of the CPU's alone */
    enum host_wall wall; /* there: what refused it */
    int64_t wall_ns;     /* when the program set that limit itself; OOM_NONE: it did not */
    struct oom_growth growth;
};

struct ooms {
    struct oom *failures; /* the first ones, or the newest */
    size_t shown, cap;
    int64_t count; /* of all */
};

/* Those of the process on the device in steps first..last (INT64_MIN..INT64_MAX: all), the first
 * `most` explained with `named` blocks and sites each. 0 or an error; ooms_clear in both cases. */
int oom_read(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
             size_t most, size_t named, struct ooms *out);
/* The newest one alone, with the count of all. As oom_read otherwise. */
int oom_read_newest(struct db *db, int64_t process, int64_t device, int64_t first_step,
                    int64_t last_step, size_t named, struct ooms *out);
/* The newest of all until event `last`, and with it. */
int oom_read_until(struct db *db, int64_t process, int64_t device, int64_t last, size_t named,
                   struct ooms *out);

struct oom_place {
    int64_t process;
    int64_t device; /* OOM_NONE: it is not known, and nothing more can be read of it */
    char device_text[32];
    int64_t asked;
    int64_t failures, processes; /* in the whole recording */
};

/* Where the newest failure of all was. ERR_NOTFOUND: there is none. */
int oom_find_last(struct db *db, struct oom_place *out);
int oom_find_until(struct db *db, int64_t last, struct oom_place *out);
/* Blocks of the device were handed out to the process after that. */
int oom_went_on(struct db *db, int64_t process, int64_t device, int64_t seq, bool *went_on);
/* Failures of the process that name no device, where it has several: oom_read never finds them. */
int oom_count_unplaced(struct db *db, int64_t process, int64_t *count);
void ooms_clear(struct ooms *ooms);
bool ooms_is_valid(const struct ooms *ooms);
const char *oom_verdict_text(enum oom_verdict verdict);

#endif
