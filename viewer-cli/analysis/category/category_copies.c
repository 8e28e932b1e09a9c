#include "category_copies.h"

#include "category.h"
#include "error.h"
#include "query.h"

/* By size: how many are parameters, how many have no tag, the first that is a parameter. */
static const char sizes_sql[] =
    "SELECT a.size, count(t.id) AS known, sum(a.tag IS NULL) AS untagged,"
    "       min(CASE WHEN t.id IS NOT NULL THEN a.seq END) AS first"
    "  FROM allocation a CROSS JOIN heap h ON h.id = a.heap AND h.process = ?1"
    "  LEFT JOIN tag t ON t.id = a.tag AND t.category = 1"
    " WHERE a.seq < ?2"
    "   AND a.seq >= coalesce((SELECT p.first_seq FROM process p WHERE p.id = ?1), 0)"
    "   AND (a.free_seq < 0 OR a.free_seq > ?3)"
    " GROUP BY a.size HAVING count(t.id) > 0";

int category_copies_read(struct db *db, int64_t process, int64_t first_seq, int64_t last_seq,
                         struct category_copies *out)
{
    int64_t parameters = 0, matched = 0, size, known, untagged, first;
    struct query query = query_ask(db, sizes_sql, Q_IN(process, first_seq, query_opt(last_seq)),
                                   Q_OUT(Q_INT(size), Q_INT(known), Q_INT(untagged), Q_INT(first)));
    while (query_next(&query)) {
        parameters += known;
        matched += untagged < known ? untagged : known;
        if (first >= 0 && /* else it is damage */
            !map_put(&out->sizes, (uint64_t)size, (uint64_t)first, NULL))
            query_fail(&query, ERR_NOMEM);
    }
    out->copied = matched > parameters / 2;
    return query_end(&query);
}

void category_copies_clear(struct category_copies *copies)
{
    map_clear(&copies->sizes);
}

enum copies_verdict category_copies_decide(const struct category_copies *copies, int64_t seq,
                                           int64_t size, bool tagged)
{
    if (!copies->sizes.count)
        return COPIES_NO_TAGS;
    uint64_t first = map_get(&copies->sizes, (uint64_t)size);
    bool copy = copies->copied && !tagged && first != MAP_NONE && seq > (int64_t)first;
    return copy ? COPIES_COPY : COPIES_NONE;
}
