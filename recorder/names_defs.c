/* names_defs.c - the numbers of a process and of those that it was forked from: see names.h. */
#include "mem.h"
#include "state_types.h"

static const char *const kind_names[ARENA_KIND_COUNT] = {
    [ARENA_STRING] = "string",
    [ARENA_FRAME] = "frame",
    [ARENA_SITE] = "site",
    [ARENA_HEAP] = "heap",
};

struct names_defs *names_new_defs(void)
{
    struct names_defs *defs = mem_alloc(1, sizeof *defs);
    if (defs)
        defs->holders = 1;
    return defs;
}

void names_let_go(struct names_defs *defs)
{
    while (defs && --defs->holders == 0) {
        struct names_defs *from = defs->from;
        mem_free(defs->at);
        mem_free(defs->heaps);
        mem_free(defs);
        defs = from;
    }
}

bool names_defs_are_valid(const struct names_defs *defs)
{
    if (defs->holders == 0 || defs->count > defs->given)
        return false;
    for (size_t i = 1; i < defs->heap_count; i++)
        if (defs->heaps[i].number <= defs->heaps[i - 1].number)
            return false;
    return !defs->from || (defs->depth == defs->from->depth + 1 && defs->first > 0);
}

void names_inherit(struct names_defs *defs, struct names_defs *from, uint32_t first)
{
    if (defs->given > 0)
        return;
    if (from && from->depth >= NAMES_MOST_DEPTH)
        from = NULL;
    if (from)
        from->holders++;
    names_let_go(defs->from);
    defs->from = from;
    defs->depth = from ? from->depth + 1 : 0;
    defs->first = first;
}

static uint32_t unknown(struct state_process *process, uint32_t number, enum arena_kind kind)
{
    uint64_t bit = 1ull << kind;
    if (process->defs->noted & bit)
        return 0;
    process->defs->noted |= bit;
    note(&process->account, NOTE_UNKNOWN_NAME, NOTE_NO_ADDRESS, "%s %u", kind_names[kind], number);
    return 0;
}

static const struct names_heap *find_heap(const struct names_defs *defs, uint32_t number)
{
    size_t low = 0, high = defs->heap_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (defs->heaps[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < defs->heap_count && defs->heaps[low].number == number ? &defs->heaps[low] : NULL;
}

/* The process's own heap of what an ancestor defined; 0 without memory. */
static uint32_t heap_like(struct state_process *process, const struct names_heap *defined)
{
    uint64_t known = map_get(&process->inherited_heaps, defined->number);
    if (known != MAP_NONE)
        return (uint32_t)known;
    const struct heap like = {
        .stream = defined->stream, .pool = defined->pool, .name = defined->name};
    struct heap *heap = heap_get(process, &like, defined->device_kind, defined->device_index);
    if (!heap)
        return 0;
    map_put(&process->inherited_heaps, defined->number, heap->number, NULL);
    return heap->number;
}

uint32_t names_look_back(struct state_process *process, uint32_t number, enum arena_kind kind)
{
    const struct names_defs *defs = process->defs;
    while (defs && number <= defs->first)
        defs = defs->from;
    if (!defs || defs == process->defs || number - defs->first > defs->count ||
        defs->at[number - defs->first - 1].kind != kind)
        return unknown(process, number, kind);
    if (kind != ARENA_HEAP)
        return defs->at[number - defs->first - 1].id;
    const struct names_heap *defined = find_heap(defs, number);
    return defined ? heap_like(process, defined) : unknown(process, number, kind);
}
