/*
 * salvage_list.c - the list of tables: which roots the file itself names, and which are believed
 * where it names none.
 */
#include <string.h>

#include "error.h"
#include "mem.h"
#include "salvage_walk.h"

/* An index, or a table that is not ours: its pages are not to be taken for lost ones. */
static int see_nothing(struct salvage *salvage, struct salvage_layout *table,
                       const struct btree_cell *cell)
{
    int err = 0;
    (void)table;
    salvage_payload(salvage, cell, true, &err);
    return err;
}

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
    for (int level = 0; level < SALVAGE_LEVELS; level++) {
        err = salvage_load(salvage, table, number, ALL_KEYS, &bytes, &page);
        if (err < 0 || !bytes) { /* a root that is damaged itself gives nothing, whosever it is */
            *fits = level == 0;
            return err;
        }
        if (!salvage_is_inner(page.kind))
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
    struct salvage_walking walk = {salvage, list, see_listed, true};
    *list = (struct salvage_layout){
        .by_key = true, .key_at = -1, .alloc_seq = -1, .free_seq = -1, .columns = 5};
    for (int i = 0; i < list->columns; i++) {
        list->column[i] = (struct salvage_column){.number = true, .text = true};
        list->order[i] = i;
    }
    for (size_t i = 0; i < salvage->table_count; i++)
        salvage->tables[i].told.absent = true;
    int err = salvage_walk(&walk, 1, ALL_KEYS, 0);
    salvage->file.list = list->told.damaged == 0 && list->told.refused == 0;
    salvage->file.ours |= listing->ours > salvage->table_count / 2;
    return err;
}

int salvage_read_list(struct salvage *salvage)
{
    struct listing listing = {.ours = 0};
    struct salvage_walking other = {salvage, NULL, see_nothing, false};
    int err = walk_list(salvage, &listing);
    if (err == 0)
        err = check_roots(salvage);
    for (size_t i = 0; i < listing.others.count && err == 0; i++)
        err = salvage_walk(&other, listing.others.at[i], ALL_KEYS, 0);
    mem_free(listing.others.at);
    return err;
}
