#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { QUANTITY = SCH_AT(curve, quantity) };

/* How many leading cells are the primary key. */
static size_t keys_of(enum sch_statement table)
{
    switch (table) {
    case SCH_PHASE_DEVICE:
    case SCH_STRETCH:
    case SCH_SITE:
    case SCH_KEYFRAME:
        return 2;
    case SCH_CURVE: /* one is a text */
        return 4;
    case SCH_LOST:
    case SCH_TORN:
    case SCH_ANOMALY:
    case SCH_OVERHEAD:
    case SCH_CLOCK:
    case SCH_MAPPING:
    case SCH_DRIVER_MAPPING:
    case SCH_SAMPLE:
    case SCH_SETTING:
    case SCH_META: /* its key is a text: all rows are kept */
        return 0;
    default:
        return 1;
    }
}

static void free_row(struct row *row)
{
    for (size_t i = 0; i < ROW_CELLS; i++)
        free(row->text[i]);
}

static bool same_key(const struct row *a, const struct row *b, enum sch_statement table)
{
    for (size_t i = 0; i < keys_of(table); i++)
        if (a->at[i] != b->at[i])
            return false;
    return table != SCH_CURVE || strcmp(a->text[QUANTITY], b->text[QUANTITY]) == 0;
}

static uint64_t key_of(enum sch_statement table, const int64_t *keys, const char *quantity)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < keys_of(table); i++) {
        uint64_t seed = hash ^ (uint64_t)keys[i];
        hash = test_random(&seed);
    }
    return hash + (table == SCH_CURVE ? (uint64_t)(unsigned char)quantity[0] : 0);
}

static void remember(struct rows *rows, enum sch_statement which, size_t at)
{
    struct row_table *table = &rows->tables[which];
    const struct row *row = &table->rows[at];
    if (keys_of(which))
        REQUIRE(map_put(&table->by_key, key_of(which, row->at, row->text[QUANTITY]), at, NULL));
}

static struct row *look_up(const struct rows *rows, enum sch_statement which, const int64_t *keys,
                           const char *quantity)
{
    const struct row_table *table = &rows->tables[which];
    uint64_t at = map_get(&table->by_key, key_of(which, keys, quantity));
    return at == MAP_NONE ? NULL : &table->rows[at];
}

static void drop_curve(struct rows *rows, const struct row *what)
{
    struct row_table *curve = &rows->tables[SCH_CURVE];
    size_t kept = 0;
    for (size_t i = 0; i < curve->count; i++) {
        struct row *row = &curve->rows[i];
        if (row->at[0] == what->at[0] &&
            strcmp(row->text[QUANTITY], what->text[SCH_AT(curve_drop, quantity)]) == 0 &&
            row->at[SCH_AT(curve, level)] == what->at[SCH_AT(curve_drop, level)])
            free_row(row);
        else
            curve->rows[kept++] = *row;
    }
    curve->count = kept;
    map_clear(&curve->by_key);
    for (size_t i = 0; i < kept; i++)
        remember(rows, SCH_CURVE, i);
}

/* Whether the row is one of those that the statement takes out. What is settled never is. */
static bool goes(const struct row *row, enum sch_statement drop, const struct row *what)
{
    if (drop == SCH_STRETCH_DROP)
        return row->at[0] == what->at[0] && row->at[1] >= what->at[1];
    bool it_is = row->at[0] == what->at[0];
    CHECK(!it_is || drop != SCH_PHASE_DROP || row->at[PHASE_SETTLED] == ROW_NULL);
    return it_is;
}

static void drop_rows(struct rows *rows, enum sch_statement which, enum sch_statement drop,
                      const struct row *what)
{
    struct row_table *table = &rows->tables[which];
    size_t kept = 0, before = table->count;
    for (size_t i = 0; i < before; i++) {
        if (goes(&table->rows[i], drop, what))
            free_row(&table->rows[i]);
        else
            table->rows[kept++] = table->rows[i];
    }
    table->count = kept;
    if (kept != before) {
        map_clear(&table->by_key);
        for (size_t i = 0; i < kept; i++)
            remember(rows, which, i);
    }
}

static void end_segment(struct rows *rows, const struct row *end)
{
    for (size_t i = 0; i < rows->tables[SCH_SEGMENT].count; i++) {
        struct row *row = &rows->tables[SCH_SEGMENT].rows[i];
        if (row->at[0] == end->at[0]) {
            CHECK_INT(row->at[SCH_AT(segment, free_seq)], ROW_NULL);
            row->at[SCH_AT(segment, life_ns)] = end->at[SCH_AT(segment_end, life_ns)];
            row->at[SCH_AT(segment, free_seq)] = end->at[SCH_AT(segment_end, free_seq)];
            return;
        }
    }
    CHECK(false && "an end of a segment that has no row");
}

/* The cells behind the key of an UPDATE go into these columns of the row. */
static bool complete(struct rows *rows, enum sch_statement which, const struct row *what)
{
    static const struct {
        enum sch_statement update, table;
        size_t columns[2];
        bool once;
    } updates[] = {
        {SCH_DRIVER_MEMORY_OWNER, SCH_DRIVER_MEMORY, {MEMORY_HEAP, MEMORY_BLOCKS}, false},
        {SCH_DRIVER_MEMORY_END, SCH_DRIVER_MEMORY, {MEMORY_LIFE, MEMORY_FREE_SEQ}, true},
        {SCH_GAP_END, SCH_GAP, {GAP_LAST_SEQ, GAP_END_NS}, true},
        {SCH_DEVICE_TOTAL, SCH_DEVICE, {DEVICE_TOTAL_BYTES, DEVICE_TOTAL_BYTES}, true},
    };
    for (size_t i = 0; i < sizeof updates / sizeof *updates; i++) {
        if (updates[i].update != which)
            continue;
        struct row *row = look_up(rows, updates[i].table, what->at, NULL);
        REQUIRE(row != NULL);
        for (size_t k = 0; k + 1 < sch_statement_cells(which); k++) {
            if (updates[i].once)
                CHECK_INT(row->at[updates[i].columns[k]], ROW_NULL);
            row->at[updates[i].columns[k]] = what->at[k + 1];
        }
        return true;
    }
    return false;
}

static struct batch_alloc *find_alloc(const struct rows *rows, int64_t seq)
{
    size_t low = 0, high = rows->alloc_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->allocs[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < rows->alloc_count && rows->allocs[low].seq == seq;
    return found ? &rows->allocs[low] : NULL;
}

/* Of an earlier batch: facts stand before allocations. */
static void amend(struct rows *rows, const struct row *what)
{
    struct batch_alloc *alloc = find_alloc(rows, what->at[0]);
    REQUIRE(alloc != NULL);
    if (what->at[1] != ROW_NULL)
        alloc->requested = what->at[1];
    if (what->at[2] != ROW_NULL)
        alloc->segment = what->at[2];
}

/* What is settled comes with a number of its own, is whole, and is not written once more. */
static void check_phase(struct rows *rows, const struct row *row)
{
    const struct row *old = look_up(rows, SCH_PHASE, row->at, NULL);
    CHECK(!old || old->at[PHASE_SETTLED] == ROW_NULL);
    if (row->at[PHASE_SETTLED] == ROW_NULL)
        return;
    CHECK_INT(row->at[PHASE_SETTLED], ++rows->settled);
    CHECK(row->at[0] < DB_LOOSE_PHASE);
    CHECK(row->text[PHASE_ENDED] && row->at[PHASE_END_SEQ] != ROW_NULL);
    CHECK(row->at[PHASE_PARENT] < DB_LOOSE_PHASE);
}

static void put(struct rows *rows, enum sch_statement which, struct row *row)
{
    struct row_table *table = &rows->tables[which];
    if (which == SCH_ALLOCATION_AMEND) {
        amend(rows, row);
        free_row(row);
        return;
    }
    if (which == SCH_PHASE_DROP || which == SCH_PHASE_DEVICE_DROP || which == SCH_STRETCH_DROP) {
        drop_rows(rows,
                  which == SCH_PHASE_DROP          ? SCH_PHASE
                  : which == SCH_PHASE_DEVICE_DROP ? SCH_PHASE_DEVICE
                                                   : SCH_STRETCH,
                  which, row);
        free_row(row);
        return;
    }
    if (which == SCH_PHASE)
        check_phase(rows, row);
    if (which == SCH_CURVE_DROP || which == SCH_SEGMENT_END) {
        if (which == SCH_CURVE_DROP)
            drop_curve(rows, row);
        else
            end_segment(rows, row);
        free_row(row);
        return;
    }
    if (complete(rows, which, row)) {
        free_row(row);
        return;
    }
    struct row *old = keys_of(which) ? look_up(rows, which, row->at, row->text[QUANTITY]) : NULL;
    if (old) {
        REQUIRE(same_key(old, row, which));
        CHECK(strncmp(sch_statement_sql(which), "INSERT OR REPLACE", 17) == 0);
        free_row(old);
        *old = *row;
        return;
    }
    if (table->count == table->cap) {
        table->cap = table->cap ? table->cap * 2 : 64;
        table->rows = realloc(table->rows, table->cap * sizeof *table->rows);
    }
    table->rows[table->count++] = *row;
    remember(rows, which, table->count - 1);
}

static void apply_fact(struct rows *rows, const struct batch *batch, const struct batch_fact *fact)
{
    struct row row = {0};
    size_t cells = sch_statement_cells(fact->statement);
    REQUIRE(fact->first_cell + cells <= batch->cell_count);
    for (size_t i = 0; i < ROW_CELLS; i++)
        row.at[i] = ROW_NULL;
    for (size_t i = 0; i < cells; i++) {
        const struct batch_cell *cell = &batch->cells[fact->first_cell + i];
        if (cell->kind == CELL_INT)
            row.at[i] = cell->value;
        if (cell->kind == CELL_TEXT) {
            REQUIRE((size_t)cell->value + cell->bytes < batch->text_count);
            row.text[i] = strndup(batch->text + cell->value, cell->bytes);
        }
    }
    put(rows, fact->statement, &row);
}

static void add_alloc(struct rows *rows, const struct batch_alloc *alloc)
{
    if (rows->alloc_count)
        CHECK(rows->allocs[rows->alloc_count - 1].seq < alloc->seq);
    if (rows->alloc_count == rows->alloc_cap) {
        rows->alloc_cap = rows->alloc_cap ? rows->alloc_cap * 2 : 256;
        rows->allocs = realloc(rows->allocs, rows->alloc_cap * sizeof *rows->allocs);
    }
    rows->allocs[rows->alloc_count++] = *alloc;
}

void rows_apply(struct rows *rows, const struct batch *batch)
{
    for (size_t i = 0; i < batch->fact_count; i++)
        apply_fact(rows, batch, &batch->facts[i]);
    for (size_t i = 0; i < batch->alloc_count; i++)
        add_alloc(rows, &batch->allocs[i]);
    for (size_t i = 0; i < batch->end_count; i++) {
        struct batch_alloc *alloc = find_alloc(rows, batch->ends[i].seq);
        REQUIRE(alloc != NULL);
        CHECK_INT(alloc->free_seq, DB_LIVING_SEQ);
        alloc->life_ns = batch->ends[i].life_ns;
        alloc->free_seq = batch->ends[i].free_seq;
    }
    for (size_t i = 0; i < batch->late_tag_count; i++) {
        struct batch_alloc *alloc = find_alloc(rows, batch->late_tags[i].seq);
        REQUIRE(alloc != NULL);
        alloc->tag = (int32_t)batch->late_tags[i].tag;
    }
}

void rows_clear(struct rows *rows)
{
    for (size_t t = 0; t < SCH_STATEMENT_COUNT; t++) {
        for (size_t i = 0; i < rows->tables[t].count; i++)
            free_row(&rows->tables[t].rows[i]);
        free(rows->tables[t].rows);
        map_clear(&rows->tables[t].by_key);
    }
    free(rows->allocs);
    *rows = (struct rows){0};
}

const struct batch_alloc *rows_alloc(const struct rows *rows, int64_t seq)
{
    return find_alloc(rows, seq);
}

const struct row *rows_find(const struct rows *rows, enum sch_statement table, size_t count,
                            const int64_t *keys)
{
    if (count == keys_of(table)) {
        const struct row *row = look_up(rows, table, keys, "allocated");
        return row || table != SCH_CURVE ? row : look_up(rows, table, keys, "reserved");
    }
    for (size_t i = 0; i < rows->tables[table].count; i++)
        if (memcmp(rows->tables[table].rows[i].at, keys, count * sizeof *keys) == 0)
            return &rows->tables[table].rows[i];
    return NULL;
}

/* The nth row whose text in a column is this. */
static const struct row *find_text(const struct row_table *table, size_t column, const char *text,
                                   size_t nth)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].text[column] && strcmp(table->rows[i].text[column], text) == 0 &&
            nth-- == 0)
            return &table->rows[i];
    return NULL;
}

static int by_begin(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int64_t seq = x->at[PHASE_BEGIN_SEQ] - y->at[PHASE_BEGIN_SEQ], id = x->at[0] - y->at[0];
    return seq ? (seq > 0) - (seq < 0) : (id > 0) - (id < 0);
}

const struct row *rows_phase(const struct rows *rows, const char *name, size_t nth)
{
    const struct row_table *table = &rows->tables[SCH_PHASE];
    const struct row **named = calloc(table->count + 1, sizeof *named);
    size_t count = 0;
    REQUIRE(named != NULL);
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].text[PHASE_NAME], name) == 0)
            named[count++] = &table->rows[i];
    qsort(named, count, sizeof *named, by_begin);
    const struct row *found = nth < count ? named[nth] : NULL;
    free(named);
    return found;
}

const struct row *rows_phase_device(const struct rows *rows, int64_t phase, int64_t device)
{
    return rows_find(rows, SCH_PHASE_DEVICE, 2, (const int64_t[]){phase, device});
}

const struct row *rows_anomaly(const struct rows *rows, const char *kind, size_t nth)
{
    return find_text(&rows->tables[SCH_ANOMALY], ANOMALY_KIND, kind, nth);
}

size_t rows_anomalies(const struct rows *rows, const char *kind)
{
    size_t count = 0;
    while (rows_anomaly(rows, kind, count))
        count++;
    return count;
}

int64_t rows_lost(const struct rows *rows, const char *kind)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rows->tables[SCH_LOST].count; i++)
        if (strcmp(rows->tables[SCH_LOST].rows[i].text[SCH_AT(lost, kind)], kind) == 0)
            sum += rows->tables[SCH_LOST].rows[i].at[SCH_AT(lost, n)];
    return sum;
}
