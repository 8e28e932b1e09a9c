/* exchange.c - what ranks bring to a work, or send to one of them (meeting.h). */
#include "meeting_types.h"

#include "pending.h"

#ifndef NAPS_FOR_ROOM
#define NAPS_FOR_ROOM 10000
#endif

/* Tells the writers what this rank is done with. `from` -1: all of them. */
static void advance(struct meeting *meeting, struct window *window, int from)
{
    uint64_t done = window_done(window);
    if (from >= 0)
        channel_take(meeting_channel(meeting, from, meeting->rank), 0, done);
    for (int i = 0; from < 0 && i < meeting->size; i++)
        channel_take(meeting_channel(meeting, i, -1), meeting->rank, done);
}

static void see(struct meeting *meeting, struct window *window, int from, uint64_t number,
                unsigned holds)
{
    window_see(window, number, holds);
    advance(meeting, window, from);
}

static void release(uint32_t number, int from, uint64_t work)
{
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = meeting_get(number);
    struct window *window = meeting ? &meeting->windows[from + 1] : NULL;
    if (window && window_release(window, work))
        advance(meeting, window, from);
    pthread_mutex_unlock(&meetings.lock);
}

void meeting_release(uint32_t number, uint64_t work)
{
    release(number, -1, work);
}

void meeting_release_sent(uint32_t number, uint64_t message, int from)
{
    release(number, from, message);
}

static int readers_of(const struct meeting *meeting, int to)
{
    return to < 0 ? meeting->size : 1;
}

/* Who is gone takes nothing any more. */
static void take_for_missed(struct meeting *meeting, int to)
{
    struct channel *channel = meeting_channel(meeting, meeting->rank, to);
    for (int i = 0; i < meeting->size; i++)
        if (i != meeting->rank && (to < 0 || to == i) && meeting_misses(meeting, i))
            channel_take(channel, to < 0 ? i : 0, UINT64_MAX);
}

/* Waits until there is room, for a while: a rank may be ahead by far, as on a GPU, where the host
 * waits, too; but who does not take what is brought may need this rank for something else. After
 * one wait in vain there is none until there was room for any piece. Under the lock afterwards;
 * NULL: there is no meeting, or no such rank. */
static struct meeting *lock_with_room(uint32_t number, int to, size_t count)
{
    for (unsigned naps = 0;; naps++) {
        pthread_mutex_lock(&meetings.lock);
        struct meeting *meeting = meeting_get(number);
        if (!meeting || to >= meeting->size)
            return NULL;
        struct channel *channel = meeting_channel(meeting, meeting->rank, to);
        int readers = readers_of(meeting, to);
        bool *has_waited = &meeting->has_waited[to + 1];
        if (channel_has_room(channel, readers, CHANNEL_BYTES))
            *has_waited = false;
        if (channel_has_room(channel, readers, count) || *has_waited)
            return meeting;
        if (naps == NAPS_FOR_ROOM) {
            *has_waited = true;
            return meeting;
        }
        if (is_look(naps))
            take_for_missed(meeting, to);
        pthread_mutex_unlock(&meetings.lock);
        nap(naps);
        pending_look(); /* the others wait for this rank to take what they brought */
    }
}

/* What finds no room is brought as unknown. */
static uint64_t post(struct meeting *meeting, int to, const void *bytes, size_t count)
{
    struct channel *channel = meeting_channel(meeting, meeting->rank, to);
    return channel_post(channel, readers_of(meeting, to), bytes, count);
}

uint64_t meeting_put(uint32_t number, const void *bytes, size_t count, unsigned holds,
                     struct works *works)
{
    uint64_t work = 0;
    struct meeting *meeting = lock_with_room(number, -1, bytes ? count : 0);
    if (meeting) {
        work = post(meeting, -1, bytes, count);
        atomic_store(&meeting->shared->number[meeting->rank], work);
        see(meeting, &meeting->windows[0], -1, work, holds);
        works_put(works, number, 0, work);
        atomic_store(&meetings.works, true);
    }
    pthread_mutex_unlock(&meetings.lock);
    return work;
}

void meeting_send(uint32_t number, int to, const void *bytes, size_t count)
{
    if (to < 0)
        return;
    struct meeting *meeting = lock_with_room(number, to, bytes ? count : 0);
    if (meeting)
        (void)post(meeting, to, bytes, count);
    pthread_mutex_unlock(&meetings.lock);
}

uint64_t meeting_receive(uint32_t number, int from, unsigned holds, struct works *works)
{
    uint64_t message = 0;
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = meeting_get(number);
    if (meeting && from >= 0 && from < meeting->size) {
        struct window *window = &meeting->windows[from + 1];
        message = window->seen + 1;
        see(meeting, window, from, message, holds);
        works_put(works, number, (uint32_t)from + 1, message);
        atomic_store(&meetings.works, true);
    }
    pthread_mutex_unlock(&meetings.lock);
    return message;
}

static enum channel_state read_channel(uint32_t number, int from, bool sent, uint64_t which,
                                       void *bytes, size_t count)
{
    enum channel_state state = CHANNEL_UNKNOWN;
    pthread_mutex_lock(&meetings.lock);
    struct meeting *meeting = meeting_get(number);
    if (meeting && from >= 0 && from < meeting->size) {
        const struct channel *channel = meeting_channel(meeting, from, sent ? meeting->rank : -1);
        /* Who leaves or ends may have brought it before. */
        bool over = atomic_load(&meeting->shared->number[from]) == UINT64_MAX;
        state = channel_read(channel, which, bytes, count);
        if (state == CHANNEL_NOT_YET && !over && meeting_misses(meeting, from)) {
            over = true;
            state = channel_read(channel, which, bytes, count);
        }
        if (state == CHANNEL_NOT_YET && over)
            state = CHANNEL_UNKNOWN;
    }
    pthread_mutex_unlock(&meetings.lock);
    return state;
}

enum channel_state meeting_read(uint32_t number, uint64_t work, int rank, void *bytes, size_t count)
{
    return read_channel(number, rank, false, work, bytes, count);
}

enum channel_state meeting_read_sent(uint32_t number, uint64_t message, int from, void *bytes,
                                     size_t count)
{
    return read_channel(number, from, true, message, bytes, count);
}
