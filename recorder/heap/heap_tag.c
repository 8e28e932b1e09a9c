/*
 * Tags, and allocations that failed.
 *
 * A tag is for a range, and says what the blocks that begin in it are for. Nearly always the range
 * is one block: then the map finds it, and no other block can begin in it. For a range that is
 * larger, or begins inside of a block, the living blocks are needed by address: the order is built
 * at the first such range, once, and kept up from then on; so a program that never tags ranges does
 * not pay for it.
 *
 * The ranges of a list are for the block that contains them, and a block may contain many: the
 * parameters in a flat buffer, the gradients in a bucket. The range that fits the block best gives
 * it its tag; of those that are only a part of it, the first of a category.
 */
#include <assert.h>

#include "heap.h"
#include "ledger.h"

static void tag_block(struct heaps *heaps, struct block *block, int32_t tag, enum tag_fit fit)
{
    assert(block->state == BLOCK_LIVING && tag > 0 && fit != TAG_FIT_NONE);
    block->tag_fits = (uint16_t)fit;
    if (block->tag == tag)
        return;
    block->tag = tag;
    if (block->serial == heaps->ledger->serial)
        heaps->ledger->batch->allocs[block->index].tag = tag;
    else if (!batch_add_late_tag(heaps->ledger->batch, block->seq, tag))
        note_owed(heaps->account, EVENT_TAG, 1);
}

bool heap_put_in_order(struct heap_device *device)
{
    if (device->ordered)
        return true;
    size_t at = 0;
    const struct map_entry *entry;
    while ((entry = map_next(&device->living, &at))) {
        if (!order_put(&device->order, entry->key, entry->value)) {
            order_clear(&device->order);
            return false;
        }
    }
    device->ordered = true;
    return true;
}

static void tag_range(struct heap_device *device, const struct event *event, int32_t tag)
{
    struct heaps *heaps = device->heaps;
    if (!heap_put_in_order(device)) {
        note_owed(heaps->account, EVENT_TAG, 1);
        return;
    }
    struct order_cursor cursor = order_seek(&device->order, event->addr);
    const struct order_entry *entry;
    while ((entry = order_next(&device->order, &cursor)) &&
           entry->address - event->addr < event->size)
        tag_block(heaps, &heaps->pool->blocks[entry->value], tag, TAG_FIT_WHOLE);
}

/* ---- lists ---- */

static bool same_category(const struct names *names, int32_t a, int32_t b)
{
    const struct names_tag *x = intern_at(&names->tags, (uint32_t)a);
    const struct names_tag *y = intern_at(&names->tags, (uint32_t)b);
    return x->category == y->category;
}

static void offer_tag(struct heaps *heaps, struct block *block, int32_t tag, enum tag_fit fit)
{
    if (fit < block->tag_fits)
        return;
    if (fit == TAG_FIT_INSIDE && fit == block->tag_fits &&
        same_category(heaps->defs->names, tag, block->tag))
        return;
    tag_block(heaps, block, tag, fit);
}

static void hold_place(struct heaps *heaps, const struct tag_place *place)
{
    struct heap_device *device = place->device;
    struct block_pool *pool = heaps->pool;
    uint64_t at = map_get(&device->living, place->address);
    if (at != MAP_NONE) {
        struct block *block = &pool->blocks[at];
        bool most = place->size > (uint64_t)block->size / 2;
        offer_tag(heaps, block, place->tag, most ? TAG_FIT_WHOLE : TAG_FIT_BEGINS);
        return;
    }
    if (!heap_put_in_order(device)) {
        note_owed(heaps->account, EVENT_TAG, 1);
        return;
    }
    const struct order_entry *entry = order_below(&device->order, place->address);
    if (!entry)
        return;
    struct block *block = &pool->blocks[entry->value];
    if (place->address - entry->address < (uint64_t)block->size)
        offer_tag(heaps, block, place->tag, TAG_FIT_INSIDE);
}

void heap_tags_hold(struct heaps *heaps, const struct event *event)
{
    const struct tag_list *list = tag_list_get(&heaps->tags, event->a);
    if (!list) {
        note(heaps->account, NOTE_UNKNOWN_NAME, NOTE_NO_ADDRESS, "list %llu of tags",
             (unsigned long long)event->a);
        return;
    }
    for (size_t i = 0; i < list->count; i++)
        if (list->places[i].device)
            hold_place(heaps, &list->places[i]);
}

static void set_place(struct heaps *heaps, const struct event *event, struct heap *heap,
                      int32_t tag)
{
    struct tag_place place = {event->addr, event->size, heap->device, tag};
    uint32_t number = (uint32_t)(event->b >> 32), at = (uint32_t)event->b;
    if (!event->addr && !event->size)
        place.device = NULL; /* nothing is there any more */
    enum tag_result result = at ? tag_list_set(&heaps->tags, number, at - 1, &place) : TAG_TOO_MANY;
    if (result == TAG_TOO_MANY)
        note(heaps->account, NOTE_TOO_MANY_TAGS, event->addr, "list %u, place %u", number, at);
    if (result == TAG_NO_MEMORY)
        note_owed(heaps->account, EVENT_TAG, 1);
}

/* ---- one tag ---- */

/* A range of no bytes means the block that begins there. */
static void tag_now(struct heaps *heaps, const struct event *event, struct heap *heap, int32_t tag)
{
    uint64_t at = map_get(&heap->device->living, event->addr);
    if (at != MAP_NONE)
        tag_block(heaps, &heaps->pool->blocks[at], tag, TAG_FIT_WHOLE);
    if (at == MAP_NONE ? event->size > 1 : event->size > (uint64_t)heaps->pool->blocks[at].size)
        tag_range(heap->device, event, tag);
}

void heap_tag(struct heaps *heaps, const struct event *event)
{
    struct heap *heap = heap_of_event(heaps, event);
    uint32_t category = (uint32_t)event->a;
    if (event->a <= CATEGORY_NONE || event->a >= CATEGORY_COUNT) {
        note(heaps->account, NOTE_UNKNOWN_NAME, event->addr, "category %llu",
             (unsigned long long)event->a);
        category = CATEGORY_OTHER;
    }
    uint32_t name = names_lookup(heaps->defs, event->name, ARENA_STRING);
    uint32_t tag = names_tag(heaps->defs->names, category, name);
    if (!heap || !tag)
        note_owed(heaps->account, EVENT_TAG, 1);
    else if (event->b)
        set_place(heaps, event, heap, (int32_t)tag);
    else
        tag_now(heaps, event, heap, (int32_t)tag);
}

void heap_oom(struct heaps *heaps, const struct event *event, int64_t ns)
{
    int64_t device = BATCH_NULL, allocated = BATCH_NULL, reserved = BATCH_NULL;
    struct heap *heap = event->heap ? heap_of_event(heaps, event) : NULL;
    if (heap) {
        device = heap->device->id;
        heap->device->ooms++;
        if (event->flags & EVENT_F_TOTALS)
            heap_take_reserved(heap, event, ns);
        allocated = heap->device->allocated;
        reserved = heap_reserved(heap->device);
    }
    if (event->flags & EVENT_F_TOTALS)
        allocated = ledger_cut(event->a);
    uint32_t site = names_lookup(heaps->defs, event->site, ARENA_SITE);
    struct row_oom row = {
        .seq = heaps->ledger->seq,
        .process = heaps->account->id,
        .device = row_opt(device),
        .thread = event->thread,
        .at_ns = ns,
        .asked = ledger_cut(event->size),
        .allocated = row_opt(allocated),
        .reserved = row_opt(reserved),
        .site = row_id(site),
    };
    if (!batch_put_oom(heaps->ledger->batch, &row))
        note_owed(heaps->account, EVENT_OOM, 1);
}
