/* record_close.c - the end of a recording: what became of the program and of the file. */
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "armed.h"
#include "clock.h"
#include "db.h"
#include "error.h"
#include "host_memory.h"
#include "human.h"
#include "record_meta.h"
#include "record_types.h"

static const char *why_ended(const struct recording *recording)
{
    static const char *const words[] = {"all ended", "left running", "stopped"};
    return words[recording->watch.over];
}

static bool push_last(struct recording *recording)
{
    struct batch *batch = batch_new(recording->options.private);
    if (!batch || !record_meta_finished(batch)) {
        batch_free(batch);
        return false;
    }
    batch->commit = true;
    return queue_push(recording->queue, batch);
}

/* By us, as --steps asked: the status that it ended with is our doing, and not passed on. */
static bool was_ended(const struct watch *watch)
{
    return watch->over != WATCH_STOPPED && watch->ending_ns && watch->root_status != 0;
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
    record_meta_end(batch, why_ended(recording), recording->result->summary.run_ns,
                    was_ended(&recording->watch) ? recording->options.most_steps : 0);
    batch = state_flush(recording->state, clock_now_ns(), true);
    return batch && queue_push(recording->queue, batch) && push_last(recording);
}

/* The reason alone: what the message adds, the summary says with figures. */
static void say_stopped(struct summary *summary, const struct writer_stats *stats)
{
    buf_add(&summary->stopped, stats->message, stats->reason_bytes);
    summary->stored_events = stats->events;
    summary->stored_blocks = stats->blocks;
}

/* By what was written last; or by more, for the log cannot be emptied while somebody is in the
 * middle of reading. */
static void say_overrun(struct summary *summary, const struct writer_stats *stats, int64_t limit)
{
    char most[HUMAN_MAX];
    if (limit > 0 && stats->most_bytes > (uint64_t)limit)
        summary_hint(summary,
                     "the file and its log took %s for a while, more than --max-size: the log "
                     "goes into the file when nobody reads it",
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

static bool is_empty(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && about.st_size == 0;
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
        summary_hint(summary, is_empty(place_of(recording))
                                  ? "nothing is left of it"
                                  : "what is left of it can be read by tidemark repair");
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

static void say_ended(struct recording *recording)
{
    int64_t steps = recording->options.most_steps;
    summary_hint(&recording->result->summary,
                 "the program was ended after %lld %s, as --steps asks", (long long)steps,
                 steps == 1 ? "step" : "steps");
}

static void say_armed(struct recording *recording)
{
    const struct armed *armed = recording->options.armed;
    struct summary *summary = &recording->result->summary;
    if (recording->watch.images == 0)
        buf_text(&summary->silent, armed->deaf ? "its blocks of the CPU cannot be recorded"
                                               : "it allocated nothing through PyTorch meanwhile");
    if (armed->attached)
        summary_hint(summary, "attached: driver memory, NVTX ranges and programs that it starts "
                              "are not recorded");
    if (armed->deaf)
        summary_hint(summary,
                     "blocks of the CPU are not recorded: PyTorch did not report the one that "
                     "was tried");
}

static void fill_result(struct recording *recording)
{
    struct record_result *result = recording->result;
    struct watch *watch = &recording->watch;
    int status = watch->root_status;
    result->summary.run_ns = clock_now_ns() - recording->start_ns;
    result->summary.processes = watch->images;
    if (recording->options.armed)
        result->exit_code = EXIT_FINE; /* to be told to stop is how it ends */
    else if (watch->over == WATCH_STOPPED)
        result->signal = watch->stop_signal;
    else if (was_ended(watch))
        say_ended(recording);
    else if (WIFSIGNALED(status))
        result->signal = WTERMSIG(status);
    else
        result->exit_code = WEXITSTATUS(status);
    if (watch->over == WATCH_STOPPED) /* the program lives */
        result->summary.let_go = result->signal;
    else
        result->summary.signal = result->signal;
    result->summary.exit_code = result->exit_code;
    if (recording->options.armed)
        say_armed(recording);
    else if (recording->no_guest.count > 0 || recording->no_guest.broken)
        buf_text(&result->summary.unloaded, buf_string(&recording->no_guest));
    else if (!watch->root_heard)
        buf_text(&result->summary.silent, buf_string(&watch->silent));
    else
        buf_text(&result->summary.silent, buf_string(&watch->became));
    buf_text(&result->summary.strayed, buf_string(&watch->strayed));
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

/* Its thread asks the drain, so it ends first; what the drain left is the last that it says. */
static void pause_metrics(struct recording *recording)
{
    if (recording->metrics)
        metrics_stop(recording->metrics);
}

static void end_metrics(struct recording *recording)
{
    struct meters last = {0};
    if (!recording->metrics)
        return;
    state_meters(recording->state, &last);
    metrics_end(recording->metrics, &last);
    meters_clear(&last);
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

/* "killed by the kernel's OOM killer": who sent a SIGKILL is not told otherwise. */
static void say_killed(struct summary *summary, const struct drain_stats *stats)
{
    char limit[HUMAN_MAX];
    if (!stats->killed)
        return;
    if (stats->killed == 1)
        buf_text(&summary->killed, "the kernel's OOM killer killed the process");
    else
        buf_print(&summary->killed, "the kernel's OOM killer killed %llu processes",
                  (unsigned long long)stats->killed);
    if (stats->killed_limit != HOST_UNKNOWN)
        buf_print(&summary->killed, ": the cgroup's limit is %s",
                  human_bytes(limit, stats->killed_limit));
    else
        buf_text(&summary->killed, ": the machine had no free memory left");
}

void record_finish(struct recording *recording)
{
    struct drain_stats stats;
    hang_up(recording);
    fill_result(recording);
    pause_metrics(recording);
    stop_drain(recording, &stats);
    end_metrics(recording);
    say_unused(&recording->result->summary, stats.rings_unused, stats.rings_killed);
    recording->result->summary.may_miss |= stats.forgotten > 0;
    if (recording->watch.forgotten + stats.forgotten > 0)
        summary_hint(&recording->result->summary,
                     "memory ran out: a process may be missing, or have no events");
    if (stats.definitions_refused > 0)
        summary_hint(&recording->result->summary,
                     "%llu names and call stacks found no room in memory: they are '?'",
                     (unsigned long long)stats.definitions_refused);
    say_killed(&recording->result->summary, &stats);
    state_totals(recording->state, &recording->result->summary.totals);
    bool ended = put_end(recording, &stats);
    close_store(recording, ended);
    place_file(recording);
}

/* Nothing ran: nothing is left. */
void record_abandon(struct recording *recording)
{
    struct drain_stats stats;
    bool single;
    pause_metrics(recording);
    stop_drain(recording, &stats);
    if (recording->writer) {
        queue_close(recording->queue);
        writer_finish(recording->writer, &single, NULL);
        recording->writer = NULL;
    }
    if (recording->held >= 0 && held_is_at(recording->held, recording->made))
        record_output_discard(&recording->output);
}

void record_close(struct recording *recording)
{
    metrics_close(recording->metrics);
    watch_close(&recording->watch);
    hello_server_close(recording->server);
    state_free(recording->state);
    queue_free(recording->queue);
    if (recording->wake_fd >= 0)
        close(recording->wake_fd);
    if (recording->signal_fd >= 0) {
        launch_leave_signals(&recording->origin, recording->signal_fd, &recording->result->mask);
        recording->result->blocked = true;
        close(recording->signal_fd);
    }
    witness_end(&recording->witness);
    if (recording->held >= 0)
        close(recording->held);
    buf_clear(&recording->place);
    buf_clear(&recording->missing);
    buf_clear(&recording->no_guest);
}
