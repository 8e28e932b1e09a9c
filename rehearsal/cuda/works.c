/* works.c - what a stream waits for: the last work, or message, of each meeting (meeting.h). */
#include "meeting_types.h"

static bool is_sent(struct meeting *meeting, int from, uint64_t message, bool look)
{
    const struct channel *channel = meeting_channel(meeting, from, meeting->rank);
    return atomic_load(&channel->posted) >= message ||
           atomic_load(&meeting->shared->number[from]) == UINT64_MAX ||
           (look && meeting_misses(meeting, from));
}

/* Without `look` nobody is asked whether a process is there. */
static bool is_done(uint32_t number, uint32_t from, uint64_t work, bool look)
{
    struct meeting *meeting = meeting_get(number);
    if (meeting && from)
        return is_sent(meeting, (int)from - 1, work, look);
    for (int i = 0; meeting && i < meeting->size; i++)
        if (atomic_load(&meeting->shared->number[i]) < work &&
            !(look && meeting_misses(meeting, i)) &&
            atomic_load(&meeting->shared->number[i]) < work)
            return false;
    return true;
}

void works_put(struct works *works, uint32_t meeting, uint32_t from, uint64_t number)
{
    int free_place = -1;
    for (int i = 0; i < WORKS_MAX; i++) {
        if (works->list[i].meeting == meeting && works->list[i].from == from) {
            if (works->list[i].number < number)
                works->list[i].number = number;
            return;
        }
        if (works->list[i].meeting &&
            is_done(works->list[i].meeting, works->list[i].from, works->list[i].number, false))
            works->list[i].meeting = 0;
        if (!works->list[i].meeting)
            free_place = i;
    }
    if (free_place < 0)
        return; /* more meetings at once than anybody has: nobody waits for this one */
    works->list[free_place].meeting = meeting;
    works->list[free_place].from = from;
    works->list[free_place].number = number;
}

bool works_exist(void)
{
    return atomic_load_explicit(&meetings.works, memory_order_relaxed);
}

void works_add(struct works *works, const struct works *more)
{
    pthread_mutex_lock(&meetings.lock);
    for (int i = 0; i < WORKS_MAX; i++)
        if (more->list[i].meeting)
            works_put(works, more->list[i].meeting, more->list[i].from, more->list[i].number);
    pthread_mutex_unlock(&meetings.lock);
}

void works_copy(struct works *works, const struct works *from)
{
    pthread_mutex_lock(&meetings.lock);
    *works = *from;
    pthread_mutex_unlock(&meetings.lock);
}

static bool are_done(struct works *works, bool look)
{
    bool done = true;
    pthread_mutex_lock(&meetings.lock);
    for (int i = 0; i < WORKS_MAX; i++) {
        if (works->list[i].meeting &&
            is_done(works->list[i].meeting, works->list[i].from, works->list[i].number, look))
            works->list[i].meeting = 0;
        done = done && !works->list[i].meeting;
    }
    pthread_mutex_unlock(&meetings.lock);
    return done;
}

bool works_are_done(struct works *works)
{
    return are_done(works, true);
}

void works_wait(struct works *works)
{
    struct works left;
    works_copy(&left, works); /* what comes later is not waited for */
    for (unsigned naps = 0; !are_done(&left, is_look(naps)); naps++)
        nap(naps);
}

void meeting_wait_all(void)
{
    unsigned count = atomic_load(&meetings.count);
    for (uint32_t i = 0; i < count; i++) {
        pthread_mutex_lock(&meetings.lock);
        uint32_t number = i + meetings.list[i].uses * MEETINGS_MAX;
        const struct meeting *meeting = meeting_get(number);
        uint64_t work = meeting ? atomic_load(&meeting->shared->number[meeting->rank]) : 0;
        pthread_mutex_unlock(&meetings.lock);
        struct works own = {.list = {{.meeting = number, .number = work}}};
        works_wait(&own);
    }
}
