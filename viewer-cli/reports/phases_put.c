/* phases_put.c - what `tidemark phases` prints of one process on one device: see
 * phases_listing.h. */
#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "human.h"
#include "mem.h"
#include "peak.h"
#include "phase_kind.h"
#include "phases_listing.h"
#include "phases_steps.h"

/* The columns of phase_table, which are a promise, and in tables what can be made of them. */
static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_NONE},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "phase", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME},
    {"allocated", NULL, EMIT_BYTES, 0},
    {"max_allocated", "max alloc", EMIT_BYTES, EMIT_SPARE},
    {"reserved", NULL, EMIT_BYTES, EMIT_IF_KNOWN},
    {"max_reserved", "max resv", EMIT_BYTES, EMIT_IF_KNOWN | EMIT_SPARE},
    {"fragmentation", NULL, EMIT_RATIO, EMIT_PROGRAMS},
    {"phase_peak", "phase peak", EMIT_BYTES, 0},
    {"begin_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"end_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {NULL, "time", EMIT_NS, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "ended", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE | EMIT_IF_KNOWN},
    {"kind", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"ordinal", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"parent_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"depth", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"allocs", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"frees", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"alloc_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"ended", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"domain", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

enum {
    AT_PROCESS,
    AT_DEVICE,
    AT_PHASE = 3,
    AT_ALLOCATED = 4,
    AT_KIND = 12,
    AT_ALLOCS = 16,
};

/* One section for all processes and devices, so a table names them, too. */
static void open_tale(struct emit *emit)
{
    static struct emit_column told[sizeof columns / sizeof *columns];
    if (emit->columns)
        return;
    memcpy(told, columns, sizeof columns);
    told[AT_PROCESS].flags &= ~(unsigned)EMIT_PROGRAMS;
    told[AT_DEVICE].flags &= ~(unsigned)EMIT_PROGRAMS;
    EMIT_SECTION(emit, "phases", NULL, EMIT_ROWS, told);
}

void phases_open(struct emit *emit, bool tale)
{
    if (tale)
        open_tale(emit);
    else
        EMIT_SECTION(emit, "phases", NULL, EMIT_ROWS, columns);
}

/* ---- rows ---- */

static void name_row(const struct phases_listing *list, const struct phases_line *row,
                     int64_t depth, struct buf *name)
{
    for (int64_t i = 0; i < depth && i < 20; i++)
        buf_text(name, "  ");
    if (row->domain && !list->domain)
        buf_print(name, "%s: ", row->domain);
    buf_text(name, row->phase);
}

static void put_name(struct phases_listing *list, const struct phases_line *row, int64_t depth)
{
    struct buf name = {0};
    name_row(list, row, depth, &name);
    list->broken = list->broken || name.broken;
    emit_text(&list->report->emit, buf_string(&name));
    buf_clear(&name);
}

/* How it ended, if that was not the usual way. What comes after the last phase always ends with the
 * process. */
static const char *ending(const struct phases_listing *list, const struct phases_line *row)
{
    enum phase_end end = phase_end_from(row->ended);
    bool usual = end == PHASE_END_USUAL || (phases_is_gap(row) && end == PHASE_END_PROCESS);
    const char *ended = usual ? NULL : row->ended;
    if (row->end_ns == QUERY_NONE)
        ended = "still open";
    else if (list->report->following && row->settled == QUERY_NONE)
        ended = "may change";
    return ended;
}

static char *copy(const char *text)
{
    return text ? mem_copy(text, strlen(text)) : NULL;
}

static int keep_row(struct phases_listing *list, const struct phases_line *row, int64_t depth)
{
    struct buf name = {0};
    name_row(list, row, depth, &name);
    struct phases_row kept = {
        .step = row->step,
        .name = name.broken ? NULL : copy(buf_string(&name)),
        .allocated = row->allocated,
        .max_allocated = row->max_allocated,
        .reserved = row->reserved,
        .max_reserved = row->max_reserved,
        .phase_peak = row->phase_peak,
        .ns = row->end_ns == QUERY_NONE ? QUERY_NONE : row->end_ns - row->begin_ns,
        .ended = copy(ending(list, row)),
    };
    buf_clear(&name);
    bool whole = kept.ended || !ending(list, row);
    return phases_rows_add(&list->kept, &kept) && whole ? 0 : ERR_NOMEM;
}

/* A range of a library says nothing of where the program is. */
static int find_step(struct phases_listing *list, struct phases_line *row)
{
    if (row->step != QUERY_NONE && !row->domain)
        list->step = row->step;
    if (!row->evaluates)
        return 0;
    int err = list->step != QUERY_NONE
                  ? 0
                  : phases_step_before(list->report->db, list->scope->process.id, row->phase_id,
                                       &list->step);
    row->step = list->step;
    return err < 0 ? err : 0;
}

/* Programs get what is recorded: an evaluation is of no step, and of none that they ask for. */
static bool is_of_people(const struct phases_listing *list, const struct phases_line *row)
{
    return row->evaluates && list->report->emit.format != EMIT_TABLE &&
           report_has_steps(list->report->options);
}

/* ---- around them ---- */

/* Of the steps that are asked for the training is `tidemark peak`'s; rows of evaluations are listed
 * with them. True: one of those was higher. */
static int put_evaluation(struct phases_listing *list, const struct peak *peak, bool *higher)
{
    const struct option_range *steps = &list->report->options->steps;
    struct phases_evaluation one;
    char text[HUMAN_MAX];
    int err = phases_highest_evaluation(list->report->db, list->scope->process.id,
                                        list->scope->device, steps->first, steps->last, &one);
    *higher = err == 0 && one.phase != QUERY_NONE && one.step != QUERY_NONE &&
              (!peak->found || one.peak > peak->allocated);
    if (*higher)
        emit_line(&list->report->emit, "highest: %s in %s after step %" PRId64,
                  human_bytes(text, one.peak), one.name ? one.name : "eval", one.step);
    mem_free(one.name);
    return err;
}

/* The same instant as in `tidemark peak`, called the same. */
static int put_highest(struct phases_listing *list)
{
    const struct option_range *steps = &list->report->options->steps;
    struct emit *emit = &list->report->emit;
    struct buf line = {0};
    struct peak peak;
    char text[HUMAN_MAX], remark[PEAK_REMARK];
    int err = peak_find(list->report->db, list->scope->process.id, list->scope->device,
                        steps->first, steps->last, &peak);
    bool evaluation = false;
    if (err == 0 && report_has_steps(list->report->options))
        err = put_evaluation(list, &peak, &evaluation);
    if (err == 0 && peak.found && !evaluation) {
        buf_print(&line, "highest: %s in ", human_bytes(text, peak.allocated));
        if (peak.step != PEAK_NONE)
            buf_print(&line, "step %" PRId64 ", ", peak.step);
        unsigned used = (unsigned)line.count;
        emit_put_cut(&line, peak.phase_path ? peak.phase_path : "no phase",
                     emit->width > used ? emit->width - used : emit->width);
        buf_text(&line, peak_remark(remark, &peak));
        emit_line(emit, "%s", buf_string(&line));
        err = line.broken ? ERR_NOMEM : 0;
    }
    buf_clear(&line);
    peak_clear(&peak);
    return err;
}

/* What people look for first stands above the rows, of which there may be thousands; on a screen
 * with the last of them it stands below, where they look. */
static int open_listing(struct phases_listing *list)
{
    struct emit *emit = &list->report->emit;
    report_heading(list->report, "Phases", list->scope);
    bool above = emit->format == EMIT_TABLE && !list->on_screen;
    int err = above ? put_highest(list) : 0;
    phases_open(emit, false);
    list->open = true;
    return err;
}

int phases_put_line(struct phases_listing *list, struct phases_line *row)
{
    struct emit *emit = &list->report->emit;
    if (is_of_people(list, row))
        return 0;
    int err = list->report->emit.format == EMIT_TABLE ? find_step(list, row) : 0;
    int64_t depth = err < 0 ? err : phases_depth(list, row);
    if (depth < 0)
        return (int)depth;
    list->rows++;
    if (!list->all && emit->format == EMIT_TABLE && phases_is_empty_gap(row)) {
        list->hidden++;
        return 0;
    }
    if (list->skip > 0) {
        list->skip--;
        return 0;
    }
    if (list->fold)
        return keep_row(list, row, depth);
    err = list->open || list->tale ? 0 : open_listing(list);
    if (err < 0)
        return err;
    report_cells(emit, row->cells, AT_PROCESS, 2);
    emit_known(emit, row->step);
    report_cells(emit, row->cells, AT_PHASE, 1);
    put_name(list, row, depth);
    report_cells(emit, row->cells, AT_ALLOCATED, 8);
    if (row->end_ns == QUERY_NONE)
        emit_null(emit);
    else
        emit_int(emit, row->end_ns - row->begin_ns);
    emit_text(emit, ending(list, row));
    report_cells(emit, row->cells, AT_KIND, 4);
    emit_int(emit, depth);
    report_cells(emit, row->cells, AT_ALLOCS, 5);
    return 0;
}

int phases_put_summary(struct phases_listing *list)
{
    struct emit *emit = &list->report->emit;
    char text[HUMAN_MAX];
    if (emit->format != EMIT_TABLE)
        return 0;
    int err = list->open ? 0 : open_listing(list);
    if (err >= 0 && list->fold && !phases_rows_put(emit, &list->kept))
        err = ERR_NOMEM;
    if (err >= 0 && list->on_screen)
        err = put_highest(list);
    if (list->hidden)
        emit_line(emit, "%s gap%s between phases without allocations: --all shows %s",
                  human_count(text, list->hidden), list->hidden == 1 ? "" : "s",
                  list->hidden == 1 ? "it" : "them");
    return err;
}
