/* attach_helper.c - see attach_helper.h, and attach.h for whose interpreter it is. */
#include "attach_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define PATIENCE_NS (30 * NS_PER_S)
#define SAID_MAX 512

static const char code[] = "import sys\n"
                           "try:\n"
                           "    if sys.implementation.name != 'cpython':\n"
                           "        print('other', sys.implementation.name)\n"
                           "    elif not hasattr(sys, 'remote_exec'):\n"
                           "        print('old %d.%d' % sys.version_info[:2])\n"
                           "    else:\n"
                           "        sys.remote_exec(int(sys.argv[1]), sys.argv[2])\n"
                           "        print('done')\n"
                           "except PermissionError:\n"
                           "    print('denied')\n"
                           "except Exception as error:\n"
                           "    print('failed', str(error).replace(chr(10), ' '))\n";

static void execute(const char *interpreter, pid_t pid, const char *script, int out)
{
    char number[16];
    sigset_t none;
    /* Not by Ctrl-C, which this command answers by another one; not after it, or it would point to
     * a file that is not there any more. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    union {
        const char *in;
        char *out;
    } words[] = {{interpreter}, {"-I"}, {"-S"}, {"-c"}, {code}, {number}, {script}, {NULL}};
    char *argv[8];
    for (size_t i = 0; i < 8; i++)
        argv[i] = words[i].out;
    snprintf(number, sizeof number, "%d", (int)pid);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execv(interpreter, argv);
    _exit(127);
}

/* What it says until it closes; "" if it says nothing in time, or somebody wants this to end. */
static void hear(int fd, struct attach_stop *stop, char said[SAID_MAX])
{
    size_t used = 0;
    uint64_t deadline = clock_now_ns() + PATIENCE_NS;
    for (uint64_t now; (now = clock_now_ns()) < deadline && used < SAID_MAX - 1;) {
        struct pollfd wait[] = {{fd, POLLIN, 0}, {stop ? stop->fd : -1, POLLIN, 0}};
        if (poll(wait, 2, (int)((deadline - now) / NS_PER_MS) + 1) <= 0)
            continue;
        if (stop && attach_stop_wait(stop, 0))
            break;
        if (!wait[0].revents)
            continue;
        ssize_t n = read(fd, said + used, SAID_MAX - 1 - used);
        if (n == 0)
            break;
        used += n > 0 ? (size_t)n : 0;
    }
    said[used] = '\0';
    said[strcspn(said, "\n")] = '\0';
}

static int yama(void)
{
    char digit = '0';
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, &digit, 1) != 1)
        digit = '0';
    if (fd >= 0)
        close(fd);
    return digit - '0';
}

static void say_denied(pid_t pid, struct buf *why)
{
    int scope = yama();
    if (scope > 0)
        buf_print(why,
                  "process %d may not be looked into: kernel.yama.ptrace_scope is %d here; start "
                  "the program by tidemark record --armed instead",
                  (int)pid, scope);
    else
        buf_print(
            why,
            "process %d may not be looked into: this takes a program that has not changed its "
            "user, and in a container CAP_SYS_PTRACE",
            (int)pid);
}

/* True: it has done it. */
static bool judge(const char *said, pid_t pid, struct buf *why)
{
    if (strcmp(said, "done") == 0)
        return true;
    if (strncmp(said, "old ", 4) == 0)
        buf_print(why,
                  "process %d runs CPython %s, and tidemark attach takes CPython 3.14 or newer: "
                  "start it by tidemark record --armed, and run tidemark arm",
                  (int)pid, said + 4);
    else if (strncmp(said, "other ", 6) == 0)
        buf_print(why,
                  "process %d runs %s, not CPython: start it by tidemark record --armed, and run "
                  "tidemark arm",
                  (int)pid, said + 6);
    else if (strcmp(said, "denied") == 0)
        say_denied(pid, why);
    else if (strncmp(said, "failed ", 7) == 0)
        buf_print(why, "process %d cannot be attached to: %s", (int)pid, said + 7);
    else
        buf_print(why, "the interpreter of process %d could not be run", (int)pid);
    return false;
}

bool attach_helper_run(const char *interpreter, pid_t pid, const char *script,
                       struct attach_stop *stop, bool *awaited, struct buf *why)
{
    int ends[2];
    char said[SAID_MAX] = "";
    *awaited = false;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return judge("", pid, why);
    pid_t child = fork();
    if (child == 0)
        execute(interpreter, pid, script, ends[1]);
    close(ends[1]);
    if (child > 0) {
        hear(ends[0], stop, said);
        if (!*said)
            kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        *awaited = !*said || strcmp(said, "done") == 0;
    }
    close(ends[0]);
    return judge(said, pid, why) && !(stop && stop->signal);
}
