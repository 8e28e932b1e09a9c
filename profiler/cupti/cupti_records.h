/* cupti_records.h - one record of CUPTI's activity as an event. */
#ifndef TIDEMARK_PROFILER_CUPTI_RECORDS_H
#define TIDEMARK_PROFILER_CUPTI_RECORDS_H

#include <stdint.h>

#include "cupti_abi.h"

/* Only while guest_live(). Records of other kinds are passed over. */
void records_take(const struct abi_record *record);

/* Compares CUPTI's clock with ours: before the first record, and from time to time. */
void records_clock(void);
/* From CUPTI's clock to CLOCK_MONOTONIC. */
uint64_t records_time(uint64_t theirs);

/* Records that had no time so far. */
uint64_t records_timeless(void);

#endif
