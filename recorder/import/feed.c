#include "feed.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"

#define FEED_THREAD 1u /* a snapshot does not tell threads apart */

/* ---- time ---- */

int64_t feed_base_us(const struct snapshot *snapshot)
{
    int64_t base = INT64_MAX;
    for (size_t d = 0; d < snapshot->trace_count; d++)
        for (size_t i = 0; i < snapshot->traces[d].count; i++) {
            int64_t at = snapshot->entries[snapshot->traces[d].first + i].time_us;
            if (at && at < base)
                base = at;
        }
    for (size_t i = 0; i < snapshot->note_count; i++)
        if (snapshot->notes[i].time_us && snapshot->notes[i].time_us < base)
            base = snapshot->notes[i].time_us;
    return base == INT64_MAX ? 0 : base;
}

/* What has no time happened when the one before did. */
static uint64_t time_ns(struct feed *feed, int64_t at_us)
{
    if (at_us > feed->now_us)
        feed->now_us = at_us;
    return (uint64_t)(feed->now_us - feed->base_us) * 1000;
}

struct event feed_event(struct feed *feed, enum event_kind kind, int64_t at_us)
{
    return (struct event){
        .kind = (uint64_t)kind & 0xff, .time_ns = time_ns(feed, at_us), .thread = FEED_THREAD};
}

int feed_give(struct feed *feed, const struct event *event)
{
    state_event(feed->process, event);
    return state_wants_flush(feed->state) ? feed->flush(feed->self) : BASE_OK;
}

/* ---- what was there before ---- */

static int give_segment(struct feed *feed, const struct rebuild_segment *segment)
{
    struct event event = feed_event(feed, EVENT_SEGMENT_ALLOC, 0);
    event.flags = segment->expandable ? EVENT_F_MAP : 0;
    event.addr = segment->address;
    event.size = segment->size;
    event.site = feed_site(feed, segment->site);
    event.heap = feed_place(feed, segment->place) & EVENT_MAX_HEAP;
    feed->counts.segments_before++;
    return feed_give(feed, &event);
}

static int give_block(struct feed *feed, const struct rebuild_block *block, bool exact)
{
    struct event event = feed_event(feed, EVENT_BLOCK_ALLOC, 0);
    event.addr = block->address;
    event.size = block->size;
    if (block->requested != SNAPSHOT_NOT_KNOWN && !exact) {
        event.flags = EVENT_F_REQUESTED;
        event.a = block->requested;
    }
    event.site = feed_site(feed, block->site);
    event.heap = feed_place(feed, block->place) & EVENT_MAX_HEAP;
    feed->counts.blocks_before++;
    int err = feed_give(feed, &event);
    if (err || !block->pending)
        return err;
    event.kind = EVENT_BLOCK_FREE;
    event.flags = EVENT_F_WAITS;
    return feed_give(feed, &event);
}

static int give_first(struct feed *feed)
{
    int err = BASE_OK;
    for (size_t d = 0; d < feed->device_count; d++) {
        const struct rebuild *rebuild = &feed->rebuilds[d];
        for (size_t i = 0; err == BASE_OK && i < rebuild->first_segment_count; i++)
            err = give_segment(feed, &rebuild->first_segments[i]);
        for (size_t i = 0; err == BASE_OK && i < rebuild->first_block_count; i++)
            err = give_block(feed, &rebuild->first_blocks[i], rebuild->exact);
    }
    feed->counts.rebuilt_until = feed->counts.blocks_before ? state_seq(feed->state) : 0;
    return err;
}

/* ---- settings ---- */

/* One number for all sizes, or one for each from 1 MiB on. */
static void add_roundup(struct buf *out, const struct alloc_config *config)
{
    bool same = true, any = false;
    for (size_t i = 0; i < ALLOC_ROUNDUP_SLOTS; i++) {
        same = same && config->roundup[i] == config->roundup[0];
        any = any || config->roundup[i] > 1;
    }
    if (!any)
        return;
    if (same) {
        buf_print(out, ",roundup_power2_divisions:%u", config->roundup[0]);
        return;
    }
    for (size_t i = 0; i < ALLOC_ROUNDUP_SLOTS; i++)
        buf_print(out, "%s%u:%u", i ? "," : ",roundup_power2_divisions:[", 1u << i,
                  config->roundup[i]);
    buf_text(out, "]");
}

/* The string itself is what counts; expandable_segments survives a string that does not name it. */
void feed_conf(const struct snapshot *snapshot, struct buf *out)
{
    const struct alloc_config *config = &snapshot->settings.config;
    const char *given = snapshot_text(snapshot, snapshot->settings.conf);
    buf_print(out, "%s%s", *given ? "," : "", given);
    if (config->expandable_segments && !strstr(given, "expandable_segments"))
        buf_text(out, ",expandable_segments:True");
    if (*given)
        return;
    if (config->max_split_size != UINT64_MAX)
        buf_print(out, ",max_split_size_mb:%llu",
                  (unsigned long long)(config->max_split_size >> 20));
    if (config->gc_threshold > 0)
        buf_print(out, ",garbage_collection_threshold:%g", config->gc_threshold);
    if (config->large_segment_size != ALLOC_LARGE_SEGMENT)
        buf_print(out, ",large_segment_size_mb:%llu",
                  (unsigned long long)(config->large_segment_size >> 20));
    add_roundup(out, config);
}

static int give_setting(struct feed *feed, const char *key, const char *value)
{
    struct buf text = {0};
    struct event event = feed_event(feed, EVENT_MARK, 0);
    buf_print(&text, "%s=%s", key, value);
    bool broken = text.broken;
    event.flags = EVENT_F_SETTING;
    event.name = broken ? 0 : feed_text(feed, buf_string(&text), text.count);
    buf_clear(&text);
    return broken ? ERR_NOMEM : feed_give(feed, &event);
}

static int give_settings(struct feed *feed)
{
    struct buf conf = {0};
    char number[32];
    int err = give_setting(feed, "allocator", "pytorch");
    if (err == BASE_OK)
        err = give_setting(feed, "waiting", "1");
    feed_conf(feed->snapshot, &conf);
    snprintf(number, sizeof number, "%lld", (long long)feed->counts.rebuilt_until);
    if (err == BASE_OK && feed->snapshot->settings.seen)
        err = conf.broken
                  ? ERR_NOMEM
                  : give_setting(feed, "alloc_conf", conf.count ? buf_string(&conf) + 1 : "");
    if (err == BASE_OK && feed->counts.rebuilt_until)
        err = give_setting(feed, "rebuilt_until", number);
    snprintf(number, sizeof number, "%llu",
             (unsigned long long)feed->snapshot->settings.max_entries);
    if (err == BASE_OK && feed->snapshot->settings.overflowed)
        err = give_setting(feed, "history_overflowed", number);
    if (err == BASE_OK && snapshot_is_xpu(feed->snapshot))
        err = give_setting(feed, "device_kind", "xpu");
    if (err == BASE_OK)
        err = give_setting(feed, "imported_from", feed->source);
    buf_clear(&conf);
    return err;
}

/* ---- events of the trace ---- */

/* A free that is completed by the very next event of the device never waited. */
static bool waits(const struct rebuild *rebuild, size_t at)
{
    const struct trace_entry *entry = &rebuild->entries[at];
    if (entry->lost)
        return false;
    if (at + 1 >= rebuild->entry_count)
        return true;
    const struct trace_entry *next = entry + 1;
    return next->action != TRACE_FREE_COMPLETED || next->addr != entry->addr;
}

static bool completes_at_once(const struct rebuild *rebuild, size_t at)
{
    return at > 0 && rebuild->entries[at - 1].action == TRACE_FREE_REQUESTED &&
           rebuild->entries[at - 1].addr == rebuild->entries[at].addr;
}

static void fill_block(struct feed *feed, const struct trace_entry *entry, bool exact,
                       struct event *event)
{
    event->kind = EVENT_BLOCK_ALLOC;
    event->flags = exact ? 0 : EVENT_F_REQUESTED;
    event->size = entry->block;
    event->a = exact ? 0 : entry->size;
    feed->counts.blocks++;
}

static void fill_segment(struct feed *feed, const struct trace_entry *entry, struct event *event)
{
    bool gets = entry->action == TRACE_SEGMENT_ALLOC || entry->action == TRACE_SEGMENT_MAP;
    bool maps = entry->action == TRACE_SEGMENT_MAP || entry->action == TRACE_SEGMENT_UNMAP;
    event->kind = gets ? EVENT_SEGMENT_ALLOC : EVENT_SEGMENT_FREE;
    event->flags = maps ? EVENT_F_MAP : 0;
    event->size = entry->size;
    feed->counts.segments += gets;
}

/* A mark by the name that was attached, with the block's address. */
static void fill_annotation(struct feed *feed, const struct trace_entry *entry, struct event *event)
{
    uint32_t name = feed_string(feed, entry->user);
    event->kind = EVENT_MARK;
    event->addr = event->site = 0;
    event->a = entry->addr;
    event->name = name ? name : feed_text(feed, "annotate", strlen("annotate"));
}

/* False: there is nothing to tell. */
static bool fill(struct feed *feed, const struct rebuild *rebuild, size_t at, struct event *event)
{
    const struct trace_entry *entry = &rebuild->entries[at];
    switch ((enum trace_action)entry->action) {
    case TRACE_ALLOC:
        fill_block(feed, entry, rebuild->exact, event);
        return true;
    case TRACE_FREE_REQUESTED:
        event->kind = EVENT_BLOCK_FREE;
        event->flags = waits(rebuild, at) ? EVENT_F_WAITS : 0;
        return true;
    case TRACE_FREE_COMPLETED:
        event->kind = entry->lost ? EVENT_BLOCK_FREE : EVENT_BLOCK_IDLE;
        return entry->lost || !completes_at_once(rebuild, at);
    case TRACE_SEGMENT_ALLOC:
    case TRACE_SEGMENT_FREE:
    case TRACE_SEGMENT_MAP:
    case TRACE_SEGMENT_UNMAP:
        fill_segment(feed, entry, event);
        return true;
    case TRACE_OOM:
        event->kind = EVENT_OOM;
        event->size = entry->size;
        event->addr = 0;
        feed->counts.oom++;
        return true;
    case TRACE_SNAPSHOT:
        event->kind = EVENT_MARK;
        event->a = entry->size;
        event->addr = 0;
        event->name = feed_text(feed, "snapshot", strlen("snapshot"));
        return true;
    case TRACE_ANNOTATE:
        fill_annotation(feed, entry, event);
        return true;
    default:
        return false;
    }
}

static int give_entry(struct feed *feed, size_t device)
{
    const struct rebuild *rebuild = &feed->rebuilds[device];
    int err = feed_texts_before_entry(feed, device);
    size_t at = feed->next[device]++;
    const struct trace_entry *entry = &rebuild->entries[at];
    struct event event = feed_event(feed, EVENT_NONE, entry->time_us);
    event.addr = entry->addr;
    event.site = feed_site(feed, entry->site);
    feed->counts.events++;
    if (err || !fill(feed, rebuild, at, &event))
        return err;
    event.heap = feed_place(feed, entry->place) & EVENT_MAX_HEAP;
    return feed_give(feed, &event);
}

/* ---- annotations ---- */

static int tell_note(struct feed *feed, size_t at)
{
    const struct snapshot_note *note = &feed->snapshot->notes[at];
    uint64_t number = 0;
    bool end = note->end;
    struct event event = feed_event(feed, EVENT_NONE, note->time_us);
    event.thread = FEED_THREAD + feed->notes.at[at].lane;
    switch (feed_note_kind(snapshot_text(feed->snapshot, note->name), &number)) {
    case NOTE_IS_STEP:
        event.kind = end ? EVENT_STEP_END : EVENT_STEP_BEGIN;
        event.a = number;
        break;
    case NOTE_IS_OPTIMIZER:
    case NOTE_IS_ZERO_GRAD:
        event.kind = end ? EVENT_EXIT : EVENT_ENTER;
        event.size =
            feed_note_kind(snapshot_text(feed->snapshot, note->name), &number) == NOTE_IS_OPTIMIZER
                ? MARK_OPTIMIZER
                : MARK_ZERO_GRAD;
        event.a = number;
        break;
    default:
        event.kind = end ? EVENT_PHASE_END : EVENT_PHASE_BEGIN;
        event.name = feed_string(feed, note->name);
    }
    return feed_give(feed, &event);
}

static int give_note(struct feed *feed, size_t device)
{
    size_t at = feed->notes.next++;
    bool own = feed->notes.at[at].lane == 0;
    if (feed->notes.at[at].skipped)
        return BASE_OK;
    int err = own ? feed_texts_before_note(feed, at, device) : BASE_OK;
    if (err == BASE_OK)
        err = tell_note(feed, at);
    return err || !own ? err : feed_texts_after_note(feed, at);
}

/* ---- merging ---- */

static size_t earliest(const struct feed *feed)
{
    size_t best = feed->device_count;
    int64_t best_us = 0;
    for (size_t d = 0; d < feed->device_count; d++) {
        if (feed->next[d] >= feed->rebuilds[d].entry_count)
            continue;
        int64_t at = feed->rebuilds[d].entries[feed->next[d]].time_us;
        if (best == feed->device_count || at < best_us) {
            best = d;
            best_us = at;
        }
    }
    return best;
}

/* At the same microsecond a phase begins before the event, and ends after it. */
static bool note_is_next(const struct feed *feed, size_t device)
{
    if (feed->notes.next >= feed->notes.count)
        return false;
    if (device == feed->device_count)
        return true;
    const struct snapshot_note *note = &feed->snapshot->notes[feed->notes.next];
    int64_t at = feed->rebuilds[device].entries[feed->next[device]].time_us;
    return note->end ? note->time_us < at : note->time_us <= at;
}

static int give_all(struct feed *feed)
{
    int err = BASE_OK;
    while (err == BASE_OK) {
        size_t device = earliest(feed);
        if (note_is_next(feed, device))
            err = give_note(feed, device);
        else if (device == feed->device_count)
            break;
        else
            err = give_entry(feed, device);
    }
    return err ? err : feed_texts_before_entry(feed, feed->device_count);
}

/* ---- the end ---- */

/* Blocks that are gone at the end, though no event says when: they end now, and that is a loss. */
static int give_gone(struct feed *feed)
{
    struct state_loss loss = {.last_ns = time_ns(feed, 0)};
    int err = BASE_OK;
    for (size_t d = 0; d < feed->device_count; d++) {
        const struct rebuild *rebuild = &feed->rebuilds[d];
        loss.by_kind[EVENT_BLOCK_FREE] += rebuild->counts.allocs_lost;
        for (size_t i = 0; err == BASE_OK && i < rebuild->gone_count; i++) {
            struct event event = feed_event(feed, EVENT_BLOCK_FREE, 0);
            event.addr = rebuild->gone[i].address;
            event.heap = feed_place(feed, rebuild->gone[i].place) & EVENT_MAX_HEAP;
            err = feed_give(feed, &event);
        }
    }
    if (loss.by_kind[EVENT_BLOCK_FREE])
        state_lost(feed->process, &loss);
    return err;
}

int feed_run(struct feed *feed)
{
    struct state_hello hello = {
        .parent = BATCH_NULL,
        .origin = "import",
        .rank = BATCH_NULL,
        .local_rank = BATCH_NULL,
        .world_size = BATCH_NULL,
        .live = "PyTorch snapshot",
    };
    feed->base_us = feed->now_us = feed_base_us(feed->snapshot);
    feed->process = state_process_begin(feed->state, &hello);
    feed->next = mem_alloc(feed->device_count, sizeof *feed->next);
    int err = feed->process && feed->next ? feed_define_begin(feed) : ERR_NOMEM;
    if (err == BASE_OK)
        err = feed_notes_pair(&feed->notes, feed->snapshot);
    if (err == BASE_OK)
        err = feed_texts_begin(feed);
    if (err == BASE_OK)
        err = give_first(feed);
    if (err == BASE_OK)
        err = give_settings(feed);
    if (err == BASE_OK)
        err = give_all(feed);
    if (err == BASE_OK)
        err = give_gone(feed);
    struct state_end end = {.at_ns = time_ns(feed, 0),
                            .ended = "unknown",
                            .exit_code = BATCH_NULL,
                            .signal = BATCH_NULL};
    if (feed->process)
        state_process_end(feed->process, &end);
    mem_free(feed->next);
    feed_texts_clear(&feed->texts);
    feed_define_clear(feed);
    return err;
}
