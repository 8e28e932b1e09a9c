/*
 * Collapsed stacks: a line for each call stack, "outermost;...;innermost BYTES", as flamegraph.pl,
 * Perfetto and speedscope read them.
 *
 * A ';' in a name would be a frame more, a line feed a line more, and a '#' at the beginning of a
 * line a comment: those, control characters and what is not UTF-8 become \x3b and the like.
 */
#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "export.h"
#include "held.h"
#include "moment.h"
#include "safe.h"
#include "stack.h"

struct writing {
    struct export *export;
    struct stack stack;
    struct buf line, name;
};

static void put_part(struct buf *line, const char *text, size_t bytes)
{
    size_t from = line->count;
    while (bytes) {
        size_t plain = 0;
        while (plain < bytes && text[plain] != ';' && (text[plain] != '#' || from || plain))
            plain++;
        safe_put(line, text, plain);
        if (plain < bytes) {
            buf_print(line, "\\x%02x", (unsigned char)text[plain]);
            plain++;
        }
        text += plain;
        bytes -= plain;
        from = line->count;
    }
}

static void put_frame(struct buf *line, const char *text, size_t bytes)
{
    if (line->count)
        buf_text(line, ";");
    put_part(line, text, bytes);
}

static int put_stack(struct writing *writing, int64_t site)
{
    struct db *db = writing->export->report->db;
    int err = stack_read(db, site, &writing->stack);
    for (size_t i = writing->stack.count; i-- > 0 && err >= 0;) {
        struct frame_name name;
        err = frame_name_read(db, writing->stack.frames[i], &name);
        writing->name.count = 0;
        frame_name_put(&writing->name, &name, true);
        if (writing->name.broken)
            err = ERR_NOMEM;
        put_frame(&writing->line, buf_string(&writing->name), writing->name.count);
        frame_name_clear(&name);
    }
    if (err >= 0 && !writing->stack.count)
        put_frame(&writing->line, STACK_UNKNOWN, strlen(STACK_UNKNOWN));
    return err;
}

static int put_groups(struct writing *writing, const struct report_scope *scope,
                      const struct held *held)
{
    char text[EXPORT_SCOPE_TEXT];
    int err = 0;
    for (size_t i = 0; i < held->count && err >= 0; i++) {
        if (writing->export->report->scope_count > 1) {
            export_scope_text(text, scope);
            put_frame(&writing->line, text, strlen(text));
        }
        err = put_stack(writing, held->groups[i].site);
        buf_print(&writing->line, " %" PRId64 "\n", held->groups[i].bytes);
        out_buf(writing->export->out, &writing->line);
    }
    return err;
}

static int put_scope(struct report *report, const struct report_scope *scope,
                     const struct instant *instant, const void *how)
{
    struct export *export = *(struct export *const *)how;
    struct writing writing = {.export = export};
    struct held held;
    int err = held_read(report->db, scope->process.id, scope->device, instant->seq, true, &held);
    if (err >= 0)
        err = put_groups(&writing, scope, &held);
    export->blocks += held.blocks;
    export->bytes += held.bytes;
    held_clear(&held);
    stack_clear(&writing.stack);
    buf_clear(&writing.line);
    buf_clear(&writing.name);
    return err;
}

int export_collapsed(struct export *export)
{
    export->what = "live blocks";
    return moment_each(export->report, export->moment, moment_find, put_scope, &export);
}
