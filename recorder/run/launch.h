/*
 * launch.h - starting the program: as if nobody were there, but for a few words in its environment.
 *
 * The program gets the signal mask, the dispositions and the limits that the recorder was started
 * with, no descriptor of ours, the same process group and the same terminal.
 */
#ifndef TIDEMARK_RECORDER_LAUNCH_H
#define TIDEMARK_RECORDER_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "buf.h"
#include "clock.h"
#include "launch_env.h"

/* Signals that the recorder changes for itself. */
#define LAUNCH_CHANGED 3 /* SIGPIPE, SIGXFSZ, SIGCHLD */

struct launch_origin { /* what we were started with */
    sigset_t mask;
    struct sigaction actions[LAUNCH_CHANGED];
    struct rlimit files;
};

/* Remembers, then: SIGPIPE and SIGXFSZ ignored, SIGCHLD default, every signal that is read from the
 * returned signalfd blocked (for threads made later too), descriptors up to the hard limit.
 * Returns the signalfd, or a negative base_err. */
int launch_take_signals(struct launch_origin *origin);
void launch_give_back_signals(const struct launch_origin *origin); /* of this process */
/* The recorder's own way out, for the time until it ends. The program is gone, so what came since
 * is for nobody, and is forgotten. SIGPIPE stays ignored and SIGTTOU blocked: neither a closed
 * stderr nor the terminal of another job may change how the closing lines end. Signals stay
 * blocked: *mask is what to set once the closing lines are out. */
void launch_leave_signals(const struct launch_origin *origin, int signal_fd, sigset_t *mask);

struct launch {
    const char *const *argv;
    struct launch_words words; /* guest NULL: the program's environment is left as it is */
    const struct launch_origin *origin;
};

struct launched {
    pid_t pid;
    uint64_t ns;    /* when there was such a process: what was sent before to the group missed it */
    int exec_errno; /* that of execvp, or 0 if it did not get so far */
};

/* Forks and executes. BASE_OK: launched->pid runs the program. Else nothing runs. */
int launch_start(const struct launch *launch, struct launched *launched);
/* Becomes the program: returns the errno of a failed execvp. */
int launch_become(const struct launch *launch);
/* What a shell would exit with: 127 not found, 126 not executable. */
int launch_exit_code(int exec_errno);

/* Tries the guest on a program that does nothing: it must run, and say hello, within the time that
 * a busy machine may need; if it fails, once more. False: *why has the reason, and what to do. */
#define LAUNCH_PATIENCE_NS (10 * NS_PER_S)
bool launch_try_guest(const char *guest, const struct launch_origin *origin, uint64_t patience_ns,
                      struct buf *why);
/* The same of a library that stands in for CUDA's driver, and says no hello. */
bool launch_try_stand_in(const char *library, const struct launch_origin *origin,
                         uint64_t patience_ns, struct buf *why);

/* Why a program may not have said hello, as far as its file tells (launch_why.c). */
void launch_why_silent(const char *program, struct buf *why);
bool launch_is_foreign(const char *path); /* an ELF file, for another machine than ours */
/* The file that execvp would take: false if there is none. */
bool launch_find(const char *program, char *path, size_t room);

#endif
