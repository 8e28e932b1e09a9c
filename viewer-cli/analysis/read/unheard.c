#include "unheard.h"

#include <stdio.h>
#include <string.h>

#include "gap.h"
#include "query.h"

static const char sql[] = "SELECT first_seq, begin_ns, end_ns, why FROM gap"
                          " WHERE process = ?1 AND lower(source) = 'cupti' AND first_seq <= ?3"
                          "   AND (last_seq IS NULL OR last_seq >= ?2) ORDER BY first_seq";

struct row {
    int64_t first_seq, begin_ns, end_ns;
    const char *why;
};

static void add(struct unheard *unheard, const struct row *row)
{
    if (!unheard->count++) {
        unheard->first_seq = row->first_seq;
        unheard->begin_ns = row->begin_ns;
    }
    if (row->end_ns == QUERY_NONE)
        unheard->end_ns = UNHEARD_OPEN;
    else if (unheard->end_ns != UNHEARD_OPEN && row->end_ns > unheard->end_ns)
        unheard->end_ns = row->end_ns;
    unheard->why = !*row->why                         ? UNHEARD_NOT_KNOWN
                   : strcmp(row->why, GAP_FATAL) == 0 ? UNHEARD_FATAL
                                                      : UNHEARD_TOOL;
    snprintf(unheard->name, sizeof unheard->name, "%s", row->why);
}

int unheard_read(struct db *db, int64_t process, int64_t first_seq, int64_t last_seq,
                 struct unheard *out)
{
    struct row row;
    *out = (struct unheard){0};
    struct query query = query_ask(
        db, sql, Q_IN(process, first_seq, last_seq),
        Q_OUT(Q_INT(row.first_seq), Q_INT(row.begin_ns), Q_OPT(row.end_ns), Q_TEXT(row.why)));
    while (query_next(&query))
        add(out, &row);
    return query_end(&query);
}
