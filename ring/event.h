/*
 * event.h - the one record that every source writes and the recorder reads.
 *
 * An event is one cache line. Its layout is the contract between libtidemark.so inside the
 * recorded program and the recorder beside it: they may come from different builds, so the ring's
 * header carries EVENT_FORMAT and a recorder refuses a ring of another format.
 *
 * Order. All events of one process have one total order, the ticket. `word` holds ticket + 1 and is
 * stored last, with release; the other fields may be read only after it was seen (see ring.h for
 * every value that it can hold). Times are read before the ticket is taken, so they can run
 * backwards by the length of a preemption; the drain clamps them to be monotone in the ticket.
 *
 * Names, stacks and heaps do not fit in a line: events carry ids of definitions (arena.h), 0 =
 * none.
 */
#ifndef TIDEMARK_RING_EVENT_H
#define TIDEMARK_RING_EVENT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_FORMAT 7u
#define EVENT_MAX_HEAP ((1u << 24) - 1)

/*
 * kind            addr       size      a                 b               name      site   heap
 * BLOCK_ALLOC     block      bytes     requested*        total reserved*  module    yes    yes
 *                                      or total alloc'd*
 * BLOCK_FREE      block      bytes, 0  total alloc'd*    total reserved*  -         yes    yes
 *                            if unknown
 * BLOCK_IDLE      block      -         -                 -               -         -      yes
 * SEGMENT_ALLOC   segment    bytes     -                 -               -         yes    yes
 * SEGMENT_FREE    segment    bytes|0   -                 -               -         -      yes
 * PHASE_BEGIN     -          -         -                 -               name      -      -
 * PHASE_END       -          -         -                 -               name|0    -      -
 * STEP_BEGIN      -          -         step number       -               -         -      -
 * STEP_END        -          -         1: the last       -               -         -      -
 * MARK            -          -         value             -               name      -      -
 * TAG             range      bytes     category (below)  -               name      -      yes
 * OOM             -          asked     total alloc'd*    total reserved*  -         yes    yes
 * ENTER           -          mark      identity          enum mark_flag   name      -      -
 * EXIT            -          mark      identity          enum mark_flag   -         -      -
 * TAGS_HOLD       -          -         list              -                -         -      -
 * HISTORY         block or   bytes     time, ns          enum             -         -      yes
 *                 segment                                history_action
 * DRIVER_ALLOC    memory     bytes     kind | library    what it is of   call   yes    yes
 * DRIVER_FREE     memory     -         kind              -               call   -      yes
 * DRIVER_MAP      address    bytes     -                 memory          -      yes    yes
 * DRIVER_UNMAP    address    bytes     -                 -               -      -      yes
 * SAMPLE          -          -         value             -               what   -      yes
 * GAP             -          -         1: it begins      -               source -      -
 * ACTIVITY        begin, ns  ns        kind | stream     bytes*          name   -      yes
 * (* only with the flag that says so)
 *
 * `module` is the definition of the module of the framework that was running (arena.h), 0 = none,
 * or not known.
 *
 * ENTER and EXIT are raw marks of what a framework does (enum mark_kind), which the recorder turns
 * into phases when later marks settle what they were. `identity` is the module's or optimizer's
 * own; of a scaler best that of the optimizer which it is asked to step: it may skip the step.
 *
 * STEP_END with a = 1 says that the program itself is over and that its memory is what is left to
 * go: from here on nothing belongs to a step. No step has to be open.
 *
 * TAG with b = list << 32 | place + 1 sets one place of a list of the process; it holds until it is
 * set again. Only TAGS_HOLD gives the blocks that live now at a list's ranges their tags: an
 * address that did not change is not the same block.
 *
 * MARK with EVENT_F_SOURCE is not stored as a mark: its name is a source that is live in the
 * process (a = 0), or a sentence on why one is not (a = 1).
 *
 * MARK with EVENT_F_SETTING is not stored as a mark either: its name is "key=value", a setting of
 * the process that reports may need (table setting has the keys).
 *
 * SEGMENT_ALLOC and SEGMENT_FREE with EVENT_F_MAP are pages mapped into, or taken out of, a range
 * of addresses that was reserved for them: any part of what was mapped may go.
 *
 * HISTORY is what an allocator's own history tells later, in that allocator's order: `a` is when it
 * happened (CLOCK_MONOTONIC, as well as it can be told; 0: segments and pages that were there when
 * the history began). Its heap says the device and the pool; the stream is the block's own. It
 * completes what BLOCK_ALLOC and BLOCK_FREE of the same device said before, and is not an event of
 * the heap in its own time.
 *
 * DRIVER_* is what the driver itself gave and took (enum driver_memory in the low 8 bits of `a`,
 * the string number of the library that asked above bit 32). `memory` is an address, or a handle
 * where there is none: memory that is mapped (DRIVER_MAP names it), arrays. `call` is the outermost
 * call of CUDA's that led to it. `b` is the stream of what is stream-ordered. Blocks of a
 * framework's allocator lie inside such memory and are not counted again. Failed calls are not
 * told. Its heap says the device: 0 = the host's memory. With EVENT_F_LATE it is told some time
 * after it happened: blocks may lie in the memory by now, and the source's totals have it already.
 *
 * SAMPLE is a value read from outside, as "device used": bytes, or a count (schema/README.md).
 *
 * GAP: from a = 1 to a = 0 a source saw nothing; its name is "source: why", the same at both ends.
 *
 * ACTIVITY is work that a device has done, told some time later: `addr` and `size` are when it
 * began (CLOCK_MONOTONIC) and how long it took, `a` an enum activity_kind with the stream above bit
 * 8, `b` the bytes that were moved or set.
 *
 * PHASE_BEGIN, PHASE_END and MARK with EVENT_F_DOMAIN come by way of NVTX: `addr` is the string
 * number of the domain, 0 = the default one, which is the program's own; other domains are those of
 * libraries. With EVENT_F_RANGE, a range that need not nest and may end on another thread: `b` is
 * its number, by which its end finds it; it is nobody's phase. With EVENT_F_NUMBER, the name goes
 * on with the decimal number `size`: names that count would fill the arena. A MARK with a site has
 * that for its value: a rehearsal's, of what was read without having been computed.
 *
 * BLOCK_FREE is the program giving the block back; BLOCK_IDLE, from sources that see it, is the
 * moment when the allocator may hand it out again (a free that waited for another stream).
 */
enum event_kind {
    EVENT_NONE = 0,
    EVENT_BLOCK_ALLOC,
    EVENT_BLOCK_FREE,
    EVENT_BLOCK_IDLE,
    EVENT_SEGMENT_ALLOC,
    EVENT_SEGMENT_FREE,
    EVENT_PHASE_BEGIN,
    EVENT_PHASE_END,
    EVENT_STEP_BEGIN,
    EVENT_STEP_END,
    EVENT_MARK,
    EVENT_TAG,
    EVENT_OOM,
    EVENT_ENTER,
    EVENT_EXIT,
    EVENT_TAGS_HOLD,
    EVENT_HISTORY,
    EVENT_DRIVER_ALLOC,
    EVENT_DRIVER_FREE,
    EVENT_DRIVER_MAP,
    EVENT_DRIVER_UNMAP,
    EVENT_SAMPLE,
    EVENT_GAP,
    EVENT_ACTIVITY,
    EVENT_KIND_COUNT
};

#define EVENT_KIND_SLOTS 32 /* counters by kind in shared memory: kinds may be added */

enum event_flag {
    EVENT_F_REQUESTED = 1 << 0, /* `a` is the size that the program asked for */
    EVENT_F_TOTALS = 1 << 1,    /* `a`, `b` are the source's own totals after the event */
    EVENT_F_WAITS = 1 << 2,     /* BLOCK_FREE: a BLOCK_IDLE will follow; the block stays active */
    EVENT_F_EXCEPTION = 1 << 3, /* PHASE_END, EXIT: left by an exception */
    EVENT_F_SOURCE = 1 << 4,    /* MARK: see above */
    EVENT_F_SETTING = 1 << 5,   /* MARK: see above */
    EVENT_F_MAP = 1 << 6,       /* SEGMENT_ALLOC, SEGMENT_FREE: see above */
    EVENT_F_DOMAIN = 1 << 7,    /* PHASE_BEGIN, PHASE_END, MARK: see above */
    EVENT_F_RANGE = 1 << 2,     /* PHASE_BEGIN, PHASE_END: see above */
    EVENT_F_NUMBER = 1 << 0,    /* PHASE_BEGIN, MARK with EVENT_F_DOMAIN: see above */
    EVENT_F_LATE = 1 << 3,      /* DRIVER_*: see above */
};

/* `size` of ENTER and EXIT. */
enum mark_kind {
    MARK_FORWARD = 1, /* the outermost call of a module */
    MARK_BACKWARD,    /* the autograd engine */
    MARK_ZERO_GRAD,
    MARK_OPTIMIZER, /* step() */
    MARK_SCALER,    /* GradScaler.step() */
    MARK_KIND_COUNT
};

/* `b` of ENTER and EXIT. */
enum mark_flag {
    MARK_F_GRAD = 1 << 0,        /* ENTER forward: gradients are on */
    MARK_F_TRAINING = 1 << 1,    /* ENTER forward: the module's training flag */
    MARK_F_LOSS_CLASS = 1 << 2,  /* ENTER forward: a torch.nn loss module */
    MARK_F_PARAMETERS = 1 << 3,  /* ENTER forward: it has parameters */
    MARK_F_ACCUMULATE = 1 << 4,  /* ENTER backward: backward(), not grad() */
    MARK_F_ONE_ELEMENT = 1 << 5, /* EXIT forward: returned a tensor of one element */
    MARK_F_ENGINE = 1 << 6, /* any: of a thread of the autograd engine, for whoever called it */
};

/* `b` of HISTORY. */
enum history_action {
    HISTORY_RESTART = 1,   /* what came before is told no more: match anew from here */
    HISTORY_ALLOC,         /* `size` = what was asked for */
    HISTORY_FREE,          /* given back */
    HISTORY_IDLE,          /* may be handed out again */
    HISTORY_SEGMENT_ALLOC, /* the addresses' bytes, as SEGMENT_ALLOC and so on */
    HISTORY_SEGMENT_FREE,
    HISTORY_SEGMENT_MAP,
    HISTORY_SEGMENT_UNMAP,
    HISTORY_ACTION_COUNT
};

/* Low 8 bits of `a` of DRIVER_ALLOC; the numbers are stored in databases. */
enum driver_memory {
    DRIVER_DEVICE = 1,      /* cuMemAlloc, also pitched */
    DRIVER_MANAGED = 2,     /* of the device and the host, as it is touched */
    DRIVER_ARRAY = 3,       /* `addr` is its handle, `size` the bytes of its elements */
    DRIVER_PHYSICAL = 4,    /* cuMemCreate: a handle; DRIVER_MAP says where it is seen */
    DRIVER_ASYNC = 5,       /* a part of a stream-ordered pool: not counted beside the pool */
    DRIVER_POOL = 6,        /* a stream-ordered pool; SAMPLE "pool reserved" says its size */
    DRIVER_GRAPH = 7,       /* of a node in a graph */
    DRIVER_IMPORTED = 8,    /* another process's */
    DRIVER_HOST = 9,        /* pinned memory of the host */
    DRIVER_REGISTERED = 10, /* memory of the host that was there, and is pinned now */
    DRIVER_MEMORY_COUNT
};

/* Low 8 bits of `a` of ACTIVITY; the numbers are stored in databases. */
enum activity_kind {
    ACTIVITY_KERNEL = 1,
    ACTIVITY_COPY = 2,
    ACTIVITY_SET = 3,
    ACTIVITY_GRAPH = 4,
    ACTIVITY_KIND_COUNT
};

/* TAG categories; the numbers are stored in databases and never change their meaning. */
enum event_category {
    CATEGORY_NONE = 0,
    CATEGORY_PARAMETER = 1,
    CATEGORY_GRADIENT = 2,
    CATEGORY_OPTIMIZER_STATE = 3,
    CATEGORY_ACTIVATION = 4,
    CATEGORY_INPUT = 5,
    CATEGORY_BUCKET = 6,
    CATEGORY_WORKSPACE = 7,
    CATEGORY_OTHER = 8,
    CATEGORY_COUNT
};

struct event {
    uint64_t word;        /* ticket + 1, stored last; the ring's alone */
    uint64_t time_ns;     /* CLOCK_MONOTONIC */
    uint64_t kind : 8;    /* enum event_kind */
    uint64_t flags : 8;   /* enum event_flag */
    uint64_t heap : 24;   /* definition number of the heap, 0 = none */
    uint64_t thread : 24; /* kernel thread id: the kernel never goes beyond 2^22 */
    uint32_t site;        /* definition number of the call stack, 0 = not known */
    uint32_t name;        /* definition number of a string, or of a module; 0 = none */
    uint64_t addr;
    uint64_t size; /* bytes */
    uint64_t a;
    uint64_t b;
};

static_assert(sizeof(struct event) == 64, "an event is one cache line");
static_assert(offsetof(struct event, word) == 0, "the publishing word comes first");
static_assert(offsetof(struct event, addr) == 32, "layout is part of the format");

/* "block_alloc" and so on; "?" for a number that is none. */
const char *event_kind_name(unsigned kind);

#endif
