#include "db.h"

#include <assert.h>

#include "schema_text.h"

static const struct known {
    unsigned cells;
    const char *sql;
} known[SCH_STATEMENT_COUNT] = {
#define STATEMENT(name, cells, sql) [SCH_##name] = {cells, sql},
#include "statements.def"
#undef STATEMENT
};

unsigned sch_statement_cells(enum sch_statement which)
{
    assert((unsigned)which < SCH_STATEMENT_COUNT);
    return known[which].cells;
}

const char *sch_statement_sql(enum sch_statement which)
{
    assert((unsigned)which < SCH_STATEMENT_COUNT);
    return known[which].sql;
}

const char *sch_text(void)
{
    return schema_text;
}
