/*
 * launch.c - fork, restore, exec. The child reports a failed exec through a pipe that closes itself
 * when the exec succeeds. The recorder has threads by then, so between fork and exec the child
 * makes only calls that are safe in a signal handler: the environment is built before.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "hello_server.h"
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

/* ---- trying the guest ---- */

struct trial {
    pid_t pid;
    int said; /* the loader's complaints: the child's stderr */
    bool hello;
};

static int heard(void *context, const struct hello_said *said)
{
    struct trial *trial = context;
    if (said->pid == trial->pid && said->understood)
        trial->hello = true;
    if (said->pidfd >= 0)
        close(said->pidfd);
    return -1;
}

static const char *const idle_programs[][4] = {
    {"/bin/true"}, {"/usr/bin/true"}, {"/bin/sh", "-c", ":"}};

static pid_t start_trial(const char *guest, const struct hello_server *server,
                         const struct launch_origin *origin, int said)
{
    struct launch_words words = {
        .guest = guest, .socket = hello_server_name(server), .door = hello_server_door(server)};
    char **env = launch_env(environ, &words);
    pid_t pid = env ? fork() : -1;
    if (pid != 0) {
        mem_free(env);
        return pid;
    }
    launch_give_back_signals(origin);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    for (size_t i = 0; i < sizeof idle_programs / sizeof *idle_programs; i++) {
        union {
            const char *const *in;
            char *const *out;
        } argv = {.in = idle_programs[i]};
        execve(argv.out[0], argv.out, env);
    }
    _exit(127);
}

static bool wait_for_trial(struct trial *trial, struct hello_server *server, uint64_t patience_ns,
                           int *status)
{
    uint64_t begin = clock_now_ns();
    bool ended = false;
    while (clock_now_ns() - begin < patience_ns && !(ended && trial->hello)) {
        struct pollfd wake = {.fd = hello_server_fd(server), .events = POLLIN};
        poll(&wake, 1, 2); /* the child's end comes without a descriptor */
        hello_server_handle(server, heard, trial);
        if (!ended && waitpid(trial->pid, status, WNOHANG) == trial->pid) {
            ended = true;
            hello_server_handle(server, heard, trial);
            if (!trial->hello)
                return true; /* all that it wanted to say has arrived */
        }
    }
    if (!ended) {
        kill(trial->pid, SIGKILL);
        waitpid(trial->pid, status, 0);
    }
    return ended;
}

static void explain(const struct trial *trial, bool ended, int status, struct buf *why)
{
    char text[512];
    ssize_t n = read(trial->said, text, sizeof text - 1);
    size_t bytes = n > 0 ? strcspn((text[n] = '\0', text), "\n") : 0;
    if (!ended)
        buf_text(why, "/bin/true did not end with it");
    else if (WIFSIGNALED(status))
        buf_print(why, "/bin/true was killed with it: %s", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        buf_print(why, "/bin/true failed with it, exit status %d", WEXITSTATUS(status));
    else
        buf_text(why, "it was loaded into /bin/true and did not say hello");
    if (bytes > 0) {
        buf_text(why, " (");
        buf_add(why, text, bytes);
        buf_text(why, ")");
    }
}

/* False: *why has the reason; *ended says that waiting longer would not have helped. */
static bool try_once(const char *guest, const struct launch_origin *origin, uint64_t patience_ns,
                     bool *ended, struct buf *why)
{
    struct hello_server *server = NULL;
    struct trial trial = {.pid = -1};
    int pipe_fds[2], status = 0;
    bool good = false;
    *ended = false;
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        buf_text(why, strerror(errno));
        return false;
    }
    trial.said = pipe_fds[0];
    if (hello_server_open(&server) == BASE_OK)
        trial.pid = start_trial(guest, server, origin, pipe_fds[1]);
    if (trial.pid > 0) {
        *ended = wait_for_trial(&trial, server, patience_ns, &status);
        good = *ended && trial.hello && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!good)
            explain(&trial, *ended, status, why);
    } else {
        buf_text(why, "it could not be tried");
    }
    hello_server_close(server);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return good;
}

bool launch_try_guest(const char *guest, const struct launch_origin *origin, uint64_t patience_ns,
                      struct buf *why)
{
    bool ended;
    if (access(guest, R_OK) != 0) {
        buf_print(why, "%s: %s", guest, strerror(errno));
        return false;
    }
    if (strpbrk(guest, " :\n\t")) {
        buf_print(why, "the path %s holds a space or a colon, which LD_PRELOAD cannot", guest);
        return false;
    }
    if (try_once(guest, origin, patience_ns, &ended, why))
        return true;
    if (!ended)
        return false;
    buf_clear(why);
    return try_once(guest, origin, patience_ns, &ended, why);
}
