/*
 * attach_stop.h - Ctrl-C and its kin while a program is attached to: they wait, so that nothing is
 * left behind, and are obeyed then.
 */
#ifndef TIDEMARK_RECORDER_ATTACH_STOP_H
#define TIDEMARK_RECORDER_ATTACH_STOP_H

#include <signal.h>
#include <stdbool.h>

struct attach_stop {
    sigset_t before; /* the mask */
    int fd;          /* readable when one came */
    int signal;      /* which; 0: none yet */
};

bool attach_stop_open(struct attach_stop *stop); /* false: errno says why */
/* Waits for as long; true, and from then on at once: somebody wants it to end. */
bool attach_stop_wait(struct attach_stop *stop, int ms);
/* Who has `signal` ends by it: record_die_by(). */
void attach_stop_close(struct attach_stop *stop);

#endif
