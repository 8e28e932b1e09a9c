/*
 * speedscope: one JSON object with a profile for each moment, of bytes by call stack. Profiles name
 * frames by their numbers, and the frames stand behind them, for by then it is known which they
 * are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit_text.h"
#include "error.h"
#include "export.h"
#include "held.h"
#include "moment.h"
#include "stack.h"

#define UNKNOWN_FRAME INT64_MAX /* stands for a stack without frames; no frame.id */

struct writing {
    struct export *export;
    struct numbered frames;
    struct stack stack;
    struct buf text;
    size_t profiles;
};

static void put_string(struct writing *writing, const char *text)
{
    emit_json_string(&writing->text, text, strlen(text));
    out_buf(writing->export->out, &writing->text);
}

static int put_number(struct writing *writing, int64_t frame, bool first)
{
    size_t number;
    bool is_new;
    if (!numbered_put(&writing->frames, frame, &number, &is_new))
        return ERR_NOMEM;
    out_print(writing->export->out, first ? "%zu" : ",%zu", number);
    return 0;
}

static int put_sample(struct writing *writing, int64_t site)
{
    struct stack *stack = &writing->stack;
    int err = stack_read(writing->export->report->db, site, stack);
    if (err >= 0 && !stack->count)
        err = put_number(writing, UNKNOWN_FRAME, true);
    for (size_t i = stack->count; i-- > 0 && err >= 0;)
        err = put_number(writing, stack->frames[i], i + 1 == stack->count);
    return err;
}

static int put_profile(struct writing *writing, const char *name, const struct held *held)
{
    struct export_out *out = writing->export->out;
    int err = 0;
    out_text(out, writing->profiles++ ? ",\n {\"type\":\"sampled\",\"name\":"
                                      : "\n {\"type\":\"sampled\",\"name\":");
    put_string(writing, name);
    out_print(out,
              ",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":%" PRId64 ",\n  \"samples\":[",
              held->bytes);
    for (size_t i = 0; i < held->count && err >= 0; i++) {
        out_text(out, i ? ",[" : "[");
        err = put_sample(writing, held->groups[i].site);
        out_text(out, "]");
    }
    out_text(out, "],\n  \"weights\":[");
    for (size_t i = 0; i < held->count; i++)
        out_print(out, i ? ",%" PRId64 : "%" PRId64, held->groups[i].bytes);
    out_text(out, "]}");
    return err;
}

static int put_scope(struct report *report, const struct report_scope *scope,
                     const struct instant *instant, const void *how)
{
    struct writing *writing = *(struct writing *const *)how;
    char text[EXPORT_SCOPE_TEXT], name[EXPORT_SCOPE_TEXT + INSTANT_TEXT + 4];
    struct held held;
    int err = held_read(report->db, scope->process.id, scope->device, instant->seq, true, &held);
    snprintf(name, sizeof name, "%s: %s", export_scope_text(text, scope), instant->label);
    if (err >= 0)
        err = put_profile(writing, name, &held);
    writing->export->blocks += held.blocks;
    writing->export->bytes += held.bytes;
    held_clear(&held);
    return err;
}

static int put_frame(struct writing *writing, int64_t frame)
{
    struct frame_name name = {.line = STACK_NONE};
    struct export_out *out = writing->export->out;
    int err = 0;
    if (frame != UNKNOWN_FRAME)
        err = frame_name_read(writing->export->report->db, frame, &name);
    out_text(out, "{\"name\":");
    put_string(writing, frame == UNKNOWN_FRAME ? STACK_UNKNOWN
                        : name.function        ? name.function
                                               : "?");
    if (name.file) {
        out_text(out, ",\"file\":");
        put_string(writing, name.file);
    }
    if (name.line != STACK_NONE)
        out_print(out, ",\"line\":%" PRId64, name.line);
    out_text(out, "}");
    frame_name_clear(&name);
    return err;
}

static int put_frames(struct writing *writing)
{
    int err = 0;
    out_text(writing->export->out, "],\n \"shared\":{\"frames\":[");
    for (size_t i = 0; i < writing->frames.count && err >= 0; i++) {
        out_text(writing->export->out, i ? ",\n  " : "\n  ");
        err = put_frame(writing, writing->frames.ids[i]);
    }
    out_text(writing->export->out, "]}}\n");
    return err;
}

int export_speedscope(struct export *export)
{
    struct writing writing = {.export = export}, *how = &writing;
    const char *slash = strrchr(export->report->path, '/');
    export->what = "live blocks";
    out_text(export->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                          " \"exporter\":\"tidemark " TIDEMARK_VERSION "\",\n \"name\":");
    put_string(&writing, slash ? slash + 1 : export->report->path);
    out_text(export->out, ",\n \"activeProfileIndex\":0,\n \"profiles\":[");
    int err = moment_each(export->report, export->moment, moment_find, put_scope, &how);
    if (err >= 0)
        err = put_frames(&writing);
    numbered_clear(&writing.frames);
    stack_clear(&writing.stack);
    buf_clear(&writing.text);
    return err;
}
