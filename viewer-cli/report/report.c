#include "report.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "follow.h"
#include "log.h"
#include "mem.h"
#include "newest.h"
#include "query.h"
#include "report_parts.h"

enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER }; /* as report_colours */
const char *const report_colours[] = {"auto", "always", "never", NULL};

enum emit_colour report_colour(const struct report_options *options)
{
    if (options->no_colour || options->colour == COLOUR_NEVER)
        return EMIT_COLOUR_NEVER;
    return options->colour == COLOUR_ALWAYS ? EMIT_COLOUR_ALWAYS : EMIT_COLOUR_AUTO;
}

const char *const report_formats[] = {"table", "csv", "json", NULL};
const char *const report_devices[] = {"cpu", "cuda:0", NULL};

static const struct option option_table[] = {
    REPORT_OPTION_PROCESS,
    REPORT_OPTION_RANK,
    REPORT_OPTION_DEVICE,
    {"steps", 's', OPT_RANGE, REPORT_AT(steps), "A..B", "only these steps; A.., ..B and A work too",
     NULL, 0},
    REPORT_OPTION_FORMAT,
    REPORT_OPTION_NO_COLOR,
    {0},
};
const struct command_shared report_shared = {"Options of every report", option_table};

static FILE *sink;

void report_send_to(FILE *file)
{
    sink = file;
}

static FILE *output(void)
{
    return sink ? sink : stdout;
}

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

void report_advise_repair(const char *path)
{
    log_say(LOG_NOTE, "next: tidemark repair %s saves what can be read", path);
}

static void say_repair(const char *path, int err)
{
    if (err == ERR_CORRUPT)
        report_advise_repair(path);
    else if (err == ERR_NOTOURS && db_open_lacks_header())
        log_say(LOG_NOTE, "if %s was a recording: tidemark repair %s saves what can be read", path,
                path);
}

int report_failed_alone(const char *path, int err, const char *message)
{
    if (err == ERR_NOMEM || !message || !*message)
        message = base_err_text(err); /* SQLite knows nothing of our own troubles */
    if (err == ERR_CORRUPT)
        log_say(LOG_ERROR, "%s is damaged: %s", path, message);
    else
        log_say(LOG_ERROR, "%s: %s", path, message);
    return exit_for(err);
}

int report_failed(const char *path, int err, const char *message)
{
    int code = report_failed_alone(path, err, message);
    if (err == ERR_CORRUPT)
        say_repair(path, err);
    return code;
}

/* Those of other names are not chosen from by themselves: they may be of any age and program. */
static void say_what_is_here(void)
{
    char *newest = NULL;
    size_t count;
    log_say(LOG_ERROR, "no tidemark.*.db in this folder");
    if (newest_of_any_name(".", &newest, &count) < 0) {
        log_say(LOG_NOTE, "name a database, or make one: tidemark record -- COMMAND");
        return;
    }
    if (count == 1)
        log_say(LOG_NOTE, "one recording has another name");
    else
        log_say(LOG_NOTE, "%zu recordings have other names: 'tidemark' alone lists them", count);
    log_say(LOG_NOTE, "next: tidemark peak %s", newest);
    mem_free(newest);
}

static int find_newest(char **path)
{
    int err = newest_recording(".", path);
    if (err == ERR_NOTFOUND) {
        say_what_is_here();
        return EXIT_INPUT;
    }
    if (err < 0)
        return report_failed("this folder", err, NULL);
    log_say(LOG_NOTE, "reading %s", *path);
    return 0;
}

int report_open_database(struct db **db, char **path, const char *named,
                         int (*open)(struct db **, const char *))
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
    int err = open(db, *path);
    if (err == 0)
        return 0;
    log_say(LOG_ERROR, "%s", db_open_message());
    say_repair(*path, err);
    mem_free(*path);
    *path = NULL;
    return exit_for(err);
}

/* ---- the frame of a report ---- */

static void let_go(struct report *report)
{
    db_close(report->db);
    mem_free(report->path);
    mem_free(report->processes);
    mem_free(report->scopes);
    mem_free(report->warnings.list);
    report->warnings = (struct report_warnings){0};
    report->db = NULL;
}

static int begin_reading(struct report *report, const char *named)
{
    int code = report_open_database(&report->db, &report->path, named, db_open);
    if (code)
        return code;
    int err = db_exec(report->db, "BEGIN");
    if (err == 0)
        err = report_find_scopes(report, &code);
    if (err < 0)
        code = report_failed(report->path, err, db_message(report->db));
    if (code)
        let_go(report);
    return code;
}

/* On failure nothing is left open. */
static int say_rehearsed(struct report *report, struct report *whose, const char *name)
{
    struct buf lead = {0};
    if (*name)
        buf_print(&lead, "%s: ", name);
    int err =
        lead.broken ? ERR_NOMEM : report_say_rehearsed(whose, &report->emit, buf_string(&lead));
    buf_clear(&lead);
    report->first_notes = report->emit.notes.count;
    if (err == 0)
        return 0;
    int code = report_failed(whose->path, err, db_message(whose->db));
    emit_drop(&report->emit);
    if (whose != report)
        let_go(whose);
    let_go(report);
    return code;
}

/* Arrays of some MB come and go: what the kernel gets back it clears before it gives it again. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

int report_begin(struct report *report, const struct command *command,
                 const struct report_options *options, const char *named)
{
    *report = (struct report){.command = command, .options = options, .named = named != NULL};
    keep_memory();
    int code = begin_reading(report, named);
    if (code)
        return code;
    emit_begin(&report->emit, (enum emit_format)options->format, report_colour(options),
               command->name, report->path);
    return say_rehearsed(report, report, "");
}

bool report_start(struct report *report, const struct command_call *call, void *options,
                  int *exit_code)
{
    char **arguments;
    int count;
    if (!command_parse(call, options, &arguments, &count, exit_code))
        return false;
    const struct report_options *common = options;
    const char *named = count ? arguments[0] : NULL;
    bool go_on = !common->follow || follow_await(named);
    *exit_code = go_on ? report_begin(report, call->command, common, named) : EXIT_FINE;
    mem_free(arguments);
    return go_on && *exit_code == 0;
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
    return say_rehearsed(report, other, other->path);
}

static int end_reading(struct report *report)
{
    int err = report_notice_all(report);
    return err < 0 ? err : db_exec(report->db, "COMMIT");
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
    emit_flush(&report->emit, output());
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
        err = end_reading(report);
    if (err >= 0 && beside && (err = end_reading(beside)) < 0)
        at_fault = beside;
    if (err >= 0)
        err = report_put_warnings(report);
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
        } else if (emit_finish(&report->emit, report->out ? report->out : output()) < 0)
            code = report_failed(report->path, ERR_NOMEM, NULL);
    }
    if (beside)
        let_go(beside);
    let_go(report);
    return code;
}

void report_abandon(struct report *report)
{
    emit_drop(&report->emit);
    if (report->beside)
        let_go(report->beside);
    let_go(report);
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
            emit_int(emit, db_column_any(row, at));
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

const char *report_host(const struct report *report, int64_t process, char text[REPORT_HOST])
{
    char host[REPORT_HOST] = "";
    int err = query_first(report->db,
                          "SELECT host FROM process_node WHERE process = ?1"
                          " AND (SELECT count(DISTINCT host) FROM process_node) > 1",
                          Q_IN(process), Q_OUT(Q_CHARS(host)));
    snprintf(text, REPORT_HOST, "%s", err == DB_ROW ? host : "");
    return text;
}

void report_heading(struct report *report, const char *what, const struct report_scope *scope)
{
    char rank[32] = "", host[REPORT_HOST] = "";
    if (report->emit.format == EMIT_TABLE)
        report_host(report, scope->process.id, host);
    if (scope->process.rank != REPORT_ANY)
        snprintf(rank, sizeof rank, ", rank %" PRId64, scope->process.rank);
    emit_heading(&report->emit, "%s of process %" PRId64 " (pid %" PRId64 "%s%s%s) on %s", what,
                 scope->process.id, scope->process.pid, rank, *host ? ", " : "", host,
                 scope->device_text);
}
