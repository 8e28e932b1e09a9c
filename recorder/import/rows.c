#include "rows.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "rows_names.h"

enum { LEVELS = 24, AT_ENCODING = 56, AT_APPLICATION = 68, UTF8 = 1 };

static int say(struct rows *rows, int err, const char *text)
{
    snprintf(rows->message, sizeof rows->message, "%s", text);
    return err;
}

/* ---- opening ---- */

static int read_head(struct rows *rows)
{
    unsigned char *page = mem_alloc(1, rows->pages.page_bytes);
    if (!page)
        return say(rows, ERR_NOMEM, base_err_text(ERR_NOMEM));
    int err = pages_read(&rows->pages, 1, page);
    uint32_t encoding = pages_four(page + AT_ENCODING);
    rows->application = pages_four(page + AT_APPLICATION);
    mem_free(page);
    if (err)
        return say(rows, err, "its first page is not there in full");
    if (encoding != UTF8)
        return say(rows, ERR_NOTOURS, "its texts are not UTF-8");
    return BASE_OK;
}

int rows_open(struct rows *rows, const char *path)
{
    *rows = (struct rows){0};
    int err = pages_open(&rows->pages, path);
    if (err) {
        rows->pages = (struct pages){.file = -1, .log_file = -1};
        return say(rows, err, err == ERR_ARG ? "it is not a regular file" : base_err_text(err));
    }
    if (!rows->pages.header)
        return say(rows, ERR_CORRUPT, "its header is damaged");
    rows->seen = mem_alloc(1, (size_t)rows->pages.count / 8 + 1);
    if (!rows->seen)
        return say(rows, ERR_NOMEM, base_err_text(ERR_NOMEM));
    return read_head(rows);
}

void rows_close(struct rows *rows)
{
    pages_close(&rows->pages);
    mem_free(rows->seen);
    mem_free(rows->payload);
    rows->seen = rows->payload = NULL;
}

/* ---- a row ---- */

struct walk {
    struct rows *rows;
    const struct rows_table *table;
    rows_see *see;
    void *self;
};

static int damaged(struct walk *walk, uint32_t page)
{
    snprintf(walk->rows->message, sizeof walk->rows->message,
             "page %u of its table %s is damaged or missing", page, walk->table->name);
    return ERR_CORRUPT;
}

/* Marks the page; false: it is none, or was seen before. */
static bool see_page(struct rows *rows, uint32_t number)
{
    unsigned char bit = (unsigned char)(1u << number % 8);
    if (number == 0 || number > rows->pages.count || rows->seen[number / 8] & bit)
        return false;
    rows->seen[number / 8] |= bit;
    return true;
}

/* What follows on overflow pages, behind `got` bytes. */
static int read_overflow(struct walk *walk, const struct btree_cell *cell)
{
    struct rows *rows = walk->rows;
    uint32_t number = cell->overflow, room = rows->pages.usable - 4;
    size_t got = cell->local_bytes, whole = (size_t)cell->payload_bytes;
    unsigned char *page = mem_alloc(1, rows->pages.page_bytes);
    int err = page ? BASE_OK : ERR_NOMEM;
    while (err == BASE_OK && got < whole) {
        size_t part = whole - got < room ? whole - got : room;
        if (!see_page(rows, number) || pages_read(&rows->pages, number, page) < 0) {
            err = damaged(walk, number);
            break;
        }
        memcpy(rows->payload + got, page + 4, part);
        got += part;
        number = pages_four(page);
    }
    mem_free(page);
    return err;
}

/* The whole record; *out NULL: it is passed over. */
static int payload_of(struct walk *walk, const struct btree_cell *cell, const unsigned char **out)
{
    struct rows *rows = walk->rows;
    *out = cell->payload;
    if (cell->local_bytes == cell->payload_bytes)
        return BASE_OK;
    *out = NULL;
    if (cell->payload_bytes > ROWS_PAYLOAD ||
        cell->payload_bytes / rows->pages.usable > rows->pages.count) {
        rows->passed_over++;
        return BASE_OK;
    }
    if (rows->payload_cap < cell->payload_bytes) {
        unsigned char *more = mem_resize(rows->payload, 1, (size_t)cell->payload_bytes);
        if (!more)
            return say(rows, ERR_NOMEM, base_err_text(ERR_NOMEM));
        rows->payload = more;
        rows->payload_cap = (size_t)cell->payload_bytes;
    }
    memcpy(rows->payload, cell->payload, cell->local_bytes);
    int err = read_overflow(walk, cell);
    *out = rows->payload;
    return err;
}

static struct rows_value value_of(const struct btree_value *from)
{
    return (struct rows_value){.is_number = from->type == BTREE_INT,
                               .is_text = from->type == BTREE_TEXT,
                               .number = from->type == BTREE_INT ? from->number : 0,
                               .text = from->type == BTREE_TEXT ? (const char *)from->text : "",
                               .bytes = from->type == BTREE_TEXT ? from->bytes : 0};
}

static int see_row(struct walk *walk, uint32_t page, const struct btree_cell *cell)
{
    const struct rows_table *table = walk->table;
    struct btree_value values[ROWS_COLUMNS];
    struct rows_value asked[ROWS_ASKED];
    const unsigned char *payload;
    int err = payload_of(walk, cell, &payload);
    if (err || !payload)
        return err;
    int count = btree_record(payload, (size_t)cell->payload_bytes, values, ROWS_COLUMNS);
    if (count < 0 || count > table->columns)
        return damaged(walk, page);
    for (int i = 0; i < ROWS_ASKED; i++) {
        int at = table->at[i];
        asked[i] = (struct rows_value){.text = ""};
        if (at >= 0 && at == table->key)
            asked[i] = (struct rows_value){.is_number = true, .number = cell->key, .text = ""};
        else if (at >= 0 && at < count)
            asked[i] = value_of(&values[at]);
    }
    walk->rows->rows++;
    return walk->see(walk->self, asked);
}

/* ---- a tree ---- */

static int walk_page(struct walk *walk, uint32_t number, int level);

static int walk_cells(struct walk *walk, const struct btree_page *page, int level)
{
    int err = BASE_OK;
    for (uint32_t i = 0; i < page->cells && err == BASE_OK; i++) {
        struct btree_cell cell;
        btree_cell(page, i, &cell);
        err = page->kind == BTREE_TABLE_INNER ? walk_page(walk, cell.child, level + 1)
                                              : see_row(walk, page->number, &cell);
    }
    if (err == BASE_OK && page->kind == BTREE_TABLE_INNER)
        err = walk_page(walk, page->right, level + 1);
    return err;
}

static int walk_page(struct walk *walk, uint32_t number, int level)
{
    struct rows *rows = walk->rows;
    struct btree_page page;
    if (level >= LEVELS || !see_page(rows, number))
        return damaged(walk, number);
    unsigned char *bytes = mem_alloc(1, rows->pages.page_bytes);
    if (!bytes)
        return say(rows, ERR_NOMEM, base_err_text(ERR_NOMEM));
    int err = pages_read(&rows->pages, number, bytes);
    if (err == ERR_IO)
        say(rows, err, "it cannot be read");
    else if (err || !btree_page(&rows->pages, number, bytes, &page) ||
             (page.kind != BTREE_TABLE_INNER && page.kind != BTREE_TABLE_LEAF))
        err = damaged(walk, number);
    if (err == BASE_OK)
        err = walk_cells(walk, &page, level);
    mem_free(bytes);
    return err;
}

int rows_walk(struct rows *rows, const struct rows_table *table, rows_see *see, void *self)
{
    struct walk walk = {rows, table, see, self};
    memset(rows->seen, 0, (size_t)rows->pages.count / 8 + 1);
    return table->root ? walk_page(&walk, table->root, 0) : BASE_OK;
}

/* ---- the list of tables ---- */

struct finding {
    struct rows *rows;
    struct rows_table *table;
    const char *const *columns;
};

static bool text_is(const struct rows_value *value, const char *text)
{
    return value->is_text && value->bytes == strlen(text) &&
           memcmp(value->text, text, value->bytes) == 0;
}

/* Of the columns type, name, rootpage, sql. */
static int see_listed(void *self, const struct rows_value *values)
{
    struct finding *finding = self;
    struct rows_table *table = finding->table;
    if (!text_is(&values[0], "table") || !text_is(&values[1], table->name))
        return BASE_OK;
    if (!values[2].is_number || values[2].number < 2 || values[2].number > UINT32_MAX ||
        !rows_names_read(values[3].text, values[3].bytes, finding->columns, table)) {
        snprintf(finding->rows->message, sizeof finding->rows->message,
                 "its table %s is of a kind that is not read", table->name);
        return ERR_CORRUPT;
    }
    table->root = (uint32_t)values[2].number;
    return BASE_OK;
}

int rows_find(struct rows *rows, const char *name, const char *const *columns,
              struct rows_table *table)
{
    struct rows_table list = {.name = "sqlite_schema", .root = 1, .key = -1, .columns = 5};
    struct finding finding = {rows, table, columns};
    static const int at[ROWS_ASKED] = {0, 1, 3, 4, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    memcpy(list.at, at, sizeof at);
    *table = (struct rows_table){.name = name, .key = -1};
    return rows_walk(rows, &list, see_listed, &finding);
}
