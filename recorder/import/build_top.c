/* What a snapshot has at its top: segments and events by device, and the host's. */
#include "build.h"
#include "error.h"

/* ---- the whole ---- */

/* The events of one device, in a row: where they are, or as copies behind all others. */
static int trace_of(struct build *build, value v, struct snapshot_trace *trace)
{
    struct snapshot *s = build->snapshot;
    const struct object *list = build_object(build, build_resolve(build, v));
    *trace = (struct snapshot_trace){.first = s->entry_count};
    if (!list || list->kind != OBJECT_LIST)
        return BASE_OK;
    bool one = list->count == 1 && value_kind(list->as.items[0].first) == VALUE_ENTRY;
    if (one)
        *trace =
            (struct snapshot_trace){value_payload(list->as.items[0].first), list->as.items[0].n};
    for (size_t i = 0; !one && i < list->count; i++) {
        struct item item = list->as.items[i];
        for (uint32_t k = 0; value_kind(item.first) == VALUE_ENTRY && k < item.n; k++)
            if (!BUILD_ADD(s, entries, entry_count, entry_cap,
                           s->entries[value_payload(item.first) + k]))
                return ERR_NOMEM;
    }
    if (!one)
        trace->count = s->entry_count - trace->first;
    build_done(build, build_resolve(build, v), value_make(VALUE_OTHER, 0));
    return BASE_OK;
}

static int take_trace(struct build *build, value v)
{
    struct snapshot *s = build->snapshot;
    struct snapshot_trace trace;
    int err = trace_of(build, v, &trace);
    if (err)
        return err;
    return BUILD_ADD(s, traces, trace_count, trace_cap, trace) ? BASE_OK : ERR_NOMEM;
}

static int take_traces(struct build *build, value v)
{
    const struct object *list = build_object(build, v);
    struct snapshot *s = build->snapshot;
    if (!list || list->kind != OBJECT_LIST) {
        build_odd(build);
        return BASE_OK;
    }
    if (list->count > IMPORT_MAX_DEVICES)
        return ERR_LIMIT;
    s->trace_count = 0;
    for (size_t i = 0; i < list->count; i++) {
        int err = take_trace(build, list->as.items[i].first);
        if (err)
            return err;
        list = build_object(build, v);
        if (!list)
            return ERR_CORRUPT;
    }
    build_done(build, v, value_make(VALUE_OTHER, 0));
    return BASE_OK;
}

/* The segments of a list, in a row: where they are, or as copies behind all others. */
static int segments_of(struct build *build, value v, size_t *first, size_t *count)
{
    struct snapshot *s = build->snapshot;
    const struct object *list = build_object(build, v);
    *first = s->segment_count;
    *count = 0;
    if (!list || list->kind != OBJECT_LIST) {
        build_odd(build);
        return BASE_OK;
    }
    if (list->count == 1 && value_kind(list->as.items[0].first) == VALUE_SEGMENT) {
        *first = value_payload(list->as.items[0].first);
        *count = list->as.items[0].n;
    } else {
        for (size_t i = 0; i < list->count; i++) {
            struct item item = list->as.items[i];
            for (uint32_t k = 0; value_kind(item.first) == VALUE_SEGMENT && k < item.n; k++)
                if (!BUILD_ADD(s, segments, segment_count, segment_cap,
                               s->segments[value_payload(item.first) + k]))
                    return ERR_NOMEM;
        }
        *count = s->segment_count - *first;
    }
    build_done(build, v, value_make(VALUE_OTHER, 0));
    return BASE_OK;
}

static bool is_list(struct build *build, value v)
{
    const struct object *list = build_object(build, v);
    return list && list->kind == OBJECT_LIST;
}

static int take_segments(struct build *build, value v)
{
    struct snapshot *s = build->snapshot;
    s->has_segments = s->has_segments || is_list(build, v);
    return segments_of(build, v, &s->listed_first, &s->listed_count);
}

/* ---- pinned memory of the host ---- */

static size_t item_count(struct build *build, value v)
{
    const struct object *list = build_object(build, v);
    return list && list->kind == OBJECT_LIST ? list->count : 0;
}

/* A list of what is no segment has nothing that can be read. */
static int take_host_segments(struct build *build, value v)
{
    struct snapshot *s = build->snapshot;
    bool any = item_count(build, v) > 0, list = is_list(build, v);
    int err = segments_of(build, v, &s->host_first, &s->host_count);
    s->left_host = s->left_host || !list || (any && !s->host_count);
    s->has_host_segments = list && (s->host_count || !any);
    return err;
}

/* The host has one allocator: a list of events, or a list with that list in it. */
static int take_host_trace(struct build *build, value v)
{
    struct snapshot *s = build->snapshot;
    const struct object *list = build_object(build, v);
    size_t count = item_count(build, v), taken = 0;
    s->left_host = s->left_host || !list;
    if (!count)
        return BASE_OK;
    if (value_kind(build_resolve(build, list->as.items[0].first)) == VALUE_ENTRY)
        return trace_of(build, v, &s->host_trace);
    for (size_t i = 0; i < count; i++) {
        struct snapshot_trace trace;
        int err = trace_of(build, list->as.items[i].first, &trace);
        if (err)
            return err;
        if (trace.count && !taken++)
            s->host_trace = trace;
        list = build_object(build, v);
        if (!list)
            return ERR_CORRUPT;
    }
    s->left_host = s->left_host || taken != 1;
    build_done(build, v, value_make(VALUE_OTHER, 0));
    return BASE_OK;
}

int build_set_top(struct build *build, enum key key, value v)
{
    v = build_resolve(build, v);
    switch (key) {
    case KEY_SEGMENTS:
        return take_segments(build, v);
    case KEY_DEVICE_TRACES:
        return take_traces(build, v);
    case KEY_HOST_SEGMENTS:
        return take_host_segments(build, v);
    case KEY_HOST_TRACES:
        return take_host_trace(build, v);
    default:
        return BASE_OK; /* settings were taken when they were sealed, notes are in their array */
    }
}

int build_finish(struct build *build, value top)
{
    value sealed;
    int err = build_seal(build, top, KEY_NONE, &sealed);
    if (err)
        return err;
    if (value_kind(sealed) == VALUE_TOP)
        return BASE_OK;
    const struct object *list = build_object(build, sealed);
    if (list && list->kind == OBJECT_LIST && list->count &&
        value_kind(list->as.items[0].first) == VALUE_SEGMENT)
        return take_segments(build, sealed);
    build->trouble =
        "it is not a snapshot: neither a dictionary with segments or device_traces, nor "
        "a list of segments";
    return ERR_NOTOURS;
}
