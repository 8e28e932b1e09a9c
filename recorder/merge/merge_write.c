/*
 * The rows of all inputs into the output, with their new numbers and times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "merge_types.h"
#include "pqueue.h"

/* What the output says of a row is the row's fault, unless it is of the disk or of memory. */
static int row_failed(struct merge *merge, const struct merge_input *input,
                      const struct merge_table *table, int err)
{
    if (err != ERR_ARG && err != ERR_CORRUPT)
        return merge_out_failed(merge, err);
    return merge_damaged(merge, input, "a row of %s does not fit: %.200s", table->name,
                         db_message(merge->out));
}

/* ---- numbers and times ---- */

static int find_seq(struct merge *merge, struct merge_input *input, struct merge_cell *cell)
{
    if (cell->type != MERGE_NUMBER || cell->number >= DB_LARGEST)
        return 0;
    int err = turns_find(&input->order, &merge->spool, cell->number, &cell->number);
    return err < 0 ? merge_say(merge, err, "%s", base_err_text(err)) : 0;
}

/* 'rebuilt_until' of a process: an event, as text. `room` holds it until the row is written. */
static int find_setting(struct merge *merge, struct merge_input *input, struct merge_cell *cells,
                        char room[32])
{
    static const char key[] = "rebuilt_until";
    struct merge_cell seq = {.type = MERGE_NUMBER};
    if (cells[2].type != MERGE_TEXT || (size_t)cells[2].number != strlen(key) ||
        memcmp(cells[2].text, key, strlen(key)) != 0 || cells[3].type != MERGE_TEXT ||
        cells[3].number > 20)
        return 0;
    snprintf(room, 32, "%.*s", (int)cells[3].number, cells[3].text);
    seq.number = strtoll(room, NULL, 10);
    int err = find_seq(merge, input, &seq);
    cells[3].number = snprintf(room, 32, "%" PRId64, seq.number);
    cells[3].text = room;
    return err;
}

static void align_life(const struct merge_input *input, int64_t ns, struct merge_cell *cell)
{
    if (cell->type == MERGE_NUMBER && cell->number > 0)
        cell->number = clock_ns(&input->side, ns + cell->number) - clock_ns(&input->side, ns);
}

static int convert(struct merge *merge, struct merge_input *input, const struct merge_table *table,
                   struct merge_cell *cells, char room[32])
{
    int64_t ns = 0; /* as it was, of the last time in the row */
    int err = 0;
    for (size_t i = 0; i < table->count && err == 0; i++) {
        struct merge_cell *cell = &cells[i];
        enum merge_kind kind = table->columns[i].kind;
        if (kind == MERGE_SEQ)
            err = find_seq(merge, input, cell);
        else if (kind == MERGE_LIFE)
            align_life(input, ns, cell);
        else if (kind == MERGE_SETTING_VALUE)
            err = find_setting(merge, input, cells, room);
        if (kind == MERGE_NS && cell->type == MERGE_NUMBER) {
            ns = cell->number;
            cell->number = clock_ns(&input->side, ns);
        }
    }
    return err;
}

/* ---- one input after the other ---- */

static int write_rows(struct merge *merge, struct merge_input *input, enum merge_name which,
                      struct db_stmt *insert)
{
    const struct merge_table *table = &merge_tables[which];
    struct merge_rows_reader reader;
    char room[32];
    int err = 0, got;
    merge_rows_read(&reader, &merge->spool, &input->rows[which]);
    while (err == 0 && (got = merge_rows_next(&reader, table->count)) != 0) {
        err = got < 0 ? merge_say(merge, got, "%s", base_err_text(got))
                      : convert(merge, input, table, reader.cells, room);
        if (err < 0)
            break;
        err = merge_out_row(merge, insert, reader.cells, table->count);
        if (err < 0)
            err = row_failed(merge, input, table, err);
    }
    merge_rows_clear(&reader);
    return err;
}

static int write_by_file(struct merge *merge, enum merge_name which)
{
    struct db_stmt *insert = NULL;
    int err = merge_out_prepare(merge, &merge_tables[which], &insert);
    for (size_t i = 0; i < merge->options->count && err == 0; i++)
        err = write_rows(merge, &merge->inputs[i], which, insert);
    db_finalize(insert);
    return err;
}

/* ---- all inputs by the number of the event ---- */

struct source { /* the next row of an input; its key is new, the rest of it is not yet */
    struct merge_input *input;
    struct merge_rows_reader reader;
    int64_t key;
};

/* Sources are large, so that their heap is one of pointers. */
static bool is_first(struct source *const *a, struct source *const *b)
{
    return (*a)->key < (*b)->key;
}

/* 1, 0 behind the last row, or an error. */
static int next_row(struct merge *merge, struct source *source, const struct merge_table *table)
{
    int got = merge_rows_next(&source->reader, table->count);
    struct merge_cell key = source->reader.cells[0];
    if (got < 0)
        return merge_say(merge, got, "%s", base_err_text(got));
    int err = got == 1 ? find_seq(merge, source->input, &key) : 0;
    source->key = key.number;
    return err < 0 ? err : got;
}

static int write_source(struct merge *merge, struct source *source, const struct merge_table *table,
                        struct db_stmt *insert)
{
    char room[32];
    int err = convert(merge, source->input, table, source->reader.cells, room);
    if (err < 0)
        return err;
    err = merge_out_row(merge, insert, source->reader.cells, table->count);
    return err < 0 ? row_failed(merge, source->input, table, err) : 0;
}

static int interleave(struct merge *merge, struct source **sources, size_t count,
                      const struct merge_table *table, struct db_stmt *insert)
{
    int err = 0;
    while (count && err == 0) {
        err = write_source(merge, sources[0], table, insert);
        int got = err < 0 ? err : next_row(merge, sources[0], table);
        if (got == 0) {
            merge_rows_clear(&sources[0]->reader);
            sources[0] = sources[--count];
        }
        err = got < 0 ? got : 0;
        if (count)
            PQUEUE_SINK(sources, 0, count, is_first);
    }
    for (size_t i = 0; i < count; i++)
        merge_rows_clear(&sources[i]->reader);
    return err;
}

static int begin_source(struct merge *merge, struct source *source, enum merge_name which)
{
    merge_rows_read(&source->reader, &merge->spool, &source->input->rows[which]);
    int got = next_row(merge, source, &merge_tables[which]);
    if (got != 1)
        merge_rows_clear(&source->reader);
    return got;
}

static int write_by_seq(struct merge *merge, enum merge_name which)
{
    struct source *all = mem_alloc(merge->options->count, sizeof *all);
    struct source **sources = mem_alloc(merge->options->count, sizeof *sources);
    struct db_stmt *insert = NULL;
    size_t count = 0;
    int err = all && sources ? merge_out_prepare(merge, &merge_tables[which], &insert) : ERR_NOMEM;
    for (size_t i = 0; i < merge->options->count && err == 0; i++) {
        all[i].input = &merge->inputs[i];
        int got = begin_source(merge, &all[i], which);
        if (got == 1) {
            sources[count++] = &all[i];
            PQUEUE_RISE(sources, count - 1, is_first);
        }
        err = got < 0 ? got : 0;
    }
    if (err == 0)
        err = interleave(merge, sources, count, &merge_tables[which], insert);
    db_finalize(insert);
    mem_free(sources);
    mem_free(all);
    return err;
}

/* ---- curves, as they were told ---- */

enum { AT_HEAP, AT_QUANTITY, AT_LEVEL, AT_BUCKET, AT_FIRST, AT_MIN, AT_MAX, AT_LAST };

struct bucket { /* the one that waits: the next may fall into it */
    bool any;
    char quantity[16];
    struct merge_cell cells[8];
};

static int put_bucket(struct merge *merge, const struct merge_input *input, struct bucket *bucket,
                      struct db_stmt *insert)
{
    if (!bucket->any)
        return 0;
    bucket->any = false;
    int err = merge_out_row(merge, insert, bucket->cells, 8);
    return err < 0 ? row_failed(merge, input, &merge_tables[MERGE_TABLE_curve], err) : 0;
}

static bool is_same_bucket(const struct bucket *bucket, const struct merge_cell *cells)
{
    return bucket->any && bucket->cells[AT_HEAP].number == cells[AT_HEAP].number &&
           bucket->cells[AT_QUANTITY].number == cells[AT_QUANTITY].number &&
           memcmp(bucket->quantity, cells[AT_QUANTITY].text, (size_t)cells[AT_QUANTITY].number) ==
               0 &&
           bucket->cells[AT_BUCKET].number == cells[AT_BUCKET].number;
}

static void fold(struct bucket *bucket, const struct merge_cell *cells)
{
    struct merge_cell *own = bucket->cells;
    if (cells[AT_MIN].number < own[AT_MIN].number)
        own[AT_MIN].number = cells[AT_MIN].number;
    if (cells[AT_MAX].number > own[AT_MAX].number)
        own[AT_MAX].number = cells[AT_MAX].number;
    own[AT_LAST].number = cells[AT_LAST].number;
}

static int take_bucket(struct merge *merge, const struct merge_input *input, struct bucket *bucket,
                       const struct merge_cell *cells, struct db_stmt *insert)
{
    if (cells[AT_QUANTITY].type != MERGE_TEXT ||
        cells[AT_QUANTITY].number >= (int64_t)sizeof bucket->quantity)
        return merge_damaged(merge, input, "a curve of nothing that is known");
    if (is_same_bucket(bucket, cells)) {
        fold(bucket, cells);
        return 0;
    }
    int err = put_bucket(merge, input, bucket, insert);
    memcpy(bucket->cells, cells, sizeof bucket->cells);
    memcpy(bucket->quantity, cells[AT_QUANTITY].text, (size_t)cells[AT_QUANTITY].number);
    bucket->cells[AT_QUANTITY].text = bucket->quantity;
    bucket->any = true;
    return err;
}

static int write_curves_of(struct merge *merge, struct merge_input *input, struct db_stmt *insert)
{
    const struct merge_table *table = &merge_tables[MERGE_TABLE_curve];
    struct merge_rows_reader reader;
    struct bucket bucket = {.any = false};
    char room[32];
    int err = 0, got;
    merge_rows_read(&reader, &merge->spool, &input->rows[MERGE_TABLE_curve]);
    while (err == 0 && (got = merge_rows_next(&reader, table->count)) != 0) {
        err = got < 0 ? merge_say(merge, got, "%s", base_err_text(got))
                      : convert(merge, input, table, reader.cells, room);
        reader.cells[AT_BUCKET].number >>= reader.cells[AT_LEVEL].number & 63;
        if (err == 0)
            err = take_bucket(merge, input, &bucket, reader.cells, insert);
    }
    if (err == 0)
        err = put_bucket(merge, input, &bucket, insert);
    merge_rows_clear(&reader);
    return err;
}

static int write_curves(struct merge *merge)
{
    struct db_stmt *insert = NULL;
    int err = merge_out_prepare(merge, &merge_tables[MERGE_TABLE_curve], &insert);
    for (size_t i = 0; i < merge->options->count && err == 0; i++)
        err = write_curves_of(merge, &merge->inputs[i], insert);
    db_finalize(insert);
    return err;
}

int merge_write(struct merge *merge)
{
    int err = merge_out_begin(merge);
    for (int i = 0; i < MERGE_TABLES && err == 0; i++) {
        if (merge_tables[i].order == MERGE_BY_FILE)
            err = write_by_file(merge, (enum merge_name)i);
        else if (merge_tables[i].order == MERGE_BY_SEQ)
            err = write_by_seq(merge, (enum merge_name)i);
    }
    if (err == 0)
        err = write_curves(merge);
    return err < 0 ? err : merge_out_end(merge);
}
