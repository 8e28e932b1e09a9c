/* A log's records in the order of time, as events: blocks, and the ranges in which they were asked
 * for. What lived before is block_log_before.c's, names and sites are block_log_sites.c's, memory
 * of the driver and NVTX block_log_driver.c's. */
#include <stdio.h>
#include <stdlib.h>

#include "block_log_telling.h"
#include "buf.h"
#include "error.h"
#include "feed.h"
#include "format.h"
#include "mem.h"
#include "writing.h"

/* ---- order ---- */

/* Of ranges that begin together the longest is first, of those that end together the latest. */
static int compare(const void *left, const void *right)
{
    const struct block_log_entry *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    unsigned ka = a->kind < LOG_ALLOC ? a->kind : LOG_ALLOC,
             kb = b->kind < LOG_ALLOC ? b->kind : LOG_ALLOC;
    if (ka != kb)
        return ka < kb ? -1 : 1;
    if (ka < LOG_ALLOC && a->addr != b->addr)
        return a->addr > b->addr ? -1 : 1;
    bool before = a->order < b->order;
    if (ka == LOG_RANGE_END)
        before = !before;
    return before ? -1 : 1;
}

/* Sorting takes as much memory again, and most logs are in order. */
static void sort(struct block_log *log)
{
    for (size_t i = 1; i < log->count; i++)
        if (compare(&log->entries[i - 1], &log->entries[i]) > 0) {
            qsort(log->entries, log->count, sizeof *log->entries, compare);
            return;
        }
}

/* Frees of blocks that the log did not hand out. A second block at the address of one that lives
 * is the state's business. */
static int find_lost(struct block_log *log)
{
    struct map living = {0};
    int err = BASE_OK;
    for (size_t i = 0; err == BASE_OK && i < log->count; i++) {
        struct block_log_entry *entry = &log->entries[i];
        if (entry->kind != LOG_ALLOC && entry->kind != LOG_FREE)
            continue;
        uint64_t device = block_log_device(log, entry->place) + 1;
        uint64_t key = entry->addr ^ device * UINT64_C(0x9e3779b97f4a7c15);
        if (entry->kind == LOG_ALLOC)
            err = map_put(&living, key, i, NULL) ? BASE_OK : ERR_NOMEM;
        else
            entry->lost = map_remove(&living, key) == MAP_NONE;
    }
    map_clear(&living);
    return err;
}

/* ---- events ---- */

int telling_give(struct telling *telling, const struct event *event)
{
    struct block_log_feed *feed = telling->feed;
    if (telling->no_memory)
        return ERR_NOMEM;
    state_event(telling->process, event);
    return state_wants_flush(feed->state) ? feed->flush(feed->self) : BASE_OK;
}

static int give_setting(struct telling *telling, const char *key, const char *value)
{
    struct buf text = {0};
    buf_print(&text, "%s=%s", key, value);
    bool broken = text.broken;
    struct event event = {.kind = EVENT_MARK, .flags = EVENT_F_SETTING, .time_ns = telling->now_ns};
    if (!broken)
        event.name = telling_text(telling, buf_string(&text), text.count);
    buf_clear(&text);
    return broken ? ERR_NOMEM : telling_give(telling, &event);
}

void telling_requested(uint64_t bytes, struct event *event)
{
    if (bytes == BLOCK_LOG_UNKNOWN)
        return;
    event->flags |= EVENT_F_REQUESTED;
    event->a = bytes;
}

static int give_settings(struct telling *telling)
{
    const struct block_log_feed *feed = telling->feed;
    char number[32];
    int err = BASE_OK;
    snprintf(number, sizeof number, "%lld", (long long)state_seq(feed->state));
    if (feed->allocator)
        err = give_setting(telling, "allocator", feed->allocator);
    if (err == BASE_OK && (feed->result->blocks_before || feed->result->throughout))
        err = give_setting(telling, "rebuilt_until", number);
    return err == BASE_OK ? give_setting(telling, "imported_from", feed->source) : err;
}

static void fill_totals(const struct block_log_entry *entry, struct event *event)
{
    if (entry->allocated == BLOCK_LOG_UNKNOWN)
        return;
    event->flags |= EVENT_F_TOTALS;
    event->a = entry->allocated;
    event->b = entry->reserved == BLOCK_LOG_UNKNOWN ? 0 : entry->reserved;
}

static void fill_sizes(enum block_log_sizes sizes, const struct block_log_entry *entry,
                       struct event *event)
{
    bool alloc = entry->kind == LOG_ALLOC;
    switch (sizes) {
    case BLOCK_LOG_REQUESTED:
        if (alloc)
            telling_requested(entry->size, event);
        else
            fill_totals(entry, event);
        break;
    case BLOCK_LOG_BOTH:
        if (alloc)
            telling_requested(entry->requested, event);
        break;
    default:
        fill_totals(entry, event);
    }
}

static void fill_block(struct telling *telling, const struct block_log_entry *entry,
                       struct event *event)
{
    struct import_result *result = telling->feed->result;
    event->addr = entry->kind == LOG_REFUSED ? 0 : entry->addr;
    event->size = entry->size;
    event->heap = telling_place(telling, entry->place) & EVENT_MAX_HEAP;
    if (entry->kind == LOG_FREE) {
        event->kind = EVENT_BLOCK_FREE;
    } else {
        event->kind = entry->kind == LOG_ALLOC ? EVENT_BLOCK_ALLOC : EVENT_OOM;
        event->site = entry->name ? telling_stack(telling, entry->name)
                                  : telling_site(telling, entry->thread);
        result->blocks += entry->kind == LOG_ALLOC;
        result->ooms += entry->kind == LOG_REFUSED;
    }
    fill_sizes(telling->feed->sizes, entry, event);
    result->events++;
}

static void fill_range(struct telling *telling, const struct block_log_entry *entry,
                       struct event *event)
{
    bool begins = entry->kind == LOG_RANGE_BEGIN;
    uint64_t number = 0;
    enum feed_note_kind kind =
        feed_note_kind(intern_at(&telling->feed->log->names, entry->name), &number);
    event->a = number;
    if (kind == NOTE_IS_STEP) {
        event->kind = begins ? EVENT_STEP_BEGIN : EVENT_STEP_END;
        event->a = begins ? number : 0;
    } else if (kind == NOTE_IS_PHASE) {
        event->kind = begins ? EVENT_PHASE_BEGIN : EVENT_PHASE_END;
        event->name = telling_string(telling, entry->name);
    } else {
        event->kind = begins ? EVENT_ENTER : EVENT_EXIT;
        event->size = kind == NOTE_IS_OPTIMIZER ? MARK_OPTIMIZER : MARK_ZERO_GRAD;
    }
    telling->feed->result->annotations += begins;
}

/* A step is in no call stack: the same site would be another one in each. */
static int take_range(struct telling *telling, const struct block_log_entry *entry)
{
    uint64_t ignored;
    const char *text = intern_at(&telling->feed->log->names, entry->name);
    bool step = feed_note_kind(text, &ignored) == NOTE_IS_STEP;
    if (entry->kind == LOG_RANGE_BEGIN)
        return telling_open(telling, entry->thread, step ? 0 : entry->name);
    telling_close(telling, entry->thread);
    return BASE_OK;
}

static int give_entry(struct telling *telling, const struct block_log_entry *entry)
{
    struct event event = {.time_ns = telling->now_ns, .thread = entry->thread & 0xffffff};
    if (entry->nvtx)
        return telling_nvtx(telling, entry);
    if (entry->kind > LOG_REFUSED)
        return telling_driver(telling, entry);
    if (entry->kind >= LOG_ALLOC) {
        fill_block(telling, entry, &event);
        return telling_give(telling, &event);
    }
    int err = take_range(telling, entry);
    if (err || !entry->phase)
        return err;
    fill_range(telling, entry, &event);
    return telling_give(telling, &event);
}

/* Of several processes the one whose next entry is the earliest; NULL: all is told. */
static struct telling *earliest(struct telling *tellings, size_t count)
{
    struct telling *best = NULL;
    int64_t best_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct block_log *log = tellings[i].feed->log;
        if (tellings[i].next >= log->count)
            continue;
        int64_t ns = log->entries[tellings[i].next].time_ns;
        if (!best || ns < best_ns) {
            best = &tellings[i];
            best_ns = ns;
        }
    }
    return best;
}

static int give_all(struct telling *tellings, size_t count)
{
    struct telling *telling;
    int err = BASE_OK;
    while (err == BASE_OK && (telling = earliest(tellings, count))) {
        const struct block_log_entry *entry = &telling->feed->log->entries[telling->next++];
        telling->now_ns = (uint64_t)(entry->time_ns - telling->base_ns);
        err = give_entry(telling, entry);
    }
    return err;
}

/* ---- the whole ---- */

static int begin(struct telling *telling)
{
    const struct block_log_feed *feed = telling->feed;
    const struct block_log *log = feed->log;
    struct state_hello hello = {.parent = BATCH_NULL,
                                .origin = "import",
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL,
                                .pid = feed->pid,
                                .argv = feed->argv,
                                .live = feed->live};
    telling->strings = mem_alloc(log->names.item_count + 1, sizeof *telling->strings);
    telling->frames = mem_alloc(log->names.item_count + 1, sizeof *telling->frames);
    telling->places = mem_alloc(log->places.item_count + 1, sizeof *telling->places);
    telling->has_line = mem_alloc(log->names.item_count + 1, sizeof *telling->has_line);
    telling->own_frames = mem_alloc(log->frames.item_count + 1, sizeof *telling->own_frames);
    telling->stacks = mem_alloc(log->stacks.item_count + 1, sizeof *telling->stacks);
    if (!telling->has_line || !telling->own_frames || !telling->stacks || !telling->strings ||
        !telling->frames || !telling->places)
        return ERR_NOMEM;
    telling->process = state_process_begin(feed->state, &hello);
    return telling->process ? BASE_OK : ERR_NOMEM;
}

static void end(struct telling *telling)
{
    struct state_end end = {.at_ns = telling->now_ns,
                            .ended = "unknown",
                            .exit_code = BATCH_NULL,
                            .signal = BATCH_NULL};
    if (telling->process)
        state_process_end(telling->process, &end);
    telling->feed->run_ns = (int64_t)telling->now_ns;
    mem_free(telling->strings);
    mem_free(telling->frames);
    mem_free(telling->has_line);
    mem_free(telling->places);
    mem_free(telling->own_frames);
    mem_free(telling->stacks);
    telling_driver_clear(telling);
    mem_free(telling->site_numbers);
    mem_free(telling->open);
    intern_clear(&telling->sites);
    map_clear(&telling->tops);
}

/* Whether no place before this one has its device: of this log, and of those before it. */
static bool is_first(const struct block_log_feed *feeds, size_t log, uint32_t place)
{
    uint32_t device = block_log_device(feeds[log].log, place);
    for (size_t i = 0; i <= log; i++) {
        uint32_t end = i == log ? place - 1 : (uint32_t)feeds[i].log->places.item_count;
        for (uint32_t k = 1; k <= end; k++)
            if (block_log_device(feeds[i].log, k) == device)
                return false;
    }
    return true;
}

static size_t count_devices(const struct block_log_feed *feeds, size_t count)
{
    size_t devices = 0;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 1; k <= feeds[i].log->places.item_count; k++)
            devices += is_first(feeds, i, k);
    return devices;
}

static int64_t first_of_all(const struct block_log_feed *feeds, size_t count)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (feeds[i].log->count && feeds[i].log->entries[0].time_ns < first)
            first = feeds[i].log->entries[0].time_ns;
    return first == INT64_MAX ? 0 : first;
}

static int tell_all(struct telling *tellings, struct block_log_feed *feeds, size_t count)
{
    int err = BASE_OK;
    for (size_t i = 0; i < count; i++)
        sort(feeds[i].log);
    int64_t base_ns = first_of_all(feeds, count);
    for (size_t i = 0; err == BASE_OK && i < count; i++) {
        tellings[i].feed = &feeds[i];
        tellings[i].base_ns = base_ns;
        err = find_lost(feeds[i].log);
        if (err == BASE_OK)
            err = begin(&tellings[i]);
        if (err == BASE_OK)
            err = telling_before(&tellings[i]);
        if (err == BASE_OK)
            err = telling_throughout(&tellings[i]);
        if (err == BASE_OK)
            err = give_settings(&tellings[i]);
    }
    return err == BASE_OK ? give_all(tellings, count) : err;
}

int block_log_feed_all(struct block_log_feed *feeds, size_t count)
{
    struct telling *tellings = mem_alloc(count, sizeof *tellings);
    if (!tellings)
        return ERR_NOMEM;
    feeds[0].result->devices = count_devices(feeds, count);
    int err = tell_all(tellings, feeds, count);
    for (size_t i = 0; i < count; i++)
        if (tellings[i].feed)
            end(&tellings[i]);
    mem_free(tellings);
    return err;
}

int block_log_feed(struct block_log_feed *feed)
{
    return block_log_feed_all(feed, 1);
}

static int write_rows(struct block_log_feed *feeds, size_t count, struct writing *writing)
{
    struct import_result *result = feeds[0].result;
    struct state_totals totals;
    for (size_t i = 0; i < count; i++) {
        feeds[i].state = writing->state;
        feeds[i].flush = writing_flush;
        feeds[i].self = writing;
    }
    int err = block_log_feed_all(feeds, count);
    state_totals(writing->state, &totals);
    result->peak_allocated = totals.peak_allocated;
    result->instead.one = "allocation by CUDA's driver";
    result->instead.many = "allocations by CUDA's driver";
    result->instead.peak = totals.peak_given;
    result->instead.peak_of = "driver memory";
    if (err == BASE_OK && totals.lost)
        err = import_say(result, ERR_NOMEM, base_err_text(ERR_NOMEM));
    return err;
}

static int64_t longest(const struct block_log_feed *feeds, size_t count)
{
    int64_t run_ns = 0;
    for (size_t i = 0; i < count; i++)
        run_ns = feeds[i].run_ns > run_ns ? feeds[i].run_ns : run_ns;
    return run_ns;
}

int block_log_write(struct block_log_feed *feeds, size_t count, const char *output, int64_t base_us,
                    const char *ended)
{
    struct writing writing;
    int err = writing_open(&writing, output, feeds[0].result);
    if (err == BASE_OK)
        err = writing_begin(&writing, base_us);
    if (err == BASE_OK)
        err = write_rows(feeds, count, &writing);
    if (err == BASE_OK)
        err = writing_finish(&writing, longest(feeds, count), ended);
    writing_clear(&writing);
    return err;
}
