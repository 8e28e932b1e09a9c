/*
 * phases_ranks.h - ranks whose lists of phases look the same: people get the list of the first.
 *
 * Ranks of a job do the same on memory of their own. Two lists look the same if they have the same
 * rows with the same sizes as they are printed; their times are not compared. How far apart their
 * sizes are is said in a note.
 */
#ifndef TIDEMARK_VIEWER_PHASES_RANKS_H
#define TIDEMARK_VIEWER_PHASES_RANKS_H

#include "phases_fold.h"
#include "report.h"

struct phases_list { /* one that is shown, and the ranks that look like it */
    const struct report_scope *scope;
    struct phases_rows rows;
    int64_t more, first; /* how many; the first of them */
    int64_t apart;       /* bytes: the most by which a size of one of them differs */
};

struct phases_ranks { /* all zero: none */
    struct phases_list *lists;
    size_t count, cap;
};

/* True: this rank looks like one that is shown, and counts to it. */
bool phases_ranks_fold(struct phases_ranks *ranks, const struct report_scope *scope,
                       const struct phases_rows *rows);
/* It is shown. Takes over the rows and leaves none. False: no memory. */
bool phases_ranks_add(struct phases_ranks *ranks, const struct report_scope *scope,
                      struct phases_rows *rows);
/* Who is not shown, and how far apart they are. */
void phases_ranks_note(struct emit *emit, const struct phases_ranks *ranks);
void phases_ranks_clear(struct phases_ranks *ranks);

#endif
