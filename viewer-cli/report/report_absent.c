/* What a report says where that is not there which it was asked for, and where to look instead. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driven.h"
#include "instant.h"
#include "query.h"
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
    int64_t first = QUERY_NONE, last;
    int err = query_read(report->db, "SELECT min(step) AS first, max(step) AS last FROM phase",
                         Q_NOTHING, Q_OUT(Q_OPT(first), Q_INT(last)));
    if (err < 0 || first == QUERY_NONE)
        return false;
    *steps = (struct option_range){first, last};
    return true;
}

/* Where to look instead. */
static void say_range(const struct report *report)
{
    int64_t alloc_ns;
    struct option_range steps;
    char text[HUMAN_MAX] = "", has[96] = "no steps";
    if (query_first(report->db, "SELECT alloc_ns FROM allocation ORDER BY seq LIMIT 1", Q_NOTHING,
                    Q_OUT(Q_INT(alloc_ns))) == DB_ROW)
        human_ns(text, alloc_ns);
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
        "SELECT max(step) FILTER (WHERE step < ?2 AND NOT rest) AS before,"
        "       min(step) FILTER (WHERE step > ?2 AND NOT rest) AS behind,"
        "       count(*) FILTER (WHERE step = ?2) AS there"
        "  FROM (SELECT step, " THINNED_REST("ph") " AS rest FROM phase ph WHERE process = ?1)";
    int64_t before, behind;
    bool there;
    struct thinned thinned;
    if (thinned_read(report->db, "phases", process, 0, INT64_MAX, &thinned) < 0 || !thinned.count)
        return false;
    int err = query_first(report->db, sql, Q_IN(process, step),
                          Q_OUT(Q_OPT(before), Q_OPT(behind), Q_INT(there)));
    if (err != DB_ROW || before == QUERY_NONE || behind == QUERY_NONE || there)
        return false;
    *kept = (struct option_range){before, behind};
    return true;
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
    const struct report_warning *last;
    return report_noticed(report, WARNING_MISSED, &last) > 0 ||
           (report->beside && report_noticed(report->beside, WARNING_MISSED, &last) > 0);
}

void report_misses(struct report *report, const struct report_scope *scope,
                   const struct instant *missing)
{
    struct report_warning warning = {.kind = WARNING_MISSED, .missed.moment = *missing};
    const struct report_warning *last;
    bool step = !missing->thinned.is && missing->step != INSTANT_NONE &&
                kept_around(report, scope->process.id, missing->step, &warning.missed.kept);
    if ((!step && !missing->thinned.is) || report_noticed(report, WARNING_MISSED_MORE, &last))
        return;
    if (report_noticed(report, WARNING_MISSED, &last) == MISSES_SHOWN)
        warning.kind = WARNING_MISSED_MORE;
    warning.missed.process = scope->process.id;
    if (report->scope_count > 1)
        memcpy(warning.missed.device, scope->device_text, sizeof warning.missed.device);
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
    static const char sql[] = "SELECT min(begin_seq) AS first, max(end_seq) AS last FROM phase"
                              " WHERE process = ?1 AND step BETWEEN ?2 AND ?3";
    const struct option_range *steps = &report->options->steps;
    int64_t first = QUERY_NONE, last;
    struct thinned thinned = {0};
    int err = query_read(report->db, sql, Q_IN(process, steps->first, steps->last),
                         Q_OUT(Q_OPT(first), Q_INT(last)));
    return err == 0 && first != QUERY_NONE &&
           thinned_read(report->db, "blocks", process, first, last, &thinned) == 0 &&
           thinned.count > 0;
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

/* A program that died before its first block: that is why. */
static void note_death(struct report *report)
{
    int64_t id, signal, code;
    struct query query = query_ask(
        report->db, "SELECT id, signal, exit_code AS code FROM process ORDER BY id LIMIT 1",
        Q_NOTHING, Q_OUT(Q_INT(id), Q_OPT(signal), Q_OPT(code)));
    while (query_next(&query)) {
        if (signal != QUERY_NONE)
            emit_note(&report->emit, "process %" PRId64 " was killed by signal %" PRId64, id,
                      signal);
        else if (code != QUERY_NONE && code != 0)
            emit_note(&report->emit, "process %" PRId64 " ended with status %" PRId64, id, code);
    }
    query_end(&query);
}

int report_is_unrecorded(struct report *report, bool *is, struct buf *why)
{
    static const char sql[] =
        "SELECT (SELECT value FROM meta WHERE key = 'guest' AND value <> 'loaded') AS guest,"
        "  EXISTS(SELECT 1 FROM process) AND NOT EXISTS(SELECT 1 FROM heap)"
        "  AND EXISTS(SELECT 1 FROM meta WHERE key = 'finished' AND value = 1)"
        "  AND NOT EXISTS(SELECT 1 FROM process WHERE live IS NOT NULL OR events > 0"
        "                 OR coalesce(why_not, '') = '') AS silent";
    const char *guest = NULL;
    bool silent = false;
    struct query query = query_ask(report->db, sql, Q_NOTHING, Q_OUT(Q_TEXT(guest), Q_INT(silent)));
    *is = false;
    if (query_next(&query)) {
        *is = silent || (guest && *guest);
        buf_text(why, guest ? guest : "");
    }
    return query_end(&query);
}

/* Which of the two it is: of a look at a part nothing more is known. */
static bool say_unrecorded(struct report *report)
{
    struct buf why = {0};
    bool is = false;
    int err = report_is_unrecorded(report, &is, &why);
    bool all = err >= 0 && is && report->scope_count == 0 && !is_narrowed(report->options);
    if (!all)
        emit_note(&report->emit, "no memory was reported%s",
                  is_narrowed(report->options) ? " in what these options ask for" : "");
    else if (why.count > 0)
        emit_note(&report->emit,
                  "nothing was recorded: libtidemark.so was not loaded into the program: %s",
                  buf_string(&why));
    else
        emit_note(&report->emit, "nothing was recorded");
    bool said = all && why.count > 0;
    buf_clear(&why);
    return said;
}

static void note_reasons(struct report *report)
{
    int64_t id;
    const char *why_not;
    struct query query =
        query_ask(report->db, "SELECT id, why_not FROM process WHERE why_not <> ''", Q_NOTHING,
                  Q_OUT(Q_INT(id), Q_TEXT(why_not)));
    while (query_next(&query))
        if (report_process_of(report, id))
            emit_note(&report->emit, "process %" PRId64 ": %s", id, why_not);
    query_end(&query);
}

void report_nothing(struct report *report)
{
    bool unrecorded = say_unrecorded(report);
    report_note_steps(report);
    report_note_driven(report);
    if (report->scope_count > 0)
        return;
    note_death(report);
    if (!unrecorded)
        note_reasons(report);
}
