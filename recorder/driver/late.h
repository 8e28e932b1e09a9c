/*
 * late.h - what the driver did and was told of some time later (EVENT_F_LATE), as by CUPTI's memory
 * records.
 *
 * A framework's blocks lie in memory by the time it is told, so it becomes their heap's at once,
 * and they its; otherwise it would seem outside of every allocator until the next block comes. And
 * memory that is told to be gone is gone from the source's total already.
 */
#ifndef TIDEMARK_RECORDER_LATE_H
#define TIDEMARK_RECORDER_LATE_H

#include "event.h"

struct driver;

/* Behind driver_alloc of this event. */
void late_alloc(struct driver *driver, const struct event *event);

#endif
