/*
 * arena.h - definitions: what events name by number.
 *
 * An append-only run of records behind the slots of the same mapping. A process numbers its
 * definitions 1, 2, 3, ... in the order in which they stand in the arena; number 0 is "none".
 * Writers take a lock for the length of one copy, with all signals blocked, so that no handler
 * waits for its own thread and none leaves by longjmp; the record becomes visible by one release
 * store of `used`, so a reader sees whole records only, and a writer that is killed leaves nothing
 * half there. An event is published after the definitions that it names: a reader that has seen the
 * event and then reads `used` finds them.
 *
 * Lock, numbers and sizes are in the program's own memory; the arena in shared memory is written,
 * and read again to compare, never asked where it ends.
 *
 * Forks. Numbers given out before a fork keep their meaning in the child, whose own ring has an
 * empty arena. As a rule by reference: the child numbers on from where its parent was, reads what
 * is older in the parent's arena, which it has inherited with its memory, and the recorder has
 * already translated those numbers. Where the recorder does not know the parent any more, or the
 * line of ancestors has ARENA_PARTS of them, the child copies everything into its own arena.
 *
 * Places. A record's place is its offset in the arenas of the line, one behind the other, each cut
 * where it was at the fork. A copy has them in this order, too: places are the same either way.
 *
 * Record: struct arena_record, then `bytes` bytes of payload, padded to 8.
 *   STRING  the bytes, no NUL
 *   FRAME   struct arena_frame
 *   SITE    uint32_t frame numbers, innermost first
 *   HEAP    struct arena_heap
 *   MODULE  struct arena_module
 * When there is no room, the number is 0 and arena_full in the ring's header counts it.
 */
#ifndef TIDEMARK_RING_ARENA_H
#define TIDEMARK_RING_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arena_kind {
    ARENA_STRING = 1,
    ARENA_FRAME,
    ARENA_SITE,
    ARENA_HEAP,
    ARENA_MODULE,
    ARENA_KIND_COUNT
};

#define ARENA_MAX_PAYLOAD 65528u
#define ARENA_MAX_DEPTH 256u /* frames of one site */

struct arena_record {
    uint32_t bytes; /* payload */
    uint32_t kind;
};

struct arena_frame {
    uint32_t function; /* string numbers */
    uint32_t file;
    uint32_t line; /* 0 = not known */
    uint32_t unused;
};

/* Device kinds; stored in databases. */
enum arena_device {
    DEVICE_CPU = 0,
    DEVICE_CUDA = 1,
    DEVICE_VIRTUAL = 2,
    DEVICE_OTHER = 3,
    DEVICE_XPU = 4, /* Intel's GPUs, as PyTorch calls them */
    DEVICE_KINDS
};

struct arena_heap {
    int32_t device_kind;  /* enum arena_device */
    int32_t device_index; /* -1 = not known */
    uint64_t stream;      /* the source's own name for it; 0 = default */
    uint64_t pool;        /* 0 = the shared pools */
    uint32_t name;        /* string number, 0 = none */
    uint32_t unused;
};

struct arena_module { /* string numbers */
    uint32_t path;    /* "model.layers.3.mlp"; the empty string for the outermost one */
    uint32_t class_name;
};

struct ring_shared;

#define ARENA_PARTS 64u
#define ARENA_MOST_PLACES (1ull << 34) /* of arenas that are referred to */

struct arena_part { /* of an ancestor, as it was at the fork */
    const char *base;
    uint64_t first_place;
    uint64_t bytes;
};

/* The writers' side, in the program's own memory. Invariants: used <= bytes, both multiples of 8;
 * the records in [0, used) are whole, were made visible to the recorder before, and the last of
 * them has number `count`. Both are one word, for a fork may come between any two stores of another
 * thread. Parts are ordered, without gaps; the own arena begins behind them. */
struct arena {
    struct ring_shared *shared;
    char *base;
    uint64_t bytes;
    uint64_t first_place;
    _Atomic uint64_t end;  /* count << 32 | used / 8; stored under the lock */
    _Atomic uint32_t lock; /* futex: 0 free, 1 held, 2 held and waited for */
    uint32_t part_count;
    struct arena_part parts[ARENA_PARTS];
};

void arena_begin(struct arena *arena, struct ring_shared *shared, char *base, uint64_t bytes);
bool arena_is_valid(const struct arena *arena);

static inline uint32_t arena_count(const struct arena *arena) /* numbers given out, and inherited */
{
    return (uint32_t)(atomic_load_explicit(&arena->end, memory_order_relaxed) >> 32);
}

static inline uint64_t arena_used(const struct arena *arena) /* bytes of its own */
{
    return (uint32_t)atomic_load_explicit(&arena->end, memory_order_relaxed) * 8ull;
}

/* Appends one definition. Returns its number, or 0 when the arena is full, the payload too large,
 * or the lock could not be had in time (counted in arena_full or arena_busy). */
uint32_t arena_define(struct arena *arena, enum arena_kind kind, const void *payload, size_t bytes);
/* The same in two steps, for interning: what is done under the lock sees no other definition come.
 * `arena_append` needs the lock; *place (may be NULL) gets where the record stands. */
struct arena_hold {
    uint64_t signals; /* the thread's mask before */
};
bool arena_lock(struct arena *arena, struct arena_hold *hold);
void arena_unlock(struct arena *arena, const struct arena_hold *hold);
uint32_t arena_append(struct arena *arena, enum arena_kind kind, const void *payload, size_t bytes,
                      uint64_t *place);

/* The record at a place that arena_append gave, if it still is one that lies in the arena: its
 * payload, which others may change meanwhile, and in *record what was read and checked. NULL: it
 * was scribbled over. */
const char *arena_at(const struct arena *arena, uint64_t place, struct arena_record *record);

/* For a forked child, with an arena that has just begun: by reference, if another part fits. */
bool arena_can_continue(const struct arena *from);
void arena_continue(struct arena *arena, const struct arena *from);
/* Or by a copy of all records; returns how many. If some cannot be copied, the arena is full from
 * then on: no number gets a second meaning. */
uint32_t arena_inherit(struct arena *arena, const struct arena *from);

/* Reading, one reader. `next` returns 1 and the next whole record, 0 if there is none yet, or a
 * negative base_err for bytes that no guest of ours can have written (ERR_CORRUPT). The payload
 * points into the mapping, which the recorded program can write: copy before you check. */
struct arena_reader {
    const struct ring_shared *ring;
    const char *base; /* own copies: the program can scribble over the header */
    uint64_t bytes;
    uint64_t at;     /* offset of the next record */
    uint32_t number; /* of the last record returned */
};
void arena_reader_init(struct arena_reader *reader, const struct ring_shared *ring);
int arena_next(struct arena_reader *reader, struct arena_record *record, const void **payload);

#endif
