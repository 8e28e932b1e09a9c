#include "statements.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define COLUMN(type, name) {#name, SCH_##type},
#define STATEMENT(NAME, name, sql, columns)                                                        \
    static const struct sch_column columns_of_##name[] = {columns};
#include "statements.def"
#undef STATEMENT
#undef COLUMN

static const struct known {
    const char *sql;
    const struct sch_column *columns;
    unsigned cells;
} known[SCH_STATEMENT_COUNT] = {
#define STATEMENT(NAME, name, sql, columns)                                                        \
    [SCH_##NAME] = {sql, columns_of_##name, SCH_CELLS(name)},
#include "statements.def"
#undef STATEMENT
};

static const struct known *look_up(enum sch_statement which)
{
    assert((unsigned)which < SCH_STATEMENT_COUNT);
    return &known[which];
}

unsigned sch_statement_cells(enum sch_statement which)
{
    return look_up(which)->cells;
}

const struct sch_column *sch_statement_columns(enum sch_statement which)
{
    return look_up(which)->columns;
}

const char *sch_statement_sql(enum sch_statement which)
{
    return look_up(which)->sql;
}

static size_t add(char *out, size_t at, const char *between, const char *text)
{
    assert(at + strlen(between) + strlen(text) < SCH_TEXT_BYTES);
    return at + (size_t)snprintf(out + at, SCH_TEXT_BYTES - at, "%s%s", between, text);
}

void sch_statement_text(enum sch_statement which, char out[SCH_TEXT_BYTES])
{
    const struct known *it = look_up(which);
    size_t at = add(out, 0, it->sql, "");
    if (it->sql[0] != 'I')
        return;
    for (unsigned i = 0; i < it->cells; i++)
        at = add(out, at, i ? "," : "(", it->columns[i].name);
    for (unsigned i = 0; i < it->cells; i++)
        at = add(out, at, i ? "," : ") VALUES(", "?");
    add(out, at, ")", "");
}
