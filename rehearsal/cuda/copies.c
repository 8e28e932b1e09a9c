/* copies.c - see copies.h. */
#include "copies.h"

#include <string.h>

#include "cuda_abi.h"
#include "machine.h"
#include "pending.h"
#include "read_back.h"
#include "values.h"

static uint64_t number(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Who reads waits, as on a GPU, until other ranks have brought what comes here. */
static void read(void *to, uint64_t from, uint64_t bytes)
{
    pending_wait(from, bytes);
    if (!values_get(from, to, bytes))
        read_back(bytes, values_was_lost(from, bytes));
}

void copy_bytes(void *to, const void *from, uint64_t bytes)
{
    bool to_device = machine_is_on_device(to), from_device = machine_is_on_device(from);
    if (bytes == 0)
        return;
    if (to_device && from_device)
        values_move(number(to), number(from), bytes);
    else if (to_device)
        values_bring(number(to), from, bytes);
    else if (!from_device)
        memmove(to, from, bytes);
    else
        read(to, number(from), bytes);
}

void copy_fill(void *at, int value, uint64_t bytes)
{
    if (bytes && machine_is_on_device(at))
        values_fill(number(at), value, bytes);
    else if (bytes)
        memset(at, value, bytes);
}

/* The guest's, from the allocator's report: what lay in this memory is nobody's value any more. */
API(void, tidemark_rehearsal_fresh, uint64_t address, uint64_t bytes)
{
    values_block(address, bytes);
}
