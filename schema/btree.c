#include "btree.h"

#include <assert.h>
#include <string.h>

enum { FIRST_PAGE_HEAD = 100, MOST_CELL_FRAGMENTS = 60 };

/* Up to nine bytes, high bits first. Returns how many, 0 if they do not end before `end`. */
static unsigned read_varint(const unsigned char *at, const unsigned char *end, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 9 && at + i < end; i++) {
        if (i == 8) {
            *out = value << 8 | at[i];
            return 9;
        }
        value = value << 7 | (at[i] & 0x7f);
        if (!(at[i] & 0x80)) {
            *out = value;
            return i + 1;
        }
    }
    return 0;
}

static bool is_inner(enum btree_kind kind)
{
    return kind == BTREE_INDEX_INNER || kind == BTREE_TABLE_INNER;
}

/* ---- cells ---- */

/* How much of a payload stays on the page: a rule of the format. */
static uint32_t local_bytes(enum btree_kind kind, uint32_t usable, uint64_t payload)
{
    uint32_t least = (usable - 12) * 32 / 255 - 23;
    uint32_t most = kind == BTREE_TABLE_LEAF ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    if (payload <= most)
        return (uint32_t)payload;
    uint32_t fits = least + (uint32_t)((payload - least) % (usable - 4));
    return fits <= most ? fits : least;
}

/* False if the cell does not end on the page. */
static bool parse_cell(const struct btree_page *page, uint32_t offset, struct btree_cell *cell)
{
    const unsigned char *begin = page->bytes + offset, *at = begin;
    const unsigned char *end = page->bytes + page->usable;
    uint64_t key = 0;
    unsigned n;
    *cell = (struct btree_cell){0};
    if (is_inner(page->kind)) {
        if (end - at < 4)
            return false;
        cell->child = pages_four(at);
        at += 4;
    }
    if (page->kind != BTREE_TABLE_INNER) {
        if ((n = read_varint(at, end, &cell->payload_bytes)) == 0)
            return false;
        at += n;
    }
    if (page->kind == BTREE_TABLE_INNER || page->kind == BTREE_TABLE_LEAF) {
        if ((n = read_varint(at, end, &key)) == 0)
            return false;
        at += n;
        cell->key = (int64_t)key;
    }
    if (page->kind != BTREE_TABLE_INNER) {
        if (cell->payload_bytes == 0 || cell->payload_bytes > INT32_MAX)
            return false;
        cell->payload = at;
        cell->local_bytes = local_bytes(page->kind, page->usable, cell->payload_bytes);
        bool more = cell->local_bytes < cell->payload_bytes;
        if ((uint64_t)(end - at) < cell->local_bytes + (more ? 4u : 0u))
            return false;
        at += cell->local_bytes;
        if (more) {
            cell->overflow = pages_four(at);
            at += 4;
        }
    }
    uint32_t bytes = (uint32_t)(at - begin);
    cell->bytes = bytes < 4 ? 4 : bytes; /* never smaller, so that it can become a free block */
    return true;
}

void btree_cell(const struct btree_page *page, uint32_t at, struct btree_cell *out)
{
    assert(at < page->cells);
    parse_cell(page, pages_two(page->bytes + page->at_cells + 2 * at), out);
}

/* ---- a page ---- */

/* The free blocks of a page, a chain that goes up; -1 if it does not. */
static int64_t free_bytes(const struct btree_page *page, uint32_t head)
{
    int64_t sum = 0;
    uint32_t at = pages_two(page->bytes + head + 1), before = 0;
    while (at) {
        if (at <= before || at + 4 > page->usable)
            return -1;
        uint32_t bytes = pages_two(page->bytes + at + 2);
        if (bytes < 4 || at + bytes > page->usable)
            return -1;
        sum += bytes;
        before = at + bytes - 1;
        at = pages_two(page->bytes + at);
    }
    return sum;
}

/* All cells lie in the part of the page that is theirs, and their keys grow. */
static int64_t cell_bytes(const struct btree_page *page, uint32_t content)
{
    int64_t sum = 0, key = INT64_MIN;
    bool table = page->kind == BTREE_TABLE_INNER || page->kind == BTREE_TABLE_LEAF;
    for (uint32_t i = 0; i < page->cells; i++) {
        struct btree_cell cell;
        uint32_t offset = pages_two(page->bytes + page->at_cells + 2 * i);
        if (offset < content || offset >= page->usable || !parse_cell(page, offset, &cell))
            return -1;
        if (table && i && cell.key <= key)
            return -1;
        key = cell.key;
        sum += cell.bytes;
    }
    return sum;
}

bool btree_page(const struct pages *pages, uint32_t number, const unsigned char *bytes,
                struct btree_page *out)
{
    uint32_t head = number == 1 ? FIRST_PAGE_HEAD : 0;
    unsigned kind = bytes[head];
    if (kind != BTREE_INDEX_INNER && kind != BTREE_TABLE_INNER && kind != BTREE_INDEX_LEAF &&
        kind != BTREE_TABLE_LEAF)
        return false;
    *out = (struct btree_page){.bytes = bytes,
                               .number = number,
                               .kind = (enum btree_kind)kind,
                               .cells = pages_two(bytes + head + 3),
                               .usable = pages->usable};
    bool inner = is_inner(out->kind);
    out->at_cells = head + (inner ? 12 : 8);
    out->right = inner ? pages_four(bytes + head + 8) : 0;
    uint32_t content = pages_two(bytes + head + 5), fragments = bytes[head + 7];
    content = content ? content : 65536;
    if (out->at_cells + 2 * out->cells > content || content > pages->usable ||
        fragments > MOST_CELL_FRAGMENTS || (inner && out->right == 0))
        return false;
    int64_t free = free_bytes(out, head), cells = cell_bytes(out, content);
    return free >= 0 && cells >= 0 && content + free + cells + fragments == pages->usable;
}

/* ---- a record ---- */

static int64_t big_endian(const unsigned char *at, unsigned bytes)
{
    uint64_t value = at[0] & 0x80 ? UINT64_MAX : 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

/* What a serial type says: the value's type, and how many bytes it has. */
static bool shape_of(uint64_t serial, struct btree_value *value)
{
    static const unsigned char widths[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
    *value = (struct btree_value){.type = BTREE_INT};
    if (serial == 10 || serial == 11 || serial > INT32_MAX)
        return false;
    if (serial >= 12) {
        value->type = serial & 1 ? BTREE_TEXT : BTREE_BLOB;
        value->bytes = (uint32_t)((serial - 12) / 2);
        return true;
    }
    if (serial == 0)
        value->type = BTREE_NULL;
    if (serial == 7)
        value->type = BTREE_REAL;
    value->bytes = widths[serial];
    value->number = serial == 9;
    return true;
}

int btree_record(const unsigned char *payload, size_t bytes, struct btree_value *values, int most)
{
    const unsigned char *end = payload + bytes;
    uint64_t head = 0;
    unsigned n = read_varint(payload, end, &head);
    if (n == 0 || head < n || head > bytes)
        return -1;
    const unsigned char *at = payload + n, *body = payload + head;
    int count = 0;
    while (at < payload + head) {
        uint64_t serial = 0;
        if (count == most || (n = read_varint(at, payload + head, &serial)) == 0 ||
            !shape_of(serial, &values[count]))
            return -1;
        struct btree_value *value = &values[count++];
        at += n;
        if ((size_t)(end - body) < value->bytes)
            return -1;
        if (value->type == BTREE_INT && value->bytes)
            value->number = big_endian(body, value->bytes);
        value->text = body;
        body += value->bytes;
    }
    return body == end ? count : -1;
}
