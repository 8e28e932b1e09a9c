/*
 * db_take.c - the columns of a row, each put where a question wants it.
 *
 * Numbers are what millions of rows have: they go no way round by db_column_int.
 */
#include "db_internal.h"

#include <stdio.h>

#include <sqlite3.h>

#include "error.h"
#include "mem.h"
#include "query.h"

static bool is_null(struct db_stmt *stmt, int at)
{
    return db_column_type(stmt, at) == DB_NULL;
}

static int copy_text(struct db_stmt *stmt, int at, char **out)
{
    *out = NULL;
    if (is_null(stmt, at))
        return 0;
    const char *text = db_column_text(stmt, at);
    *out = mem_copy(text, (size_t)db_column_bytes(stmt, at));
    return *out ? 0 : ERR_NOMEM;
}

/* Its type and its value are asked of what is found once. */
static int64_t opt_at(struct db_stmt *stmt, int at)
{
    sqlite3_value *value = sqlite3_column_value(stmt->handle, at);
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return QUERY_NONE;
    return db_below(stmt->db, sqlite3_value_int64(value), DB_LARGEST);
}

static int take(struct db_stmt *stmt, int at, const struct query_place *place)
{
    switch (place->type) {
    case QUERY_INT:
        *(int64_t *)place->at =
            db_below(stmt->db, sqlite3_column_int64(stmt->handle, at), DB_LARGEST);
        return 0;
    case QUERY_BOOL:
        *(bool *)place->at = db_column_int(stmt, at) != 0;
        return 0;
    case QUERY_OPT:
        *(int64_t *)place->at = opt_at(stmt, at);
        return 0;
    case QUERY_ANY:
        *(int64_t *)place->at = sqlite3_column_int64(stmt->handle, at);
        return 0;
    case QUERY_SIZE:
        *(int64_t *)place->at =
            db_below(stmt->db, sqlite3_column_int64(stmt->handle, at), DB_LARGEST_SIZE + 1);
        return 0;
    case QUERY_REAL:
        *(double *)place->at = db_column_real(stmt, at);
        return 0;
    case QUERY_TEXT:
        *(const char **)place->at = db_column_text(stmt, at);
        return 0;
    case QUERY_NTEXT:
        *(const char **)place->at = is_null(stmt, at) ? NULL : db_column_text(stmt, at);
        return 0;
    case QUERY_COPY:
        return copy_text(stmt, at, place->at);
    case QUERY_CHARS:
        snprintf(place->at, place->room, "%s", db_column_text(stmt, at));
        return 0;
    case QUERY_REST:
    case QUERY_END:
        break;
    }
    return ERR_INTERNAL;
}

/* A row that is not taken whole leaves nothing behind. */
static void drop_copies(const struct query_place *out, int count)
{
    for (int at = 0; at < count; at++)
        if (out[at].type == QUERY_COPY) {
            mem_free(*(char **)out[at].at);
            *(char **)out[at].at = NULL;
        }
}

int db_take_row(struct db_stmt *stmt, const unsigned char *at, const struct query_place *out)
{
    const struct query_place *place = out;
    int err = 0;
    for (; place && place->type < QUERY_REST && err == 0; place++)
        err = take(stmt, *at++, place);
    if (err < 0)
        drop_copies(out, (int)(place - out) - 1);
    return err;
}
