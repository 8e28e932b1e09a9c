/*
 * cupti_ask.c - see cupti_ask.h.
 *
 * The table is copied and asked about without its lock, for the driver may wait for what a callback
 * holds. An entry that has changed meanwhile has another serial and is left alone.
 */
#include "cupti_ask.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "cupti_api.h"
#include "cupti_live.h"
#include "event.h"
#include "intern.h"
#include "pages.h"

#define NAME "gone when torch.profiler had CUPTI"

static _Atomic bool due;
static _Atomic uint32_t busy;

/* Attributes are 8 bytes at most, and little-endian where they are less. */
static int ask_for(int attribute, uint64_t pointer, uint64_t *value)
{
    *value = 0;
    return driver_api.pointer_attribute(value, attribute, pointer);
}

/* In doubt it is there. */
static bool is_unmapped(uint64_t pointer)
{
    uint64_t mapped;
    int result = ask_for(ABI_POINTER_MAPPED, pointer, &mapped);
    return result == ABI_CUDA_INVALID || (result == 0 && !mapped);
}

static bool is_unknown(uint64_t pointer)
{
    uint64_t kind;
    return ask_for(ABI_POINTER_KIND, pointer, &kind) == ABI_CUDA_INVALID;
}

static bool is_inside_of_another(uint64_t pointer)
{
    uint64_t start;
    return ask_for(ABI_POINTER_START, pointer, &start) == 0 && start && start != pointer;
}

/* A single allocation begins where it was given out. Others may be parts of something larger; a
 * node's address is its own whether there is memory or not. */
static bool is_gone(const struct live_key *key)
{
    if (key->space == SPACE_MAPPING && key->memory == SPACE_HANDLE)
        return is_unmapped(key->key);
    if (key->space == SPACE_ADDRESS && key->memory == DRIVER_GRAPH)
        return false;
    if (is_unknown(key->key))
        return true;
    return key->space == SPACE_ADDRESS &&
           (key->memory == DRIVER_DEVICE || key->memory == DRIVER_MANAGED) &&
           is_inside_of_another(key->key);
}

static void ask_all(struct live_key *keys, size_t count)
{
    uint32_t name = intern_string(NAME);
    live_late(true);
    for (size_t i = 0; i < count; i++)
        if (is_gone(&keys[i]))
            live_vanished(&keys[i], name);
    live_late(false);
}

/* False: it could not be asked. */
static bool ask(void)
{
    const void *context = NULL;
    if (!driver_api.pointer_attribute || !driver_api.context || driver_api.context(&context) != 0 ||
        !context)
        return false;
    size_t room = live_keys(NULL, 0) + 64; /* some may come meanwhile */
    size_t bytes = room * sizeof(struct live_key);
    void *memory = pages_new(bytes);
    if (!memory)
        return false;
    size_t count = live_keys(memory, room);
    ask_all(memory, count < room ? count : room);
    munmap(memory, bytes);
    return true;
}

void ask_if_due(void)
{
    if (!atomic_load_explicit(&due, memory_order_relaxed) || atomic_exchange(&busy, 1))
        return;
    if (ask())
        atomic_store(&due, false);
    atomic_store(&busy, 0);
}

void ask_soon(void)
{
    atomic_store(&due, true);
    ask_if_due();
}

bool ask_is_due(void)
{
    return atomic_load(&due);
}
