#include <assert.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "merge_types.h"

/* Differences wrap: what comes out is what went in. */
static int64_t less(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t more(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

int merge_rows_put(struct merge *merge, struct merge_rows *rows, const struct merge_cell *cells,
                   size_t count)
{
    struct spool *spool = &merge->spool;
    struct spool_stream *stream = &rows->stream;
    uint64_t types = 0;
    assert(count <= 32);
    for (size_t i = 0; i < count; i++)
        types |= (uint64_t)cells[i].type << 2 * i;
    int err = spool_put_number(spool, stream, types);
    for (size_t i = 0; i < count && err == 0; i++) {
        const struct merge_cell *cell = &cells[i];
        if (cell->type == MERGE_NUMBER) {
            err = spool_put_signed(spool, stream, less(cell->number, rows->before[i]));
            rows->before[i] = cell->number;
        } else if (cell->type == MERGE_TEXT) {
            err = spool_put_number(spool, stream, (uint64_t)cell->number);
            if (err == 0)
                err = spool_put(spool, stream, cell->text, (size_t)cell->number);
        }
    }
    rows->count++;
    return err;
}

void merge_rows_read(struct merge_rows_reader *reader, const struct spool *spool,
                     const struct merge_rows *rows)
{
    *reader = (struct merge_rows_reader){.texts = NULL};
    spool_read(&reader->reader, spool, &rows->stream);
}

static int get_text(struct merge_rows_reader *reader, struct merge_cell *cell, size_t *used)
{
    uint64_t bytes = 0;
    if (spool_get_number(&reader->reader, &bytes) != 1 || bytes > INT32_MAX)
        return ERR_IO;
    if (!MEM_GROW(reader->texts, reader->text_cap, *used + bytes + 1))
        return ERR_NOMEM;
    cell->number = (int64_t)bytes;
    cell->text = NULL; /* set when the texts do not move any more */
    if (bytes && spool_get(&reader->reader, reader->texts + *used, bytes) != 1)
        return ERR_IO;
    *used += bytes;
    return 0;
}

static int get_cell(struct merge_rows_reader *reader, size_t at, size_t *used)
{
    struct merge_cell *cell = &reader->cells[at];
    int64_t change = 0;
    if (cell->type == MERGE_TEXT)
        return get_text(reader, cell, used);
    if (cell->type == MERGE_NULL)
        return 0;
    if (spool_get_signed(&reader->reader, &change) != 1)
        return ERR_IO;
    cell->number = reader->before[at] = more(reader->before[at], change);
    return 0;
}

int merge_rows_next(struct merge_rows_reader *reader, size_t count)
{
    uint64_t types = 0;
    size_t used = 0;
    int err = 0, got = spool_get_number(&reader->reader, &types);
    assert(count <= 32);
    if (got != 1)
        return got;
    for (size_t i = 0; i < count && err == 0; i++) {
        reader->cells[i] = (struct merge_cell){.type = (enum merge_type)(types >> 2 * i & 3)};
        err = get_cell(reader, i, &used);
    }
    used = 0;
    for (size_t i = 0; i < count && err == 0; i++)
        if (reader->cells[i].type == MERGE_TEXT) {
            reader->cells[i].text = reader->texts + used;
            used += (size_t)reader->cells[i].number;
        }
    return err < 0 ? err : 1;
}

void merge_rows_clear(struct merge_rows_reader *reader)
{
    spool_reader_clear(&reader->reader);
    mem_free(reader->texts);
    *reader = (struct merge_rows_reader){.texts = NULL};
}
