/*
 * record_rate.h - what a day of this run would take on disk, at the rate so far.
 */
#ifndef TIDEMARK_RECORDER_RECORD_RATE_H
#define TIDEMARK_RECORDER_RECORD_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

/* The first minute is a program's start; by then the rate is known well enough. */
#define RECORD_RATE_NS (UINT64_C(60) * 1000000000)
/* Less than this a day is not worth a word. */
#define RECORD_RATE_LEAST (INT64_C(1) << 30)

/* Bytes a day; INT64_MAX where that is too large a number. */
int64_t record_rate_day(int64_t bytes, uint64_t run_ns);
/* The sentence; false: there is nothing to say. */
bool record_rate_text(int64_t bytes, uint64_t run_ns, struct buf *out);

#endif
