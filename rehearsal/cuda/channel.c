/* channel.c - see channel.h. */
#include "channel.h"

#include <stdatomic.h>
#include <string.h>

static uint64_t taken_by_all(const struct channel *channel, int readers)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < readers; i++) {
        uint64_t taken = atomic_load(&channel->taken[i]);
        least = taken < least ? taken : least;
    }
    return least;
}

bool channel_has_room(const struct channel *channel, int readers, bool with_bytes)
{
    uint64_t taken = taken_by_all(channel, readers);
    uint64_t next = atomic_load(&channel->posted) + 1;
    if (taken != UINT64_MAX && next > taken + CHANNEL_ENTRIES)
        return false;
    return !with_bytes || channel->piece_of[channel->pieces % CHANNEL_PIECES] <= taken;
}

uint64_t channel_post(struct channel *channel, const void *bytes, size_t count)
{
    uint64_t number = atomic_load(&channel->posted) + 1;
    uint32_t at = (uint32_t)(number % CHANNEL_ENTRIES), piece = 0;
    atomic_store(&channel->entries[at].number, 0); /* whoever still reads the old one sees it */
    if (bytes && count <= CHANNEL_BYTES) {
        uint32_t which = (uint32_t)(channel->pieces++ % CHANNEL_PIECES);
        memcpy(channel->data[which], bytes, count);
        channel->piece_of[which] = number;
        piece = which + 1;
    }
    channel->entries[at].bytes = (uint32_t)count;
    channel->entries[at].piece = piece;
    atomic_store(&channel->entries[at].number, number);
    atomic_store(&channel->posted, number);
    return number;
}

enum channel_state channel_read(const struct channel *channel, uint64_t number, void *bytes,
                                size_t count)
{
    uint32_t at = (uint32_t)(number % CHANNEL_ENTRIES);
    if (atomic_load(&channel->posted) < number)
        return CHANNEL_NOT_YET;
    if (atomic_load(&channel->entries[at].number) != number)
        return CHANNEL_UNKNOWN;
    uint32_t piece = channel->entries[at].piece;
    if (piece == 0 || piece > CHANNEL_PIECES || channel->entries[at].bytes != count)
        return CHANNEL_UNKNOWN;
    memcpy(bytes, channel->data[piece - 1], count);
    bool is_it = atomic_load(&channel->entries[at].number) == number;
    return is_it ? CHANNEL_HERE : CHANNEL_UNKNOWN;
}

void channel_take(struct channel *channel, int reader, uint64_t number)
{
    if (atomic_load(&channel->taken[reader]) < number)
        atomic_store(&channel->taken[reader], number);
}
