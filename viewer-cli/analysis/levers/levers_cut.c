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
    "SELECT a.seq, a.free_seq, a.tag, ap.phase, a.site, coalesce(a.requested, a.size), a.size"
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

static int64_t known(struct db_stmt *row, int at)
{
    return db_column_type(row, at) == DB_NULL ? CATEGORY_UNKNOWN : db_column_int(row, at);
}

static int take(struct category_rules *rules, struct db_stmt *row, struct held *held)
{
    const struct category_block block = {db_column_int(row, 0), db_column_int(row, 1),
                                         known(row, 2), known(row, 3), db_column_int(row, 6)};
    struct category_verdict verdict;
    int err = category_decide(rules, &block, &verdict);
    if (err < 0)
        return err;
    if (verdict.purpose != PURPOSE_HELD)
        return 0;
    if (!MEM_GROW(held->likes, held->cap, held->count + 1))
        return ERR_NOMEM;
    held->likes[held->count++] = (struct like){column_known(row, 4), db_column_int(row, 5)};
    return 0;
}

static int read_held(struct db *db, const struct peak *peak, struct category_rules *rules,
                     struct held *held)
{
    struct db_stmt *row = NULL;
    int64_t begin = 0, end = 0;
    int err = find_before(rules, peak, &begin, &end);
    if (err >= 0)
        err = db_prepare(db, &row, blocks_sql);
    if (err >= 0) {
        db_bind_int(row, 0, peak->process);
        db_bind_int(row, 1, peak->device);
        db_bind_int(row, 2, begin);
        db_bind_int(row, 3, end);
    }
    while (err >= 0 && (err = db_step(row)) == DB_ROW && (err = take(rules, row, held)) >= 0)
        ;
    db_finalize(row);
    if (held->count)
        qsort(held->likes, held->count, sizeof *held->likes, by_site);
    return err < 0 ? err : 0;
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
