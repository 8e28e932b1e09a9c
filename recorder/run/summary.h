/*
 * summary.h - what is said when a recording ends: file, events, lost, peak, what to ask next; and
 * what else the user should know.
 */
#ifndef TIDEMARK_RECORDER_SUMMARY_H
#define TIDEMARK_RECORDER_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "state_totals.h"

struct summary {        /* all zero is valid; summary_clear frees the texts */
    struct buf failure; /* why nothing was started; empty if it was */
    struct buf file;    /* where the recording is, empty: nowhere */
    uint64_t file_bytes;
    uint64_t run_ns;
    uint64_t processes; /* rows of table process */
    int let_go;         /* the signal to us that ended the recording of a program that lives; 0 */
    int signal;         /* that the program died of, or 0: then */
    int exit_code;      /* its own */
    struct state_totals totals;
    struct buf removed; /* the file, if somebody removed it meanwhile; empty: it is there */
    bool replaced;      /* removed, and its name is another file's */
    struct buf moved;   /* the file, if it was moved to where nobody knows; empty: it was not */
    struct buf stopped; /* why the rest could not be stored; empty: all was */
    uint64_t stored_events, stored_blocks; /* if it was not */
    uint64_t missing;    /* processes that reached us and could not be recorded; a hint says why */
    bool may_miss;       /* there may be more, of which we do not know */
    struct buf killed;   /* for their memory: who, and the limit; empty: nobody */
    struct buf silent;   /* why the program itself never said hello; empty if it did */
    struct buf strayed;  /* the same of a process that it started */
    struct buf unloaded; /* why libtidemark.so was not even tried in it; empty if it was */
    struct buf hints;    /* further lines, each ended by a newline */
};

void summary_clear(struct summary *summary);
/* One hint, a sentence without a full stop. */
void summary_hint(struct summary *summary, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The lines, each begun by "tidemark: ". */
void summary_text(const struct summary *summary, struct buf *out);

#endif
