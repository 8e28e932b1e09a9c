/*
 * A step that was cut short, by a refused request for instance, does not show what the program
 * would have held beyond its backward. The step before does: what is born at the same place and
 * asks for as many bytes as a block that was held then, would have been held now.
 */
#include <stdlib.h>
#include <string.h>

#include "category_rules.h"
#include "error.h"
#include "levers_step.h"
#include "mem.h"
#include "query.h"

struct like {
    int64_t site, asked;
};

struct held {
    struct like *likes; /* by site, then bytes; some twice */
    size_t count, cap;
};

static int by_site(const void *one, const void *other)
{
    const struct like *a = one, *b = other;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return a->asked < b->asked ? -1 : a->asked > b->asked;
}

static const char blocks_sql[] =
    "SELECT a.seq, a.free_seq, a.tag, ap.phase, a.site, coalesce(a.requested, a.size) AS asked,"
    "  a.size"
    "  FROM allocation a JOIN heap h ON h.id = a.heap"
    "  LEFT JOIN allocation_phase ap ON ap.allocation = a.seq"
    " WHERE a.seq BETWEEN ?3 AND ?4 AND (a.free_seq < 0 OR a.free_seq > ?4)"
    "   AND h.process = ?1 AND h.device = ?2";

/* The last step before with a whole backward. ERR_NOTFOUND: there is none. */
static int find_before(const struct category_rules *rules, const struct peak *peak, int64_t *begin,
                       int64_t *end)
{
    const struct category_bounds *last = NULL;
    for (size_t i = 0; i < rules->step_count; i++) {
        const struct category_bounds *step = &rules->steps[i];
        if (step->step < peak->step && step->backward_end_seq != CATEGORY_UNKNOWN &&
            (!last || step->step > last->step))
            last = step;
    }
    if (!last)
        return ERR_NOTFOUND;
    *begin = last->begin_seq;
    *end = last->backward_end_seq;
    return 0;
}

static int take(struct category_rules *rules, const struct category_block *block,
                const struct like *like, struct held *held)
{
    struct category_verdict verdict;
    int err = category_decide(rules, block, &verdict);
    if (err < 0)
        return err;
    if (verdict.purpose != PURPOSE_HELD)
        return 0;
    if (!MEM_GROW(held->likes, held->cap, held->count + 1))
        return ERR_NOMEM;
    held->likes[held->count++] = *like;
    return 0;
}

static int read_held(struct db *db, const struct peak *peak, struct category_rules *rules,
                     struct held *held)
{
    struct category_block block;
    struct like like;
    int64_t begin = 0, end = 0;
    int err = find_before(rules, peak, &begin, &end);
    if (err < 0)
        return err;
    struct query query = query_ask(db, blocks_sql, Q_IN(peak->process, peak->device, begin, end),
                                   Q_OUT(Q_INT(block.seq), Q_INT(block.free_seq), Q_OPT(block.tag),
                                         Q_OPT(block.phase), Q_OPT(like.site), Q_INT(like.asked),
                                         Q_INT(block.size)));
    while (query_next(&query))
        query_fail(&query, take(rules, &block, &like, held));
    if (held->count)
        qsort(held->likes, held->count, sizeof *held->likes, by_site);
    return query_end(&query);
}

int levers_hold_as_before(struct db *db, const struct peak *peak, struct levers_step *step)
{
    struct held held = {0};
    struct category_rules *rules;
    int err = category_load(db, peak->process, &rules);
    if (err == 0)
        err = read_held(db, peak, rules, &held);
    category_free(rules);
    for (size_t i = 0; i < step->count && err == 0 && held.count; i++) {
        struct levers_block *block = &step->blocks[i];
        const struct like like = {block->site, block->asked};
        if (block->seq >= step->own_begin && block->purpose == PURPOSE_ACTIVATION &&
            !block->tagged && bsearch(&like, held.likes, held.count, sizeof like, by_site))
            block->purpose = PURPOSE_HELD;
    }
    mem_free(held.likes);
    return err == ERR_NOTFOUND ? 0 : err;
}
