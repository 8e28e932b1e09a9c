#include "held.h"

#include <stdlib.h>

#include "ensure.h"
#include "error.h"
#include "living.h"
#include "mem.h"

struct reading {
    struct held *held;
    bool by_site;
    size_t merged; /* groups before this one are sorted, and no two are alike */
};

static int compare(const void *left, const void *right)
{
    const struct held_group *a = left, *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    return a->purpose == b->purpose ? 0 : a->purpose < b->purpose ? -1 : 1;
}

/* Groups that are alike become one. */
static void merge(struct held *held)
{
    size_t kept = 0;
    if (held->count)
        qsort(held->groups, held->count, sizeof *held->groups, compare);
    for (size_t i = 0; i < held->count; i++) {
        struct held_group *last = kept ? &held->groups[kept - 1] : NULL;
        if (last && compare(last, &held->groups[i]) == 0) {
            last->bytes += held->groups[i].bytes;
            last->blocks += held->groups[i].blocks;
        } else {
            held->groups[kept++] = held->groups[i];
        }
    }
    held->count = kept;
}

static bool see_block(void *self, const struct living_block *block)
{
    struct reading *reading = self;
    struct held *held = reading->held;
    if (held->count == held->cap && held->count >= 2 * reading->merged) {
        merge(held); /* before it grows: blocks are many, groups are few */
        reading->merged = held->count + 512;
    }
    if (!MEM_GROW(held->groups, held->cap, held->count + 1))
        return false;
    held->groups[held->count++] =
        (struct held_group){.site = block->site,
                            .phase = reading->by_site ? LIVING_NONE : block->phase,
                            .purpose = reading->by_site ? PURPOSE_OTHER : block->purpose,
                            .bytes = block->size,
                            .blocks = 1};
    held->bytes += block->size;
    held->blocks++;
    return true;
}

int held_read(struct db *db, int64_t process, int64_t device, int64_t seq, bool by_site,
              struct held *out)
{
    struct reading reading = {.held = out, .by_site = by_site};
    *out = (struct held){0};
    int err = living_read(db, process, device, seq, see_block, &reading);
    merge(out);
    ENSURE_WHOLE(err < 0 || held_is_valid(out));
    return err;
}

void held_clear(struct held *held)
{
    mem_free(held->groups);
    *held = (struct held){0};
}

bool held_is_valid(const struct held *held)
{
    int64_t bytes = 0, blocks = 0;
    for (size_t i = 0; i < held->count; i++) {
        if (i && compare(&held->groups[i - 1], &held->groups[i]) >= 0)
            return false;
        bytes += held->groups[i].bytes;
        blocks += held->groups[i].blocks;
    }
    return bytes == held->bytes && blocks == held->blocks;
}
