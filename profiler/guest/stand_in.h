/*
 * stand_in.h - what the guest and the stand-ins of a rehearsal (rehearsal/) have to say to each
 * other: memory that is handed out anew holds no value that was known before, and the program read
 * one that was not computed. They are two libraries of one process and know each other by name
 * only; either works without the other.
 */
#ifndef TIDEMARK_PROFILER_STAND_IN_H
#define TIDEMARK_PROFILER_STAND_IN_H

#include <stdbool.h>
#include <stdint.h>

/* Marks with this domain: the name says what was read, the value is the site. */
#define STAND_IN_DOMAIN "rehearsal"

/* Looks for the stand-in; takes the loader's lock. */
void stand_in_bind(void);
/* From an allocator's report: a block of the device begins to live. */
void stand_in_fresh(uint64_t address, uint64_t bytes);

/* Called by the stand-in, in the thread that reads: "size nonzero" and so on. */
void tidemark_stand_in_read(const char *what);

#endif
