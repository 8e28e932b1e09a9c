/*
 * state_types.h - the insides of the heap state, shared by the files that make it up. Nobody else
 * includes this, but for tests.
 */
#ifndef TIDEMARK_RECORDER_STATE_TYPES_H
#define TIDEMARK_RECORDER_STATE_TYPES_H

#include "driver.h"
#include "heap.h"
#include "keyframe.h"
#include "ledger.h"
#include "meters.h"
#include "names.h"
#include "phase.h"
#include "state.h"
#include "tag_list.h"

#define STATE_FLUSH_ALLOCS 16384
#define STATE_FLUSH_BYTES ((size_t)32 << 20)

struct state_peak {     /* the highest of the processes that have ended */
    int rank;           /* of the device: schema/device_order.h; a lower one is taken first */
    uint64_t allocated; /* 0: there is none yet */
    int64_t process, device, seq, step;
    int64_t of_rank; /* the process's; BATCH_NULL */
    uint32_t phase;  /* as phase.name */
};

struct state {
    struct state_options options;
    struct ledger ledger;
    struct state_process *processes; /* living, and ended ones that owe a row: see note.h */
    struct block_pool pool;
    struct names names;
    int64_t process_count; /* ids given out */
    uint64_t events, torn;
    struct keyframes keyframes;
    struct state_peak peak;
    bool has_source;         /* any process's was ever live */
    bool unseen;             /* state_totals.unseen */
    struct state_peak given; /* likewise, of what the driver gave: `allocated` is that */
    struct meters gone;      /* of the processes that have ended */
};

struct state_process {
    struct state *state;
    struct state_process *next, *before;
    struct account account;
    struct state_hello hello; /* its texts are copies */
    int64_t start_ns;
    int64_t first_seq, last_seq; /* BATCH_NULL */
    uint64_t ends, refusals;     /* of phases and steps; of requests */
    uint64_t events;
    uint64_t steps_seen; /* of phase_steps, the most */
    uint64_t lost;       /* events */
    bool changed;        /* the row in the database is older */
    bool ended;          /* only its row and what it owes are left */
    struct state_end end;
    char end_text[32];
    int64_t end_ns; /* BATCH_NULL while it lives */

    struct names_defs *defs; /* NULL when it has ended */
    struct heaps heaps;
    struct driver driver;
    struct phases phases;
};

#endif
