/*
 * channel.h - what one rank brings to others, in memory that they share: a log with one writer.
 * Small pieces lie in it; of all others it says only that they were brought.
 *
 * Invariants: `posted` only grows, and its writer alone writes it. An entry is valid from when it
 * is posted until CHANNEL_ENTRIES later ones are; a reader sees by its number if it came too late.
 * The writer reuses an entry or a piece once all readers have taken what they wanted of it.
 */
#ifndef TIDEMARK_REHEARSAL_CHANNEL_H
#define TIDEMARK_REHEARSAL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_RANKS_MAX 64
#define CHANNEL_ENTRIES 512u
#define CHANNEL_PIECES 8u
#define CHANNEL_BYTES ((size_t)1 << 16) /* of one piece */

/* Zeros: nothing was posted. */
struct channel {
    _Atomic uint64_t posted;
    _Atomic uint64_t taken[CHANNEL_RANKS_MAX]; /* by each reader: up to this number */
    uint64_t pieces;                           /* that were ever used */
    uint64_t piece_of[CHANNEL_PIECES];         /* the number that each was last used for */
    struct {
        _Atomic uint64_t number;
        uint32_t bytes, piece; /* piece 0: what was brought is not known */
    } entries[CHANNEL_ENTRIES];
    uint8_t data[CHANNEL_PIECES][CHANNEL_BYTES];
};

enum channel_state { CHANNEL_NOT_YET, CHANNEL_HERE, CHANNEL_UNKNOWN };

/* Whether the next one can be put in, for so many readers, without loss. */
bool channel_has_room(const struct channel *channel, int readers, bool with_bytes);
/* Returns its number, from 1 on. `bytes` NULL: what is brought is not known. */
uint64_t channel_post(struct channel *channel, const void *bytes, size_t count);
enum channel_state channel_read(const struct channel *channel, uint64_t number, void *bytes,
                                size_t count);
void channel_take(struct channel *channel, int reader, uint64_t number);

#endif
