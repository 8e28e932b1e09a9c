/*
 * What backward had added at the peak, by size, beside what forward and loss made of that size in
 * this step: a gradient is as large as what it is the gradient of.
 */
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "levers_work.h"
#include "mem.h"

enum { SHOWN = 3, LIKE_MOST = 4 };

static bool was_added(const struct levers_step *step, const struct levers_block *block,
                      const struct levers_phase *backward)
{
    return levers_at_peak(step, block) && block->purpose != PURPOSE_LIBRARY &&
           block->seq >= backward->begin;
}

static int by_bytes(const void *one, const void *other)
{
    const struct levers_added *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->each < b->each ? -1 : a->each > b->each;
}

/* Within a hundredth: rounding, and rows that were added or left out, make no other tensor. */
static bool alike(int64_t asked, int64_t other)
{
    int64_t apart = asked < other ? other - asked : asked - other;
    return apart <= other / 100;
}

static struct levers_added *added_of(struct levers *out, int64_t asked)
{
    for (size_t i = 0; i < out->added_count; i++)
        if (alike(asked, out->added[i].each))
            return &out->added[i];
    if (!MEM_GROW(out->added, out->added_cap, out->added_count + 1))
        return NULL;
    struct levers_added *added = &out->added[out->added_count++];
    *added = (struct levers_added){.each = asked};
    return added;
}

/* Blocks of less than a hundredth of the peak are left out, so there are a hundred at most. */
static int gather(struct levers_work *work, const struct levers_phase *backward)
{
    const struct levers_step *step = &work->seen.step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!was_added(step, block, backward) || block->size < work->out->peak / 100)
            continue;
        struct levers_added *added = added_of(work->out, block->asked);
        if (!added)
            return ERR_NOMEM;
        added->bytes += block->size;
        added->blocks++;
    }
    if (work->out->added_count)
        qsort(work->out->added, work->out->added_count, sizeof *work->out->added, by_bytes);
    return 0;
}

static int add_like(struct levers_work *work, int64_t site, struct levers_added *added,
                    struct buf *text)
{
    char *name = NULL, *shown = NULL;
    int err = site_names(work->seen.db, site, &name, &shown);
    if (shown)
        buf_print(text, "%s%s", added->likes++ ? "; " : "", shown);
    mem_free(name);
    mem_free(shown);
    return err;
}

/* The sites of living blocks of that size from before the backward, in the order of their births.
 */
static int find_like(struct levers_work *work, const struct levers_phase *backward,
                     struct levers_added *added)
{
    const struct levers_step *step = &work->seen.step;
    int64_t sites[LIKE_MOST];
    size_t count = 0, known;
    struct buf text = {0};
    int err = 0;
    for (size_t i = levers_first_from(step, step->own_begin);
         i < step->count && count < LIKE_MOST && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->seq >= backward->begin || !alike(block->asked, added->each) ||
            block->site == GROUP_NONE || block->end <= backward->begin)
            continue;
        for (known = 0; known < count && sites[known] != block->site; known++)
            ;
        if (known < count)
            continue;
        sites[count++] = block->site;
        err = add_like(work, block->site, added, &text);
    }
    if (err >= 0 && text.count)
        added->like = mem_copy(buf_string(&text), text.count);
    if (err >= 0 && (text.broken || (text.count && !added->like)))
        err = ERR_NOMEM;
    buf_clear(&text);
    return err;
}

int levers_find_added(struct levers_work *work)
{
    const struct levers_phase *backward =
        levers_phase_around(&work->seen.step.phases, LEVERS_BACKWARD, work->seen.step.peak);
    struct levers *out = work->out;
    int err = backward ? gather(work, backward) : 0;
    while (out->added_count &&
           (out->added_count > SHOWN || out->added[out->added_count - 1].bytes < out->peak / 20))
        out->added_count--; /* without a text yet */
    for (size_t i = 0; i < out->added_count && err >= 0; i++)
        err = find_like(work, backward, &out->added[i]);
    return err;
}
