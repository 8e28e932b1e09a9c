/*
 * tidemark info: what a recording is, what is in it, and what is missing.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "loss.h"
#include "buf.h"
#include "device_order.h"
#include "error.h"
#include "human.h"
#include "info_processes.h"
#include "query.h"
#include "report.h"

static void emit_buf(struct emit *emit, struct buf *text)
{
    emit_text(emit, buf_string(text));
    emit->out.broken = emit->out.broken || text->broken;
    buf_clear(text);
}

/* ---- the recording as a whole ---- */

static const struct emit_column recording_columns[] = {
    {"file", NULL, EMIT_TEXT, 0},
    {"bytes", "size", EMIT_BYTES, 0},
    {"program", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
    {"host", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
    {"started", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "began", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {"duration_ns", "lasted", EMIT_NS, EMIT_IF_KNOWN},
    {"ended", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
    {"finished", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {NULL, "complete", EMIT_TEXT, EMIT_PEOPLE},
    {"not_loaded", "not loaded", EMIT_TEXT, EMIT_IF_KNOWN},
    {"private", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
    {"rehearsal", "rehearsed", EMIT_TEXT, EMIT_PROGRAMS},
    {"commit", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
};

static const char recording_sql[] =
    "SELECT coalesce(p.argv, (SELECT value FROM meta WHERE key = 'command')) AS program,"
    "  (SELECT CASE WHEN count(DISTINCT host) > 1 THEN count(DISTINCT host) || ' hosts'"
    "               ELSE coalesce(p.host, (SELECT value FROM meta WHERE key = 'host')) END"
    "     FROM process),"
    "  (SELECT real_ns - run_ns FROM clock ORDER BY run_ns LIMIT 1) AS real_ns,"
    "  coalesce((SELECT value FROM meta WHERE key = 'run_ns'), (SELECT max(end_ns) FROM process)),"
    "  p.ended, p.exit_code, p.signal, (SELECT coalesce(sum(n), 0) FROM lost"
    "    WHERE kind <> '" LOSS_DAMAGED "') AS lost,"
    "  (SELECT value FROM meta WHERE key = 'guest' AND value <> 'loaded'),"
    "  (SELECT value FROM meta WHERE key = 'stopped') AS stopped,"
    "  (SELECT 'yes' FROM meta WHERE key = 'private' AND value = 1),"
    "  EXISTS (SELECT 1 FROM lost WHERE kind = '" LOSS_DAMAGED "') AS damaged,"
    "  (SELECT value FROM meta WHERE key = 'rehearsal') AS rehearsal,"
    "  (SELECT value FROM meta WHERE key = 'repaired_missing') AS repaired,"
    "  coalesce((SELECT value FROM meta WHERE key = 'ended_steps'), 0) AS steps,"
    "  (SELECT value FROM meta WHERE key = 'commit') AS \"commit\""
    " FROM (SELECT 1) LEFT JOIN process p ON p.id = (SELECT min(id) FROM process)";

static int64_t file_bytes(const char *path)
{
    struct statx info;
    if (statx(AT_FDCWD, path, 0, STATX_SIZE, &info) < 0)
        return 0;
    return (int64_t)info.stx_size;
}

struct recording { /* of its columns what is not printed as it is */
    int64_t real_ns, lost, steps;
    const char *program, *stopped, *repaired;
    bool damaged;
    struct info_ending end;
};

static void put_complete(struct db *db, struct buf *out, bool finished, const struct recording *row)
{
    if (row->stopped)
        buf_print(out, "no: recording stopped before the end: %s", row->stopped);
    else if (!finished)
        loss_unfinished(db, out);
    else if (row->damaged)
        buf_print(out, "no: blocks are missing (damaged pages)%s",
                  row->lost > 0 ? ", and events were lost" : "");
    else if (row->repaired)
        buf_print(out, "no: rows are missing (repaired after damage) in %s", row->repaired);
    else
        buf_text(out, row->lost > 0 ? "no: events were lost" : "yes");
}

static void put_times(struct emit *emit, int64_t real_ns)
{
    char text[HUMAN_MAX];
    bool known = real_ns != QUERY_NONE;
    emit_text(emit, known ? human_calendar(text, real_ns, true) : NULL);
    emit_text(emit, known ? human_calendar(text, real_ns, false) : NULL);
}

/* People see the beginning of a very long command; csv and json have it whole. */
static void put_command(struct emit *emit, const char *program)
{
    enum { LINES = 3, LABEL = 12 };
    struct buf cut = {0};
    if (!program || emit->format != EMIT_TABLE || emit->width <= LABEL) {
        emit_text(emit, program);
        return;
    }
    emit_put_cut_lines(&cut, program, emit->width - LABEL, LINES);
    emit_buf(emit, &cut);
}

static int put_recording(struct report *report, bool finished, int64_t last_ns)
{
    struct emit *emit = &report->emit;
    struct recording row;
    struct buf ended = {0}, complete = {0};
    struct query query =
        query_ask(report->db, recording_sql, Q_NOTHING,
                  Q_OUT(Q_NTEXT(row.program), Q_OPT(row.real_ns), Q_NTEXT(row.end.ended),
                        Q_OPT(row.end.exit_code), Q_OPT(row.end.signal), Q_INT(row.lost),
                        Q_NTEXT(row.stopped), Q_INT(row.damaged), Q_NTEXT(row.repaired),
                        Q_INT(row.steps), Q_REST));
    if (query_next(&query)) {
        EMIT_SECTION(emit, "recording", NULL, EMIT_RECORD, recording_columns);
        emit_text(emit, report->path);
        emit_int(emit, file_bytes(report->path));
        put_command(emit, row.program);
        report_cells(emit, query.stmt, 1, 1);
        put_times(emit, row.real_ns);
        if (finished)
            report_cells(emit, query.stmt, 3, 1);
        else
            emit_int(emit, last_ns);
        info_put_ended(&ended, &row.end);
        if (row.steps > 0)
            buf_print(&ended, ", after %" PRId64 " step%s as --steps asked", row.steps,
                      row.steps == 1 ? "" : "s");
        emit_buf(emit, &ended);
        emit_int(emit, finished);
        put_complete(report->db, &complete, finished, &row);
        emit_buf(emit, &complete);
        report_cells(emit, query.stmt, 8, 1);
        report_cells(emit, query.stmt, 10, 1);
        report_cells(emit, query.stmt, 12, 1);
        report_cells(emit, query.stmt, 15, 1);
    }
    return query_end(&query);
}

/* ---- plain tables: a query, its columns, a section ---- */

struct plain {
    const char *key;
    const char *title;
    const char *empty;      /* what people read instead; NULL = the section is left out */
    const char *unfinished; /* instead of `empty`, of a recording that is not finished */
    const char *sql;
    const struct emit_column *columns;
    size_t count;
    bool process; /* a column of that name says which are selected */
    const char
        *folded; /* for people who ask for no process: rows that are alike once; NULL = sql */
};

static const struct emit_column source_columns[] = {
    {"process", "id", EMIT_PLAIN, 0},
    {"live", NULL, EMIT_TEXT, EMIT_NONE},
    {"why_not", "reason not live", EMIT_TEXT, EMIT_NONE | EMIT_WRAP},
};
static const struct emit_column node_columns[] = {
    {"node", NULL, EMIT_PLAIN, 0},
    {"host", NULL, EMIT_TEXT, EMIT_NONE | EMIT_IF_KNOWN},
    {"first_process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"last_process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"aligned_by", "aligned by", EMIT_TEXT, 0},
    {"error_ns", "error", EMIT_NS, 0},
    {"offset_ns", "begins at", EMIT_NS, 0},
    {"drift_ppb", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"meeting", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"meetings", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"finished", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"file", NULL, EMIT_TEXT, EMIT_NAME},
};
static const struct emit_column device_columns[] = {
    {"device", NULL, EMIT_TEXT, 0},
    {"name", NULL, EMIT_TEXT, EMIT_NONE | EMIT_IF_KNOWN},
    {"total_bytes", "memory", EMIT_BYTES, EMIT_IF_KNOWN},
    {"heaps", NULL, EMIT_COUNT, 0},
};
static const struct emit_column setting_columns[] = {
    {"process", "id", EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, EMIT_NONE | EMIT_IF_KNOWN},
    {"key", "setting", EMIT_TEXT, 0},
    {"value", NULL, EMIT_TEXT, EMIT_WRAP},
};
static const struct emit_column row_columns[] = {
    {"table", NULL, EMIT_TEXT, 0},
    {"rows", NULL, EMIT_COUNT, 0},
};
static const struct emit_column lost_columns[] = {
    {"process", "id", EMIT_PLAIN, EMIT_NONE},
    {"kind", NULL, EMIT_TEXT, 0},
    {"n", "events", EMIT_COUNT, 0},
    {"first_seq", "from seq", EMIT_PLAIN, 0},
    {"last_seq", "to seq", EMIT_PLAIN, EMIT_NONE},
    {"first_ns", "from", EMIT_NS, 0},
    {"last_ns", "to", EMIT_NS, 0},
};
static const struct emit_column gap_columns[] = {
    {"process", "id", EMIT_PLAIN, 0},
    {"source", NULL, EMIT_TEXT, 0},
    {"begin_ns", "from", EMIT_NS, 0},
    {"end_ns", "to", EMIT_NS, EMIT_NONE},
    {"why", "reason", EMIT_TEXT, EMIT_NONE | EMIT_WRAP},
};
static const struct emit_column sample_columns[] = {
    {"process", "id", EMIT_PLAIN, EMIT_NONE},
    {"device", NULL, EMIT_TEXT, EMIT_NONE},
    {"what", "quantity", EMIT_TEXT, 0},
    {"n", "times", EMIT_COUNT, 0},
    {"first", NULL, EMIT_BYTES, 0},
    {"highest", NULL, EMIT_BYTES, 0},
    {"last", NULL, EMIT_BYTES, 0},
};
static const struct emit_column count_columns[] = {
    {"process", "id", EMIT_PLAIN, EMIT_NONE},
    {"what", "quantity", EMIT_TEXT, 0},
    {"n", "times", EMIT_COUNT, 0},
    {"first", NULL, EMIT_COUNT, 0},
    {"highest", NULL, EMIT_COUNT, 0},
    {"last", NULL, EMIT_COUNT, 0},
};
static const struct emit_column trouble_columns[] = {
    {"process", "id", EMIT_PLAIN, EMIT_NONE},
    {"kind", NULL, EMIT_TEXT, 0},
    {"n", "times", EMIT_COUNT, 0},
    {"first_seq", "first seq", EMIT_PLAIN, 0},
    {"detail", "detail", EMIT_TEXT, EMIT_NONE | EMIT_WRAP | EMIT_IF_KNOWN},
};
static const struct emit_column thinned_columns[] = {
    {"process", "id", EMIT_PLAIN, EMIT_NONE},
    {"what", "kind of row", EMIT_TEXT, 0},
    {"n", "left out", EMIT_COUNT, 0},
    {"first_seq", "from seq", EMIT_PLAIN, 0},
    {"last_seq", "to seq", EMIT_PLAIN, 0},
    {"first_step", "from step", EMIT_PLAIN, EMIT_NONE | EMIT_IF_KNOWN},
    {"last_step", "to step", EMIT_PLAIN, EMIT_NONE | EMIT_IF_KNOWN},
};
static const struct emit_column overhead_columns[] = {
    {"process", "id", EMIT_PLAIN, EMIT_PROGRAMS},
    {NULL, "part", EMIT_TEXT, EMIT_PEOPLE},
    {"what", "measure", EMIT_TEXT, 0},
    {"value", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"unit", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "value", EMIT_TEXT, EMIT_PEOPLE},
};
static const struct emit_column meta_columns[] = {
    {"key", NULL, EMIT_TEXT, 0},
    {"value", NULL, EMIT_ANY, EMIT_WRAP},
};

static const char rows_sql[] = "SELECT 'allocation', count(*) AS n FROM allocation UNION ALL"
                               " SELECT 'segment', count(*) FROM segment UNION ALL"
                               " SELECT 'phase', count(*) FROM phase UNION ALL"
                               " SELECT 'site', count(DISTINCT site) FROM site UNION ALL"
                               " SELECT 'tag', count(*) FROM tag UNION ALL"
                               " SELECT 'mark', count(*) FROM mark UNION ALL"
                               " SELECT 'oom', count(*) FROM oom UNION ALL"
                               " SELECT 'sample', count(*) FROM sample UNION ALL"
                               " SELECT 'driver_memory', count(*) FROM driver_memory UNION ALL"
                               " SELECT 'activity', count(*) FROM activity";

/* Samples that are no numbers of bytes, by their names; of no device. */
#define IS_COUNT "(what = 'killed for memory' OR what LIKE 'number of %')"

/* Of many samples of one thing, where it began, how high it came, where it ended. */
#define ENDS_OF(which)                                                                             \
    " FROM (SELECT process, device, what, count(*) AS n, max(value) AS highest,"                   \
    "   min(rowid) AS first, max(rowid) AS last FROM sample WHERE " which IS_COUNT                 \
    "   GROUP BY process, device, what) s"                                                         \
    " JOIN sample first ON first.rowid = s.first JOIN sample last ON last.rowid = s.last"
#define ENDS_OF_BYTES ENDS_OF("NOT ")
#define ENDS_OF_COUNTS ENDS_OF("")

static const char sample_sql[] =
    "WITH " DEVICE_PLACES_OF_ALL
    " SELECT s.process, t.device, s.what, s.n, first.value, s.highest, last.value" ENDS_OF_BYTES
    " LEFT JOIN device_text t ON t.id = s.device LEFT JOIN device_places p ON p.device = s.device"
    " ORDER BY s.process, p.place, s.what";

static const char count_sql[] =
    "SELECT s.process, s.what, s.n, first.value, s.highest, last.value" ENDS_OF_COUNTS
    " ORDER BY s.process, s.what";

static const char trouble_sql[] =
    "SELECT process, kind, count(*), min(seq), CASE kind WHEN 'definitions full' THEN"
    "   (SELECT detail FROM anomaly l WHERE l.process = a.process AND l.kind = a.kind"
    "     ORDER BY rowid DESC LIMIT 1) ELSE detail END"
    " FROM anomaly a GROUP BY process, kind"
    " UNION ALL SELECT process, 'torn: thread ' ||"
    "   CASE why WHEN 'dead' THEN 'ended' ELSE 'stood still' END, count(*), min(seq), NULL"
    "   FROM torn GROUP BY process, why"
    " ORDER BY 1, 2";

/* The steps between the kept ones on both sides. */
static const char thinned_sql[] =
    "SELECT t.process, t.what, t.n, t.first_seq, t.last_seq,"
    "  (SELECT max(step) + 1 FROM phase p WHERE p.process = t.process"
    "    AND p.begin_seq < t.first_seq),"
    "  coalesce((SELECT min(step) - 1 FROM phase p WHERE p.process = t.process"
    "             AND p.begin_seq > t.last_seq),"
    "           (SELECT max(step) FROM phase p WHERE p.process = t.process))"
    " FROM (SELECT process, what, sum(n) AS n, min(first_seq) AS first_seq,"
    "         max(last_seq) AS last_seq FROM thinned GROUP BY process, what) t ORDER BY 1, 2";

#define COLUMNS(of) of, sizeof(of) / sizeof *(of)

static const struct plain plains[] = {
    {"nodes", "Nodes", NULL, NULL,
     "SELECT node, host, first_process, last_process,"
     "  CASE WHEN meeting IS NULL THEN aligned_by ELSE meetings || ' ' || meeting END, error_ns,"
     "  offset_ns, drift_ppb, meeting, meetings, finished, file FROM node ORDER BY node",
     COLUMNS(node_columns), false, NULL},
    {"sources", "Sources", NULL, NULL,
     "SELECT id AS process, live, why_not FROM process"
     " WHERE coalesce(live, '') <> '' OR coalesce(why_not, '') <> '' ORDER BY id",
     COLUMNS(source_columns), true,
     "SELECT CASE WHEN count(*) = 1 THEN id WHEN max(id) - min(id) + 1 = count(*)"
     " THEN min(id) || ' to ' || max(id) ELSE group_concat(id, ', ') END, live, why_not"
     " FROM (SELECT * FROM process ORDER BY id)"
     " WHERE coalesce(live, '') <> '' OR coalesce(why_not, '') <> ''"
     " GROUP BY live, why_not ORDER BY min(id)"},
    {"devices", "Devices", NULL, NULL,
     "WITH " DEVICE_PLACES_OF_ALL " SELECT t.device, d.name, d.total_bytes,"
     " (SELECT count(*) FROM heap h WHERE h.device = d.id)"
     " FROM device d JOIN device_text t ON t.id = d.id JOIN device_places p ON p.device = d.id"
     " ORDER BY p.place",
     COLUMNS(device_columns), false, NULL},
    {"settings", "Settings", NULL, NULL,
     "WITH " DEVICE_PLACES_OF_ALL " SELECT s.process, t.device, s.key, s.value"
     " FROM setting s LEFT JOIN device_text t ON t.id = s.device"
     " LEFT JOIN device_places p ON p.device = s.device"
     " WHERE s.key <> 'autocast'" /* letters of operations, for the levers alone */
     " ORDER BY s.process, p.place, s.key, s.rowid",
     COLUMNS(setting_columns), true, NULL},
    {"rows", "Rows", NULL, NULL, rows_sql, COLUMNS(row_columns), false, NULL},
    {"samples", "Samples", NULL, NULL, sample_sql, COLUMNS(sample_columns), true, NULL},
    {"counts", "Counts", NULL, NULL, count_sql, COLUMNS(count_columns), true, NULL},
    {"gaps", "Gaps", NULL, NULL,
     "SELECT process, source, begin_ns, end_ns, why FROM gap ORDER BY process, begin_ns",
     COLUMNS(gap_columns), true, NULL},
    {"lost", "Lost", "Nothing was lost.", "Losses are not known: the recording is not finished.",
     "SELECT nullif(process, 0) AS process, kind, CASE WHEN kind <> '" LOSS_DAMAGED
     "' THEN sum(n) END, min(first_seq),"
     " nullif(max(last_seq), 9223372036854775807), min(first_ns), max(last_ns)"
     " FROM lost GROUP BY process, kind ORDER BY process, sum(n) DESC",
     COLUMNS(lost_columns), true, NULL},
    {"thinned", "Thinned", NULL, NULL, thinned_sql, COLUMNS(thinned_columns), true, NULL},
    {"trouble", "Trouble", NULL, NULL, trouble_sql, COLUMNS(trouble_columns), true, NULL},
};

static const struct plain meta_plain = {
    "meta", NULL, NULL, NULL, "SELECT key, value FROM meta ORDER BY key", COLUMNS(meta_columns),
    false,  NULL};

/* Processes that could not be recorded, as the recorder counted them. */
static int read_missing(struct db *db, int64_t *missing)
{
    *missing = 0;
    return query_read(db,
                      "SELECT coalesce(max(value), 0) AS missing FROM overhead"
                      " WHERE what = 'processes not recorded'",
                      Q_NOTHING, Q_OUT(Q_INT(*missing)));
}

/* What stands in the place of a section without rows. */
static int put_empty(struct report *report, const struct plain *plain, bool finished)
{
    int64_t missing;
    struct buf why = {0};
    bool unrecorded = false;
    int err = read_missing(report->db, &missing);
    if (err >= 0)
        err = report_is_unrecorded(report, &unrecorded, &why);
    buf_clear(&why);
    if (err < 0)
        return err;
    if (unrecorded && plain->columns == lost_columns)
        emit_heading(&report->emit, "Nothing was recorded.");
    else if (missing > 0 && plain->columns == lost_columns)
        emit_heading(&report->emit, "%" PRId64 " process%s could not be recorded.", missing,
                     missing == 1 ? "" : "es");
    else
        emit_heading(&report->emit, "%s", finished ? plain->empty : plain->unfinished);
    return 0;
}

/* People do not get a section without rows, nor rows of zeros. */
static int put_plain(struct report *report, const struct plain *plain, bool finished)
{
    struct emit *emit = &report->emit;
    int64_t process = QUERY_NONE, n = 1;
    bool people = emit->format == EMIT_TABLE, open = !people;
    if (open)
        emit_section(emit, plain->key, plain->title, EMIT_ROWS, plain->columns, plain->count);
    bool folded = plain->folded && info_is_folded(report);
    const struct query_place *out = !folded && plain->process       ? Q_OUT(Q_OPT(process), Q_REST)
                                    : plain->columns == row_columns ? Q_OUT(Q_INT(n), Q_REST)
                                                                    : Q_OUT(Q_REST);
    struct query query = query_ask(report->db, folded ? plain->folded : plain->sql, Q_NOTHING, out);
    while (query_next(&query)) {
        bool known = process == QUERY_NONE || info_is_selected(report, process);
        if (!known || (people && n == 0))
            continue;
        if (!open)
            emit_section(emit, plain->key, plain->title, EMIT_ROWS, plain->columns, plain->count);
        open = true;
        report_cells(emit, query.stmt, 0, (int)plain->count);
    }
    int err = query_end(&query);
    return err < 0 || open || !plain->empty ? err : put_empty(report, plain, finished);
}

/* ---- our own cost ---- */

static void put_value(struct emit *emit, int64_t value, const char *unit)
{
    char text[HUMAN_MAX];
    if (strcmp(unit, "ns") == 0)
        emit_text(emit, human_ns(text, value));
    else if (strcmp(unit, "bytes") == 0)
        emit_text(emit, human_bytes(text, value));
    else
        emit_text(emit, human_count(text, value));
}

static int put_overhead(struct report *report)
{
    struct emit *emit = &report->emit;
    int64_t process, value, n;
    const char *unit;
    bool open = false;
    static const char each[] = "SELECT process, what, value, unit, 1 AS n FROM overhead"
                               " ORDER BY process IS NOT NULL, process, rowid";
    static const char folded[] =
        "SELECT process, what, max(value) AS value, unit, count(*) AS n FROM overhead"
        " GROUP BY process IS NULL, what, unit ORDER BY process IS NOT NULL, min(rowid)";
    struct query query =
        query_ask(report->db, info_is_folded(report) ? folded : each, Q_NOTHING,
                  Q_OUT(Q_OPT(process), Q_ANY(value), Q_TEXT(unit), Q_INT(n), Q_REST));
    while (query_next(&query)) {
        bool recorder = process == QUERY_NONE;
        char of[32] = "the recorder";
        if (!recorder && !info_is_selected(report, process))
            continue;
        if (!recorder && n > 1)
            snprintf(of, sizeof of, "the largest process");
        else if (!recorder)
            snprintf(of, sizeof of, "process %" PRId64, process);
        if (!open)
            EMIT_SECTION(emit, "overhead", "Cost of recording", EMIT_ROWS, overhead_columns);
        open = true;
        report_cells(emit, query.stmt, 0, 1);
        emit_text(emit, of);
        report_cells(emit, query.stmt, 1, 3);
        put_value(emit, value, unit);
    }
    int err = query_end(&query);
    if (err >= 0 && !open && emit->format != EMIT_TABLE)
        EMIT_SECTION(emit, "overhead", NULL, EMIT_ROWS, overhead_columns);
    return err;
}

/* ---- the command ---- */

static int put_all(struct report *report)
{
    bool finished;
    int64_t last_ns;
    int err = loss_read_finished(report->db, &finished, &last_ns);
    if (err >= 0)
        err = put_recording(report, finished, last_ns);
    if (err >= 0)
        err = info_put_processes(report);
    for (size_t i = 0; i < sizeof plains / sizeof *plains && err >= 0; i++)
        err = put_plain(report, &plains[i], finished);
    if (err >= 0)
        err = put_overhead(report);
    if (err >= 0 && report->emit.format != EMIT_TABLE)
        err = put_plain(report, &meta_plain, finished);
    return err;
}

static int cmd_info(const struct command_call *call)
{
    struct report_options options = REPORT_OPTIONS;
    struct report report;
    int code;

    if (!report_start(&report, call, &options, &code))
        return code;
    return report_end(&report, put_all(&report));
}

static const struct option option_table[] = {
    REPORT_OPTION_PROCESS, REPORT_OPTION_RANK, REPORT_OPTION_FORMAT, REPORT_OPTION_NO_COLOR, {0},
};

const struct command command_info = {
    .name = "info",
    .group = COMMAND_LOOK,
    .run = cmd_info,
    .summary = "what a recording is, what is in it, and what is missing",
    .arguments = "[DATABASE]",
    .options = option_table,
    .most = 1,
    .description =
        "Prints the file, the program, when it ran and how it ended; its processes and which "
        "sources were live in them; devices; settings of its allocators; how many rows there are; "
        "values that were sampled; when a source saw nothing; what was lost, thinned out, torn or "
        "cannot be right; and what the recording itself cost. It is about the whole file, so there "
        "is no --device and no --steps.\n"
        "\n"
        "In csv and json these are the sections recording, processes, sources, devices, "
        "settings, rows, samples, counts, gaps, lost, thinned, trouble, overhead and meta.",
    .examples =
        {
            {"tidemark info", "the newest recording in this folder"},
            {"tidemark info run.db --format json", "for a program"},
        },
};
