/*
 * timeline_stack.h - the processes of one device over time, one upon the other: what together fills
 * it. Each column shows the moment at which they had the most allocated together, of the moments at
 * which the view timeline has a row of one of them; a process that has ended has nothing. Above
 * them a line shows what the device itself had in use, where it was sampled.
 */
#ifndef TIDEMARK_VIEWER_TIMELINE_STACK_H
#define TIDEMARK_VIEWER_TIMELINE_STACK_H

#include "plot.h"
#include "report.h"

/* Draws a stack for each device that several of the report's processes have. 0 or an error. */
int timeline_stack_draw(struct report *report, const struct plot_style *style);

#endif
