/*
 * db_blame.c - which value of a file made a statement fail.
 *
 * SQLite says "integer overflow" of a sum, and no more. Whoever has such a file wants to know where
 * to look: the tables are read for a number that no recorder writes. That is a pass over the file,
 * made only where a report has failed already.
 */
#include "db_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

/* Numbers that may be anything: a source's own names of things, what a program says, and ends that
 * are INT64_MAX where there is none. */
static const char columns_sql[] =
    "SELECT m.name, x.name FROM main.sqlite_master m, pragma_table_info(m.name) x"
    " WHERE m.type = 'table' AND m.rootpage > 0 AND x.name NOT IN ('address', 'stream', 'pool', "
    "'thread', 'site', 'real_ns') AND (m.name, x.name) NOT IN (VALUES('mark', 'value'), ('lost', "
    "'last_seq'))";

/* The largest that a recorder writes. */
static int64_t most_of(const char *column)
{
    return strcmp(column, "size") == 0 ? DB_LARGEST_SIZE : DB_LARGEST / 2;
}

static bool look_at(struct db *db, const char *table, const char *column)
{
    sqlite3_stmt *stmt = NULL;
    bool found = false;
    long long most = most_of(column);
    char *sql =
        sqlite3_mprintf("SELECT \"%w\" FROM main.\"%w\" WHERE typeof(\"%w\") IN ('integer', "
                        "'real') AND (\"%w\" > %lld OR \"%w\" < -%lld) LIMIT 1",
                        column, table, column, column, most, column, most);
    if (sql && sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW) {
        const char *value = (const char *)sqlite3_column_text(stmt, 0);
        char why[200];
        snprintf(why, sizeof why, "%.199s", db->message);
        snprintf(db->message, sizeof db->message, "%s: %.40s.%.40s has the value %.40s", why, table,
                 column, value ? value : "?");
        found = true;
    }
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return found;
}

void db_blame(struct db *db)
{
    sqlite3_stmt *stmt = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(db->handle, columns_sql, -1, &stmt, NULL) != SQLITE_OK)
        return;
    while (!found && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(stmt, 0);
        const char *column = (const char *)sqlite3_column_text(stmt, 1);
        found = table && column && look_at(db, table, column);
    }
    sqlite3_finalize(stmt);
}
