/*
 * peak_page.h - the first screen of `tidemark peak`: the page of one process on one device, and the
 * table of ranks above it.
 */
#ifndef TIDEMARK_VIEWER_PEAK_PAGE_H
#define TIDEMARK_VIEWER_PEAK_PAGE_H

#include "holders.h"
#include "peak_parts.h"

struct ranks;

struct peak_page {
    const struct peak_part *part;
    const struct holders *holders;
    const struct ranks *ranks; /* of which the page has one; NULL */
    size_t weighed, all;       /* ranks whose highest the savings are off, and of how many; 0 */
    const char *whose;         /* behind the heading: ", rank 3"; "" where there is one process */
    int64_t host;   /* the most that a process has on the host, where the page is about a GPU; 0 */
    unsigned above; /* lines of the table of ranks and what is before it */
    int64_t total;  /* memory of the device; LADDER_NONE */
};

/* What nearly all of kind "other" is: "KV cache", "made before training"; NULL: of several sorts.
 */
const char *peak_other_name(const struct peak_part *part);

/* "layers[0-3] (itself)", "train.py:24 > ...". */
void peak_put_holder_name(struct buf *out, const struct holder *holder);

/* What the changes of the page's process take off the highest of its ranks. 0 or an error. */
int peak_ranks_weigh(struct report *report, struct peak_page *page, struct peak_part *part);

/* With so many holders; `frame` has whose it is, and `host`. 0 or an error. */
int peak_put_page_of(struct report *report, const struct report_scope *scope,
                     const struct peak_page *frame, size_t most);

#endif
