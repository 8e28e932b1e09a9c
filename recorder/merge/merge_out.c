#include "buf.h"
#include "error.h"
#include "merge_types.h"

#define ROWS_A_COMMIT 65536u
#define CHECKPOINT_BYTES (UINT64_C(64) << 20)

int merge_out_begin(struct merge *merge)
{
    merge->rows = 0;
    int err = db_begin(merge->out);
    return err < 0 ? merge_out_failed(merge, err) : 0;
}

int merge_out_prepare(struct merge *merge, const struct merge_table *table, struct db_stmt **out)
{
    struct buf sql = {0};
    buf_print(&sql, "INSERT INTO %s(", table->name);
    for (size_t i = 0; i < table->count; i++)
        buf_print(&sql, "%s%s", i ? "," : "", table->columns[i].name);
    for (size_t i = 0; i < table->count; i++)
        buf_text(&sql, i ? ",?" : ") VALUES(?");
    buf_text(&sql, ")");
    int err = sql.broken ? ERR_NOMEM : db_prepare(merge->out, out, buf_string(&sql));
    buf_clear(&sql);
    return err < 0 ? merge_out_failed(merge, err) : 0;
}

static int end(struct merge *merge)
{
    int err = db_commit(merge->out);
    if (err == 0 && db_log_bytes(merge->out) > CHECKPOINT_BYTES) {
        err = db_checkpoint(merge->out, false);
        err = err == ERR_BUSY ? 0 : err;
    }
    return err < 0 ? err : 0;
}

int merge_out_end(struct merge *merge)
{
    int err = end(merge);
    return err < 0 ? merge_out_failed(merge, err) : 0;
}

int merge_out_row(struct merge *merge, struct db_stmt *stmt, const struct merge_cell *cells,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (cells[i].type == MERGE_NUMBER)
            db_bind_int(stmt, (int)i, cells[i].number);
        else if (cells[i].type == MERGE_TEXT)
            db_bind_text(stmt, (int)i, cells[i].text ? cells[i].text : "", (int)cells[i].number);
        else
            db_bind_null(stmt, (int)i);
    }
    int err = db_run(stmt);
    if (err == 0 && ++merge->rows == ROWS_A_COMMIT) {
        err = end(merge);
        err = err == 0 ? db_begin(merge->out) : err;
        merge->rows = 0;
    }
    return err;
}
