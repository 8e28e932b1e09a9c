/* pending.c - see pending.h. */
#include "pending.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "mem.h"
#include "values.h"

#define NAP_NS 200000
#define NAPS_MOST 300000 /* a minute, of a kernel that could go on otherwise */

struct pending {
    uint64_t at, count;
    struct pending_source source;
};

static struct {
    pthread_mutex_t lock;
    struct pending *list;
    size_t count, cap;
    _Atomic size_t any; /* count, for those who do not hold the lock */
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool pending_any(void)
{
    return atomic_load_explicit(&pending.any, memory_order_acquire) != 0;
}

/* ---- under the lock ---- */

static void take_out(size_t i)
{
    struct pending it = pending.list[i];
    pending.list[i] = pending.list[--pending.count];
    atomic_store(&pending.any, pending.count);
    it.source.end(it.source.context);
}

static bool shares(const struct pending *it, uint64_t at, uint64_t count)
{
    return at < it->at + it->count && it->at < at + count;
}

/* True: it is not in the list any more. */
static bool look_at(size_t i)
{
    struct pending *it = &pending.list[i];
    uint8_t *bytes = mem_alloc(it->count, 1);
    enum pending_news news = bytes ? it->source.look(it->source.context, bytes) : PENDING_UNKNOWN;
    if (news == PENDING_HERE)
        values_arrive(it->at, bytes, it->count);
    if (news != PENDING_NOT_YET)
        take_out(i);
    mem_free(bytes);
    return news != PENDING_NOT_YET;
}

/* Takes in what has come of this range. True: some of it has not. */
static bool look_in(uint64_t at, uint64_t count)
{
    bool waits = false;
    for (size_t i = 0; i < pending.count;) {
        if (!shares(&pending.list[i], at, count)) {
            i++;
        } else if (!look_at(i)) {
            waits = true;
            i++;
        }
    }
    return waits;
}

/* ---- what others call ---- */

void pending_add(uint64_t at, uint64_t count, const struct pending_source *source)
{
    values_forget(at, count);
    pthread_mutex_lock(&pending.lock);
    bool added = count && MEM_GROW(pending.list, pending.cap, pending.count + 1);
    if (added)
        pending.list[pending.count++] = (struct pending){at, count, *source};
    atomic_store(&pending.any, pending.count);
    pthread_mutex_unlock(&pending.lock);
    if (!added)
        source->end(source->context);
}

void pending_look(void)
{
    if (!pending_any())
        return;
    pthread_mutex_lock(&pending.lock);
    (void)look_in(0, UINT64_MAX);
    pthread_mutex_unlock(&pending.lock);
}

static bool wait(uint64_t at, uint64_t count, unsigned naps_most)
{
    for (unsigned naps = 0; pending_any(); naps++) {
        pthread_mutex_lock(&pending.lock);
        bool waits = look_in(at, count);
        pthread_mutex_unlock(&pending.lock);
        if (!waits)
            return true;
        if (naps_most && naps == naps_most)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    return true;
}

void pending_wait(uint64_t at, uint64_t count)
{
    (void)wait(at, count, 0);
}

bool pending_wait_some(uint64_t at, uint64_t count)
{
    if (wait(at, count, NAPS_MOST))
        return false;
    fprintf(stderr, "tidemark: a kernel reads what another rank has not brought for a minute: it "
                    "goes on, and its values are not known\n");
    pending_cancel(at, count);
    return true;
}

void pending_cancel(uint64_t at, uint64_t count)
{
    if (!pending_any())
        return;
    pthread_mutex_lock(&pending.lock);
    for (size_t i = 0; i < pending.count;) {
        if (shares(&pending.list[i], at, count))
            take_out(i);
        else
            i++;
    }
    pthread_mutex_unlock(&pending.lock);
}

void pending_cancel_all(void)
{
    pending_cancel(0, UINT64_MAX);
}
