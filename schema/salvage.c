#include "salvage.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "salvage_types.h"

enum { MOST_LEVELS = 24, AT_FREE_FIRST = 32, AT_FREE_COUNT = 36, AT_APPLICATION_ID = 68 };

/* What is done with a cell that holds a row; a base_err. */
typedef int see_cell(struct salvage *salvage, struct salvage_layout *table,
                     const struct btree_cell *cell);

struct walk {
    struct salvage *salvage;
    struct salvage_layout *table; /* NULL: none of ours; only noted as seen */
    see_cell *see;
    bool list; /* the table is the list of tables */
};

struct span { /* of keys that a page may have */
    int64_t after, last;
};

static const struct span all_keys = {INT64_MIN, INT64_MAX};

/* ---- holes ---- */

static int add_hole(struct walk *walk, uint32_t page, struct span span)
{
    struct salvage *salvage = walk->salvage;
    struct salvage_layout *table = walk->table;
    if (!table)
        return 0;
    table->told.damaged++;
    if (walk->list)
        return 0;
    size_t index = (size_t)(table - salvage->tables);
    struct salvage_hole *before =
        salvage->hole_count ? &salvage->holes[salvage->hole_count - 1] : NULL;
    if (before && before->table == index && before->keyed && table->by_key &&
        before->last == span.after) {
        before->last = span.last;
        return 0;
    }
    if (!MEM_GROW(salvage->holes, salvage->hole_cap, salvage->hole_count + 1))
        return ERR_NOMEM;
    salvage->holes[salvage->hole_count++] = (struct salvage_hole){.table = index,
                                                                  .page = page,
                                                                  .keyed = table->by_key,
                                                                  .after = span.after,
                                                                  .last = span.last};
    return 0;
}

/* ---- a tree ---- */

static bool is_table(enum btree_kind kind)
{
    return kind == BTREE_TABLE_INNER || kind == BTREE_TABLE_LEAF;
}

static bool is_inner(enum btree_kind kind)
{
    return kind == BTREE_TABLE_INNER || kind == BTREE_INDEX_INNER;
}

/* Keys grow inside a page: the first and the last say whether all are as promised. */
static bool keys_fit(const struct btree_page *page, struct span span)
{
    struct btree_cell first, last;
    if (!is_table(page->kind) || page->cells == 0)
        return true;
    btree_cell(page, 0, &first);
    btree_cell(page, page->cells - 1, &last);
    return first.key > span.after && last.key <= span.last;
}

/* 0 with *bytes set, or NULL there where the page is no good; an error for all else. */
static int load(struct salvage *salvage, const struct salvage_layout *table, uint32_t number,
                struct span span, unsigned char **bytes, struct btree_page *page)
{
    const struct pages *pages = &salvage->pages;
    *bytes = NULL;
    if (number == 0 || number > pages->count || salvage_seen(salvage, number))
        return 0;
    unsigned char *room = mem_alloc(1, pages->page_bytes);
    if (!room)
        return ERR_NOMEM;
    int err = pages_read(pages, number, room);
    if (err == 0 && btree_page(pages, number, room, page) &&
        (!table || is_table(page->kind) == table->by_key) && keys_fit(page, span)) {
        *bytes = room;
        return 0;
    }
    mem_free(room);
    return err == ERR_CORRUPT ? 0 : err;
}

static int walk_page(struct walk *walk, uint32_t number, struct span span, int level);

static int walk_cells(struct walk *walk, const struct btree_page *page, struct span span, int level)
{
    int err = 0;
    for (uint32_t i = 0; i < page->cells && err == 0; i++) {
        struct btree_cell cell;
        btree_cell(page, i, &cell);
        if (is_inner(page->kind)) {
            struct span below = {span.after, is_table(page->kind) ? cell.key : span.last};
            err = walk_page(walk, cell.child, below, level + 1);
            span.after = is_table(page->kind) ? cell.key : span.after;
        }
        if (err == 0 && page->kind != BTREE_TABLE_INNER)
            err = walk->see(walk->salvage, walk->table, &cell);
    }
    if (err == 0 && is_inner(page->kind))
        err = walk_page(walk, page->right, span, level + 1);
    return err;
}

static int walk_page(struct walk *walk, uint32_t number, struct span span, int level)
{
    struct btree_page page;
    unsigned char *bytes = NULL;
    int err =
        level < MOST_LEVELS ? load(walk->salvage, walk->table, number, span, &bytes, &page) : 0;
    if (err < 0)
        return err;
    if (!bytes)
        return add_hole(walk, number, span);
    salvage_see(walk->salvage, number);
    err = walk_cells(walk, &page, span, level);
    mem_free(bytes);
    return err;
}

/* An index, or a table that is not ours: its pages are not to be taken for lost ones. */
static int see_nothing(struct salvage *salvage, struct salvage_layout *table,
                       const struct btree_cell *cell)
{
    int err = 0;
    (void)table;
    salvage_payload(salvage, cell, true, &err);
    return err;
}

/* ---- the list of tables ---- */

struct others { /* roots of trees that are not ours */
    uint32_t *at;
    size_t count, cap;
};

static bool text_is(const struct btree_value *value, const char *text)
{
    return value->type == BTREE_TEXT && value->bytes == strlen(text) &&
           memcmp(value->text, text, value->bytes) == 0;
}

struct listing {
    struct salvage_layout table;
    struct others others;
    size_t ours;
};

/* Columns: type, name, tbl_name, rootpage, sql. */
static int see_listed(struct salvage *salvage, struct salvage_layout *list,
                      const struct btree_cell *cell)
{
    struct listing *listing = (struct listing *)list; /* its first member */
    struct btree_value values[SALVAGE_COLUMNS];
    int err = 0;
    if (!salvage_record(salvage, list, cell, true, values, &err)) {
        list->told.refused++;
        return err;
    }
    uint32_t root =
        values[3].type == BTREE_INT && values[3].number > 1 && values[3].number <= UINT32_MAX
            ? (uint32_t)values[3].number
            : 0;
    struct salvage_layout *table =
        values[1].type == BTREE_TEXT && text_is(&values[0], "table")
            ? salvage_find(salvage, (const char *)values[1].text, values[1].bytes)
            : NULL;
    if (table) {
        table->root = root;
        table->told.absent = false;
        listing->ours++;
        return 0;
    }
    if (!root)
        return 0; /* a view */
    if (!MEM_GROW(listing->others.at, listing->others.cap, listing->others.count + 1))
        return ERR_NOMEM;
    listing->others.at[listing->others.count++] = root;
    return 0;
}

/* The first leaf's rows are rows of the table: only then a root is believed that the file itself
 * does not name. */
static int root_fits(struct salvage *salvage, const struct salvage_layout *table, bool *fits)
{
    struct btree_value values[SALVAGE_COLUMNS];
    struct btree_page page;
    struct btree_cell cell;
    unsigned char *bytes = NULL;
    uint32_t number = table->root;
    int err = 0;
    *fits = false;
    for (int level = 0; level < MOST_LEVELS; level++) {
        err = load(salvage, table, number, all_keys, &bytes, &page);
        if (err < 0 || !bytes) { /* a root that is damaged itself gives nothing, whosever it is */
            *fits = level == 0;
            return err;
        }
        if (!is_inner(page.kind))
            break;
        if (page.cells == 0) {
            mem_free(bytes);
            return 0;
        }
        btree_cell(&page, 0, &cell);
        number = cell.child;
        mem_free(bytes);
        bytes = NULL;
    }
    *fits = bytes != NULL;
    for (uint32_t i = 0; bytes && i < page.cells && *fits && err == 0; i++) {
        btree_cell(&page, i, &cell);
        *fits = salvage_record(salvage, table, &cell, false, values, &err);
    }
    mem_free(bytes);
    return err;
}

static int check_roots(struct salvage *salvage)
{
    int err = 0;
    for (size_t i = 0; i < salvage->table_count && err == 0; i++) {
        struct salvage_layout *table = &salvage->tables[i];
        bool fits = true;
        if (!table->told.absent) /* it is listed */
            continue;
        table->told.absent = salvage->file.list;
        if (!table->told.absent)
            err = root_fits(salvage, table, &fits);
        if (!fits)
            table->root = 0; /* no page has this number: all of the table is a hole */
    }
    return err;
}

static int walk_list(struct salvage *salvage, struct listing *listing)
{
    struct salvage_layout *list = &listing->table;
    struct walk walk = {salvage, list, see_listed, true};
    *list = (struct salvage_layout){
        .by_key = true, .key_at = -1, .alloc_seq = -1, .free_seq = -1, .columns = 5};
    for (int i = 0; i < list->columns; i++) {
        list->column[i] = (struct salvage_column){.number = true, .text = true};
        list->order[i] = i;
    }
    for (size_t i = 0; i < salvage->table_count; i++)
        salvage->tables[i].told.absent = true;
    int err = walk_page(&walk, 1, all_keys, 0);
    salvage->file.list = list->told.damaged == 0 && list->told.refused == 0;
    salvage->file.ours |= listing->ours > salvage->table_count / 2;
    return err;
}

static int read_list(struct salvage *salvage)
{
    struct listing listing = {.ours = 0};
    struct walk other = {salvage, NULL, see_nothing, false};
    int err = walk_list(salvage, &listing);
    if (err == 0)
        err = check_roots(salvage);
    for (size_t i = 0; i < listing.others.count && err == 0; i++)
        err = walk_page(&other, listing.others.at[i], all_keys, 0);
    mem_free(listing.others.at);
    return err;
}

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
        struct span span = {hole->after, hole->last};
        bool fit = false;
        if (table->by_key != is_table(page->kind) || !keys_fit(page, span) ||
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
    int err = load(salvage, NULL, number, all_keys, &bytes, &page);
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
        struct walk walk = {salvage, &salvage->tables[i], salvage_row, false};
        if (!walk.table->told.absent)
            err = walk_page(&walk, walk.table->root, all_keys, 0);
    }
    return err;
}

int salvage_run(struct salvage *salvage)
{
    int err = salvage->write ? db_begin(salvage->fresh) : 0;
    if (err == 0)
        err = read_free_list(salvage);
    if (err == 0)
        err = read_list(salvage);
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
