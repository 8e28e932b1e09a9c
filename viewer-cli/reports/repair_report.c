#include "repair_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "loss.h"
#include "error.h"
#include "human.h"
#include "log.h"
#include "pages.h"
#include "query.h"

/* ---- what is missing ---- */

static bool lacks_rows(const struct salvage_table *table)
{
    return !table->derived && (table->damaged || table->refused);
}

void repair_look(struct repair_findings *findings)
{
    const struct salvage *salvage = findings->salvage;
    const struct derive_result *derived = &findings->derived;
    findings->missing = salvage_file(salvage)->log_damaged || derived->reserved[DERIVE_MENDED] ||
                        derived->reserved[DERIVE_LOST] || derived->reserved[DERIVE_PART] ||
                        derived->allocated[DERIVE_MENDED] || derived->allocated[DERIVE_PART];
    for (size_t i = 0; i < salvage_table_count(salvage); i++)
        findings->missing |= lacks_rows(salvage_table(salvage, i));
}

/* The time of the last block that is there before the gap; of the first one behind it, or of the
 * last one of all. */
static const char time_before[] =
    "SELECT alloc_ns AS ns FROM allocation WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1";
static const char time_behind[] =
    "SELECT coalesce((SELECT alloc_ns FROM allocation WHERE seq > ?1 ORDER BY seq LIMIT 1),"
    " (SELECT alloc_ns FROM allocation ORDER BY seq DESC LIMIT 1)) AS ns";

static int time_of(struct db *db, const char *sql, int64_t seq, int64_t *ns)
{
    *ns = 0;
    return query_read(db, sql, Q_IN(seq), Q_OUT(Q_INT(*ns)));
}

static int note_gap(struct db *db, struct db_stmt *lost, int64_t after, int64_t last)
{
    int64_t first_ns, last_ns;
    int err = time_of(db, time_before, after, &first_ns);
    if (err == 0)
        err = time_of(db, time_behind, last, &last_ns);
    if (err < 0)
        return err;
    db_bind_int(lost, SCH_AT(lost, process),
                0); /* of no process: it is not known whose they were */
    db_bind_int(lost, SCH_AT(lost, first_seq), after);
    db_bind_int(lost, SCH_AT(lost, last_seq), last);
    db_bind_int(lost, SCH_AT(lost, first_ns), first_ns);
    db_bind_int(lost, SCH_AT(lost, last_ns), last_ns);
    db_bind_text(lost, SCH_AT(lost, kind), LOSS_DAMAGED, -1);
    db_bind_int(lost, SCH_AT(lost, n), 0); /* how many is not known */
    return db_run(lost);
}

/* The tables of facts with rows missing, but that of blocks, whose gaps are rows of `lost`. */
static int note_tables(struct db *db, const struct salvage *salvage)
{
    struct db_stmt *meta = NULL;
    struct buf names = {0};
    for (size_t i = 0; i < salvage_table_count(salvage); i++) {
        const struct salvage_table *table = salvage_table(salvage, i);
        if (lacks_rows(table) && strcmp(table->name, "allocation") != 0)
            buf_print(&names, "%s%s", names.count ? ", " : "", table->name);
    }
    int err = names.broken ? ERR_NOMEM : 0;
    if (err == 0 && names.count)
        err = db_prepare_known(db, &meta, SCH_META);
    if (meta) {
        db_bind_text(meta, SCH_AT(meta, key), "repaired_missing", -1);
        db_bind_text(meta, SCH_AT(meta, value), buf_string(&names), -1);
        err = db_run(meta);
    }
    db_finalize(meta);
    buf_clear(&names);
    return err;
}

int repair_note_lost(struct db *db, const struct repair_findings *findings)
{
    const struct salvage *salvage = findings->salvage;
    struct db_stmt *lost = NULL;
    bool gaps = false, refused = false;
    int err = db_prepare_known(db, &lost, SCH_LOST);
    for (size_t i = 0; i < salvage_hole_count(salvage) && err == 0; i++) {
        const struct salvage_hole *hole = salvage_hole(salvage, i);
        const struct salvage_table *table = salvage_table(salvage, hole->table);
        if (strcmp(table->name, "allocation") != 0)
            continue;
        gaps = true;
        err = note_gap(db, lost, hole->after < 0 ? 0 : hole->after, hole->last);
    }
    for (size_t i = 0; i < salvage_table_count(salvage); i++) {
        const struct salvage_table *table = salvage_table(salvage, i);
        refused |= table->refused > 0 && strcmp(table->name, "allocation") == 0;
    }
    if (err == 0 && refused && !gaps) /* rows that say nothing, not even which they were */
        err = note_gap(db, lost, 0, INT64_MAX);
    db_finalize(lost);
    return err < 0 ? err : note_tables(db, salvage);
}

/* ---- sections ---- */

static const struct emit_column file_columns[] = {
    {"state", NULL, EMIT_TEXT, EMIT_WRAP},
    {"bytes", "size", EMIT_BYTES, 0},
    {"pages", NULL, EMIT_COUNT, 0},
    {"pages_there", "of them there", EMIT_COUNT, 0},
    {"sqlite", "SQLite says", EMIT_TEXT, EMIT_IF_KNOWN | EMIT_WRAP},
    {"written", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
};
static const struct emit_column table_columns[] = {
    {"table", NULL, EMIT_TEXT, 0},
    {"found", "rows found", EMIT_COUNT, 0},
    {"saved", NULL, EMIT_COUNT, EMIT_IF_KNOWN},
    {"refused", NULL, EMIT_COUNT, 0},
    {"damaged", "damaged pages", EMIT_COUNT, 0},
    {"missing", "rows missing, at most", EMIT_COUNT, 0},
};
static const struct emit_column gap_columns[] = {
    {"table", NULL, EMIT_TEXT, 0},
    {"page", "first page", EMIT_PLAIN, 0},
    {"first_key", "first key", EMIT_PLAIN, EMIT_NONE},
    {"last_key", "last key", EMIT_PLAIN, EMIT_NONE},
    {"rows", "found again", EMIT_COUNT, 0},
};
static const struct emit_column derived_columns[] = {
    {"what", "data", EMIT_TEXT, 0},
    {"how", "state", EMIT_TEXT, 0},
    {"n", "number", EMIT_COUNT, EMIT_NONE},
};

static const char *state_of(const struct repair_findings *findings)
{
    const struct salvage_file *file = salvage_file(findings->salvage);
    if (findings->missing && !file->header)
        return "damaged: the first page is not one of a database";
    if (findings->missing && file->pages_there < file->pages)
        return "damaged: it is cut off";
    if (findings->missing)
        return "damaged: rows are missing";
    if (findings->no_log)
        return "not whole: its log is missing or empty";
    if (findings->refused)
        return "damaged, but no row is missing";
    if (findings->disagrees)
        return "sound, but its derived tables do not say what its facts say";
    return "sound";
}

static void put_file(struct emit *emit, const struct repair_findings *findings, const char *name)
{
    const struct salvage_file *file = salvage_file(findings->salvage);
    EMIT_SECTION(emit, "file", NULL, EMIT_RECORD, file_columns);
    emit_text(emit, state_of(findings));
    emit_int(emit, file->bytes);
    emit_int(emit, (int64_t)file->pages);
    emit_int(emit, (int64_t)file->pages_there);
    emit_text(emit, findings->refused ? findings->first : NULL);
    emit_text(emit, findings->written ? name : NULL);
}

/* People do not get tables in which there is nothing and nothing is wrong. */
static void put_tables(struct emit *emit, const struct repair_findings *findings)
{
    const struct salvage *salvage = findings->salvage;
    EMIT_SECTION(emit, "tables", "Rows", EMIT_ROWS, table_columns);
    for (size_t i = 0; i < salvage_table_count(salvage); i++) {
        const struct salvage_table *table = salvage_table(salvage, i);
        if (emit->format == EMIT_TABLE && !table->found && !table->damaged)
            continue;
        emit_text(emit, table->name);
        emit_int(emit, (int64_t)table->found);
        if (findings->written)
            emit_int(emit, (int64_t)table->saved);
        else
            emit_null(emit);
        emit_int(emit, (int64_t)table->refused);
        emit_int(emit, (int64_t)table->damaged);
        if (table->known && !table->absent)
            emit_int(emit, (int64_t)table->missing);
        else
            emit_null(emit);
    }
}

static void put_key(struct emit *emit, const struct salvage_hole *hole, int64_t key, bool open)
{
    if (hole->keyed && !open)
        emit_int(emit, key);
    else
        emit_null(emit);
}

static void put_gaps(struct emit *emit, const struct repair_findings *findings)
{
    const struct salvage *salvage = findings->salvage;
    size_t count = salvage_hole_count(salvage);
    if (emit->format == EMIT_TABLE && count == 0)
        return;
    EMIT_SECTION(emit, "gaps", "Gaps", EMIT_ROWS, gap_columns);
    for (size_t i = 0; i < count; i++) {
        const struct salvage_hole *hole = salvage_hole(salvage, i);
        emit_text(emit, salvage_table(salvage, hole->table)->name);
        emit_int(emit, hole->page);
        put_key(emit, hole, hole->after < 0 ? 1 : hole->after + 1, false);
        put_key(emit, hole, hole->last, hole->last == INT64_MAX);
        emit_int(emit, (int64_t)hole->rows);
    }
}

static const char *const ways[DERIVE_WAYS] = {
    [DERIVE_REBUILT] = "made anew from the facts",
    [DERIVE_KEPT] = "as it was recorded",
    [DERIVE_MENDED] = "as it was recorded, with gaps",
    [DERIVE_PART] = "made anew from the facts that are left",
    [DERIVE_LOST] = "lost",
};

static void put_ways(struct emit *emit, const char *what, const uint64_t *counts)
{
    for (int way = 0; way < DERIVE_WAYS; way++) {
        if (!counts[way])
            continue;
        emit_text(emit, what);
        emit_text(emit, ways[way]);
        emit_int(emit, (int64_t)counts[way]);
    }
}

static void put_derived(struct emit *emit, const struct repair_findings *findings)
{
    const struct derive_result *derived = &findings->derived;
    if (emit->format == EMIT_TABLE && !findings->written)
        return;
    EMIT_SECTION(emit, "derived", "Made anew", EMIT_ROWS, derived_columns);
    if (!findings->written)
        return;
    put_ways(emit, "allocated over time", derived->allocated);
    put_ways(emit, "reserved over time", derived->reserved);
    emit_text(emit, "keyframes");
    emit_text(emit, ways[DERIVE_REBUILT]);
    emit_int(emit, (int64_t)derived->keyframes);
    emit_text(emit, "views");
    emit_text(emit, "made anew");
    emit_null(emit);
}

/* ---- what it means ---- */

struct meaning {
    const char *tables; /* names with a blank around each */
    const char *text;
};

static const struct meaning meanings[] = {
    {" allocation ", "blocks are missing: peak, why, leaks and frag may say too little from the "
                     "first gap on; the figures of phases are as they were recorded"},
    {" process device heap ",
     "processes, devices or heaps are missing: where others name them they "
     "have a row without a pid, a program or a name, and a heap that "
     "cannot be known is in no report"},
    {" phase phase_device stretch ", "phases are missing: tables of steps and phases have gaps, "
                                     "and blocks that were allocated in one "
                                     "count to the phase before it or to none"},
    {" allocation_phase ", "blocks of threads that had a phase of their own may count to the phase "
                           "of their process"},
    {" string frame site ", "call stacks are missing: some blocks have none, or one with '?'"},
    {" tag ", "tags are missing: categories of some blocks are guessed by their lifetimes"},
    {" segment mapping idle ", "segments are missing: reserved, frag and fit may be wrong"},
    {" thinned site_sum phase_sum ", "what was thinned on purpose, if anything was, is not all "
                                     "reported: totals of the run may be too low"},
    {" lost torn anomaly ", "the list of what was lost while recording is not whole"},
    {" meta setting mark oom sample clock overhead ",
     "of what is said about the run itself a part is missing: command, settings, marks, refused "
     "requests, samples or clocks"},
};

static bool is_named(const char *names, const char *name)
{
    char padded[SALVAGE_NAME + 2];
    snprintf(padded, sizeof padded, " %s ", name);
    return strstr(names, padded) != NULL;
}

static void put_meanings(struct emit *emit, const struct salvage *salvage)
{
    for (size_t m = 0; m < sizeof meanings / sizeof *meanings; m++) {
        bool lacks = false;
        for (size_t i = 0; i < salvage_table_count(salvage); i++) {
            const struct salvage_table *table = salvage_table(salvage, i);
            lacks |= lacks_rows(table) && is_named(meanings[m].tables, table->name);
        }
        if (lacks)
            emit_warning(emit, "%s", meanings[m].text);
    }
}

static void put_log(struct emit *emit)
{
    struct buf name = {0};
    pages_log_name(emit->database, &name);
    emit_warning(emit,
                 "it was not finished, and its log (%s) is missing or empty: what was recorded "
                 "last, or all of it, stood there; the two have to be copied together",
                 buf_string(&name));
    buf_clear(&name);
}

static void put_notes(struct emit *emit, const struct repair_findings *findings, const char *name,
                      bool check)
{
    const struct salvage *salvage = findings->salvage;
    const struct derive_result *derived = &findings->derived;
    put_meanings(emit, salvage);
    if (salvage_file(salvage)->log_damaged)
        emit_warning(emit, "the log beside the file is damaged: what was recorded last is missing");
    if (derived->reserved[DERIVE_LOST] || derived->reserved[DERIVE_MENDED])
        emit_warning(emit, "reserved over time has gaps: of what was reserved only the ends of "
                           "phases are sure");
    if (derived->allocated[DERIVE_MENDED] || derived->allocated[DERIVE_PART])
        emit_warning(emit, "allocated over time is too low, or has gaps, where blocks are missing");
    if (findings->disagrees && !findings->refused)
        emit_note(emit, "table %s is not what the facts make it", findings->disagrees);
    bool wrong = findings->refused || findings->missing || findings->disagrees;
    if (findings->no_log)
        put_log(emit);
    else if (!wrong)
        emit_note(emit, "nothing to repair");
    if (wrong && check)
        emit_note(emit, "to save what can be read: tidemark repair %s", emit->database);
    if (findings->written)
        emit_note(emit, "ask it: tidemark info %s", name);
}

int repair_put(const struct repair_findings *findings, const struct command *command,
               const struct report_options *options, const char *path, const char *name, bool check)
{
    struct emit emit;
    emit_begin(&emit, (enum emit_format)options->format, report_colour(options), command->name,
               path);
    put_file(&emit, findings, name);
    put_tables(&emit, findings);
    put_gaps(&emit, findings);
    put_derived(&emit, findings);
    put_notes(&emit, findings, name, check);
    int err = emit_finish(&emit, stdout);
    if (err < 0)
        return report_failed("the report", err, NULL);
    bool wrong = findings->refused || findings->disagrees;
    return findings->missing || findings->no_log || (check && wrong) ? EXIT_CHECK_FAILED
                                                                     : EXIT_FINE;
}
