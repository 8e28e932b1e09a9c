/*
 * progress.h - the line of `record` that says how far it is.
 *
 * The recorded program has the same terminal, and we do not see what it writes. So the line stands
 * on a line of its own with the cursor below it: what the program writes begins on a fresh line and
 * is never mixed with it. While nobody has written since, the line is replaced where it stands;
 * after somebody has, the old one is left alone and a new one is begun, below, once the program has
 * been silent for some seconds. That nobody has written is known from the kernel's count of bytes
 * written, which counts files, too: a program that never stops writing has no line, unless it was
 * asked for always: then one is begun whatever the program writes, if the last is too old.
 * It is drawn only while the recorder is in the terminal's foreground and the terminal reads whole
 * lines and echoes them: never into a prompt, a pager or an editor.
 *
 * Where the program's stdout is that terminal, too, the lines that are left alone would soon be
 * more than its own: there each of them doubles the silence that the next one waits for.
 */
#ifndef TIDEMARK_VIEWER_PROGRESS_H
#define TIDEMARK_VIEWER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "record.h"

enum progress_when { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };
extern const char *const progress_choices[]; /* their names, ended by NULL */

struct progress {
    bool shown;          /* the line above the cursor is ours, unless somebody wrote since */
    bool patient;        /* each line doubles the silence before the next one */
    uint64_t silence_ns; /* after which a line is begun */
    uint64_t stale_ns;   /* as old as this, a line is followed by another in any case; 0: never */
    uint64_t written;    /* record_progress.written as it was last seen */
    uint64_t quiet_ns;   /* record_progress.run_ns when it last changed */
    uint64_t drawn_ns;   /* record_progress.run_ns of the line; 0: there was none */
};

/* False: there is to be no line. */
bool progress_begin(struct progress *progress, enum progress_when when);
/* For record_options.progress; the context is the struct progress. */
void progress_show(void *context, const struct record_progress *now);

/* Whether there is something to show now; then progress_drew is told that it was shown. */
bool progress_is_due(struct progress *progress, const struct record_progress *now);
void progress_drew(struct progress *progress, const struct record_progress *now);

/* The line for a terminal of that width, the last column of which stays free. */
void progress_line(struct buf *line, const struct record_progress *now, unsigned width);

#endif
