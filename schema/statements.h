/*
 * statements.h - the recorder's statements, and a row of each, by the names of its columns.
 *
 * A row is written as `&(struct row_idle){.allocation = seq, .seq = now, .at_ns = ns}`: each column
 * stands under its own name, so that no value gets into the column beside its own. What a row does
 * not name is not known, and is stored as NULL; a number that is always known (type INT) has to be
 * named, or it is 0.
 */
#ifndef TIDEMARK_SCHEMA_STATEMENTS_H
#define TIDEMARK_SCHEMA_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that may be not known; of its own type, so that a row of zeroes knows none. */
struct row_opt {
    bool known;
    int64_t value; /* 0 where it is not known */
};

struct row_any {
    const char *text; /* NULL: the number */
    struct row_opt number;
};

/* What is not known where it is kept as a bare number. */
#define ROW_UNKNOWN INT64_MIN

static inline struct row_opt row_opt_if(bool known, int64_t value)
{
    return (struct row_opt){known, known ? value : 0};
}

static inline struct row_opt row_opt(int64_t value)
{
    return row_opt_if(value != ROW_UNKNOWN, value);
}

/* What life_ns and free_seq of a living block hold: as wide in a row as what will replace it, six
 * bytes and four, so that completing the row moves nothing. (Wider ends, after 39 hours or 2^31
 * events, fit all the same, at the price of a move.) */
#define DB_LIVING_NS (-70368744177664LL) /* -2^46 */
#define DB_LIVING_SEQ (-2147483648LL)    /* -2^31 */

/* Ids of phases from here on are of what is not settled: they go with the next commit. */
#define DB_LOOSE_PHASE ((int64_t)1 << 40)

/* Of a name, a site: 0 is none. */
static inline struct row_opt row_id(uint32_t id)
{
    return row_opt_if(id != 0, id);
}

enum sch_statement {
#define STATEMENT(NAME, name, sql, columns) SCH_##NAME,
#include "statements.def"
#undef STATEMENT
    SCH_STATEMENT_COUNT
};

#define ROW_TYPE_INT int64_t
#define ROW_TYPE_OPT struct row_opt
#define ROW_TYPE_TEXT const char *
#define ROW_TYPE_NTEXT const char *
#define ROW_TYPE_ANY struct row_any

#define COLUMN(type, name) ROW_TYPE_##type name;
#define STATEMENT(NAME, name, sql, columns)                                                        \
    struct row_##name {                                                                            \
        columns                                                                                    \
    };
#include "statements.def"
#undef STATEMENT
#undef COLUMN

/* Which cell, and which parameter, a column is: as large as the row has cells, a byte each. */
#define COLUMN(type, name) char name;
#define STATEMENT(NAME, name, sql, columns)                                                        \
    struct row_at_##name {                                                                         \
        columns                                                                                    \
    };
#include "statements.def"
#undef STATEMENT
#undef COLUMN
#define SCH_CELLS(statement) (sizeof(struct row_at_##statement))
#define SCH_AT(statement, column) ((int)offsetof(struct row_at_##statement, column))

struct sch_column {
    const char *name;
    enum sch_type { SCH_INT, SCH_OPT, SCH_TEXT, SCH_NTEXT, SCH_ANY } type;
};

unsigned sch_statement_cells(enum sch_statement which);
const struct sch_column *sch_statement_columns(enum sch_statement which); /* as many as cells */
/* Ends with the table, if it is an INSERT. */
const char *sch_statement_sql(enum sch_statement which);
/* The whole of it. */
#define SCH_TEXT_BYTES 512
void sch_statement_text(enum sch_statement which, char out[SCH_TEXT_BYTES]);

#endif
