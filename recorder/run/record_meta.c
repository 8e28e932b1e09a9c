#include "record_meta.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "armed.h"
#include "clock.h"
#include "commit.h"
#include "event.h"
#include "process.h"

unsigned record_event_format(void)
{
    return EVENT_FORMAT;
}

static void put_text(struct batch *batch, const char *key, const char *value)
{
    batch_put_meta(batch, &(struct row_meta){.key = key, .value.text = value});
}

static bool put_int(struct batch *batch, const char *key, uint64_t value)
{
    struct row_meta row = {.key = key, .value.number = row_opt((int64_t)value)};
    return batch_put_meta(batch, &row);
}

static void put_started(struct batch *batch)
{
    char text[64];
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof text - n, ".%06ldZ", now.tv_nsec / 1000);
    put_text(batch, "started", text);
}

static void put_command(struct batch *batch, const struct record_options *options)
{
    struct buf text = {0};
    argv_text_of(&text, options->argv);
    put_text(batch, "command", buf_string(&text));
    if (options->command)
        put_text(batch, "record_command", options->command);
    buf_clear(&text);
}

/* Of a program that runs already, in its own folder. */
static void put_commit(struct batch *batch, const struct record_options *options)
{
    struct buf commit = {0};
    char folder[64] = ".";
    if (options->armed)
        snprintf(folder, sizeof folder, "/proc/%d/cwd", (int)options->armed->pid);
    if (commit_find(folder, options->argv, &commit))
        put_text(batch, "commit", buf_string(&commit));
    buf_clear(&commit);
}

static void put_machine(struct batch *batch, const char *host)
{
    struct utsname name;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    put_text(batch, "host", host);
    if (uname(&name) == 0) {
        put_text(batch, "kernel", name.release);
        put_text(batch, "machine", name.machine);
    }
    put_int(batch, "cpus", cpus > 0 ? (uint64_t)cpus : 0);
    put_int(batch, "page_size", (uint64_t)sysconf(_SC_PAGESIZE));
}

void record_meta_begin(struct batch *batch, const struct record_meta *meta)
{
    static const char *const waits[] = {"grace", "all", "root"};
    const struct record_options *options = meta->options;
    struct buf cwd = {0};
    char path[4096];
    put_text(batch, "tidemark_version", TIDEMARK_VERSION);
    put_int(batch, "event_format", EVENT_FORMAT);
    if (options->private) {
        put_int(batch, "private", 1);
    } else {
        put_command(batch, options);
        if (getcwd(path, sizeof path))
            argv_quote(&cwd, path, strlen(path));
        put_text(batch, "cwd", buf_string(&cwd));
        buf_clear(&cwd);
        put_commit(batch, options);
        put_machine(batch, meta->host);
    }
    if (options->rehearsal) {
        put_text(batch, "rehearsal", options->rehearsal->gpu);
        put_text(batch, "rehearsal_settings", options->rehearsal->settings);
        put_int(batch, "rehearsal_memory", options->rehearsal->memory);
        put_int(batch, "rehearsal_context", options->rehearsal->context);
        put_int(batch, "rehearsal_context_measured", options->rehearsal->context_measured);
        put_text(batch, "rehearsal_context_from", options->rehearsal->context_from);
        if (*options->rehearsal->targets)
            put_text(batch, "rehearsal_targets", options->rehearsal->targets);
        if (*options->rehearsal->no_kernels)
            put_text(batch, "rehearsal_no_kernels", options->rehearsal->no_kernels);
    }
    if (options->armed)
        put_int(batch, "armed", 1);
    if (options->armed && options->armed->attached)
        put_int(batch, "attached", 1);
    put_started(batch);
    put_int(batch, "start_monotonic_ns", meta->start_ns);
    put_int(batch, "recorder_pid", (uint64_t)getpid());
    put_int(batch, "ring_slots", 1ull << options->ring_bits);
    put_int(batch, "ring_bytes", ring_bytes(options->ring_bits, options->arena_bytes));
    put_int(batch, "arena_bytes", options->arena_bytes);
    put_int(batch, "queue_bytes", options->queue_bytes);
    put_text(batch, "wait", waits[options->wait]);
    put_text(batch, "guest", meta->no_guest ? meta->no_guest : "loaded");
    put_int(batch, "finished", 0);
}

static void put_cost(struct batch *batch, const char *what, uint64_t value, const char *unit)
{
    struct row_overhead row = {.what = what, .value = (int64_t)value, .unit = unit};
    batch_put_overhead(batch, &row);
}

void record_meta_cost(struct batch *batch, const struct record_cost *cost)
{
    put_cost(batch, "supervisor cpu", cost->supervisor_cpu_ns, "ns");
    put_cost(batch, "drain cpu", cost->drain.cpu_ns, "ns");
    put_cost(batch, "writer cpu", cost->writer.cpu_ns, "ns");
    put_cost(batch, "events", cost->drain.events, "count");
    put_cost(batch, "batches", cost->drain.batches, "count");
    put_cost(batch, "drain wakes", cost->drain.wakes, "count");
    put_cost(batch, "queue high-water", cost->drain.queue_high, "bytes");
    put_cost(batch, "longest wait for the queue", cost->drain.longest_push_ns, "ns");
    put_cost(batch, "commits", cost->writer.commits, "count");
    put_cost(batch, "longest commit", cost->writer.longest_commit_ns, "ns");
    put_cost(batch, "commit behind", cost->writer.behind_ns, "ns");
    if (cost->strangers > 0)
        put_cost(batch, "hellos of strangers", cost->strangers, "count");
    if (cost->missing > 0)
        put_cost(batch, "processes not recorded", cost->missing, "count");
    if (cost->malformed > 0)
        put_cost(batch, "hellos malformed", cost->malformed, "count");
}

void record_meta_end(struct batch *batch, const char *ended, uint64_t run_ns, int64_t steps)
{
    put_text(batch, "ended", ended);
    put_int(batch, "run_ns", run_ns);
    if (steps > 0)
        put_int(batch, "ended_steps", (uint64_t)steps);
}

bool record_meta_finished(struct batch *batch)
{
    return put_int(batch, "finished", 1);
}
