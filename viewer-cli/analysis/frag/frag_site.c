/*
 * Who pins: single blocks by what the death of each gives, and call sites by what they pin
 * together. A site's holes count once however many of its blocks touch them; the segments that hold
 * nothing but its blocks count as a whole, and their holes are not among the others.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "frag_block.h"
#include "mem.h"
#include "query.h"
#include "site_apart.h"

/* ---- sites ---- */

static struct frag_site *site_of(struct frag *frag, int64_t site)
{
    uint64_t place = map_get(&frag->index, (uint64_t)site);
    if (place != MAP_NONE)
        return &frag->sites[place];
    if (!MEM_GROW(frag->sites, frag->site_cap, frag->site_count + 1) ||
        !map_put(&frag->index, (uint64_t)site, frag->site_count, NULL))
        return NULL;
    struct frag_site *made = &frag->sites[frag->site_count++];
    *made = (struct frag_site){.site = site};
    return made;
}

static bool is_of_one_site(const struct frag *frag, const struct frag_segment *segment)
{
    const struct frag_block *blocks = &frag->blocks[segment->first];
    for (size_t i = 0; i < segment->count; i++)
        if (blocks[i].waiting || blocks[i].site != blocks[0].site)
            return false;
    return true;
}

static bool add_block(struct frag *frag, const struct frag_block *block, bool first_at_hole)
{
    struct frag_site *site = site_of(frag, block->site);
    if (!site)
        return false;
    site->blocks++;
    site->bytes += block->size;
    if (block->size > site->biggest) {
        site->biggest = block->size;
        site->purpose = block->purpose;
    }
    site->beside += block->after + (first_at_hole ? block->before : 0);
    return true;
}

static bool add_segment(struct frag *frag, const struct frag_segment *segment)
{
    if (!segment->count || !segment->free)
        return true; /* full or empty: nothing is pinned in it */
    const struct frag_block *blocks = &frag->blocks[segment->first];
    for (size_t i = 0; i < segment->count; i++) {
        const struct frag_block *below = i ? &blocks[i - 1] : NULL;
        bool counted = below && !below->waiting && below->site == blocks[i].site;
        if (blocks[i].gives > 0 && !add_block(frag, &blocks[i], !counted))
            return false;
    }
    if (is_of_one_site(frag, segment)) {
        struct frag_site *site = site_of(frag, blocks[0].site);
        site->returns += segment->area.size;
        site->beside -= segment->free;
    }
    return true;
}

static int by_weight(const void *one, const void *other)
{
    const struct frag_site *a = one, *b = other;
    int64_t first = a->returns + a->beside, second = b->returns + b->beside;
    if (first != second)
        return first < second ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->site < b->site ? -1 : a->site > b->site;
}

int frag_find_sites(struct frag *frag)
{
    for (size_t i = 0; i < frag->segment_count; i++)
        if (!add_segment(frag, &frag->segments[i]))
            return ERR_NOMEM;
    map_clear(&frag->index);
    if (frag->site_count)
        qsort(frag->sites, frag->site_count, sizeof *frag->sites, by_weight);
    return 0;
}

/* ---- single blocks ---- */

static int by_gift(const void *one, const void *other)
{
    const struct frag_block *a = ((const struct frag_pin *)one)->block;
    const struct frag_block *b = ((const struct frag_pin *)other)->block;
    if (a->gives != b->gives)
        return a->gives < b->gives ? 1 : -1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

int frag_find_pins(struct frag *frag)
{
    frag->pins = mem_alloc(frag->block_count + 1, sizeof *frag->pins);
    if (!frag->pins)
        return ERR_NOMEM;
    for (size_t i = 0; i < frag->block_count; i++)
        if (frag->blocks[i].gives > 0)
            frag->pins[frag->pin_count++] =
                (struct frag_pin){.block = &frag->blocks[i], .step = FRAG_NONE};
    if (frag->pin_count)
        qsort(frag->pins, frag->pin_count, sizeof *frag->pins, by_gift);
    return 0;
}

/* ---- names ---- */

static int name_pin(struct db *db, struct frag_pin *pin)
{
    int64_t phase = pin->block->phase;
    int err = site_names(db, pin->block->site, &pin->name, &pin->shown);
    if (err < 0 || phase == FRAG_NONE)
        return err;
    err = query_read(db, "SELECT step, kind = 'other' AS \"between\" FROM phase WHERE id = ?",
                     Q_IN(phase), Q_OUT(Q_OPT(pin->step), Q_INT(pin->between)));
    return err < 0 ? err : phase_path(db, phase, &pin->phase);
}

int frag_name(struct db *db, struct frag *frag, size_t named)
{
    int err = 0;
    for (size_t i = 0; i < frag->site_count && i < named && err == 0; i++)
        err = site_names(db, frag->sites[i].site, &frag->sites[i].name, &frag->sites[i].shown);
    for (size_t i = 0; i < frag->pin_count && i < named && err == 0; i++)
        err = name_pin(db, &frag->pins[i]);
    return err;
}

int frag_tell_apart(struct db *db, struct frag *frag, size_t most)
{
    size_t sites = frag->site_count < most ? frag->site_count : most;
    size_t pins = frag->pin_count < most ? frag->pin_count : most;
    struct site_row *rows = mem_alloc(sites + pins + 1, sizeof *rows);
    for (size_t i = 0; i < sites && rows; i++)
        rows[i] = (struct site_row){frag->sites[i].site, (int)frag->sites[i].purpose,
                                    &frag->sites[i].shown};
    for (size_t i = 0; i < pins && rows; i++)
        rows[sites + i] = (struct site_row){frag->pins[i].block->site, 0, &frag->pins[i].shown};
    int err = rows ? sites_tell_apart(db, rows, sites) : ERR_NOMEM;
    if (err == 0)
        err = sites_tell_apart(db, rows + sites, pins);
    mem_free(rows);
    return err;
}

/* ---- the check ---- */

static bool segment_is_valid(const struct frag *frag, const struct frag_segment *segment)
{
    int64_t live = 0, waiting = 0, size = segment->area.size;
    uint64_t at = segment->area.address;
    for (size_t i = segment->first; i < segment->first + segment->count; i++) {
        const struct frag_block *block = &frag->blocks[i];
        if (block->address < at || block->size <= 0 || block->before < 0 || block->after < 0 ||
            block->segment != (size_t)(segment - frag->segments))
            return false;
        at = block->address + (uint64_t)block->size;
        *(block->waiting ? &waiting : &live) += block->size;
    }
    return at <= area_end(&segment->area) && live == segment->live && waiting == segment->waiting &&
           live + waiting + segment->free == size && segment->largest <= segment->free &&
           (segment->holes > 0) == (segment->free > 0) &&
           segment->count == (size_t)(segment->blocks + segment->waits);
}

static bool sums_are_valid(const struct frag *frag)
{
    int64_t reserved = 0, free_bytes = 0, sizes = 0, heaps = 0, causes = 0;
    for (size_t i = 0; i < frag->segment_count; i++) {
        reserved += frag->segments[i].area.size;
        free_bytes += frag->segments[i].free;
    }
    for (size_t i = 0; i < frag->size_count; i++)
        sizes += frag->sizes[i].reserved;
    for (size_t i = 0; i < frag->heap_count; i++)
        heaps += frag->heaps[i].reserved;
    for (int cause = 0; cause < FRAG_CAUSES; cause++)
        causes += frag->causes[cause];
    return sizes == reserved && heaps == reserved && causes == frag->reserved &&
           free_bytes == frag->free_bytes && frag->largest <= free_bytes &&
           frag->causes[FRAG_REST] == frag->reserved - reserved;
}

bool frag_is_valid(const struct frag *frag)
{
    if (!frag->known)
        return !frag->segment_count && !frag->block_count;
    for (size_t i = 0; i < frag->segment_count; i++)
        if (!segment_is_valid(frag, &frag->segments[i]) ||
            (i && frag->segments[i].area.address < frag->segments[i - 1].area.address))
            return false;
    for (size_t i = 0; i < frag->site_count; i++)
        if (frag->sites[i].beside < 0 || frag->sites[i].returns < 0 ||
            (i && by_weight(&frag->sites[i - 1], &frag->sites[i]) > 0))
            return false;
    for (size_t i = 1; i < frag->pin_count; i++)
        if (by_gift(&frag->pins[i - 1], &frag->pins[i]) > 0)
            return false;
    return sums_are_valid(frag);
}
