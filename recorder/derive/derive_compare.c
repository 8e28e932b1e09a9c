/*
 * derive_compare.c - are the derived tables of a recording what its facts make them? They are made
 * in a database of their own and compared row by row.
 */
#include "derive.h"

#include <string.h>

#include "error.h"

static const char curve_sql[] = "SELECT heap, quantity, level, bucket, first, min, max, last"
                                " FROM curve ORDER BY heap, quantity, level, bucket";
/* A process may be there for a while after its last event, and then be in keyframes. */
static const char frames_sql[] =
    "SELECT k.seq, k.allocation FROM keyframe k LEFT JOIN allocation a ON a.seq = k.allocation"
    " LEFT JOIN heap h ON h.id = a.heap LEFT JOIN process p ON p.id = h.process"
    " WHERE p.end_ns IS NULL OR p.last_seq IS NULL OR k.seq <= p.last_seq"
    " ORDER BY k.seq, k.allocation";
static const char made_sql[] = "SELECT seq, allocation FROM keyframe ORDER BY seq, allocation";

static bool same_row(struct db_stmt *a, struct db_stmt *b)
{
    for (int i = 0; i < db_columns(a); i++) {
        if (db_column_type(a, i) != db_column_type(b, i))
            return false;
        if (db_column_type(a, i) == DB_TEXT
                ? strcmp(db_column_text(a, i), db_column_text(b, i)) != 0
                : db_column_int(a, i) != db_column_int(b, i))
            return false;
    }
    return true;
}

struct side {
    struct db *db;
    const char *sql;
    struct db_stmt *row;
};

static int same_rows(struct side *told, struct side *made, bool *same, bool *from_scratch)
{
    int err = db_prepare(told->db, &told->row, told->sql);
    if (err == 0 && (err = db_prepare(made->db, &made->row, made->sql)) < 0)
        *from_scratch = true;
    *same = true;
    while (err == 0 && *same) {
        int one = db_step(told->row), two = db_step(made->row);
        *from_scratch = one >= 0 && two < 0;
        err = one < 0 ? one : two < 0 ? two : 0;
        *same = one == two && (one != DB_ROW || same_row(told->row, made->row));
        if (one != DB_ROW)
            break;
    }
    db_finalize(told->row);
    db_finalize(made->row);
    return err;
}

int derive_compare(struct db *facts, struct db *scratch, const char **what, bool *from_scratch)
{
    const struct derive_options options = {.facts = facts,
                                           .out = scratch,
                                           .blocks_whole = true,
                                           .segments_whole = true,
                                           .curve_whole = true,
                                           .frames_as_told = true};
    struct side curves[2] = {{facts, curve_sql, NULL}, {scratch, curve_sql, NULL}};
    struct side frames[2] = {{facts, frames_sql, NULL}, {scratch, made_sql, NULL}};
    struct derive_result result;
    bool same = true;
    *what = NULL;
    int err = derive_rebuild(&options, &result, from_scratch);
    if (err == ERR_CORRUPT)
        *what = result.broken;
    if (err == 0)
        err = same_rows(&curves[0], &curves[1], &same, from_scratch);
    if (err == 0 && !same)
        *what = "curve";
    if (err == 0 && same)
        err = same_rows(&frames[0], &frames[1], &same, from_scratch);
    if (err == 0 && !same && !*what)
        *what = "keyframe";
    return err;
}
