/*
 * One input: everything that is in it, read in one transaction, into the spool.
 */
#include <inttypes.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "merge_types.h"

/* ---- ids ---- */

static bool is_named(enum merge_kind kind)
{
    return kind >= MERGE_STRING && kind <= MERGE_MODULE;
}

/* Ids that count the rows of one recording go behind those of the inputs before. */
static int add_base(struct merge *merge, struct merge_input *input, enum merge_kind kind,
                    struct merge_cell *cell)
{
    static const char *const kinds[MERGE_KINDS] = {
        [MERGE_PROCESS] = "process", [MERGE_DEVICE] = "device",      [MERGE_HEAP] = "heap",
        [MERGE_PHASE] = "phase",     [MERGE_SETTLED] = "settlement",
    };
    int64_t old = cell->number;
    if (kind == MERGE_PHASE && old >= DB_LOOSE_PHASE)
        old = input->most[kind] - input->loose + old - DB_LOOSE_PHASE + 1;
    if (old > input->most[kind])
        return merge_damaged(merge, input, "a row names %s %" PRId64 ", which is not there",
                             kinds[kind], cell->number);
    cell->number = old + input->base[kind];
    return 0;
}

/* What has no row any more is not known. */
static void find_name(const struct merge_input *input, enum merge_kind kind,
                      struct merge_cell *cell)
{
    uint64_t id = map_get(&input->names[kind], (uint64_t)cell->number);
    if (id == MAP_NONE)
        cell->type = MERGE_NULL;
    else
        cell->number = (int64_t)id;
}

static int renumber(struct merge *merge, struct merge_input *input, enum merge_kind kind,
                    struct merge_cell *cell)
{
    if (cell->type != MERGE_NUMBER || cell->number < 1)
        return 0;
    if (is_named(kind))
        find_name(input, kind, cell);
    else if (kind >= MERGE_PROCESS && kind <= MERGE_SETTLED)
        return add_base(merge, input, kind, cell);
    return 0;
}

/* ---- rows ---- */

static bool is_text(const struct merge_cell *cell, const char *text)
{
    return cell->type == MERGE_TEXT && (size_t)cell->number == strlen(text) &&
           memcmp(cell->text, text, strlen(text)) == 0;
}

/* The value of a mark of a rehearsal is a call site. */
static int take_mark(struct merge *merge, struct merge_input *input, struct merge_cell *cells,
                     size_t at)
{
    return is_text(&cells[at + 1], "rehearsal") ? renumber(merge, input, MERGE_SITE, &cells[at])
                                                : 0;
}

static int take_cell(struct merge *merge, const struct merge_input *input, struct db_stmt *stmt,
                     size_t at, enum merge_kind kind, struct merge_cell *cell)
{
    enum db_type type = db_column_type(stmt, (int)at);
    *cell = (struct merge_cell){.type = MERGE_NULL};
    if (type == DB_INT) {
        cell->type = MERGE_NUMBER;
        cell->number = db_column_any(stmt, (int)at);
        if (kind != MERGE_PLAIN && kind < MERGE_KINDS && cell->number >= DB_LARGEST &&
            kind != MERGE_SEQ)
            return merge_damaged(merge, input, "a number cannot be: %" PRId64, cell->number);
    } else if (type == DB_TEXT && (kind == MERGE_PLAIN || kind >= MERGE_KINDS)) {
        cell->type = MERGE_TEXT;
        cell->text = db_column_text(stmt, (int)at);
        cell->number = db_column_bytes(stmt, (int)at);
    } else if (type != DB_NULL) {
        return merge_damaged(merge, input, "a value is of a kind that no recorder writes");
    }
    return 0;
}

int merge_take_row(struct merge *merge, struct merge_input *input, const struct merge_table *table,
                   struct db_stmt *stmt, struct merge_cell *cells)
{
    int err = 0;
    for (size_t i = 0; i < table->count && err == 0; i++) {
        enum merge_kind kind = table->columns[i].kind;
        err = take_cell(merge, input, stmt, i, kind, &cells[i]);
        if (err == 0 && kind < MERGE_KINDS)
            err = renumber(merge, input, kind, &cells[i]);
    }
    for (size_t i = 0; i < table->count && err == 0; i++)
        if (table->columns[i].kind == MERGE_MARK_VALUE)
            err = take_mark(merge, input, cells, i);
    return err;
}

static void put_select(struct buf *sql, const struct merge_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        buf_print(sql, "%s%s", i ? ", " : "SELECT ", table->columns[i].name);
    buf_print(sql, " FROM %s", table->name);
    if (table->order == MERGE_BY_SEQ)
        buf_print(sql, " ORDER BY %s", table->columns[0].name);
}

static int read_table(struct merge *merge, struct merge_input *input, struct db *db,
                      enum merge_name which, const char *sql)
{
    const struct merge_table *table = &merge_tables[which];
    struct merge_rows *rows = &input->rows[which];
    struct merge_cell cells[MERGE_COLUMNS];
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, sql), got = 0;
    if (err < 0)
        return merge_input_failed(merge, input, db, err);
    while (err == 0 && (got = db_step(stmt)) == DB_ROW) {
        err = merge_take_row(merge, input, table, stmt, cells);
        if (err == 0)
            err = merge_rows_put(merge, rows, cells, table->count);
    }
    if (err == 0 && got < 0)
        err = merge_input_failed(merge, input, db, got);
    db_finalize(stmt);
    return err < 0 ? err : spool_seal(&merge->spool, &rows->stream);
}

static int read_tables(struct merge *merge, struct merge_input *input, struct db *db)
{
    int err = 0;
    for (int i = 0; i < MERGE_TABLES && err == 0; i++) {
        const struct merge_table *table = &merge_tables[i];
        struct buf sql = {0};
        if (table->order > MERGE_BY_SEQ || i == MERGE_TABLE_allocation)
            continue;
        put_select(&sql, table);
        err = sql.broken ? ERR_NOMEM
                         : read_table(merge, input, db, (enum merge_name)i, buf_string(&sql));
        buf_clear(&sql);
    }
    return err;
}

/* Of each curve the finest level that there is, with a bucket's last moment in place of its number:
 * where no blocks and no segments say what it was, it is what is known. */
static const char curve_sql[] =
    "SELECT c.heap, c.quantity, c.level,"
    "       CASE WHEN c.bucket >= 0 AND c.bucket < 2305843009213693951 >> c.level"
    "            THEN ((c.bucket + 1) << c.level) - 1 ELSE 0 END AS bucket,"
    "       c.first, c.min, c.max, c.last"
    "  FROM (SELECT DISTINCT heap, quantity FROM curve) k"
    "  JOIN curve c ON c.heap = k.heap AND c.quantity = k.quantity"
    "   AND c.level = (SELECT min(f.level) FROM curve f"
    "                   WHERE f.heap = k.heap AND f.quantity = k.quantity)"
    " WHERE c.level BETWEEN 0 AND 62 ORDER BY c.heap, c.quantity, c.bucket";

static void forget_names(struct merge_input *input)
{
    for (int kind = 0; kind < MERGE_KINDS; kind++)
        map_clear(&input->names[kind]);
}

static int read_all(struct merge *merge, struct merge_input *input, struct db *db)
{
    int err = db_exec(db, "BEGIN");
    if (err < 0)
        return merge_input_failed(merge, input, db, err);
    err = merge_read_facts(merge, input, db);
    if (err == 0)
        err = merge_read_names(merge, input, db);
    if (err == 0)
        err = merge_read_events(merge, input, db);
    if (err == 0)
        err = read_tables(merge, input, db);
    if (err == 0)
        err = read_table(merge, input, db, MERGE_TABLE_curve, curve_sql);
    if (err == 0)
        err = merge_read_meetings(merge, input, db);
    return err;
}

int merge_read(struct merge *merge, struct merge_input *input)
{
    struct db *db;
    int err = db_open(&db, input->path);
    if (err == ERR_CORRUPT)
        merge->result->damaged = input->path;
    if (err < 0)
        return merge_say(merge, err, "%s", db_open_message());
    err = read_all(merge, input, db);
    forget_names(input);
    for (int kind = 0; kind < MERGE_KINDS; kind++)
        merge->next[kind] += input->most[kind];
    db_close(db);
    return err;
}
