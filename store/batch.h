/*
 * batch.h - what the drain hands to the writer: rows, ready to be bound.
 *
 * A batch is filled by the drain thread, pushed into the queue, written by the writer thread in one
 * transaction or as part of one, and freed there. Inside a batch the order of writing is fixed:
 * facts (definitions, phases, ...) as they were put, then allocations in seq order, then `ends`,
 * then `late_tags`. So every row that another row names stands before it.
 *
 * An allocation that dies before its batch is pushed is complete when it is inserted; one that
 * outlives the batch is inserted with DB_LIVING_NS and DB_LIVING_SEQ and completed by an `end`
 * of a later batch.
 */
#ifndef TIDEMARK_STORE_BATCH_H
#define TIDEMARK_STORE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "statements.h"

#define BATCH_NOT_KNOWN (-1) /* requested, tag, site, segment, module: stored as NULL */

/* One row of table allocation. */
struct batch_alloc {
    int64_t seq;
    uint64_t address;
    int64_t size;
    int64_t requested; /* BATCH_NOT_KNOWN */
    int64_t alloc_ns;
    int64_t life_ns;  /* DB_LIVING_NS */
    int64_t free_seq; /* DB_LIVING_SEQ */
    int64_t segment;  /* segment.seq or BATCH_NOT_KNOWN */
    int32_t heap;
    int32_t site;
    int32_t tag;
    int32_t module;
};

struct batch_end { /* of an allocation or a segment stored earlier */
    int64_t seq;
    int64_t life_ns;
    int64_t free_seq;
};

struct batch_tag {
    int64_t seq;
    int64_t tag;
};

struct batch_cell {
    enum { CELL_NULL, CELL_INT, CELL_TEXT } kind;
    uint32_t bytes; /* of text */
    int64_t value;  /* integer, or offset into batch.text */
};

struct batch_fact { /* cells first_cell .. + sch_statement_cells(statement) */
    uint32_t statement;
    uint32_t first_cell;
};

struct batch {
    struct batch *next; /* of the queue */
    struct batch_alloc *allocs;
    size_t alloc_count, alloc_cap;
    struct batch_end *ends;
    size_t end_count, end_cap;
    struct batch_tag *late_tags;
    size_t late_tag_count, late_tag_cap;
    struct batch_fact *facts;
    size_t fact_count, fact_cap;
    struct batch_cell *cells;
    size_t cell_count, cell_cap;
    char *text;
    size_t text_count, text_cap;
    bool private;         /* paths in texts become base names: see private.h */
    bool commit;          /* commit after this batch */
    uint64_t made_ns;     /* when the drain began to fill it: how far the file is behind */
    uint64_t event_count; /* drained for it */
};

struct batch *batch_new(bool private);
void batch_free(struct batch *batch);
bool batch_is_empty(const struct batch *batch);
size_t batch_bytes(const struct batch *batch); /* memory it holds: the queue is bounded by it */

/* Return NULL or false without memory; the caller then counts the loss. */
struct batch_alloc *batch_add_alloc(struct batch *batch);
struct batch_alloc *batch_find_alloc(struct batch *batch, int64_t seq); /* NULL: not in it */
bool batch_add_end(struct batch *batch, int64_t seq, int64_t life_ns, int64_t free_seq);
bool batch_add_late_tag(struct batch *batch, int64_t seq, int64_t tag);

/* One fact: batch_put_frame(batch, &(struct row_frame){.id = id, .line = row_opt(line)}). */
#define STATEMENT(NAME, name, sql, columns)                                                        \
    bool batch_put_##name(struct batch *batch, const struct row_##name *row);
#include "statements.def"
#undef STATEMENT

#define BATCH_NULL ROW_UNKNOWN

/* Facts that belong together: put them all, or go back to the mark. */
struct batch_mark {
    size_t facts, cells, text;
};

static inline struct batch_mark batch_mark(const struct batch *batch)
{
    return (struct batch_mark){batch->fact_count, batch->cell_count, batch->text_count};
}

static inline void batch_back_to(struct batch *batch, struct batch_mark mark)
{
    batch->fact_count = mark.facts;
    batch->cell_count = mark.cells;
    batch->text_count = mark.text;
}

#endif
