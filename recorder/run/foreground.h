/*
 * foreground.h - the terminal, for a program that has left our process group.
 *
 * Started by a shell as a job of its own it would lead the job's group, which nobody can leave, and
 * have the terminal whenever the job has it. Beside us it may leave, and is in the background
 * then: who reads is stopped (SIGTTIN), and the shell knows of our group alone. So whenever it is
 * stopped for that while our group has the terminal, it gets it; and we take it back at its end,
 * for whoever else is of our group.
 */
#ifndef TIDEMARK_RECORDER_FOREGROUND_H
#define TIDEMARK_RECORDER_FOREGROUND_H

#include <stdbool.h>
#include <sys/types.h>

/* Of a program that signal `number` has stopped: gives its group the terminal, and continues it.
 * False: it was not that, or is as it would be without us. *given is its group then. */
bool foreground_give(pid_t program, int number, pid_t *given);
void foreground_take_back(pid_t *given); /* 0: nothing was given */

#endif
