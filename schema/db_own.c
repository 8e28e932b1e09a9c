/*
 * db_own.c - the views of this build over the tables of a file.
 *
 * A file may have been made by anybody: a view of it may never end, or say what no recorder wrote.
 * So the views that reports ask are made anew as temporary ones, whose names SQLite finds before
 * the file's; but for a file that has each of them with the same text, as all have that this build
 * wrote, for then they are the same. A view of the file sees no temporary one, so that is all of
 * them or none. Tables have no temporary twin, but for what a file of an earlier version lacks
 * (older.h): their names inside of these views, and in the statements of reports, are the file's.
 * Those must be tables, then, and nothing that computes what
 * it is asked for: no view under a table's name, no virtual table, no generated column.
 *
 * What statements come to is bounded by the rows of the file then: the only recursion in the views
 * of this build goes from each phase to those inside of it, and a phase is inside of one.
 */
#include "db_internal.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "older.h"
#include "schema_text.h"

const char *sch_text(void)
{
    return schema_text;
}

/* ",meta,process,...,": the tables of this build's schema. */
static void list_tables(struct buf *list)
{
    static const char begin[] = "\nCREATE TABLE ";
    buf_text(list, ",");
    for (const char *at = schema_text; (at = strstr(at, begin));) {
        at += strlen(begin);
        buf_add(list, at, strcspn(at, "("));
        buf_text(list, ",");
    }
}

/* SQLite takes names in any case. */
static const char other_sql[] =
    "SELECT name FROM sqlite_master m WHERE type IN ('table', 'view')"
    "   AND instr(?1, ',' || lower(name) || ',')"
    "   AND (type = 'view' OR coalesce(rootpage, 0) <= 0 OR"
    "        EXISTS(SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden))";

static int check_ordinary(struct db *db)
{
    struct db_stmt *stmt = NULL;
    struct buf tables = {0};
    list_tables(&tables);
    int err = tables.broken ? ERR_NOMEM : db_prepare(db, &stmt, other_sql);
    if (tables.broken)
        db_say(db, err, base_err_text(err));
    if (err == 0) {
        db_bind_text(stmt, 0, buf_string(&tables), (int)tables.count);
        err = db_step(stmt);
    }
    if (err == DB_ROW)
        err = db_damaged(db, "'%.40s' is no ordinary table", db_column_text(stmt, 0));
    db_finalize(stmt);
    buf_clear(&tables);
    return err;
}

/* ---- views ---- */

/* In the text of the views each begins a line. */
static const char view_begin[] = "\nCREATE VIEW ";

/* NULL: there is none behind `at`. */
static const char *next_view(const char *at)
{
    return strstr(at, view_begin);
}

static bool is_view(const char *at, const char *sql, size_t bytes)
{
    at++; /* the end of the line before */
    return strncmp(at, sql, bytes) == 0 && at[bytes] == ';';
}

/* Has the file these views, in this order, and no others? SQLite calls a view as its text does,
 * whatever its row says, and refuses a file with two of one name. */
static int has_ours(struct db *db, bool *ours)
{
    struct db_stmt *stmt = NULL;
    const char *at = next_view(views_text);
    int row = db_prepare(db, &stmt,
                         "SELECT sql FROM sqlite_master WHERE type = 'view'"
                         " ORDER BY rowid");
    *ours = false;
    if (row < 0)
        return row;
    for (; (row = db_step(stmt)) == DB_ROW; at = next_view(at + 1))
        if (!at || !is_view(at, db_column_text(stmt, 0), (size_t)db_column_bytes(stmt, 0)))
            break;
    *ours = row == DB_DONE && !at;
    db_finalize(stmt);
    return row < 0 ? row : 0;
}

static int make_views(struct db *db)
{
    struct buf text = {0};
    const char *at = views_text, *view;
    for (; (view = next_view(at)); at = view + strlen(view_begin)) {
        buf_add(&text, at, (size_t)(view - at));
        buf_text(&text, "\nCREATE TEMP VIEW ");
    }
    buf_text(&text, at);
    int err = text.broken ? ERR_NOMEM : db_exec(db, buf_string(&text));
    if (text.broken)
        db_say(db, err, base_err_text(err));
    buf_clear(&text);
    return err;
}

static int make_all(struct db *db)
{
    int err = db_exec(db, "BEGIN");
    if (err == 0)
        err = older_open(db, db->version);
    if (err == 0)
        err = make_views(db);
    return err < 0 ? err : db_exec(db, "COMMIT");
}

int db_own(struct db *db)
{
    bool ours = false;
    int err = check_ordinary(db);
    if (err == 0 && db->version == DB_VERSION)
        err = has_ours(db, &ours);
    if (err == 0 && !ours)
        err = make_all(db);
    db->own = err == 0;
    return err;
}
