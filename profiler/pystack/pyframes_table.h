/*
 * pyframes_table.h - from a stack as it was read to its site number: what makes a known stack
 * cheap.
 *
 * A stack is known by words: for each frame where it stands (since 3.11 the address of the
 * instruction, which lies inside the code object; before, two words: the code object and the
 * position). Finding takes no lock. Whatever changes the table holds the lock for a short copy and
 * never waits for anything else meanwhile, the GIL least of all.
 *
 * Addresses are used again. So a record also says which code objects it is made of, and
 * pyframes_table_drop takes the records of one out before its memory is free for another. It is
 * called by the thread that destroys the object; a thread that looks up a stack has all code
 * objects of that stack alive on it, so it can never meet the records of dead ones.
 *
 * Invariants: a record's words are changed only while its `turn` is odd; memory of records is never
 * given back to the system, so a reader that comes late reads a record, if another one. A forked
 * child goes on with its copy; was the lock held by a thread that the child does not have, the
 * child begins anew.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_TABLE_H
#define TIDEMARK_PROFILER_PYFRAMES_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

#define PYFRAMES_MAX_WORDS (2 * ARENA_MAX_DEPTH)
/* All records together; a table that would grow beyond it is emptied. */
#define PYFRAMES_TABLE_BYTES (64u << 20)

struct pyframes_stack {
    uint32_t depth;
    uint32_t count; /* of words */
    uint64_t hash;
    uint64_t words[PYFRAMES_MAX_WORDS];
};

/* What is known of a stack. */
struct pyframes_known {
    uint64_t site; /* as intern_place gave it */
    uint32_t way;  /* where modules can stand in it: pymodules_way */
};

/* False: the stack is not known. */
bool pyframes_table_find(const struct pyframes_stack *stack, struct pyframes_known *known);

/* Adds a stack that is made of `codes` (one for each frame). What cannot be added, for want of
 * memory or of the lock, is not known the next time. */
void pyframes_table_add(const struct pyframes_stack *stack, const void *const *codes,
                        struct pyframes_known known);

/* Forgets what is made of `code`. */
void pyframes_table_drop(const void *code);

/* Forgets everything; with the lock. */
void pyframes_table_empty(void);

/* A drop could not have the lock in time: the table must be forgotten before it is asked again. */
extern _Atomic bool pyframes_table_stale;

/* The lock by itself, for the few other things that one thread may do at a time. */
bool pyframes_lock(void);
void pyframes_unlock(void);

/* For tests. */
size_t pyframes_table_count(void);
bool pyframes_table_is_valid(void);

#endif
