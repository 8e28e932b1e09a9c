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

#define NAME "gone when torch.profiler had CUPTI"

static _Atomic bool due;
static _Atomic uint32_t busy;

/* A single allocation begins where it was given out. Others are parts of something larger. */
static bool begins_there(uint8_t memory)
{
    return memory == DRIVER_DEVICE || memory == DRIVER_MANAGED;
}

static bool has_an_address(const struct live_key *key)
{
    return key->space == SPACE_MAPPING || key->memory != DRIVER_GRAPH;
}

/* In doubt it is there. Attributes are 8 bytes at most, and little-endian where they are less. */
static bool is_gone(const struct live_key *key)
{
    bool mapping = key->space == SPACE_MAPPING;
    uint64_t value = 0;
    if (!has_an_address(key))
        return false;
    int result = driver_api.pointer_attribute(
        &value, mapping ? ABI_POINTER_MAPPED : ABI_POINTER_START, key->key);
    if (result == ABI_CUDA_INVALID)
        return true;
    if (result != 0)
        return false;
    return mapping ? value == 0 : begins_there(key->memory) && value && value != key->key;
}

static void ask_all(struct live_key *keys, size_t count)
{
    uint32_t name = intern_string(NAME);
    for (size_t i = 0; i < count; i++)
        if (is_gone(&keys[i]))
            live_vanished(&keys[i], name);
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
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
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
