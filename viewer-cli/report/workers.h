/*
 * workers.h - processes that only help the one that trains, such as the workers of a DataLoader:
 * there are many of them, all alike, and a report for people has one line for them all.
 */
#ifndef TIDEMARK_VIEWER_WORKERS_H
#define TIDEMARK_VIEWER_WORKERS_H

#include "report.h"

/* In tables, where no process was asked for: scopes on a CPU whose process has no step of training
 * are taken out of the report, with a note, if a process that has steps there has more memory. Of
 * what is left the highest peaks stay, where there are very many, and host memory comes behind all
 * devices: scopes cannot be looked up by their process any more. 0 or an error. */
int workers_fold(struct report *report);
/* For looks at a run that goes on: only so many with the highest peaks stay in the report. Peaks
 * are found by their keys, not by reading all phases. 0 or an error. */
int workers_keep(struct report *report, size_t most);
/* For reports that need all scopes: which of them would be left out because there are too many, one
 * flag for each. With the note. 0 or an error. */
int workers_crowd(struct report *report, bool *rest);

#endif
