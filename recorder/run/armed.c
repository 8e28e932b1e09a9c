#include "armed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "hello.h"
#include "hello_server.h"
#include "launch.h"
#include "process.h"
#include "record.h"

_Static_assert((int)ARMED_NAME == (int)HELLO_SERVER_NAME, "the server takes both");

/* Abstract names are of a network namespace. */
static bool is_elsewhere(pid_t pid)
{
    char path[64], theirs[64], own[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    ssize_t n = readlink(path, theirs, sizeof theirs),
            m = readlink("/proc/self/ns/net", own, sizeof own);
    return n > 0 && m > 0 && (n != m || memcmp(theirs, own, (size_t)n) != 0);
}

static bool say_no(struct buf *why, pid_t pid, const char *text)
{
    buf_print(why, "process %d %s", (int)pid, text);
    return false;
}

static bool has_died(const struct proc_stat *stat)
{
    return strchr("ZX", stat->state) != NULL;
}

bool armed_find(struct armed *out, pid_t pid, struct buf *why)
{
    struct proc_stat stat;
    char armed[8];
    out->pid = pid;
    if (!proc_stat_read(&stat, pid) || has_died(&stat))
        return say_no(why, pid, "is not there");
    out->start_time = stat.start_time;
    int failed = proc_environ_get(pid, HELLO_ARMED_ENV, armed, sizeof armed);
    if (!failed)
        failed = proc_environ_get(pid, HELLO_ENV, out->socket, sizeof out->socket);
    if (!failed)
        failed = proc_environ_get(pid, HELLO_KEY_ENV, out->key, sizeof out->key);
    if (failed == EACCES || failed == EPERM)
        return say_no(why, pid, "belongs to another user");
    if (failed)
        return say_no(why, pid, "was not started by tidemark record --armed");
    if (is_elsewhere(pid))
        return say_no(why, pid, "is in another network namespace: run tidemark arm in there");
    return true;
}

bool armed_lives(const struct armed *armed)
{
    struct proc_stat stat;
    return proc_stat_read(&stat, armed->pid) && !has_died(&stat) &&
           (!armed->start_time || stat.start_time == armed->start_time);
}

static void warn(const struct record_options *options, const struct buf *why)
{
    struct buf line = {0};
    buf_print(&line,
              "the library cannot be loaded here: %s; the program runs without it, and cannot "
              "be recorded later",
              buf_string(why));
    if (options->warn)
        options->warn(options->context, buf_string(&line));
    buf_clear(&line);
}

static void note(const struct record_options *options)
{
    char text[96];
    snprintf(text, sizeof text, "armed: tidemark arm %d records it, from then on", (int)getpid());
    if (options->note)
        options->note(options->context, text);
}

int armed_become(const struct record_options *options, struct buf *why)
{
    char name[HELLO_SERVER_NAME], key[HELLO_SERVER_NAME];
    struct launch_origin origin;
    struct buf trouble = {0};
    struct launch launch = {.argv = options->argv, .origin = &origin};
    int signal_fd = launch_take_signals(&origin), err = signal_fd < 0 ? signal_fd : 0;
    if (!err)
        err = hello_server_think_up(name, key);
    if (err) {
        buf_print(why, "cannot start: %s", base_err_text(err));
        return EXIT_INTERNAL;
    }
    if (options->guest && launch_try_guest(options->guest, &origin, LAUNCH_PATIENCE_NS, &trouble))
        launch.words = (struct launch_words){.guest = options->guest,
                                             .socket = name,
                                             .key = key,
                                             .armed = true,
                                             .python = options->python,
                                             .wants = options->wants};
    else if (!options->guest)
        buf_text(&trouble, "libtidemark.so was not found");
    if (launch.words.guest)
        note(options);
    else
        warn(options, &trouble);
    buf_clear(&trouble);
    int number = launch_become(&launch);
    buf_print(why, "cannot run %s: %s", launch.argv[0], strerror(number));
    return launch_exit_code(number);
}
