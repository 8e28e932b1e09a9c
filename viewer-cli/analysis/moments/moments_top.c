/*
 * The largest blocks of each moment.
 *
 * Each moment has a small heap with its smallest block first. Above the moments stands a tree of
 * what a block must be larger than to enter any moment below it, so that a block that enters
 * nowhere costs a look at a few nodes, however long it lives.
 *
 * Invariants: least[1] is the root; least[i] is the lower of least[2 i] and least[2 i + 1]; that of
 * a moment is the size of the smallest block in its heap, -1 while the heap is not full.
 */
#include <stdlib.h>

#include "mem.h"
#include "moments_parts.h"
#include "pqueue.h"

struct entry {
    int64_t size;
    size_t candidate;
};

struct top {
    unsigned most;
    size_t leaves;
    int64_t *least;
    struct entry *entries; /* most for each moment */
    unsigned *counts;
    struct moments_block *candidates;
    size_t count, cap;
};

bool moments_top_begin(struct moments_work *work)
{
    struct top *top = work->top = mem_alloc(1, sizeof *top);
    if (!top)
        return false;
    size_t moments = work->out->count;
    top->most = work->out->limits.top < MOMENTS_TOP ? work->out->limits.top : MOMENTS_TOP;
    for (top->leaves = 1; top->leaves < moments; top->leaves *= 2)
        ;
    top->least = mem_alloc(2 * top->leaves, sizeof *top->least);
    top->entries = mem_alloc(moments + 1, top->most * sizeof *top->entries);
    top->counts = mem_alloc(moments + 1, sizeof *top->counts);
    if (!top->least || !top->entries || !top->counts)
        return false;
    for (size_t i = 0; i < 2 * top->leaves; i++)
        top->least[i] = i < top->leaves + moments ? -1 : INT64_MAX;
    for (size_t i = top->leaves; i-- > 1;)
        top->least[i] =
            top->least[2 * i] < top->least[2 * i + 1] ? top->least[2 * i] : top->least[2 * i + 1];
    return true;
}

static bool is_smaller(const struct entry *a, const struct entry *b)
{
    return a->size < b->size;
}

static int64_t enter(struct top *top, size_t moment, struct entry entry)
{
    struct entry *heap = &top->entries[moment * top->most];
    if (top->counts[moment] == top->most) {
        heap[0] = entry;
        PQUEUE_SINK(heap, 0, top->most, is_smaller);
    } else {
        heap[top->counts[moment]] = entry;
        PQUEUE_RISE(heap, top->counts[moment], is_smaller);
        top->counts[moment]++;
    }
    return top->counts[moment] == top->most ? heap[0].size : -1;
}

/* Node `at` stands for the moments [first, first + width). True if it entered anywhere. */
static bool offer(struct top *top, size_t at, size_t first, size_t width, size_t from, size_t until,
                  struct entry entry)
{
    if (first >= until || first + width <= from || top->least[at] >= entry.size)
        return false;
    if (width == 1) {
        top->least[at] = enter(top, first, entry);
        return true;
    }
    bool left = offer(top, 2 * at, first, width / 2, from, until, entry);
    bool right = offer(top, 2 * at + 1, first + width / 2, width / 2, from, until, entry);
    top->least[at] =
        top->least[2 * at] < top->least[2 * at + 1] ? top->least[2 * at] : top->least[2 * at + 1];
    return left || right;
}

bool moments_top_offer(struct moments_work *work, const struct moments_block *block, size_t from,
                       size_t until)
{
    struct top *top = work->top;
    if (!top->most ||
        !offer(top, 1, 0, top->leaves, from, until, (struct entry){block->size, top->count}))
        return true;
    if (!MEM_GROW(top->candidates, top->cap, top->count + 1))
        return false;
    top->candidates[top->count++] = *block;
    return true;
}

/* Candidates that a moment kept to the end; they came by seq. */
bool moments_top_end(struct moments_work *work)
{
    struct top *top = work->top;
    struct moments *out = work->out;
    bool *stays = mem_alloc(top->count + 1, sizeof *stays);
    bool fine = stays != NULL;
    for (size_t i = 0; fine && i < out->count; i++)
        for (unsigned k = 0; k < top->counts[i]; k++)
            stays[top->entries[i * top->most + k].candidate] = true;
    for (size_t i = 0; fine && i < top->count; i++) {
        if (!stays[i])
            continue;
        fine = MEM_GROW(out->blocks, out->block_cap, out->block_count + 1);
        if (fine)
            out->blocks[out->block_count++] = top->candidates[i];
    }
    mem_free(stays);
    return fine;
}

void moments_top_clear(struct moments_work *work)
{
    struct top *top = work->top;
    if (!top)
        return;
    mem_free(top->least);
    mem_free(top->entries);
    mem_free(top->counts);
    mem_free(top->candidates);
    mem_free(top);
    work->top = NULL;
}
