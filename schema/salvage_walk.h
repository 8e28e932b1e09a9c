/*
 * salvage_walk.h - going through the pages of a tree.
 */
#ifndef TIDEMARK_SCHEMA_SALVAGE_WALK_H
#define TIDEMARK_SCHEMA_SALVAGE_WALK_H

#include "salvage_types.h"

#define SALVAGE_LEVELS 24 /* of a tree, at most */

/* What is done with a cell that holds a row; a base_err. */
typedef int salvage_see_cell(struct salvage *salvage, struct salvage_layout *table,
                             const struct btree_cell *cell);

struct salvage_walking {
    struct salvage *salvage;
    struct salvage_layout *table; /* NULL: none of ours; only noted as seen */
    salvage_see_cell *see;
    bool list; /* the table is the list of tables */
};

struct salvage_span { /* of keys that a page may have */
    int64_t after, last;
};

#define ALL_KEYS ((struct salvage_span){INT64_MIN, INT64_MAX})

static inline bool salvage_is_table(enum btree_kind kind)
{
    return kind == BTREE_TABLE_INNER || kind == BTREE_TABLE_LEAF;
}

static inline bool salvage_is_inner(enum btree_kind kind)
{
    return kind == BTREE_TABLE_INNER || kind == BTREE_INDEX_INNER;
}

/* Keys grow inside a page: the first and the last say whether all are as promised. */
bool salvage_keys_fit(const struct btree_page *page, struct salvage_span span);
/* 0 with *bytes set, or NULL there where the page is no good; an error for all else. */
int salvage_load(struct salvage *salvage, const struct salvage_layout *table, uint32_t number,
                 struct salvage_span span, unsigned char **bytes, struct btree_page *page);
/* The page and all below it; a page that is no good is a hole. */
int salvage_walk(struct salvage_walking *walk, uint32_t number, struct salvage_span span,
                 int level);

/* salvage_list.c */
int salvage_read_list(struct salvage *salvage);

#endif
