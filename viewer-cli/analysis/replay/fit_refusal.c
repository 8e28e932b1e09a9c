/*
 * The first request that would be refused. The allocator is looked at as it was then: the largest
 * holes in segments of the request's kind that hold something, and the living blocks that keep
 * those segments: all of a segment's, or the two beside the hole in an expandable one, whose other
 * pages can go. Addresses are translated back into blocks of the record, and those are grouped by
 * who asked for them.
 */
#include "fit.h"

#include <stdlib.h>

#include "error.h"
#include "map.h"
#include "mem.h"
#include "query.h"

enum { HOLES = 8 };

struct hole {
    uint64_t segment, size;    /* of the whole segment */
    uint64_t address, largest; /* the hole */
    uint64_t free_bytes;       /* of the segment; expandable: the hole's */
    bool expandable;
};

struct pinned { /* a block beside a hole */
    uint64_t address, size;
    uint64_t free_bytes;
    size_t hole;
    int64_t number; /* in the record, -1 = none */
    size_t same;    /* the same block before, beside another hole; its own index if there is none */
};

struct look {
    uint64_t rounded;         /* what was asked for; 0 = nothing yet */
    struct hole holes[HOLES]; /* largest first */
    size_t hole_count;
    uint64_t free_bytes, largest;
    struct pinned *pinned;
    size_t pinned_count, pinned_cap;
    bool out_of_memory;
};

/* ---- the allocator, as it was ---- */

static void put_hole(struct look *look, const struct hole *hole)
{
    size_t at = look->hole_count;
    if (at == HOLES && look->holes[HOLES - 1].largest >= hole->largest)
        return;
    at -= at == HOLES;
    for (; at && look->holes[at - 1].largest < hole->largest; at--)
        look->holes[at] = look->holes[at - 1];
    look->holes[at] = *hole;
    look->hole_count += look->hole_count < HOLES;
}

static bool holds_something(const struct alloc_segment_view *segment)
{
    for (size_t i = 0; i < segment->block_count; i++)
        if (segment->blocks[i].state == ALLOC_LIVING || segment->blocks[i].state == ALLOC_AWAITING)
            return true;
    return false;
}

static bool see_holes(void *self, const struct alloc_segment_view *segment)
{
    struct look *look = self;
    struct hole whole = {.segment = segment->address, .size = segment->size};
    bool of_use = !look->rounded || segment->small == (look->rounded <= ALLOC_SMALL_SIZE);
    if (!of_use || !holds_something(segment))
        return true;
    for (size_t i = 0; i < segment->block_count; i++) {
        const struct alloc_block_view *block = &segment->blocks[i];
        if (block->state != ALLOC_FREE)
            continue;
        whole.free_bytes += block->size;
        if (block->size > whole.largest) {
            whole.largest = block->size;
            whole.address = block->address;
        }
        struct hole one = {.segment = segment->address,
                           .size = segment->size,
                           .address = block->address,
                           .largest = block->size,
                           .free_bytes = block->size,
                           .expandable = true};
        if (segment->expandable)
            put_hole(look, &one);
    }
    if (whole.largest && !segment->expandable)
        put_hole(look, &whole);
    look->free_bytes += whole.free_bytes;
    look->largest = whole.largest > look->largest ? whole.largest : look->largest;
    return true;
}

static bool put_pinned(struct look *look, const struct alloc_block_view *block, size_t hole)
{
    if (!MEM_GROW(look->pinned, look->pinned_cap, look->pinned_count + 1)) {
        look->out_of_memory = true;
        return false;
    }
    look->pinned[look->pinned_count++] = (struct pinned){.address = block->address,
                                                         .size = block->size,
                                                         .free_bytes = look->holes[hole].free_bytes,
                                                         .hole = hole,
                                                         .number = -1};
    return true;
}

static bool is_beside(const struct alloc_block_view *block, const struct hole *hole)
{
    return block->address + block->size == hole->address ||
           block->address == hole->address + hole->largest;
}

static bool see_pinned(void *self, const struct alloc_segment_view *segment)
{
    struct look *look = self;
    for (size_t h = 0; h < look->hole_count; h++) {
        const struct hole *hole = &look->holes[h];
        if (hole->segment != segment->address)
            continue;
        for (size_t i = 0; i < segment->block_count; i++) {
            const struct alloc_block_view *block = &segment->blocks[i];
            if (block->state != ALLOC_LIVING && block->state != ALLOC_AWAITING)
                continue;
            if (hole->expandable && !is_beside(block, hole))
                continue;
            if (!put_pinned(look, block, h))
                return false;
        }
    }
    return true;
}

/* Blocks of the record that are at these addresses now. */
static int find_numbers(struct look *look, const struct replay_trace *trace,
                        const uint64_t *addresses)
{
    struct map map = {0};
    bool room = true;
    for (size_t i = 0; i < look->pinned_count && room; i++) {
        uint64_t same = map_get(&map, look->pinned[i].address);
        look->pinned[i].same = same == MAP_NONE ? i : (size_t)same;
        room = same != MAP_NONE || map_put(&map, look->pinned[i].address, i, NULL);
    }
    for (size_t block = 0; block < trace->block_count && room; block++) {
        uint64_t at = addresses[block] ? map_get(&map, addresses[block]) : MAP_NONE;
        if (at != MAP_NONE)
            look->pinned[at].number = (int64_t)block;
    }
    map_clear(&map);
    return room ? 0 : ERR_NOMEM;
}

static int look_at(void *self, const struct replay_trace *trace, struct alloc *alloc,
                   const uint64_t *addresses, const struct alloc_refusal *why)
{
    struct look *look = self;
    look->rounded = why->rounded;
    int err = alloc_walk(alloc, see_holes, look);
    if (err >= 0)
        err = alloc_walk(alloc, see_pinned, look);
    if (look->out_of_memory)
        err = ERR_NOMEM;
    return err < 0 ? err : find_numbers(look, trace, addresses);
}

/* ---- names ---- */

static const char born_sql[] = "SELECT v.step, v.phase, v.site_id, v.phase_id, v.alloc_ns,"
                               "  (SELECT text FROM site_short WHERE site = v.site_id) AS site"
                               "  FROM allocations v WHERE v.allocation = ?1";

struct born { /* texts are the reader's to free */
    int64_t step, site_id, phase_id, alloc_ns;
    char *phase, *site;
};

static int read_born(struct db *db, int64_t allocation, struct born *out)
{
    *out = (struct born){0};
    return query_first(db, born_sql, Q_IN(allocation),
                       Q_OUT(Q_OPT(out->step), Q_COPY(out->phase), Q_OPT(out->site_id),
                             Q_OPT(out->phase_id), Q_INT(out->alloc_ns), Q_COPY(out->site)));
}

int fit_place_read(struct db *db, const struct replay_trace *trace, uint32_t block,
                   struct fit_place *out)
{
    struct born born;
    *out = (struct fit_place){
        .allocation = trace->blocks[block].seq, .at_ns = FIT_NONE, .step = FIT_NONE};
    int err = read_born(db, out->allocation, &born);
    if (err == DB_ROW) {
        out->step = born.step;
        out->at_ns = born.alloc_ns;
        out->phase = born.phase;
        out->site = born.site;
    }
    return err < 0 ? err : 0;
}

void fit_place_clear(struct fit_place *place)
{
    mem_free(place->phase);
    mem_free(place->site);
    *place = (struct fit_place){0};
}

static int name_refusal(struct db *db, const struct replay_trace *trace, uint32_t block,
                        struct fit_refusal *out)
{
    struct fit_place place;
    int err = fit_place_read(db, trace, block, &place);
    out->allocation = place.allocation;
    out->step = place.step;
    out->at_ns = place.at_ns;
    out->phase = place.phase;
    out->site = place.site;
    return err;
}

/* The group of the row; without a site, the phase says who it was. */
/* Takes the texts of `born` for a new one. */
static struct fit_pin *find_pin(struct fit_refusal *out, struct born *born)
{
    for (size_t i = 0; i < out->pin_count; i++) {
        struct fit_pin *pin = &out->pins[i];
        if (pin->site_id == born->site_id &&
            (pin->site_id != FIT_NONE || pin->phase_id == born->phase_id))
            return pin;
    }
    if (!MEM_GROW(out->pins, out->pin_cap, out->pin_count + 1))
        return NULL;
    struct fit_pin *pin = &out->pins[out->pin_count++];
    *pin = (struct fit_pin){.site_id = born->site_id,
                            .phase_id = born->phase_id,
                            .step = born->step,
                            .phase = born->phase,
                            .site = born->site};
    born->phase = born->site = NULL;
    return pin;
}

static int by_free_bytes(const void *a, const void *b)
{
    const struct fit_pin *x = a, *y = b;
    if (x->free_bytes != y->free_bytes)
        return x->free_bytes < y->free_bytes ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->site_id < y->site_id ? -1 : x->site_id > y->site_id;
}

/* The free bytes beside a hole count once for each group that keeps them. */
static void count_pinned(struct fit_pin *pin, const struct pinned *pinned, bool again)
{
    if (!again) {
        pin->blocks++;
        pin->bytes += (int64_t)pinned->size;
    }
    if (pin->holes >> pinned->hole & 1)
        return;
    pin->holes |= 1u << pinned->hole;
    pin->free_bytes += (int64_t)pinned->free_bytes;
}

static int name_pins(struct db *db, const struct look *look, const struct replay_trace *trace,
                     struct fit_refusal *out)
{
    int err = 0;
    for (size_t i = 0; i < look->pinned_count && err >= 0; i++) {
        struct born born;
        const struct pinned *pinned = &look->pinned[i];
        int64_t number = look->pinned[pinned->same].number;
        if (number < 0)
            continue;
        err = read_born(db, trace->blocks[number].seq, &born);
        struct fit_pin *pin = err == DB_ROW ? find_pin(out, &born) : NULL;
        if (pin)
            count_pinned(pin, pinned, pinned->same != i);
        else if (err == DB_ROW)
            err = ERR_NOMEM;
        mem_free(born.phase);
        mem_free(born.site);
    }
    if (out->pin_count)
        qsort(out->pins, out->pin_count, sizeof *out->pins, by_free_bytes);
    return err < 0 ? err : 0;
}

static int explain(struct db *db, const struct replay_trace *trace,
                   const struct replay_outcome *outcome, const struct look *look,
                   struct fit_refusal *out)
{
    out->why = outcome->refusal;
    out->before = outcome->refused == UINT32_MAX;
    out->free_bytes = (int64_t)look->free_bytes;
    out->largest_hole = (int64_t)look->largest;
    out->allocation = out->step = out->at_ns = FIT_NONE;
    int err = out->before ? 0 : name_refusal(db, trace, outcome->refused, out);
    return err < 0 ? err : name_pins(db, look, trace, out);
}

/* ---- trying ---- */

int fit_try(struct fit *fit, struct db *db, const struct alloc_config *config, uint64_t memory,
            struct fit_verdict *out)
{
    struct look look = {0};
    struct replay_outcome outcome;
    const struct replay_witness witness = {&look, look_at};
    const struct replay_setup setup = fit_setup(fit, config, memory);
    *out = (struct fit_verdict){0};
    fit->replays++;
    int err = replay_run(&fit->trace, &setup, &fit->scratch, &witness, &outcome);
    if (err >= 0) {
        out->fits = outcome.survived;
        out->peak_allocated = outcome.peak_allocated;
        out->peak_reserved = outcome.peak_reserved;
        out->retries = outcome.retries;
        if (!out->fits)
            err = explain(db, &fit->trace, &outcome, &look, &out->refusal);
    }
    mem_free(look.pinned);
    return err;
}

void fit_verdict_clear(struct fit_verdict *verdict)
{
    for (size_t i = 0; i < verdict->refusal.pin_count; i++) {
        mem_free(verdict->refusal.pins[i].site);
        mem_free(verdict->refusal.pins[i].phase);
    }
    mem_free(verdict->refusal.pins);
    mem_free(verdict->refusal.phase);
    mem_free(verdict->refusal.site);
    *verdict = (struct fit_verdict){0};
}
