/*
 * tables.h - each column of each table of a recording, and what becomes of it in a merged one.
 *
 * tables.def has a line for each; tests/merge holds it against the schema, so that a table or a
 * column that is added there cannot be forgotten here.
 */
#ifndef TIDEMARK_MERGE_TABLES_H
#define TIDEMARK_MERGE_TABLES_H

#include <stddef.h>

enum merge_kind {
    MERGE_PLAIN,   /* stays as it is */
    MERGE_SEQ,     /* of an event; below 1: it stays */
    MERGE_NS,      /* of the file's own clock, since it began */
    MERGE_LIFE,    /* from the MERGE_NS that stands before it in the row; below 0: it stays */
    MERGE_PROCESS, /* from here on ids; below 1: it stays */
    MERGE_DEVICE,
    MERGE_HEAP,
    MERGE_PHASE,
    MERGE_SETTLED, /* a running number */
    MERGE_STRING,  /* from here on ids of what is one row where it is the same */
    MERGE_FRAME,
    MERGE_SITE,
    MERGE_TAG,
    MERGE_MODULE,
    MERGE_KINDS,
    /* Kinds of single columns. */
    MERGE_MARK_VALUE,    /* a site, if the column behind it is 'rehearsal' */
    MERGE_SETTING_VALUE, /* of the key before it: of 'rebuilt_until' an event */
};

/* How the rows get into the merged table. */
enum merge_order {
    MERGE_BY_FILE, /* one file's after the other's */
    MERGE_BY_SEQ,  /* the first column is the key, and the files' rows interleave by it */
    MERGE_NAMED,   /* what is the same is one row: merge_names.c */
    MERGE_APART,   /* the row is made from those of all files, or from the facts */
};

struct merge_column {
    const char *name;
    enum merge_kind kind;
};

#define MERGE_COLUMNS 24

struct merge_table {
    const char *name;
    enum merge_order order;
    const struct merge_column *columns;
    size_t count; /* at most MERGE_COLUMNS */
};

enum merge_name {
#define TABLE(name, order, columns) MERGE_TABLE_##name,
#include "tables.def"
#undef TABLE
    MERGE_TABLES
};

extern const struct merge_table merge_tables[MERGE_TABLES];

#endif
