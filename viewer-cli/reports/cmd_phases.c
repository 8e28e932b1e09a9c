/*
 * tidemark phases: memory after each phase, and the highest inside it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "peak.h"
#include "buf.h"
#include "driven_report.h"
#include "error.h"
#include "follow.h"
#include "human.h"
#include "live_look.h"
#include "map.h"
#include "mem.h"
#include "phase_kind.h"
#include "phases_fold.h"
#include "phases_ranks.h"
#include "phases_steps.h"
#include "query.h"
#include "report.h"
#include "screen.h"
#include "workers.h"

struct phases_options {
    struct report_options common;
    bool all;
    const char *domain;
};

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

struct row {
    struct db_stmt *cells; /* all of it */
    const char *phase, *kind, *ended, *domain;
    int64_t phase_id, parent, begin_ns, end_ns, allocs, frees, settled;
    int64_t step, allocated, max_allocated, reserved, max_reserved, phase_peak;
    bool evaluates; /* without a step: it is listed with the one before */
};

/* Which are asked for, and the seven values that this takes. */
#define ASKED_IN(list, device, seventh)                                                            \
    Q_IN(                                                                                          \
        (list)->scope->process.id, device,                                                         \
        query_if(report_has_steps((list)->report->options), (list)->report->options->steps.first), \
        (list)->report->options->steps.last, (list)->domain, (list)->all, seventh)
#define ASKED                                                                                      \
    " ph.process = ?1"                                                                             \
    "   AND (?3 IS NULL OR ph.step BETWEEN ?3 AND ?4 OR (ph.domain IS NOT NULL AND ph.begin_seq"   \
    "    BETWEEN (SELECT min(begin_seq) FROM phase WHERE process = ?1 AND step BETWEEN ?3 AND ?4)" \
    "        AND (SELECT max(coalesce(end_seq, begin_seq)) FROM phase"                             \
    "              WHERE process = ?1 AND step BETWEEN ?3 AND ?4))"                                \
    "    OR (ph.step IS NULL AND" PHASES_BEHIND_STEPS("ph") "AND" PHASES_EVALUATES(                \
        "ph") "))"                                                                                 \
              "   AND CASE WHEN ?5 IS NOT NULL THEN ph.domain = ?5 ELSE ?6 OR ph.domain IS NULL "  \
              "END"

#define COLUMNS                                                                                    \
    "SELECT t.process, t.device, t.step, t.phase, t.allocated, t.max_allocated, t.reserved,"       \
    "       t.max_reserved, t.fragmentation, t.phase_peak, t.begin_ns, t.end_ns, t.kind,"          \
    "       t.ordinal, t.phase_id, ph.parent, t.allocs, t.frees, t.alloc_bytes, t.ended,"          \
    "       ph.domain, ph.settled," PHASES_EVALUATES("ph") " AS evaluates"
#define OF_SCOPE(more)                                                                             \
    "  JOIN phase_table t ON t.phase_id = ph.id"                                                   \
    " WHERE" ASKED " AND t.device = ?2" more " ORDER BY ph.begin_seq, ph.id"

static const char sql[] = COLUMNS " FROM phase ph" OF_SCOPE(" AND ph.id > ?7");

/* What was settled since; and as the recording has ended, what was not. */
static const char settled_sql[] = COLUMNS " FROM (SELECT id FROM phase WHERE settled > ?7) new"
                                          " CROSS JOIN phase ph ON ph.id = new.id" OF_SCOPE("");
static const char rest_sql[] =
    COLUMNS " FROM (SELECT id FROM phase WHERE settled > ?7 OR settled IS NULL) new"
            " CROSS JOIN phase ph ON ph.id = new.id" OF_SCOPE("");

/* From the newest on, by their numbers: a phase that is inside of another has a higher one. */
static const char newest_sql[] =
    "SELECT ph.id FROM phase ph CROSS JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE" ASKED " AND pd.device = ?2"
    "   AND (?6 OR ph.kind <> 'other' OR pd.allocs > 0 OR pd.frees > 0)"
    " ORDER BY ph.id DESC LIMIT ?7";

/* One phase, if it is asked for. */
static const char parent_sql[] =
    "SELECT ph.parent FROM phase ph CROSS JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE" ASKED " AND pd.device = ?2 AND ph.id = ?7";

struct listing {
    struct report *report;
    const struct report_scope *scope;
    const char *domain; /* only its ranges; NULL: the program's phases */
    bool all;           /* and those of libraries, and time without any traffic */
    struct tale *tale;  /* NULL: not of --follow with rows */
    bool on_screen;     /* the last rows, as many as there is room for */
    int64_t skip;       /* rows that can be seen and are not: a screen has room for the last ones */
    int64_t floor;      /* phases up to this number are not read, but for what is around others */
    struct map depths;  /* phase.id to how many phases are around it */
    int64_t rows, hidden;
    int64_t step; /* of the last row that has one; QUERY_NONE */
    bool fold;    /* rows that repeat are one: they are kept until all are there */
    struct phases_rows kept;
    bool open;   /* the section is */
    bool broken; /* without memory */
};

/*
 * Rows of a recording that goes on: each phase is printed once, when it is settled, for then its
 * row stays as it is; what is not settled as the recording ends, in the last look.
 */
struct tale {
    bool over;    /* the recording */
    int64_t told; /* phases up to this number in `settled` were */
};

/* Of a phase that is not in the list: one more than what is around it has; none if it is not asked
 * for. Nothing is around itself, but in a damaged file. */
static int depth_below(struct listing *list, int64_t id, uint64_t *depth)
{
    enum { MOST = 4096 };
    int64_t parent;
    *depth = MAP_NONE;
    struct query query = query_ask(list->report->db, parent_sql,
                                   ASKED_IN(list, list->scope->device, id), Q_OUT(Q_OPT(parent)));
    while (query_next(&query)) {
        *depth += 1; /* the first makes it 0 */
        if (parent == QUERY_NONE || *depth >= MOST)
            break;
        query_again(&query, ASKED_IN(list, list->scope->device, parent));
    }
    return query_end(&query);
}

/* Negative: an error. */
static int64_t depth_of(struct listing *list, const struct row *row)
{
    uint64_t around = MAP_NONE;
    if (row->parent != QUERY_NONE) {
        around = map_get(&list->depths, (uint64_t)row->parent);
        bool elsewhere = around == MAP_NONE && (list->tale || list->floor >= row->parent);
        int err = elsewhere ? depth_below(list, row->parent, &around) : 0;
        if (err < 0)
            return err;
    }
    uint64_t depth = around == MAP_NONE ? 0 : around + 1;
    if (!map_put(&list->depths, (uint64_t)row->phase_id, depth, NULL))
        return ERR_NOMEM;
    return (int64_t)depth;
}

static void name_row(const struct listing *list, const struct row *row, int64_t depth,
                     struct buf *name)
{
    for (int64_t i = 0; i < depth && i < 20; i++)
        buf_text(name, "  ");
    if (row->domain && !list->domain)
        buf_print(name, "%s: ", row->domain);
    buf_text(name, row->phase);
}

static void put_name(struct listing *list, const struct row *row, int64_t depth)
{
    struct buf name = {0};
    name_row(list, row, depth, &name);
    list->broken = list->broken || name.broken;
    emit_text(&list->report->emit, buf_string(&name));
    buf_clear(&name);
}

static bool is_gap(const struct row *row)
{
    return phase_kind_from(row->kind) == PHASE_KIND_OTHER;
}

/* How it ended, if that was not the usual way. What comes after the last phase always ends with the
 * process. */
static const char *ending(const struct listing *list, const struct row *row)
{
    enum phase_end end = phase_end_from(row->ended);
    bool usual = end == PHASE_END_USUAL || (is_gap(row) && end == PHASE_END_PROCESS);
    const char *ended = usual ? NULL : row->ended;
    if (row->end_ns == QUERY_NONE)
        ended = "still open";
    else if (list->report->following && row->settled == QUERY_NONE)
        ended = "may change";
    return ended;
}

static bool is_empty_gap(const struct row *row)
{
    return is_gap(row) && row->allocs == 0 && row->frees == 0;
}

/* Of the steps that are asked for the training is `tidemark peak`'s; rows of evaluations are listed
 * with them. True: one of those was higher. */
static int put_evaluation(struct listing *list, const struct peak *peak, bool *higher)
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
static int put_highest(struct listing *list)
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
static int open_list(struct listing *list)
{
    struct emit *emit = &list->report->emit;
    report_heading(list->report, "Phases", list->scope);
    bool above = emit->format == EMIT_TABLE && !list->on_screen;
    int err = above ? put_highest(list) : 0;
    EMIT_SECTION(emit, "phases", NULL, EMIT_ROWS, columns);
    list->open = true;
    return err;
}

static char *copy(const char *text)
{
    return text ? mem_copy(text, strlen(text)) : NULL;
}

static int keep_row(struct listing *list, const struct row *row, int64_t depth)
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
static int find_step(struct listing *list, struct row *row)
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
static bool is_of_people(const struct listing *list, const struct row *row)
{
    return row->evaluates && list->report->emit.format != EMIT_TABLE &&
           report_has_steps(list->report->options);
}

static int put_row(struct listing *list, struct row *row)
{
    struct emit *emit = &list->report->emit;
    if (is_of_people(list, row))
        return 0;
    int err = list->report->emit.format == EMIT_TABLE ? find_step(list, row) : 0;
    int64_t depth = err < 0 ? err : depth_of(list, row);
    if (depth < 0)
        return (int)depth;
    list->rows++;
    if (!list->all && emit->format == EMIT_TABLE && is_empty_gap(row)) {
        list->hidden++;
        return 0;
    }
    if (list->skip > 0) {
        list->skip--;
        return 0;
    }
    if (list->fold)
        return keep_row(list, row, depth);
    err = list->open || list->tale ? 0 : open_list(list);
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

static struct query ask(const struct listing *list, struct row *row, const struct query_place *out)
{
    const struct tale *tale = list->tale;
    struct query query =
        query_ask(list->report->db,
                  !tale        ? sql
                  : tale->over ? rest_sql
                               : settled_sql,
                  ASKED_IN(list, list->scope->device_text, tale ? tale->told : list->floor), out);
    row->cells = query.stmt;
    return query;
}

#define ROW_OUT(row)                                                                               \
    Q_OUT(Q_OPT((row).step), Q_TEXT((row).phase), Q_OPT((row).allocated),                          \
          Q_OPT((row).max_allocated), Q_OPT((row).reserved), Q_OPT((row).max_reserved),            \
          Q_OPT((row).phase_peak), Q_INT((row).begin_ns), Q_OPT((row).end_ns), Q_TEXT((row).kind), \
          Q_INT((row).phase_id), Q_OPT((row).parent), Q_INT((row).allocs), Q_INT((row).frees),     \
          Q_NTEXT((row).ended), Q_NTEXT((row).domain), Q_OPT((row).settled),                       \
          Q_INT((row).evaluates), Q_REST)

static int put_summary(struct listing *list)
{
    struct emit *emit = &list->report->emit;
    char text[HUMAN_MAX];
    if (emit->format != EMIT_TABLE)
        return 0;
    int err = list->open ? 0 : open_list(list);
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

/* Nearly all phases have a higher number than those that began before: so many more are read. */
enum { NEWEST_MORE = 64 };

/* The floor under the last rows, as many as a screen has room for: they are found from the newest
 * on, so that a look costs the same however long the run is. */
static int find_floor(struct listing *list, int64_t room)
{
    int64_t id, count = 0;
    struct query query =
        query_ask(list->report->db, newest_sql,
                  ASKED_IN(list, list->scope->device, room + NEWEST_MORE), Q_OUT(Q_INT(id)));
    for (; query_next(&query); count++)
        list->floor = id - 1;
    list->floor = count < room + NEWEST_MORE ? -1 : list->floor;
    return query_end(&query);
}

/* How many rows a screen cannot show. */
static int count_skipped(struct listing *list, int64_t room)
{
    struct row row;
    int64_t count = 0;
    int err = find_floor(list, room);
    if (err < 0)
        return err;
    struct query query = ask(list, &row, ROW_OUT(row));
    while (query_next(&query))
        count += list->all || !is_empty_gap(&row);
    list->skip = count > room ? count - room : 0;
    return query_end(&query);
}

struct look { /* how one look at the database goes */
    struct report *report;
    const struct phases_options *options;
    struct tale *tale;
    int64_t room; /* rows of each scope; 0 = any number */
    bool any;
    struct live_look live;     /* where there is a number */
    struct phases_ranks ranks; /* for people, unless each row is asked for */
};

static int put_list(struct look *look, struct listing *list)
{
    bool ranked = list->fold && list->scope->process.rank != REPORT_ANY;
    if (ranked && phases_ranks_fold(&look->ranks, list->scope, &list->kept))
        return 0;
    int err = put_summary(list);
    if (err >= 0 && ranked && !phases_ranks_add(&look->ranks, list->scope, &list->kept))
        err = ERR_NOMEM;
    return err;
}

static int put_scope(struct look *look, const struct report_scope *scope)
{
    struct listing list = {.report = look->report,
                           .scope = scope,
                           .domain = look->options->domain,
                           .all = look->options->all,
                           .tale = look->tale,
                           .on_screen = look->room > 0,
                           .fold = look->report->emit.format == EMIT_TABLE && !look->tale &&
                                   !look->room && !look->options->all,
                           .floor = -1,
                           .step = QUERY_NONE};
    struct row row;
    const struct query_place *out = ROW_OUT(row);
    struct query query = {.err = look->room ? count_skipped(&list, look->room) : 0};
    if (query.err >= 0)
        query = ask(&list, &row, out);
    while (query_next(&query))
        query_fail(&query, put_row(&list, &row));
    int err = query_end(&query);
    if (look->room)
        list.hidden = 0;            /* those before are not counted */
    if (err < 0 && list.kept.count) /* what could be read */
        (void)put_summary(&list);
    if (err >= 0 && list.rows > 0 && !look->tale)
        err = put_list(look, &list);
    look->any = look->any || list.rows > 0;
    if (list.broken)
        err = ERR_NOMEM;
    map_clear(&list.depths);
    phases_rows_clear(&list.kept);
    return err < 0 ? err : 0;
}

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

static int put_scopes(struct look *look)
{
    struct report *report = look->report;
    int err = 0;
    if (look->tale)
        open_tale(&report->emit);
    else if (report->emit.format != EMIT_TABLE)
        EMIT_SECTION(&report->emit, "phases", NULL, EMIT_ROWS, columns);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = put_scope(look, &report->scopes[i]);
    bool driven = (!look->tale || look->tale->over) && !look->options->domain;
    for (size_t i = 0; driven && i < report->scope_count && err >= 0; i++)
        err = driven_list_phases(report, &report->scopes[i], look->options->all, &look->any);
    return err;
}

/* ---- --follow ---- */

/* The scopes for which a screen of that height has room. */
static int put_screen(struct look *look, unsigned height)
{
    enum { AROUND = 6, LEAST = 2 }; /* lines of a scope that are no rows, and rows of it */
    struct report *report = look->report;
    struct live_look *live = &look->live;
    int err = live_begin(live, report, height, AROUND + LEAST);
    unsigned lines = live_lines(live);
    look->room = lines > AROUND + LEAST ? lines - AROUND : LEAST;
    for (size_t i = 0; i < report->scope_count && err >= 0 && !live->full; i++) {
        live_scope_begin(live);
        err = put_scope(look, &report->scopes[i]);
        if (err >= 0 && !look->options->domain)
            err = driven_list_phases(report, &report->scopes[i], look->options->all, &look->any);
        live_scope_end(live);
    }
    live_end(live);
    return err;
}

/* A new screen each time. */
static int follow_drawn(struct look *look)
{
    struct report *report = look->report;
    char *path = mem_copy(report->path, strlen(report->path));
    int code = path ? 0 : report_end(report, ERR_NOMEM);
    while (code == 0) {
        bool over = false;
        look->any = false;
        int err = follow_is_over(report->db, &over);
        report->following = !over;
        err = err < 0 ? err : put_screen(look, screen_look().height);
        if (err >= 0 && !look->any)
            over ? report_nothing(report) : report_nothing_yet(report);
        follow_home();
        code = report_end(report, err);
        if (code || over || !follow_wait())
            break;
        code = report_begin(report, report->command, report->options, path);
    }
    mem_free(path);
    return code;
}

/* After a look, in its transaction. */
static int read_told(struct look *look)
{
    int64_t *told = &look->tale->told;
    return query_read(look->report->db,
                      "SELECT coalesce(max(settled), ?1) AS told FROM phase WHERE settled > ?1",
                      Q_IN(*told), Q_OUT(Q_INT(*told)));
}

static int tell(struct look *look)
{
    struct tale *tale = look->tale;
    int err = follow_is_over(look->report->db, &tale->over);
    look->report->following = !tale->over;
    if (err >= 0)
        err = put_scopes(look);
    return err < 0 ? err : read_told(look);
}

/* Each phase once. */
static int follow_told(struct look *look)
{
    struct report *report = look->report;
    struct tale tale = {0};
    int err = 0, code = 0;
    look->tale = &tale;
    for (bool go_on = true; go_on;) {
        err = tell(look);
        if (err < 0 || tale.over)
            break;
        code = report_pause(report);
        go_on = code == 0 && follow_wait();
        if (code == 0)
            code = report_resume(report);
        go_on = go_on && code == 0;
    }
    if (code)
        return code;
    if (err >= 0 && !look->any)
        report_nothing(report);
    return report_end(report, err);
}

static int run(struct look *look)
{
    if (look->options->common.follow) {
        bool drawn = screen_look().terminal && look->report->emit.format == EMIT_TABLE;
        return drawn ? follow_drawn(look) : follow_told(look);
    }
    int err = workers_fold(look->report);
    if (err >= 0)
        err = put_scopes(look);
    if (err >= 0 && !look->any)
        report_nothing(look->report);
    if (err >= 0)
        phases_ranks_note(&look->report->emit, &look->ranks);
    phases_ranks_clear(&look->ranks);
    if (err >= 0)
        err = report_hears_steps(look->report);
    return report_end(look->report, err);
}

static int cmd_phases(const struct command_call *call)
{
    struct phases_options options = {.common = REPORT_OPTIONS};
    struct report report;
    int code;

    if (!report_start(&report, call, &options, &code))
        return code;
    struct look look = {.report = &report, .options = &options};
    return run(&look);
}

static const struct option option_table[] = {
    {"all", 'a', OPT_FLAG, offsetof(struct phases_options, all), NULL,
     "also the time between phases without any\nallocation or free, and the ranges of libraries;\n"
     "each row and each rank, also where they repeat",
     NULL, 0},
    {"domain", 0, OPT_TEXT, offsetof(struct phases_options, domain), "NAME",
     "only the ranges of one library, as it names\nitself to NVTX: NCCL", NULL, 0},
    {"follow", 'F', OPT_FLAG, REPORT_AT(follow), NULL,
     "while the program runs: the last phases, again and\nagain; piped, each phase when it has "
     "ended.\nCtrl-C ends it",
     NULL, 0},
    {0},
};

const struct command command_phases = {
    .name = "phases",
    .group = COMMAND_LOOK,
    .run = cmd_phases,
    .summary = "memory after each phase of each step, and the highest inside it",
    .arguments = "[DATABASE]",
    .options = option_table,
    .shared = &report_shared,
    .thinned = "phases",
    .most = 1,
    .description =
        "Prints one line for each phase: what was allocated when it ended, the highest since the "
        "process began (max alloc), the same for reserved memory where the source knows it, the "
        "highest inside the phase (phase peak), and how long it took. A phase inside another is "
        "indented. An evaluation has the step after which it ran. The "
        "time between phases is called 'other'. Where rows repeat with the same sizes, batches of "
        "an "
        "evaluation or steps, a table has them once, and one row for all the others. Ranks whose "
        "tables look the same have one table, and a line says how far apart their sizes are. "
        "Ranges that "
        "libraries name by NVTX lie across the "
        "phases and are left out. On a device where no framework had a block, a list of its own "
        "(driver_phases in csv and json) has the memory from CUDA's driver.",
    .examples =
        {
            {"tidemark phases", "the newest recording in this folder"},
            {"tidemark phases run.db --steps 0..2", "the first three steps"},
            {"tidemark phases run.db --rank 1 --format csv", "one rank, for a spreadsheet"},
            {"tidemark phases --follow", "while the program still runs"},
        },
};
