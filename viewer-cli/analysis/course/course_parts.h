/*
 * course_parts.h - what the files of the timeline share: the range, what happened in it, and the
 * axis that all of it is laid on.
 */
#ifndef TIDEMARK_ANALYSIS_COURSE_PARTS_H
#define TIDEMARK_ANALYSIS_COURSE_PARTS_H

#include "course.h"
#include "driven.h"

/* Something that a block or a segment did. Sorted by seq. */
struct course_event {
    int64_t seq, ns;
    int64_t change;
    uint8_t purpose;
    bool reserved; /* of segments */
};

/* One bucket of table curve. Sorted by heap, then time. */
struct course_bucket {
    int64_t from_ns, until_ns;
    int64_t first, min, max, last;
    uint32_t heap; /* its index */
    bool reserved;
};

struct course_phase { /* sorted by begin_ns, begin_seq, id */
    int64_t begin_ns, end_ns, begin_seq, end_seq;
    int64_t step;  /* COURSE_NONE */
    uint8_t kind;  /* enum course_kind; a user's phase counts as what is around it */
    uint8_t under; /* kind of the phase around it, COURSE_NOTHING */
};

struct course_work {
    struct db *db;
    const struct course_request *request;
    struct course *out;
    struct driven driven;
    struct course_phase *phases;
    size_t phase_count, phase_cap;
    struct course_event *events;
    size_t event_count, event_cap;
    struct course_bucket *buckets;
    size_t bucket_count, bucket_cap;
    uint32_t heap_count;
    int64_t base[PURPOSES]; /* as the range begins */
    int64_t base_reserved;
    /* Columns: boundaries, one more than columns. */
    int64_t bound_ns[COURSE_COLUMNS_MAX + 1];
    int64_t bound_seq[COURSE_COLUMNS_MAX + 1]; /* by_events */
};

/* Fills `phases` with those that lie in the range. */
int course_read_phases(struct course_work *work);
/* What each column counts as, and the steps that begin. */
int course_lay_phases(struct course_work *work);

/* Calls `see` for each block that was born or lived in the range, in no order. */
struct course_block {
    struct course_event birth; /* with its category, if those are asked for */
    int64_t free_seq, free_ns; /* free_seq negative: it lives */
};
int course_each_block(struct course_work *work,
                      int (*see)(void *self, const struct course_block *block), void *self);

/* From blocks and segments. */
int course_read_events(struct course_work *work);
void course_lay_events(struct course_work *work);

/* Of a device that no framework had a block on: the range of its points, 1 if there are some, and
 * the points that are in the range. */
int course_driven_range(struct course_work *work);
int course_driven_events(struct course_work *work);
/* The highest, named as a report on the peak does. */
int course_driven_peak(struct course_work *work);

/* From table curve. */
int course_read_buckets(struct course_work *work, int64_t column_ns);
int course_lay_buckets(struct course_work *work);
/* Categories at the end of each column, or at the highest moment that a phase in it knows. */
int course_read_stacks(struct course_work *work);

/* Sets the boundaries of the columns, and which of them are pauses. */
int course_lay_axis(struct course_work *work);
/* Which column a moment is in. */
unsigned course_column_at(const struct course_work *work, int64_t seq, int64_t ns);
unsigned course_column_of_ns(const struct course_work *work, int64_t ns);

#endif
