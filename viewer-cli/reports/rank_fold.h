/*
 * rank_fold.h - ranks whose tables look the same: people get the table of the first.
 *
 * Ranks of a job do the same on memory of their own. Two tables look the same if all that is
 * printed below their headings is: what differs by less than a printed digit is not told apart. A
 * process without a rank goes by its number.
 */
#ifndef TIDEMARK_VIEWER_RANK_FOLD_H
#define TIDEMARK_VIEWER_RANK_FOLD_H

#include "report.h"

struct rank_table { /* one that is shown, and those that look like it */
    const struct report_scope *scope;
    char *text;                       /* what is below its heading */
    int64_t more;                     /* how many look like it */
    const struct report_scope *first; /* the first of them */
};

struct rank_fold { /* all zero: none */
    struct rank_table *tables;
    size_t count, cap;
};

/* What a scope has printed: the heading from `begin` on, the table from `body` on, both in the
 * report's emitter, and `key` for what in the heading is to be the same, too. If a table that
 * stands above looks like it, it is taken back. 0 or an error. */
int rank_fold_see(struct rank_fold *fold, struct emit *emit, const struct report_scope *scope,
                  const struct emit_mark *begin, const struct emit_mark *body, const char *key);
/* Who is not shown; `what` is the table: "ladder". */
void rank_fold_note(struct emit *emit, const struct rank_fold *fold, const char *what);
void rank_fold_clear(struct rank_fold *fold);

#endif
