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
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "error.h"
#include "record_types.h"

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
    pid_t root = 0;
    *result = (struct record_result){.exit_code = EXIT_INTERNAL};
    record_fill_defaults(&recording, options);
    int err = record_open(&recording);
    if (!err && !options->armed)
        err = record_launch(&recording, &root);
    if (!err) {
        result->started = true;
        result->exit_code = 0;
        if (options->armed)
            watch_run_armed(&recording.watch);
        else
            watch_run(&recording.watch, root);
        if (recording.options.progress)
            recording.options.progress(recording.options.context, NULL);
        record_finish(&recording);
    } else {
        record_abandon(&recording);
        if (err == ERR_FILES)
            result->exit_code = EXIT_INPUT;
        if (result->summary.failure.count == 0 && !result->summary.failure.broken)
            say_no_start(&result->summary.failure, err);
    }
    record_close(&recording);
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
    if (result->blocked)
        pthread_sigmask(SIG_SETMASK, &result->mask, NULL);
    buf_clear(&text);
}
