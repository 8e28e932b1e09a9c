/* What a report says where that is not there which it was asked for, and where to look instead. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driven.h"
#include "instant.h"
#include "thinned.h"
#include "buf.h"
#include "error.h"
#include "human.h"
#include "log.h"
#include "report_parts.h"

static bool is_narrowed(const struct report_options *options)
{
    return options->process != REPORT_ANY || options->rank != REPORT_ANY || options->device ||
           report_has_steps(options);
}

/* Those that there are; false: none. */
static bool read_steps(const struct report *report, struct option_range *steps)
{
    struct db_stmt *stmt = NULL;
    bool any = db_prepare(report->db, &stmt, "SELECT min(step), max(step) FROM phase") == 0 &&
               db_step(stmt) == DB_ROW && db_column_type(stmt, 0) != DB_NULL;
    if (any)
        *steps = (struct option_range){db_column_int(stmt, 0), db_column_int(stmt, 1)};
    db_finalize(stmt);
    return any;
}

/* Where to look instead. */
static void say_range(const struct report *report)
{
    struct db_stmt *stmt = NULL;
    struct option_range steps;
    char text[HUMAN_MAX] = "", has[96] = "no steps";
    if (db_prepare(report->db, &stmt, "SELECT alloc_ns FROM allocation ORDER BY seq LIMIT 1") ==
            0 &&
        db_step(stmt) == DB_ROW)
        human_ns(text, db_column_int(stmt, 0));
    db_finalize(stmt);
    if (read_steps(report, &steps))
        snprintf(has, sizeof has, "steps %" PRId64 " to %" PRId64, steps.first, steps.last);
    if (*text)
        log_say(LOG_NOTE, "%s has %s, and blocks from %s on", report->path, has, text);
    else
        log_say(LOG_NOTE, "%s has %s and no blocks", report->path, has);
}

void report_absent(struct report *report, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    log_say(LOG_ERROR, "%s: %s", report->command->name, text);
    say_range(report);
    if (report->beside)
        say_range(report->beside);
    report->absent = true;
}

/* The nearest steps of a process that are kept around one that was thinned out; false: it was not.
 */
static bool kept_around(const struct report *report, int64_t process, int64_t step,
                        struct option_range *kept)
{
    static const char sql[] =
        "SELECT max(step) FILTER (WHERE step < ?2 AND NOT rest),"
        "       min(step) FILTER (WHERE step > ?2 AND NOT rest), count(*) FILTER (WHERE step = ?2)"
        "  FROM (SELECT step, " THINNED_REST("ph") " AS rest FROM phase ph WHERE process = ?1)";
    struct db_stmt *stmt = NULL;
    struct thinned thinned;
    if (thinned_read(report->db, "phases", process, 0, INT64_MAX, &thinned) < 0 || !thinned.count ||
        db_prepare(report->db, &stmt, sql) < 0)
        return false;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, step);
    bool found = db_step(stmt) == DB_ROW && db_column_type(stmt, 0) != DB_NULL &&
                 db_column_type(stmt, 1) != DB_NULL && db_column_int(stmt, 2) == 0;
    if (found)
        *kept = (struct option_range){db_column_int(stmt, 0), db_column_int(stmt, 1)};
    db_finalize(stmt);
    return found;
}

/* Of any process. */
static bool kept_anywhere(const struct report *report, int64_t step, struct option_range *kept)
{
    bool found = false;
    for (size_t i = 0; i < report->process_count && !found; i++)
        found = kept_around(report, report->processes[i].id, step, kept);
    return found;
}

enum { MISSES_SHOWN = 8 };

bool report_has_missed(const struct report *report)
{
    return report_noticed(report, WARNING_MISSED) ||
           (report->beside && report_noticed(report->beside, WARNING_MISSED));
}

void report_misses(struct report *report, const struct report_scope *scope,
                   const struct instant *missing)
{
    struct report_warning warning = {.kind = WARNING_MISSED, .missed.moment = *missing};
    const struct report_warning *last = report_noticed(report, WARNING_MISSED);
    if (!missing->thinned.is &&
        (missing->step == INSTANT_NONE ||
         !kept_around(report, scope->process.id, missing->step, &warning.missed.kept)))
        return;
    warning.missed.number = last ? last->missed.number + 1 : 1;
    warning.missed.process = scope->process.id;
    if (report->scope_count > 1)
        memcpy(warning.missed.device, scope->device_text, sizeof warning.missed.device);
    if (warning.missed.number > MISSES_SHOWN)
        warning.kind = WARNING_MISSED_MORE;
    if (!report_noticed(report, WARNING_MISSED_MORE))
        report_notice(report, &warning);
}

void report_no_moment(struct report *report, const struct instant *missing)
{
    if (!report_has_missed(report))
        report_absent(report, "there is no such moment: %s", missing->label);
}

/* Steps that nobody ever took are a mistake, unless they may still come. */
static void note_steps(struct report *report)
{
    const struct option_range *asked = &report->options->steps;
    struct option_range steps;
    if (!read_steps(report, &steps))
        return;
    if (!report->following && (asked->first > steps.last || asked->last < steps.first))
        report_absent(report, "--steps: there are no such steps");
    else
        emit_note(&report->emit, "the recording has steps %" PRId64 " to %" PRId64, steps.first,
                  steps.last);
}

/* Whether of the steps asked for more was there than is now: some of their phases stay. */
static bool is_thinned_in_part(const struct report *report, int64_t process)
{
    static const char sql[] = "SELECT min(begin_seq), max(end_seq) FROM phase"
                              " WHERE process = ?1 AND step BETWEEN ?2 AND ?3";
    struct db_stmt *stmt = NULL;
    struct thinned thinned = {0};
    if (db_prepare(report->db, &stmt, sql) < 0)
        return false;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, report->options->steps.first);
    db_bind_int(stmt, 2, report->options->steps.last);
    bool found = db_step(stmt) == DB_ROW && db_column_type(stmt, 0) != DB_NULL &&
                 thinned_read(report->db, "blocks", process, db_column_int(stmt, 0),
                              db_column_int(stmt, 1), &thinned) == 0 &&
                 thinned.count > 0;
    db_finalize(stmt);
    return found;
}

/* The steps asked for may be among those of which sums are left. */
static void note_thinned(struct report *report)
{
    const struct option_range *asked = &report->options->steps;
    struct option_range first, last;
    bool in_part = false;
    if (kept_anywhere(report, asked->first, &first) && kept_anywhere(report, asked->last, &last) &&
        first.first == last.first && first.last == last.last) {
        emit_note(&report->emit,
                  "these steps were thinned out (record --keep, --max-size); the nearest that are "
                  "kept are %" PRId64 " and %" PRId64,
                  first.first, first.last);
        return;
    }
    if (report->needs) /* the last lines say so */
        return;
    for (size_t i = 0; i < report->process_count && !in_part; i++)
        in_part = is_thinned_in_part(report, report->processes[i].id);
    if (in_part)
        emit_note(&report->emit,
                  "parts of these steps were thinned out (record --keep, --max-size): only their "
                  "sums are there");
}

/* There are reports that show it, and others that are about blocks. */
void report_note_driven(struct report *report)
{
    for (size_t i = 0; i < report->scope_count; i++) {
        const struct report_scope *scope = &report->scopes[i];
        bool is = false;
        if (driven_is(report->db, scope->process.id, scope->device, &is) == 0 && is)
            emit_note(&report->emit,
                      "process %" PRId64
                      " on %s: no framework's block was seen there, but memory of "
                      "CUDA's driver: tidemark peak, phases, timeline, why and ladder show it",
                      scope->process.id, scope->device_text);
    }
}

void report_note_steps(struct report *report)
{
    if (!report_has_steps(report->options))
        return;
    note_steps(report);
    note_thinned(report);
}

void report_nothing_yet(struct report *report)
{
    emit_note(&report->emit, "waiting: no memory was reported so far%s",
              is_narrowed(report->options) ? " in what these options ask for" : "");
}

void report_nothing(struct report *report)
{
    struct db_stmt *stmt = NULL;
    int row = DB_DONE;
    emit_note(&report->emit, "no memory was reported%s",
              is_narrowed(report->options) ? " in what these options ask for" : "");
    report_note_steps(report);
    report_note_driven(report);
    if (report->scope_count > 0)
        return;
    if (db_prepare(report->db, &stmt, "SELECT id, why_not FROM process WHERE why_not <> ''") == 0)
        row = db_step(stmt);
    for (; row == DB_ROW; row = db_step(stmt))
        if (report_process_of(report, db_column_int(stmt, 0)))
            emit_note(&report->emit, "process %" PRId64 ": %s", db_column_int(stmt, 0),
                      db_column_text(stmt, 1));
    db_finalize(stmt);
}
