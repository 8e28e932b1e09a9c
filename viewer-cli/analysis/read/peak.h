/*
 * peak.h - the highest point of one process on one device: where it was, and who held it.
 *
 * Invariants (peak_is_valid): each of the three groupings adds up to `bytes` and `blocks`; before
 * and added do too; a group that is not empty comes before a smaller one. bytes == allocated unless
 * events were lost or the source's own totals count blocks that it never showed.
 */
#ifndef TIDEMARK_ANALYSIS_PEAK_H
#define TIDEMARK_ANALYSIS_PEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "category.h"
#include "db.h"
#include "group.h"

#define PEAK_NONE GROUP_NONE /* not known, or there is none */

struct peak_category {
    enum purpose purpose;
    enum category_rule by; /* what decided most of its bytes */
    char *rule;            /* that in words */
    int64_t by_bytes;      /* that it decided */
    int64_t bytes, blocks;
};

#define PEAK_REMARK 40

struct peak {
    bool found;   /* false: no phase of these steps had memory here */
    bool refused; /* it is not the highest point, but where a request was refused */
    int64_t process, device;
    int64_t first_step, last_step; /* that were asked about; of a refusal its own */
    int64_t seq, at_ns;
    int64_t living_seq; /* what lived is what lived after this number: seq, or the one before it */
    int64_t allocated;
    int64_t reserved;     /* at that instant; PEAK_NONE */
    int64_t max_reserved; /* the highest since the process began, until these steps ended;
                             PEAK_NONE, also after peak_find */
    int64_t requested;    /* by what lived; PEAK_NONE when some block's is not known */
    int64_t device_used;  /* the last sample before it; PEAK_NONE */
    int64_t phase;        /* the innermost one; PEAK_NONE */
    int64_t phase_begin_seq;
    int64_t rebuilt_until; /* blocks up to here were there before the record; 0 = none were */
    int64_t phase_begin_allocated;       /* when that phase began; PEAK_NONE */
    int64_t step;                        /* PEAK_NONE */
    char *phase_name, *phase_kind;       /* NULL */
    bool between;                        /* it is the time between phases */
    int64_t after_step;                  /* of an evaluation of no step, the last; PEAK_NONE */
    char *phase_path;                    /* with the phases around it: "forward > encoder"; NULL */
    int64_t bytes, blocks;               /* of the blocks that lived */
    int64_t last_bytes, last_site;       /* the block that made it the peak; PEAK_NONE */
    char *last_shown;                    /* its site, as view site_short; NULL */
    int64_t before_bytes, before_blocks; /* born before the phase */
    int64_t added_bytes, added_blocks;   /* born in it */
    struct groups sites, births;
    struct peak_category categories[PURPOSES]; /* those that there are, largest first */
    size_t category_count;
};

/* Where it was, without who held it: all up to phase_path. As peak_read otherwise. */
int peak_find(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
              struct peak *out);
/* The same of all until event `last`, and with it. */
int peak_find_until(struct db *db, int64_t process, int64_t device, int64_t last, struct peak *out);

/* Only steps first..last; INT64_MIN..INT64_MAX = everything, time outside of steps too. The largest
 * `named` sites and births get their names. 0 or an error; peak_clear in both cases. */
int peak_read(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
              size_t named, struct peak *out);
/* The same for any moment: what lived then; and for the one at which a request was refused. */
struct instant;
int peak_read_at(struct db *db, int64_t process, int64_t device, const struct instant *moment,
                 size_t named, struct peak *out);
int peak_read_refusal(struct db *db, int64_t process, int64_t device, const struct instant *moment,
                      size_t named, struct peak *out);
void peak_clear(struct peak *peak);
/* All zero if there is none of it. */
struct peak_category peak_category(const struct peak *peak, enum purpose purpose);
/* To be said behind its phase: that 'other' is between phases, after which step it evaluates; "".
 */
const char *peak_remark(char text[PEAK_REMARK], const struct peak *peak);
bool peak_is_valid(const struct peak *peak);

#endif
