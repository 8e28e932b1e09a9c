#include "record_call.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "db.h"
#include "endless.h"
#include "error.h"
#include "guest_path.h"
#include "log.h"
#include "mem.h"
#include "oom_closing.h"
#include "query.h"
#include "safe.h"

static const char *const phase_choices[] = {"auto", "off", NULL};
static const char *const waits[] = {
    [RECORD_WAIT_GRACE] = "grace", [RECORD_WAIT_ALL] = "all", [RECORD_WAIT_ROOT] = "root", NULL};
static const char *const keeps[] = {"all", "steps=", NULL};

#define AT(member) offsetof(struct record_call, member)

static const struct option option_table[] = {
    {"output", 'o', OPT_FILE, AT(record.output), "FILE",
     "the database to make (tidemark.DATE-TIME-PID.db)", NULL, 0},
    {"force", 0, OPT_FLAG, AT(force), NULL, "replace a finished recording of that name", NULL, 0},
    {"wait", 'w', OPT_CHOICE, AT(record.wait), "WHOM",
     "whom to wait for when the program has ended:\n"
     "grace: its descendants, for two seconds (the default);\n"
     "all: every descendant; root: none",
     waits, 0},
    {"no-stacks", 0, OPT_FLAG, AT(record.wants.no_stacks), NULL,
     "do not record the Python call stack of each block", NULL, 0},
    {"phases", 0, OPT_CHOICE, AT(phases), "HOW",
     "auto: find those of PyTorch, such as forward, loss\n"
     "and backward (the default);\n"
     "off: only the phases that the program reports itself",
     phase_choices, 0},
    {"history", 0, OPT_FLAG, AT(record.wants.history), NULL,
     "turn on the history that PyTorch's CUDA allocator keeps\n"
     "of itself, and add from it: the bytes requested,\n"
     "segments, blocks that waited for a stream",
     NULL, 0},
    {"keep", 0, OPT_TEXT, AT(keep), "WHAT",
     "all (the default), or steps=N: blocks in full of the\n"
     "first 10 steps, the last N, and those with a new peak\n"
     "or an out-of-memory event; of the others sums",
     keeps, 0},
    {"max-size", 0, OPT_SIZE, AT(record.retention.max_bytes), "SIZE",
     "keep the file below this, 16MiB or more: as it fills,\n"
     "steps in the middle go, phases too, to sums",
     NULL, 0},
    {"private", 0, OPT_FLAG, AT(record.private), NULL,
     "to give the file away: no command lines, no host or\n"
     "folder names; of paths only the last part,\n"
     "of Python's libraries from site-packages on",
     NULL, 0},
    {"steps", 's', OPT_INT, AT(record.most_steps), "N",
     "end the program after N steps: SIGINT, SIGTERM if it is\n"
     "still there ten seconds later; 3 show most of a training",
     NULL, 1},
    {"no-nvtx", 0, OPT_FLAG, AT(record.wants.no_nvtx), NULL,
     "do not record the ranges and marks of NVTX", NULL, 0},
    {"metrics", 0, OPT_FILE, AT(record.metrics), "FILE",
     "show the run to Prometheus while it goes on; in place\n"
     "of a file also unix:PATH or 127.0.0.1:PORT",
     NULL, 0},
    {"progress", 0, OPT_CHOICE, AT(progress), "WHEN",
     "a line on stderr while the program runs, where that is\n"
     "a terminal: events, blocks, allocated, peak, lost;\n"
     "auto (the default): where stdout is there, too, in ever\n"
     "longer silences of the program;\n"
     "always: in each silence, and every ten seconds; never",
     progress_choices, 0},
    {"no-cupti", 0, OPT_FLAG, AT(record.wants.no_cupti), NULL,
     "do not ask CUDA's driver what it gives and takes; for\n"
     "programs that use CUPTI themselves: it serves one tool",
     NULL, 0},
    {"kernels", 0, OPT_FLAG, AT(record.wants.kernels), NULL,
     "record kernels and copies of the GPU, too", NULL, 0},
    {0},
};
const struct command_shared record_call_shared = {"Options of every recording", option_table};

static void warn(void *context, const char *text)
{
    struct buf safe = {0};
    (void)context;
    safe_put(&safe, text, strlen(text));
    log_say(LOG_WARNING, "%s", safe.broken ? text : buf_string(&safe));
    buf_clear(&safe);
}

#define STEPS "steps="

static void note(void *context, const char *text)
{
    (void)context;
    log_say(LOG_NOTE, "%s", text);
}

/* False after a message. */
static bool read_keep(const struct command *command, const char *keep,
                      struct retention_options *out)
{
    if (out->max_bytes && out->max_bytes < RETENTION_SMALLEST) {
        command_misused(command, "--max-size is at least 16MiB");
        return false;
    }
    if (!keep || strcmp(keep, "all") == 0)
        return true;
    if (strncmp(keep, STEPS, strlen(STEPS)) == 0 &&
        option_read_int(keep + strlen(STEPS), &out->keep_steps) &&
        out->keep_steps >= RETENTION_LEAST)
        return true;
    command_misused(command, "--keep is all, or steps=N with an N from %d on, not '%.60s'",
                    RETENTION_LEAST, keep);
    return false;
}

/* What is no recording of ours, or one that may still be written, stays: record_run then says that
 * the file exists. */
static void remove_old(const char *path)
{
    struct db *db = NULL;
    int64_t finished = 0;
    int err = db_open(&db, path);
    if (err == 0)
        err = query_read(db, "SELECT value <> 0 AS finished FROM meta WHERE key = 'finished'",
                         Q_NOTHING, Q_OUT(Q_INT(finished)));
    if (db)
        db_close(db);
    if (err >= 0 && finished)
        unlink(path);
    else if (access(path, F_OK) == 0)
        log_say(LOG_WARNING, "--force replaces finished recordings only, and %s is %s", path,
                err == ERR_NOTOURS ? "no recording"
                : err < 0          ? "damaged"
                                   : "not finished: its recorder may still write it");
}

bool record_call_prepare_file(const struct command *command, struct record_call *call)
{
    struct record_options *record = &call->record;
    if (!read_keep(command, call->keep, &record->retention))
        return false;
    if (call->force && record->output)
        remove_old(record->output);
    record->warn = warn;
    record->note = note;
    return true;
}

bool record_call_prepare(const struct command *command, struct record_call *call,
                         char *const *arguments)
{
    struct record_options *record = &call->record;
    if (!record_call_prepare_file(command, call))
        return false;
    /* Without the library the program runs all the same, and the recording says why it is empty. */
    int err = guest_path_find(call->guest, sizeof call->guest);
    if (err == 0 || err == ERR_DENIED)
        record->guest = call->guest;
    if (record->guest && guest_path_python(call->guest, call->python, sizeof call->python) == 0)
        record->python = call->python;
    record->wants.no_phases = call->phases == 1;
    record->argv = (const char *const *)arguments;
    return true;
}

/* Nothing that goes wrong here changes how the recording ends. */
static void explain_failure(const struct record_result *result)
{
    struct buf text = {0};
    if (result->started && result->summary.file.count > 0)
        oom_closing_text(buf_string(&result->summary.file), &text);
    fputs(buf_string(&text), stderr);
    buf_clear(&text);
}

static int leave(const struct record_call *call, struct record_result *result)
{
    int code = result->exit_code, number = result->signal;
    record_print_summary(result);
    explain_failure(result);
    if (call->closing && result->started && result->summary.file.count > 0)
        call->closing(call->context, result);
    record_result_clear(result);
    if (number)
        record_die_by(number);
    return code;
}

/* What is said while the program runs. */
struct watcher {
    bool draws;  /* a line of progress */
    bool doubts; /* that it ever ends */
    struct progress progress;
    struct endless endless;
};

static void watch(void *context, const struct record_progress *now)
{
    struct watcher *watcher = context;
    struct buf line = {0};
    if (watcher->doubts && now && endless_is_due(&watcher->endless, now)) {
        endless_line(&watcher->endless, now, &line);
        log_say(LOG_NOTE, "%s", buf_string(&line));
        watcher->progress.shown = false; /* its line is not the last one any more */
    }
    if (watcher->draws)
        progress_show(&watcher->progress, now);
    buf_clear(&line);
}

int record_call_run(struct record_call *call)
{
    struct record_result result = {0};
    struct watcher watcher = {.doubts = call->record.rehearsal != NULL};
    watcher.draws = progress_begin(&watcher.progress, (enum progress_when)call->progress);
    if (watcher.draws || watcher.doubts) {
        call->record.progress = watch;
        call->record.context = &watcher;
    }
    record_run(&call->record, &result); /* what went wrong is in the result, too */
    return leave(call, &result);
}
