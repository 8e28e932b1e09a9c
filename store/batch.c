#include "batch.h"

#include <assert.h>
#include <string.h>

#include "mem.h"
#include "private.h"
#include "search.h"

struct batch *batch_new(bool private)
{
    struct batch *batch = mem_alloc(1, sizeof *batch);
    if (batch)
        batch->private = private;
    return batch;
}

void batch_free(struct batch *batch)
{
    if (!batch)
        return;
    mem_free(batch->allocs);
    mem_free(batch->ends);
    mem_free(batch->late_tags);
    mem_free(batch->facts);
    mem_free(batch->cells);
    mem_free(batch->text);
    mem_free(batch);
}

bool batch_is_empty(const struct batch *batch)
{
    return !batch->alloc_count && !batch->end_count && !batch->late_tag_count && !batch->fact_count;
}

size_t batch_bytes(const struct batch *batch)
{
    return sizeof *batch + batch->alloc_cap * sizeof *batch->allocs +
           batch->end_cap * sizeof *batch->ends + batch->late_tag_cap * sizeof *batch->late_tags +
           batch->fact_cap * sizeof *batch->facts + batch->cell_cap * sizeof *batch->cells +
           batch->text_cap;
}

struct batch_alloc *batch_add_alloc(struct batch *batch)
{
    if (!MEM_GROW(batch->allocs, batch->alloc_cap, batch->alloc_count + 1))
        return NULL;
    return &batch->allocs[batch->alloc_count++];
}

struct batch_alloc *batch_find_alloc(struct batch *batch, int64_t seq)
{
    size_t at;
    SEARCH_FIRST(at, 0, batch->alloc_count, batch->allocs[at].seq < seq);
    bool found = at < batch->alloc_count && batch->allocs[at].seq == seq;
    return found ? &batch->allocs[at] : NULL;
}

bool batch_add_end(struct batch *batch, int64_t seq, int64_t life_ns, int64_t free_seq)
{
    if (!MEM_GROW(batch->ends, batch->end_cap, batch->end_count + 1))
        return false;
    batch->ends[batch->end_count++] = (struct batch_end){seq, life_ns, free_seq};
    return true;
}

bool batch_add_late_tag(struct batch *batch, int64_t seq, int64_t tag)
{
    if (!MEM_GROW(batch->late_tags, batch->late_tag_cap, batch->late_tag_count + 1))
        return false;
    batch->late_tags[batch->late_tag_count++] = (struct batch_tag){seq, tag};
    return true;
}

static bool put_text(struct batch *batch, struct batch_cell *cell, const char *text)
{
    size_t bytes = strlen(text);
    if (bytes >= UINT32_MAX ||
        !MEM_GROW(batch->text, batch->text_cap, batch->text_count + bytes + 1))
        return false;
    memcpy(batch->text + batch->text_count, text, bytes);
    if (batch->private)
        bytes = private_shorten(batch->text + batch->text_count, bytes);
    batch->text[batch->text_count + bytes] = '\0';
    *cell = (struct batch_cell){CELL_TEXT, (uint32_t)bytes, (int64_t)batch->text_count};
    batch->text_count += bytes + 1;
    return true;
}

/* A fact while its cells are put: the counts move only when every cell is in place. */
struct fact {
    struct batch *batch;
    struct batch_cell *cell; /* the next */
    size_t text_before;
    bool done;
};

static bool begin_fact(struct fact *fact, struct batch *batch, size_t cells)
{
    if (batch->cell_count + cells > UINT32_MAX ||
        !MEM_GROW(batch->facts, batch->fact_cap, batch->fact_count + 1) ||
        !MEM_GROW(batch->cells, batch->cell_cap, batch->cell_count + cells))
        return false;
    *fact = (struct fact){batch, batch->cells + batch->cell_count, batch->text_count, true};
    return true;
}

static bool end_fact(const struct fact *fact, enum sch_statement which)
{
    struct batch *batch = fact->batch;
    if (!fact->done) {
        batch->text_count = fact->text_before;
        return false;
    }
    assert((size_t)(fact->cell - batch->cells) == batch->cell_count + sch_statement_cells(which));
    batch->facts[batch->fact_count++] =
        (struct batch_fact){(uint32_t)which, (uint32_t)batch->cell_count};
    batch->cell_count = (size_t)(fact->cell - batch->cells);
    return true;
}

static inline void put_INT(struct fact *fact, int64_t value)
{
    *fact->cell++ = (struct batch_cell){CELL_INT, 0, value};
}

static inline void put_OPT(struct fact *fact, struct row_opt number)
{
    *fact->cell++ = (struct batch_cell){number.known ? CELL_INT : CELL_NULL, 0, number.value};
}

static void put_NTEXT(struct fact *fact, const char *text)
{
    *fact->cell = (struct batch_cell){CELL_NULL, 0, 0};
    if (text)
        fact->done = fact->done && put_text(fact->batch, fact->cell, text);
    fact->cell++;
}

static void put_TEXT(struct fact *fact, const char *text)
{
    assert(text);
    put_NTEXT(fact, text);
}

static void put_ANY(struct fact *fact, struct row_any any)
{
    if (any.text)
        put_TEXT(fact, any.text);
    else
        put_OPT(fact, any.number);
}

#define COLUMN(type, name) put_##type(&fact, row->name);
#define STATEMENT(NAME, name, sql, columns)                                                        \
    bool batch_put_##name(struct batch *batch, const struct row_##name *row)                       \
    {                                                                                              \
        struct fact fact;                                                                          \
        if (!begin_fact(&fact, batch, SCH_CELLS(name)))                                            \
            return false;                                                                          \
        columns return end_fact(&fact, SCH_##NAME);                                                \
    }
#include "statements.def"
#undef STATEMENT
#undef COLUMN
