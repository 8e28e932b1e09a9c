/*
 * timeline_stack.h - the processes of one device over time, one upon the other, each with a letter
 * and a colour (course_together.h); above them a line shows what the device itself had in use.
 */
#ifndef TIDEMARK_VIEWER_TIMELINE_STACK_H
#define TIDEMARK_VIEWER_TIMELINE_STACK_H

#include "plot.h"
#include "report.h"

/* Draws a stack for each device that several of the report's processes have. 0 or an error. */
int timeline_stack_draw(struct report *report, const struct plot_style *style);

#endif
