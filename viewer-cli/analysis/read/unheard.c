#include "unheard.h"

#include <stdio.h>
#include <string.h>

#include "gap.h"

static const char sql[] = "SELECT first_seq, begin_ns, end_ns, why FROM gap"
                          " WHERE process = ?1 AND lower(source) = 'cupti' AND first_seq <= ?3"
                          "   AND (last_seq IS NULL OR last_seq >= ?2) ORDER BY first_seq";

static void add(struct unheard *unheard, struct db_stmt *row)
{
    bool open = db_column_type(row, 2) == DB_NULL;
    const char *why = db_column_type(row, 3) != DB_NULL ? db_column_text(row, 3) : "";
    if (!unheard->count++) {
        unheard->first_seq = db_column_int(row, 0);
        unheard->begin_ns = db_column_int(row, 1);
    }
    if (open)
        unheard->end_ns = UNHEARD_OPEN;
    else if (unheard->end_ns != UNHEARD_OPEN && db_column_int(row, 2) > unheard->end_ns)
        unheard->end_ns = db_column_int(row, 2);
    unheard->why = !*why                         ? UNHEARD_NOT_KNOWN
                   : strcmp(why, GAP_FATAL) == 0 ? UNHEARD_FATAL
                                                 : UNHEARD_TOOL;
    snprintf(unheard->name, sizeof unheard->name, "%s", why);
}

int unheard_read(struct db *db, int64_t process, int64_t first_seq, int64_t last_seq,
                 struct unheard *out)
{
    struct db_stmt *stmt = NULL;
    *out = (struct unheard){0};
    int err = db_prepare(db, &stmt, sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, process);
    db_bind_int(stmt, 1, first_seq);
    db_bind_int(stmt, 2, last_seq);
    while ((err = db_step(stmt)) == DB_ROW)
        add(out, stmt);
    db_finalize(stmt);
    return err < 0 ? err : 0;
}
