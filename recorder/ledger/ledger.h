/*
 * ledger.h - what every room of the recorder writes into, and what none of them owns.
 *
 * A ledger is of a run: the batch that is being filled, the number of the last event, the numbers
 * that were given out, what was lost. An account is of a process: who it is, how late it is there,
 * and what went wrong in it (note.h). The rooms above know these two and not each other's owner.
 *
 * Invariants: seq, and last_ns of an account, never run backwards; `serial` grows with each batch
 * that was taken away, so a row is in the batch being filled if and only if its serial is this one.
 */
#ifndef TIDEMARK_RECORDER_LEDGER_H
#define TIDEMARK_RECORDER_LEDGER_H

#include <stdint.h>

#include "batch.h"
#include "note.h"

struct ledger {
    struct batch *batch;
    uint32_t serial;                    /* of that batch */
    int64_t seq;                        /* the last one given out, 0 = none */
    uint64_t start_ns;                  /* CLOCK_MONOTONIC when the run began: 0 in the database */
    int64_t heap_count, phase_count;    /* ids given out */
    int64_t loose_count, settled_count; /* of phases: see phase/timeline.h */
    uint64_t lost, anomalies;
};

struct account {
    struct ledger *ledger;
    int64_t id; /* process.id */
    int64_t last_ns;
    struct notes notes;
};

/* No number of bytes, events or steps that is stored is larger, whatever a program says: reports
 * add them up, and take one of twice that (DB_LARGEST) for damage. */
#define LEDGER_MOST ((int64_t)1 << 60)
static inline int64_t ledger_cut(uint64_t value)
{
    return value > (uint64_t)LEDGER_MOST ? LEDGER_MOST : (int64_t)value;
}

/* No run is longer than a year or so: sums of the times of a few hundred phases still fit. */
#define LEDGER_LONGEST_NS ((int64_t)1 << 55)

/* CLOCK_MONOTONIC to nanoseconds of the run. */
static inline int64_t ledger_ns(const struct ledger *ledger, uint64_t ns)
{
    uint64_t since = ns > ledger->start_ns ? ns - ledger->start_ns : 0;
    return since > (uint64_t)LEDGER_LONGEST_NS ? LEDGER_LONGEST_NS : (int64_t)since;
}

#endif
