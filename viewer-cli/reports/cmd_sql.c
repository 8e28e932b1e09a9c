/*
 * tidemark sql: any question. Results leave as they come, so they may be of any length; each
 * statement is its own read transaction.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "emit_text.h"
#include "error.h"
#include "log.h"
#include "mem.h"
#include "report.h"

struct sql_options {
    struct report_options common;
    bool schema;
};

/* ---- the text ---- */

static int read_stdin(struct buf *text)
{
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof part, stdin)) > 0)
        buf_add(text, part, n);
    if (ferror(stdin)) {
        log_say(LOG_ERROR, "sql: cannot read stdin: %s", strerror(errno));
        return EXIT_INPUT;
    }
    return text->broken ? report_failed("stdin", ERR_NOMEM, NULL) : 0;
}

/* Is the first of the arguments a file? */
static bool names_database(const char *word)
{
    size_t n = strlen(word);
    FILE *file;
    if (n > 3 && strcmp(word + n - 3, ".db") == 0)
        return true;
    if (strcmp(word, "-") == 0 || !(file = fopen(word, "r")))
        return false;
    fclose(file);
    return true;
}

/* ---- one statement ---- */

struct sql_columns {
    struct emit_column *columns;
    struct buf names;    /* NUL behind each */
    struct buf headings; /* the same for a screen, which a name must not steer */
    char key[32];        /* of the section */
    int count;
};

static void clear_columns(struct sql_columns *columns)
{
    mem_free(columns->columns);
    buf_clear(&columns->names);
    buf_clear(&columns->headings);
}

static bool is_taken(const struct sql_columns *columns, int before, const char *name)
{
    const char *at = buf_string(&columns->names);
    for (int i = 0; i < before; i++, at += strlen(at) + 1)
        if (strcmp(at, name) == 0)
            return true;
    return false;
}

/* Two columns of one name would be one key twice in json: the later ones get a number. */
static int name_columns(struct sql_columns *columns, struct db_stmt *stmt)
{
    columns->count = db_columns(stmt);
    columns->columns = mem_alloc((size_t)columns->count, sizeof *columns->columns);
    if (!columns->columns)
        return ERR_NOMEM;
    for (int i = 0; i < columns->count; i++) {
        struct buf name = {0};
        buf_text(&name, db_column_name(stmt, i));
        for (int n = 2; !name.broken && is_taken(columns, i, buf_string(&name)); n++) {
            name.count = 0;
            buf_print(&name, "%s_%d", db_column_name(stmt, i), n);
        }
        buf_add(&columns->names, buf_string(&name), strlen(buf_string(&name)) + 1);
        emit_put_safe(&columns->headings, buf_string(&name), strlen(buf_string(&name)));
        buf_add(&columns->headings, "", 1);
        bool broken = name.broken || columns->names.broken || columns->headings.broken;
        buf_clear(&name);
        if (broken)
            return ERR_NOMEM;
    }
    const char *at = buf_string(&columns->names), *heading = buf_string(&columns->headings);
    for (int i = 0; i < columns->count; i++, at += strlen(at) + 1, heading += strlen(heading) + 1)
        columns->columns[i] = (struct emit_column){.key = at, .header = heading, .kind = EMIT_ANY};
    return 0;
}

static int run_statement(struct emit *emit, struct db_stmt *stmt, struct sql_columns *columns,
                         int number)
{
    int row = db_step(stmt); /* first: what cannot run has no section */
    if (row < 0 || db_columns(stmt) == 0)
        return row < 0 ? row : 0;
    int err = name_columns(columns, stmt);
    if (err < 0)
        return err;
    snprintf(columns->key, sizeof columns->key, number > 1 ? "result_%d" : "result", number);
    emit_section(emit, columns->key, NULL, EMIT_ROWS, columns->columns, (size_t)columns->count);
    for (; row == DB_ROW; row = db_step(stmt)) {
        report_cells(emit, stmt, 0, columns->count);
        if (ferror(stdout) || emit->out.broken)
            return emit->out.broken ? ERR_NOMEM : 0; /* main sees what stdout has */
    }
    return row;
}

static int run_all(struct emit *emit, struct db *db, const char *text)
{
    int err = 0, number = 0;
    while (err >= 0 && *text && !ferror(stdout)) {
        struct sql_columns columns = {0};
        struct db_stmt *stmt = NULL;
        err = db_prepare_next(db, &stmt, text, &text);
        if (err < 0 || !stmt)
            break;
        err = run_statement(emit, stmt, &columns, number + 1);
        db_finalize(stmt);
        emit_close(emit); /* it looks at the columns for the last time */
        number += columns.count > 0;
        clear_columns(&columns);
    }
    return err;
}

/* ---- the command ---- */

static int failed(const char *path, int err, const char *message)
{
    if (err != ERR_ARG && err != ERR_DENIED && err != ERR_LIMIT)
        return report_failed(path, err, message);
    log_say(LOG_ERROR, "sql: %s", message);
    if (err == ERR_DENIED)
        log_say(LOG_NOTE, "a recording is opened for reading only");
    else
        log_say(LOG_NOTE, "'tidemark sql --schema' shows tables, views and what they mean");
    return EXIT_USAGE;
}

static int ask(const struct command_call *call, const struct sql_options *options,
               const char *named, const char *text)
{
    struct db *db;
    char *path;
    struct emit emit;
    int code = report_open_database(&db, &path, named, db_open_as_it_is);
    if (code)
        return code;
    emit_begin(&emit, (enum emit_format)options->common.format, report_colour(&options->common),
               call->command->name, path);
    emit_stream(&emit, stdout);
    int err = run_all(&emit, db, text);
    if (err < 0 && emit.sections > 0)
        emit_warning(&emit, "not complete: %s",
                     err == ERR_NOMEM ? base_err_text(err) : db_message(db));
    int end = err < 0 && emit.sections == 0 ? (emit_drop(&emit), 0) : emit_finish(&emit, stdout);
    if (err < 0)
        code = failed(path, err, db_message(db));
    else if (end < 0)
        code = report_failed(path, end, NULL);
    db_close(db);
    mem_free(path);
    return code;
}

static int run(const struct command_call *call, const struct sql_options *options, int count,
               char **arguments)
{
    struct buf text = {0};
    const char *named = NULL, *sql;
    if (options->schema) {
        fputs(sch_text(), stdout);
        return EXIT_FINE;
    }
    if (count > 0 && (count == 2 || names_database(arguments[0])))
        named = *arguments++, count--;
    if (count == 0 || !*arguments[0])
        return command_misused(call->command, "needs a question, such as \"SELECT * FROM peak\"");
    sql = arguments[0];
    int code = 0;
    if (strcmp(sql, "-") == 0) {
        code = read_stdin(&text);
        sql = buf_string(&text);
    }
    if (!code)
        code = ask(call, options, named, sql);
    buf_clear(&text);
    return code;
}

static int cmd_sql(const struct command_call *call)
{
    struct sql_options options = {.common = REPORT_OPTIONS};
    char **arguments;
    int count, code;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = run(call, &options, count, arguments);
    mem_free(arguments);
    return code;
}

static const struct option option_table[] = {
    {"schema", 0, OPT_FLAG, offsetof(struct sql_options, schema), NULL,
     "print the schema: what tables, columns and views mean", NULL, 0},
    REPORT_OPTION_FORMAT,
    REPORT_OPTION_NO_COLOR,
    {0},
};

const struct command command_sql = {
    .name = "sql",
    .group = COMMAND_ASK,
    .run = cmd_sql,
    .summary = "ask the database anything",
    .arguments = "[DATABASE] SQL",
    .options = option_table,
    .most = 2,
    .description =
        "Runs one or more SQL statements and prints what they return; SQL may be '-' for what "
        "stdin says. The first argument is the database if it ends in .db or is a file; else the "
        "newest tidemark.*.db in this folder is read. It is opened for reading only.\n"
        "\n"
        "Bytes and nanoseconds come as the integers that they are. The views phase_table, peak, "
        "live_at_peak, allocations, timeline, peak_by_category, peak_by_site, fragmentation and "
        "leak are promises: their columns keep their names.\n"
        "\n"
        "The views are those in the file. Every other report uses its own, whatever "
        "the file has under those names: do not trust the views of a file from "
        "elsewhere.\n"
        "\n"
        "It exits with 2 if the question cannot be answered, such as for a sum that exceeds 64 "
        "bits or a text that is too long, and with 3 if the database cannot be read.",
    .examples =
        {
            {"tidemark sql --schema | less", "what is there"},
            {"tidemark sql \"SELECT * FROM phase_table WHERE step = 1\"", "one step"},
            {"tidemark sql run.db -f csv - < question.sql", "a question from a file"},
        },
};
