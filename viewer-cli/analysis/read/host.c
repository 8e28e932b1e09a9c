#include "host.h"

#include "query.h"

#define LAST(what, name)                                                                           \
    "(SELECT nullif(value, 0) FROM sample WHERE process = ?1 AND what = '" what                    \
    "' AND at_ns <= n.at_ns ORDER BY at_ns DESC LIMIT 1) AS " name

/* clang-format off */
static const char around_sql[] =
    "WITH n AS (SELECT at_ns, value FROM sample WHERE process = ?1 AND what = 'RSS'"
    "           ORDER BY abs(at_ns - ?2) LIMIT 1)"
    "SELECT n.at_ns, n.value AS rss,"
    LAST("most RSS", "most_rss") ","
    LAST("address space", "address_space") ","
    LAST("most address space", "most_address_space") ","
    LAST("limit of address space", "limit_address_space") ","
    LAST("data", "data") ","
    LAST("limit of data", "limit_data") ","
    LAST("cgroup used", "group_used") ","
    LAST("cgroup limit", "group_limit") ","
    LAST("machine available", "available") ","
    LAST("machine memory", "machine")
    " FROM n";
/* clang-format on */

int host_read(struct db *db, int64_t process, int64_t at_ns, struct host *out)
{
    *out = (struct host){.at_ns = HOST_NONE,
                         .rss = HOST_NONE,
                         .most_rss = HOST_NONE,
                         .address_space = HOST_NONE,
                         .most_address_space = HOST_NONE,
                         .limit_address_space = HOST_NONE,
                         .data = HOST_NONE,
                         .limit_data = HOST_NONE,
                         .group_used = HOST_NONE,
                         .group_limit = HOST_NONE,
                         .available = HOST_NONE,
                         .machine = HOST_NONE};
    return query_read(db, around_sql, Q_IN(process, at_ns),
                      Q_OUT(Q_INT(out->at_ns), Q_INT(out->rss), Q_OPT(out->most_rss),
                            Q_OPT(out->address_space), Q_OPT(out->most_address_space),
                            Q_OPT(out->limit_address_space), Q_OPT(out->data),
                            Q_OPT(out->limit_data), Q_OPT(out->group_used), Q_OPT(out->group_limit),
                            Q_OPT(out->available), Q_OPT(out->machine)));
}

int host_kill_read(struct db *db, int64_t process, struct host_kill *out)
{
    *out = (struct host_kill){.at_ns = HOST_NONE};
    int err = query_read(db,
                         "SELECT at_ns FROM sample WHERE process = ?1"
                         " AND what = 'killed for memory' ORDER BY at_ns DESC LIMIT 1",
                         Q_IN(process), Q_OUT(Q_INT(out->at_ns)));
    out->killed = out->at_ns != HOST_NONE;
    return err < 0 || !out->killed ? err : host_read(db, process, out->at_ns, &out->host);
}

static bool is_full(int64_t used, int64_t asked, int64_t limit)
{
    return used != HOST_NONE && limit != HOST_NONE && asked > limit - used;
}

enum host_wall host_wall_of(const struct host *host, int64_t asked)
{
    int64_t used = host->machine == HOST_NONE || host->available == HOST_NONE
                       ? HOST_NONE
                       : host->machine - host->available;
    if (is_full(host->address_space, asked, host->limit_address_space))
        return HOST_WALL_ADDRESS_SPACE;
    if (is_full(host->data, asked, host->limit_data))
        return HOST_WALL_DATA;
    if (is_full(host->group_used, asked, host->group_limit))
        return HOST_WALL_GROUP;
    return is_full(used, asked, host->machine) ? HOST_WALL_MACHINE : HOST_WALL_UNKNOWN;
}

int host_limit_set(struct db *db, int64_t process, int64_t at_ns, enum host_wall wall,
                   int64_t *set_ns)
{
    *set_ns = HOST_NONE;
    if (wall != HOST_WALL_ADDRESS_SPACE && wall != HOST_WALL_DATA)
        return 0;
    return query_read(
        db,
        "WITH l AS (SELECT max(at_ns) AS at FROM sample WHERE process = ?1 AND at_ns <= ?2"
        "  AND what = CASE WHEN ?3 THEN 'limit of address space' ELSE 'limit of data' END)"
        "SELECT CASE WHEN l.at > (SELECT min(at_ns) FROM sample"
        "                          WHERE process = ?1 AND what = 'RSS') THEN l.at END AS set_ns"
        " FROM l",
        Q_IN(process, at_ns, wall == HOST_WALL_ADDRESS_SPACE), Q_OUT(Q_OPT(*set_ns)));
}
