/*
 * traffic.h - a thread's share of made-up traffic: blocks of random sizes and lives at addresses of
 * its own, sites and names that become more with time, tags, marks, phases. Each call is counted in
 * the ledger after it was made.
 *
 * Invariants: a block of the table with bytes lives, and was counted; addresses of two threads, of
 * a process or of a child and its parent, are never the same.
 */
#ifndef TIDEMARK_SOAK_TRAFFIC_H
#define TIDEMARK_SOAK_TRAFFIC_H

#include <stdint.h>

#include "ledger.h"
#include "tidemark.h"

#define TRAFFIC_LIVING 128
#define TRAFFIC_TICK_MS 50

struct traffic {
    struct ledger_slot *slot;
    tidemark_heap_t heap;
    uint64_t seed;
    uint64_t base; /* of the addresses */
    uint64_t rate; /* events a second; 0 = as fast as it goes */
    uint64_t made; /* events so far */
    uint64_t start_ns;
    uint64_t bytes[TRAFFIC_LIVING]; /* of living blocks; 0: nothing there */
};

uint64_t traffic_now_ns(void);
unsigned traffic_below(struct traffic *self, unsigned limit);
/* `lane` keeps the addresses of the threads of a process apart. */
void traffic_init(struct traffic *self, struct ledger_slot *slot, unsigned lane, uint64_t rate,
                  uint64_t seed);

void traffic_phase_begin(struct traffic *self, const char *name);
void traffic_phase_end(struct traffic *self, const char *name);
void traffic_step_begin(struct traffic *self, uint64_t number);
/* One or two calls about one block. */
void traffic_block(struct traffic *self);
/* `events` of them at the thread's rate, every now and then inside a phase with some name. */
void traffic_run(struct traffic *self, uint64_t events);
void traffic_free_all(struct traffic *self);

#endif
