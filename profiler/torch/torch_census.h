/*
 * torch_census.h - the blocks that live now, of an armed program (ring/hello.h): when a recording
 * begins in the middle of it, they are what it begins with.
 *
 * Kept from the program's first block to its last, whether somebody records or not. A recording
 * gets each block that lives as a BLOCK_ALLOC of the call site CENSUS_SITE: its size and heap are
 * known, when and where it was allocated is not. From then on sums are those of a recording from
 * the start.
 *
 * Parts. An address belongs to one of CENSUS_PARTS parts, each with a lock and a table of its own.
 * Under the lock a part is looked at, changed, and told to a recording as a whole; `told` is the
 * ring that has it. So for each block and each ring one of two things holds:
 *
 *     the block came or went before its part was told    the ring has no event of that, and the
 *                                                        part was told with it, or without it
 *     it came or went afterwards                         its event follows what was told
 *
 * Whoever reports a block under a ring that does not have the part yet tells it first. The thread
 * that found the recorder tells all of them. What is told, and the event that follows, is for that
 * ring alone (guest.h).
 *
 * A lock may be left behind: a signal's handler jumped out of here, or its thread was cancelled.
 * Who waited for it a second, or finds that it was its own thread, puts another part behind this
 * one (`next`), empty; from then on nobody looks at the left one any more, of which only the one
 * who held it may still write. Blocks that the left one knew are missing among what lived before.
 * When they go, that is sent to the recording that went on then, which may have been told of them,
 * and to no later one.
 *
 * A table is open addressing with linear probing; an entry without an address is free, and at most
 * half are used. It grows by a mapping of twice the size. A child begins with none: the parts are
 * wiped in it and the tables are not there, as the child's recording of other programs has nothing
 * of the parent's blocks either. Without memory for a larger table blocks that come are left out:
 * they are missing among what lived before.
 */
#ifndef TIDEMARK_PROFILER_TORCH_CENSUS_H
#define TIDEMARK_PROFILER_TORCH_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

#define CENSUS_PARTS 64u
#define CENSUS_SITE "allocated before the recording"

/* Of an armed program, before its first block. */
bool census_begin(void);
bool census_is_kept(void);
/* A block comes (bytes > 0) or goes (bytes < 0; stream is not looked at). The number of the ring
 * that has what lived before, and is to be sent its event; 0: none. */
uint32_t census_note(uint64_t addr, int64_t bytes, const struct arena_heap *heap);
/* Of a program that was armed while it ran: a block that came before, and was not noted since. */
void census_lived(uint64_t addr, uint64_t bytes, const struct arena_heap *heap);
enum census_age { CENSUS_UNKNOWN, CENSUS_LIVED, CENSUS_NOTED };
/* What is known of a block; *bytes its size. */
enum census_age census_look(uint64_t addr, uint64_t *bytes);
/* To the ring that the guest has. Tells parts that nobody told yet, and how much it was in all. */
void census_tell(void);
/* Blocks that live; for tests. */
uint64_t census_count(void);

#endif
