/*
 * pprof: a gzipped profile with four values a sample, as Go's heap profiles have them: blocks and
 * bytes that lived at the moment, and blocks and bytes that were ever handed out.
 *
 * What lived is a sample for each call stack, phase of birth and purpose, with labels; what was
 * handed out is one for each call stack, with zeroes for what lived. So each
 * value adds up by itself, and by call stack. Texts are numbered as they come and stand at the end:
 * their order in the file is free, only the first text has to be "".
 */
#include <stdio.h>

#include "error.h"
#include "export.h"
#include "gzip.h"
#include "handed_out.h"
#include "held.h"
#include "living.h"
#include "mem.h"
#include "moment.h"
#include "proto.h"
#include "query.h"
#include "stack.h"

enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM = 3, FUNCTION_FILE = 4 };

/* The texts that stand in each profile, by their places in it. */
enum text {
    TEXT_EMPTY,
    TEXT_INUSE_OBJECTS,
    TEXT_COUNT,
    TEXT_INUSE_SPACE,
    TEXT_BYTES,
    TEXT_ALLOC_OBJECTS,
    TEXT_ALLOC_SPACE,
    TEXT_CATEGORY,
    TEXT_PHASE,
    TEXT_STEP,
    TEXT_PROCESS,
    TEXT_RANK,
    TEXT_DEVICE,
    TEXTS
};
static const char *const texts[TEXTS] = {
    "",         "inuse_objects", "count", "inuse_space", "bytes", "alloc_objects", "alloc_space",
    "category", "phase",         "step",  "process",     "rank",  "device"};

#define UNKNOWN_FRAME INT64_MAX /* stands for a stack without frames; no frame.id */

/* Strings are texts[], then purposes, then what `strings` has put. */
struct writing {
    struct export *export;
    struct gzip gzip;
    struct buf message, inner, strings;
    uint64_t string_count;
    struct numbered frames;
    struct stack stack;
    struct held held;
    uint64_t device;                   /* string of the scope */
    int64_t phase, step, phase_string; /* the last one that was looked up */
};

static uint64_t add_string(struct writing *writing, const char *text)
{
    proto_text(&writing->strings, PROFILE_STRING, text);
    return writing->string_count++;
}

static void put_message(struct writing *writing, unsigned field)
{
    struct buf whole = {0};
    proto_message(&whole, field, &writing->message);
    gzip_buf(&writing->gzip, &whole);
    buf_clear(&whole);
}

static void put_type(struct writing *writing, enum text type, enum text unit)
{
    proto_uint(&writing->message, TYPE_TYPE, type);
    proto_uint(&writing->message, TYPE_UNIT, unit);
    put_message(writing, PROFILE_SAMPLE_TYPE);
}

/* ---- samples ---- */

static void label_text(struct writing *writing, enum text key, uint64_t text)
{
    proto_uint(&writing->inner, LABEL_KEY, key);
    proto_uint(&writing->inner, LABEL_TEXT, text);
    proto_message(&writing->message, SAMPLE_LABEL, &writing->inner);
}

static void label_number(struct writing *writing, enum text key, int64_t number)
{
    proto_uint(&writing->inner, LABEL_KEY, key);
    proto_int(&writing->inner, LABEL_NUMBER, number);
    proto_message(&writing->message, SAMPLE_LABEL, &writing->inner);
}

static int put_location(struct writing *writing, int64_t frame)
{
    size_t number;
    bool is_new;
    if (!numbered_put(&writing->frames, frame, &number, &is_new))
        return ERR_NOMEM;
    proto_uint(&writing->message, SAMPLE_LOCATION, number + 1);
    return 0;
}

static int put_stack(struct writing *writing, int64_t site)
{
    struct stack *stack = &writing->stack;
    int err = stack_read(writing->export->report->db, site, stack);
    if (err >= 0 && !stack->count)
        err = put_location(writing, UNKNOWN_FRAME);
    for (size_t i = 0; i < stack->count && err >= 0; i++)
        err = put_location(writing, stack->frames[i]);
    return err;
}

static void put_values(struct writing *writing, int64_t held, int64_t held_bytes, int64_t handed,
                       int64_t handed_bytes)
{
    proto_int(&writing->message, SAMPLE_VALUE, held);
    proto_int(&writing->message, SAMPLE_VALUE, held_bytes);
    proto_int(&writing->message, SAMPLE_VALUE, handed);
    proto_int(&writing->message, SAMPLE_VALUE, handed_bytes);
}

static void end_sample(struct writing *writing, const struct report_scope *scope)
{
    label_number(writing, TEXT_PROCESS, scope->process.id);
    if (scope->process.rank != REPORT_ANY)
        label_number(writing, TEXT_RANK, scope->process.rank);
    label_text(writing, TEXT_DEVICE, writing->device);
    put_message(writing, PROFILE_SAMPLE);
}

/* Groups of one phase may stand apart, so its name may be there twice: a few bytes. */
static int find_phase(struct writing *writing, int64_t phase)
{
    char *name = NULL;
    if (writing->phase == phase)
        return 0;
    writing->phase = phase;
    writing->step = QUERY_NONE;
    int err = query_read(writing->export->report->db, "SELECT name, step FROM phase WHERE id = ?1",
                         Q_IN(phase), Q_OUT(Q_COPY(name), Q_OPT(writing->step)));
    writing->phase_string = name ? (int64_t)add_string(writing, name) : QUERY_NONE;
    mem_free(name);
    return err;
}

static int put_phase(struct writing *writing, int64_t phase)
{
    int err = phase == LIVING_NONE ? 0 : find_phase(writing, phase);
    if (err < 0 || phase == LIVING_NONE)
        return err;
    if (writing->phase_string != QUERY_NONE)
        label_text(writing, TEXT_PHASE, (uint64_t)writing->phase_string);
    if (writing->step != QUERY_NONE)
        label_number(writing, TEXT_STEP, writing->step);
    return 0;
}

static int put_held(struct writing *writing, const struct report_scope *scope)
{
    int err = 0;
    for (size_t i = 0; i < writing->held.count && err >= 0; i++) {
        const struct held_group *group = &writing->held.groups[i];
        err = put_stack(writing, group->site);
        put_values(writing, group->blocks, group->bytes, 0, 0);
        label_text(writing, TEXT_CATEGORY, TEXTS + (uint64_t)group->purpose);
        if (err >= 0)
            err = put_phase(writing, group->phase);
        end_sample(writing, scope);
    }
    return err;
}

static int put_handed_out(struct writing *writing)
{
    const struct report_scope *last = NULL;
    struct handed_out handed_out;
    int err = handed_out_read(writing->export->report, &handed_out);
    for (size_t i = 0; i < handed_out.count && err >= 0; i++) {
        const struct handed_out_sum *sum = &handed_out.sums[i];
        if (sum->scope != last)
            writing->device = add_string(writing, sum->scope->device_text);
        last = sum->scope;
        err = put_stack(writing, sum->site);
        put_values(writing, 0, 0, sum->blocks, sum->bytes);
        end_sample(writing, sum->scope);
    }
    handed_out_clear(&handed_out);
    return err;
}

static int put_scope(struct report *report, const struct report_scope *scope,
                     const struct instant *instant, const void *how)
{
    struct writing *writing = *(struct writing *const *)how;
    char text[EXPORT_SCOPE_TEXT], comment[EXPORT_SCOPE_TEXT + INSTANT_TEXT + 16];
    int err = held_read(report->db, scope->process.id, scope->device, instant->seq, false,
                        &writing->held);
    snprintf(comment, sizeof comment, "inuse: %s: %s", export_scope_text(text, scope),
             instant->label);
    proto_uint(&writing->message, PROFILE_COMMENT, add_string(writing, comment));
    gzip_buf(&writing->gzip, &writing->message);
    writing->device = add_string(writing, scope->device_text);
    if (err >= 0)
        err = put_held(writing, scope);
    writing->export->blocks += writing->held.blocks;
    writing->export->bytes += writing->held.bytes;
    held_clear(&writing->held);
    return err;
}

/* ---- what samples name ---- */

static void put_function(struct writing *writing, uint64_t id, const struct frame_name *name,
                         const char *called)
{
    uint64_t string = add_string(writing, called);
    proto_uint(&writing->inner, LINE_FUNCTION, id);
    if (name->line != STACK_NONE)
        proto_int(&writing->inner, LINE_LINE, name->line);
    proto_uint(&writing->message, LOCATION_ID, id);
    proto_message(&writing->message, LOCATION_LINE, &writing->inner);
    put_message(writing, PROFILE_LOCATION);
    proto_uint(&writing->message, FUNCTION_ID, id);
    proto_uint(&writing->message, FUNCTION_NAME, string);
    proto_uint(&writing->message, FUNCTION_SYSTEM, string);
    if (name->file)
        proto_uint(&writing->message, FUNCTION_FILE, add_string(writing, name->file));
    put_message(writing, PROFILE_FUNCTION);
}

static int put_frames(struct writing *writing)
{
    int err = 0;
    for (size_t i = 0; i < writing->frames.count && err >= 0; i++) {
        struct frame_name name = {.line = STACK_NONE};
        int64_t frame = writing->frames.ids[i];
        if (frame != UNKNOWN_FRAME)
            err = frame_name_read(writing->export->report->db, frame, &name);
        put_function(writing, i + 1, &name,
                     frame == UNKNOWN_FRAME ? STACK_UNKNOWN
                     : name.function        ? name.function
                                            : "?");
        frame_name_clear(&name);
    }
    return err;
}

static int put_end(struct writing *writing)
{
    int64_t real_ns = QUERY_NONE;
    int err = query_read(writing->export->report->db,
                         "SELECT real_ns - run_ns AS real_ns FROM clock ORDER BY run_ns LIMIT 1",
                         Q_NOTHING, Q_OUT(Q_OPT(real_ns)));
    if (real_ns != QUERY_NONE)
        proto_int(&writing->message, PROFILE_TIME_NS, real_ns);
    proto_uint(&writing->message, PROFILE_DEFAULT_TYPE, TEXT_INUSE_SPACE);
    gzip_buf(&writing->gzip, &writing->message);
    gzip_buf(&writing->gzip, &writing->strings);
    gzip_end(&writing->gzip);
    return err;
}

static void begin(struct writing *writing)
{
    gzip_begin(&writing->gzip, writing->export->out);
    for (size_t i = 0; i < TEXTS; i++)
        add_string(writing, texts[i]);
    for (int i = 0; i < PURPOSES; i++)
        add_string(writing, purpose_name((enum purpose)i));
    put_type(writing, TEXT_INUSE_OBJECTS, TEXT_COUNT);
    put_type(writing, TEXT_INUSE_SPACE, TEXT_BYTES);
    put_type(writing, TEXT_ALLOC_OBJECTS, TEXT_COUNT);
    put_type(writing, TEXT_ALLOC_SPACE, TEXT_BYTES);
}

int export_pprof(struct export *export)
{
    struct writing *writing = mem_alloc(1, sizeof *writing), *how = writing;
    if (!writing)
        return ERR_NOMEM;
    writing->export = export;
    writing->phase = LIVING_NONE;
    export->what = "live blocks";
    begin(writing);
    int err = moment_each(export->report, export->moment, moment_find, put_scope, &how);
    if (err >= 0)
        err = put_handed_out(writing);
    if (err >= 0)
        err = put_frames(writing);
    if (err >= 0)
        err = put_end(writing);
    numbered_clear(&writing->frames);
    stack_clear(&writing->stack);
    buf_clear(&writing->message);
    buf_clear(&writing->inner);
    buf_clear(&writing->strings);
    mem_free(writing);
    return err;
}
