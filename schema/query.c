#include "query.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "db_internal.h"
#include "error.h"

/* A question that is not what its reader believes: a mistake of ours. */
static __attribute__((format(printf, 2, 3))) int mistaken(struct db *db, const char *format, ...)
{
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    db_say(db, ERR_INTERNAL, text);
    return ERR_INTERNAL;
}

/* "row->peak.seq" is seq. */
static const char *name_of(const char *place)
{
    const char *name = place;
    for (; *place; place++)
        if (*place == '.' || *place == '>' || *place == '*')
            name = place + 1;
    return name;
}

static int find_column(struct db_stmt *stmt, const char *name, int columns, int first)
{
    for (int i = 0; i < columns; i++)
        if (strcmp(db_column_name(stmt, (first + i) % columns), name) == 0)
            return (first + i) % columns;
    return -1;
}

static int find_columns(struct db *db, struct query *query)
{
    const struct query_place *out = query->out;
    int columns = db_columns(query->stmt), count = 0;
    for (; out && out[count].type < QUERY_REST; count++) {
        const char *name = name_of(out[count].place);
        int at = find_column(query->stmt, name, columns, count);
        if (at < 0)
            return mistaken(db, "a question has no column '%s'", name);
        if (count == QUERY_MOST)
            return mistaken(db, "a question has too many columns");
        query->at[count] = (unsigned char)at;
    }
    bool rest = out && out[count].type == QUERY_REST;
    if (rest || columns == count)
        return 0;
    return mistaken(db, "a question has %d columns, and %d are read", columns, count);
}

static int bind(struct db *db, struct db_stmt *stmt, const struct query_value *in)
{
    int count = 0;
    for (; in && in[count].type != QUERY_END; count++) {
        if (in[count].type == QUERY_TEXT)
            db_bind_text(stmt, count, in[count].text, in[count].bytes);
        else if (in[count].type == QUERY_INT)
            db_bind_int(stmt, count, in[count].number);
        else
            db_bind_null(stmt, count);
    }
    int params = db_params(stmt);
    if (params == count)
        return 0;
    return mistaken(db, "a question has %d parameters, and %d values", params, count);
}

struct query query_ask(struct db *db, const char *sql, const struct query_value *in,
                       const struct query_place *out)
{
    struct query query = {.out = out};
    query.err = db_prepare(db, &query.stmt, sql);
    if (query.err == 0)
        query.err = find_columns(db, &query);
    if (query.err == 0)
        query.err = bind(db, query.stmt, in);
    return query;
}

struct query query_kept(struct db_stmt *stmt, const struct query_value *in,
                        const struct query_place *out)
{
    struct query query = {.stmt = stmt, .kept = true, .out = out};
    query.err = find_columns(stmt->db, &query);
    if (query.err == 0)
        query.err = bind(stmt->db, stmt, in);
    return query;
}

void query_again(struct query *query, const struct query_value *in)
{
    if (query->err < 0)
        return;
    db_reset(query->stmt);
    query->err = bind(query->stmt->db, query->stmt, in);
}

/* ---- rows ---- */

bool query_next(struct query *query)
{
    if (query->err < 0)
        return false;
    query->err = db_step(query->stmt);
    if (query->err != DB_ROW)
        return false;
    int err = db_take_row(query->stmt, query->at, query->out);
    query_fail(query, err);
    return err == 0;
}

void query_fail(struct query *query, int err)
{
    if (err < 0 && query->err >= 0)
        query->err = err;
}

int query_end(struct query *query)
{
    if (query->kept)
        db_reset(query->stmt);
    else
        db_finalize(query->stmt);
    query->stmt = NULL;
    return query->err < 0 ? query->err : 0;
}

/* ---- one row ---- */

static bool has_text(const struct query_place *out)
{
    for (; out && out->type < QUERY_REST; out++)
        if (out->type == QUERY_TEXT || out->type == QUERY_NTEXT)
            return true;
    return false;
}

int query_first(struct db *db, const char *sql, const struct query_value *in,
                const struct query_place *out)
{
    struct query query = query_ask(db, sql, in, out);
    if (query.err == 0 && has_text(out))
        query.err = mistaken(db, "a text would be gone with its row");
    bool found = query_next(&query);
    int err = query_end(&query);
    return found ? DB_ROW : err;
}

int query_read(struct db *db, const char *sql, const struct query_value *in,
               const struct query_place *out)
{
    int err = query_first(db, sql, in, out);
    return err < 0 ? err : 0;
}

int query_run(struct db *db, const char *sql, const struct query_value *in)
{
    struct query query = query_ask(db, sql, in, NULL);
    while (query_next(&query))
        ;
    return query_end(&query);
}
