/*
 * frames.h - the frames of call stacks, for who reads many: a frame's names are read once, whatever
 * number of call sites it is in.
 *
 * Invariants: `index` leads from frame.id to a place in `frames`; texts of functions and files are
 * kept once each, under string.id, until frames_clear.
 */
#ifndef TIDEMARK_ANALYSIS_FRAMES_H
#define TIDEMARK_ANALYSIS_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "map.h"

struct frame {
    int64_t function, file;  /* string.id; file -1: not known */
    int64_t line;            /* 0: not known */
    const char *name, *path; /* "": not known */
};

struct frames { /* all zero is empty */
    struct map index, texts;
    struct frame *frames;
    size_t count, cap;
    char **kept;
    size_t kept_count, kept_cap;
};

/* Calls `see` for the frames of a call site, the outermost first; what it returns below zero ends
 * it. 0 or an error. */
int frames_read(struct db *db, struct frames *frames, int64_t site,
                int (*see)(void *self, const struct frame *frame), void *self);
void frames_clear(struct frames *frames);

#endif
