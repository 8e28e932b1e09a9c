/*
 * plan_scale.h - recordings of one program at a few small values of a number, made into what it
 * would do at any other value.
 *
 * The k-th block that a call stack asks for is the same one in each recording. Its bytes at the
 * recorded values make a law: constant, a straight line or a parabola that goes through all of them
 * exactly, with a point to spare that could have spoken against it. The largest recording's events
 * with the bytes that the laws give are replayed in a caching allocator with PyTorch's policy, as
 * `tidemark fit` does it. A block without such a law, or of a call stack that asks for other
 * numbers of blocks, is taken to grow in proportion, and is told apart.
 *
 * Invariants (scale_is_valid): numbers ascend strictly; every block has as many sizes as there are
 * recordings, the last of which is its size in the trace as it was loaded.
 */
#ifndef TIDEMARK_VIEWER_PLAN_SCALE_H
#define TIDEMARK_VIEWER_PLAN_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fit.h"
#include "group.h"

#define SCALE_MOST 4 /* recordings */

enum scale_law { SCALE_CONSTANT, SCALE_LINE, SCALE_PARABOLA, SCALE_NONE, SCALE_LAWS };

struct scale_block {
    int64_t sizes[SCALE_MOST];
    int64_t site; /* of the largest recording, GROUP_NONE */
    enum scale_law law;
};

struct scale_source { /* a recording */
    const char *path;
    int64_t number;
    int64_t process, device;
};

struct scale {
    size_t count;
    int64_t numbers[SCALE_MOST];
    struct db *db;              /* the largest recording */
    struct fit fit;             /* its trace, up to the end of the last step that counts */
    struct scale_block *blocks; /* of the trace */
    int64_t process, device;
};

/* Loads `count` recordings, by ascending number. Of each the first `steps` steps count; 0: all that
 * is there. 0 or an error; scale_clear in both cases. */
int scale_load(const struct scale_source *sources, size_t count, int64_t steps, struct scale *out);
void scale_clear(struct scale *scale);
bool scale_is_valid(const struct scale *scale);

/* Bytes of one of its blocks at a number. */
int64_t scale_block_at(const struct scale *scale, size_t block, int64_t number);
/* How much memory it takes at a number. */
int scale_measure(struct scale *scale, int64_t number, struct fit_need *out);

/* The highest point at a number: where it is, and who holds it. */
struct scale_peak {
    int64_t bytes;             /* as asked for */
    int64_t law[SCALE_LAWS];   /* of them, by law */
    int64_t sites_without_law; /* that hold some of them */
    int64_t step;              /* GROUP_NONE */
    char *phase;               /* NULL */
    struct groups sites;       /* with their names; kind is the law of most of its bytes */
};
int scale_look(struct scale *scale, int64_t number, size_t named, struct scale_peak *out);
void scale_peak_clear(struct scale_peak *peak);
const char *scale_law_text(enum scale_law law);

/* One law: sizes at ascending numbers. `count` is 1 to SCALE_MOST. */
enum scale_law scale_find_law(const int64_t *numbers, const int64_t *sizes, size_t count);
int64_t scale_size_at(const int64_t *numbers, const int64_t *sizes, size_t count,
                      enum scale_law law, int64_t number);

#endif
