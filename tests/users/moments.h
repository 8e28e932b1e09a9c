/*
 * moments.h - what each part of the program does at each of its moments: a mark with a number, and
 * a block that lives inside a phase. All of it is written into the file that MOMENTS names, by a
 * descriptor of its own each time: for some moments come after all descriptors were closed.
 */
#ifndef TIDEMARK_TESTS_MOMENTS_H
#define TIDEMARK_TESTS_MOMENTS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidemark.h"

static inline void moment_report(const char *name, long value)
{
    char block = 0; /* its address is nobody else's as long as this call lasts */
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_OTHER, 0, "moments");
    tidemark_phase_begin(name);
    tidemark_alloc(heap, &block, 64 + (uint64_t)value);
    tidemark_mark(name, value);
    tidemark_free(heap, &block);
    tidemark_phase_end(name);
}

static inline void moment_note(const char *name, long value)
{
    char line[128];
    const char *path = getenv("MOMENTS");
    int n = snprintf(line, sizeof line, "%d|%s|%ld\n", (int)getpid(), name, value);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || write(fd, line, (size_t)n) != n || !tidemark_recording())
        _exit(90);
    close(fd);
}

static inline void moment(const char *name, long value)
{
    moment_report(name, value);
    moment_note(name, value);
}

#endif
