#include "witness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* On a busy machine too. Whether who does not answer by then has seen the signal is not known. */
#define ANSWER_MS 1000
/* Who does not answer by then may be stopped, and is continued. */
#define NUDGE_MS 50
#define LOOK_MS 50      /* less than the 100 ms after which a program gives up on a full ring */
#define SIGNALS_MOST 72 /* more than there are */

struct question {
    enum { DID_IT_COME, STAND_IN, BACK } what;
    int32_t number; /* the signal; the program's pid */
    uint32_t count;
};

struct answer {
    uint64_t at_ns;
    uint32_t count;
};

/* ---- the child ---- */

struct stand { /* what the witness knows */
    pid_t recorder;
    pid_t program; /* to look at; 0: the recorder runs */
    int socket, signals;
    uint64_t at_ns[SIGNALS_MOST]; /* the last time that each came, and nobody asked since */
};

static void close_others(int kept)
{
    if (syscall(SYS_close_range, kept + 1, ~0u, 0) == 0 &&
        (kept == 0 || syscall(SYS_close_range, 0, kept - 1, 0) == 0))
        return;
    DIR *folder = opendir("/proc/self/fd"); /* an old kernel */
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd != kept && fd != dirfd(folder))
            close(fd);
    }
    if (folder)
        closedir(folder);
}

/* The arguments lie behind each other, and the program's are the last of ours: they are moved to
 * the front. Only the memory that ps reads is changed; where it is laid out otherwise, nothing. */
static void take_command_line(const char *const *argv)
{
    char *first = program_invocation_name;
    const char *begin = argv[0], *end = begin;
    for (size_t i = 0; argv[i]; i++) {
        if (argv[i] != end)
            return;
        end += strlen(end) + 1;
    }
    for (const char *at = first; at != begin; at += strlen(at) + 1)
        if (at > begin)
            return;
    size_t bytes = (size_t)(end - begin), before = (size_t)(begin - first);
    memmove(first, begin, bytes);
    memset(first + bytes, 0, before);
}

/* By the recorder, which waits for an answer: nobody else has it. */
static bool is_nudge(const struct stand *stand, const struct signalfd_siginfo *info)
{
    return info->ssi_signo == SIGCONT && info->ssi_code == SI_USER &&
           (pid_t)info->ssi_pid == stand->recorder;
}

static void take_down(struct stand *stand)
{
    struct signalfd_siginfo info;
    while (read(stand->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo < SIGNALS_MOST && !is_nudge(stand, &info))
            stand->at_ns[info.ssi_signo] = clock_now_ns();
}

static void answer(struct stand *stand)
{
    struct question question;
    ssize_t n = recv(stand->socket, &question, sizeof question, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        _exit(0); /* the recorder is gone */
    if (n != (ssize_t)sizeof question)
        return;
    if (question.what != DID_IT_COME) {
        stand->program = question.what == STAND_IN ? question.number : 0;
        return;
    }
    take_down(stand); /* whatever was sent before the question counts */
    struct answer answer = {.count = question.count};
    if (question.number > 0 && question.number < SIGNALS_MOST) {
        answer.at_ns = stand->at_ns[question.number];
        stand->at_ns[question.number] = 0;
    }
    (void)!send(stand->socket, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A debugger's stop is one, too; what /proc does not tell leaves all as it is. */
static bool is_stopped(pid_t pid)
{
    struct proc_stat stat;
    return proc_stat_read(&stat, pid) && strchr("Tt?", stat.state);
}

static void look(const struct stand *stand)
{
    if (!is_stopped(stand->program) && is_stopped(stand->recorder))
        kill(stand->recorder, SIGCONT);
}

static _Noreturn void stand_by(pid_t recorder, int socket, const char *const *argv)
{
    struct stand stand = {.recorder = recorder, .socket = socket};
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != recorder)
        _exit(0);
    prctl(PR_SET_NAME, WITNESS_NAME);
    take_command_line(argv);
    close_others(socket);
    stand.signals = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    if (stand.signals < 0)
        _exit(0);
    for (;;) {
        struct pollfd wake[] = {{.fd = socket, .events = POLLIN},
                                {.fd = stand.signals, .events = POLLIN}};
        poll(wake, 2, stand.program ? LOOK_MS : -1);
        take_down(&stand);
        if (wake[0].revents)
            answer(&stand);
        if (stand.program)
            look(&stand);
    }
}

/* ---- the recorder's side ---- */

void witness_start(struct witness *witness, const char *const *argv)
{
    int ends[2];
    *witness = (struct witness){0};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    pid_t recorder = getpid(), pid = fork();
    if (pid == 0)
        stand_by(recorder, ends[1], argv);
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    else
        *witness = (struct witness){.pid = pid, .fd = ends[0]};
}

static void bury(struct witness *witness)
{
    close(witness->fd);
    *witness = (struct witness){0};
}

bool witness_lives(struct witness *witness)
{
    if (witness->pid > 0 && waitpid(witness->pid, NULL, WNOHANG) == witness->pid)
        bury(witness);
    return witness->pid > 0;
}

void witness_end(struct witness *witness)
{
    if (witness->pid <= 0)
        return;
    kill(witness->pid, SIGKILL); /* it may be stopped, and would not see that we hang up */
    while (waitpid(witness->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    bury(witness);
}

static bool put(struct witness *witness, const struct question *question)
{
    return witness->pid > 0 && send(witness->fd, question, sizeof *question,
                                    MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *question;
}

/* Answers to questions that we no longer wait for are passed over: what they tell was of then. The
 * question is not put again, since it lies there; a second answer would say that nothing came. */
static bool hear(const struct witness *witness, struct answer *answer)
{
    uint64_t begin = clock_now_ns(), most = ANSWER_MS * NS_PER_MS, passed = 0;
    do {
        struct pollfd wake = {.fd = witness->fd, .events = POLLIN};
        if (poll(&wake, 1, NUDGE_MS) == 0)
            kill(witness->pid, SIGCONT);
        ssize_t n = recv(witness->fd, answer, sizeof *answer, MSG_DONTWAIT);
        if (n == (ssize_t)sizeof *answer && answer->count == witness->asked)
            return true;
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        passed = clock_now_ns() - begin;
    } while (passed < most);
    return false;
}

bool witness_ask(struct witness *witness, int number, uint64_t *at_ns)
{
    struct question question = {DID_IT_COME, number, ++witness->asked};
    struct answer answer;
    *at_ns = 0;
    if (put(witness, &question) && hear(witness, &answer)) {
        *at_ns = answer.at_ns;
        return true;
    }
    witness_lives(witness);
    return false;
}

void witness_stand_in(struct witness *witness, pid_t program)
{
    const struct question question = {STAND_IN, program, 0};
    put(witness, &question);
}

void witness_back(struct witness *witness)
{
    const struct question question = {BACK, 0, 0};
    put(witness, &question);
}
