/*
 * armed.h - a program that was started to be recorded later: `tidemark record --armed` becomes it,
 * with the guest loaded and asleep (ring/hello.h), and no recorder is there. What a recorder needs
 * to come in later stands in the environment that the program was started with: the socket's name,
 * at which the recorder then listens, and the key.
 *
 * All processes that the program started have the same name, and are recorded together, whichever
 * of them was named. So two recorders of one program cannot be: the second finds the name taken.
 */
#ifndef TIDEMARK_RECORDER_ARMED_H
#define TIDEMARK_RECORDER_ARMED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"

#define ARMED_NAME 64 /* of a socket, a key */

struct armed {
    pid_t pid;
    uint64_t start_time; /* with the pid the process's identity */
    char socket[ARMED_NAME], key[ARMED_NAME];
    bool attached;   /* it was not started to be recorded: see attach.h */
    bool deaf;       /* attached: its blocks of the CPU are reported to nobody */
    uint64_t for_ns; /* how long it is recorded; 0: until somebody says so, or it ends */
};

/* What is in its environment. False: it cannot be recorded, *why says so. */
bool armed_find(struct armed *out, pid_t pid, struct buf *why);
bool armed_lives(const struct armed *armed);
/* Abstract names are of a network namespace: whether it has another one. */
bool armed_is_elsewhere(pid_t pid);

struct record_options;
/* Becomes the program, armed (become.h). */
int armed_become(const struct record_options *options, struct buf *why);

#endif
