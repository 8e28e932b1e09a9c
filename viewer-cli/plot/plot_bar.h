/*
 * plot_bar.h - one bar of kinds of memory, stacked in the order of enum purpose, with a legend
 * below.
 *
 *     PPPPGGSSSSAAAAAAAAAAAAAAAAA
 *     P parameters 100 MiB  G gradients ...
 *
 * In colours where there are some; else the letters of the timeline. What is below a hundredth of
 * the whole counts to the kind "other", whose name in the legend says so: "small kinds", "other and
 * small kinds".
 */
#ifndef TIDEMARK_VIEWER_PLOT_BAR_H
#define TIDEMARK_VIEWER_PLOT_BAR_H

#include "plot.h"
#include "purpose.h"

/* Bytes of each kind, none of them negative; whole lines are added to `out`: none if all are 0. Of
 * the style only the width, utf8 and colour count. `other`: what nearly all of that kind is, in
 * place of its name, unless too much of other kinds counts to it; NULL. */
void plot_bar(const int64_t bytes[PURPOSES], const char *other, const struct plot_style *style,
              struct buf *out);

/* Of several blocks, as a legend says it: "gradients". */
const char *plot_bar_name(enum purpose purpose);

#endif
