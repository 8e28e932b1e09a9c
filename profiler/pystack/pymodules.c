/*
 * pymodules.c - the table of pymodules.h: open addressing by the object's address, 0 = empty, 1 =
 * was taken out.
 *
 * The lock is for those who change it: without a GIL these are several threads. Between any two of
 * their stores the table is whole, so a child whose parent was in the middle of something goes on.
 */
#include "pymodules.h"

#include <stddef.h>

#include "fork_lock.h"
#include "pages.h"

enum { FIRST_CAPACITY = 1024, GONE = 1 };

struct entry {
    _Atomic uint64_t object;
    _Atomic uint32_t number;
};

struct table {
    uint64_t capacity; /* a power of two */
    struct entry entry[];
};

static _Atomic(struct table *) table;
static _Atomic uint32_t lock;
static uint32_t used; /* entries that are not empty */
_Atomic uint32_t pymodules_living;

static uint64_t home_of(const struct table *in, uint64_t object)
{
    uint64_t hash = (object >> 4) * 0x9e3779b97f4a7c15ull;
    return (hash ^ hash >> 32) & (in->capacity - 1);
}

static struct entry *entry_of(struct table *in, uint64_t object)
{
    for (uint64_t at = home_of(in, object);; at = (at + 1) & (in->capacity - 1)) {
        uint64_t key = atomic_load_explicit(&in->entry[at].object, memory_order_acquire);
        if (key == object)
            return &in->entry[at];
        if (!key)
            return NULL;
    }
}

uint32_t pymodules_find(uint64_t object)
{
    struct table *in = atomic_load_explicit(&table, memory_order_acquire);
    struct entry *entry = in && object > GONE ? entry_of(in, object) : NULL;
    return entry ? atomic_load_explicit(&entry->number, memory_order_relaxed) : 0;
}

/* Of an object that is not in it: into the first place that is empty, or whose object is gone. */
static void enter(struct table *in, uint64_t object, uint32_t number)
{
    uint64_t at = home_of(in, object), there;
    while ((there = atomic_load_explicit(&in->entry[at].object, memory_order_relaxed)) > GONE)
        at = (at + 1) & (in->capacity - 1);
    atomic_store_explicit(&in->entry[at].number, number, memory_order_relaxed);
    atomic_store_explicit(&in->entry[at].object, object, memory_order_release);
    used += there != GONE;
}

static struct table *new_table(uint64_t capacity)
{
    struct table *made = pages_new(sizeof *made + capacity * sizeof(struct entry));
    if (made)
        made->capacity = capacity;
    return made;
}

/* The next table takes over what lives. */
static struct table *with_room(void)
{
    struct table *old = atomic_load_explicit(&table, memory_order_relaxed);
    if (old && used < old->capacity / 2)
        return old;
    struct table *next = new_table(old ? old->capacity * 2 : FIRST_CAPACITY);
    if (!next)
        return NULL;
    used = 0;
    for (uint64_t i = 0; old && i < old->capacity; i++) {
        uint64_t object = atomic_load_explicit(&old->entry[i].object, memory_order_relaxed);
        if (object > GONE)
            enter(next, object, atomic_load_explicit(&old->entry[i].number, memory_order_relaxed));
    }
    atomic_store_explicit(&table, next, memory_order_release);
    return next;
}

static bool put(uint64_t object, uint32_t number)
{
    struct table *in = atomic_load_explicit(&table, memory_order_relaxed);
    struct entry *known = in && object > GONE ? entry_of(in, object) : NULL;
    if (known) {
        atomic_store_explicit(&known->number, number, memory_order_relaxed);
        return true;
    }
    in = object > GONE ? with_room() : NULL;
    if (!in)
        return false;
    enter(in, object, number);
    pymodules_living++;
    return true;
}

bool pymodules_put(uint64_t object, uint32_t number)
{
    if (fork_lock_take(&lock) == FORK_LOCK_NOT_HELD)
        return false;
    bool done = put(object, number);
    fork_lock_give(&lock);
    return done;
}

/* Where the lock is not to be had, all are forgotten: none may stay that is gone. */
void pymodules_drop(uint64_t object)
{
    if (fork_lock_take(&lock) == FORK_LOCK_NOT_HELD) {
        atomic_store(&table, NULL);
        return;
    }
    struct table *in = atomic_load_explicit(&table, memory_order_relaxed);
    struct entry *known = in && object > GONE ? entry_of(in, object) : NULL;
    if (known) {
        atomic_store_explicit(&known->object, GONE, memory_order_release);
        pymodules_living--;
    }
    fork_lock_give(&lock);
}
