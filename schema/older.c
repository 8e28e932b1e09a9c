#include "older.h"

#include <string.h>

#include "buf.h"
#include "db.h"
#include "error.h"

/* Columns of one table stand together, in their order there. */
static const struct added {
    unsigned since; /* version */
    const char *table, *column;
} added[] = {
    {4, "allocation", "module"},
    {4, "phase", "settled"},
};

/* Tables that such a file has none of: empty ones. */
static const struct whole {
    unsigned since;
    const char *view;
} wholes[] = {
    {4, "CREATE TEMP VIEW module AS SELECT NULL AS id, NULL AS path, NULL AS class WHERE 0;"},
    {5, "CREATE TEMP VIEW merged AS SELECT NULL AS id, NULL AS file, NULL AS host, NULL AS way,"
        " NULL AS meeting, NULL AS meetings, NULL AS offset_ns, NULL AS drift_ppb,"
        " NULL AS error_ns, NULL AS first_process, NULL AS last_process,"
        " NULL AS schema_version, NULL AS finished WHERE 0;"},
};

#define ADDED (sizeof added / sizeof *added)

/* The columns of the table of added[at] that such a file lacks. Returns where the next table's are.
 */
static size_t put_view(struct buf *sql, size_t at, unsigned version)
{
    const char *table = added[at].table;
    struct buf nulls = {0};
    for (; at < ADDED && strcmp(added[at].table, table) == 0; at++)
        if (added[at].since > version)
            buf_print(&nulls, ", NULL AS %s", added[at].column);
    if (nulls.count)
        buf_print(sql, "CREATE TEMP VIEW %s AS SELECT *%s FROM main.%s;", table, buf_string(&nulls),
                  table);
    sql->broken |= nulls.broken;
    buf_clear(&nulls);
    return at;
}

int older_open(struct db *db, unsigned version)
{
    struct buf sql = {0};
    if (version >= DB_VERSION)
        return 0;
    for (size_t at = 0; at < ADDED;)
        at = put_view(&sql, at, version);
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        if (wholes[i].since > version)
            buf_text(&sql, wholes[i].view);
    int err = sql.broken ? ERR_NOMEM : db_exec(db, buf_string(&sql));
    buf_clear(&sql);
    return err;
}
