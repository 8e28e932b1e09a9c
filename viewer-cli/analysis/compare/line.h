/*
 * line.h - the straight line through points, by least squares: what a run gains for each step.
 *
 * Sums are of what each point is from the first, so that large numbers lose nothing.
 *
 * Invariants: n >= 0; a line has a slope from two points on whose x differ.
 */
#ifndef TIDEMARK_ANALYSIS_LINE_H
#define TIDEMARK_ANALYSIS_LINE_H

#include <stdint.h>

struct line { /* all zero is that of no point */
    int64_t n, first_x, last_x, first_y, last_y;
    double x, y, xx, xy;
};

void line_add(struct line *line, int64_t x, int64_t y);
/* 0 where it has none. */
double line_slope(const struct line *line);

#endif
