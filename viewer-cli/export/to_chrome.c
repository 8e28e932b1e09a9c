/*
 * Chrome's JSON of trace events: counters, steps and phases, refused requests. It opens in
 * ui.perfetto.dev and in chrome://tracing. Times are microseconds since the run began.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit_text.h"
#include "error.h"
#include "export.h"
#include "mem.h"
#include "over_time.h"

/* Numbers of threads that stand for a process's own rows. */
enum { TRACK_STEPS = 0, TRACK_PHASES = 1 };

struct writing {
    struct export *export;
    struct buf text;
    size_t events;
};

static void put_string(struct writing *writing, const char *text)
{
    emit_json_string(&writing->text, text, strlen(text));
    out_buf(writing->export->out, &writing->text);
}

/* Nanoseconds as microseconds, to the last digit. */
static void put_time(struct writing *writing, const char *key, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    out_print(writing->export->out, ",\"%s\":%s%" PRIu64 ".%03u", key, ns < 0 ? "-" : "",
              size / 1000, (unsigned)(size % 1000));
}

static void begin_event(struct writing *writing, char kind, const char *name, int64_t pid,
                        int64_t tid)
{
    out_text(writing->export->out, writing->events++ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    out_print(writing->export->out, "%c\",\"name\":", kind);
    put_string(writing, name);
    out_print(writing->export->out, ",\"pid\":%" PRId64 ",\"tid\":%" PRId64, pid, tid);
}

static int put_point(void *self, const struct report_scope *scope, enum over_time_counter counter,
                     int64_t at_ns, int64_t value)
{
    struct writing *writing = self;
    char name[64];
    snprintf(name, sizeof name, "%s %s", over_time_counter_name(counter), scope->device_text);
    begin_event(writing, 'C', name, over_time_pid(writing->export->report, &scope->process), 0);
    put_time(writing, "ts", at_ns);
    out_print(writing->export->out, ",\"args\":{\"bytes\":%" PRId64 "}}", value);
    return 0;
}

static int put_slice(void *self, const struct over_time_slice *slice)
{
    struct writing *writing = self;
    int64_t tid = slice->is_step                    ? TRACK_STEPS
                  : slice->thread == OVER_TIME_NONE ? TRACK_PHASES
                                                    : slice->thread;
    begin_event(writing, 'X', slice->name, over_time_pid(writing->export->report, slice->process),
                tid);
    put_time(writing, "ts", slice->begin_ns);
    put_time(writing, "dur", slice->end_ns - slice->begin_ns);
    out_text(writing->export->out, ",\"args\":{\"kind\":");
    put_string(writing, slice->kind);
    if (slice->step != OVER_TIME_NONE)
        out_print(writing->export->out, ",\"step\":%" PRId64, slice->step);
    out_text(writing->export->out, "}}");
    return 0;
}

static int put_refusal(void *self, const struct over_time_refusal *refusal)
{
    struct writing *writing = self;
    struct export_out *out = writing->export->out;
    begin_event(writing, 'i', "out of memory",
                over_time_pid(writing->export->report, refusal->process), TRACK_PHASES);
    put_time(writing, "ts", refusal->at_ns);
    out_print(out, ",\"s\":\"p\",\"args\":{\"asked\":%" PRId64, refusal->asked);
    if (refusal->allocated != OVER_TIME_NONE)
        out_print(out, ",\"allocated\":%" PRId64, refusal->allocated);
    if (refusal->reserved != OVER_TIME_NONE)
        out_print(out, ",\"reserved\":%" PRId64, refusal->reserved);
    if (refusal->device) {
        out_text(out, ",\"device\":");
        put_string(writing, refusal->device);
    }
    out_text(out, "}}");
    return 0;
}

static void put_name(struct writing *writing, const char *what, int64_t pid, int64_t tid,
                     const char *name)
{
    begin_event(writing, 'M', what, pid, tid);
    out_text(writing->export->out, ",\"args\":{\"name\":");
    put_string(writing, name);
    out_text(writing->export->out, "}}");
}

static int put_process(struct writing *writing, const struct report_process *process)
{
    int64_t pid = over_time_pid(writing->export->report, process);
    char *name;
    int err = over_time_process_name(writing->export->report, process, &name);
    if (err < 0)
        return err;
    put_name(writing, "process_name", pid, 0, name ? name : "?");
    put_name(writing, "thread_name", pid, TRACK_STEPS, "steps");
    put_name(writing, "thread_name", pid, TRACK_PHASES, "phases");
    mem_free(name);
    return 0;
}

int export_chrome(struct export *export)
{
    struct writing writing = {.export = export};
    const struct over_time over_time = {&writing, put_point, put_slice, put_refusal};
    struct report *report = export->report;
    int err = 0;
    out_text(export->out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (size_t i = 0; i < report->process_count && err >= 0; i++)
        err = put_process(&writing, &report->processes[i]);
    if (err >= 0)
        err = over_time_walk(report, &over_time);
    out_text(export->out, "\n]}\n");
    buf_clear(&writing.text);
    return err;
}
