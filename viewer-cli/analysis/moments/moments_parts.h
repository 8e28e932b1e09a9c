/*
 * moments_parts.h - what the files of moments.h share.
 */
#ifndef TIDEMARK_ANALYSIS_MOMENTS_PARTS_H
#define TIDEMARK_ANALYSIS_MOMENTS_PARTS_H

#include "moments.h"

/* A row of table allocation with what is known of it. */
struct moments_row {
    int64_t seq, size, requested, alloc_ns, life_ns, free_seq, site, tag, module, phase;
};

struct moments_work {
    struct db *db;
    int64_t process, device;
    struct moments *out;
    struct category_rules *rules;
    struct module_tree *tree;
    struct map births;  /* phase.id -> kind */
    struct map classes; /* what makes a class, mixed -> the first class of that mix */
    struct map changes; /* moment and class -> place in changes, of frees, while blocks are read */
    size_t *born;       /* of each class: the place in changes of its last births */
    size_t born_cap;
    struct top *top; /* moments_top.c */
    size_t next;     /* the moment whose births are read */
};

/* Chooses the moments: by seq, none twice. 0 or an error. */
int moments_choose(struct moments_work *work);

/* The largest blocks of each moment. */
bool moments_top_begin(struct moments_work *work);
/* It lives at the moments [from, until). */
bool moments_top_offer(struct moments_work *work, const struct moments_block *block, size_t from,
                       size_t until);
/* They are out->blocks from here on. */
bool moments_top_end(struct moments_work *work);
void moments_top_clear(struct moments_work *work);

/* Sorted, and not more of them than there may be. */
void moments_settle(struct moments *moments);

#endif
