/*
 * What stands below the plot: the axis with its ticks, phases, steps, times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plot_parts.h"

/* ---- phases ---- */

static bool begins_run(const struct course *course, unsigned i)
{
    const struct course_column *at = &course->columns[i];
    if (i == 0 || at->kind != at[-1].kind || at->mixed != at[-1].mixed ||
        at->pause != at[-1].pause || at->thinned != at[-1].thinned)
        return true;
    return at->parted && !at->mixed && at->kind > COURSE_OTHER;
}

static void put_run(struct plot *plot, unsigned from, unsigned until)
{
    const struct course_column *at = &plot->course->columns[from];
    const struct plot_ink *ink = &plot_kind_inks[at->kind];
    const char *name = course_kind_name(at->kind);
    bool coloured = plot->style->colour && at->kind > COURSE_OTHER && !at->mixed;
    struct canvas_pen pen = CANVAS_PEN_PLAIN;
    const char *fill = coloured ? " " : plot->style->utf8 ? "\u2500" : "-";
    bool named = strlen(name) <= until - from && at->kind > COURSE_OTHER && !at->mixed;
    if (at->pause || (at->kind == COURSE_NOTHING && !at->thinned))
        return;
    if (coloured)
        pen = (struct canvas_pen){CANVAS_BLACK, ink->colour, false};
    if (at->thinned)
        fill = PLOT_THINNED;
    else if (at->mixed)
        fill = "~";
    else if (at->kind == COURSE_OTHER)
        fill = plot->style->utf8 ? "\u00b7" : ".";
    else if (!named)
        fill = ink->letter;
    for (unsigned i = from; i < until; i++)
        canvas_put(&plot->canvas, PLOT_MARGIN + i, plot->band_row, fill, pen);
    if (named)
        canvas_text(&plot->canvas, PLOT_MARGIN + from, plot->band_row, name, pen);
}

static void put_phases(struct plot *plot)
{
    const struct course *course = plot->course;
    unsigned from = 0;
    if (plot->parts) /* several processes have no phases together */
        return;
    canvas_text(&plot->canvas, 0, plot->band_row, "   phase", CANVAS_PEN_PLAIN);
    for (unsigned i = 1; i <= course->count; i++) {
        if (i < course->count && !begins_run(course, i))
            continue;
        put_run(plot, from, i);
        from = i;
    }
}

/* ---- steps ---- */

static unsigned digits_of(int64_t number)
{
    char text[24];
    return (unsigned)snprintf(text, sizeof text, "%" PRId64, number);
}

/* Do the numbers of all steps that are multiples of `stride` have room? */
static bool steps_fit(const struct course *course, int64_t stride)
{
    unsigned next = 0;
    for (unsigned i = 0; i < course->count; i++) {
        int64_t step = course->columns[i].step;
        if (step == COURSE_NONE || step % stride != 0)
            continue;
        if (i < next)
            return false;
        next = i + digits_of(step) + 1;
    }
    return true;
}

static int64_t stride_of(const struct course *course)
{
    static const int64_t factors[] = {1, 2, 5};
    int64_t ten = 1;
    for (unsigned i = 0; i < 54; i++) {
        int64_t stride = factors[i % 3] * ten;
        if (steps_fit(course, stride))
            return stride;
        if (i % 3 == 2)
            ten *= 10;
    }
    return INT64_MAX;
}

/* The last one that is kept, at its column or as near as it fits. Returns its column. */
static unsigned put_last_step(struct plot *plot)
{
    const struct course *course = plot->course;
    unsigned at = course->count;
    char text[24];
    while (at > 0 && course->columns[at - 1].step == COURSE_NONE)
        at--;
    if (at == 0)
        return course->count;
    unsigned n = (unsigned)snprintf(text, sizeof text, "%" PRId64, course->last_step);
    at--;
    if (at + n > course->count)
        at = course->count > n ? course->count - n : 0;
    canvas_text(&plot->canvas, PLOT_MARGIN + at, plot->step_row, text,
                (struct canvas_pen){CANVAS_PLAIN, CANVAS_PLAIN, true});
    return at;
}

/* More steps than columns: whichever begins there. Where most were thinned out, the last one too.
 */
static void put_some_steps(struct plot *plot)
{
    const struct course *course = plot->course;
    unsigned end = course->thinned ? put_last_step(plot) : course->count + 1;
    for (unsigned i = 0, next = 0; i < course->count; i++) {
        char text[24];
        if (course->columns[i].step == COURSE_NONE || i < next)
            continue;
        unsigned n = (unsigned)snprintf(text, sizeof text, "%" PRId64, course->columns[i].step);
        if (i + n > course->count || i + n >= end)
            break;
        canvas_text(&plot->canvas, PLOT_MARGIN + i, plot->step_row, text,
                    (struct canvas_pen){CANVAS_PLAIN, CANVAS_PLAIN, true});
        next = i + n + 8;
    }
}

static void put_steps(struct plot *plot)
{
    const struct course *course = plot->course;
    int64_t stride = stride_of(course);
    if (course->steps == 0)
        return;
    canvas_text(&plot->canvas, 0, plot->step_row, "    step", CANVAS_PEN_PLAIN);
    if (course->steps > course->count || course->thinned) {
        put_some_steps(plot);
        return;
    }
    for (unsigned i = 0; i < course->count; i++) {
        char text[24];
        int64_t step = course->columns[i].step;
        if (step == COURSE_NONE || step % stride != 0)
            continue;
        if (i + (unsigned)snprintf(text, sizeof text, "%" PRId64, step) > course->count)
            break;
        canvas_text(&plot->canvas, PLOT_MARGIN + i, plot->step_row, text,
                    (struct canvas_pen){CANVAS_PLAIN, CANVAS_PLAIN, true});
    }
}

/* ---- the axis ---- */

static int64_t round_number(int64_t least)
{
    static const int64_t factors[] = {1, 2, 5};
    int64_t ten = 1;
    for (unsigned i = 0; i < 54; i++) {
        if (factors[i % 3] * ten >= least)
            return factors[i % 3] * ten;
        if (i % 3 == 2)
            ten *= 10;
    }
    return INT64_MAX;
}

/* As short as the step between labels allows: 1.5 s, 20 ms, 3h 20m. */
static void time_text(char *text, size_t room, int64_t ns, int64_t step)
{
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    unsigned at = 0;
    int64_t s = ns / 1000000000;
    if (s >= 60 && step >= 1000000000) {
        if (s >= 3600)
            snprintf(text, room, "%" PRId64 "h %02" PRId64 "m", s / 3600, s % 3600 / 60);
        else
            snprintf(text, room, "%" PRId64 "m %02" PRId64 "s", s / 60, s % 60);
        return;
    }
    while (at < 3 && units[at].ns > step * 10 && units[at].ns > ns)
        at++;
    int decimals = 0;
    for (int64_t unit = units[at].ns; unit > step && decimals < 6; unit /= 10)
        decimals++;
    snprintf(text, room, "%.*f %s", decimals, (double)ns / (double)units[at].ns, units[at].name);
}

static int64_t tick_step(const struct course *course)
{
    int64_t span = course->by_events ? course->last_seq - course->first_seq + 1
                                     : course->until_ns - course->from_ns - course->pause_ns;
    return round_number(span * 12 / (int64_t)course->count + 1);
}

/* What a column stands for: nanoseconds or events. */
static int64_t edge_of(const struct course *course, unsigned column)
{
    int64_t seqs = course->last_seq - course->first_seq + 1;
    if (course->by_events)
        return course->first_seq + (int64_t)((double)seqs * (double)column / (double)course->count);
    return column < course->count ? course->columns[column].from_ns : course->until_ns;
}

/* A label of the first round number in the column; returns the column behind it. */
static unsigned put_tick(struct plot *plot, unsigned column, int64_t at, int64_t step)
{
    char text[40];
    if (plot->course->by_events)
        snprintf(text, sizeof text, "%" PRId64, at);
    else
        time_text(text, sizeof text, at, step);
    unsigned n = (unsigned)strlen(text);
    if (column + n > plot->course->count)
        return plot->course->count;
    canvas_text(&plot->canvas, PLOT_MARGIN + column, plot->time_row, text, CANVAS_PEN_PLAIN);
    canvas_put(&plot->canvas, PLOT_MARGIN + column, plot->axis_row,
               plot->style->utf8 ? "\u252c" : "+", CANVAS_PEN_PLAIN);
    return column + n + 2;
}

static void put_ticks(struct plot *plot)
{
    const struct course *course = plot->course;
    int64_t step = tick_step(course);
    unsigned next = 0;
    canvas_text(&plot->canvas, 0, plot->time_row, course->by_events ? "   event" : "    time",
                CANVAS_PEN_PLAIN);
    for (unsigned i = 0; i < course->count; i++) {
        int64_t from = edge_of(course, i), until = edge_of(course, i + 1);
        if (i < next || course->columns[i].pause || from < 0 || from > INT64_MAX - step)
            continue;
        int64_t at = (from + step - 1) / step * step;
        if (at < until)
            next = put_tick(plot, i, at, step);
    }
}

void plot_axis(struct plot *plot)
{
    const struct course *course = plot->course;
    bool utf8 = plot->style->utf8;
    canvas_text(&plot->canvas, 0, plot->axis_row, "       0", CANVAS_PEN_PLAIN);
    canvas_put(&plot->canvas, PLOT_MARGIN - 1, plot->axis_row, utf8 ? "\u2514" : "+",
               CANVAS_PEN_PLAIN);
    for (unsigned i = 0; i < course->count; i++)
        canvas_put(&plot->canvas, PLOT_MARGIN + i, plot->axis_row,
                   course->columns[i].pause ? (utf8 ? "\u2248" : "/")
                   : utf8                   ? "\u2500"
                                            : "-",
                   CANVAS_PEN_PLAIN);
    put_ticks(plot);
    put_phases(plot);
    put_steps(plot);
}
