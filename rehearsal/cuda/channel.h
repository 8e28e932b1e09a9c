/*
 * channel.h - what one rank brings to others, in memory that they share: a log with one writer.
 * Small pieces lie in it; of all others it says only that they were brought.
 *
 * Invariants: `posted` only grows, and its writer alone writes it. An entry is valid from when it
 * is posted until all readers have taken it, and so are its bytes; a reader sees by its number that
 * it is gone. Nothing that somebody may still read is written over: what finds no room is unknown
 * to all readers alike, however early they look.
 */
#ifndef TIDEMARK_REHEARSAL_CHANNEL_H
#define TIDEMARK_REHEARSAL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_RANKS_MAX 64
#define CHANNEL_ENTRIES 4096u
#define CHANNEL_BYTES ((size_t)1 << 16) /* of one piece */
#define CHANNEL_DATA ((size_t)1 << 21)  /* of all pieces; pages that were never used take none */

/* Zeros: nothing was posted. */
struct channel {
    _Atomic uint64_t posted;
    _Atomic uint64_t taken[CHANNEL_RANKS_MAX]; /* by each reader: up to this number */
    /* Of the writer alone. Bytes are counted on beyond the end of `data`, where a piece in one
     * stretch comes back to the beginning; those from `tail` to `head` are in use. */
    uint64_t freed; /* the last number that all have taken */
    uint64_t tail, head;
    struct {
        _Atomic uint64_t number;
        uint64_t at;
        uint32_t bytes;
        bool known;
    } entries[CHANNEL_ENTRIES];
    uint8_t data[CHANNEL_DATA];
};

enum channel_state { CHANNEL_NOT_YET, CHANNEL_HERE, CHANNEL_UNKNOWN };

/* Whether the next one can be put in, for so many readers, without loss. */
bool channel_has_room(struct channel *channel, int readers, size_t count);
/* Returns its number, from 1 on. `bytes` NULL: what is brought is not known, nor is it without
 * room. */
uint64_t channel_post(struct channel *channel, int readers, const void *bytes, size_t count);
enum channel_state channel_read(const struct channel *channel, uint64_t number, void *bytes,
                                size_t count);
void channel_take(struct channel *channel, int reader, uint64_t number);

#endif
