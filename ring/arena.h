/*
 * arena.h - definitions: what events name by number.
 *
 * An append-only run of records behind the slots of the same mapping. A process numbers its
 * definitions 1, 2, 3, ... in the order in which they stand in the arena; number 0 is "none".
 * Writers take a lock in the header for the length of one copy, with all signals blocked, so that
 * no handler waits for its own thread and none leaves by longjmp; the record becomes visible by one
 * release store of `used`, so a reader sees whole records only, and a writer that is killed leaves
 * nothing half there. An event is published after the definitions that it names: a reader that has
 * seen the event and then reads `used` finds them.
 *
 * Record: struct arena_record, then `bytes` bytes of payload, padded to 8.
 *   STRING  the bytes, no NUL
 *   FRAME   struct arena_frame
 *   SITE    uint32_t frame numbers, innermost first
 *   HEAP    struct arena_heap
 * When there is no room, the number is 0 and arena_full in the ring's header counts it.
 */
#ifndef TIDEMARK_RING_ARENA_H
#define TIDEMARK_RING_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum arena_kind { ARENA_STRING = 1, ARENA_FRAME, ARENA_SITE, ARENA_HEAP, ARENA_KIND_COUNT };

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
enum arena_device { DEVICE_CPU = 0, DEVICE_CUDA = 1, DEVICE_VIRTUAL = 2, DEVICE_OTHER = 3 };

struct arena_heap {
    int32_t device_kind;  /* enum arena_device */
    int32_t device_index; /* -1 = not known */
    uint64_t stream;      /* the source's own name for it; 0 = default */
    uint64_t pool;        /* 0 = the shared pools */
    uint32_t name;        /* string number, 0 = none */
    uint32_t unused;
};

struct ring_shared;

/* Appends one definition. Returns its number, or 0 when the arena is full, the payload too large,
 * or the lock could not be had in time (counted in arena_full or arena_busy). */
uint32_t arena_define(struct ring_shared *ring, enum arena_kind kind, const void *payload,
                      size_t bytes);
/* The same in two steps, for interning: what is done under the lock sees no other definition come.
 * `arena_append` needs the lock; *offset (may be NULL) gets where the record stands. */
struct arena_hold {
    uint64_t signals; /* the thread's mask before */
};
bool arena_lock(struct ring_shared *ring, struct arena_hold *hold);
void arena_unlock(struct ring_shared *ring, const struct arena_hold *hold);
uint32_t arena_append(struct ring_shared *ring, enum arena_kind kind, const void *payload,
                      size_t bytes, uint64_t *offset);

/* For a forked child: copies the whole records of `from` into an empty arena, so that numbers given
 * out before the fork keep their meaning. Returns how many. */
uint32_t arena_inherit(struct ring_shared *ring, const struct ring_shared *from);

/* Where the arena of a ring of ours begins. */
const char *arena_base(const struct ring_shared *ring);

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
