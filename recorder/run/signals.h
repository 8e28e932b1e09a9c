/*
 * signals.h - what is sent to the recorder, and whether the program has it already.
 *
 * A signal is held for a moment. Then the witness (witness.h) is asked: if the same signal came to
 * it meanwhile, it was sent to the group, and the program has it. The moment is for who sends to
 * the recorder first and to the group, or to a list of processes, right after: `timeout`, systemd,
 * Slurm. It lasts longer while the sender is still running. Signals are decided in the order in
 * which they came.
 *
 * Invariant: at most SIGNALS_HELD are held, sorted by ns. A send to the group that the witness saw
 * answers each signal of that number that was read before the answer, and none later.
 */
#ifndef TIDEMARK_RECORDER_SIGNALS_H
#define TIDEMARK_RECORDER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "witness.h"

#define SIGNALS_HELD 64
#define SIGNALS_NUMBERS 72

struct signal_came {
    int number;
    pid_t sender;   /* 0: not known, or the kernel */
    bool terminal;  /* the kernel sent it to the terminal's foreground group */
    bool early;     /* there was no program yet, which could have got it */
    bool group;     /* decided: it was sent to our group */
    bool queued;    /* by sigqueue(), with a value */
    uint64_t value; /* of sigqueue() */
    uint64_t ns;    /* when it was read */
    uint64_t due_ns;
};

enum signal_has {
    SIGNAL_HAS_NOT, /* the program: it came to us alone */
    SIGNAL_HAS,
    SIGNAL_NOT_KNOWN /* there is no witness, or it did not answer */
};

struct signals {
    int fd; /* signalfd */
    struct witness *witness;
    pid_t program;       /* 0: there is none yet, or no more */
    uint64_t program_ns; /* what came to the witness before, the program does not have */
    struct signal_came held[SIGNALS_HELD];
    unsigned count;
    uint64_t answered_ns[SIGNALS_NUMBERS]; /* when the witness last said yes */
};

/* The signals that mean the program when they are sent to the recorder. */
void signals_of_interest(sigset_t *set);

/* The next one, without waiting; false also if no more can be held. */
bool signals_read(struct signals *signals, struct signal_came *came);
/* Reads all that came so far, when there is no program yet: it is to get them once it is there. */
void signals_read_early(struct signals *signals);
void signals_hold(struct signals *signals, const struct signal_came *came);
bool signals_holds(const struct signals *signals, int number);
/* The oldest, if its time has come at `now_ns`, which is clock_now_ns() but for tests. */
bool signals_decide(struct signals *signals, uint64_t now_ns, struct signal_came *came,
                    enum signal_has *has);
/* Milliseconds until the next one is to be decided, at most `most`. */
int signals_wait_ms(const struct signals *signals, int most);
void signals_drop(struct signals *signals); /* all that are held */

#endif
