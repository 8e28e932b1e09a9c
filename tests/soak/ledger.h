/*
 * ledger.h - the file that all programs of a soak share: what each process image published, counted
 * by itself right after each call, so that a process which is killed leaves its count behind.
 *
 * Invariants: a slot belongs to one image from the day its pid is set; `events` never exceeds what
 * that image has published, and falls short of it by one for each thread at most. An image names
 * its slot to the recorder by the `pool` of a heap, slot + 1; a forked child inherits the heaps of
 * its parent, whose slot was taken before: the slot of a process is the highest pool it has.
 */
#ifndef TIDEMARK_SOAK_LEDGER_H
#define TIDEMARK_SOAK_LEDGER_H

#include <stdatomic.h>
#include <stdint.h>

#define LEDGER_SLOTS 131072u

enum ledger_state { /* how an image ended, as far as it could say so itself */
                    LEDGER_FREE,
                    LEDGER_RUNS, /* or was killed */
                    LEDGER_EXITS,
                    LEDGER_EXECS,
                    LEDGER_KILLS_ITSELF
};

struct ledger_slot { /* 64 bytes: as soak.py reads it */
    _Atomic uint64_t pid, state, events, allocs, frees, bytes, threads, mode;
};

struct ledger {
    _Atomic uint64_t next;  /* the first slot that nobody has */
    _Atomic uint64_t stop;  /* 1: end in good order */
    _Atomic uint64_t names; /* how many different names there are by now */
    uint64_t unused[5];
    struct ledger_slot slots[LEDGER_SLOTS];
};

extern struct ledger *ledger;

/* False if the file is not there. */
int ledger_open(const char *path);
/* A slot for this image, the calling process' own; NULL if there are no more. */
struct ledger_slot *ledger_take(uint64_t mode);
uint64_t ledger_number(const struct ledger_slot *slot);

#endif
