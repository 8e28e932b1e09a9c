#include "batch.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "mem.h"
#include "private.h"
#include "search.h"

static const unsigned char cells_of[SCH_STATEMENT_COUNT] = {
#define STATEMENT(name, cells, sql) [SCH_##name] = (cells),
#include "statements.def"
#undef STATEMENT
};

struct batch *batch_new(void)
{
    return mem_alloc(1, sizeof(struct batch));
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
    if (batch->hide_paths)
        bytes = private_shorten(batch->text + batch->text_count, bytes);
    batch->text[batch->text_count + bytes] = '\0';
    *cell = (struct batch_cell){CELL_TEXT, (uint32_t)bytes, (int64_t)batch->text_count};
    batch->text_count += bytes + 1;
    return true;
}

static bool put_cell(struct batch *batch, struct batch_cell *cell, char letter, va_list *list)
{
    *cell = (struct batch_cell){CELL_NULL, 0, 0};
    if (letter == 's') {
        const char *text = va_arg(*list, const char *);
        return !text || put_text(batch, cell, text);
    }
    if (letter == '0')
        return true;
    assert(letter == 'i' || letter == 'n');
    int64_t value = va_arg(*list, int64_t);
    if (letter == 'i' || value != BATCH_NULL)
        *cell = (struct batch_cell){CELL_INT, 0, value};
    return true;
}

/* All or nothing: the counts move only when every cell is in place. */
bool batch_put(struct batch *batch, enum sch_statement statement, const char *letters, ...)
{
    size_t count = strlen(letters);
    bool fits = count == cells_of[statement];
    assert(fits);
    if (!fits || batch->cell_count + count > UINT32_MAX ||
        !MEM_GROW(batch->facts, batch->fact_cap, batch->fact_count + 1) ||
        !MEM_GROW(batch->cells, batch->cell_cap, batch->cell_count + count))
        return false;
    size_t text_before = batch->text_count;
    bool done = true;
    va_list list;
    va_start(list, letters);
    for (size_t i = 0; i < count && done; i++)
        done = put_cell(batch, &batch->cells[batch->cell_count + i], letters[i], &list);
    va_end(list);
    if (!done) {
        batch->text_count = text_before;
        return false;
    }
    batch->facts[batch->fact_count++] =
        (struct batch_fact){(uint32_t)statement, (uint32_t)batch->cell_count};
    batch->cell_count += count;
    return true;
}
