/*
 * launch.c - fork, restore, exec. The child reports a failed exec through a pipe that closes itself
 * when the exec succeeds. The recorder has threads by then, so between fork and exec the child
 * makes only calls that are safe in a signal handler: the environment is built before.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "mem.h"
#include "signals.h"

static const int changed[LAUNCH_CHANGED] = {SIGPIPE, SIGXFSZ, SIGCHLD};

int launch_take_signals(struct launch_origin *origin)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    struct rlimit files;
    sigset_t set;
    signals_of_interest(&set);
    sigaddset(&set, SIGCHLD);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return base_err_from_errno(errno);
    for (size_t i = 0; i < LAUNCH_CHANGED; i++) {
        action.sa_handler = changed[i] == SIGCHLD ? SIG_DFL : SIG_IGN;
        sigaction(changed[i], &action, &origin->actions[i]);
    }
    pthread_sigmask(SIG_BLOCK, &set, &origin->mask);
    getrlimit(RLIMIT_NOFILE, &origin->files);
    files = origin->files;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files); /* a descriptor for each process of a large tree */
    return fd;
}

void launch_give_back_signals(const struct launch_origin *origin)
{
    for (size_t i = 0; i < LAUNCH_CHANGED; i++)
        sigaction(changed[i], &origin->actions[i], NULL);
    setrlimit(RLIMIT_NOFILE, &origin->files);
    pthread_sigmask(SIG_SETMASK, &origin->mask, NULL);
}

void launch_leave_signals(const struct launch_origin *origin, int signal_fd, sigset_t *mask)
{
    struct signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof info) > 0)
        continue;
    for (size_t i = 0; i < LAUNCH_CHANGED; i++)
        if (changed[i] != SIGPIPE)
            sigaction(changed[i], &origin->actions[i], NULL);
    setrlimit(RLIMIT_NOFILE, &origin->files);
    *mask = origin->mask;
    sigaddset(mask, SIGTTOU);
}

/* ---- the child ---- */

static _Noreturn void run_child(const struct launch *launch, char **env, int report)
{
    union {
        const char *const *in;
        char *const *out;
    } argv = {.in = launch->argv};
    launch_give_back_signals(launch->origin);
    execvpe(argv.out[0], argv.out, env);
    int number = errno;
    (void)!write(report, &number, sizeof number);
    _exit(127);
}

int launch_start(const struct launch *launch, struct launched *launched)
{
    int report[2], err = BASE_OK;
    char **env = launch->words.guest || launch->words.stand_in ? launch_env(environ, &launch->words)
                                                               : environ;
    *launched = (struct launched){.pid = -1};
    if (!env)
        return ERR_NOMEM;
    if (pipe2(report, O_CLOEXEC) != 0) {
        err = base_err_from_errno(errno);
        goto out;
    }
    launched->pid = fork();
    if (launched->pid == 0)
        run_child(launch, env, report[1]);
    launched->ns = clock_now_ns();
    if (launched->pid < 0)
        err = base_err_from_errno(errno);
    close(report[1]);
    ssize_t n = 0;
    int *number = &launched->exec_errno;
    while (!err && (n = read(report[0], number, sizeof *number)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (!err && n == (ssize_t)sizeof *number) {
        err = base_err_from_errno(*number);
        while (waitpid(launched->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
out:
    if (env != environ)
        mem_free(env);
    return err;
}

int launch_become(const struct launch *launch)
{
    union {
        const char *const *in;
        char *const *out;
    } argv = {.in = launch->argv};
    char **env = launch->words.guest ? launch_env(environ, &launch->words) : environ;
    if (!env)
        return ENOMEM;
    launch_give_back_signals(launch->origin);
    execvpe(argv.out[0], argv.out, env);
    int number = errno;
    if (env != environ)
        mem_free(env);
    return number;
}

int launch_exit_code(int exec_errno)
{
    return exec_errno == ENOENT || exec_errno == ENOTDIR ? 127 : 126;
}
