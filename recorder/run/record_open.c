/* record_open.c - the parts of a recording, from the file to the program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "db.h"
#include "error.h"
#include "record_meta.h"
#include "record_signals.h"
#include "record_types.h"
#include "retention.h"

#define PROGRESS_NS (200 * NS_PER_MS)

/* A limit on the size of files holds for a ring's memory too: the ring is cut to it. */
static void fit_ring(struct record_options *options)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    while (ring_bytes(options->ring_bits, options->arena_bytes) > limit.rlim_cur) {
        if (options->arena_bytes > (64u << options->ring_bits))
            options->arena_bytes /= 2;
        else if (options->ring_bits > RING_MIN_BITS)
            options->ring_bits--;
        else
            return;
    }
}

void record_fill_defaults(struct recording *recording, const struct record_options *options)
{
    struct record_options *own = &recording->options;
    *own = *options;
    if (!own->ring_bits)
        own->ring_bits = RING_DEFAULT_BITS;
    if (!own->arena_bytes)
        own->arena_bytes = RING_DEFAULT_ARENA;
    if (!own->queue_bytes)
        own->queue_bytes = RECORD_DEFAULT_QUEUE;
    fit_ring(own);
    recording->rate.said = own->retention.max_bytes > 0;
    recording->signal_fd = recording->wake_fd = recording->held = -1;
    recording->watch.epoll = -1;
    if (gethostname(recording->host, sizeof recording->host - 1) != 0)
        snprintf(recording->host, sizeof recording->host, "unknown");
}

static void warn(const struct recording *recording, const char *text)
{
    if (recording->options.warn)
        recording->options.warn(recording->options.context, text);
}

static void why_no_library(struct buf *why)
{
    const char *named = getenv("TIDEMARK_GUEST");
    if (named && *named)
        buf_print(why, "TIDEMARK_GUEST names no file that can be read: %s", named);
    else if (access("/proc/self/exe", F_OK) != 0)
        buf_text(why, "libtidemark.so is found by /proc, which is not mounted: name the library in "
                      "TIDEMARK_GUEST");
    else
        buf_text(why, "libtidemark.so was not found beside the command: name it in TIDEMARK_GUEST");
}

static void try_guest(struct recording *recording)
{
    struct buf line = {0};
    if (!recording->options.guest)
        why_no_library(&recording->no_guest);
    else if (!launch_try_guest(recording->options.guest, &recording->origin, LAUNCH_PATIENCE_NS,
                               &recording->no_guest))
        buf_print(&line, "the program runs unrecorded: %s", buf_string(&recording->no_guest));
    if (line.count > 0 && !recording->options.rehearsal)
        warn(recording, buf_string(&line));
    buf_clear(&line);
}

/* Without them the program would not run as on the GPU that was asked for, or nobody would see it:
 * it is not started. */
static int try_rehearsal(struct recording *recording)
{
    struct buf why = {0};
    if (!recording->options.rehearsal)
        return BASE_OK;
    if (recording->no_guest.count > 0)
        buf_text(&why, buf_string(&recording->no_guest));
    else
        launch_try_stand_in(recording->options.rehearsal->library, &recording->origin,
                            LAUNCH_PATIENCE_NS, &why);
    int err = why.count > 0 || why.broken ? ERR_NOTFOUND : BASE_OK;
    if (err) {
        buf_print(&recording->result->summary.failure, "cannot rehearse: %s", buf_string(&why));
        recording->result->exit_code = EXIT_INPUT;
    }
    buf_clear(&why);
    return err;
}

/* What is left to other tools that are there already. */
static void look_for_others(struct recording *recording)
{
    const struct record_options *options = &recording->options;
    const char *nvtx = launch_foreign(environ, LAUNCH_NVTX, options->guest);
    if (nvtx && !options->wants.no_nvtx)
        buf_print(&recording->missing, "NVTX: %s names another library (%s), which gets the ranges",
                  LAUNCH_NVTX, nvtx);
}

static const char *no_guest(const struct recording *recording)
{
    return recording->no_guest.count > 0 ? buf_string(&recording->no_guest) : NULL;
}

/* The writer takes the database over; until then it is closed here. */
static int open_store(struct recording *recording)
{
    struct db *db;
    struct buf *why = &recording->result->summary.failure;
    int err = db_create(&db, recording->output.work);
    if (err) {
        buf_print(why, "cannot create %s: %s", recording->output.work, db_open_message());
        recording->result->exit_code = EXIT_INPUT;
        return err;
    }
    recording->held = held_open(recording->output.work);
    if (recording->held < 0 || !realpath(recording->output.work, recording->made)) {
        err = base_err_from_errno(errno);
        record_output_discard(&recording->output); /* just made */
    }
    if (!err)
        err = queue_new(&recording->queue, (size_t)recording->options.queue_bytes);
    if (!err)
        err = retention_start_writer(&recording->writer, db, recording->queue,
                                     recording->options.private, &recording->options.retention);
    if (err)
        db_close(db);
    return err;
}

static int open_state(struct recording *recording)
{
    const struct state_options options = {.start_ns = recording->start_ns,
                                          .private = recording->options.private};
    const struct record_meta meta = {.options = &recording->options,
                                     .host = recording->host,
                                     .start_ns = recording->start_ns,
                                     .no_guest = no_guest(recording)};
    int err = state_new(&recording->state, &options);
    if (!err)
        record_meta_begin(state_batch(recording->state), &meta);
    return err;
}

static int open_drain(struct recording *recording)
{
    recording->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (recording->wake_fd < 0)
        return base_err_from_errno(errno);
    const struct drain_options options = {.state = recording->state,
                                          .queue = recording->queue,
                                          .start_ns = recording->start_ns,
                                          .wake_fd = recording->wake_fd};
    return drain_start(&recording->drain, &options);
}

static void say_writer_failed(void *context)
{
    struct recording *recording = context;
    struct buf line = {0};
    buf_print(&line, "%s; the program runs on, unrecorded", writer_message(recording->writer));
    warn(recording, buf_string(&line));
    buf_clear(&line);
}

static void show_progress(void *context)
{
    struct recording *recording = context;
    struct record_progress now = {.run_ns = clock_now_ns() - recording->start_ns,
                                  .written = watch_written(&recording->watch)};
    drain_totals(recording->drain, &now.totals);
    recording->options.progress(recording->options.context, &now);
}

static int64_t bytes_of(const char *path, const char *suffix)
{
    struct buf name = {0};
    struct stat file;
    buf_print(&name, "%s%s", path, suffix);
    int64_t bytes = stat(buf_string(&name), &file) == 0 ? (int64_t)file.st_size : 0;
    buf_clear(&name);
    return bytes;
}

/* Once, where nobody has set a limit. */
static void say_rate(struct recording *recording)
{
    uint64_t run_ns = clock_now_ns() - recording->start_ns;
    struct buf line = {0};
    if (!record_rate_due(&recording->rate, run_ns))
        return;
    int64_t bytes = bytes_of(recording->output.work, "") + bytes_of(recording->output.work, "-wal");
    if (record_rate_text(&recording->rate, bytes, run_ns, &line))
        warn(recording, buf_string(&line));
    buf_clear(&line);
}

/* What the program prints of the signal comes next: Python's traceback of a KeyboardInterrupt. */
static void say_ending(const struct recording *recording)
{
    const struct record_options *options = &recording->options;
    char text[96];
    snprintf(text, sizeof text, "%llu %s done: ending the program (SIGINT), as --steps asks",
             (unsigned long long)options->most_steps, options->most_steps == 1 ? "step" : "steps");
    if (options->note)
        options->note(options->context, text);
}

/* Some more steps are recorded until the program hears of it. */
static void count_steps(struct recording *recording)
{
    struct state_totals totals;
    drain_totals(recording->drain, &totals);
    if (totals.steps < (uint64_t)recording->options.most_steps)
        return;
    if (recording->options.armed) {
        recording->watch.stop = true;
        return;
    }
    if (recording->watch.endings == 0 && recording->watch.root)
        say_ending(recording);
    record_signals_end_program(&recording->watch);
}

static void tick(void *context)
{
    struct recording *recording = context;
    const struct record_options *options = &recording->options;
    uint64_t now = clock_now_ns();
    say_rate(recording);
    if (options->most_steps)
        count_steps(recording);
    if (options->progress && now - recording->shown_ns >= PROGRESS_NS) {
        recording->shown_ns = now;
        show_progress(context);
    }
    if (!options->progress && !options->most_steps && recording->rate.said)
        recording->watch.on_tick = NULL;
}

static void look(void *context, struct meters *out)
{
    const struct recording *recording = context;
    drain_meters(recording->drain, out);
}

/* The thread's own: a line on stderr, which is all that `warn` does. */
static void warn_of_metrics(void *context, const char *text)
{
    warn(context, text);
}

static int open_metrics(struct recording *recording)
{
    struct buf *why = &recording->result->summary.failure;
    const char *slash = strrchr(recording->output.wanted, '/');
    const struct metrics_options options = {.place = recording->options.metrics,
                                            .run = slash ? slash + 1 : recording->output.wanted,
                                            .version = TIDEMARK_VERSION,
                                            .look = look,
                                            .warn = warn_of_metrics,
                                            .context = recording};
    if (!options.place)
        return BASE_OK;
    int err = metrics_open(&recording->metrics, &options, why);
    if (err)
        recording->result->exit_code = err == ERR_ARG ? EXIT_USAGE : EXIT_INPUT;
    return err;
}

static int start_metrics(struct recording *recording)
{
    struct buf line = {0};
    if (!recording->metrics)
        return BASE_OK;
    buf_print(&line, "metrics: %s", metrics_address(recording->metrics));
    if (*metrics_address(recording->metrics) && recording->options.note)
        recording->options.note(recording->options.context, buf_string(&line));
    buf_clear(&line);
    return metrics_start(recording->metrics);
}

static int open_server(struct recording *recording)
{
    const struct armed *armed = recording->options.armed;
    if (!armed)
        return hello_server_open(&recording->server);
    int err = hello_server_open_as(&recording->server, armed->socket, armed->key);
    if (err == ERR_BUSY) {
        buf_print(&recording->result->summary.failure,
                  "process %d is being recorded by another tidemark arm", (int)armed->pid);
        recording->result->exit_code = EXIT_INPUT;
    }
    return err;
}

static int open_watch(struct recording *recording)
{
    int err = open_server(recording);
    if (err)
        return err;
    const struct watch_options options = {
        .wait = recording->options.wait,
        .ring_bits = recording->options.ring_bits,
        .arena_bytes = recording->options.arena_bytes,
        .server = recording->server,
        .drain = recording->drain,
        .signal_fd = recording->signal_fd,
        .witness = &recording->witness,
        .wake_fd = recording->wake_fd,
        .argv = recording->options.argv,
        .armed = recording->options.armed,
        .host = recording->host,
        .no_guest = no_guest(recording),
        .missing = recording->missing.count > 0 ? buf_string(&recording->missing) : NULL,
    };
    err = watch_open(&recording->watch, &options);
    recording->watch.on_failure = say_writer_failed;
    recording->watch.context = recording;
    recording->watch.on_tick = tick;
    recording->watch.counts_steps = recording->options.most_steps > 0;
    return err;
}

/* What the program finds in its environment. */
static struct launch_words words_for(const struct recording *recording)
{
    const struct record_options *options = &recording->options;
    const struct record_rehearsal none = {0}, *rehearsal = options->rehearsal;
    rehearsal = rehearsal ? rehearsal : &none;
    return (struct launch_words){
        .stand_in = rehearsal->library,
        .stand_ins = rehearsal->folder,
        .stand_in_name = rehearsal->variable,
        .stand_in_value = rehearsal->settings,
        .guest = no_guest(recording) ? NULL : options->guest,
        .socket = hello_server_name(recording->server),
        .door = hello_server_door(recording->server),
        .key = hello_server_key(recording->server),
        .recording = recording->made,
        .python = options->python,
        .wants = options->wants,
    };
}

int record_launch(struct recording *recording, pid_t *pid)
{
    struct launched launched;
    struct record_result *result = recording->result;
    const struct launch launch = {.argv = recording->options.argv,
                                  .words = words_for(recording),
                                  .origin = &recording->origin};
    signals_read_early(&recording->watch.signals);
    int err = launch_start(&launch, &launched);
    if (err && launched.exec_errno) {
        result->exit_code = launch_exit_code(launched.exec_errno);
        buf_print(&result->summary.failure, "cannot run %s: %s", launch.argv[0],
                  strerror(launched.exec_errno));
    }
    *pid = launched.pid;
    recording->watch.signals.program_ns = launched.ns;
    recording->watch.signals.program = err ? 0 : launched.pid;
    return err;
}

int record_open(struct recording *recording)
{
    struct record_result *result = recording->result;
    int err = record_output_choose(&recording->output, recording->options.output,
                                   recording->options.stage, &result->summary.failure);
    if (err) {
        result->exit_code = err == ERR_ARG ? EXIT_USAGE : EXIT_INPUT;
        return err;
    }
    err = open_metrics(recording);
    if (err)
        return err;
    recording->signal_fd = launch_take_signals(&recording->origin);
    if (recording->signal_fd < 0)
        return recording->signal_fd;
    if (!recording->options.armed) {
        witness_start(&recording->witness, recording->options.argv);
        try_guest(recording);
        look_for_others(recording);
        err = try_rehearsal(recording);
        if (err)
            return err;
    }
    recording->start_ns = clock_now_ns();
    err = open_store(recording);
    if (!err)
        err = open_state(recording);
    if (!err)
        err = open_drain(recording);
    if (!err)
        err = start_metrics(recording);
    if (!err)
        err = open_watch(recording);
    return err;
}
