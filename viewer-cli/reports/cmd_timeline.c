/*
 * tidemark timeline: memory over time, as a picture on a terminal and as columns for programs.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "course.h"
#include "device_order.h"
#include "driven_report.h"
#include "error.h"
#include "follow.h"
#include "human.h"
#include "live_look.h"
#include "map.h"
#include "mem.h"
#include "plot.h"
#include "query.h"
#include "report.h"
#include "screen.h"
#include "timeline_stack.h"
#include "workers.h"

enum { BY_TIME, BY_EVENTS };
enum { BYTES_PLAIN, BYTES_BY_CATEGORY, BYTES_BY_KIND /* the same */ };

struct timeline_options {
    struct report_options common;
    int by;    /* index into axes */
    int bytes; /* index into stackings, -1 = none */
    bool plot; /* also where stdout is no terminal */
    bool ascii;
};

static const char *const axes[] = {"time", "events", NULL};
static const char *const stackings[] = {"none", "category", "kind", NULL};

struct drawing {
    struct report *report;
    const struct timeline_options *options;
    bool listed; /* --format was passed: columns, not a picture */
    struct screen screen;
    bool any;
    bool over;       /* --follow: nothing will be added any more */
    struct map told; /* --follow: process and device to the time up to which it was printed */
};

/* ---- the picture ---- */

static int read_scope(const struct drawing *drawing, const struct report_scope *scope,
                      unsigned columns, struct course *course)
{
    const struct option_range *steps = &drawing->options->common.steps;
    const struct course_request request = {
        .process = scope->process.id,
        .device = scope->device,
        .first_step = steps->first,
        .last_step = steps->last,
        .columns = columns,
        .by_events = drawing->options->by == BY_EVENTS,
        .categories = drawing->options->bytes == BYTES_BY_CATEGORY,
    };
    return course_read(drawing->report->db, &request, course);
}

static void put_remarks(struct emit *emit, const struct course *course)
{
    char time[HUMAN_MAX];
    if (course->pauses > 0)
        emit_line(emit, "%s of pauses left out at %u place%s", human_ns(time, course->pause_ns),
                  course->pauses, course->pauses == 1 ? "" : "s");
    char all[HUMAN_MAX], kept[HUMAN_MAX];
    if (course->thinned)
        emit_line(emit,
                  "%s steps, %s in full: --steps A..B shows the phases of a few that are kept",
                  human_count(all, (int64_t)course->all_steps),
                  human_count(kept, (int64_t)course->full_steps));
    else if (course->steps > course->count / 4)
        emit_line(emit, "%" PRIu64 " steps: --steps A..B shows the phases of a few", course->steps);
}

static int draw_scope(struct drawing *drawing, const struct report_scope *scope,
                      const struct plot_style *style)
{
    struct course course;
    struct buf text = {0};
    struct emit *emit = &drawing->report->emit;
    int err = read_scope(drawing, scope, plot_columns(style), &course);
    if (err == 0 && course.count > 0) {
        report_heading(drawing->report,
                       course.driven ? "The driver's memory over time"
                       : drawing->options->bytes == BYTES_BY_CATEGORY ? "Categories over time"
                                                                      : "Memory over time",
                       scope);
        plot_timeline(&course, style, &text);
        emit_picture(emit, &text);
        put_remarks(emit, &course);
        drawing->any = true;
    }
    buf_clear(&text);
    course_clear(&course);
    return err;
}

static struct plot_style style_of(const struct drawing *drawing, unsigned height, size_t plots)
{
    const struct screen *screen = &drawing->screen;
    struct plot_style style = plot_style_for(screen->width, height, (unsigned)plots);
    style.utf8 = screen->utf8 && !drawing->options->ascii;
    style.colour = drawing->report->emit.colour;
    return style;
}

static int draw_all(struct drawing *drawing)
{
    struct report *report = drawing->report;
    int err = workers_fold(report);
    struct plot_style style = style_of(drawing, drawing->screen.height, report->scope_count);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = draw_scope(drawing, &report->scopes[i], &style);
    bool whole = !report_has_steps(report->options) && drawing->options->by == BY_TIME &&
                 drawing->options->bytes != BYTES_BY_CATEGORY;
    return err >= 0 && drawing->any && whole ? timeline_stack_draw(report, &style) : err;
}

/* A look of --follow. */
static int draw_screen(struct drawing *drawing)
{
    struct report *report = drawing->report;
    struct live_look live;
    int err = live_begin(&live, report, drawing->screen.height, plot_least_lines());
    struct plot_style style = style_of(drawing, live_lines(&live) + 1, 1);
    for (size_t i = 0; i < report->scope_count && err >= 0 && !live.full; i++) {
        live_scope_begin(&live);
        err = draw_scope(drawing, &report->scopes[i], &style);
        live_scope_end(&live);
    }
    live_end(&live);
    return err;
}

/* ---- columns: the view ---- */

/* The columns of view timeline, which are a promise. */
static const struct emit_column view_columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, 0},
    {"at_ns", "until", EMIT_NS, 0},
    {"allocated", NULL, EMIT_BYTES, 0},
    {"reserved", NULL, EMIT_BYTES, EMIT_IF_KNOWN},
    {"from_ns", "from", EMIT_NS, 0},
    {"max_allocated", "max alloc", EMIT_BYTES, 0},
    {"max_reserved", "max resv", EMIT_BYTES, EMIT_IF_KNOWN},
};

/* One question for all processes: the view goes through the curves of all of them for each answer.
 * Rows come in the order of the report's scopes. What is known of a process or its device stands
 * beside its rows by windows: in a join SQLite went through all processes for each row, and there
 * may be ten thousand. */
static const char view_sql[] =
    "WITH " DEVICE_PLACES ", asked(process, begin_ns, end_ns) AS ("
    " SELECT process, min(begin_ns), max(coalesce(end_ns, 9223372036854775807)) FROM phase"
    "  WHERE step BETWEEN ?1 AND ?2 GROUP BY process),"
    "marked(process, device, at_ns, allocated, reserved, from_ns, max_allocated, max_reserved,"
    "     place, begin_ns, end_ns) AS ("
    " SELECT process, device, at_ns, allocated, reserved, from_ns, max_allocated, max_reserved,"
    "        NULL, NULL, NULL FROM timeline"
    " UNION ALL SELECT p.process, d.device, NULL, NULL, NULL, NULL, NULL, NULL, p.place, NULL, NULL"
    "             FROM device_places p JOIN device_text d ON d.id = p.device"
    " UNION ALL SELECT process, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, begin_ns, end_ns"
    "             FROM asked),"
    "placed AS ("
    " SELECT *, max(place) OVER (PARTITION BY process, device) AS device_place,"
    "        max(begin_ns) OVER (PARTITION BY process) AS steps_begin_ns,"
    "        max(end_ns) OVER (PARTITION BY process) AS steps_end_ns FROM marked)"
    "SELECT process, device, at_ns, allocated, reserved, from_ns, max_allocated, max_reserved,"
    "       row_number() OVER (PARTITION BY process, device ORDER BY at_ns DESC) AS behind"
    "  FROM placed"
    " WHERE at_ns IS NOT NULL AND (?1 IS NULL OR (at_ns > steps_begin_ns AND from_ns < "
    "steps_end_ns))"
    " ORDER BY process, device_place, at_ns";

static void open_list(struct emit *emit)
{
    if (emit->columns != view_columns)
        EMIT_SECTION(emit, "timeline", NULL, EMIT_ROWS, view_columns);
}

/* Rows are printed once. The last one of a run that goes on can still change. */
static int list_row(struct drawing *drawing, const struct report_scope *scope,
                    struct db_stmt *cells, int64_t at_ns, int64_t behind)
{
    uint64_t key = (uint64_t)scope->process.id << 16 | (uint64_t)scope->device;
    uint64_t told = map_get(&drawing->told, key), at = (uint64_t)at_ns;
    if (drawing->options->common.follow && told != MAP_NONE && at <= told)
        return 0;
    if (drawing->options->common.follow && !drawing->over && behind == 1)
        return 0;
    open_list(&drawing->report->emit);
    report_cells(&drawing->report->emit, cells, 0, 8);
    drawing->any = true;
    if (drawing->options->common.follow && !map_put(&drawing->told, key, at, NULL))
        return ERR_NOMEM;
    return 0;
}

static int list_curves(struct drawing *drawing)
{
    struct report *report = drawing->report;
    const struct option_range *steps = &report->options->steps;
    int64_t process, at_ns, behind;
    const char *device;
    struct query query =
        query_ask(report->db, view_sql,
                  Q_IN(query_if(report_has_steps(report->options), steps->first), steps->last),
                  Q_OUT(Q_INT(process), Q_TEXT(device), Q_INT(at_ns), Q_INT(behind), Q_REST));
    while (query_next(&query)) {
        const struct report_scope *scope = report_scope_called(report, process, device);
        if (scope)
            query_fail(&query, list_row(drawing, scope, query.stmt, at_ns, behind));
    }
    return query_end(&query);
}

static int list_all(struct drawing *drawing)
{
    struct report *report = drawing->report;
    if (report->emit.format != EMIT_TABLE)
        open_list(&report->emit);
    int err = list_curves(drawing);
    bool whole = !drawing->options->common.follow || drawing->over; /* printed once, then */
    for (size_t i = 0; whole && i < report->scope_count && err == 0; i++)
        err = driven_list_timeline(report, &report->scopes[i], &drawing->any);
    return err;
}

/* ---- columns: categories ---- */

enum { CATEGORY_ROWS = 160 };

static const struct emit_column category_columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, 0},
    {"at_ns", "until", EMIT_NS, 0},
    {"from_ns", "from", EMIT_NS, 0},
    {"category", "kind", EMIT_TEXT, 0},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"max_allocated", "max alloc", EMIT_BYTES, 0},
};

static void list_column(struct emit *emit, const struct report_scope *scope,
                        const struct course_column *column)
{
    for (unsigned i = 0; i < PURPOSES; i++) {
        if (column->bytes[i] == 0)
            continue;
        emit_int(emit, scope->process.id);
        emit_text(emit, scope->device_text);
        emit_int(emit, column->until_ns);
        emit_int(emit, column->from_ns);
        emit_text(emit, purpose_name((enum purpose)i));
        emit_int(emit, column->bytes[i]);
        emit_int(emit, column->max);
    }
}

static int list_categories(struct drawing *drawing)
{
    struct report *report = drawing->report;
    int err = 0;
    EMIT_SECTION(&report->emit, "timeline_by_category", NULL, EMIT_ROWS, category_columns);
    for (size_t i = 0; i < report->scope_count && err == 0; i++) {
        struct course course;
        err = read_scope(drawing, &report->scopes[i], CATEGORY_ROWS, &course);
        for (unsigned k = 0; err == 0 && k < course.count; k++)
            list_column(&report->emit, &report->scopes[i], &course.columns[k]);
        drawing->any = drawing->any || course.count > 0;
        course_clear(&course);
    }
    return err;
}

/* ---- the command ---- */

static bool is_drawn(const struct drawing *drawing)
{
    const struct screen *screen = &drawing->screen;
    bool shows = screen->terminal || !drawing->options->common.follow;
    return !drawing->listed && drawing->options->common.format == EMIT_TABLE &&
           (shows || drawing->options->plot);
}

static int draw_or_list(struct drawing *drawing)
{
    if (is_drawn(drawing))
        return drawing->options->common.follow ? draw_screen(drawing) : draw_all(drawing);
    return drawing->options->bytes == BYTES_BY_CATEGORY ? list_categories(drawing)
                                                        : list_all(drawing);
}

static int end_once(struct drawing *drawing, int err)
{
    bool waits = is_drawn(drawing) && drawing->report->following;
    if (err >= 0 && !drawing->any)
        waits ? report_nothing_yet(drawing->report) : report_nothing(drawing->report);
    return report_end(drawing->report, err);
}

static int look(struct drawing *drawing)
{
    int err = follow_is_over(drawing->report->db, &drawing->over);
    drawing->report->following = !drawing->over;
    return err < 0 ? err : draw_or_list(drawing);
}

/* A new picture each time. */
static int follow_drawn(struct drawing *drawing)
{
    struct report *report = drawing->report;
    char *path = mem_copy(report->path, strlen(report->path));
    int code = path ? 0 : report_end(report, ERR_NOMEM);
    while (code == 0) {
        drawing->screen = screen_look();
        int err = look(drawing);
        if (drawing->screen.terminal)
            follow_home();
        code = end_once(drawing, err);
        if (code || drawing->over || !follow_wait())
            break;
        code = report_begin(report, report->command, report->options, path);
    }
    mem_free(path);
    return code;
}

/* The rows that are new. */
static int follow_listed(struct drawing *drawing)
{
    struct report *report = drawing->report;
    int err = 0, code = 0;
    bool go_on = true;
    while (go_on) {
        err = look(drawing);
        if (err < 0 || drawing->over)
            break;
        code = report_pause(report);
        go_on = code == 0 && follow_wait();
        if (code == 0)
            code = report_resume(report);
        go_on = go_on && code == 0;
    }
    map_clear(&drawing->told);
    return code ? code : end_once(drawing, err);
}

static int run(struct drawing *drawing)
{
    if (!drawing->options->common.follow)
        return end_once(drawing, draw_or_list(drawing));
    return is_drawn(drawing) ? follow_drawn(drawing) : follow_listed(drawing);
}

static int cmd_timeline(const struct command_call *call)
{
    struct timeline_options options = {.common = REPORT_OPTIONS};
    const int picture = -1; /* until --format is passed */
    struct report report;
    char **arguments;
    int count, code;

    options.common.format = picture;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    struct drawing drawing = {.report = &report,
                              .options = &options,
                              .listed = options.common.format != picture,
                              .screen = screen_look()};
    if (!drawing.listed)
        options.common.format = EMIT_TABLE;
    if (options.bytes == BYTES_BY_KIND)
        options.bytes = BYTES_BY_CATEGORY;
    const char *named = count ? arguments[0] : NULL;
    bool go_on = true;
    code = EXIT_FINE;
    if (options.common.follow && options.bytes == BYTES_BY_CATEGORY && !is_drawn(&drawing))
        code = command_misused(call->command, "--follow cannot list categories: it can draw them");
    else if ((go_on = !options.common.follow || follow_await(named)))
        code = report_begin(&report, call->command, &options.common, named);
    mem_free(arguments);
    return code || !go_on ? code : run(&drawing);
}

static const struct option option_table[] = {
    {"bytes-by", 0, OPT_CHOICE, offsetof(struct timeline_options, bytes), "WHAT",
     "kind (or category): a stacked plot of parameters,\ngradients, optimizer state, activations "
     "and so on;\n"
     "none: the sum alone (the default)",
     stackings, 0},
    {"by", 0, OPT_CHOICE, offsetof(struct timeline_options, by), "AXIS",
     "time (the default), or events: each column has the\nsame number of them", axes, 0},
    {"follow", 'F', OPT_FLAG, REPORT_AT(follow), NULL,
     "look again and again while the program runs; Ctrl-C\nends it", NULL, 0},
    {"plot", 0, OPT_FLAG, offsetof(struct timeline_options, plot), NULL,
     "with --follow: draw also where the output is no\nterminal; COLUMNS and LINES say how large",
     NULL, 0},
    {"ascii", 0, OPT_FLAG, offsetof(struct timeline_options, ascii), NULL,
     "draw with plain letters only", NULL, 0},
    {0},
};

const struct command command_timeline = {
    .name = "timeline",
    .group = COMMAND_LOOK,
    .run = cmd_timeline,
    .summary = "memory over time: a plot with its phases, steps and the peak",
    .arguments = "[DATABASE]",
    .options = option_table,
    .shared = &report_shared,
    .thinned = "phases",
    .most = 1,
    .description =
        "Draws allocated memory over time in the colours of the phases, with "
        "the phases and steps below and the peak marked; where segments are known, a line shows "
        "reserved. The plot is as wide and as high as the terminal; in a pipe 80 x 24, or as "
        "COLUMNS and LINES say. A column is shaded between "
        "its lowest and its highest value. Pauses in which nothing happened are cut short if they "
        "would take a third of the plot. With --format table, csv or json the rows of the view "
        "timeline are printed instead. Where several processes share a device, a last plot has all "
        "of them, one upon the other. On a device where no framework had a block, the plot is of "
        "driver memory (section driver_timeline).",
    .examples =
        {
            {"tidemark timeline", "the newest recording in this folder"},
            {"tidemark timeline run.db --steps 0..2", "the first three steps"},
            {"tidemark timeline run.db --bytes-by category", "the kinds of memory"},
            {"tidemark timeline run.db --by events", "short phases as wide as long ones"},
            {"tidemark timeline run.db --format csv", "for a spreadsheet"},
        },
};
