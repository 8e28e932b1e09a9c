/*
 * torch_watch.c - the blocks that one thread takes in a stretch, for memory that no tensor of the
 * program leads to: the buckets of DistributedDataParallel live inside C++.
 *
 * One watch at a time. `owner` names the watching thread by the address of a variable of its own;
 * only that thread touches the rest. Watches last for one call, outside of any steady state.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "notes.h"
#include "torch_hook.h"

static __thread char me;
char *_Atomic torch_watch_owner;
static struct watched blocks[WATCH_MAX]; /* those that live; the owner's */
static uint32_t count;
static bool is_full; /* there were more */

bool torch_watch_begin(void)
{
    char *nobody = NULL;
    if (!atomic_compare_exchange_strong(&torch_watch_owner, &nobody, &me))
        return false;
    count = 0;
    is_full = false;
    return true;
}

void torch_watch_take(uint64_t addr, int64_t size)
{
    if (atomic_load_explicit(&torch_watch_owner, memory_order_relaxed) != &me)
        return;
    if (size > 0 && count < WATCH_MAX)
        blocks[count++] = (struct watched){addr, (uint64_t)size};
    else if (size > 0)
        is_full = true;
    for (uint32_t i = 0; size < 0 && i < count; i++) {
        if (blocks[i].addr != addr)
            continue;
        blocks[i] = blocks[--count];
        return;
    }
}

uint32_t torch_watch_end(struct watched *out, uint32_t max)
{
    if (atomic_load(&torch_watch_owner) != &me)
        return 0;
    if (is_full)
        notes_why_not("tags of buckets: more blocks came at once than are watched");
    uint32_t given = count < max ? count : max;
    for (uint32_t i = 0; i < given; i++)
        out[i] = blocks[i];
    atomic_store(&torch_watch_owner, NULL);
    return given;
}
