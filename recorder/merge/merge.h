/*
 * merge.h - recordings of several nodes of one job become one database.
 *
 * How. Every input is opened once, one at a time, and read in one transaction: what it names is
 * numbered anew, its rows go into a spool (spool.h), and beside them a line for each event, with
 * its seq and its time. Then the clocks are aligned (clock.h). Then the events of all inputs are
 * put into one order, by aligned time, while those of one input stay in theirs: that gives every
 * event its new seq (turns.h). Then the rows are written, those with an event's number as their key
 * in its order. Curves and keyframes are made anew by recorder/derive, as repair does.
 *
 * Memory: of each input a few chunks of the spool, a part of its map of numbers, its meetings (at
 * most CLOCK_MOST of a kind), and eight bytes for each 16 KiB of it; of all together the names,
 * each once, and what lives at once. Nothing grows with the events otherwise. On the disk the spool
 * is about as large as the inputs, beside the output, and has no name.
 */
#ifndef TIDEMARK_MERGE_H
#define TIDEMARK_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_options {
    char *const *paths;
    size_t count;
    const char *output; /* a file that is not there */
    bool mixed;         /* they need not be of one job */
};

enum merge_way {                  /* by which a clock was aligned */
                 MERGE_WAY_FIRST, /* it is what the others are aligned to */
                 MERGE_WAY_SAME,  /* it is the same clock: another recorder on the same machine */
                 MERGE_WAY_COLLECTIVES,
                 MERGE_WAY_CALENDAR, /* how far the calendars are apart is not known */
                 MERGE_WAY_BEGIN,    /* the recording has no calendar: it begins as the first one */
                 MERGE_WAYS
};

#define MERGE_UNKNOWN INT64_MIN

/* What was found of an input. Table `merged` has the same. */
struct merge_told {
    const char *path;
    char *host; /* NULL: not known */
    enum merge_way way;
    const char *meeting; /* what met, of MERGE_WAY_COLLECTIVES; NULL */
    int64_t meetings;
    int64_t offset_ns; /* what its clock's zero is in the merged run */
    int64_t drift_ppb; /* the merged clock gains this on it */
    int64_t error_ns;  /* MERGE_UNKNOWN */
    int64_t first_process, last_process;
    int64_t version; /* of its schema */
    bool finished;
};

struct merge_result {
    struct merge_told *told;
    size_t count;
    uint64_t blocks, events;
    char message[640];   /* of an error */
    const char *damaged; /* the input that is, of merge_options.paths; NULL: none */
    bool wrote;          /* it was the output's */
    bool misfit;         /* the inputs are sound, and do not belong together */
};

/* 0 or an error. merge_result_clear in both cases. What was written of an output stays after an
 * error: it is the caller's to remove. */
int merge_files(const struct merge_options *options, struct merge_result *result);
void merge_result_clear(struct merge_result *result);
const char *merge_way_text(enum merge_way way);

#endif
