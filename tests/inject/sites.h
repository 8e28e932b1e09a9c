/*
 * sites.h - the call stacks from which calls are made. Of 20,000 allocations of one report nearly
 * all come from the same few thousand stacks, and a caller that handles the first failure of a
 * stack handles the others: so a driver needs to fail only a few calls of each.
 *
 * A site is the name of a call and the return addresses above it, as far as they lie in the program
 * itself; an address that stands there more than once, in a recursion, counts once. It is told by a
 * number that is the same in each run of one program, wherever that is loaded.
 */
#ifndef TIDEMARK_TESTS_SITES_H
#define TIDEMARK_TESTS_SITES_H

#include <stdatomic.h>
#include <stdint.h>

enum { SITES_STACK = 128, SITES_ROOM = 1 << 15 };

struct sites_stack {
    uintptr_t from; /* the first address that counts */
    unsigned depth;
    uintptr_t at[SITES_STACK]; /* from where the program begins; the innermost first, each once */
};

enum {
    SITES_FAR = 12,  /* of the outermost callers: nearly always all that are not SQLite's */
    SITES_COMMON = 4 /* from the beginning to the command: what is above them others may share */
};

/* A site, and the two parts of its stack that tell whether it is worth trying. */
struct sites_numbers {
    uint64_t all;
    uint64_t far;  /* of the outermost callers */
    uint64_t near; /* of all but those that each command has */
};

/* One entry of the table in a file; fixed, for a script reads it. Invariant: number 0 is no site,
 * and its entry is all 0; first <= second <= last where the count has reached them. */
struct sites_entry {
    atomic_uint_least64_t number;
    atomic_uint_least64_t count;
    atomic_uint_least64_t first, second, last; /* the how many-th of all calls, from 1 */
    uint64_t far, near;
    char name[24];
};

/* Neither takes memory or a lock. The stack from the return address `from` on. */
void sites_look(struct sites_stack *stack, const void *from);
struct sites_numbers sites_number(const char *name, const struct sites_stack *stack);

/* A table of SITES_ROOM entries, shared with the file `path`; ends the program if it cannot. */
struct sites_entry *sites_table(const char *path);
void sites_add(struct sites_entry *table, const char *name, const struct sites_numbers *numbers,
               uint64_t nth);

#endif
