/*
 * What stands above the axis. Heights are counted in eighths of a row, which is what the letters of
 * a terminal can show; without them, in whole rows.
 */
#include <inttypes.h>
#include <stdio.h>

#include "human.h"
#include "plot_parts.h"

#define EIGHTHS 8

static const char *const blocks[EIGHTHS + 1] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                "\u2585", "\u2586", "\u2587", "\u2588"};

/* Something that is not nothing is at least one eighth. */
static unsigned height_of(const struct plot *plot, int64_t bytes)
{
    double whole = (double)plot->style->rows * EIGHTHS;
    unsigned height = (unsigned)((double)bytes / (double)plot->top * whole + 0.5);
    if (bytes > 0 && height == 0)
        height = 1;
    return height <= (unsigned)whole ? height : (unsigned)whole;
}

/* Eighths of the row `row` (0 = the lowest) that lie below `height`. */
static unsigned part_of(unsigned height, unsigned row)
{
    unsigned below = row * EIGHTHS;
    if (height <= below)
        return 0;
    return height - below < EIGHTHS ? height - below : EIGHTHS;
}

static unsigned canvas_row(const struct plot *plot, unsigned row)
{
    return plot->style->rows - row;
}

/* ---- one colour: the phase ---- */

static void put_level(struct plot *plot, unsigned column, unsigned row, unsigned low, unsigned high)
{
    const struct course_column *at = &plot->course->columns[column];
    const struct plot_ink *ink = &plot_kind_inks[at->mixed ? COURSE_OTHER : at->kind];
    struct canvas_pen pen = {ink->colour, CANVAS_PLAIN, false};
    unsigned full = part_of(high, row), solid = part_of(low, row);
    const char *glyph = blocks[full];
    if (full == 0)
        return;
    if (at->pause)
        glyph = plot->style->utf8 ? "\u2591" : ":";
    else if (!plot->style->utf8)
        glyph = full < EIGHTHS / 2 && row > 0 ? "." : solid >= EIGHTHS / 2 || row == 0 ? "#" : ":";
    else if (full == EIGHTHS && solid < EIGHTHS / 2)
        glyph = "\u2592";
    canvas_put(&plot->canvas, PLOT_MARGIN + column, canvas_row(plot, row), glyph, pen);
}

static void put_column(struct plot *plot, unsigned column)
{
    const struct course_column *at = &plot->course->columns[column];
    unsigned low = height_of(plot, at->min), high = height_of(plot, at->max);
    for (unsigned row = 0; row < plot->style->rows; row++)
        put_level(plot, column, row, low, high);
}

/* ---- many colours: categories, the first one lowest ---- */

/* Which category is at that height of the stack; PURPOSES above it. */
static unsigned category_at(const struct plot *plot, const struct course_column *column,
                            unsigned height)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < PURPOSES; i++) {
        sum += column->bytes[i];
        if (column->bytes[i] > 0 && height < height_of(plot, sum))
            return i;
    }
    return PURPOSES;
}

/* A row shows two categories: what its lowest eighth is, and what is above that. */
static void put_stack(struct plot *plot, unsigned column)
{
    const struct course_column *at = &plot->course->columns[column];
    for (unsigned row = 0; row < plot->style->rows; row++) {
        unsigned low = category_at(plot, at, row * EIGHTHS), n = 1;
        if (low == PURPOSES)
            break;
        while (n < EIGHTHS && category_at(plot, at, row * EIGHTHS + n) == low)
            n++;
        unsigned high = n < EIGHTHS ? category_at(plot, at, row * EIGHTHS + n) : low;
        struct canvas_pen pen = {plot_stack_ink(plot->parts, low)->colour, CANVAS_PLAIN, false};
        if (high != PURPOSES && high != low)
            pen.ground = plot_stack_ink(plot->parts, high)->colour;
        const char *glyph = blocks[n];
        unsigned most = n >= EIGHTHS / 2 || high == PURPOSES ? low : high;
        if (!plot->style->utf8 || !plot->style->colour)
            glyph = plot_stack_ink(plot->parts, most)->letter;
        if (!plot->style->utf8)
            pen =
                (struct canvas_pen){plot_stack_ink(plot->parts, most)->colour, CANVAS_PLAIN, false};
        canvas_put(&plot->canvas, PLOT_MARGIN + column, canvas_row(plot, row), glyph, pen);
    }
}

/* ---- above ---- */

static void put_reserved(struct plot *plot, unsigned column)
{
    const struct course_column *at = &plot->course->columns[column];
    if (at->reserved_max == COURSE_NONE || at->reserved_max == 0)
        return;
    unsigned row = (height_of(plot, at->reserved_max) - 1) / EIGHTHS;
    unsigned x = PLOT_MARGIN + column, y = canvas_row(plot, row);
    if (canvas_is_blank(&plot->canvas, x, y, 1))
        canvas_put(&plot->canvas, x, y, plot->style->utf8 ? "\u2500" : "-", CANVAS_PEN_PLAIN);
}

static void put_pause(struct plot *plot, unsigned column)
{
    struct canvas_pen pen = {CANVAS_GREY, CANVAS_PLAIN, false};
    for (unsigned row = 0; row < plot->style->rows; row++)
        if (canvas_is_blank(&plot->canvas, PLOT_MARGIN + column, canvas_row(plot, row), 1))
            canvas_put(&plot->canvas, PLOT_MARGIN + column, canvas_row(plot, row),
                       plot->style->utf8 ? "\u250a" : "|", pen);
}

void plot_areas(struct plot *plot)
{
    for (unsigned i = 0; i < plot->course->count; i++) {
        if (plot->course->categories)
            put_stack(plot, i);
        else
            put_column(plot, i);
        put_reserved(plot, i);
        if (plot->course->columns[i].pause)
            put_pause(plot, i);
    }
}

/* ---- the scale ---- */

/* A round number of bytes, so that so many of them fill `top` at most. */
static int64_t round_step(int64_t top, unsigned most)
{
    static const int factors[] = {1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500};
    for (unsigned shift = 0; shift < 60; shift += 10)
        for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
            if (((int64_t)factors[i] << shift) > top / (int64_t)most)
                return (int64_t)factors[i] << shift;
    return top;
}

void plot_scale(struct plot *plot)
{
    unsigned rows = plot->style->rows;
    const char *bar = plot->style->utf8 ? "\u2502" : "|",
               *tick = plot->style->utf8 ? "\u2524" : "+";
    int64_t step = round_step(plot->top, rows / 3 ? rows / 3 : 1);
    for (unsigned row = 0; row < rows; row++)
        canvas_put(&plot->canvas, PLOT_MARGIN - 1, canvas_row(plot, row), bar, CANVAS_PEN_PLAIN);
    for (int64_t at = step; at <= plot->top; at += step) {
        char bytes[HUMAN_MAX], text[HUMAN_MAX];
        unsigned row = (height_of(plot, at) - 1) / EIGHTHS;
        snprintf(text, sizeof text, "%8s", human_bytes(bytes, at));
        canvas_text(&plot->canvas, 0, canvas_row(plot, row), text, CANVAS_PEN_PLAIN);
        canvas_put(&plot->canvas, PLOT_MARGIN - 1, canvas_row(plot, row), tick, CANVAS_PEN_PLAIN);
        if (step > INT64_MAX - at)
            break;
    }
}
