/*
 * witness.h - an idle child of the recorder, which says whether a signal was meant for us alone.
 *
 * Who sends a signal to a whole process group, to each process of a control group or to all that
 * has some command line reaches the program, the recorder and the witness; who sends it to the
 * recorder alone means the program, which does not have it yet. The kernel does not tell the two
 * apart. So the witness is where the recorder is: the same process group, session and control
 * group, its child like the program. All signals are blocked in it, and it takes down when each
 * came. It has no descriptor but a socket to the recorder and its own signalfd, no memory of its
 * own to speak of, and it dies with the recorder's main thread. `ps -e` calls it "signal-witness";
 * its command line is that of the program, so that `pkill -f train.py` finds both or none.
 *
 * While the recorder is stopped, since the program is, the witness looks at the program: if that
 * goes on or ends, the recorder is continued.
 *
 * Invariant: pid > 0 with fd >= 0, a child that was not waited for; or there is none, pid == 0.
 */
#ifndef TIDEMARK_RECORDER_WITNESS_H
#define TIDEMARK_RECORDER_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WITNESS_NAME "signal-witness"

struct witness { /* all zero: there is none */
    pid_t pid;
    int fd;
    uint32_t asked; /* so often: an answer carries the number of its question */
};

/* To be called by the main thread, early: the child is a copy of what this process is by then. All
 * signals of interest are blocked. Without one (fork failed) all is as if it had died. */
void witness_start(struct witness *witness, const char *const *argv);
bool witness_lives(struct witness *witness); /* and if not, buries it */
/* Since the last question about this signal it came: the time, by clock_now_ns(), of its last
 * arrival. 0: it did not. False: nobody answers, be it for this time. Who is stopped is continued,
 * and answers. */
bool witness_ask(struct witness *witness, int number, uint64_t *at_ns);
/* From now on, until witness_back(), this process may be stopped because `program` is. */
void witness_stand_in(struct witness *witness, pid_t program);
void witness_back(struct witness *witness);
void witness_end(struct witness *witness); /* may be called again */

#endif
