/* whole_steps.c - see whole_steps.h. */
#include "whole_steps.h"

#include "error.h"
#include "query.h"

static const char count_sql[] =
    "SELECT count(*) AS count FROM (SELECT step FROM phase WHERE process = ?1 AND step IS NOT NULL"
    " GROUP BY step HAVING count(*) = count(end_seq)"
    "   AND sum(ended IN ('exception', 'unbalanced', 'process end')) = 0)";
static const char end_sql[] =
    "SELECT coalesce(max(coalesce(end_seq, 9223372036854775807)), 9223372036854775807) AS \"end\""
    " FROM phase WHERE process = ?1 AND step <"
    " (SELECT min(step) FROM phase WHERE process = ?1 AND step IS NOT NULL) + ?2";

int whole_steps_count(struct db *db, int64_t process, int64_t *count)
{
    *count = 0;
    return query_read(db, count_sql, Q_IN(process), Q_OUT(Q_INT(*count)));
}

int whole_steps_end(struct db *db, int64_t process, int64_t steps, int64_t *end)
{
    int64_t count;
    *end = INT64_MAX;
    int err = steps ? whole_steps_count(db, process, &count) : 0;
    if (err < 0 || !steps || count < steps)
        return err;
    return query_read(db, end_sql, Q_IN(process, steps), Q_OUT(Q_ANY(*end)));
}
