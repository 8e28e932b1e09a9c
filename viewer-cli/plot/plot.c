#include "plot_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "human.h"

const struct plot_ink plot_kind_inks[COURSE_KINDS] = {
    [COURSE_NOTHING] = {" ", CANVAS_WHITE},     [COURSE_OTHER] = {".", CANVAS_WHITE},
    [COURSE_USER] = {"u", CANVAS_CYAN},         [COURSE_ZERO_GRAD] = {"z", CANVAS_GREY},
    [COURSE_FORWARD] = {"f", CANVAS_BLUE},      [COURSE_LOSS] = {"l", CANVAS_YELLOW},
    [COURSE_BACKWARD] = {"b", CANVAS_RED},      [COURSE_AFTER_BACKWARD] = {"a", CANVAS_WHITE},
    [COURSE_OPTIMIZER] = {"o", CANVAS_GREEN},   [COURSE_EVAL] = {"e", CANVAS_CYAN},
    [COURSE_RECOMPUTE] = {"r", CANVAS_MAGENTA}, [COURSE_FORWARD_NO_GRAD] = {"n", CANVAS_CYAN},
};

/* No two are alike, and what is next to each other in a stack differs in more than its brightness.
 */
const struct plot_ink plot_category_inks[PURPOSES] = {
    [PURPOSE_PARAMETER] = {"P", CANVAS_BLUE},
    [PURPOSE_COPY] = {"C", CANVAS_CYAN},
    [PURPOSE_GATHERED] = {"F", CANVAS_BRIGHT_MAGENTA},
    [PURPOSE_GRADIENT] = {"G", CANVAS_RED},
    [PURPOSE_OPTIMIZER_STATE] = {"S", CANVAS_GREEN},
    [PURPOSE_BUCKET] = {"B", CANVAS_BRIGHT_BLUE},
    [PURPOSE_COMMUNICATION] = {"c", CANVAS_BRIGHT_RED},
    [PURPOSE_HELD] = {"H", CANVAS_MAGENTA},
    [PURPOSE_ACTIVATION] = {"A", CANVAS_YELLOW},
    [PURPOSE_INPUT] = {"I", CANVAS_BRIGHT_CYAN},
    [PURPOSE_WORKSPACE] = {"w", CANVAS_GREY},
    [PURPOSE_LIBRARY] = {"L", CANVAS_BRIGHT_GREEN},
    [PURPOSE_OTHER] = {"x", CANVAS_WHITE},
};

/* In turns: neighbours differ. */
const struct plot_ink plot_part_inks[PURPOSES] = {
    {"A", CANVAS_BLUE},  {"B", CANVAS_YELLOW},  {"C", CANVAS_GREEN}, {"D", CANVAS_RED},
    {"E", CANVAS_CYAN},  {"F", CANVAS_MAGENTA}, {"G", CANVAS_BLUE},  {"H", CANVAS_YELLOW},
    {"I", CANVAS_GREEN}, {"J", CANVAS_RED},     {"K", CANVAS_CYAN},  {"L", CANVAS_MAGENTA},
    {"x", CANVAS_WHITE},
};

/* Beside the plot: heading, peak, axis, phases, steps, times, two lines of legend, notes, prompt.
 */
#define AROUND 11u
#define ROWS_LEAST 6u
#define ROWS_MOST 32u

struct plot_style plot_style_for(unsigned width, unsigned height, unsigned plots)
{
    struct plot_style style = {.width = width < 40 ? 40 : width};
    unsigned each = plots > 1 ? height / plots : height;
    style.rows = each > AROUND + ROWS_LEAST ? each - AROUND : ROWS_LEAST;
    if (style.rows > style.width / 4)
        style.rows = style.width / 4;
    style.rows = style.rows < ROWS_LEAST ? ROWS_LEAST : style.rows;
    style.rows = style.rows > ROWS_MOST ? ROWS_MOST : style.rows;
    return style;
}

unsigned plot_least_lines(void)
{
    return AROUND + ROWS_LEAST;
}

unsigned plot_columns(const struct plot_style *style)
{
    unsigned columns = style->width - PLOT_MARGIN - 1;
    return columns < COURSE_COLUMNS_MAX ? columns : COURSE_COLUMNS_MAX;
}

/* ---- the peak ---- */

/* Too long for either side of the mark: as much of it as there is room on the wider one. */
static void put_cut_text(struct canvas *canvas, unsigned at, const char *text,
                         struct canvas_pen pen)
{
    struct buf cut = {0};
    bool left = at > canvas->width / 2;
    emit_put_cut(&cut, text, left ? at - 1 : canvas->width - at - 2);
    canvas_text(canvas, left ? 0 : at + 2, 0, buf_string(&cut), pen);
    canvas->broken = canvas->broken || cut.broken;
    buf_clear(&cut);
}

static void put_peak(struct plot *plot)
{
    const struct course *course = plot->course;
    struct canvas *canvas = &plot->canvas;
    struct canvas_pen pen = CANVAS_PEN_PLAIN;
    struct buf text = {0};
    char bytes[HUMAN_MAX];
    unsigned at = PLOT_MARGIN + course->peak_at;
    pen.bold = true;
    buf_print(&text, "peak %s", human_bytes(bytes, course->peak));
    if (course->peak_step != COURSE_NONE)
        buf_print(&text, ", step %" PRId64, course->peak_step);
    if (course->peak_path)
        buf_print(&text, ", %s", course->peak_path);
    unsigned n = canvas_text(canvas, canvas->width, 0, buf_string(&text), pen) - canvas->width;
    canvas_put(canvas, at, 0, plot->style->utf8 ? "\u25bc" : "v", pen);
    if (at + 2 + n <= canvas->width)
        canvas_text(canvas, at + 2, 0, buf_string(&text), pen);
    else if (at >= n + 1)
        canvas_text(canvas, at - n - 1, 0, buf_string(&text), pen);
    else
        put_cut_text(canvas, at, buf_string(&text), pen);
    canvas->broken = canvas->broken || text.broken;
    buf_clear(&text);
}

/* ---- the legend ---- */

struct legend {
    struct buf *out;
    const struct plot_style *style;
    unsigned used; /* of the line */
};

static void put_entry(struct legend *legend, const char *sign, enum canvas_colour colour,
                      const char *name)
{
    unsigned n = (unsigned)strlen(name) + 2;
    if (legend->used > 0 && legend->used + 2 + n > legend->style->width) {
        buf_text(legend->out, "\n");
        legend->used = 0;
    }
    unsigned space = legend->used || legend->style->width < 60 ? 2 : PLOT_MARGIN;
    buf_print(legend->out, "%*s", (int)space, "");
    legend->used += space + n;
    if (legend->style->colour && colour != CANVAS_PLAIN)
        buf_print(legend->out, "\033[%dm%s\033[0m %s", canvas_code(colour), sign, name);
    else
        buf_print(legend->out, "%s %s", sign, name);
}

static const char *sign_of(const struct plot_style *style, const struct plot_ink *ink)
{
    return style->colour && style->utf8 ? "\u2588" : ink->letter;
}

static bool has_category(const struct course *course, unsigned category)
{
    for (unsigned i = 0; i < course->count; i++)
        if (course->columns[i].bytes[category] > 0)
            return true;
    return false;
}

static void put_stack_legend(struct legend *legend, const struct course *course,
                             const struct plot_parts *parts)
{
    for (unsigned i = 0; course->categories && i < PURPOSES; i++) {
        const struct plot_ink *ink = plot_stack_ink(parts, i);
        if (parts ? parts->names[i] != NULL : has_category(course, i))
            put_entry(legend, sign_of(legend->style, ink), ink->colour,
                      parts ? parts->names[i] : purpose_name((enum purpose)i));
    }
}

static void put_legend(const struct course *course, const struct plot_parts *parts,
                       const struct plot_style *style, struct buf *out)
{
    struct legend legend = {.out = out, .style = style};
    bool many = course->steps > course->count / 4;
    put_stack_legend(&legend, course, parts);
    if (course->categories && legend.used > 0) {
        buf_text(out, "\n");
        legend.used = 0;
    }
    for (unsigned i = COURSE_OTHER; i < COURSE_KINDS && !many; i++)
        if (course->kinds[i])
            put_entry(&legend,
                      course->categories ? plot_kind_inks[i].letter
                                         : sign_of(style, &plot_kind_inks[i]),
                      plot_kind_inks[i].colour, course_kind_name((enum course_kind)i));
    for (unsigned i = 0; i < course->count; i++)
        if (course->columns[i].thinned) {
            put_entry(&legend, PLOT_THINNED, CANVAS_PLAIN, "thinned out");
            break;
        }
    if (course->reserved_known)
        put_entry(&legend, style->utf8 ? "\u2500" : "-", CANVAS_PLAIN,
                  parts ? parts->line : "reserved");
    if (legend.used > 0)
        buf_text(out, "\n");
}

/* ---- the whole ---- */

void plot_timeline(const struct course *course, const struct plot_style *style, struct buf *out)
{
    plot_stack(course, NULL, style, out);
}

void plot_stack(const struct course *course, const struct plot_parts *parts,
                const struct plot_style *style, struct buf *out)
{
    struct plot plot = {.course = course, .style = style, .parts = parts};
    plot.axis_row = style->rows + 1;
    plot.band_row = plot.axis_row + 1;
    plot.step_row = plot.axis_row + (parts ? 1 : 2);
    plot.time_row = plot.step_row + (course->steps > 0);
    plot.top = course->peak > course->reserved_peak ? course->peak : course->reserved_peak;
    plot.top = plot.top > 0 ? plot.top : 1;
    if (!canvas_make(&plot.canvas, PLOT_MARGIN + course->count, plot.time_row + 1)) {
        out->broken = true;
        return;
    }
    plot_scale(&plot);
    plot_areas(&plot);
    plot_axis(&plot);
    put_peak(&plot);
    canvas_print(&plot.canvas, style->colour, out);
    canvas_clear(&plot.canvas);
    put_legend(course, parts, style, out);
}
