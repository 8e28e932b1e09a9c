#include "generate.h"

#include "error.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t below(struct generator *generator, uint64_t n)
{
    return n == 0 ? 0 : test_random(&generator->seed) % n;
}

static bool chance(struct generator *generator, unsigned thousandths)
{
    return below(generator, 1000) < thousandths;
}

/* Half of the runs have none, the others up to `most`. */
static unsigned rate(struct generator *generator, unsigned most)
{
    return below(generator, 2) == 0 ? 0 : (unsigned)(1 + below(generator, most));
}

void generator_open(struct generator *generator, uint64_t seed, struct setup *setup)
{
    *generator = (struct generator){.seed = seed * UINT64_C(0x2545f4914f6cdd1d) + 7};
    for (int i = 0; i < 4; i++)
        test_random(&generator->seed);
    generator->next_pool = 1;
    generator->streams = 1 + (unsigned)below(generator, OPERATION_STREAMS);
    generator->live = 4 + (unsigned)below(generator, below(generator, 2) == 0 ? 20 : 100);
    generator->record = rate(generator, 400);
    generator->complete = rate(generator, 120);
    generator->empty = rate(generator, 20);
    generator->limit = rate(generator, 20);
    generator->configure = rate(generator, 20);
    generator->capacity = rate(generator, 10);
    generator->fail = below(generator, 8) == 0 ? 10 : 0;
    generator->pool = rate(generator, 60);
    generator->reset = rate(generator, 10);
    generator->odd = rate(generator, 30);
    generator->replay = below(generator, 4) == 0 ? 60 : 0;
    generator->huge = rate(generator, 100);
    generator->fit = rate(generator, 400);
    generator->small = (unsigned)below(generator, 1000);

    *setup =
        (struct setup){.settings = below(generator, 4) == 0 ? 0 : 1 + below(generator, 100000)};
    setup->capacity = (32 + below(generator, 600)) * MIB;
    if (below(generator, 2) == 0)
        setup->capacity *= 8;
    setup->total = setup->capacity + below(generator, 3) * 37 * MIB;
    setup->downwards = below(generator, 2) == 0;
    setup->one_thread = below(generator, 2) == 0;
    if (below(generator, 2) == 0)
        setup->limit = setup->capacity / (1 + below(generator, 4));
}

/* ---- sizes ---- */

static uint64_t near(struct generator *generator, uint64_t size)
{
    static const int64_t off[] = {-513, -512, -511, -1, 0, 0, 0, 1, 511, 512, 513};
    return size + (uint64_t)off[below(generator, sizeof off / sizeof *off)];
}

/* A free block of some segment, or 0. */
static uint64_t free_size(struct generator *generator, const struct pair *pair)
{
    const struct model *model = &pair->model;
    if (model->segment_count == 0)
        return 0;
    const struct model_segment *segment = &model->segments[below(generator, model->segment_count)];
    size_t from = below(generator, segment->count);
    for (size_t i = 0; i < segment->count; i++) {
        const struct model_block *block = &segment->blocks[(from + i) % segment->count];
        if (block->state == ALLOC_FREE)
            return block->size;
    }
    return 0;
}

/* As large as a free block, or so much smaller that it just is or is not split. */
static uint64_t fitting_size(struct generator *generator, const struct pair *pair)
{
    static const uint64_t less[] = {0, 0, 512, MIB, MIB + 512, 20 * MIB, 20 * MIB + 512};
    uint64_t size = free_size(generator, pair);
    uint64_t off = less[below(generator, sizeof less / sizeof *less)];
    size = size > off ? size - off : size + 1024;
    return below(generator, 2) == 0 ? size : near(generator, size);
}

static uint64_t huge_size(struct generator *generator, const struct pair *pair)
{
    uint64_t capacity = pair->device[0].capacity;
    switch (below(generator, 8)) {
    case 0:
        return near(generator, capacity);
    case 1:
        return near(generator, capacity + capacity / 8);
    case 2:
        return near(generator, 2 * capacity);
    case 3:
        return near(generator, ALLOC_MAX_REQUEST);
    case 4:
        return UINT64_MAX - below(generator, 1024);
    default:
        return 1 + below(generator, capacity);
    }
}

/* Up to 1 MiB in a run of small blocks, else of all sizes. */
static uint64_t plain_size(struct generator *generator)
{
    bool small = chance(generator, generator->small);
    static const uint64_t edges[] = {1, 2, 10, 12, 18, 19, 20, 21, 22, 24, 32, 40, 64};
    switch (below(generator, small ? 4 : 10)) {
    case 0:
        return below(generator, 100) == 0 ? 0 : 1 + below(generator, 2048);
    case 1:
        return near(generator, 512 * (2 + below(generator, 20)));
    case 2:
    case 3:
        return 1 + below(generator, MIB);
    case 4:
    case 5:
        return MIB + below(generator, 9 * MIB);
    case 6:
        return near(generator, edges[below(generator, sizeof edges / sizeof *edges)] * MIB);
    case 7:
        return near(generator, (1 + below(generator, 64)) * (MIB / 2));
    case 8:
        return 10 * MIB + below(generator, 30 * MIB);
    default:
        return 1 + below(generator, 120 * MIB);
    }
}

static uint64_t choose_size(struct generator *generator, const struct pair *pair)
{
    if (chance(generator, generator->huge))
        return huge_size(generator, pair);
    if (chance(generator, generator->fit))
        return fitting_size(generator, pair);
    return plain_size(generator);
}

/* ---- blocks ---- */

static enum alloc_block_state slot_state(const struct pair *pair, size_t slot, bool *known)
{
    struct model *model = (struct model *)(uintptr_t)&pair->model;
    struct model_spot spot = {NULL, 0};
    if (pair->slots[slot].given)
        spot = model_find(model, pair->slots[slot].address);
    *known = spot.segment != NULL;
    return *known ? model_block_at(spot)->state : ALLOC_FREE;
}

/* A slot whose block is in that state; false = none. */
static bool choose_slot(struct generator *generator, const struct pair *pair, unsigned before,
                        enum alloc_block_state state, uint64_t *slot)
{
    if (before == 0)
        return false;
    unsigned from = (unsigned)below(generator, before);
    if (below(generator, 3) == 0) /* young ones more often */
        from = before - 1 - (unsigned)below(generator, before < 30 ? before : 30);
    for (unsigned i = 0; i < before; i++) {
        bool known;
        *slot = (from + i) % before;
        if (slot_state(pair, *slot, &known) == state && known)
            return true;
    }
    return false;
}

static uint64_t choose_stream(struct generator *generator)
{
    return operation_stream((unsigned)below(generator, generator->streams));
}

/* ---- kinds ---- */

static bool next_pool_operation(struct generator *generator, const struct pair *pair,
                                struct operation *op)
{
    const struct model *model = &pair->model;
    uint64_t what = below(generator, 10);
    if (model->begun_count > 0 && what < 4) {
        op->kind = OP_END;
        op->a = model->begun[below(generator, model->begun_count)].id;
    } else if (model->pool_count > 0 && what < 7) {
        op->kind = OP_RELEASE;
        op->a = model->pools[below(generator, model->pool_count)].id;
    } else if (model->pool_count > 0 && what < 8) {
        op->kind = OP_BEGIN;
        op->a = model->pools[below(generator, model->pool_count)].id;
    } else if (model->begun_count < 3) {
        op->kind = OP_BEGIN;
        op->a = generator->next_pool++;
    }
    op->b = below(generator, 2) == 0 ? 0 : below(generator, 1 << OPERATION_STREAMS);
    return true;
}

static bool next_setting(struct generator *generator, const struct pair *pair, struct operation *op)
{
    if (chance(generator, generator->limit)) {
        op->kind = OP_LIMIT;
        uint64_t held = pair->model.total;
        op->a = below(generator, 4) == 0   ? 0
                : below(generator, 2) == 0 ? held + below(generator, 30) * MIB
                                           : (1 + below(generator, 400)) * MIB;
        return true;
    }
    if (chance(generator, generator->configure)) {
        op->kind = OP_CONFIGURE;
        op->a = below(generator, 5) == 0 ? 0 : below(generator, 100000);
        return true;
    }
    if (chance(generator, generator->capacity)) {
        op->kind = OP_CAPACITY;
        op->a = (16 + below(generator, 1000)) * MIB;
        return true;
    }
    if (chance(generator, generator->fail)) {
        uint64_t what = below(generator, 3);
        op->kind = what == 0 ? OP_FAIL_QUERY : OP_FAIL;
        op->a = what == 1 ? -ERR_NOMEM : -ERR_IO;
        return true;
    }
    if (chance(generator, generator->reset)) {
        op->kind = below(generator, 2) == 0 ? OP_RESET_PEAKS : OP_RESET_ACCUMULATED;
        return true;
    }
    return false;
}

static bool next_rare(struct generator *generator, const struct pair *pair, struct operation *op)
{
    if (chance(generator, generator->complete)) {
        op->kind = OP_COMPLETE;
        op->a = choose_stream(generator);
        op->b = 1 + below(generator, 6);
        return true;
    }
    if (chance(generator, generator->empty)) {
        op->kind = OP_EMPTY;
        return true;
    }
    if (chance(generator, generator->pool))
        return next_pool_operation(generator, pair, op);
    if (chance(generator, generator->odd) && op->slot > 0) {
        op->kind = below(generator, 2) == 0 ? OP_GIVE : OP_LOOK;
        op->a = below(generator, op->slot);
        op->b = below(generator, 2) == 0 ? 0 : 512 * below(generator, 4);
        return true;
    }
    return next_setting(generator, pair, op);
}

static bool next_block_operation(struct generator *generator, const struct pair *pair,
                                 struct operation *op)
{
    if (chance(generator, generator->record) &&
        choose_slot(generator, pair, op->slot, ALLOC_LIVING, &op->a)) {
        op->kind = OP_RECORD;
        op->b = choose_stream(generator);
        return true;
    }
    if (chance(generator, generator->replay) &&
        choose_slot(generator, pair, op->slot, ALLOC_AWAITING, &op->a)) {
        op->kind = OP_SETTLE;
        return true;
    }
    const struct alloc_stats *stats = &pair->model.stats;
    int64_t capacity = (int64_t)pair->device[0].capacity;
    bool full = stats->allocation[ALLOC_ALL].current >= (int64_t)generator->live ||
                stats->allocated_bytes[ALLOC_ALL].current > capacity / 8 * 5;
    if (!chance(generator, full ? 700 : 350) ||
        !choose_slot(generator, pair, op->slot, ALLOC_LIVING, &op->a))
        return false;
    op->kind = chance(generator, generator->replay) ? OP_GIVE_AWAITING : OP_GIVE;
    op->b = 0;
    return true;
}

struct operation generator_next(struct generator *generator, const struct pair *pair, unsigned slot)
{
    struct operation op = {.kind = OP_EMPTY, .slot = slot};
    if (next_rare(generator, pair, &op) || next_block_operation(generator, pair, &op))
        return op;
    op.kind = OP_MALLOC;
    op.a = choose_size(generator, pair);
    op.b = choose_stream(generator);
    return op;
}
