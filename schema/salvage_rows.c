/*
 * salvage_rows.c - one cell of a page: its record, whether it can be a row of the table, and its
 * way into the new database.
 */
#include <string.h>

#include "error.h"
#include "mem.h"
#include "salvage_types.h"

#define ROWS_A_COMMIT 50000u
#define LOG_BYTES ((uint64_t)32 << 20)

/* ---- the payload ---- */

static bool is_blank(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

/* What follows on overflow pages. They have to belong to nothing else; one of zeros was wiped. */
static bool read_overflow(struct salvage *salvage, uint32_t number, size_t got, size_t whole,
                          bool claim, int *err)
{
    const struct pages *pages = &salvage->pages;
    for (size_t room = pages->usable - 4; got < whole;) {
        size_t part = whole - got < room ? whole - got : room;
        if (number == 0 || number > pages->count || salvage_seen(salvage, number))
            return false;
        int code = pages_read(pages, number, salvage->page);
        if (code == ERR_IO)
            *err = code;
        if (code < 0 || is_blank(salvage->page, 4 + part))
            return false;
        if (claim)
            salvage_see(salvage, number);
        memcpy(salvage->payload + got, salvage->page + 4, part);
        got += part;
        number = pages_four(salvage->page);
    }
    return number == 0;
}

const unsigned char *salvage_payload(struct salvage *salvage, const struct btree_cell *cell,
                                     bool claim, int *err)
{
    if (cell->local_bytes == cell->payload_bytes)
        return cell->payload;
    if (cell->payload_bytes / salvage->pages.usable > salvage->pages.count)
        return NULL;
    if (salvage->payload_cap < cell->payload_bytes) {
        unsigned char *more = mem_resize(salvage->payload, 1, cell->payload_bytes);
        if (!more) {
            *err = ERR_NOMEM;
            return NULL;
        }
        salvage->payload = more;
        salvage->payload_cap = cell->payload_bytes;
    }
    memcpy(salvage->payload, cell->payload, cell->local_bytes);
    bool whole =
        read_overflow(salvage, cell->overflow, cell->local_bytes, cell->payload_bytes, claim, err);
    return whole ? salvage->payload : NULL;
}

/* ---- the row ---- */

static bool number_fits(const struct salvage_column *column, int64_t number)
{
    switch (column->range) {
    case RANGE_NOT_NEGATIVE:
        return number >= 0;
    case RANGE_LIFE:
        return number >= 0 || number == DB_LIVING_NS;
    case RANGE_FREE:
        return number >= 0 || number == DB_LIVING_SEQ;
    case RANGE_ANY:
    default:
        return true;
    }
}

static bool value_fits(const struct salvage_column *column, const struct btree_value *value)
{
    switch (value->type) {
    case BTREE_NULL:
        return !column->not_null;
    case BTREE_INT:
        return column->number && number_fits(column, value->number);
    case BTREE_TEXT:
        return column->text && (!value->bytes || !memchr(value->text, 0, value->bytes));
    case BTREE_REAL:
    case BTREE_BLOB:
    default:
        return false; /* no column of ours holds one */
    }
}

/* A block dies when it is there. */
static bool ends_fit(const struct salvage_layout *table, const struct btree_value *values)
{
    if (table->alloc_seq < 0)
        return true;
    const struct btree_value *death = &values[table->free_seq], *birth = &values[table->alloc_seq];
    return death->type != BTREE_INT || death->number == DB_LIVING_SEQ ||
           death->number >= birth->number;
}

bool salvage_record(struct salvage *salvage, const struct salvage_layout *table,
                    const struct btree_cell *cell, bool claim, struct btree_value *values, int *err)
{
    struct btree_value stored[SALVAGE_COLUMNS];
    const unsigned char *payload = salvage_payload(salvage, cell, claim, err);
    if (!payload)
        return false;
    int count = btree_record(payload, cell->payload_bytes, stored, SALVAGE_COLUMNS);
    if (count <= 0 || count > table->columns)
        return false;
    for (int i = 0; i < table->columns; i++) /* columns at the end that are not there are NULL */
        values[table->order[i]] = i < count ? stored[i] : (struct btree_value){.type = BTREE_NULL};
    if (table->key_at >= 0) {
        if (values[table->key_at].type != BTREE_NULL)
            return false;
        values[table->key_at] = (struct btree_value){.type = BTREE_INT, .number = cell->key};
    }
    for (int i = 0; i < table->columns; i++)
        if (!value_fits(&table->column[i], &values[i]))
            return false;
    return ends_fit(table, values);
}

/* ---- writing ---- */

static void bind(struct db_stmt *insert, int at, const struct btree_value *value)
{
    if (value->type == BTREE_INT)
        db_bind_int(insert, at, value->number);
    else if (value->type == BTREE_TEXT)
        db_bind_text(insert, at, (const char *)value->text, (int)value->bytes);
    else
        db_bind_null(insert, at);
}

static int commit_now_and_then(struct salvage *salvage)
{
    if (++salvage->untold < ROWS_A_COMMIT)
        return 0;
    salvage->untold = 0;
    int err = db_commit(salvage->fresh);
    if (err == 0 && db_log_bytes(salvage->fresh) > LOG_BYTES)
        err = db_checkpoint(salvage->fresh, false);
    return err < 0 ? err : db_begin(salvage->fresh);
}

/* ERR_ARG: the database does not take it, since its key is there already. */
static int insert_row(struct salvage *salvage, const struct salvage_layout *table,
                      const struct btree_cell *cell, const struct btree_value *values)
{
    int at = 0;
    if (table->by_key && table->key_at < 0)
        db_bind_int(table->insert, at++, cell->key);
    for (int i = 0; i < table->columns; i++)
        bind(table->insert, at++, &values[i]);
    int err = db_run(table->insert);
    return err < 0 ? err : commit_now_and_then(salvage);
}

int salvage_row(struct salvage *salvage, struct salvage_layout *table,
                const struct btree_cell *cell)
{
    struct btree_value values[SALVAGE_COLUMNS];
    int err = 0;
    table->told.found++;
    bool fits = salvage_record(salvage, table, cell, true, values, &err);
    if (fits && table->insert)
        err = insert_row(salvage, table, cell, values);
    if (err < 0 && err != ERR_ARG)
        return err;
    if (fits && err == 0)
        table->told.saved++;
    else
        table->told.refused++;
    return 0;
}
