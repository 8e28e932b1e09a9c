/* names_defs.c - the numbers of a process and of those that it was forked from: see names.h. */
#include <assert.h>

#include "ledger.h"
#include "mem.h"
#include "names.h"
#include "search.h"

static const char *const kind_names[ARENA_KIND_COUNT] = {
    [ARENA_STRING] = "string", [ARENA_FRAME] = "frame",   [ARENA_SITE] = "site",
    [ARENA_HEAP] = "heap",     [ARENA_MODULE] = "module",
};

struct names_defs *names_new_defs(struct names *names, struct account *account)
{
    struct names_defs *defs = mem_alloc(1, sizeof *defs);
    if (defs)
        *defs = (struct names_defs){.names = names, .account = account, .holders = 1};
    return defs;
}

static void drop(struct names_defs *defs)
{
    assert(!defs || defs->holders > 0);
    while (defs && --defs->holders == 0) {
        struct names_defs *from = defs->from;
        mem_free(defs->at);
        mem_free(defs->heaps);
        mem_free(defs);
        defs = from;
    }
}

void names_let_go(struct names_defs *defs)
{
    if (defs)
        defs->account = NULL;
    drop(defs);
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
    assert(from != defs);
    if (defs->given > 0)
        return;
    if (from && from->depth >= NAMES_MOST_DEPTH)
        from = NULL;
    if (from)
        from->holders++;
    drop(defs->from);
    defs->from = from;
    defs->depth = from ? from->depth + 1 : 0;
    defs->first = first;
}

/* Once of each kind. */
static void note_unknown(struct names_defs *defs, uint32_t number, enum arena_kind kind)
{
    uint64_t bit = 1ull << kind;
    assert(kind < ARENA_KIND_COUNT && defs->account);
    if (defs->noted & bit)
        return;
    defs->noted |= bit;
    note(defs->account, NOTE_UNKNOWN_NAME, NOTE_NO_ADDRESS, "%s %u", kind_names[kind], number);
}

static const struct names_heap *find_heap(const struct names_defs *defs, uint32_t number)
{
    size_t at;
    SEARCH_FIRST(at, 0, defs->heap_count, defs->heaps[at].number < number);
    return at < defs->heap_count && defs->heaps[at].number == number ? &defs->heaps[at] : NULL;
}

/* The ancestor whose number it is, if what it defined is of that kind; else it is noted. */
static const struct names_defs *ancestor(struct names_defs *own, uint32_t number,
                                         enum arena_kind kind)
{
    const struct names_defs *defs = own;
    while (defs && number <= defs->first)
        defs = defs->from;
    if (defs && defs != own && number - defs->first <= defs->count &&
        defs->at[number - defs->first - 1].kind == kind)
        return defs;
    note_unknown(own, number, kind);
    return NULL;
}

const struct names_heap *names_heap(struct names_defs *defs, uint32_t number)
{
    const struct names_defs *of = ancestor(defs, number, ARENA_HEAP);
    const struct names_heap *defined = of ? find_heap(of, number) : NULL;
    if (of && !defined)
        note_unknown(defs, number, ARENA_HEAP);
    return defined;
}

uint32_t names_look_back(struct names_defs *defs, uint32_t number, enum arena_kind kind)
{
    const struct names_defs *of = ancestor(defs, number, kind);
    return of ? of->at[number - of->first - 1].id : 0;
}
