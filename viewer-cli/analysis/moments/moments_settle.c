/* What becomes of the changes: sorted, few enough, added up at the moments. */
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "moments_parts.h"

static int by_place(const void *a, const void *b)
{
    const struct moments_change *x = a, *y = b;
    if (x->moment != y->moment)
        return x->moment < y->moment ? -1 : 1;
    return (x->class > y->class) - (x->class < y->class);
}

/* One pass of a sort by counting: stable, from one array into the other. `place` has a number more
 * than there are keys. */
static void spread(const struct moments_change *from, struct moments_change *to, size_t count,
                   size_t *place, size_t keys, bool by_moment)
{
    memset(place, 0, (keys + 1) * sizeof *place);
    for (size_t i = 0; i < count; i++)
        place[(by_moment ? from[i].moment : from[i].class) + 1]++;
    for (size_t i = 1; i <= keys; i++)
        place[i] += place[i - 1];
    for (size_t i = 0; i < count; i++)
        to[place[by_moment ? from[i].moment : from[i].class]++] = from[i];
}

/* By moment, then by class: some millions of them, of some thousand moments. */
static void sort_changes(struct moments *moments)
{
    struct moments_change *changes = moments->changes;
    size_t count = moments->change_count, most = moments->count;
    most = moments->class_count > most ? moments->class_count : most;
    struct moments_change *spare = count > most ? mem_alloc(count, sizeof *spare) : NULL;
    size_t *place = spare ? mem_alloc(most + 1, sizeof *place) : NULL;
    if (place) {
        spread(changes, spare, count, place, moments->class_count, false);
        spread(spare, changes, count, place, moments->count, true);
    } else if (count) {
        qsort(changes, count, sizeof *changes, by_place);
    }
    mem_free(spare);
    mem_free(place);
}

/* Those of one moment and class together, and none of nothing. */
static void merge(struct moments *moments)
{
    size_t count = 0;
    sort_changes(moments);
    for (size_t i = 0; i < moments->change_count; i++) {
        struct moments_change change = moments->changes[i];
        if (count && by_place(&moments->changes[count - 1], &change) == 0) {
            moments->changes[count - 1].bytes += change.bytes;
            moments->changes[count - 1].blocks += change.blocks;
        } else {
            moments->changes[count++] = change;
        }
        const struct moments_change *last = &moments->changes[count - 1];
        if (!last->bytes && !last->blocks)
            count--;
    }
    moments->change_count = count;
}

/* Every second moment of those that need not stay goes; what changed there changes at the next one.
 * False: there is none to give up. */
static bool coarsen(struct moments *moments)
{
    size_t count = 0, at = 0;
    bool odd = false;
    for (size_t i = 0; i < moments->count; i++) {
        const struct moment moment = moments->moments[i];
        odd = moment.kept ? odd : !odd;
        for (; at < moments->change_count && moments->changes[at].moment == i; at++)
            moments->changes[at].moment = (uint32_t)count;
        if (moment.kept || odd || i + 1 == moments->count)
            moments->moments[count++] = moment;
    }
    bool fewer = count < moments->count;
    moments->count = count;
    merge(moments);
    return fewer;
}

/* Which seq stands first for a moment that had no time of its own: that of the one before. */
static void add_up(struct moments *moments)
{
    struct moment sum = {0};
    size_t at = 0;
    for (size_t i = 0; i < moments->count; i++) {
        struct moment *moment = &moments->moments[i];
        for (; at < moments->change_count && moments->changes[at].moment == i; at++) {
            sum.bytes += moments->changes[at].bytes;
            sum.blocks += moments->changes[at].blocks;
        }
        sum.ns = moment->ns > sum.ns ? moment->ns : sum.ns;
        moment->ns = sum.ns;
        moment->bytes = sum.bytes;
        moment->blocks = sum.blocks;
    }
}

void moments_settle(struct moments *moments)
{
    merge(moments);
    while (moments->change_count > moments->limits.changes && coarsen(moments))
        ;
    add_up(moments);
}

/* ---- valid ---- */

static bool blocks_are_valid(const struct moments *moments)
{
    for (size_t i = 0; i < moments->block_count; i++) {
        const struct moments_block *block = &moments->blocks[i];
        if (block->class >= moments->class_count || (i && block[-1].seq >= block->seq))
            return false;
        if ((block->free_seq == MOMENTS_NONE) != (block->free_ns == MOMENTS_NONE))
            return false;
    }
    return true;
}

static bool moments_grow(const struct moments *moments)
{
    for (size_t i = 1; i < moments->count; i++)
        if (moments->moments[i - 1].seq >= moments->moments[i].seq ||
            moments->moments[i - 1].ns > moments->moments[i].ns)
            return false;
    return true;
}

static bool changes_add_up(const struct moments *moments)
{
    int64_t *held = mem_alloc(moments->class_count + 1, sizeof *held), bytes = 0, blocks = 0;
    size_t at = 0;
    bool fine = held != NULL;
    for (size_t i = 0; fine && i < moments->count; i++) {
        for (; at < moments->change_count && moments->changes[at].moment == i; at++) {
            const struct moments_change *change = &moments->changes[at];
            if (change->class >= moments->class_count ||
                (at && by_place(change - 1, change) >= 0)) {
                fine = false;
                break;
            }
            held[change->class] += change->bytes;
            bytes += change->bytes;
            blocks += change->blocks;
            fine = fine && held[change->class] >= 0 && (change->bytes || change->blocks);
        }
        fine = fine && bytes == moments->moments[i].bytes && blocks == moments->moments[i].blocks;
    }
    mem_free(held);
    return fine && at == moments->change_count;
}

bool moments_is_valid(const struct moments *moments)
{
    if (!moments_grow(moments) || !blocks_are_valid(moments))
        return false;
    return moments->exact ? moments->change_count == 0 : changes_add_up(moments);
}
