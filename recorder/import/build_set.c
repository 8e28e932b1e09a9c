/* The fields of records, by key. A value of another type than its key has is counted and left out,
 * as if the key were missing. */
#include "build.h"
#include "error.h"

bool build_number(struct build *build, value v, uint64_t *out)
{
    *out = 0;
    if (value_kind(v) == VALUE_INT && value_int(v) >= 0) {
        *out = (uint64_t)value_int(v);
        return true;
    }
    build_odd(build);
    return false;
}

static bool string_of(struct build *build, value v, uint32_t *out)
{
    *out = 0;
    if (value_kind(v) == VALUE_STRING) {
        *out = (uint32_t)value_payload(v);
        return true;
    }
    build_odd(build);
    return false;
}

/* ---- which record ---- */

enum value_kind build_shape(const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch ((enum key)pairs[i].key) {
        case KEY_ACTION:
            return VALUE_ENTRY;
        case KEY_STATE:
        case KEY_REAL_SIZE:
            return VALUE_BLOCK;
        case KEY_BLOCKS:
        case KEY_TOTAL_SIZE:
            return VALUE_SEGMENT;
        case KEY_STAGE:
            return VALUE_NOTE;
        case KEY_SEGMENTS:
        case KEY_DEVICE_TRACES:
        case KEY_ALLOCATOR_SETTINGS:
        case KEY_EXTERNAL_ANNOTATIONS:
            return VALUE_TOP;
        default:
            break;
        }
    }
    return VALUE_OBJECT;
}

int build_new_record(struct build *build, enum value_kind kind, value *out)
{
    struct snapshot *s = build->snapshot;
    bool added = true;
    size_t at = 0;
    if (kind == VALUE_ENTRY) {
        at = s->entry_count;
        added = BUILD_ADD(s, entries, entry_count, entry_cap, (struct trace_entry){0});
    } else if (kind == VALUE_BLOCK) {
        at = s->block_count;
        added = BUILD_ADD(s, blocks, block_count, block_cap,
                          (struct snapshot_block){.requested = SNAPSHOT_NOT_KNOWN});
    } else if (kind == VALUE_SEGMENT) {
        at = s->segment_count;
        added = BUILD_ADD(s, segments, segment_count, segment_cap, (struct snapshot_segment){0});
    } else if (kind == VALUE_NOTE) {
        at = s->note_count;
        added = BUILD_ADD(s, notes, note_count, note_cap, (struct snapshot_note){0});
    }
    if (!added || at >= UINT32_MAX)
        return ERR_NOMEM;
    *out = value_make(kind, at);
    return BASE_OK;
}

/* ---- an event of a trace ---- */

static unsigned action_of(value v)
{
    static const struct {
        enum key key;
        enum trace_action action;
    } actions[] = {
        {KEY_IS_ALLOC, TRACE_ALLOC},
        {KEY_IS_FREE_REQUESTED, TRACE_FREE_REQUESTED},
        {KEY_IS_FREE_COMPLETED, TRACE_FREE_COMPLETED},
        {KEY_IS_SEGMENT_ALLOC, TRACE_SEGMENT_ALLOC},
        {KEY_IS_SEGMENT_FREE, TRACE_SEGMENT_FREE},
        {KEY_IS_SEGMENT_MAP, TRACE_SEGMENT_MAP},
        {KEY_IS_SEGMENT_UNMAP, TRACE_SEGMENT_UNMAP},
        {KEY_IS_SNAPSHOT, TRACE_SNAPSHOT},
        {KEY_IS_OOM, TRACE_OOM},
        {KEY_IS_ANNOTATE, TRACE_ANNOTATE},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (v == value_make(VALUE_STRING, actions[i].key))
            return actions[i].action;
    return TRACE_NONE;
}

/* Stream and pool come by different keys; the device is known when its list is read. */
static int set_place(struct build *build, struct trace_entry *entry, const uint64_t *stream,
                     uint32_t pool)
{
    struct snapshot_place place = snapshot_place_at(build->snapshot, entry->place);
    if (stream)
        place.stream = *stream;
    else
        place.pool = pool;
    uint32_t id = snapshot_place(build->snapshot, 0, place.stream, place.pool);
    entry->place = id & 0xffffff;
    return id ? BASE_OK : ERR_NOMEM;
}

static void text_or_none(struct build *build, value v, uint32_t *out)
{
    if (value_kind(v) == VALUE_NONE)
        *out = 0;
    else
        string_of(build, v, out);
}

static int set_entry(struct build *build, size_t at, enum key key, value v)
{
    struct trace_entry *entry = &build->snapshot->entries[at];
    uint64_t number;
    switch (key) {
    case KEY_ACTION:
        entry->action = action_of(v) & 0x7f;
        break;
    case KEY_ADDR:
        build_number(build, v, &entry->addr);
        break;
    case KEY_SIZE:
        build_number(build, v, &entry->size);
        break;
    case KEY_TIME_US:
        if (build_number(build, v, &number) && number < INT64_MAX / 1000)
            entry->time_us = (int64_t)number;
        break;
    case KEY_STREAM:
        return build_number(build, v, &number) ? set_place(build, entry, &number, 0) : BASE_OK;
    case KEY_POOL_ID:
        if (value_kind(v) == VALUE_PAIR)
            return set_place(build, entry, NULL, (uint32_t)value_payload(v));
        break;
    case KEY_USER_METADATA:
        text_or_none(build, v, &entry->user);
        break;
    case KEY_COMPILE_CONTEXT:
        text_or_none(build, v, &entry->compiled);
        break;
    case KEY_FRAMES:
        if (value_kind(v) == VALUE_SITE)
            entry->site = (uint32_t)value_payload(v);
        else
            build_odd(build);
        break;
    default:
        break;
    }
    return BASE_OK;
}

/* ---- a block ---- */

static void set_state(struct build *build, struct snapshot_block *block, value v)
{
    block->life = BLOCK_INACTIVE;
    if (v == value_make(VALUE_STRING, KEY_IS_ACTIVE))
        block->life = BLOCK_ACTIVE;
    else if (v == value_make(VALUE_STRING, KEY_IS_PENDING) ||
             v == value_make(VALUE_STRING, KEY_IS_AWAITING))
        block->life = BLOCK_PENDING;
    else if (v != value_make(VALUE_STRING, KEY_IS_INACTIVE))
        build_odd(build);
}

/* The old form: a list of {real_size, frames}, the first one the newest. */
static void set_history(struct build *build, struct snapshot_block *block, value v)
{
    const struct object *list = build_object(build, v);
    if (!list || list->kind != OBJECT_LIST || !list->count)
        return;
    value first = list->as.items[0].first;
    if (value_kind(first) == VALUE_BLOCK) {
        const struct snapshot_block *from = &build->snapshot->blocks[value_payload(first)];
        block->requested = from->requested;
        block->site = from->site;
    }
    build_done(build, v, value_make(VALUE_OTHER, 0));
}

static void set_block(struct build *build, size_t at, enum key key, value v)
{
    struct snapshot_block *block = &build->snapshot->blocks[at];
    switch (key) {
    case KEY_ADDRESS:
        build_number(build, v, &block->address);
        break;
    case KEY_SIZE:
        build_number(build, v, &block->size);
        break;
    case KEY_REQUESTED_SIZE:
    case KEY_REAL_SIZE:
        if (!build_number(build, v, &block->requested))
            block->requested = SNAPSHOT_NOT_KNOWN;
        break;
    case KEY_STATE:
        set_state(build, block, v);
        break;
    case KEY_FRAMES:
        if (value_kind(v) == VALUE_SITE)
            block->site = (uint32_t)value_payload(v);
        break;
    case KEY_HISTORY:
        set_history(build, block, v);
        break;
    default:
        break;
    }
}

/* ---- a segment ---- */

/* The blocks of a list, in a row: where they are, or as copies behind all others. */
static int take_blocks(struct build *build, size_t segment, value v)
{
    struct snapshot *s = build->snapshot;
    const struct object *list = build_object(build, v);
    if (!list || list->kind != OBJECT_LIST) {
        build_odd(build);
        return BASE_OK;
    }
    size_t first = s->block_count;
    if (list->count == 1 && value_kind(list->as.items[0].first) == VALUE_BLOCK) {
        s->segments[segment].first_block = (uint32_t)value_payload(list->as.items[0].first);
        s->segments[segment].block_count = list->as.items[0].n;
    } else {
        for (size_t i = 0; i < list->count; i++) {
            struct item item = list->as.items[i];
            if (value_kind(item.first) != VALUE_BLOCK)
                continue;
            for (uint32_t k = 0; k < item.n; k++)
                if (!BUILD_ADD(s, blocks, block_count, block_cap,
                               s->blocks[value_payload(item.first) + k]))
                    return ERR_NOMEM;
        }
        s->segments[segment].first_block = (uint32_t)first;
        s->segments[segment].block_count = (uint32_t)(s->block_count - first);
    }
    build_done(build, v, value_make(VALUE_OTHER, 0));
    return s->block_count < UINT32_MAX ? BASE_OK : ERR_LIMIT;
}

static int set_segment(struct build *build, size_t at, enum key key, value v)
{
    struct snapshot_segment *segment = &build->snapshot->segments[at];
    uint64_t number;
    switch (key) {
    case KEY_ADDRESS:
        build_number(build, v, &segment->address);
        break;
    case KEY_TOTAL_SIZE:
        build_number(build, v, &segment->size);
        break;
    case KEY_STREAM:
        build_number(build, v, &segment->stream);
        break;
    case KEY_DEVICE:
        if (!build_number(build, v, &number))
            break;
        if (number >= IMPORT_MAX_DEVICES)
            return ERR_LIMIT;
        segment->device = (uint32_t)number;
        break;
    case KEY_SEGMENT_POOL_ID:
        if (value_kind(v) == VALUE_PAIR)
            segment->pool = (uint32_t)value_payload(v);
        break;
    case KEY_IS_EXPANDABLE:
        segment->expandable = value_kind(v) == VALUE_BOOL && value_payload(v);
        break;
    case KEY_FRAMES:
        if (value_kind(v) == VALUE_SITE)
            segment->site = (uint32_t)value_payload(v);
        break;
    case KEY_BLOCKS:
        return take_blocks(build, at, v);
    default:
        break;
    }
    return BASE_OK;
}

/* ---- half an annotation ---- */

static void set_note(struct build *build, size_t at, enum key key, value v)
{
    struct snapshot_note *note = &build->snapshot->notes[at];
    uint64_t number;
    switch (key) {
    case KEY_NAME:
        string_of(build, v, &note->name);
        break;
    case KEY_STAGE:
        note->end = v == value_make(VALUE_STRING, KEY_IS_END);
        note->known = note->end || v == value_make(VALUE_STRING, KEY_IS_START);
        break;
    case KEY_TIME_US:
        if (build_number(build, v, &number) && number < INT64_MAX / 1000)
            note->time_us = (int64_t)number;
        break;
    default:
        break;
    }
}

/* ---- settings ---- */

void build_roundup(struct build *build, const struct object *dict)
{
    struct alloc_config *config = &build->snapshot->settings.config;
    for (size_t i = 0; i < dict->count; i++) {
        const struct pair *pair = &dict->as.pairs[i];
        uint64_t divisions;
        if (pair->key < KEY_COUNT || !build_number(build, pair->value, &divisions))
            continue;
        size_t slot = pair->key - KEY_COUNT;
        if (divisions <= UINT32_MAX && !(divisions & (divisions - 1)))
            config->roundup[slot] = (uint32_t)divisions;
        else
            build_odd(build);
    }
}

static void set_size(struct build *build, value v, uint64_t *size)
{
    if (value_kind(v) == VALUE_HUGE || (value_kind(v) == VALUE_INT && value_int(v) == -1))
        *size = UINT64_MAX;
    else if (value_kind(v) == VALUE_INT && value_int(v) > 0)
        *size = (uint64_t)value_int(v);
    else
        build_odd(build);
}

void build_settings(struct build *build, const struct pair *pairs, size_t count)
{
    struct snapshot_settings *settings = &build->snapshot->settings;
    settings->seen = true;
    for (size_t i = 0; i < count; i++) {
        value v = pairs[i].value;
        double threshold;
        switch (pairs[i].key) {
        case KEY_ALLOC_CONF:
            settings->cuda = true;
            string_of(build, v, &settings->conf);
            break;
        case KEY_XPU_ALLOC_CONF:
            settings->xpu = true;
            if (!settings->cuda)
                string_of(build, v, &settings->conf);
            break;
        case KEY_MAX_SPLIT_SIZE:
            set_size(build, v, &settings->config.max_split_size);
            break;
        case KEY_LARGE_SEGMENT_SIZE:
            set_size(build, v, &settings->config.large_segment_size);
            break;
        case KEY_MAX_NON_SPLIT_ROUNDING:
            set_size(build, v, &settings->config.max_non_split_rounding);
            break;
        case KEY_GC_THRESHOLD:
            threshold = value_real(v);
            if (threshold > 0 && threshold < 1)
                settings->config.gc_threshold = threshold;
            break;
        case KEY_OVERFLOWED:
            settings->overflowed = v == value_make(VALUE_BOOL, 1);
            break;
        case KEY_MAX_ENTRIES:
            build_number(build, v, &settings->max_entries);
            break;
        case KEY_EXPANDABLE_SEGMENTS:
            settings->config.expandable_segments = v == value_make(VALUE_BOOL, 1);
            break;
        default:
            break;
        }
    }
}

int build_set_field(struct build *build, value record, enum key key, value v)
{
    size_t at = value_payload(record);
    switch (value_kind(record)) {
    case VALUE_ENTRY:
        return set_entry(build, at, key, v);
    case VALUE_BLOCK:
        set_block(build, at, key, v);
        return BASE_OK;
    case VALUE_SEGMENT:
        return set_segment(build, at, key, v);
    case VALUE_NOTE:
        set_note(build, at, key, v);
        return BASE_OK;
    default:
        return build_set_top(build, key, v);
    }
}
