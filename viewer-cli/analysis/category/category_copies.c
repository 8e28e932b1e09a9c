#include "category_copies.h"

#include "category.h"
#include "error.h"

/* By size: how many are parameters, how many have no tag, the first that is a parameter. */
static const char sizes_sql[] =
    "SELECT a.size, count(t.id), sum(a.tag IS NULL), min(CASE WHEN t.id IS NOT NULL THEN a.seq END)"
    "  FROM allocation a CROSS JOIN heap h ON h.id = a.heap AND h.process = ?1"
    "  LEFT JOIN tag t ON t.id = a.tag AND t.category = 1"
    " WHERE a.seq < ?2"
    "   AND a.seq >= coalesce((SELECT p.first_seq FROM process p WHERE p.id = ?1), 0)"
    "   AND (a.free_seq < 0 OR a.free_seq > ?3)"
    " GROUP BY a.size HAVING count(t.id) > 0";

int category_copies_read(struct db *db, int64_t process, int64_t first_seq, int64_t last_seq,
                         struct category_copies *out)
{
    struct db_stmt *row = NULL;
    int64_t parameters = 0, matched = 0;
    int err = db_prepare(db, &row, sizes_sql);
    if (err < 0)
        return err;
    db_bind_int(row, 0, process);
    db_bind_int(row, 1, first_seq);
    if (last_seq != CATEGORY_UNKNOWN)
        db_bind_int(row, 2, last_seq);
    while ((err = db_step(row)) == DB_ROW) {
        int64_t known = db_column_int(row, 1), untagged = db_column_int(row, 2);
        int64_t first = db_column_int(row, 3);
        parameters += known;
        matched += untagged < known ? untagged : known;
        if (first >= 0 && /* else it is damage */
            !map_put(&out->sizes, (uint64_t)db_column_int(row, 0), (uint64_t)first, NULL)) {
            err = ERR_NOMEM;
            break;
        }
    }
    db_finalize(row);
    out->copied = matched > parameters / 2;
    return err < 0 ? err : 0;
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
