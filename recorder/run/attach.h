/*
 * attach.h - arms a program of CPython 3.14 that was not started to be recorded (`tidemark
 * attach`).
 *
 *     1  a script in a new folder under /tmp, which loads the library
 *     2  the program's own interpreter, as a process of its own, has the program execute it
 *        (sys.remote_exec, PEP 768): the target's main thread does so between two byte codes
 *     3  a thread that the script starts loads the library, which is armed; the main thread pauses
 *        while it is told what lives (profiler/door/pyarm.c); the thread ends
 *     4  the answer stands in a file of the folder: under which name a recorder is looked for
 *
 * From there on it is as any armed program is. Whoever is killed in between leaves a program that
 * goes on: at most the library is loaded, and asleep. A script that the program has not come to yet
 * is withdrawn: another one takes its place, /dev/null. What a SIGKILL leaves in the folder, the
 * next `attach` removes (attach_site.h).
 *
 * The interpreter belongs to the program's user. Root executes it as that user, unless nobody but
 * root can have written it.
 */
#ifndef TIDEMARK_RECORDER_ATTACH_H
#define TIDEMARK_RECORDER_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "armed.h"
#include "buf.h"

struct attach {
    const char *guest;            /* the library's path */
    const char *helper;           /* the folder of the Python helper */
    void (*waits)(void *context); /* once: the program's main thread does not come back */
    void *context;
};

/* False: it is not recorded, *why says so; or *signal came, by which this command is to end. Takes
 * until the main thread comes to a byte code, a minute at most. */
bool attach_program(const struct attach *attach, struct armed *out, pid_t pid, int *signal,
                    struct buf *why);

#endif
