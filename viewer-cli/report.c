#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/driven.h"
#include "analysis/instant.h"
#include "analysis/loss.h"
#include "analysis/thinned.h"
#include "error.h"
#include "human.h"
#include "log.h"
#include "mem.h"
#include "newest.h"

const char *const report_formats[] = {"table", "csv", "json", NULL};

const struct option report_option_table[] = {
    REPORT_OPTION_PROCESS,
    REPORT_OPTION_RANK,
    {"device", 'd', OPT_TEXT, REPORT_AT(device), "NAME", "only this device, such as cpu or cuda:0",
     NULL, 0},
    {"steps", 's', OPT_RANGE, REPORT_AT(steps), "A..B", "only these steps; A.., ..B and A work too",
     NULL, 0},
    REPORT_OPTION_FORMAT,
    REPORT_OPTION_NO_COLOR,
    {0},
};

bool report_has_steps(const struct report_options *options)
{
    return options->steps.first != INT64_MIN || options->steps.last != INT64_MAX;
}

/* ---- opening ---- */

static int exit_for(int err)
{
    switch (err) {
    case ERR_NOMEM:
    case ERR_INTERNAL:
    case ERR_ARG: /* a query of ours that SQLite does not take */
        return EXIT_INTERNAL;
    default:
        return EXIT_INPUT;
    }
}

int report_failed(const char *path, int err, const char *message)
{
    if (err == ERR_NOMEM || !message || !*message)
        message = base_err_text(err); /* SQLite knows nothing of our own troubles */
    if (err == ERR_CORRUPT)
        log_say(LOG_ERROR, "%s is damaged: %s", path, message);
    else
        log_say(LOG_ERROR, "%s: %s", path, message);
    return exit_for(err);
}

static int find_newest(char **path)
{
    int err = newest_recording(".", path);
    if (err == ERR_NOTFOUND) {
        log_say(LOG_ERROR, "no tidemark.*.db in this folder");
        log_say(LOG_NOTE, "name a database, or make one: tidemark record -- COMMAND");
        return EXIT_INPUT;
    }
    if (err < 0)
        return report_failed("this folder", err, NULL);
    log_say(LOG_NOTE, "reading %s", *path);
    return 0;
}

int report_open_database(struct db **db, char **path, const char *named)
{
    int code = 0;
    *db = NULL;
    *path = NULL;
    if (!named)
        code = find_newest(path);
    else if (!(*path = mem_copy(named, strlen(named))))
        code = report_failed(named, ERR_NOMEM, NULL);
    if (code)
        return code;
    if (!**path) {
        log_say(LOG_ERROR, "the name of the database is empty");
        log_say(LOG_NOTE, "leave it out for the newest tidemark.*.db in this folder");
        mem_free(*path);
        *path = NULL;
        return EXIT_USAGE;
    }
    int err = db_open(db, *path);
    if (err == 0)
        return 0;
    log_say(LOG_ERROR, "%s", db_open_message());
    mem_free(*path);
    *path = NULL;
    return exit_for(err);
}

/* ---- which processes ---- */

static bool is_wanted(const struct report_options *options, const struct report_process *process,
                      bool by_id)
{
    if (options->rank != REPORT_ANY && options->rank != process->rank)
        return false;
    if (options->process == REPORT_ANY)
        return true;
    return options->process == (by_id ? process->id : process->pid);
}

static int read_processes(struct report *report)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(report->db, &stmt, "SELECT id, pid, rank FROM process ORDER BY id");
    while (err >= 0 && (err = db_step(stmt)) == DB_ROW) {
        if (!MEM_GROW(report->processes, report->process_cap, report->process_count + 1)) {
            err = ERR_NOMEM;
            break;
        }
        report->processes[report->process_count++] = (struct report_process){
            .id = db_column_int(stmt, 0),
            .pid = db_column_int(stmt, 1),
            .rank = db_column_type(stmt, 2) == DB_NULL ? REPORT_ANY : db_column_int(stmt, 2),
        };
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* Where there are two, a message says which. */
static const char *called(const struct report *report)
{
    return report->beside || report->command->least > 1 ? report->path : "this recording";
}

static int no_such_process(const struct report *report)
{
    const struct report_options *options = report->options;
    char list[256] = "", what[64] = "";
    size_t used = 0;
    bool has_rank = false;
    for (size_t i = 0; i < report->process_count; i++)
        has_rank |= report->processes[i].rank != REPORT_ANY;
    for (size_t i = 0; i < report->process_count && used < sizeof list - 64; i++) {
        const struct report_process *at = &report->processes[i];
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRId64 " (pid %" PRId64,
                                 i ? ", " : "", at->id, at->pid);
        if (at->rank != REPORT_ANY)
            used += (size_t)snprintf(list + used, sizeof list - used, ", rank %" PRId64, at->rank);
        used += (size_t)snprintf(list + used, sizeof list - used, ")");
    }
    if (used >= sizeof list - 64)
        snprintf(list + used, sizeof list - used, ", ...");
    if (options->process != REPORT_ANY)
        snprintf(what, sizeof what, "--process %" PRId64, options->process);
    if (options->rank != REPORT_ANY)
        snprintf(what + strlen(what), sizeof what - strlen(what), "%s--rank %" PRId64,
                 *what ? " " : "", options->rank);
    if (options->rank != REPORT_ANY && *list && !has_rank)
        return command_misused(report->command, "%s: no process of %.80s has a rank; it has %s",
                               what, called(report), list);
    return command_misused(report->command, "%s: there is no such process; %.80s has %s", what,
                           called(report), *list ? list : "none");
}

/* A process number wins over a pid: a pid that small belongs to the system. */
static int select_processes(struct report *report)
{
    for (int by_id = 1; by_id >= 0; by_id--) {
        size_t kept = 0, count = report->process_count;
        for (size_t i = 0; i < count; i++)
            kept += is_wanted(report->options, &report->processes[i], by_id);
        if (kept == 0)
            continue;
        kept = 0;
        for (size_t i = 0; i < count; i++)
            if (is_wanted(report->options, &report->processes[i], by_id))
                report->processes[kept++] = report->processes[i];
        report->process_count = kept;
        return 0;
    }
    bool asked = report->options->process != REPORT_ANY || report->options->rank != REPORT_ANY;
    return asked ? no_such_process(report) : 0;
}

/* ---- which devices ---- */

static int check_device(struct report *report, int *code)
{
    struct db_stmt *stmt = NULL;
    char list[256] = "";
    size_t used = 0;
    bool found = report->options->device == NULL;
    int err = db_prepare(report->db, &stmt, "SELECT device FROM device_text ORDER BY id");
    while (err >= 0 && (err = db_step(stmt)) == DB_ROW) {
        const char *text = db_column_text(stmt, 0);
        found = found || strcmp(text, report->options->device) == 0;
        int n = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", text);
        used += n > 0 && (size_t)n < sizeof list - used ? (size_t)n : 0;
    }
    db_finalize(stmt);
    if (err >= 0 && !found)
        *code = command_misused(report->command, "--device %.60s: %.80s has %s",
                                report->options->device, called(report), *list ? list : "none");
    return err < 0 ? err : 0;
}

/* They stand in the order of their numbers. */
static const struct report_process *find_process(const struct report *report, int64_t id)
{
    size_t low = 0, high = report->process_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (report->processes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < report->process_count && report->processes[low].id == id ? &report->processes[low]
                                                                          : NULL;
}

size_t report_scopes_from(const struct report *report, int64_t process)
{
    size_t low = 0, high = report->scope_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (report->scopes[middle].process.id < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct report_scope *report_scope_of(const struct report *report, int64_t process,
                                           int64_t device)
{
    for (size_t i = report_scopes_from(report, process);
         i < report->scope_count && report->scopes[i].process.id == process; i++)
        if (report->scopes[i].device == device)
            return &report->scopes[i];
    return NULL;
}

const struct report_scope *report_scope_called(const struct report *report, int64_t process,
                                               const char *device)
{
    for (size_t i = report_scopes_from(report, process);
         i < report->scope_count && report->scopes[i].process.id == process; i++)
        if (strcmp(report->scopes[i].device_text, device) == 0)
            return &report->scopes[i];
    return NULL;
}

static int read_scopes(struct report *report)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(report->db, &stmt,
                         "SELECT DISTINCT h.process, d.id, d.device FROM heap h"
                         " JOIN device_text d ON d.id = h.device ORDER BY h.process, d.id");
    while (err >= 0 && (err = db_step(stmt)) == DB_ROW) {
        const struct report_process *process = find_process(report, db_column_int(stmt, 0));
        const char *device = db_column_text(stmt, 2);
        if (!process || (report->options->device && strcmp(device, report->options->device) != 0))
            continue;
        if (!MEM_GROW(report->scopes, report->scope_cap, report->scope_count + 1)) {
            err = ERR_NOMEM;
            break;
        }
        struct report_scope *scope = &report->scopes[report->scope_count++];
        *scope = (struct report_scope){.process = *process, .device = db_column_int(stmt, 1)};
        snprintf(scope->device_text, sizeof scope->device_text, "%.31s", device);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* ---- the frame of a report ---- */

static void let_go(struct report *report)
{
    db_close(report->db);
    mem_free(report->path);
    mem_free(report->processes);
    mem_free(report->scopes);
    report->db = NULL;
}

static int begin_reading(struct report *report, const char *named)
{
    int code = report_open_database(&report->db, &report->path, named);
    if (code)
        return code;
    int err = db_exec(report->db, "BEGIN");
    if (err == 0)
        err = read_processes(report);
    if (err == 0)
        code = select_processes(report);
    if (err == 0 && !code)
        err = check_device(report, &code);
    if (err == 0 && !code)
        err = read_scopes(report);
    if (err < 0)
        code = report_failed(report->path, err, db_message(report->db));
    if (code)
        let_go(report);
    return code;
}

int report_begin(struct report *report, const struct command *command,
                 const struct report_options *options, const char *named)
{
    *report = (struct report){.command = command, .options = options};
    int code = begin_reading(report, named);
    if (code == 0)
        emit_begin(&report->emit, (enum emit_format)options->format, options->no_colour,
                   command->name, report->path);
    return code;
}

bool report_start(struct report *report, const struct command_call *call, void *options,
                  int *exit_code)
{
    char **arguments;
    int count;
    if (!command_parse(call, options, &arguments, &count, exit_code))
        return false;
    *exit_code = report_begin(report, call->command, options, count ? arguments[0] : NULL);
    mem_free(arguments);
    return *exit_code == 0;
}

int report_begin_beside(struct report *other, struct report *report, const char *named)
{
    *other =
        (struct report){.command = report->command, .options = report->options, .beside = report};
    int code = begin_reading(other, named);
    if (code) {
        emit_drop(&report->emit);
        let_go(report);
        return code;
    }
    report->beside = other;
    return 0;
}

/* What was lost inside of what the report is about. */
static int read_loss(struct report *report, struct loss *loss)
{
    const struct option_range *steps = &report->options->steps;
    struct loss_span *spans = mem_alloc(report->process_count, sizeof *spans);
    int err = spans ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < report->process_count && err >= 0; i++) {
        spans[i] = (struct loss_span){report->processes[i].id, INT64_MAX};
        if (report_has_steps(report->options))
            err = loss_end_of_steps(report->db, steps->first, steps->last, &spans[i]);
    }
    if (err >= 0)
        err = loss_read(report->db, spans, report->process_count, loss);
    mem_free(spans);
    return err;
}

static int warn_of_loss(struct report *report, struct emit *emit, const char *whose)
{
    struct loss loss;
    struct buf text = {0};
    char number[HUMAN_MAX], time[HUMAN_MAX];
    int err = read_loss(report, &loss);
    if (err < 0 || loss.events == 0)
        return err;
    buf_print(&text, "%sapproximate from seq %" PRId64 " (%s): %s event%s lost (", whose,
              loss.first_seq, human_ns(time, loss.first_ns), human_count(number, loss.events),
              loss.events == 1 ? "" : "s");
    for (size_t i = 0; i < loss.kind_count; i++)
        buf_print(&text, "%s%s %s", i ? ", " : "", loss.kinds[i].name,
                  human_count(number, loss.kinds[i].n));
    buf_text(&text, ")");
    emit_warning(emit, "%s", buf_string(&text));
    err = text.broken ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}

static int warn_of_end(struct report *report, struct emit *emit, const char *whose)
{
    bool finished;
    int64_t last_ns;
    char time[HUMAN_MAX];
    int err = loss_read_finished(report->db, &finished, &last_ns);
    if (err == 0 && !finished && !report->following)
        emit_warning(
            emit,
            "%snot finished: still being written, the recorder was killed, or it could not write; "
            "this reaches to %s",
            whose, human_ns(time, last_ns));
    return err;
}

int report_sees(struct report *report, int64_t process, int64_t seq)
{
    struct thinned thinned;
    int err = thinned_read(report->db, "blocks", process, seq, seq, &thinned);
    report->thinned |= err == 0 && thinned.count;
    return err < 0 ? err : report_hears(report, process, seq, seq);
}

/* Reports that look at a whole run, or at all of some steps. */
static int warn_of_thinning(struct report *report, struct emit *emit, const char *whose)
{
    const struct option_range *steps = &report->options->steps;
    const char *what = report->command->thinned;
    struct thinned all = {0}, one;
    char number[HUMAN_MAX];
    int err = 0;
    if (report->thinned)
        emit_warning(emit,
                     "%sthis moment was thinned out (record --keep, --max-size): blocks that "
                     "soon died are not in it",
                     whose);
    for (size_t i = 0; what && i < report->process_count && err >= 0; i++) {
        struct loss_span span = {report->processes[i].id, INT64_MAX};
        int64_t first = 0;
        if (report_has_steps(report->options))
            err = loss_end_of_steps(report->db, steps->first, steps->last, &span);
        if (err >= 0 && steps->first != INT64_MIN)
            err = loss_begin_of_step(report->db, span.process, steps->first, &first);
        if (err >= 0)
            err = thinned_read(report->db, what, span.process, first, span.last_seq, &one);
        all.count += err >= 0 ? one.count : 0;
    }
    if (err >= 0 && all.count)
        emit_warning(emit,
                     "%s%s %s were thinned out (record --keep, --max-size): only their sums "
                     "are there",
                     whose, human_count(number, all.count), what);
    return err;
}

static int end_reading(struct report *report, struct emit *emit)
{
    struct buf whose = {0};
    if (report->beside)
        buf_print(&whose, "%s: ", report->path);
    int err = whose.broken ? ERR_NOMEM : warn_of_end(report, emit, buf_string(&whose));
    if (err >= 0)
        err = warn_of_loss(report, emit, buf_string(&whose));
    if (err >= 0)
        err = warn_of_thinning(report, emit, buf_string(&whose));
    if (err >= 0)
        err = db_exec(report->db, "COMMIT");
    buf_clear(&whose);
    return err;
}

int report_pause(struct report *report)
{
    int err = db_exec(report->db, "COMMIT");
    if (err < 0) {
        int code = report_failed(report->path, err, db_message(report->db));
        emit_drop(&report->emit);
        let_go(report);
        return code;
    }
    db_close(report->db);
    report->db = NULL;
    mem_free(report->processes);
    mem_free(report->scopes);
    report->processes = NULL;
    report->scopes = NULL;
    report->process_count = report->process_cap = 0;
    report->scope_count = report->scope_cap = 0;
    emit_flush(&report->emit, stdout);
    return 0;
}

int report_resume(struct report *report)
{
    char *path = report->path;
    report->path = NULL;
    int code = begin_reading(report, path);
    if (code)
        emit_drop(&report->emit);
    else
        report->emit.database = report->path;
    mem_free(path);
    return code;
}

int report_end(struct report *report, int err)
{
    struct report *beside = report->beside, *at_fault = report->at_fault;
    int code = EXIT_FINE;
    if (err >= 0)
        err = end_reading(report, &report->emit);
    if (err >= 0 && beside && (err = end_reading(beside, &report->emit)) < 0)
        at_fault = beside;
    if (err < 0) {
        at_fault = at_fault ? at_fault : report;
        code = report_failed(at_fault->path, err, db_message(at_fault->db));
        emit_drop(&report->emit);
    } else {
        db_close(report->db);
        report->db = NULL;
        if (beside)
            let_go(beside);
        beside = NULL;
        if (report->absent) {
            emit_drop(&report->emit);
            code = EXIT_USAGE;
        } else if (emit_finish(&report->emit, stdout) < 0)
            code = report_failed(report->path, ERR_NOMEM, NULL);
    }
    if (beside)
        let_go(beside);
    let_go(report);
    return code;
}

/* ---- small things ---- */

void report_cells(struct emit *emit, struct db_stmt *row, int first, int count)
{
    for (int at = first; at < first + count; at++) {
        switch (db_column_type(row, at)) {
        case DB_NULL:
            emit_null(emit);
            break;
        case DB_INT:
            emit_int(emit, db_column_int(row, at));
            break;
        case DB_REAL:
            emit_real(emit, db_column_real(row, at));
            break;
        case DB_TEXT: {
            const char *text = db_column_text(row, at);
            emit_text_n(emit, text, (size_t)db_column_bytes(row, at));
            break;
        }
        case DB_BLOB: {
            const char *bytes = db_column_text(row, at);
            emit_blob(emit, bytes, (size_t)db_column_bytes(row, at));
            break;
        }
        }
    }
}

void report_heading(struct report *report, const char *what, const struct report_scope *scope)
{
    char rank[32] = "";
    if (scope->process.rank != REPORT_ANY)
        snprintf(rank, sizeof rank, ", rank %" PRId64, scope->process.rank);
    emit_heading(&report->emit, "%s of process %" PRId64 " (pid %" PRId64 "%s) on %s", what,
                 scope->process.id, scope->process.pid, rank, scope->device_text);
}

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

/* The nearest steps that are kept around one that was thinned out; false: it was not. */
static bool kept_around(const struct report *report, int64_t step, struct option_range *kept)
{
    static const char sql[] = "SELECT max(step) FILTER (WHERE step < ?2),"
                              " min(step) FILTER (WHERE step > ?2),"
                              " count(*) FILTER (WHERE step = ?2) FROM phase WHERE process = ?1";
    bool found = false;
    for (size_t i = 0; i < report->process_count && !found; i++) {
        struct db_stmt *stmt = NULL;
        struct thinned thinned;
        int64_t process = report->processes[i].id;
        if (thinned_read(report->db, "phases", process, 0, INT64_MAX, &thinned) < 0 ||
            !thinned.count || db_prepare(report->db, &stmt, sql) < 0)
            continue;
        db_bind_int(stmt, 0, process);
        db_bind_int(stmt, 1, step);
        found = db_step(stmt) == DB_ROW && db_column_type(stmt, 0) != DB_NULL &&
                db_column_type(stmt, 1) != DB_NULL && db_column_int(stmt, 2) == 0;
        if (found)
            *kept = (struct option_range){db_column_int(stmt, 0), db_column_int(stmt, 1)};
        db_finalize(stmt);
    }
    return found;
}

void report_no_moment(struct report *report, const struct instant *missing)
{
    struct option_range kept;
    if (missing->step == INSTANT_NONE || !kept_around(report, missing->step, &kept)) {
        report_absent(report, "there is no such moment: %s", missing->label);
        return;
    }
    emit_note(&report->emit,
              "step %" PRId64 " was thinned out (record --keep, --max-size): only its sums are "
              "there; the nearest steps that are kept are %" PRId64 " and %" PRId64,
              missing->step, kept.first, kept.last);
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
    if (kept_around(report, asked->first, &first) && kept_around(report, asked->last, &last) &&
        first.first == last.first && first.last == last.last) {
        emit_note(&report->emit,
                  "these steps were thinned out (record --keep, --max-size); the nearest that are "
                  "kept are %" PRId64 " and %" PRId64,
                  first.first, first.last);
        return;
    }
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

void report_nothing(struct report *report)
{
    struct db_stmt *stmt = NULL;
    int row = DB_DONE;
    emit_note(&report->emit, "no memory was reported%s",
              is_narrowed(report->options) ? " in what these options ask for" : "");
    if (report_has_steps(report->options)) {
        note_steps(report);
        note_thinned(report);
    }
    report_note_driven(report);
    if (report->scope_count > 0)
        return;
    if (db_prepare(report->db, &stmt, "SELECT id, why_not FROM process WHERE why_not <> ''") == 0)
        row = db_step(stmt);
    for (; row == DB_ROW; row = db_step(stmt))
        if (find_process(report, db_column_int(stmt, 0)))
            emit_note(&report->emit, "process %" PRId64 ": %s", db_column_int(stmt, 0),
                      db_column_text(stmt, 1));
    db_finalize(stmt);
}
