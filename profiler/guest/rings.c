/* rings.c - see rings.h. */
#include "rings.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "guest.h"
#include "pages.h"

struct kept {
    struct ring ring; /* first: a ring's address is its own */
    struct kept *before;
    _Atomic bool forked; /* while it was the newest, or the guest's */
    bool events_back, definitions_back;
};

static struct kept *_Atomic newest; /* of this process; a child that has none yet: its parent's */
static bool sees_forks;

/* Before a fork, and after it in the parent: between the two another thread may have added one,
 * which is the newest before it is the guest's. */
static void note_fork(void)
{
    struct kept *first = atomic_load(&newest);
    for (struct kept *kept = first; kept; kept = kept->before)
        if (kept == first || &kept->ring == guest.ring)
            atomic_store(&kept->forked, true);
}

bool rings_watch_forks(void)
{
    sees_forks = sees_forks || pthread_atfork(note_fork, note_fork, NULL) == 0;
    return sees_forks;
}

struct ring *rings_attach(int fd)
{
    struct kept *kept = pages_new(sizeof *kept);
    if (!kept)
        return NULL;
    if (ring_attach(&kept->ring, fd) == 0)
        return &kept->ring;
    munmap(kept, sizeof *kept);
    return NULL;
}

void rings_drop(struct ring *ring)
{
    ring_detach(ring);
    munmap(ring, sizeof(struct kept));
}

void rings_add(struct ring *ring, bool first)
{
    struct kept *kept = (struct kept *)ring;
    kept->before = first ? NULL : atomic_load(&newest);
    atomic_store(&newest, kept);
}

void rings_give_back(void)
{
    bool copied = false; /* the newest has what is in those before it */
    int saved = errno;
    for (struct kept *kept = atomic_load(&newest); kept; kept = kept->before) {
        if (ring_recorder_died(kept->ring.shared)) {
            bool definitions = copied && sees_forks && !atomic_load(&kept->forked);
            if (!kept->events_back)
                ring_give_back_events(&kept->ring);
            if (definitions && !kept->definitions_back)
                ring_give_back_definitions(&kept->ring);
            kept->events_back = true;
            kept->definitions_back = kept->definitions_back || definitions;
        }
        copied = true;
    }
    errno = saved;
}
