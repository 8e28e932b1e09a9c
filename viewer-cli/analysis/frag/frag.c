/*
 * Areas and blocks both come by address, so one walk over both lays each block into its area, cuts
 * what does not fit, and finds the holes between. Totals, sizes and heaps are sums over what the
 * walk left; nothing here looks at the database again.
 */
#include "frag.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "frag_block.h"
#include "mem.h"
#include "query.h"

const char *frag_cause_text(enum frag_cause cause)
{
    static const char *const texts[FRAG_CAUSES] = {
        "requested, live",
        "live, request not known",
        "rounding",
        "awaiting a stream",
        "split remainders",
        "cached whole segments",
        "free in mapped pages",
        "unattributed",
    };
    return texts[cause];
}

double frag_split_share(const struct frag *frag)
{
    return frag->reserved > 0 ? (double)frag->causes[FRAG_SPLIT] / (double)frag->reserved : 0;
}

double frag_scattered(const struct frag *frag)
{
    return frag->free_bytes > 0 ? 1 - (double)frag->largest / (double)frag->free_bytes : 0;
}

/* ---- the walk ---- */

struct walk {
    struct frag *frag;
    struct frag_segment *at;
    uint64_t end;            /* of what was laid so far */
    struct frag_block *last; /* the block that ends there, NULL = the segment's begin */
    size_t kept;             /* blocks so far */
};

static void add_hole(struct walk *walk, uint64_t until, struct frag_block *next)
{
    int64_t size = (int64_t)(until - walk->end);
    if (size <= 0)
        return;
    walk->at->holes++;
    walk->at->free += size;
    if (size > walk->at->largest)
        walk->at->largest = size;
    if (walk->last)
        walk->last->after = size;
    if (next)
        next->before = size;
}

static void begin_segment(struct walk *walk, size_t which)
{
    walk->at = &walk->frag->segments[which];
    walk->end = walk->at->area.address;
    walk->last = NULL;
    walk->at->first = walk->kept;
}

static void end_segment(struct walk *walk)
{
    struct frag *frag = walk->frag;
    add_hole(walk, area_end(&walk->at->area), NULL);
    walk->at->count = walk->kept - walk->at->first;
    for (size_t i = walk->at->first; i < walk->kept; i++) {
        struct frag_block *block = &frag->blocks[i];
        block->sole = walk->at->count == 1;
        int64_t holes = block->before + block->after;
        if (!block->waiting && holes > 0)
            block->gives = holes + block->size;
    }
}

static void stray(struct frag *frag, const struct frag_block *block, int64_t bytes)
{
    if (block->waiting || bytes <= 0)
        return;
    frag->strays++;
    frag->stray_bytes += bytes;
}

/* Lays a block that begins in the segment; what does not fit is a stray. */
static void lay(struct walk *walk, const struct frag_block *block)
{
    struct frag *frag = walk->frag;
    struct frag_block laid = *block;
    uint64_t begin = block->address > walk->end ? block->address : walk->end;
    uint64_t end = block->address + (uint64_t)block->size, limit = area_end(&walk->at->area);
    end = end < limit ? end : limit;
    laid.size = end > begin ? (int64_t)(end - begin) : 0;
    stray(frag, block, block->size - laid.size);
    if (laid.size == 0)
        return;
    laid.address = begin;
    laid.segment = (size_t)(walk->at - frag->segments);
    if (laid.requested != FRAG_NONE && laid.requested > laid.size)
        laid.requested = laid.size;
    *(laid.waiting ? &walk->at->waiting : &walk->at->live) += laid.size;
    *(laid.waiting ? &walk->at->waits : &walk->at->blocks) += 1;
    frag->blocks[walk->kept] = laid; /* kept never runs ahead of the block that is read */
    add_hole(walk, begin, &frag->blocks[walk->kept]);
    walk->last = &frag->blocks[walk->kept++];
    walk->end = end;
}

static void lay_all(struct frag *frag)
{
    struct walk walk = {.frag = frag};
    size_t at = 0, count = frag->segment_count;
    if (count)
        begin_segment(&walk, 0);
    for (size_t i = 0; i < frag->block_count; i++) {
        struct frag_block block = frag->blocks[i];
        while (at + 1 < count && frag->segments[at + 1].area.address <= block.address) {
            end_segment(&walk);
            begin_segment(&walk, ++at);
        }
        if (!count || block.address < walk.at->area.address ||
            block.address >= area_end(&walk.at->area))
            stray(frag, &block, block.size);
        else
            lay(&walk, &block);
    }
    for (; at < count; at++) {
        end_segment(&walk);
        if (at + 1 < count)
            begin_segment(&walk, at + 1);
    }
    frag->block_count = walk.kept;
}

/* ---- sums ---- */

static void add_causes(struct frag *frag)
{
    int64_t *causes = frag->causes, sum = 0;
    for (size_t i = 0; i < frag->segment_count; i++) {
        const struct frag_segment *segment = &frag->segments[i];
        enum frag_cause cause = segment->area.mapped ? FRAG_PAGES
                                : segment->count     ? FRAG_SPLIT
                                                     : FRAG_CACHED;
        causes[cause] += segment->free;
        causes[FRAG_WAITING] += segment->waiting;
        frag->free_bytes += segment->free;
        if (segment->largest > frag->largest)
            frag->largest = segment->largest;
        sum += segment->area.size;
    }
    for (size_t i = 0; i < frag->block_count; i++) {
        const struct frag_block *block = &frag->blocks[i];
        if (block->waiting)
            continue;
        if (block->requested == FRAG_NONE) {
            causes[FRAG_LIVE] += block->size;
            continue;
        }
        causes[FRAG_REQUESTED] += block->requested;
        causes[FRAG_ROUNDING] += block->size - block->requested;
    }
    if (frag->reserved == FRAG_NONE)
        frag->reserved = sum;
    causes[FRAG_REST] = frag->reserved - sum;
}

static bool add_size(struct frag *frag, const struct frag_segment *segment)
{
    int64_t key = segment->area.mapped ? FRAG_NONE : segment->area.size;
    size_t i = 0;
    while (i < frag->size_count && frag->sizes[i].size != key)
        i++;
    if (i == frag->size_count) {
        if (!MEM_GROW(frag->sizes, frag->size_cap, frag->size_count + 1))
            return false;
        frag->sizes[frag->size_count++] = (struct frag_size){.size = key};
    }
    struct frag_size *size = &frag->sizes[i];
    size->segments++;
    size->empty += segment->count == 0;
    size->reserved += segment->area.size;
    size->live += segment->live;
    size->waiting += segment->waiting;
    size->free += segment->free;
    size->blocks += segment->blocks;
    size->holes += segment->holes;
    size->largest = segment->largest > size->largest ? segment->largest : size->largest;
    size->sole += segment->blocks == 1 && segment->waits == 0;
    return true;
}

static bool add_heap(struct frag *frag, const struct frag_segment *segment)
{
    size_t i = 0;
    while (i < frag->heap_count && frag->heaps[i].heap != segment->area.heap)
        i++;
    if (i == frag->heap_count) {
        if (!MEM_GROW(frag->heaps, frag->heap_cap, frag->heap_count + 1))
            return false;
        frag->heaps[frag->heap_count++] = (struct frag_heap){.heap = segment->area.heap};
    }
    struct frag_heap *heap = &frag->heaps[i];
    heap->reserved += segment->area.size;
    heap->free += segment->free;
    heap->largest = segment->largest > heap->largest ? segment->largest : heap->largest;
    return true;
}

static int by_free(const void *one, const void *other)
{
    const struct frag_size *a = one, *b = other;
    if (a->free != b->free)
        return a->free < b->free ? 1 : -1;
    return a->size < b->size ? 1 : a->size > b->size ? -1 : 0;
}

static int by_hole(const void *one, const void *other)
{
    const struct frag_heap *a = one, *b = other;
    if (a->largest != b->largest)
        return a->largest < b->largest ? 1 : -1;
    return a->heap < b->heap ? -1 : a->heap > b->heap;
}

static int read_heaps(struct db *db, struct frag *frag)
{
    int err = 0;
    for (size_t i = 0; i < frag->heap_count && err == 0; i++) {
        struct frag_heap *heap = &frag->heaps[i];
        err = query_read(db, "SELECT stream, pool FROM heap WHERE id = ?", Q_IN(heap->heap),
                         Q_OUT(Q_ANY(heap->stream), Q_ANY(heap->pool)));
    }
    return err;
}

static int add_up(struct db *db, struct frag *frag)
{
    add_causes(frag);
    for (size_t i = 0; i < frag->segment_count; i++)
        if (!add_size(frag, &frag->segments[i]) || !add_heap(frag, &frag->segments[i]))
            return ERR_NOMEM;
    if (frag->size_count)
        qsort(frag->sizes, frag->size_count, sizeof *frag->sizes, by_free);
    if (frag->heap_count)
        qsort(frag->heaps, frag->heap_count, sizeof *frag->heaps, by_hole);
    return read_heaps(db, frag);
}

/* ---- all of it ---- */

static int make_segments(struct frag *frag, const struct areas *areas)
{
    frag->segments = mem_alloc(areas->count + 1, sizeof *frag->segments);
    if (!frag->segments)
        return ERR_NOMEM;
    for (size_t i = 0; i < areas->count; i++)
        frag->segments[i] = (struct frag_segment){.area = areas->areas[i]};
    frag->segment_count = areas->count;
    return 0;
}

int frag_read(struct db *db, int64_t process, int64_t device, const struct instant *instant,
              size_t named, struct frag *out)
{
    struct areas areas;
    *out = (struct frag){.seq = instant->seq, .reserved = instant->reserved};
    int err = areas_read(db, process, device, instant->seq, &areas);
    out->known = areas.known;
    if (err == 0)
        err = make_segments(out, &areas);
    areas_clear(&areas);
    if (err < 0 || !out->known)
        return err;
    err = frag_read_step(db, process, instant->seq, &out->step);
    if (err == 0 && instant->step != INSTANT_NONE)
        out->step = instant->step;
    if (err == 0)
        err = frag_read_blocks(db, process, device, out);
    if (err < 0)
        return err;
    lay_all(out);
    err = add_up(db, out);
    if (err == 0)
        err = frag_find_sites(out);
    if (err == 0)
        err = frag_find_pins(out);
    return err < 0 ? err : frag_name(db, out, named);
}

void frag_clear(struct frag *frag)
{
    for (size_t i = 0; i < frag->site_count; i++) {
        mem_free(frag->sites[i].name);
        mem_free(frag->sites[i].shown);
    }
    for (size_t i = 0; i < frag->pin_count; i++) {
        mem_free(frag->pins[i].name);
        mem_free(frag->pins[i].shown);
        mem_free(frag->pins[i].phase);
    }
    mem_free(frag->segments);
    mem_free(frag->blocks);
    mem_free(frag->sizes);
    mem_free(frag->heaps);
    mem_free(frag->sites);
    mem_free(frag->pins);
    map_clear(&frag->index);
    *frag = (struct frag){0};
}

/* ---- the order in which people look ---- */

struct place {
    size_t segment;
    int64_t first, second;
};

static int by_weight(const void *one, const void *other)
{
    const struct place *a = one, *b = other;
    if (a->first != b->first)
        return a->first < b->first ? 1 : -1;
    if (a->second != b->second)
        return a->second < b->second ? 1 : -1;
    return a->segment < b->segment ? -1 : a->segment > b->segment;
}

size_t *frag_order(const struct frag *frag, bool by_size)
{
    struct place *places = mem_alloc(frag->segment_count + 1, sizeof *places);
    size_t *order = mem_alloc(frag->segment_count + 1, sizeof *order);
    for (size_t i = 0; i < frag->segment_count && places; i++) {
        const struct frag_segment *segment = &frag->segments[i];
        int64_t waste = segment->count ? segment->free : 0, size = segment->area.size;
        places[i] = (struct place){i, by_size ? size : waste, by_size ? waste : size};
    }
    if (places && frag->segment_count)
        qsort(places, frag->segment_count, sizeof *places, by_weight);
    for (size_t i = 0; i < frag->segment_count && places && order; i++)
        order[i] = places[i].segment;
    if (!places) {
        mem_free(order);
        order = NULL;
    }
    mem_free(places);
    return order;
}
