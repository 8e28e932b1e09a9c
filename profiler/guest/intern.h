/*
 * intern.h - equal definitions get one number. A table in the program's own memory, from the hash
 * of a definition to its number; what was defined stands in the arena and is compared there.
 *
 * Invariants: an entry is visible once its hash is stored (release) and never changes; a table is
 * replaced whole when it grows and the old one stays mapped, for a reader may still be in it (all
 * old ones together are smaller than the present one). A forked child inherits the table as it was,
 * and its new arena goes on where the old one was: numbers and places keep their meaning. Whatever
 * a thread of the parent was doing at the fork, each entry that is visible has a number of the old
 * arena's: it is entered after that was given out.
 */
#ifndef TIDEMARK_PROFILER_INTERN_H
#define TIDEMARK_PROFILER_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* Numbers of definitions in guest.ring, 0 = could not be stored (counted in the ring). Only while
 * guest_live(). */
uint32_t intern(enum arena_kind kind, const void *payload, size_t bytes);
uint32_t intern_string(const char *text); /* NULL gives 0; cut at ARENA_MAX_PAYLOAD bytes */
/* The number of a string that was interned before, else 0: defines nothing, takes no lock. */
uint32_t intern_known_string(const char *text, size_t bytes);
uint32_t intern_site(const char *function, const char *file, uint32_t line);

/* The number in the lower half; in the upper half where the definition stands, in units of 8 bytes
 * as arena_append gives it, so that it can be read again without a search; 0 there = not kept. */
uint64_t intern_place(enum arena_kind kind, const void *payload, size_t bytes);
/* The innermost frames of a site that intern_place gave; how many, 0 if its place was not kept. */
uint32_t intern_frames_of(uint64_t site, uint32_t *frames, uint32_t max);

/* Empties the table: a new ring has no definitions. Of a program that is its own recorder, and only
 * while no other thread is in here. */
void intern_forget(void);
/* How often that happened: whoever keeps numbers forgets them when this changes. */
uint32_t intern_epoch(void);

#endif
