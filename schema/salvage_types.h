/*
 * salvage_types.h - what the files behind salvage.h share.
 */
#ifndef TIDEMARK_SCHEMA_SALVAGE_TYPES_H
#define TIDEMARK_SCHEMA_SALVAGE_TYPES_H

#include "btree.h"
#include "salvage.h"

enum salvage_range { RANGE_ANY, RANGE_NOT_NEGATIVE, RANGE_LIFE, RANGE_FREE };

struct salvage_column {
    char name[SALVAGE_NAME];
    bool number, text; /* what it may hold */
    bool not_null;
    enum salvage_range range;
};

/* Invariant: order is a permutation of 0..columns - 1. */
struct salvage_layout {
    struct salvage_table told;
    uint32_t root;
    bool by_key;   /* a table with numbers as keys; else WITHOUT ROWID */
    int key_at;    /* the column that is the key, -1 = none is */
    int alloc_seq; /* columns of a birth and its death, to be compared; -1 = none */
    int free_seq;
    int columns;
    struct salvage_column column[SALVAGE_COLUMNS];
    int order[SALVAGE_COLUMNS]; /* of the values in a record */
    struct db_stmt *insert;     /* NULL: rows are counted only */
};

struct salvage {
    struct pages pages;
    struct db *fresh;
    bool write;
    struct salvage_file file;
    struct salvage_layout *tables;
    size_t table_count, table_cap;
    struct salvage_hole *holes;
    size_t hole_count, hole_cap;
    unsigned char *seen; /* a bit for each page */
    unsigned char *page; /* for chains of overflow pages */
    unsigned char *payload;
    size_t payload_cap;
    unsigned untold; /* rows since the last commit */
};

/* salvage_tables.c: the layouts of all tables, from `fresh`, with the roots that it has. */
int salvage_layouts(struct salvage *salvage);
struct salvage_layout *salvage_find(struct salvage *salvage, const char *name, size_t bytes);

/* salvage_rows.c */
/* The cell's record, overflow pages and all; true if it can be a row of the table. *key is of a
 * table with keys. With `claim` its overflow pages count as seen. *err only for no memory. */
bool salvage_record(struct salvage *salvage, const struct salvage_layout *table,
                    const struct btree_cell *cell, bool claim, struct btree_value *values,
                    int *err);
/* Whole payload of a cell, or NULL where it cannot be had. */
const unsigned char *salvage_payload(struct salvage *salvage, const struct btree_cell *cell,
                                     bool claim, int *err);
/* Counts the cell and saves it if it passes. */
int salvage_row(struct salvage *salvage, struct salvage_layout *table,
                const struct btree_cell *cell);

static inline bool salvage_seen(const struct salvage *salvage, uint32_t page)
{
    return salvage->seen[page / 8] >> page % 8 & 1;
}

static inline void salvage_see(struct salvage *salvage, uint32_t page)
{
    salvage->seen[page / 8] |= (unsigned char)(1u << page % 8);
}

#endif
