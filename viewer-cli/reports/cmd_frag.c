/*
 * tidemark frag: what reserved memory went to at one moment, and who pins what is free.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "error.h"
#include "frag_report.h"
#include "human.h"
#include "mem.h"
#include "moment.h"
#include "oom_report.h"
#include "phase_kind.h"
#include "query.h"
#include "report.h"
#include "workers.h"

struct frag_options {
    struct report_options common;
    int64_t top;
    int order;
    bool over_time;
    bool oom;
};

enum { ORDER_FREE, ORDER_SIZE };

/* ---- one moment ---- */

struct frag_look { /* of one process on one device */
    struct instant instant;
    struct frag frag;
    size_t *order;
    struct frag_part part;
};

/* ERR_NOTFOUND: there is no such moment here. */
static int look_at(struct report *report, const struct report_scope *scope,
                   const struct frag_options *options, const char *moment, struct frag_look *look)
{
    int err = moment_find(report, scope, moment, &look->instant);
    if (err == 0)
        err = report_sees(report, scope->process.id, look->instant.seq);
    if (err == 0)
        err = frag_read(report->db, scope->process.id, scope->device, &look->instant,
                        (size_t)options->top, &look->frag);
    if (err == 0 && report->emit.format == EMIT_TABLE)
        err = frag_tell_apart(report->db, &look->frag, (size_t)options->top);
    if (err < 0)
        return err;
    look->order = frag_order(&look->frag, options->order == ORDER_SIZE);
    look->part = (struct frag_part){&report->emit, scope,       &look->instant,
                                    &look->frag,   look->order, options->top,
                                    options->order == ORDER_SIZE};
    return look->order ? 0 : ERR_NOMEM;
}

static void note_unknown(struct report *report, const struct report_scope *scope)
{
    emit_note(&report->emit, "process %" PRId64 " on %s: segments are not known from this source%s",
              scope->process.id, scope->device_text,
              report_is_host(scope) ? ": a CPU has none; 'tidemark fit' shows its "
                                      "blocks laid out as on a GPU"
                                    : "");
}

static void note_strays(struct emit *emit, const struct report_scope *scope,
                        const struct frag *frag)
{
    char count[HUMAN_MAX], bytes[HUMAN_MAX];
    if (frag->strays)
        emit_note(emit, "process %" PRId64 " on %s: %s live block%s of %s %s in no known segment",
                  scope->process.id, scope->device_text, human_count(count, frag->strays),
                  frag->strays == 1 ? "" : "s", human_bytes(bytes, frag->stray_bytes),
                  frag->strays == 1 ? "is" : "are");
}

static void put_looks(struct report *report, const struct frag_look *looks, size_t count)
{
    bool people = report->emit.format == EMIT_TABLE;
    for (size_t i = 0; i < count && people; i++) {
        report_heading(report, "Fragmentation", looks[i].part.scope);
        for (size_t s = 0; s < FRAG_SECTIONS; s++)
            frag_sections[s].put(&looks[i].part);
    }
    for (size_t s = 0; s < FRAG_SECTIONS && !people; s++) {
        emit_section(&report->emit, frag_sections[s].key, NULL, EMIT_ROWS, frag_sections[s].columns,
                     frag_sections[s].count);
        for (size_t i = 0; i < count; i++)
            frag_sections[s].put(&looks[i].part);
    }
    for (size_t i = 0; i < count; i++)
        note_strays(&report->emit, looks[i].part.scope, &looks[i].frag);
}

static void clear_look(struct frag_look *look)
{
    frag_clear(&look->frag);
    mem_free(look->order);
    *look = (struct frag_look){0};
}

static int put_moment(struct report *report, const struct frag_options *options, const char *moment)
{
    struct frag_look *looks = mem_alloc(report->scope_count + 1, sizeof *looks);
    size_t known = 0, found = 0;
    int err = looks ? 0 : ERR_NOMEM;
    struct instant missing = {.step = INSTANT_NONE};
    if (!moment)
        report_needs_steps(report);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++) {
        struct frag_look *look = &looks[known];
        err = look_at(report, &report->scopes[i], options, moment, look);
        if (err == ERR_NOTFOUND) {
            missing = look->instant;
            report_misses(report, &report->scopes[i], &missing);
            err = 0;
            continue;
        }
        found++;
        if (err < 0 || !look->frag.known)
            clear_look(look);
        else
            known++;
        if (err >= 0 && !look->frag.known)
            note_unknown(report, &report->scopes[i]);
    }
    if (err >= 0 && !found && *missing.label && moment)
        report_no_moment(report, &missing);
    else if (err >= 0 && !found)
        report_nothing(report);
    if (err >= 0)
        put_looks(report, looks, known);
    for (size_t i = 0; i < known; i++)
        clear_look(&looks[i]);
    mem_free(looks);
    return err;
}

/* ---- over time ---- */

static const struct emit_column time_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_NONE},
    {"phase", NULL, EMIT_TEXT, 0},
    {"end_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"allocated", NULL, EMIT_BYTES, 0},
    {"active", NULL, EMIT_BYTES, EMIT_IF_KNOWN},
    {"reserved", NULL, EMIT_BYTES, 0},
    {"inactive_split", "split", EMIT_BYTES, EMIT_IF_KNOWN},
    {"cached", NULL, EMIT_BYTES, EMIT_IF_KNOWN},
    {"fragmentation", NULL, EMIT_RATIO, 0},
    {"phase_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};
enum { TIME_COLUMNS = sizeof time_columns / sizeof *time_columns };

static const char time_sql[] = "SELECT f.*, (SELECT kind FROM phase WHERE id = f.phase_id) AS kind"
                               "  FROM fragmentation f WHERE f.process = ?1 AND f.device = ?2"
                               "   AND (?3 IS NULL OR f.step BETWEEN ?3 AND ?4)";

/* Time between phases in which nothing changed: people are not shown it. */
struct time_row {
    const char *kind;
    struct time_values { /* of all the same size: they are compared as one */
        int64_t allocated, active, reserved, inactive_split, cached;
    } now, last;
};

static bool is_quiet(struct time_row *row)
{
    bool same = memcmp(&row->now, &row->last, sizeof row->now) == 0;
    row->last = row->now;
    return same && phase_kind_from(row->kind) == PHASE_KIND_OTHER;
}

/* Of some other step. */
static int is_known(struct report *report, const struct report_scope *scope, bool *known)
{
    return query_read(
        report->db,
        "SELECT EXISTS (SELECT 1 FROM phase_device pd JOIN phase ph ON ph.id = pd.phase"
        " WHERE ph.process = ?1 AND pd.device = ?2 AND pd.reserved IS NOT NULL)"
        " AS known",
        Q_IN(scope->process.id, scope->device), Q_OUT(Q_INT(*known)));
}

/* *missed: it has memory, but in other steps. */
static int put_time(struct report *report, const struct report_scope *scope, bool *any,
                    bool *missed)
{
    const struct option_range *steps = &report->options->steps;
    struct time_row row = {0};
    bool first = true;
    struct query query =
        query_ask(report->db, time_sql,
                  Q_IN(scope->process.id, scope->device_text,
                       query_if(report_has_steps(report->options), steps->first), steps->last),
                  Q_OUT(Q_TEXT(row.kind), Q_OPT(row.now.allocated), Q_OPT(row.now.active),
                        Q_OPT(row.now.reserved), Q_OPT(row.now.inactive_split),
                        Q_OPT(row.now.cached), Q_REST));
    while (query_next(&query)) {
        if (first && report->emit.format == EMIT_TABLE) {
            report_heading(report, "Fragmentation at the end of each phase", scope);
            emit_line(&report->emit, "inactive split / reserved");
            EMIT_SECTION(&report->emit, "over_time", NULL, EMIT_ROWS, time_columns);
        }
        first = false;
        *any = true;
        if (report->emit.format == EMIT_TABLE && is_quiet(&row))
            continue;
        report_cells(&report->emit, query.stmt, 0, TIME_COLUMNS);
    }
    int err = query_end(&query);
    bool known = false;
    if (err >= 0 && first && report_has_steps(report->options))
        err = is_known(report, scope, &known);
    if (err >= 0 && first && !known)
        note_unknown(report, scope);
    *missed |= known;
    return err < 0 ? err : 0;
}

static int put_over_time(struct report *report)
{
    bool any = false, missed = false;
    int err = 0;
    report->needs = "phases";
    if (report->emit.format != EMIT_TABLE)
        EMIT_SECTION(&report->emit, "over_time", NULL, EMIT_ROWS, time_columns);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = put_time(report, &report->scopes[i], &any, &missed);
    if (err >= 0 && !any && (missed || !report->scope_count))
        report_nothing(report);
    return err;
}

/* ---- out of memory ---- */

static int note_unplaced(struct report *report, bool *any)
{
    int64_t count = 0;
    char number[HUMAN_MAX];
    int err = 0;
    for (size_t i = 0; i < report->process_count && err >= 0; i++) {
        err = oom_count_unplaced(report->db, report->processes[i].id, &count);
        if (err < 0 || !count)
            continue;
        *any = true;
        emit_note(&report->emit,
                  "process %" PRId64 ": %s allocation%s failed on a device that is not known",
                  report->processes[i].id, human_count(number, count), count == 1 ? "" : "s");
    }
    return err;
}

static int read_failures(struct report *report, const struct frag_options *options,
                         const struct report_scope *scope, struct ooms *ooms, struct oom_fit *fit)
{
    const struct option_range *steps = &options->common.steps;
    const int64_t process = scope->process.id;
    int err = oom_read(report->db, process, scope->device, steps->first, steps->last,
                       (size_t)options->top, (size_t)options->top, ooms);
    for (size_t i = 0; i < ooms->shown && err >= 0 && report->emit.format == EMIT_TABLE; i++)
        err = frag_tell_apart(report->db, &ooms->failures[i].frag, (size_t)options->top);
    if (err < 0 || !ooms->shown)
        return err;
    return oom_fit_read(report->db, process, scope->device, &ooms->failures[ooms->shown - 1],
                        INT64_MAX, fit);
}

static int put_failures(struct report *report, const struct frag_options *options)
{
    size_t n = report->scope_count, done = 0;
    struct ooms *ooms = mem_alloc(n + 1, sizeof *ooms);
    struct oom_fit *fits = mem_alloc(n + 1, sizeof *fits);
    struct oom_part *parts = mem_alloc(n + 1, sizeof *parts);
    int err = ooms && fits && parts ? 0 : ERR_NOMEM;
    bool any = false;
    for (; done < n && err >= 0; done++) {
        const struct report_scope *scope = &report->scopes[done];
        err = read_failures(report, options, scope, &ooms[done], &fits[done]);
        parts[done] = (struct oom_part){.emit = &report->emit,
                                        .scope = scope,
                                        .ooms = &ooms[done],
                                        .top = options->top,
                                        .fit = ooms[done].shown ? &fits[done] : NULL};
        any = any || ooms[done].count;
    }
    if (err >= 0 && report->emit.format != EMIT_TABLE)
        oom_put_programs(&report->emit, parts, n);
    for (size_t i = 0; i < n && err >= 0 && report->emit.format == EMIT_TABLE; i++) {
        if (!ooms[i].count)
            continue;
        report_heading(report, "Out of memory", parts[i].scope);
        oom_put_people(&parts[i]);
    }
    if (err >= 0)
        err = note_unplaced(report, &any);
    if (err >= 0 && !any)
        emit_note(&report->emit, "no allocation failed");
    for (size_t i = 0; i < done; i++) {
        ooms_clear(&ooms[i]);
        oom_fit_clear(&fits[i]);
    }
    mem_free(ooms);
    mem_free(fits);
    mem_free(parts);
    return err;
}

/* ---- the command ---- */

static int put_all(struct report *report, const struct frag_options *options, const char *moment)
{
    if (options->oom)
        return put_failures(report, options);
    return options->over_time ? put_over_time(report) : put_moment(report, options, moment);
}

static int cmd_frag(const struct command_call *call)
{
    struct frag_options options = {.common = REPORT_OPTIONS, .top = 10};
    struct moment_request request;
    struct report report;
    char **arguments;
    int count, code;

    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = moment_arguments(call, arguments, count, &request);
    if (!code && (options.oom || options.over_time) &&
        (request.moment || (options.oom && options.over_time)))
        code = command_misused(call->command, "a moment, --over-time and --oom exclude each other");
    if (!code)
        code = report_begin(&report, call->command, &options.common, request.database);
    if (!code) {
        int err = options.oom ? 0 : workers_fold(&report);
        code = report_end(&report, err < 0 ? err : put_all(&report, &options, request.moment));
    }
    mem_free(arguments);
    return code;
}

static const char *const orders[] = {"free", "size", NULL};

static const struct option option_table[] = {
    {"top", 'n', OPT_INT, offsetof(struct frag_options, top), "N",
     "N sizes, segments, blocks and call sites (10)", NULL, 1},
    {"order", 0, OPT_CHOICE, offsetof(struct frag_options, order), "HOW",
     "segments by 'free', the bytes in their holes, or\nby 'size'; the largest first", orders, 0},
    {"over-time", 0, OPT_FLAG, offsetof(struct frag_options, over_time), NULL,
     "fragmentation at the end of each phase instead", NULL, 0},
    {"oom", 0, OPT_FLAG, offsetof(struct frag_options, oom), NULL,
     "each allocation that failed, explained, instead", NULL, 0},
    {0},
};

const struct command command_frag = {
    .name = "frag",
    .group = COMMAND_LOOK,
    .run = cmd_frag,
    .summary = "what reserved memory is used for, and which blocks pin free memory",
    .arguments = "[DATABASE] [MOMENT]",
    .options = option_table,
    .shared = &report_shared,
    .most = 2,
    .description =
        "At one moment, for each process and device whose segments are known: fragmentation, which "
        "is inactive split (free bytes in segments that also hold a block) by reserved, and how "
        "scattered the free bytes are, 1 - largest hole / free bytes; the parts of reserved; "
        "each segment size with its holes; the segments, those with most bytes in holes first, on "
        "a terminal with a picture; and pins: 'Pinned by' has for each call site the segments "
        "that hold nothing but its blocks, and the other holes beside its blocks. 'Blocks "
        "that pin memory' has for single blocks the hole that freeing makes, or the whole "
        "segment, which could then go back to the device.\n"
        "\n"
        "A moment is a step (its highest point), a step and a phase (7/backward: the end of that "
        "phase), a time (@1.5s), 'peak' or 'end'. Default: the peak, of --steps where that option "
        "is passed.\n"
        "\n"
        "In csv and json these are the sections frag, causes, sizes, segments, sites and pins.",
    .examples =
        {
            {"tidemark frag", "at the peak of the newest recording in this folder"},
            {"tidemark frag run.db end --top 30", "more rows, at the end of the run"},
            {"tidemark frag --over-time --steps 2..", "fragmentation over time"},
            {"tidemark frag --oom", "why an allocation failed"},
        },
};
