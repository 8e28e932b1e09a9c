/*
 * record.c - puts the parts of a recording together, and takes them apart again.
 *
 *     main        signals, sockets, processes, rings (record_watch.c)
 *      | messages
 *     drain       rings -> heap state -> batches (drain.c)
 *      | queue
 *     writer      batches -> database (writer.c)
 *
 * The threads are there before the program is started, so that a run is either recorded from its
 * first event or not started. At the end they are stopped in the order in which the data flows.
 */
#include "record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "db.h"
#include "error.h"
#include "held.h"
#include "human.h"
#include "launch.h"
#include "record_meta.h"
#include "record_output.h"
#include "record_rate.h"
#include "record_signals.h"
#include "record_watch.h"
#include "retention.h"
#include "writer.h"

#define PROGRESS_NS (200 * NS_PER_MS)

struct recording {
    struct record_options options; /* defaults filled in */
    struct record_result *result;
    struct launch_origin origin;
    struct record_output output;
    struct buf missing;  /* what no process will tell, and why; empty: nothing */
    struct buf no_guest; /* why the guest is not used; empty: it is */
    char host[256];
    struct record_rate rate; /* what a day takes */
    uint64_t shown_ns;       /* when the progress was shown */
    uint64_t start_ns;
    int signal_fd, wake_fd; /* -1 */
    struct witness witness;
    struct hello_server_stats heard;
    int held;            /* the database, by itself; -1: it was not created */
    enum held_fate fate; /* of its name, when it was finished */
    char made[PATH_MAX]; /* its name then, whatever the folder that we are in is called by now */
    struct buf place;    /* where it is then; empty: not known, or nowhere */
    bool whole;          /* it was finished, is one file, and where it was made */
    struct state *state;
    struct queue *queue;
    struct writer *writer;
    struct hello_server *server;
    struct drain *drain;
    struct watch watch;
};

/* ---- starting ---- */

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

static void fill_defaults(struct recording *recording, const struct record_options *options)
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
        buf_print(&line, "the library cannot be loaded here: %s; the program runs unrecorded",
                  buf_string(&recording->no_guest));
    if (line.count > 0)
        warn(recording, buf_string(&line));
    buf_clear(&line);
}

/* What is left to other tools that are there already. */
static void look_for_others(struct recording *recording)
{
    const struct record_options *options = &recording->options;
    const char *nvtx = launch_foreign(environ, LAUNCH_NVTX, options->guest);
    if (nvtx && !options->no_nvtx)
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
                                     &recording->options.retention);
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

/* Some more steps are recorded until the program hears of it. */
static void count_steps(struct recording *recording)
{
    struct state_totals totals;
    drain_totals(recording->drain, &totals);
    if (totals.steps >= recording->options.most_steps)
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

static int open_watch(struct recording *recording)
{
    int err = hello_server_open(&recording->server);
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
        .key = hello_server_key(recording->server),
        .python = options->python,
        .no_stacks = options->no_stacks,
        .no_cupti = options->no_cupti,
        .kernels = options->kernels,
        .no_phases = options->no_phases,
        .history = options->history,
        .no_nvtx = options->no_nvtx,
    };
}

static int launch(struct recording *recording, pid_t *pid)
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
    return err;
}

/* ---- the end ---- */

static const char *why_ended(const struct recording *recording)
{
    static const char *const words[] = {"all ended", "left running", "stopped"};
    return words[recording->watch.over];
}

static bool push_last(struct recording *recording)
{
    struct batch *batch = batch_new();
    if (!batch || !record_meta_finished(batch)) {
        batch_free(batch);
        return false;
    }
    batch->commit = true;
    return queue_push(recording->queue, batch);
}

/* False: the end is not in the file, for want of memory or because the writer has stopped. */
static bool put_end(struct recording *recording, const struct drain_stats *drain)
{
    struct batch *batch = state_batch(recording->state);
    struct record_cost cost = {.drain = *drain};
    writer_look(recording->writer, &cost.writer);
    cost.supervisor_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    cost.strangers = recording->heard.strangers;
    cost.missing = recording->result->summary.missing;
    cost.malformed = recording->heard.malformed;
    record_meta_cost(batch, &cost);
    record_meta_end(batch, why_ended(recording), recording->result->summary.run_ns);
    batch = state_flush(recording->state, clock_now_ns(), true);
    return batch && queue_push(recording->queue, batch) && push_last(recording);
}

/* The reason alone: what the message adds, the summary says with figures. */
static void say_stopped(struct summary *summary, const struct writer_stats *stats)
{
    const char *end = strstr(stats->message, ": recording stopped");
    buf_add(&summary->stopped, stats->message,
            end ? (size_t)(end - stats->message) : strlen(stats->message));
    summary->stored_events = stats->events;
    summary->stored_blocks = stats->blocks;
}

/* The log cannot be emptied while somebody is in the middle of reading. */
static void say_overrun(struct summary *summary, const struct writer_stats *stats, int64_t limit)
{
    char most[HUMAN_MAX];
    if (limit > 0 && stats->most_bytes > (uint64_t)limit)
        summary_hint(summary,
                     "the file and its log took %s for a while, more than --max-size: another "
                     "program was reading them",
                     human_bytes(most, (int64_t)stats->most_bytes));
}

/* "": not known. */
static const char *place_of(const struct recording *recording)
{
    return recording->fate == HELD_IN_PLACE ? recording->output.work
                                            : buf_string(&recording->place);
}

/* What became of the file while the program ran. */
static void see_fate(struct recording *recording, bool shrunk)
{
    struct summary *summary = &recording->result->summary;
    const char *name = recording->output.work;
    recording->fate =
        shrunk ? HELD_IN_PLACE : held_fate(recording->held, recording->made, &recording->place);
    bool taken = recording->fate != HELD_IN_PLACE && access(recording->made, F_OK) == 0;
    if (recording->fate == HELD_REMOVED)
        buf_text(&summary->removed, name);
    summary->replaced = taken && recording->fate == HELD_REMOVED;
    if (recording->fate == HELD_MOVED && recording->place.count == 0)
        buf_text(&summary->moved, name);
    else if (recording->fate == HELD_MOVED)
        summary_hint(summary, "%s was moved to %s while the program ran", name,
                     buf_string(&recording->place));
    if (taken && recording->fate == HELD_MOVED)
        summary_hint(summary, "%s is another file by now", name);
}

/* Closes the queue and the database: what was pushed is stored when this returns. `ended`: the end
 * was pushed, too. */
static void close_store(struct recording *recording, bool ended)
{
    struct summary *summary = &recording->result->summary;
    struct writer_stats stats = {0};
    bool single = false;
    if (!recording->writer)
        return;
    queue_close(recording->queue);
    int err = writer_finish(recording->writer, &single, &stats);
    recording->writer = NULL;
    say_overrun(summary, &stats, recording->options.retention.max_bytes);
    see_fate(recording, stats.shrunk);
    if (err)
        say_stopped(summary, &stats);
    else if (!ended)
        summary_hint(summary, "memory ran out: the end may be missing in the file, which says that "
                              "it is not finished");
    if (stats.cut == DB_CUT_FILE)
        summary_hint(summary, "what is left of it can be read by tidemark repair");
    else if (!single && *place_of(recording))
        summary_hint(summary, "%sits log (%s-wal) stays beside it and belongs to it",
                     err ? "" : "another program reads the file: ", place_of(recording));
    recording->whole = !err && single && recording->fate == HELD_IN_PLACE;
}

static void place_file(struct recording *recording)
{
    struct summary *summary = &recording->result->summary;
    const struct record_output *output = &recording->output;
    const char *path = place_of(recording);
    struct buf why = {0};
    struct stat about;
    if (output->staged && !recording->whole)
        summary_hint(summary, "it was not moved to %s", output->wanted);
    else if (!output->staged || record_output_move(output, &why) == BASE_OK)
        path = output->staged ? output->wanted : path;
    else if (!why.broken)
        summary_hint(summary, "%s", buf_string(&why));
    else
        summary_hint(summary, "memory ran out: it was not moved to %s", output->wanted);
    if (*path && stat(path, &about) == 0) {
        buf_text(&summary->file, path);
        summary->file_bytes = (uint64_t)about.st_size;
    }
    buf_clear(&why);
}

/* By us, as --steps asked: the status that it ended with is our doing, and not passed on. */
static void say_ended(struct recording *recording)
{
    uint64_t steps = recording->options.most_steps;
    summary_hint(&recording->result->summary,
                 "the program was ended after %llu %s, as --steps asks", (unsigned long long)steps,
                 steps == 1 ? "step" : "steps");
}

static void fill_result(struct recording *recording)
{
    struct record_result *result = recording->result;
    struct watch *watch = &recording->watch;
    int status = watch->root_status;
    result->summary.run_ns = clock_now_ns() - recording->start_ns;
    result->summary.processes = watch->images;
    if (watch->over == WATCH_STOPPED)
        result->signal = watch->stop_signal;
    else if (watch->ending_ns && status != 0)
        say_ended(recording);
    else if (WIFSIGNALED(status))
        result->signal = WTERMSIG(status);
    else
        result->exit_code = WEXITSTATUS(status);
    result->summary.signal = result->signal;
    result->summary.exit_code = result->exit_code;
    if (!watch->root_heard)
        buf_text(&result->summary.silent, buf_string(&watch->silent));
    else
        buf_text(&result->summary.silent, buf_string(&watch->became));
    if (watch->refused > 0)
        summary_hint(&result->summary, "%llu %s could not be recorded: %s",
                     (unsigned long long)watch->refused,
                     watch->refused == 1 ? "process" : "processes", buf_string(&watch->refusal));
    if (recording->heard.refused > 0)
        summary_hint(
            &result->summary,
            "%s%llu %s could not be recorded: of another user, and not known to belong to the "
            "program",
            recording->heard.refused_more ? "at least " : "",
            (unsigned long long)recording->heard.refused,
            recording->heard.refused == 1 ? "process" : "processes");
    if (recording->heard.failed > 0 || recording->heard.deaf)
        summary_hint(&result->summary,
                     "the recorder could not accept some connections (%s): a process may be "
                     "missing, or have no events",
                     strerror(recording->heard.why));
    result->summary.missing = watch->refused + recording->heard.refused;
    result->summary.may_miss = recording->heard.failed > 0 || recording->heard.deaf ||
                               recording->heard.refused_more || watch->forgotten > 0;
    if (watch->left.count > 0)
        summary_hint(&result->summary, "left running, and no longer recorded: %s",
                     buf_string(&watch->left));
}

static void stop_drain(struct recording *recording, struct drain_stats *stats)
{
    *stats = (struct drain_stats){0};
    if (!recording->drain)
        return;
    drain_stop(recording->drain);
    watch_close(&recording->watch);
    drain_free(recording->drain, stats);
    recording->drain = NULL;
}

/* Whoever says hello from now on is not to wait for an answer. */
static void hang_up(struct recording *recording)
{
    recording->heard = *hello_server_stats(recording->server);
    hello_server_close(recording->server);
    recording->server = NULL;
}

static void say_unused(struct summary *summary, uint64_t count, uint64_t killed)
{
    summary->missing += count;
    summary->may_miss |= killed > 0;
    if (count > 0)
        summary_hint(summary, "%llu %s could not be recorded: " DRAIN_RING_UNUSED,
                     (unsigned long long)count, count == 1 ? "process" : "processes");
    if (killed > 0)
        summary_hint(summary, "%llu %s ended by a signal before the first event",
                     (unsigned long long)killed, killed == 1 ? "process" : "processes");
}

static void finish(struct recording *recording)
{
    struct drain_stats stats;
    hang_up(recording);
    fill_result(recording);
    stop_drain(recording, &stats);
    say_unused(&recording->result->summary, stats.rings_unused, stats.rings_killed);
    recording->result->summary.may_miss |= stats.forgotten > 0;
    if (recording->watch.forgotten + stats.forgotten > 0)
        summary_hint(&recording->result->summary,
                     "memory ran out: a process may be missing, or have no events");
    if (stats.definitions_refused > 0)
        summary_hint(&recording->result->summary,
                     "%llu names and call stacks found no room in memory: they are '?'",
                     (unsigned long long)stats.definitions_refused);
    state_totals(recording->state, &recording->result->summary.totals);
    bool ended = put_end(recording, &stats);
    close_store(recording, ended);
    place_file(recording);
}

/* Nothing ran: nothing is left. */
static void abandon(struct recording *recording)
{
    struct drain_stats stats;
    bool single;
    stop_drain(recording, &stats);
    if (recording->writer) {
        queue_close(recording->queue);
        writer_finish(recording->writer, &single, NULL);
        recording->writer = NULL;
    }
    if (recording->held >= 0 && held_is_at(recording->held, recording->made))
        record_output_discard(&recording->output);
}

static void close_all(struct recording *recording)
{
    watch_close(&recording->watch);
    hello_server_close(recording->server);
    state_free(recording->state);
    queue_free(recording->queue);
    if (recording->wake_fd >= 0)
        close(recording->wake_fd);
    if (recording->signal_fd >= 0) {
        launch_leave_signals(&recording->origin, recording->signal_fd);
        close(recording->signal_fd);
    }
    witness_end(&recording->witness);
    if (recording->held >= 0)
        close(recording->held);
    buf_clear(&recording->place);
    buf_clear(&recording->missing);
    buf_clear(&recording->no_guest);
}

static int open_all(struct recording *recording)
{
    struct record_result *result = recording->result;
    int err = record_output_choose(&recording->output, recording->options.output,
                                   recording->options.stage, &result->summary.failure);
    if (err) {
        result->exit_code = err == ERR_ARG ? EXIT_USAGE : EXIT_INPUT;
        return err;
    }
    recording->signal_fd = launch_take_signals(&recording->origin);
    if (recording->signal_fd < 0)
        return recording->signal_fd;
    witness_start(&recording->witness, recording->options.argv);
    try_guest(recording);
    look_for_others(recording);
    recording->start_ns = clock_now_ns();
    err = open_store(recording);
    if (!err)
        err = open_state(recording);
    if (!err)
        err = open_drain(recording);
    if (!err)
        err = open_watch(recording);
    return err;
}

static void say_no_start(struct buf *why, int err)
{
    struct rlimit limit;
    buf_print(why, "cannot start: %s", base_err_text(err));
    if (err == ERR_FILES && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        buf_print(why, ": the limit is %llu (ulimit -n), and the recorder needs about 20",
                  (unsigned long long)limit.rlim_max);
}

int record_run(const struct record_options *options, struct record_result *result)
{
    struct recording recording = {.result = result};
    pid_t root;
    *result = (struct record_result){.exit_code = EXIT_INTERNAL};
    fill_defaults(&recording, options);
    int err = open_all(&recording);
    if (!err)
        err = launch(&recording, &root);
    if (!err) {
        result->started = true;
        result->exit_code = 0;
        watch_run(&recording.watch, root);
        if (recording.options.progress)
            recording.options.progress(recording.options.context, NULL);
        finish(&recording);
    } else {
        abandon(&recording);
        if (err == ERR_FILES)
            result->exit_code = EXIT_INPUT;
        if (result->summary.failure.count == 0 && !result->summary.failure.broken)
            say_no_start(&result->summary.failure, err);
    }
    close_all(&recording);
    return err;
}

void record_result_clear(struct record_result *result)
{
    summary_clear(&result->summary);
}

void record_die_by(int signal)
{
    const struct rlimit none = {0, 0};
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;
    setrlimit(RLIMIT_CORE, &none);
    sigaction(signal, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + signal);
}

void record_print_summary(const struct record_result *result)
{
    struct buf text = {0};
    summary_text(&result->summary, &text);
    const char *at = !text.broken      ? buf_string(&text)
                     : result->started ? "tidemark: out of memory: there is no summary; what was "
                                         "stored can be read, with its log if one lies beside it\n"
                                       : "tidemark: cannot start: out of memory\n";
    for (size_t left = strlen(at); left > 0;) {
        ssize_t wrote = write(STDERR_FILENO, at, left);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            break;
        at += wrote;
        left -= (size_t)wrote;
    }
    buf_clear(&text);
}
