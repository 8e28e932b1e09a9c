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

/* What all have taken goes: whoever still reads it sees so by the number. */
static void free_taken(struct channel *channel, int readers)
{
    uint64_t posted = atomic_load(&channel->posted), taken = taken_by_all(channel, readers);
    while (channel->freed < posted && channel->freed < taken) {
        uint64_t number = ++channel->freed;
        uint32_t at = (uint32_t)(number % CHANNEL_ENTRIES);
        if (atomic_load(&channel->entries[at].number) != number)
            continue; /* it had found no room */
        if (channel->entries[at].known)
            channel->tail = channel->entries[at].at + channel->entries[at].bytes;
        atomic_store(&channel->entries[at].number, 0);
    }
    if (channel->freed == posted)
        channel->tail = channel->head = 0; /* the same pages again */
    atomic_thread_fence(memory_order_seq_cst);
}

static bool has_entry(const struct channel *channel)
{
    return atomic_load(&channel->posted) - channel->freed < CHANNEL_ENTRIES;
}

/* Where the next bytes would begin. */
static uint64_t next_bytes(const struct channel *channel, size_t count)
{
    uint64_t left = CHANNEL_DATA - channel->head % CHANNEL_DATA;
    return count <= left ? channel->head : channel->head + left;
}

static bool has_bytes(const struct channel *channel, size_t count)
{
    return count <= CHANNEL_BYTES &&
           next_bytes(channel, count) + count - channel->tail <= CHANNEL_DATA;
}

bool channel_has_room(struct channel *channel, int readers, size_t count)
{
    free_taken(channel, readers);
    return has_entry(channel) && (count > CHANNEL_BYTES || has_bytes(channel, count));
}

static void write_entry(struct channel *channel, uint64_t number, const void *bytes, size_t count)
{
    uint32_t at = (uint32_t)(number % CHANNEL_ENTRIES);
    bool known = bytes && has_bytes(channel, count);
    if (known) {
        channel->entries[at].at = next_bytes(channel, count);
        memcpy(channel->data + channel->entries[at].at % CHANNEL_DATA, bytes, count);
        channel->head = channel->entries[at].at + count;
    }
    channel->entries[at].bytes = (uint32_t)count;
    channel->entries[at].known = known;
    atomic_store(&channel->entries[at].number, number);
}

uint64_t channel_post(struct channel *channel, int readers, const void *bytes, size_t count)
{
    uint64_t number = atomic_load(&channel->posted) + 1;
    free_taken(channel, readers);
    if (has_entry(channel))
        write_entry(channel, number, bytes, count);
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
    uint64_t from = channel->entries[at].at % CHANNEL_DATA;
    if (!channel->entries[at].known || channel->entries[at].bytes != count ||
        count > CHANNEL_DATA - from)
        return CHANNEL_UNKNOWN;
    memcpy(bytes, channel->data + from, count);
    atomic_thread_fence(memory_order_seq_cst);
    bool is_it = atomic_load(&channel->entries[at].number) == number;
    return is_it ? CHANNEL_HERE : CHANNEL_UNKNOWN;
}

void channel_take(struct channel *channel, int reader, uint64_t number)
{
    if (atomic_load(&channel->taken[reader]) < number)
        atomic_store(&channel->taken[reader], number);
}
