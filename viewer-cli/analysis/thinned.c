#include "thinned.h"

static const char sql[] =
    "SELECT coalesce(sum(n), 0), coalesce(min(first_seq), 0), coalesce(max(last_seq), 0)"
    "  FROM thinned WHERE what = ?1 AND process = ?2 AND first_seq <= ?4 AND last_seq >= ?3";

int thinned_read(struct db *db, const char *what, int64_t process, int64_t first_seq,
                 int64_t last_seq, struct thinned *out)
{
    struct db_stmt *stmt = NULL;
    *out = (struct thinned){0};
    int err = db_prepare(db, &stmt, sql);
    if (err < 0)
        return err;
    db_bind_text(stmt, 0, what, -1);
    db_bind_int(stmt, 1, process);
    db_bind_int(stmt, 2, first_seq);
    db_bind_int(stmt, 3, last_seq);
    err = db_step(stmt);
    if (err == DB_ROW)
        *out = (struct thinned){db_column_int(stmt, 0), db_column_int(stmt, 1),
                                db_column_int(stmt, 2)};
    db_finalize(stmt);
    return err < 0 ? err : 0;
}
