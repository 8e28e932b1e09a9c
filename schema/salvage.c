/*
 * salvage.c - all of it in order: free pages, the list of tables, their trees, and pages that
 * belong to nothing.
 */
#include "salvage.h"

#include "error.h"
#include "mem.h"
#include "salvage_walk.h"

enum { AT_FREE_FIRST = 32, AT_FREE_COUNT = 36, AT_APPLICATION_ID = 68 };

/* ---- free pages ---- */

/* Each page of the chain names the next one and some pages that are free besides. */
static int read_free_list(struct salvage *salvage)
{
    const struct pages *pages = &salvage->pages;
    unsigned char *page = salvage->page;
    int err = pages_read(pages, 1, page);
    if (err < 0 || !pages->header)
        return err == ERR_CORRUPT ? 0 : err;
    uint32_t next = pages_four(page + AT_FREE_FIRST), count = pages_four(page + AT_FREE_COUNT);
    salvage->file.ours |= pages_four(page + AT_APPLICATION_ID) == DB_APPLICATION_ID;
    uint32_t found = 0;
    while (next) {
        if (next > pages->count || salvage_seen(salvage, next))
            return 0;
        salvage_see(salvage, next);
        if ((err = pages_read(pages, next, page)) < 0)
            return err == ERR_CORRUPT ? 0 : err;
        uint32_t leaves = pages_four(page + 4);
        if (leaves > pages->usable / 4 - 2)
            return 0;
        for (uint32_t i = 0; i < leaves; i++) {
            uint32_t leaf = pages_four(page + 8 + 4 * i);
            if (leaf == 0 || leaf > pages->count || salvage_seen(salvage, leaf))
                return 0;
            salvage_see(salvage, leaf);
        }
        found += 1 + leaves;
        next = pages_four(page);
    }
    salvage->file.free_list = found == count;
    return 0;
}

/* ---- pages that belong to nothing ---- */

static int rows_fit(struct salvage *salvage, const struct salvage_layout *table,
                    const struct btree_page *page, bool *fit)
{
    struct btree_value values[SALVAGE_COLUMNS];
    int err = 0;
    *fit = true;
    for (uint32_t i = 0; i < page->cells && *fit && err == 0; i++) {
        struct btree_cell cell;
        btree_cell(page, i, &cell);
        *fit = salvage_record(salvage, table, &cell, false, values, &err);
    }
    return err;
}

/* The hole that the page can have come from, if there is one and its table is the only one. */
static int find_hole(struct salvage *salvage, const struct btree_page *page,
                     struct salvage_hole **found)
{
    *found = NULL;
    for (size_t i = 0; i < salvage->hole_count; i++) {
        struct salvage_hole *hole = &salvage->holes[i];
        const struct salvage_layout *table = &salvage->tables[hole->table];
        struct salvage_span span = {hole->after, hole->last};
        bool fit = false;
        if (table->by_key != salvage_is_table(page->kind) || !salvage_keys_fit(page, span) ||
            (*found && (*found)->table == hole->table))
            continue;
        int err = rows_fit(salvage, table, page, &fit);
        if (err < 0)
            return err;
        if (fit && *found) {
            *found = NULL;
            return 0;
        }
        *found = fit ? hole : *found;
    }
    return 0;
}

static int adopt_page(struct salvage *salvage, uint32_t number)
{
    struct btree_page page;
    unsigned char *bytes = NULL;
    struct salvage_hole *hole = NULL;
    int err = salvage_load(salvage, NULL, number, ALL_KEYS, &bytes, &page);
    if (err < 0 || !bytes)
        return err;
    bool rows = page.cells > 0 && page.kind != BTREE_TABLE_INNER;
    if (rows)
        err = find_hole(salvage, &page, &hole);
    for (uint32_t i = 0; hole && i < page.cells && err == 0; i++) {
        struct btree_cell cell;
        btree_cell(&page, i, &cell);
        err = salvage_row(salvage, &salvage->tables[hole->table], &cell);
        hole->rows++;
    }
    if (hole)
        salvage_see(salvage, number);
    mem_free(bytes);
    return err;
}

static int adopt_pages(struct salvage *salvage)
{
    int err = 0;
    if (!salvage->file.free_list || salvage->hole_count == 0)
        return 0;
    for (uint32_t number = 2; number <= salvage->pages.count && err == 0; number++)
        err = adopt_page(salvage, number);
    return err;
}

/* ---- what is missing ---- */

/* Keys begin with 1, and the last one is not known where the end of the table is gone. */
static void count_missing(struct salvage *salvage)
{
    for (size_t i = 0; i < salvage->hole_count; i++) {
        const struct salvage_hole *hole = &salvage->holes[i];
        struct salvage_table *told = &salvage->tables[hole->table].told;
        int64_t after = hole->after < 0 ? 0 : hole->after;
        if (!hole->keyed || hole->last == INT64_MAX || hole->last < after)
            told->known = false;
        else if ((uint64_t)(hole->last - after) > hole->rows)
            told->missing += (uint64_t)(hole->last - after) - hole->rows;
    }
}

/* ---- all of it ---- */

static int walk_tables(struct salvage *salvage)
{
    int err = 0;
    for (size_t i = 0; i < salvage->table_count && err == 0; i++) {
        struct salvage_walking walk = {salvage, &salvage->tables[i], salvage_row, false};
        if (!walk.table->told.absent)
            err = salvage_walk(&walk, walk.table->root, ALL_KEYS, 0);
    }
    return err;
}

int salvage_run(struct salvage *salvage)
{
    int err = salvage->write ? db_begin(salvage->fresh) : 0;
    if (err == 0)
        err = read_free_list(salvage);
    if (err == 0)
        err = salvage_read_list(salvage);
    if (err == 0)
        err = walk_tables(salvage);
    if (err == 0)
        err = adopt_pages(salvage);
    count_missing(salvage);
    if (err == 0 && salvage->write)
        err = db_commit(salvage->fresh);
    return err;
}

static int prepare(struct salvage *salvage, const char *path)
{
    int err = pages_open(&salvage->pages, path);
    if (err < 0)
        return err;
    const struct pages *pages = &salvage->pages;
    salvage->file = (struct salvage_file){.header = pages->header,
                                          .log_damaged = pages->log_cut,
                                          .log_missing = pages->logged && !pages->log_bytes,
                                          .page_bytes = pages->page_bytes,
                                          .pages = pages->told,
                                          .pages_there = pages->present,
                                          .bytes = pages->file_bytes};
    salvage->seen = mem_alloc((size_t)pages->count / 8 + 1, 1);
    salvage->page = mem_alloc(pages->page_bytes, 1);
    return salvage->seen && salvage->page ? salvage_layouts(salvage) : ERR_NOMEM;
}

int salvage_new(struct salvage **out, const char *path, struct db *fresh, bool write)
{
    struct salvage *salvage = mem_alloc(1, sizeof *salvage);
    *out = NULL;
    if (!salvage)
        return ERR_NOMEM;
    salvage->pages.file = salvage->pages.log_file = -1;
    salvage->fresh = fresh;
    salvage->write = write;
    int err = prepare(salvage, path);
    if (err < 0) {
        salvage_free(salvage);
        return err;
    }
    *out = salvage;
    return 0;
}

void salvage_let_go(struct salvage *salvage)
{
    if (!salvage)
        return;
    for (size_t i = 0; i < salvage->table_count; i++) {
        db_finalize(salvage->tables[i].insert);
        salvage->tables[i].insert = NULL;
    }
    salvage->fresh = NULL;
}

void salvage_free(struct salvage *salvage)
{
    if (!salvage)
        return;
    salvage_let_go(salvage);
    mem_free(salvage->tables);
    pages_close(&salvage->pages);
    mem_free(salvage->holes);
    mem_free(salvage->seen);
    mem_free(salvage->page);
    mem_free(salvage->payload);
    mem_free(salvage);
}

const struct salvage_file *salvage_file(const struct salvage *salvage)
{
    return &salvage->file;
}

size_t salvage_table_count(const struct salvage *salvage)
{
    return salvage->table_count;
}

const struct salvage_table *salvage_table(const struct salvage *salvage, size_t at)
{
    return &salvage->tables[at].told;
}

size_t salvage_hole_count(const struct salvage *salvage)
{
    return salvage->hole_count;
}

const struct salvage_hole *salvage_hole(const struct salvage *salvage, size_t at)
{
    return &salvage->holes[at];
}

bool salvage_is_valid(const struct salvage *salvage)
{
    for (size_t i = 0; i < salvage->table_count; i++) {
        const struct salvage_layout *table = &salvage->tables[i];
        unsigned columns = 0;
        for (int k = 0; k < table->columns; k++)
            columns |= 1u << table->order[k];
        if (table->told.saved + table->told.refused != table->told.found ||
            columns != (1u << table->columns) - 1)
            return false;
    }
    for (size_t i = 0; i < salvage->hole_count; i++) {
        const struct salvage_hole *hole = &salvage->holes[i];
        if (hole->table >= salvage->table_count || hole->after > hole->last ||
            salvage->tables[hole->table].told.damaged == 0)
            return false;
    }
    return pages_is_valid(&salvage->pages);
}
