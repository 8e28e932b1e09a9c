/*
 * plot_parts.h - what the files of the plot share.
 */
#ifndef TIDEMARK_VIEWER_PLOT_PARTS_H
#define TIDEMARK_VIEWER_PLOT_PARTS_H

#include "plot.h"
#include "plot_canvas.h"

#define PLOT_THINNED "=" /* in the row of phases: none is left */

enum { PLOT_MARGIN = 10 }; /* "4328 MiB |" */

struct plot { /* one picture; rows of the canvas from the top: peak, plot, axis, phases, ... */
    const struct course *course;
    const struct plot_style *style;
    const struct plot_parts *parts; /* NULL: kinds of memory */
    struct canvas canvas;
    unsigned axis_row, band_row, step_row, time_row;
    int64_t top; /* bytes at the upper edge */
};

struct plot_ink { /* how a kind or a category looks */
    const char *letter;
    enum canvas_colour colour;
};
extern const struct plot_ink plot_kind_inks[COURSE_KINDS];
extern const struct plot_ink plot_category_inks[PURPOSES];
extern const struct plot_ink plot_part_inks[PURPOSES];
static inline const struct plot_ink *plot_stack_ink(const struct plot_parts *parts, unsigned part)
{
    return parts ? &plot_part_inks[part] : &plot_category_inks[part];
}

void plot_areas(struct plot *plot); /* what is above the axis, without labels */
void plot_scale(struct plot *plot); /* labels of bytes */
void plot_axis(struct plot *plot);  /* the axis, phases, steps and times below it */

#endif
