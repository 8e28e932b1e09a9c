/*
 * plot.h - a timeline as a picture of letters.
 *
 *     ▼ peak ...        where, and what was going on
 *     █ █ █             allocated, in the colour of the phase; ─ reserved, above it
 *     └─────            the axis; ≈ where time in which nothing happened is left out
 *     forward──bb       the phases: a name where there is room, else its letter;
 *                       = where they were thinned out
 *     0     1           the steps that begin
 *     0   2 s           the time since the run began, or the number of the event
 *
 * A column in which the value moves is solid up to its lowest and shaded up to its highest.
 */
#ifndef TIDEMARK_VIEWER_PLOT_H
#define TIDEMARK_VIEWER_PLOT_H

#include <stdbool.h>

#include "course.h"
#include "buf.h"

struct plot_style {
    unsigned width; /* of a line */
    unsigned rows;  /* of the plot itself */
    bool utf8, colour;
};

/* For a screen of that size with so many plots on it. */
struct plot_style plot_style_for(unsigned width, unsigned height, unsigned plots);
/* That a plot takes with its heading, at least. */
unsigned plot_least_lines(void);
/* How many columns a timeline has there. */
unsigned plot_columns(const struct plot_style *style);

void plot_timeline(const struct course *course, const struct plot_style *style, struct buf *out);

/* What the parts of a stack are where they are no kinds of memory, and what the line above is that
 * stands where reserved does. */
struct plot_parts {
    const char *names[PURPOSES]; /* NULL: there is no such part */
    const char *line;
};
void plot_stack(const struct course *course, const struct plot_parts *parts,
                const struct plot_style *style, struct buf *out);

#endif
