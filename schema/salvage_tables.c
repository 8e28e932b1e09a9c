/*
 * salvage_tables.c - which tables there are, what their columns may hold, and in which order a
 * record has them. All of it is asked of a fresh database, so that a new table or column is known
 * here as soon as it is in the schema.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "salvage_types.h"

static bool ends_in(const char *name, const char *end)
{
    size_t a = strlen(name), b = strlen(end);
    return a >= b && strcmp(name + a - b, end) == 0;
}

/* What the meaning of a column, by its name, says of its values. */
static enum salvage_range range_of(const char *table, const char *name)
{
    static const char *const counts[] = {"size",  "requested", "blocks", "allocs",
                                         "frees", "n",         "phases", "ordinal"};
    if (strcmp(name, "life_ns") == 0)
        return RANGE_LIFE;
    if (strcmp(name, "free_seq") == 0)
        return RANGE_FREE;
    if (ends_in(name, "_ns") || strcmp(name, "ns") == 0 || ends_in(name, "seq"))
        return RANGE_NOT_NEGATIVE;
    if (strcmp(table, "device") == 0) /* ordinal: -1 = not known */
        return RANGE_ANY;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strcmp(name, counts[i]) == 0)
            return RANGE_NOT_NEGATIVE;
    return RANGE_ANY;
}

static int column_named(const struct salvage_layout *table, const char *name)
{
    for (int i = 0; i < table->columns; i++)
        if (strcmp(table->column[i].name, name) == 0)
            return i;
    return -1;
}

/* Rows of table_info: cid, name, type, notnull, default, pk. */
static int add_column(struct salvage_layout *table, struct db_stmt *row, int *primary)
{
    if (table->columns == SALVAGE_COLUMNS)
        return ERR_INTERNAL;
    struct salvage_column *column = &table->column[table->columns];
    const char *type = db_column_text(row, 2);
    snprintf(column->name, sizeof column->name, "%s", db_column_text(row, 1));
    column->number = strcmp(type, "TEXT") != 0;
    column->text = strcmp(type, "INTEGER") != 0;
    column->not_null = db_column_int(row, 3) != 0;
    column->range = range_of(table->told.name, column->name);
    primary[table->columns++] = (int)db_column_int(row, 5);
    return 0;
}

/* A record has the columns as they stand; WITHOUT ROWID, those of the primary key come first. */
static void set_order(struct salvage_layout *table, const int *primary)
{
    int n = 0;
    for (int key = 1; !table->by_key && key <= table->columns; key++)
        for (int i = 0; i < table->columns; i++)
            if (primary[i] == key)
                table->order[n++] = i;
    for (int i = 0; i < table->columns; i++)
        if (table->by_key || primary[i] == 0)
            table->order[n++] = i;
    for (int i = 0; i < table->columns; i++)
        if (table->by_key && primary[i])
            table->key_at = i; /* INTEGER PRIMARY KEY: the record has NULL there */
    table->free_seq = column_named(table, "free_seq");
    table->alloc_seq = table->free_seq < 0 ? -1 : column_named(table, "seq");
}

static int read_columns(struct salvage *salvage, struct salvage_layout *table)
{
    char sql[64 + SALVAGE_NAME];
    int primary[SALVAGE_COLUMNS] = {0};
    struct db_stmt *row = NULL;
    snprintf(sql, sizeof sql, "PRAGMA table_info(\"%s\")", table->told.name);
    int err = db_prepare(salvage->fresh, &row, sql);
    while (err >= 0 && (err = db_step(row)) == DB_ROW)
        if ((err = add_column(table, row, primary)) < 0)
            break;
    db_finalize(row);
    if (err >= 0)
        set_order(table, primary);
    return err < 0 ? err : 0;
}

static int prepare_insert(struct salvage *salvage, struct salvage_layout *table)
{
    struct buf sql = {0};
    bool with_key = table->by_key && table->key_at < 0;
    buf_print(&sql, "INSERT INTO \"%s\"(%s", table->told.name, with_key ? "rowid" : "");
    for (int i = 0; i < table->columns; i++)
        buf_print(&sql, "%s\"%s\"", i || with_key ? "," : "", table->column[i].name);
    buf_text(&sql, with_key ? ") VALUES(?" : ") VALUES(");
    for (int i = 0; i < table->columns; i++)
        buf_text(&sql, i || with_key ? ",?" : "?");
    buf_text(&sql, ")");
    int err = sql.broken ? ERR_NOMEM : db_prepare(salvage->fresh, &table->insert, buf_string(&sql));
    buf_clear(&sql);
    return err;
}

static int add_table(struct salvage *salvage, struct db_stmt *row)
{
    if (!MEM_GROW(salvage->tables, salvage->table_cap, salvage->table_count + 1))
        return ERR_NOMEM;
    struct salvage_layout *table = &salvage->tables[salvage->table_count++];
    *table = (struct salvage_layout){.root = (uint32_t)db_column_int(row, 1), .key_at = -1};
    snprintf(table->told.name, sizeof table->told.name, "%s", db_column_text(row, 0));
    table->by_key = !strstr(db_column_text(row, 2), "WITHOUT ROWID");
    table->told.known = true;
    bool keyframe = strcmp(table->told.name, "keyframe") == 0;
    table->told.derived = keyframe || strcmp(table->told.name, "curve") == 0;
    int err = read_columns(salvage, table);
    /* Old rows of `curve` are of use where the facts cannot say what is in them; keyframes are
     * not. */
    if (err == 0 && salvage->write && !keyframe)
        err = prepare_insert(salvage, table);
    return err;
}

int salvage_layouts(struct salvage *salvage)
{
    struct db_stmt *row = NULL;
    int err = db_prepare(salvage->fresh, &row,
                         "SELECT name, rootpage, sql FROM sqlite_master"
                         " WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY rootpage");
    while (err >= 0 && (err = db_step(row)) == DB_ROW)
        if ((err = add_table(salvage, row)) < 0)
            break;
    db_finalize(row);
    return err < 0 ? err : 0;
}

struct salvage_layout *salvage_find(struct salvage *salvage, const char *name, size_t bytes)
{
    for (size_t i = 0; i < salvage->table_count; i++) {
        struct salvage_layout *table = &salvage->tables[i];
        if (strlen(table->told.name) == bytes && memcmp(table->told.name, name, bytes) == 0)
            return table;
    }
    return NULL;
}
