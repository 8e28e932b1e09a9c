/* A log's records in the order of time, as events: blocks, and the ranges in which they were asked
 * for. Memory of the driver and NVTX are block_log_driver.c's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block_log_telling.h"
#include "buf.h"
#include "error.h"
#include "feed.h"
#include "format.h"
#include "mem.h"
#include "writing.h"

#define OPEN_MOST ((size_t)512) /* ranges of a stack that are looked at, from the innermost on */

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

/* ---- definitions ---- */

uint32_t telling_define(struct telling *telling, enum arena_kind kind, const void *payload,
                        size_t bytes)
{
    struct arena_record record = {.bytes = (uint32_t)bytes, .kind = (uint32_t)kind};
    state_define(telling->process, &record, payload);
    return ++telling->defined;
}

uint32_t telling_text(struct telling *telling, const char *text, size_t bytes)
{
    return bytes ? telling_define(telling, ARENA_STRING, text, bytes) : 0;
}

uint32_t telling_string(struct telling *telling, uint32_t name)
{
    if (!name)
        return 0;
    const char *text = intern_at(&telling->feed->log->names, name);
    if (!telling->strings[name])
        telling->strings[name] = telling_text(telling, text, strlen(text));
    return telling->strings[name];
}

/* "train.py(12): forward" is a frame of Python, as torch.profiler names it. */
static bool split_frame(const char *text, size_t *file, uint32_t *line, const char **function)
{
    const char *open = strstr(text, ".py(");
    char *end;
    if (!open || open[4] < '0' || open[4] > '9')
        return false;
    unsigned long number = strtoul(open + 4, &end, 10);
    if (strncmp(end, "): ", 3) != 0 || !end[3] || number > INT32_MAX)
        return false;
    *file = (size_t)(open + 3 - text);
    *line = (uint32_t)number;
    *function = end + 3;
    return true;
}

static uint32_t frame_of(struct telling *telling, uint32_t name)
{
    const char *text = intern_at(&telling->feed->log->names, name), *function;
    struct arena_frame frame = {0};
    size_t file;
    if (telling->frames[name])
        return telling->frames[name];
    if (split_frame(text, &file, &frame.line, &function)) {
        frame.function = telling_text(telling, function, strlen(function));
        frame.file = telling_text(telling, text, file);
        telling->has_line[name] = true;
    } else {
        frame.function = telling_string(telling, name);
    }
    return telling->frames[name] = telling_define(telling, ARENA_FRAME, &frame, sizeof frame);
}

uint32_t telling_place(struct telling *telling, uint32_t place)
{
    struct arena_heap heap;
    if (!place || telling->places[place])
        return place ? telling->places[place] : 0;
    memcpy(&heap, intern_at(&telling->feed->log->places, place), sizeof heap);
    return telling->places[place] = telling_define(telling, ARENA_HEAP, &heap, sizeof heap);
}

static uint32_t own_frame(struct telling *telling, uint32_t number)
{
    struct block_log_frame from;
    if (telling->own_frames[number])
        return telling->own_frames[number];
    memcpy(&from, intern_at(&telling->feed->log->frames, number), sizeof from);
    struct arena_frame frame = {.function = telling_string(telling, from.function),
                                .file = telling_string(telling, from.file),
                                .line = from.line};
    return telling->own_frames[number] = telling_define(telling, ARENA_FRAME, &frame, sizeof frame);
}

uint32_t telling_stack(struct telling *telling, uint32_t stack)
{
    uint32_t frames[BLOCK_LOG_DEPTH];
    const struct intern *stacks = &telling->feed->log->stacks;
    if (!stack || telling->stacks[stack])
        return stack ? telling->stacks[stack] : 0;
    size_t depth = (size_t)stacks->items[stack - 1].count / sizeof *frames;
    memcpy(frames, intern_at(stacks, stack), depth * sizeof *frames);
    for (size_t i = 0; i < depth; i++)
        frames[i] = own_frame(telling, frames[i]);
    return telling->stacks[stack] =
               telling_define(telling, ARENA_SITE, frames, depth * sizeof *frames);
}

/* ---- ranges that are open ---- */

static int open_range(struct telling *telling, uint32_t thread, uint32_t name)
{
    uint64_t top = map_get(&telling->tops, thread);
    uint32_t at = telling->open_free;
    if (at) {
        telling->open_free = telling->open[at - 1].below;
    } else {
        if (!MEM_GROW(telling->open, telling->open_cap, telling->open_count + 1))
            return ERR_NOMEM;
        at = (uint32_t)++telling->open_count;
    }
    telling->open[at - 1] = (struct open_range){name, top == MAP_NONE ? 0 : (uint32_t)top};
    return map_put(&telling->tops, thread, at, NULL) ? BASE_OK : ERR_NOMEM;
}

/* Every begin has its end behind it, so the stack has one; ranges that do not nest end each other.
 */
static void close_range(struct telling *telling, uint32_t thread)
{
    uint64_t top = map_get(&telling->tops, thread);
    if (top == MAP_NONE || !top)
        return;
    struct open_range *range = &telling->open[top - 1];
    map_put(&telling->tops, thread, range->below, NULL);
    range->below = telling->open_free;
    telling->open_free = (uint32_t)top;
}

/* Operators that do nothing but ask for memory: who called them is the site. */
static bool only_allocates(const struct telling *telling, uint32_t name)
{
    static const char *const operators[] = {"aten::empty",      "aten::empty_strided",
                                            "aten::empty_like", "aten::new_empty",
                                            "aten::resize_",    "aten::new_empty_strided"};
    const char *text = intern_at(&telling->feed->log->names, name);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(text, operators[i]) == 0)
            return true;
    return false;
}

/* The names of what is open on the thread, innermost first. */
static size_t names_open(const struct telling *telling, uint32_t thread, uint32_t *names,
                         size_t most)
{
    uint64_t top = map_get(&telling->tops, thread);
    size_t count = 0;
    for (uint32_t at = top == MAP_NONE ? 0 : (uint32_t)top; at && count < most;
         at = telling->open[at - 1].below)
        if (telling->open[at - 1].name)
            names[count++] = telling->open[at - 1].name;
    return count;
}

/* As in a recording: where frames of sources are among them, those alone; else all, from the first
 * operator on that does more than ask for memory. */
static size_t choose_frames(struct telling *telling, const uint32_t *names, size_t count,
                            uint32_t *frames)
{
    size_t first = 0, depth = 0;
    bool sources = false;
    for (size_t i = 0; i < count; i++) {
        frame_of(telling, names[i]);
        sources = sources || telling->has_line[names[i]];
    }
    sources = sources && !telling->feed->all_frames;
    while (!sources && !telling->feed->all_frames && first + 1 < count &&
           only_allocates(telling, names[first]))
        first++;
    for (size_t i = first; i < count && depth < BLOCK_LOG_DEPTH; i++)
        if (!sources || telling->has_line[names[i]])
            frames[depth++] = frame_of(telling, names[i]);
    return depth;
}

/* The definition's number; 0 = nothing is open, or no memory. */
static uint32_t site_of(struct telling *telling, uint32_t thread)
{
    uint32_t names[OPEN_MOST], frames[BLOCK_LOG_DEPTH];
    size_t count = names_open(telling, thread, names, OPEN_MOST);
    size_t depth = choose_frames(telling, names, count, frames);
    if (!depth)
        return 0;
    uint32_t site =
        budget_intern(&telling->feed->log->budget, &telling->sites, frames, depth * sizeof *frames);
    if (!site || !MEM_GROW(telling->site_numbers, telling->site_cap, site)) {
        telling->no_memory = site || !telling->feed->log->budget.refused;
        return 0;
    }
    if (site > telling->sites_defined) {
        telling->site_numbers[site - 1] =
            telling_define(telling, ARENA_SITE, frames, depth * sizeof *frames);
        telling->sites_defined = site;
    }
    return telling->site_numbers[site - 1];
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

static void fill_asked(uint64_t bytes, struct event *event)
{
    if (bytes == BLOCK_LOG_UNKNOWN)
        return;
    event->flags |= EVENT_F_REQUESTED;
    event->a = bytes;
}

/* What lived before the log began is told at its beginning. */
static int give_before(struct telling *telling)
{
    const struct block_log *log = telling->feed->log;
    struct import_result *result = telling->feed->result;
    int err = BASE_OK;
    for (size_t i = 0; err == BASE_OK && i < log->count; i++) {
        const struct block_log_entry *entry = &log->entries[i];
        if (!entry->lost)
            continue;
        struct event event = {.kind = EVENT_BLOCK_ALLOC,
                              .addr = entry->addr,
                              .size = entry->size,
                              .heap = telling_place(telling, entry->place) & EVENT_MAX_HEAP};
        if (telling->feed->sizes == SIZES_ASKED_FOR)
            fill_asked(entry->size, &event);
        result->blocks_before++;
        err = telling_give(telling, &event);
    }
    return err;
}

/* Of a place: what its allocator's own sum was before the first event, and what of it is freed. */
struct before {
    bool seen;
    uint64_t bytes, freed;
};

static uint64_t sum_before(const struct block_log_entry *entry)
{
    uint64_t bytes = 0;
    bool odd = entry->allocated == BLOCK_LOG_UNKNOWN;
    odd = odd ||
          (entry->kind == LOG_FREE ? __builtin_add_overflow(entry->allocated, entry->size, &bytes)
                                   : __builtin_sub_overflow(entry->allocated, entry->size, &bytes));
    return odd ? 0 : bytes;
}

static void look_before(const struct block_log *log, struct before *places)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct block_log_entry *entry = &log->entries[i];
        struct before *place = &places[entry->place];
        if (entry->kind != LOG_ALLOC && entry->kind != LOG_FREE)
            continue;
        if (!place->seen)
            *place = (struct before){.seen = true, .bytes = sum_before(entry)};
        if (entry->lost && __builtin_add_overflow(place->freed, entry->size, &place->freed))
            place->freed = UINT64_MAX;
    }
}

/* Its tag keeps it from being taken for a parameter, which it may be only in part. */
static int give_sum(struct telling *telling, uint32_t place, uint64_t bytes)
{
    static const char name[] = "live all the time";
    struct event event = {.kind = EVENT_BLOCK_ALLOC,
                          .addr = BLOCK_LOG_THROUGHOUT,
                          .size = bytes,
                          .heap = telling_place(telling, place) & EVENT_MAX_HEAP};
    int err = telling_give(telling, &event);
    event.kind = EVENT_TAG;
    event.a = CATEGORY_OTHER;
    event.name = telling_text(telling, name, sizeof name - 1);
    telling->feed->result->throughout += bytes;
    return err ? err : telling_give(telling, &event);
}

/* What is live all through the log is in no event of it: one block, by the allocator's own sum. */
static int give_throughout(struct telling *telling)
{
    const struct block_log *log = telling->feed->log;
    if (telling->feed->sizes == SIZES_BOTH)
        return BASE_OK;
    struct before *places = mem_alloc(log->places.item_count + 1, sizeof *places);
    int err = places ? BASE_OK : ERR_NOMEM;
    if (places)
        look_before(log, places);
    for (uint32_t i = 1; err == BASE_OK && i <= log->places.item_count; i++)
        if (places[i].bytes > places[i].freed)
            err = give_sum(telling, i, places[i].bytes - places[i].freed);
    mem_free(places);
    return err;
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
    if (sizes == SIZES_BOTH && entry->kind != LOG_ALLOC)
        return;
    if (entry->kind == LOG_ALLOC && sizes != SIZES_OF_BLOCKS)
        fill_asked(sizes == SIZES_BOTH ? entry->allocated : entry->size, event);
    else
        fill_totals(entry, event);
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
        event->site =
            entry->name ? telling_stack(telling, entry->name) : site_of(telling, entry->thread);
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
        return open_range(telling, entry->thread, step ? 0 : entry->name);
    close_range(telling, entry->thread);
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
            err = give_before(&tellings[i]);
        if (err == BASE_OK)
            err = give_throughout(&tellings[i]);
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
