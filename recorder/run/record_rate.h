/*
 * record_rate.h - what a day of this run would take on disk, at the rate of its last minute. Each
 * minute is judged by itself, until one was worth a word: a program that begins slowly, or waits
 * for its data, is not judged by the time in which it did nothing.
 *
 * Invariants: since_ns <= the run's time at the last look; bytes are those of the file at since_ns;
 * once `said` is set nothing changes any more.
 */
#ifndef TIDEMARK_RECORDER_RECORD_RATE_H
#define TIDEMARK_RECORDER_RECORD_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

#define RECORD_RATE_NS (UINT64_C(60) * 1000000000)
/* Less than this a day is not worth a word. */
#define RECORD_RATE_LEAST (INT64_C(1) << 30)

struct record_rate { /* zeros: the run begins */
    uint64_t since_ns;
    int64_t bytes;
    bool said;
};

/* Is there a minute to judge? If not, the size of the file is of no use yet. */
bool record_rate_due(const struct record_rate *rate, uint64_t run_ns);
/* Bytes a day; 0 for a file that shrank, INT64_MAX where that is too large a number. */
int64_t record_rate_day(int64_t bytes, uint64_t run_ns);
/* `bytes`: of the file now. Appends the sentence and returns true, once; false: nothing to say. */
bool record_rate_text(struct record_rate *rate, int64_t bytes, uint64_t run_ns, struct buf *out);

#endif
