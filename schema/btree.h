/*
 * btree.h - one page of a table, taken apart without SQLite and without trust.
 *
 * A page is taken whole or not at all: its cells must lie inside it, must together with its free
 * blocks and fragments fill it to the byte, and the keys of a table's rows must grow. A page of
 * zeros, of noise, or of something else does not pass; one that was changed in the middle of a
 * number does, since the format has no checksums.
 *
 * A record is the values of a row. It is taken only if its header and its values fill the payload
 * to the byte.
 */
#ifndef TIDEMARK_SCHEMA_BTREE_H
#define TIDEMARK_SCHEMA_BTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages.h"

enum btree_kind {
    BTREE_INDEX_INNER = 2, /* tables WITHOUT ROWID are kept as an index */
    BTREE_TABLE_INNER = 5,
    BTREE_INDEX_LEAF = 10,
    BTREE_TABLE_LEAF = 13
};

struct btree_page {
    const unsigned char *bytes;
    uint32_t number;
    enum btree_kind kind;
    uint32_t cells;
    uint32_t at_cells; /* where the offsets of the cells begin */
    uint32_t right;    /* the last child of an inner page */
    uint32_t usable;
};

struct btree_cell {
    uint32_t child; /* of an inner page: what is before this cell */
    int64_t key;    /* of a table */
    const unsigned char *payload;
    uint64_t payload_bytes; /* in all */
    uint32_t local_bytes;   /* on this page; 0 = the cell has no payload */
    uint32_t overflow;      /* the page where it goes on, 0 = none */
    uint32_t bytes;         /* of the cell */
};

enum btree_type { BTREE_NULL, BTREE_INT, BTREE_REAL, BTREE_TEXT, BTREE_BLOB };

struct btree_value {
    enum btree_type type;
    uint32_t bytes; /* of text and blob */
    int64_t number;
    const unsigned char *text; /* not terminated */
};

/* False: it is no page of a table, or damaged. */
bool btree_page(const struct pages *pages, uint32_t number, const unsigned char *bytes,
                struct btree_page *out);
/* Of a page that passed. */
void btree_cell(const struct btree_page *page, uint32_t at, struct btree_cell *out);
/* At most `most` values; returns how many there are, or -1 for a damaged record. */
int btree_record(const unsigned char *payload, size_t bytes, struct btree_value *values, int most);

#endif
