/*
 * csv: a row for each block, of the promised view allocations, with what it was for. With --at only
 * those that lived then.
 */
#include <string.h>

#include "category.h"
#include "error.h"
#include "export.h"
#include "living.h"
#include "mem.h"
#include "moment.h"
#include "query.h"
#include "span.h"

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},    {"device", NULL, EMIT_TEXT, 0},
    {"allocation", NULL, EMIT_PLAIN, 0}, {"size", NULL, EMIT_BYTES, 0},
    {"requested", NULL, EMIT_BYTES, 0},  {"step", NULL, EMIT_PLAIN, 0},
    {"phase", NULL, EMIT_TEXT, 0},       {"freed_step", NULL, EMIT_PLAIN, 0},
    {"freed_phase", NULL, EMIT_TEXT, 0}, {"site", NULL, EMIT_TEXT, 0},
    {"tag", NULL, EMIT_TEXT, 0},         {"alloc_ns", NULL, EMIT_NS, 0},
    {"life_ns", NULL, EMIT_NS, 0},       {"address", NULL, EMIT_PLAIN, 0},
    {"stream", NULL, EMIT_PLAIN, 0},     {"pool", NULL, EMIT_PLAIN, 0},
    {"segment", NULL, EMIT_PLAIN, 0},    {"module", NULL, EMIT_TEXT, 0},
    {"category", NULL, EMIT_TEXT, 0},    {"rule", NULL, EMIT_TEXT, 0},
};
#define OF_VIEW 18 /* of the columns: the rest is decided */

#define BLOCKS                                                                                     \
    "SELECT process, device, allocation, size, requested, step, phase, freed_step, freed_phase,"   \
    "  site, tag, alloc_ns, life_ns, address, stream, pool, segment, module,"                      \
    "  coalesce(free_seq, -1) AS free_seq, tag_id, phase_id FROM allocations WHERE "

struct writing {
    struct export *export;
    struct emit emit;
    struct category_rules *rules;
    struct query one; /* a block by its key; asked anew for each */
    struct row {
        int64_t allocation, size, free_seq, tag_id, phase_id;
        const char *device;
    } row;
};

static int put_row(struct writing *writing, struct db_stmt *cells, const char *category,
                   const char *rule)
{
    report_cells(&writing->emit, cells, 0, OF_VIEW);
    emit_text(&writing->emit, category);
    emit_text(&writing->emit, rule);
    writing->export->blocks++;
    writing->export->bytes += writing->row.size;
    return 0;
}

#define ROW_OUT(row)                                                                               \
    Q_OUT(Q_INT((row).allocation), Q_SIZE((row).size), Q_TEXT((row).device),                       \
          Q_INT((row).free_seq), Q_OPT((row).tag_id), Q_OPT((row).phase_id), Q_REST)

/* ---- all of them ---- */

static int put_decided(struct writing *writing, struct db_stmt *cells)
{
    const struct row *row = &writing->row;
    struct category_verdict verdict;
    struct category_block block = {row->allocation, row->free_seq, row->tag_id, row->phase_id,
                                   row->size};
    int err = category_decide(writing->rules, &block, &verdict);
    return err < 0 ? err : put_row(writing, cells, purpose_name(verdict.purpose), verdict.rule);
}

static int put_process(struct writing *writing, const struct report_process *process)
{
    struct report *report = writing->export->report;
    int err = category_load(report->db, process->id, &writing->rules);
    if (err < 0)
        return err;
    struct query query = query_ask(
        report->db, BLOCKS "process = ?1 AND" SPAN_HAS("allocation") " ORDER BY allocation",
        Q_IN(process->id), ROW_OUT(writing->row));
    while (query_next(&query))
        if (report_scope_called(report, process->id, writing->row.device))
            query_fail(&query, put_decided(writing, query.stmt));
    err = query_end(&query);
    category_free(writing->rules);
    return err;
}

/* ---- those of a moment ---- */

static bool see_block(void *self, const struct living_block *block)
{
    struct writing *writing = self;
    query_again(&writing->one, Q_IN(block->seq));
    if (query_next(&writing->one))
        put_row(writing, writing->one.stmt, purpose_name(block->purpose), block->rule);
    return writing->one.err >= 0;
}

static int put_scope(struct report *report, const struct report_scope *scope,
                     const struct instant *instant, const void *how)
{
    struct writing *writing = *(struct writing *const *)how;
    writing->one = query_ask(report->db, BLOCKS "allocation = ?1", Q_IN(0), ROW_OUT(writing->row));
    int err =
        living_read(report->db, scope->process.id, scope->device, instant->seq, see_block, writing);
    int ended = query_end(&writing->one);
    return ended < 0 ? ended : err;
}

int export_csv(struct export *export)
{
    struct writing writing = {.export = export}, *how = &writing;
    struct report *report = export->report;
    int err = 0;
    export->what = "blocks";
    emit_begin(&writing.emit, EMIT_CSV, true, "export", NULL);
    writing.emit.safe = writing.emit.safe && !export->out->path;
    emit_stream(&writing.emit, export->out->file);
    EMIT_SECTION(&writing.emit, "blocks", NULL, EMIT_ROWS, columns);
    if (export->moment)
        err = moment_each(report, export->moment, moment_find, put_scope, &how);
    for (size_t i = 0; !export->moment && i < report->process_count && err >= 0; i++)
        err = put_process(&writing, &report->processes[i]);
    int ended = emit_finish(&writing.emit, export->out->file);
    long bytes = ftell(export->out->file);
    export->out->bytes = bytes > 0 ? (uint64_t)bytes : 0; /* it went past out_put */
    export->bytes = export->moment ? export->bytes : 0;   /* of blocks that never met: no sum */
    return err < 0 ? err : ended;
}
