/*
 * Perfetto: a trace of packets, each a message on its own, so that it is written as it is read.
 * Counters, steps and phases, refused requests; the blocks of one moment as a heap profile; and
 * blocks from a size on, each an instant with its call stack and its bytes as weight, which the
 * viewer sums up over any stretch that is marked.
 *
 * Times are the machine's CLOCK_BOOTTIME, as other traces of it have. Texts, frames and stacks are
 * sent once, before or with the first packet that names them by number.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "category.h"
#include "error.h"
#include "export.h"
#include "held.h"
#include "human.h"
#include "living.h"
#include "mem.h"
#include "moment.h"
#include "over_time.h"
#include "peak.h"
#include "proto.h"
#include "query.h"
#include "span.h"
#include "stack.h"

#define TRACE_PACKET 1
enum packet_field {
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_PROFILE = 37,
    PACKET_TRACK = 60
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3, COUNTER_AXIS = 7, UNIT_BYTES = 3 };
enum event_field {
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_VALUE = 30,
    EVENT_STACK = 56,
    EVENT_WEIGHT = 57
};
enum event_type { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };
enum { ANNOTATION_INT = 4, ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };
enum { INTERNED_FUNCTION = 5, INTERNED_FRAME = 6, INTERNED_STACK = 7, INTERNED_PATH = 18 };
enum { STRING_ID = 1, STRING_TEXT = 2 };
enum { FRAME_ID = 1, FRAME_FUNCTION = 2, FRAME_PATH = 5, FRAME_LINE = 6, FRAME_KIND = 7 };
enum { KIND_INTERPRETED = 3 };
enum { STACK_ID = 1, STACK_FRAME = 2 };
enum { PROFILE_DUMP = 5, PROFILE_INDEX = 7 };
enum { DUMP_PID = 1, DUMP_SAMPLE = 2, DUMP_TIME = 9, DUMP_HEAP = 11 };
enum { SAMPLE_STACK = 1, SAMPLE_BYTES = 2, SAMPLE_BLOCKS = 5 };

/* Which row of a process a track is; with the process, and a device or a thread, its uuid. */
enum track { TRACK_OF_PROCESS, TRACK_STEPS, TRACK_PHASES, TRACK_OOM, TRACK_BLOCKS, TRACK_COUNTERS };

#define UNKNOWN_FRAME INT64_MAX /* stands for a stack without frames; no frame.id */

struct writing {
    struct export *export;
    struct buf packet, part, inner, interned;
    struct numbered frames, stacks, tracks;
    struct stack stack;
    int64_t boot_ns; /* when the run began */
    bool begun;
    uint64_t profiles;
};

/* ---- packets ---- */

static void put_packet(struct writing *writing, int64_t at_ns)
{
    struct buf whole = {0};
    uint64_t time = (uint64_t)at_ns + (uint64_t)writing->boot_ns;
    if (writing->interned.count || writing->interned.broken)
        proto_message(&writing->packet, PACKET_INTERNED, &writing->interned);
    proto_uint(&writing->packet, PACKET_TIME, time);
    proto_uint(&writing->packet, PACKET_SEQUENCE, 1);
    proto_uint(&writing->packet, PACKET_FLAGS, writing->begun ? FLAG_NEEDS : FLAG_CLEARED);
    writing->begun = true;
    proto_message(&whole, TRACE_PACKET, &writing->packet);
    out_buf(writing->export->out, &whole);
    buf_clear(&whole);
}

static void put_event(struct writing *writing, int64_t at_ns)
{
    proto_message(&writing->packet, PACKET_EVENT, &writing->part);
    put_packet(writing, at_ns);
}

static void begin_event(struct writing *writing, enum event_type type, uint64_t track)
{
    proto_uint(&writing->part, EVENT_TYPE, type);
    proto_uint(&writing->part, EVENT_TRACK, track);
}

static void annotate_int(struct writing *writing, const char *name, int64_t value)
{
    if (value == OVER_TIME_NONE)
        return;
    proto_text(&writing->inner, ANNOTATION_NAME, name);
    proto_int(&writing->inner, ANNOTATION_INT, value);
    proto_message(&writing->part, EVENT_ANNOTATION, &writing->inner);
}

static void annotate_text(struct writing *writing, const char *name, const char *value)
{
    proto_text(&writing->inner, ANNOTATION_NAME, name);
    proto_text(&writing->inner, ANNOTATION_TEXT, value);
    proto_message(&writing->part, EVENT_ANNOTATION, &writing->inner);
}

/* ---- tracks ---- */

static uint64_t uuid_of(int64_t process, unsigned track, int64_t sub)
{
    return (uint64_t)process << 40 | (uint64_t)track << 32 | (uint32_t)sub;
}

static void put_track(struct writing *writing, uint64_t uuid, int64_t process, const char *name)
{
    proto_uint(&writing->part, TRACK_UUID, uuid);
    proto_text(&writing->part, TRACK_NAME, name);
    proto_uint(&writing->part, TRACK_PARENT, uuid_of(process, TRACK_OF_PROCESS, 0));
    proto_message(&writing->packet, PACKET_TRACK, &writing->part);
    put_packet(writing, 0);
}

/* The track's uuid; the first time it is described. */
static uint64_t need_track(struct writing *writing, int64_t process, unsigned track, int64_t sub,
                           const char *name)
{
    uint64_t uuid = uuid_of(process, track, sub);
    size_t number;
    bool is_new;
    if (!numbered_put(&writing->tracks, (int64_t)uuid, &number, &is_new))
        writing->packet.broken = true;
    if (is_new)
        put_track(writing, uuid, process, name);
    return uuid;
}

static int put_process(struct writing *writing, const struct report_process *process)
{
    char *name;
    int err = over_time_process_name(writing->export->report, process, &name);
    if (err < 0)
        return err;
    proto_int(&writing->inner, PROCESS_PID, over_time_pid(writing->export->report, process));
    proto_text(&writing->inner, PROCESS_NAME, name ? name : "?");
    proto_uint(&writing->part, TRACK_UUID, uuid_of(process->id, TRACK_OF_PROCESS, 0));
    proto_message(&writing->part, TRACK_PROCESS, &writing->inner);
    proto_message(&writing->packet, PACKET_TRACK, &writing->part);
    put_packet(writing, 0);
    mem_free(name);
    return 0;
}

/* Counters of one device share an axis, so that allocated is seen under reserved. */
static uint64_t need_counter(struct writing *writing, const struct report_scope *scope,
                             enum over_time_counter counter)
{
    uint64_t uuid = uuid_of(scope->process.id, TRACK_COUNTERS + counter, scope->device);
    char name[64];
    size_t number;
    bool is_new;
    if (!numbered_put(&writing->tracks, (int64_t)uuid, &number, &is_new))
        writing->packet.broken = true;
    if (!is_new)
        return uuid;
    snprintf(name, sizeof name, "%s %s", over_time_counter_name(counter), scope->device_text);
    proto_uint(&writing->inner, COUNTER_UNIT, UNIT_BYTES);
    proto_text(&writing->inner, COUNTER_AXIS, scope->device_text);
    proto_message(&writing->part, TRACK_COUNTER, &writing->inner);
    put_track(writing, uuid, scope->process.id, name);
    return uuid;
}

/* ---- over time ---- */

static int put_point(void *self, const struct report_scope *scope, enum over_time_counter counter,
                     int64_t at_ns, int64_t value)
{
    struct writing *writing = self;
    uint64_t track = need_counter(writing, scope, counter);
    begin_event(writing, EVENT_COUNTER, track);
    proto_int(&writing->part, EVENT_VALUE, value);
    put_event(writing, at_ns);
    return 0;
}

static uint64_t track_of(struct writing *writing, const struct over_time_slice *slice)
{
    char name[64] = "phases";
    bool apart = !slice->is_step && slice->thread != OVER_TIME_NONE;
    if (apart)
        snprintf(name, sizeof name, "phases of thread %" PRId64, slice->thread);
    return need_track(writing, slice->process->id, slice->is_step ? TRACK_STEPS : TRACK_PHASES,
                      apart ? slice->thread : 0, slice->is_step ? "steps" : name);
}

static int put_slice(void *self, const struct over_time_slice *slice)
{
    struct writing *writing = self;
    uint64_t track = track_of(writing, slice);
    begin_event(writing, EVENT_BEGIN, track);
    proto_text(&writing->part, EVENT_NAME, slice->name);
    annotate_text(writing, "kind", slice->kind);
    annotate_int(writing, "step", slice->step);
    put_event(writing, slice->begin_ns);
    begin_event(writing, EVENT_END, track);
    put_event(writing, slice->end_ns);
    return 0;
}

/* ---- frames and stacks ---- */

static void intern_text(struct writing *writing, unsigned field, uint64_t id, const char *text)
{
    proto_uint(&writing->inner, STRING_ID, id);
    proto_text(&writing->inner, STRING_TEXT, text);
    proto_message(&writing->interned, field, &writing->inner);
}

/* The name has the file and the line in it, for viewers show no more than that. */
static int intern_frame(struct writing *writing, int64_t frame, uint64_t id)
{
    struct frame_name name = {.line = STACK_NONE};
    struct buf text = {0};
    int err = 0;
    if (frame == UNKNOWN_FRAME)
        buf_text(&text, STACK_UNKNOWN);
    else if ((err = frame_name_read(writing->export->report->db, frame, &name)) >= 0)
        frame_name_put(&text, &name, false);
    if (text.broken)
        err = ERR_NOMEM;
    intern_text(writing, INTERNED_FUNCTION, id, buf_string(&text));
    if (name.file)
        intern_text(writing, INTERNED_PATH, id, name.file);
    proto_uint(&writing->inner, FRAME_ID, id);
    proto_uint(&writing->inner, FRAME_FUNCTION, id);
    if (name.file)
        proto_uint(&writing->inner, FRAME_PATH, id);
    if (name.line != STACK_NONE)
        proto_uint(&writing->inner, FRAME_LINE, (uint32_t)name.line);
    proto_uint(&writing->inner, FRAME_KIND, KIND_INTERPRETED);
    proto_message(&writing->interned, INTERNED_FRAME, &writing->inner);
    frame_name_clear(&name);
    buf_clear(&text);
    return err;
}

static int put_frame_id(struct writing *writing, struct buf *stack, int64_t frame)
{
    size_t number;
    bool is_new;
    if (!numbered_put(&writing->frames, frame, &number, &is_new))
        return ERR_NOMEM;
    proto_uint(stack, STACK_FRAME, number + 1);
    return is_new ? intern_frame(writing, frame, number + 1) : 0;
}

/* The stack's number, which the next packet brings if it is new. */
static int need_stack(struct writing *writing, int64_t site, uint64_t *id)
{
    struct buf stack = {0};
    size_t number;
    bool is_new;
    if (!numbered_put(&writing->stacks, site, &number, &is_new))
        return ERR_NOMEM;
    *id = number + 1;
    if (!is_new)
        return 0;
    int err = stack_read(writing->export->report->db, site, &writing->stack);
    proto_uint(&stack, STACK_ID, *id);
    if (err >= 0 && !writing->stack.count)
        err = put_frame_id(writing, &stack, UNKNOWN_FRAME);
    for (size_t i = writing->stack.count; i-- > 0 && err >= 0;)
        err = put_frame_id(writing, &stack, writing->stack.frames[i]);
    proto_message(&writing->interned, INTERNED_STACK, &stack);
    buf_clear(&stack);
    return err;
}

static int put_refusal(void *self, const struct over_time_refusal *refusal)
{
    struct writing *writing = self;
    char bytes[HUMAN_MAX], name[64 + HUMAN_MAX];
    uint64_t stack = 0,
             track = need_track(writing, refusal->process->id, TRACK_OOM, 0, "out of memory");
    int err = refusal->site == OVER_TIME_NONE ? 0 : need_stack(writing, refusal->site, &stack);
    snprintf(name, sizeof name, "out of memory: %s requested", human_bytes(bytes, refusal->asked));
    begin_event(writing, EVENT_INSTANT, track);
    proto_text(&writing->part, EVENT_NAME, name);
    annotate_int(writing, "asked", refusal->asked);
    annotate_int(writing, "allocated", refusal->allocated);
    annotate_int(writing, "reserved", refusal->reserved);
    if (refusal->device)
        annotate_text(writing, "device", refusal->device);
    if (stack)
        proto_uint(&writing->part, EVENT_STACK, stack);
    put_event(writing, refusal->at_ns);
    return err;
}

/* ---- what lived ---- */

static int put_sample(struct writing *writing, struct buf *dump, const struct held_group *group)
{
    uint64_t stack;
    int err = need_stack(writing, group->site, &stack);
    if (err < 0)
        return err;
    proto_uint(&writing->inner, SAMPLE_STACK, stack);
    proto_uint(&writing->inner, SAMPLE_BYTES, (uint64_t)group->bytes);
    proto_uint(&writing->inner, SAMPLE_BLOCKS, (uint64_t)group->blocks);
    proto_message(dump, DUMP_SAMPLE, &writing->inner);
    return 0;
}

static int put_held(struct report *report, const struct report_scope *scope,
                    const struct instant *instant, const void *how)
{
    struct writing *writing = *(struct writing *const *)how;
    struct buf dump = {0};
    struct held held;
    int err = held_read(report->db, scope->process.id, scope->device, instant->seq, true, &held);
    proto_int(&dump, DUMP_PID, over_time_pid(report, &scope->process));
    proto_text(&dump, DUMP_HEAP, scope->device_text);
    proto_uint(&dump, DUMP_TIME, (uint64_t)instant->at_ns + (uint64_t)writing->boot_ns);
    for (size_t i = 0; i < held.count && err >= 0; i++)
        err = put_sample(writing, &dump, &held.groups[i]);
    proto_message(&writing->part, PROFILE_DUMP, &dump);
    proto_uint(&writing->part, PROFILE_INDEX, writing->profiles++);
    proto_message(&writing->packet, PACKET_PROFILE, &writing->part);
    put_packet(writing, instant->at_ns);
    writing->export->blocks += held.blocks;
    writing->export->bytes += held.bytes;
    held_clear(&held);
    buf_clear(&dump);
    return err;
}

/* ---- blocks ---- */

static const char blocks_sql[] =
    "SELECT a.seq, a.size, a.requested, a.alloc_ns, a.life_ns, a.free_seq, a.site, a.tag, "
    "a.address,"
    "  ap.phase AS born"
    "  FROM allocation a LEFT JOIN allocation_phase ap ON ap.allocation = a.seq"
    " WHERE a.size >= ?3 AND a.heap IN (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
    "   AND" SPAN_HAS("a.seq") " ORDER BY a.seq";

struct block {
    struct category_block of;
    int64_t requested, alloc_ns, life_ns, site, address;
};

static int put_block(struct writing *writing, struct category_rules *rules, uint64_t track,
                     const struct block *block)
{
    struct category_verdict verdict;
    uint64_t stack;
    int err = category_decide(rules, &block->of, &verdict);
    if (err >= 0)
        err = need_stack(writing, block->site, &stack);
    if (err < 0)
        return err;
    begin_event(writing, EVENT_INSTANT, track);
    proto_text(&writing->part, EVENT_NAME, purpose_name(verdict.purpose));
    annotate_int(writing, "bytes", block->of.size);
    annotate_int(writing, "requested", block->requested);
    annotate_int(writing, "life_ns", block->of.free_seq < 0 ? OVER_TIME_NONE : block->life_ns);
    annotate_int(writing, "allocation", block->of.seq);
    proto_uint(&writing->part, EVENT_STACK, stack);
    proto_double(&writing->part, EVENT_WEIGHT, (double)block->of.size);
    put_event(writing, block->alloc_ns);
    return 0;
}

static int least_of(struct writing *writing, const struct report_scope *scope, int64_t *least)
{
    struct peak peak;
    *least = writing->export->least;
    if (*least != EXPORT_NONE)
        return 0;
    int err = peak_find(writing->export->report->db, scope->process.id, scope->device, INT64_MIN,
                        INT64_MAX, &peak);
    *least = peak.found ? peak.allocated / 1000 : 0;
    peak_clear(&peak);
    return err;
}

static int put_blocks(struct writing *writing, const struct report_scope *scope)
{
    struct db *db = writing->export->report->db;
    struct category_rules *rules = NULL;
    char bytes[HUMAN_MAX], name[96 + HUMAN_MAX];
    struct block block;
    int64_t least;
    int err = least_of(writing, scope, &least);
    if (err >= 0)
        err = category_load(db, scope->process.id, &rules);
    if (err < 0)
        return err;
    snprintf(name, sizeof name, "blocks of %s from %s on", scope->device_text,
             human_bytes(bytes, least));
    uint64_t track = need_track(writing, scope->process.id, TRACK_BLOCKS, scope->device, name);
    int64_t seq, size, free_seq, tag, born;
    struct query query =
        query_ask(db, blocks_sql, Q_IN(scope->process.id, scope->device, least),
                  Q_OUT(Q_INT(seq), Q_SIZE(size), Q_OPT(block.requested), Q_INT(block.alloc_ns),
                        Q_INT(block.life_ns), Q_INT(free_seq), Q_OPT(block.site), Q_OPT(tag),
                        Q_ANY(block.address), Q_OPT(born)));
    while (query_next(&query)) {
        block.of = (struct category_block){seq, free_seq, tag, born, size};
        query_fail(&query, put_block(writing, rules, track, &block));
    }
    category_free(rules);
    return query_end(&query);
}

static int write_all(struct writing *writing)
{
    struct report *report = writing->export->report;
    const struct over_time over_time = {writing, put_point, put_slice, put_refusal};
    int err = query_read(report->db,
                         "SELECT boot_ns - run_ns AS boot_ns FROM clock ORDER BY run_ns LIMIT 1",
                         Q_NOTHING, Q_OUT(Q_INT(writing->boot_ns)));
    for (size_t i = 0; i < report->process_count && err >= 0; i++)
        err = put_process(writing, &report->processes[i]);
    if (err >= 0)
        err = over_time_walk(report, &over_time);
    if (err >= 0)
        err = moment_each(report, writing->export->moment, moment_find, put_held, &writing);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = put_blocks(writing, &report->scopes[i]);
    return err;
}

int export_perfetto(struct export *export)
{
    struct writing writing = {.export = export};
    export->what = "live blocks";
    int err = write_all(&writing);
    numbered_clear(&writing.frames);
    numbered_clear(&writing.stacks);
    numbered_clear(&writing.tracks);
    stack_clear(&writing.stack);
    buf_clear(&writing.packet);
    buf_clear(&writing.part);
    buf_clear(&writing.inner);
    buf_clear(&writing.interned);
    return err;
}
