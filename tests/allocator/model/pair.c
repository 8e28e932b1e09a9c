/*
 * pair.c - doing an operation on both sides and comparing: return codes, addresses, refusals, block
 * sizes, every statistic, the observers' events; on demand the whole heap.
 */
#include "pair.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"

#define MODEL 0
#define ALLOC 1

__attribute__((format(printf, 2, 3))) static bool differ(struct pair *pair, const char *format, ...)
{
    if (pair->difference[0] != '\0')
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(pair->difference, sizeof pair->difference, format, args);
    va_end(args);
    return false;
}

static bool same(struct pair *pair, const char *what, uint64_t model, uint64_t alloc)
{
    if (model == alloc)
        return true;
    return differ(pair,
                  "%s: model %" PRIu64 " (0x%" PRIx64 "), allocator %" PRIu64 " (0x%" PRIx64
                  "), difference %" PRId64,
                  what, model, model, alloc, alloc, (int64_t)(alloc - model));
}

static bool same_result(struct pair *pair, const char *what, int model, int alloc)
{
    if (model == alloc)
        return true;
    return differ(pair, "%s: model says %s, allocator %s", what, base_err_text(model),
                  base_err_text(alloc));
}

/* Codes that the contract does not name: only whether it worked. */
static bool same_outcome(struct pair *pair, const char *what, int model, int alloc)
{
    return (model == BASE_OK) == (alloc == BASE_OK) || same_result(pair, what, model, alloc);
}

/* ---- events ---- */

static void log_event(void *self, const struct alloc_event *event)
{
    struct pair_log *log = self;
    if (!MEM_GROW(log->events, log->cap, log->count + 1))
        abort();
    log->events[log->count++] = *event;
}

static const char *kind_name(enum alloc_event_kind kind)
{
    static const char *const names[] = {"none",         "ALLOC", "FREE",  "IDLE", "SEGMENT_ALLOC",
                                        "SEGMENT_FREE", "MAP",   "UNMAP", "OOM"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static void event_text(const struct pair_log *log, size_t i, char *text, size_t size)
{
    if (i >= log->count) {
        snprintf(text, size, "nothing");
        return;
    }
    const struct alloc_event *event = &log->events[i];
    snprintf(text, size,
             "%s at 0x%" PRIx64 " size %" PRIu64 " requested %" PRIu64 " stream %" PRIx64
             " pool %" PRIu64 " waits %d",
             kind_name(event->kind), event->address, event->size, event->requested, event->stream,
             event->pool, event->waits);
}

static bool same_event(const struct alloc_event *a, const struct alloc_event *b)
{
    bool of_block = a->kind == ALLOC_EVENT_ALLOC || a->kind == ALLOC_EVENT_FREE ||
                    a->kind == ALLOC_EVENT_IDLE || a->kind == ALLOC_EVENT_OOM;
    return a->kind == b->kind && (a->address == b->address || a->kind == ALLOC_EVENT_OOM) &&
           a->size == b->size && a->stream == b->stream && a->pool == b->pool &&
           (!of_block || a->requested == b->requested) &&
           (a->kind != ALLOC_EVENT_FREE || a->waits == b->waits);
}

static bool goes_from_private(const struct alloc_event *event)
{
    return event->pool != 0 &&
           (event->kind == ALLOC_EVENT_SEGMENT_FREE || event->kind == ALLOC_EVENT_UNMAP);
}

/* In which order private pools are emptied is nobody's business: by id, then. */
static void order_pools(struct pair_log *log)
{
    struct alloc_event *events = log->events;
    for (size_t i = 1; i < log->count; i++)
        for (size_t j = i; j > 0 && goes_from_private(&events[j]) &&
                           goes_from_private(&events[j - 1]) && events[j - 1].pool > events[j].pool;
             j--) {
            struct alloc_event later = events[j - 1];
            events[j - 1] = events[j];
            events[j] = later;
        }
}

/* For a person; the shortened difference has the first event only. */
static void list_events(const struct pair *pair)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < pair->log[side].count && i < 12; i++) {
            char text[160];
            event_text(&pair->log[side], i, text, sizeof text);
            fprintf(stderr, "      %s %zu: %s\n", side == MODEL ? "model" : "allocator", i, text);
        }
}

static bool compare_events(struct pair *pair)
{
    const struct pair_log *model = &pair->log[MODEL], *alloc = &pair->log[ALLOC];
    bool equal = true;
    order_pools(&pair->log[MODEL]);
    order_pools(&pair->log[ALLOC]);
    for (size_t i = 0; equal && (i < model->count || i < alloc->count); i++) {
        if (i < model->count && i < alloc->count &&
            same_event(&model->events[i], &alloc->events[i]))
            continue;
        char a[160], b[160];
        event_text(model, i, a, sizeof a);
        event_text(alloc, i, b, sizeof b);
        list_events(pair);
        equal = differ(pair, "event %zu: model %s, allocator %s", i, a, b);
    }
    pair->log[MODEL].count = pair->log[ALLOC].count = 0;
    return equal;
}

/* ---- statistics ---- */

#define STATS_WORDS (sizeof(struct alloc_stats) / sizeof(int64_t))
#define STATS_SCALARS 5

static void stat_name(size_t word, char *text, size_t size)
{
    static const char *const groups[] = {
        "allocation",      "segment",        "active",       "inactive_split",
        "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
        "requested_bytes"};
    static const char *const classes[] = {"all", "small_pool", "large_pool"};
    static const char *const fields[] = {"current", "peak", "allocated", "freed"};
    static const char *const scalars[] = {"num_alloc_retries", "num_ooms", "num_sync_all_streams",
                                          "num_device_alloc", "num_device_free"};
    size_t stat = word / 4;
    if (word >= STATS_WORDS - STATS_SCALARS)
        snprintf(text, size, "%s", scalars[word - (STATS_WORDS - STATS_SCALARS)]);
    else if (stat < 9 * ALLOC_CLASSES)
        snprintf(text, size, "%s.%s.%s", groups[stat / ALLOC_CLASSES],
                 classes[stat % ALLOC_CLASSES], fields[word % 4]);
    else
        snprintf(text, size, "%s.%s",
                 stat == 9 * ALLOC_CLASSES ? "oversize_allocations" : "oversize_segments",
                 fields[word % 4]);
}

static bool compare_stats(struct pair *pair)
{
    int64_t model[STATS_WORDS], alloc[STATS_WORDS];
    struct alloc_stats stats;
    alloc_stats(pair->alloc, &stats);
    memcpy(alloc, &stats, sizeof alloc);
    memcpy(model, &pair->model.stats, sizeof model);
    for (size_t i = 0; i < STATS_WORDS; i++) {
        if (model[i] == alloc[i])
            continue;
        char name[60];
        stat_name(i, name, sizeof name);
        return differ(pair, "statistic %s: model %" PRId64 ", allocator %" PRId64, name, model[i],
                      alloc[i]);
    }
    return true;
}

static bool compare_devices(struct pair *pair)
{
    if (pair->device[MODEL].trouble != NULL)
        return differ(pair, "the model's device: %s", pair->device[MODEL].trouble);
    if (pair->device[ALLOC].trouble != NULL)
        return differ(pair, "the allocator's device: %s", pair->device[ALLOC].trouble);
    return same(pair, "bytes held of the device", pair->device[MODEL].used,
                pair->device[ALLOC].used);
}

/* ---- the heap ---- */

struct walker {
    struct pair *pair;
    size_t at;
};

static bool same_block(struct pair *pair, const struct model_block *model,
                       const struct alloc_block_view *alloc)
{
    bool active = model->state == ALLOC_LIVING || model->state == ALLOC_AWAITING;
    return same(pair, "walk: block address", model->address, alloc->address) &&
           same(pair, "walk: block size", model->size, alloc->size) &&
           same(pair, "walk: block state", model->state, alloc->state) &&
           (!active || same(pair, "walk: block requested", model->requested, alloc->requested));
}

static bool see(void *self, const struct alloc_segment_view *alloc)
{
    struct walker *walker = self;
    struct pair *pair = walker->pair;
    if (walker->at >= pair->model.segment_count)
        return differ(pair, "walk: segment 0x%" PRIx64 " is not the model's", alloc->address);
    const struct model_segment *model = &pair->model.segments[walker->at++];
    if (!same(pair, "walk: segment address", model->address, alloc->address) ||
        !same(pair, "walk: segment size", model->size, alloc->size) ||
        !same(pair, "walk: segment stream", model->stream, alloc->stream) ||
        !same(pair, "walk: segment pool", model->pool, alloc->pool) ||
        !same(pair, "walk: segment small", model->small, alloc->small) ||
        !same(pair, "walk: segment expandable", model->expandable, alloc->expandable) ||
        !same(pair, "walk: blocks of the segment", model->count, alloc->block_count))
        return false;
    for (size_t i = 0; i < model->count; i++)
        if (!same_block(pair, &model->blocks[i], &alloc->blocks[i]))
            return false;
    return true;
}

bool pair_walk(struct pair *pair)
{
    struct walker walker = {pair, 0};
    if (!model_is_valid(&pair->model))
        return differ(pair, "the model is not valid");
    if (!alloc_is_valid(pair->alloc))
        return differ(pair, "alloc_is_valid says no");
    if (!device_script_is_valid(&pair->device[ALLOC]))
        return differ(pair, "the allocator's device is not valid");
    int err = alloc_walk(pair->alloc, see, &walker);
    if (pair->difference[0] != '\0')
        return false;
    return same_result(pair, "walk", BASE_OK, err) &&
           same(pair, "walk: segments", pair->model.segment_count, walker.at);
}

/* ---- operations ---- */

static bool do_malloc(struct pair *pair, const struct operation *op)
{
    struct alloc_refusal model = {0}, alloc = {0};
    uint64_t address[2] = {0, 0};
    int want = model_malloc(&pair->model, op->a, op->b, &address[MODEL], &model);
    int got = alloc_malloc(pair->alloc, op->a, op->b, &address[ALLOC], &alloc);
    if (!same_result(pair, "malloc", want, got))
        return false;
    if (want == BASE_OK) {
        if (op->slot < pair->slot_count)
            pair->slots[op->slot] = (struct pair_slot){address[MODEL], address[MODEL] != 0};
        return same(pair, "address", address[MODEL], address[ALLOC]) &&
               same(pair, "block_size", model_block_size(&pair->model, address[MODEL]),
                    alloc_block_size(pair->alloc, address[ALLOC]));
    }
    if (want != ERR_NOMEM)
        return true;
    if (!same(pair, "refusal: requested", model.requested, alloc.requested) ||
        op->a >= ALLOC_MAX_REQUEST)
        return pair->difference[0] == '\0';
    return same(pair, "refusal: rounded", model.rounded, alloc.rounded) &&
           same(pair, "refusal: segment_size", model.segment_size, alloc.segment_size) &&
           same(pair, "refusal: allocated", model.allocated, alloc.allocated) &&
           same(pair, "refusal: reserved", model.reserved, alloc.reserved) &&
           same(pair, "refusal: largest_free", model.largest_free, alloc.largest_free) &&
           same(pair, "refusal: device_free", model.device_free, alloc.device_free) &&
           same(pair, "refusal: limit", model.limit, alloc.limit);
}

static bool slot_address(const struct pair *pair, const struct operation *op, uint64_t *address)
{
    if (op->a >= pair->slot_count || !pair->slots[op->a].given)
        return false;
    *address = pair->slots[op->a].address;
    return true;
}

static bool do_look(struct pair *pair, uint64_t address)
{
    uint64_t size[2] = {0, 0};
    uint64_t want = model_base(&pair->model, address, &size[MODEL]);
    uint64_t got = alloc_base(pair->alloc, address, &size[ALLOC]);
    if (!same(pair, "block_size", model_block_size(&pair->model, address),
              alloc_block_size(pair->alloc, address)) ||
        !same(pair, "base", want, got))
        return false;
    return want == 0 || same(pair, "base: size", size[MODEL], size[ALLOC]);
}

/* A recording says when a wait ended, or the streams do: nobody has said which if both. */
static bool is_used_elsewhere(struct pair *pair, uint64_t address)
{
    struct model_spot spot = model_find(&pair->model, address);
    return spot.segment != NULL && model_block_at(spot)->users > 0;
}

static bool do_block(struct pair *pair, const struct operation *op)
{
    uint64_t address;
    if (!slot_address(pair, op, &address))
        return true;
    switch (op->kind) {
    case OP_GIVE:
        address += op->b;
        return same_result(pair, "give", model_give(&pair->model, address),
                           alloc_give(pair->alloc, address));
    case OP_RECORD:
        return same_outcome(pair, "record_stream",
                            model_record_stream(&pair->model, address, op->b),
                            alloc_record_stream(pair->alloc, address, op->b));
    case OP_GIVE_AWAITING:
        if (is_used_elsewhere(pair, address))
            return true;
        return same_outcome(pair, "give_awaiting", model_give_awaiting(&pair->model, address),
                            alloc_give_awaiting(pair->alloc, address));
    case OP_SETTLE:
        return same_outcome(pair, "settle", model_settle(&pair->model, address),
                            alloc_settle(pair->alloc, address));
    default:
        return do_look(pair, address + op->b);
    }
}

/* A pool may be begun again until it was released as often, and not released while begun for the
 * last time: what happens then nobody has said. */
static bool is_allowed(const struct pair *pair, const struct operation *op)
{
    const struct model *model = &pair->model;
    bool begun = false;
    for (size_t i = 0; i < model->begun_count; i++)
        begun = begun || model->begun[i].id == op->a;
    for (size_t i = 0; i < model->pool_count; i++) {
        if (model->pools[i].id != op->a)
            continue;
        if (op->kind == OP_BEGIN)
            return model->pools[i].uses > 0;
        return model->pools[i].uses > (begun ? 1u : 0u);
    }
    return true;
}

static bool accepts(void *self, uint64_t stream)
{
    unsigned mask = *(const unsigned char *)self;
    return (mask >> operation_stream_number(stream) & 1) != 0;
}

static bool do_pool(struct pair *pair, const struct operation *op)
{
    static unsigned char masks[1 << OPERATION_STREAMS];
    unsigned mask = (unsigned)op->b % sizeof masks;
    masks[mask] = (unsigned char)mask;
    bool (*filter)(void *, uint64_t) = mask == 0 ? NULL : accepts;
    bool equal;
    if (op->kind != OP_END && !is_allowed(pair, op))
        return true;
    if (op->kind == OP_BEGIN)
        equal = same_outcome(pair, "pool_begin",
                             model_pool_begin(&pair->model, op->a, filter, &masks[mask]),
                             alloc_pool_begin(pair->alloc, op->a, filter, &masks[mask]));
    else if (op->kind == OP_END)
        equal = same_outcome(pair, "pool_end", model_pool_end(&pair->model, op->a),
                             alloc_pool_end(pair->alloc, op->a));
    else
        equal = same_outcome(pair, "pool_release", model_pool_release(&pair->model, op->a),
                             alloc_pool_release(pair->alloc, op->a));
    for (int i = 0; i < 2; i++)
        pair->device[i].forbid_queries = pair->model.begun_count > 0;
    return equal;
}

static bool do_setting(struct pair *pair, const struct operation *op)
{
    switch (op->kind) {
    case OP_LIMIT:
        pair->model.limit = op->a;
        alloc_limit(pair->alloc, op->a);
        return true;
    case OP_CONFIGURE:
        operation_settings(op->a, &pair->config);
        pair->model.config = pair->config;
        return same_result(pair, "configure", BASE_OK, alloc_configure(pair->alloc, &pair->config));
    case OP_RESET_PEAKS:
        model_reset_peaks(&pair->model);
        alloc_reset_peaks(pair->alloc);
        return true;
    default:
        model_reset_accumulated(&pair->model);
        alloc_reset_accumulated(pair->alloc);
        return true;
    }
}

static void do_device(struct pair *pair, const struct operation *op)
{
    for (int i = 0; i < 2; i++) {
        if (op->kind == OP_COMPLETE)
            device_script_complete(&pair->device[i], op->a, op->b);
        else if (op->kind == OP_CAPACITY)
            pair->device[i].capacity = op->a;
        else if (op->kind == OP_FAIL)
            pair->device[i].fail_next = -(int)op->a;
        else
            pair->device[i].fail_next_query = -(int)op->a;
    }
}

static bool apply(struct pair *pair, const struct operation *op)
{
    switch (op->kind) {
    case OP_MALLOC:
        return do_malloc(pair, op);
    case OP_GIVE:
    case OP_RECORD:
    case OP_LOOK:
    case OP_GIVE_AWAITING:
    case OP_SETTLE:
        return do_block(pair, op);
    case OP_BEGIN:
    case OP_END:
    case OP_RELEASE:
        return do_pool(pair, op);
    case OP_EMPTY:
        return same_result(pair, "empty_cache", model_empty_cache(&pair->model),
                           alloc_empty_cache(pair->alloc));
    case OP_COMPLETE:
    case OP_CAPACITY:
    case OP_FAIL:
    case OP_FAIL_QUERY:
        do_device(pair, op);
        return true;
    default:
        return do_setting(pair, op);
    }
}

bool pair_do(struct pair *pair, const struct operation *op)
{
    return apply(pair, op) && compare_events(pair) && compare_stats(pair) && compare_devices(pair);
}

/* ---- opening and closing ---- */

bool pair_open(struct pair *pair, const struct setup *setup, size_t slots)
{
    *pair = (struct pair){.slot_count = slots};
    pair->slots = mem_alloc(slots, sizeof *pair->slots);
    if (pair->slots == NULL)
        abort();
    operation_settings(setup->settings, &pair->config);
    struct alloc_observer observer[2];
    for (int i = 0; i < 2; i++) {
        device_script_open(&pair->device[i], setup->capacity, setup->total);
        pair->device[i].downwards = setup->downwards;
        observer[i] = (struct alloc_observer){&pair->log[i], log_event};
    }
    uint64_t wrong = setup->spoilt ? setup->capacity / 2 : setup->limit;
    model_open(&pair->model, &pair->device[MODEL].seam, &pair->config, wrong, &observer[MODEL]);
    struct alloc_options options = {
        .device = &pair->device[ALLOC].seam,
        .config = &pair->config,
        .observer = &observer[ALLOC],
        .limit = setup->limit,
        .flags = setup->one_thread ? ALLOC_ONE_THREAD : 0,
    };
    return same_result(pair, "alloc_new", BASE_OK, alloc_new(&pair->alloc, &options));
}

bool pair_close(struct pair *pair)
{
    model_close(&pair->model);
    if (pair->alloc != NULL)
        alloc_delete(pair->alloc);
    const char *model = device_script_close(&pair->device[MODEL]);
    const char *alloc = device_script_close(&pair->device[ALLOC]);
    for (int i = 0; i < 2; i++)
        mem_free(pair->log[i].events);
    mem_free(pair->slots);
    if (model != NULL)
        differ(pair, "the model's device at the end: %s", model);
    if (alloc != NULL)
        differ(pair, "the allocator's device at the end: %s", alloc);
    return pair->difference[0] == '\0';
}
