/*
 * cupti_late.h - memory from MEMORY2 records, where callbacks are not to be had.
 *
 * They come with a flush, late, and not in order; each context of a device repeats them. So they
 * are kept until the flush is over, put in order of their times, and told once. What they cannot
 * tell: memory that is created and mapped, who asked, and when in the order of other events.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_LATE_H
#define TIDEMARK_PROFILER_CUPTI_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti_abi.h"

/* Makes room; false without memory. */
bool late_start(void);
/* From buffers, in any thread. */
void late_take(const struct abi_record *record);
/* Behind a flush. Only while guest_live(). */
void late_send(void);
/* Records for which there was no room. */
uint64_t late_lost(void);

#endif
