/*
 * The processes of a recording, and how each ended.
 */
#include "info_processes.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "human.h"
#include "query.h"

static const char *signal_name(int64_t number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
        {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
        {SIGKILL, "KILL"}, {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
        {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

enum info_end info_end_of(const char *ended)
{
    if (!ended || !*ended)
        return INFO_END_NONE;
    return strcmp(ended, "exit") == 0     ? INFO_END_EXIT
           : strcmp(ended, "signal") == 0 ? INFO_END_SIGNAL
                                          : INFO_END_OTHER;
}

void info_put_ended(struct buf *out, const struct info_ending *ending)
{
    int64_t number = ending->signal == QUERY_NONE ? 0 : ending->signal;
    enum info_end end = info_end_of(ending->ended);
    if (end == INFO_END_NONE)
        buf_text(out, "not seen");
    else if (end == INFO_END_EXIT && ending->exit_code != QUERY_NONE)
        buf_print(out, "exit %" PRId64, ending->exit_code);
    else if (end == INFO_END_SIGNAL && signal_name(number))
        buf_print(out, "SIG%s", signal_name(number));
    else if (end == INFO_END_SIGNAL)
        buf_print(out, "signal %" PRId64, number);
    else
        buf_text(out, ending->ended);
}

static void emit_buf(struct emit *emit, struct buf *text)
{
    emit_text(emit, buf_string(text));
    emit->out.broken = emit->out.broken || text->broken;
    buf_clear(text);
}

static const struct emit_column process_columns[] = {
    {"process", "id", EMIT_PLAIN, EMIT_NONE},
    {"pid", NULL, EMIT_PLAIN, EMIT_NONE},
    {"parent", NULL, EMIT_PLAIN, EMIT_NONE | EMIT_IF_KNOWN},
    {"rank", NULL, EMIT_PLAIN, EMIT_NONE | EMIT_IF_KNOWN},
    {"events", NULL, EMIT_COUNT, 0},
    {NULL, "ended", EMIT_TEXT, EMIT_PEOPLE},
    {"argv", "program", EMIT_TEXT, EMIT_COMMAND},
    {"origin", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"local_rank", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"world_size", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"host", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"start_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"end_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"live", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"why_not", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"ended", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"exit_code", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"signal", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

enum { QUIET_SHOWN = 2, NAMES_SHOWN = 8 };

/* A process is quiet if it reported nothing, had no part in the training and ended by itself, as
 * the shells and small programs that find an interpreter do. What the first process became is not.
 */
static const char process_sql[] =
    "WITH quiet_ones(id) AS (SELECT id FROM process"
    "   WHERE events = 0 AND rank IS NULL AND coalesce(live, '') = '' AND ended IN ('exit', 'exec')"
    "     AND id <> (SELECT max(id) FROM process"
    "                 WHERE pid = (SELECT pid FROM process ORDER BY id LIMIT 1)))"
    " SELECT id, pid, parent, rank, events, argv, origin, local_rank, world_size, host, start_ns,"
    "  end_ns, live, why_not, ended, exit_code, signal, id IN (SELECT id FROM quiet_ones)"
    "    AND (SELECT count(*) FROM quiet_ones) > ?1 AS quiet FROM process ORDER BY id";

bool info_is_selected(const struct report *report, int64_t id)
{
    for (size_t i = 0; i < report->process_count; i++)
        if (report->processes[i].id == id)
            return true;
    return false;
}

/* Workers of a DataLoader are many, and differ in nothing but their pid: people see the first. */
bool info_is_folded(const struct report *report)
{
    return report->emit.format == EMIT_TABLE && report->options->process == REPORT_ANY &&
           report->options->rank == REPORT_ANY;
}

struct fold {
    struct buf like; /* what those that are alike have in common, of the last one shown */
    int64_t more, events;
};

struct process_row {
    int64_t id, parent, rank, events;
    const char *argv;
    bool quiet; /* and there are too many of them for a row each */
    struct info_ending end;
};

struct quiet {
    int64_t count;
    struct buf names; /* of the programs, each once, as "bash, env"; with ", ..." at the end */
    int named;
};

/* "env" of "/usr/bin/env bash shims". */
static void put_program(struct buf *out, const char *argv)
{
    size_t n = strcspn(argv, " "), at = n;
    while (at > 0 && argv[at - 1] != '/')
        at--;
    buf_add(out, argv + at, n - at);
}

static bool is_named(const struct quiet *quiet, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = buf_string(&quiet->names); *at; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ",");
        if (length == n && memcmp(at, name, n) == 0)
            return true;
        at += length;
    }
    return false;
}

static void add_quiet(struct quiet *quiet, const char *argv)
{
    struct buf name = {0};
    put_program(&name, argv);
    quiet->count++;
    if (quiet->named <= NAMES_SHOWN && !is_named(quiet, buf_string(&name))) {
        bool last = quiet->named == NAMES_SHOWN;
        buf_print(&quiet->names, "%s%s", quiet->named++ ? ", " : "",
                  last ? "..." : buf_string(&name));
    }
    quiet->names.broken = quiet->names.broken || name.broken;
    buf_clear(&name);
}

static void put_quiet(struct emit *emit, struct quiet *quiet)
{
    if (quiet->count)
        emit_line(emit, "%" PRId64 " processes without events: %s", quiet->count,
                  buf_string(&quiet->names));
    emit->out.broken = emit->out.broken || quiet->names.broken;
    buf_clear(&quiet->names);
}

/* True if this row is like the one before it, and was counted instead. */

static bool fold_row(struct fold *fold, const struct process_row *row)
{
    struct buf like = {0};
    bool same = false;
    if (row->parent != QUERY_NONE && row->rank == QUERY_NONE) {
        buf_print(&like, "%" PRId64 " %s ", row->parent, row->argv);
        info_put_ended(&like, &row->end);
        same = strcmp(buf_string(&like), buf_string(&fold->like)) == 0;
    }
    buf_clear(&fold->like);
    fold->like = like;
    fold->more += same;
    fold->events += same ? row->events : 0;
    return same;
}

static void put_folded(struct emit *emit, struct fold *fold)
{
    struct buf text = {0};
    if (!fold->more)
        return;
    for (int i = 0; i < 4; i++)
        emit_null(emit);
    emit_int(emit, fold->events);
    emit_text(emit, "");
    buf_print(&text, "%" PRId64 " more like it", fold->more);
    emit_buf(emit, &text);
    for (int i = 6; i < 17; i++)
        emit_null(emit);
    fold->more = fold->events = 0;
}

int info_put_processes(struct report *report)
{
    struct emit *emit = &report->emit;
    struct process_row row;
    struct fold fold = {0};
    struct quiet quiet = {0};
    EMIT_SECTION(emit, "processes", "Processes", EMIT_ROWS, process_columns);
    struct query query =
        query_ask(report->db, process_sql, Q_IN(QUIET_SHOWN),
                  Q_OUT(Q_INT(row.id), Q_OPT(row.parent), Q_OPT(row.rank), Q_INT(row.events),
                        Q_TEXT(row.argv), Q_NTEXT(row.end.ended), Q_OPT(row.end.exit_code),
                        Q_OPT(row.end.signal), Q_INT(row.quiet), Q_REST));
    while (query_next(&query)) {
        struct buf ended = {0};
        if (!info_is_selected(report, row.id))
            continue;
        if (info_is_folded(report) && row.quiet) {
            add_quiet(&quiet, row.argv);
            continue;
        }
        if (info_is_folded(report) && fold_row(&fold, &row))
            continue;
        put_folded(emit, &fold);
        report_cells(emit, query.stmt, 0, 5);
        info_put_ended(&ended, &row.end);
        emit_buf(emit, &ended);
        report_cells(emit, query.stmt, 5, 12);
    }
    put_folded(emit, &fold);
    buf_clear(&fold.like);
    put_quiet(emit, &quiet);
    return query_end(&query);
}
