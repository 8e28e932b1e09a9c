/* block_rows.c - see block_rows.h. */
#include "block_rows.h"

static const char heaps_sql[] = "SELECT min(id) AS first, max(id) AS last, count(*) AS heaps"
                                "  FROM heap WHERE process = ?1 AND device = ?2";

static const char born_sql[] = "SELECT EXISTS (SELECT 1 FROM allocation_phase) AS born";

int block_rows_find(struct db *db, int64_t process, int64_t device, struct block_rows *out)
{
    int64_t heaps = 0;
    *out = (struct block_rows){.first = QUERY_NONE, .last = QUERY_NONE};
    int err = query_read(db, heaps_sql, Q_IN(process, device),
                         Q_OUT(Q_OPT(out->first), Q_OPT(out->last), Q_INT(heaps)));
    out->all = heaps > 0 && heaps - 1 == out->last - out->first;
    return err < 0 ? err : query_once(db, born_sql, Q_OUT(Q_INT(out->born)));
}
