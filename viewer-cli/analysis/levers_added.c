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

static bool was_added(const struct levers_block *block, const struct levers_phase *backward)
{
    return block->category && block->seq >= backward->begin;
}

static int by_bytes(const void *one, const void *other)
{
    const struct levers_added *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->each < b->each ? -1 : a->each > b->each;
}

/* By bytes asked for: blocks can be larger than that by chance. */
static int gather(struct levers_work *work, const struct levers_phase *backward,
                  struct groups *sizes)
{
    const struct levers_step *step = &work->step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!was_added(block, backward))
            continue;
        struct group *group = groups_of(sizes, block->asked);
        if (!group)
            return ERR_NOMEM;
        group->bytes += block->size;
        group->blocks++;
    }
    groups_sort(sizes);
    return 0;
}

static int add_like(struct levers_work *work, int64_t site, struct buf *text)
{
    char *name = NULL, *shown = NULL;
    int err = site_names(work->names, site, &name, &shown);
    if (shown)
        buf_print(text, "%s%s", text->count ? "; " : "", shown);
    mem_free(name);
    mem_free(shown);
    return err;
}

/* The sites of living blocks of that size from before the backward, in the order of their births.
 */
static int find_like(struct levers_work *work, const struct levers_phase *backward,
                     struct levers_added *added)
{
    const struct levers_step *step = &work->step;
    int64_t sites[LIKE_MOST];
    size_t count = 0, known;
    struct buf text = {0};
    int err = 0;
    for (size_t i = step->older; i < step->count && count < LIKE_MOST && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->seq >= backward->begin || block->asked != added->each ||
            block->site == GROUP_NONE || block->end <= backward->begin)
            continue;
        for (known = 0; known < count && sites[known] != block->site; known++)
            ;
        if (known < count)
            continue;
        sites[count++] = block->site;
        err = add_like(work, block->site, &text);
    }
    if (err >= 0 && text.count && !(added->like = mem_copy(buf_string(&text), text.count)))
        err = ERR_NOMEM;
    buf_clear(&text);
    return err;
}

int levers_find_added(struct levers_work *work)
{
    const struct levers_phase *backward =
        levers_phase_around(&work->step, "backward", work->step.peak);
    struct levers *out = work->out;
    struct groups sizes = {0};
    int err = backward ? gather(work, backward, &sizes) : 0;
    for (size_t i = 0; i < sizes.count && i < SHOWN && err >= 0; i++) {
        const struct group *group = &sizes.groups[i];
        if (group->bytes < out->peak / 20)
            break;
        if (!MEM_GROW(out->added, out->added_cap, out->added_count + 1)) {
            err = ERR_NOMEM;
            break;
        }
        struct levers_added *added = &out->added[out->added_count++];
        *added = (struct levers_added){
            .bytes = group->bytes, .blocks = group->blocks, .each = group->id};
        err = find_like(work, backward, added);
    }
    if (out->added_count)
        qsort(out->added, out->added_count, sizeof *out->added, by_bytes);
    groups_clear(&sizes);
    return err;
}
