/*
 * writer_sink.c - rows of a batch into statements, in the order that batch.h promises. Statements
 * are prepared when they are first needed and stay so.
 */
#include "writer_sink.h"

#include <assert.h>

#include "error.h"
#include "mem.h"

struct writer_sink {
    struct db *db;
    struct db_stmt *statements[SCH_STATEMENT_COUNT]; /* NULL = not needed yet */
    struct writer_rows rows;
    struct queue *queue; /* to tick; may be NULL */
    unsigned untold;     /* rows since the last tick */
};

#define ROWS_A_TICK 256u /* well under a millisecond */

static int run(struct writer_sink *sink, struct db_stmt *stmt)
{
    if (++sink->untold >= ROWS_A_TICK && sink->queue) {
        sink->untold = 0;
        queue_tick(sink->queue);
    }
    return db_run(stmt);
}

void writer_sink_tick(struct writer_sink *sink, struct queue *queue)
{
    sink->queue = queue;
}

int writer_sink_new(struct writer_sink **out, struct db *db)
{
    *out = mem_alloc(1, sizeof **out);
    if (!*out)
        return ERR_NOMEM;
    (*out)->db = db;
    return 0;
}

void writer_sink_free(struct writer_sink *sink)
{
    if (!sink)
        return;
    for (int i = 0; i < SCH_STATEMENT_COUNT; i++)
        db_finalize(sink->statements[i]);
    mem_free(sink);
}

const struct writer_rows *writer_sink_rows(const struct writer_sink *sink)
{
    return &sink->rows;
}

void writer_sink_back_to(struct writer_sink *sink, const struct writer_rows *rows)
{
    sink->rows = *rows;
}

static struct db_stmt *prepared(struct writer_sink *sink, enum sch_statement which, int *err)
{
    *err = 0;
    if (!sink->statements[which])
        *err = db_prepare_known(sink->db, &sink->statements[which], which);
    return sink->statements[which];
}

/* What is bound stays bound: most values of these columns are those of the row before. */
static void bind_known(struct db_stmt *stmt, int at, int64_t value, int64_t bound)
{
    if (value == bound)
        return;
    if (value == BATCH_NOT_KNOWN)
        db_bind_null(stmt, at);
    else
        db_bind_int(stmt, at, value);
}

static int write_fact(struct writer_sink *sink, const struct batch *batch,
                      const struct batch_fact *fact)
{
    int err;
    if (fact->statement >= SCH_STATEMENT_COUNT)
        return ERR_INTERNAL;
    enum sch_statement which = (enum sch_statement)fact->statement;
    struct db_stmt *stmt = prepared(sink, which, &err);
    if (err < 0)
        return err;
    const struct batch_cell *cell = &batch->cells[fact->first_cell];
    int count = (int)sch_statement_cells(which);
    assert(fact->first_cell + (size_t)count <= batch->cell_count);
    for (int i = 0; i < count; i++, cell++) {
        switch (cell->kind) {
        case CELL_NULL:
            db_bind_null(stmt, i);
            break;
        case CELL_INT:
            db_bind_int(stmt, i, cell->value);
            break;
        case CELL_TEXT:
            db_bind_text(stmt, i, batch->text + cell->value, (int)cell->bytes);
            break;
        }
    }
    if (sch_statement_sql(which)[0] == 'I')
        sink->rows.inserted++;
    else
        sink->rows.updated++;
    return run(sink, stmt);
}

static int write_allocs(struct writer_sink *sink, const struct batch *batch)
{
    int err;
    struct db_stmt *stmt = prepared(sink, SCH_ALLOCATION, &err);
    const struct batch_alloc *row = batch->allocs, *end = row + batch->alloc_count;
    struct batch_alloc none = {.heap = INT32_MIN,
                               .requested = INT64_MIN,
                               .site = INT32_MIN,
                               .tag = INT32_MIN,
                               .segment = INT64_MIN,
                               .module = INT32_MIN};
    for (const struct batch_alloc *last = &none; err == 0 && row < end; last = row++) {
        db_bind_int(stmt, SCH_AT(allocation, seq), row->seq);
        bind_known(stmt, SCH_AT(allocation, heap), row->heap, last->heap);
        db_bind_int(stmt, SCH_AT(allocation, address), (int64_t)row->address);
        db_bind_int(stmt, SCH_AT(allocation, size), row->size);
        bind_known(stmt, SCH_AT(allocation, requested), row->requested, last->requested);
        db_bind_int(stmt, SCH_AT(allocation, alloc_ns), row->alloc_ns);
        db_bind_int(stmt, SCH_AT(allocation, life_ns), row->life_ns);
        db_bind_int(stmt, SCH_AT(allocation, free_seq), row->free_seq);
        bind_known(stmt, SCH_AT(allocation, site), row->site, last->site);
        bind_known(stmt, SCH_AT(allocation, tag), row->tag, last->tag);
        bind_known(stmt, SCH_AT(allocation, segment), row->segment, last->segment);
        bind_known(stmt, SCH_AT(allocation, module), row->module, last->module);
        err = run(sink, stmt);
    }
    sink->rows.inserted += batch->alloc_count;
    return err;
}

static int write_ends(struct writer_sink *sink, const struct batch *batch)
{
    int err;
    struct db_stmt *stmt = prepared(sink, SCH_ALLOCATION_END, &err);
    const struct batch_end *row = batch->ends, *end = row + batch->end_count;
    for (; err == 0 && row < end; row++) {
        db_bind_int(stmt, SCH_AT(allocation_end, seq), row->seq);
        db_bind_int(stmt, SCH_AT(allocation_end, life_ns), row->life_ns);
        db_bind_int(stmt, SCH_AT(allocation_end, free_seq), row->free_seq);
        err = run(sink, stmt);
    }
    sink->rows.updated += batch->end_count;
    return err;
}

static int write_late_tags(struct writer_sink *sink, const struct batch *batch)
{
    int err;
    struct db_stmt *stmt = prepared(sink, SCH_ALLOCATION_TAG, &err);
    const struct batch_tag *row = batch->late_tags, *end = row + batch->late_tag_count;
    for (; err == 0 && row < end; row++) {
        db_bind_int(stmt, SCH_AT(allocation_tag, seq), row->seq);
        db_bind_int(stmt, SCH_AT(allocation_tag, tag), row->tag);
        err = run(sink, stmt);
    }
    sink->rows.updated += batch->late_tag_count;
    return err;
}

int writer_sink_write(struct writer_sink *sink, const struct batch *batch)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < batch->fact_count; i++)
        err = write_fact(sink, batch, &batch->facts[i]);
    if (err == 0 && batch->alloc_count)
        err = write_allocs(sink, batch);
    if (err == 0 && batch->end_count)
        err = write_ends(sink, batch);
    if (err == 0 && batch->late_tag_count)
        err = write_late_tags(sink, batch);
    return err;
}
