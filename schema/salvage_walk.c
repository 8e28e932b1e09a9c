/*
 * salvage_walk.c - the pages of one tree, from its root down, and the holes where pages are no
 * good.
 */
#include "error.h"
#include "mem.h"
#include "salvage_walk.h"

/* ---- holes ---- */

static int add_hole(struct salvage_walking *walk, uint32_t page, struct salvage_span span)
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

bool salvage_keys_fit(const struct btree_page *page, struct salvage_span span)
{
    struct btree_cell first, last;
    if (!salvage_is_table(page->kind) || page->cells == 0)
        return true;
    btree_cell(page, 0, &first);
    btree_cell(page, page->cells - 1, &last);
    return first.key > span.after && last.key <= span.last;
}

int salvage_load(struct salvage *salvage, const struct salvage_layout *table, uint32_t number,
                 struct salvage_span span, unsigned char **bytes, struct btree_page *page)
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
        (!table || salvage_is_table(page->kind) == table->by_key) && salvage_keys_fit(page, span)) {
        *bytes = room;
        return 0;
    }
    mem_free(room);
    return err == ERR_CORRUPT ? 0 : err;
}

static int walk_cells(struct salvage_walking *walk, const struct btree_page *page,
                      struct salvage_span span, int level)
{
    int err = 0;
    for (uint32_t i = 0; i < page->cells && err == 0; i++) {
        struct btree_cell cell;
        btree_cell(page, i, &cell);
        if (salvage_is_inner(page->kind)) {
            struct salvage_span below = {span.after,
                                         salvage_is_table(page->kind) ? cell.key : span.last};
            err = salvage_walk(walk, cell.child, below, level + 1);
            span.after = salvage_is_table(page->kind) ? cell.key : span.after;
        }
        if (err == 0 && page->kind != BTREE_TABLE_INNER)
            err = walk->see(walk->salvage, walk->table, &cell);
    }
    if (err == 0 && salvage_is_inner(page->kind))
        err = salvage_walk(walk, page->right, span, level + 1);
    return err;
}

int salvage_walk(struct salvage_walking *walk, uint32_t number, struct salvage_span span, int level)
{
    struct btree_page page;
    unsigned char *bytes = NULL;
    int err = level < SALVAGE_LEVELS
                  ? salvage_load(walk->salvage, walk->table, number, span, &bytes, &page)
                  : 0;
    if (err < 0)
        return err;
    if (!bytes)
        return add_hole(walk, number, span);
    salvage_see(walk->salvage, number);
    err = walk_cells(walk, &page, span, level);
    mem_free(bytes);
    return err;
}
