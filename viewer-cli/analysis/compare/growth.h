/*
 * growth.h - whether a run holds more and more: "1.3 MiB per step", "steady since step 1", or up
 * and down with its inputs. For one line of a report; what grows, and who holds it, is leaks.h.
 *
 * The units are steps; of a program without steps, calls of its model (outermost forwards, as a
 * loop that generates makes one for each token). Of each unit two numbers count: its peak, and what
 * is allocated as it ends. The first unit is left out: it makes gradients, states and caches.
 *
 * Growing: the lowest end in each quarter of the units is higher than in the quarter before, and
 * all of it is a hundredth of the peak or a MiB; so a larger batch now and then is no growth, and
 * neither is a cache that fills up once. The figure is the slope of the line through
 * what stays, as check.h has that of peaks.
 *
 * A loop that generates calls its model once with the whole prompt, then for each token, and begins
 * anew with the next prompt: calls are compared with those of their own sequence. One begins with a
 * call of which the own memory (its peak less what was allocated as it began) is several times the
 * median, or that ends lower than the call before it.
 *
 * Invariants (growth_is_valid): a sequence only of varying calls; units >= GROWTH_LEAST unless
 * unknown; since within first..last; per_unit > 0 when growing only; what is not known is
 * GROUP_NONE.
 */
#ifndef TIDEMARK_ANALYSIS_GROWTH_H
#define TIDEMARK_ANALYSIS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "group.h"

enum { GROWTH_LEAST = 5 };

enum growth_kind {
    GROWTH_UNKNOWN, /* too few units, or `thinned` */
    GROWTH_STEADY,  /* peaks are within a hundredth of each other */
    GROWTH_GROWING, /* what stays allocated rises */
    GROWTH_VARYING  /* peaks differ, and what stays allocated does not rise */
};

struct growth {
    enum growth_kind kind;
    bool calls;          /* units are calls of the model, counted from 0; else steps */
    bool thinned;        /* of GROWTH_UNKNOWN: numbers are missing, and phases were thinned out */
    int64_t units;       /* that count */
    int64_t first, last; /* of them */
    int64_t per_unit;    /* bytes; of GROWTH_GROWING, else 0 */
    int64_t since;       /* steady or growing since this unit; GROUP_NONE */
    int64_t lowest, highest;           /* peaks; of GROWTH_VARYING their units are: */
    int64_t lowest_unit, highest_unit; /* GROUP_NONE */
    struct growth_sequence {           /* of GROWTH_VARYING calls: the longest that grows */
        int64_t per_call;              /* bytes; 0: there is none */
        int64_t first, last;           /* calls, without the one that begins it */
        bool prefill;                  /* the highest call has several times the others' own memory:
                                          it takes many tokens at once */
    } sequence;
};

/* 0 or an error. Two rows a phase are read, no block. */
int growth_read(struct db *db, int64_t process, int64_t device, struct growth *out);
bool growth_is_valid(const struct growth *growth);

/* What grows: the calls that hold more at the end of the last unit than at that of an early one. */
struct growth_cause {
    int64_t bytes;    /* of the growth, in that call */
    char *shown;      /* the call site, NULL = not known */
    bool larger;      /* as many blocks as before, and larger: each time anew, as torch.cat makes */
    bool cache;       /* frames of its stack are called so */
    bool inference;   /* the process has no backward */
    int64_t per_unit; /* bytes, of all calls that are like it */
};
/* 0 or an error, growth_cause_clear in both cases; nothing is known (bytes 0) unless growing. */
int growth_cause_read(struct db *db, int64_t process, int64_t device, const struct growth *growth,
                      struct growth_cause *out);
void growth_cause_clear(struct growth_cause *cause);

/* One line: "1.3 MiB per step, steps 1 to 40, most in ...", "none since step 1", "KV cache: +4
 * MiB per 64 tokens"; "" when unknown. `cause` may be NULL. */
enum { GROWTH_TEXT = 320 };
const char *growth_text(char text[GROWTH_TEXT], const struct growth *growth,
                        const struct growth_cause *cause);

#endif
