#include "armed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "become.h"
#include "error.h"
#include "hello.h"
#include "hello_server.h"
#include "process.h"

_Static_assert((int)ARMED_NAME == (int)HELLO_SERVER_NAME, "the server takes both");

bool armed_is_elsewhere(pid_t pid)
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
    /* A name of our own kind: root is not to listen at one that somebody else made up. */
    if (failed || strncmp(out->socket, HELLO_SERVER_PREFIX, sizeof HELLO_SERVER_PREFIX - 1) != 0)
        return say_no(why, pid, "was not started by tidemark record --armed");
    if (armed_is_elsewhere(pid))
        return say_no(why, pid, "is in another network namespace: run tidemark arm in there");
    return true;
}

bool armed_lives(const struct armed *armed)
{
    struct proc_stat stat;
    return proc_stat_read(&stat, armed->pid) && !has_died(&stat) &&
           (!armed->start_time || stat.start_time == armed->start_time);
}

int armed_become(const struct record_options *options, struct buf *why)
{
    char name[HELLO_SERVER_NAME], key[HELLO_SERVER_NAME], note[96];
    const struct launch_words words = {.socket = name, .key = key, .armed = true};
    int err = hello_server_think_up(name, key);
    if (err) {
        buf_print(why, "cannot start: %s", base_err_text(err));
        return EXIT_INTERNAL;
    }
    snprintf(note, sizeof note, "armed: tidemark arm %d records it, from then on", (int)getpid());
    return become(options, &words, note, why);
}
