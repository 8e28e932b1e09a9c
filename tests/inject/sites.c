/*
 * sites.c - see sites.h. The stack is walked by the unwinder of the compiler, so it needs no frame
 * pointers, of which SQLite has none. The table is one of open addressing in a shared mapping: it
 * is there also when the program ends in a way that runs nothing any more.
 */
#include "sites.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

/* Of the linker: where this program begins and where its code ends. */
extern const char __executable_start[], etext[];

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *with)
{
    struct sites_stack *stack = with;
    uintptr_t at = _Unwind_GetIP(context), begin = (uintptr_t)__executable_start;
    if (stack->depth == 0 && at != stack->from) /* what stands here between */
        return _URC_NO_REASON;
    if (at < begin || at >= (uintptr_t)etext)
        return _URC_NO_REASON;
    for (unsigned i = 0; i < stack->depth; i++)
        if (stack->at[i] == at - begin)
            return _URC_NO_REASON;
    stack->at[stack->depth++] = at - begin;
    return stack->depth < SITES_STACK ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void sites_look(struct sites_stack *stack, const void *from)
{
    stack->from = (uintptr_t)from;
    stack->depth = 0;
    _Unwind_Backtrace(add_frame, stack);
}

/* FNV, of 64 bits. */
static uint64_t mix(uint64_t sum, const void *from, size_t bytes)
{
    const unsigned char *at = from;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * 0x100000001b3;
    return sum;
}

struct sites_numbers sites_number(const char *name, const struct sites_stack *stack)
{
    const uintptr_t *at = stack->at;
    unsigned depth = stack->depth, far = depth < SITES_FAR ? depth : SITES_FAR;
    unsigned near = depth < SITES_COMMON ? 0 : depth - SITES_COMMON;
    uint64_t sum = mix(0xcbf29ce484222325, name, strlen(name));
    struct sites_numbers numbers = {
        .all = mix(sum, at, depth * sizeof *at),
        .far = mix(sum, at + depth - far, far * sizeof *at),
        .near = mix(sum, at, near * sizeof *at),
    };
    numbers.all += numbers.all == 0;
    return numbers;
}

/* The table is made by calls that nobody counts: this runs before main. */
struct sites_entry *sites_table(const char *path)
{
    size_t bytes = SITES_ROOM * sizeof(struct sites_entry);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *table = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED) {
        fprintf(stderr, "inject: no table of sites in %s\n", path);
        abort();
    }
    close(fd);
    return table;
}

static struct sites_entry *find(struct sites_entry *table, const char *name,
                                const struct sites_numbers *numbers)
{
    for (uint64_t i = numbers->all, tried = 0; tried < SITES_ROOM; i++, tried++) {
        struct sites_entry *entry = &table[i % SITES_ROOM];
        uint_least64_t there = 0;
        if (atomic_compare_exchange_strong(&entry->number, &there, numbers->all)) {
            entry->far = numbers->far;
            entry->near = numbers->near;
            snprintf(entry->name, sizeof entry->name, "%s", name);
            return entry;
        }
        if (there == numbers->all)
            return entry;
    }
    return NULL;
}

void sites_add(struct sites_entry *table, const char *name, const struct sites_numbers *numbers,
               uint64_t nth)
{
    struct sites_entry *entry = find(table, name, numbers);
    if (!entry)
        abort(); /* a table that is full would leave sites out */
    uint64_t count = atomic_fetch_add(&entry->count, 1) + 1;
    if (count == 1)
        entry->first = nth;
    if (count == 2)
        entry->second = nth;
    entry->last = nth;
}
