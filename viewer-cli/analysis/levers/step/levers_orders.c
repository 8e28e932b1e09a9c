#include "levers_orders.h"

#include <stdlib.h>

#include "ensure.h"
#include "error.h"
#include "group.h"
#include "mem.h"
#include "search.h"

const struct levers_phase *levers_backward_of(const struct levers_step *step,
                                              const struct levers_block *block)
{
    return levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
}

/* ---- orders ---- */

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_end(const void *one, const void *other)
{
    const struct levers_saved *a = one, *b = other;
    int order = compare(a->backward, b->backward);
    if (order == 0)
        order = compare(a->asked, b->asked);
    return order ? order : compare(a->end, b->end);
}

static int by_birth(const void *one, const void *other)
{
    const struct levers_made *a = one, *b = other;
    int order = compare(a->module, b->module);
    return order ? order : compare((int64_t)a->block, (int64_t)b->block);
}

static int by_likeness(const void *one, const void *other)
{
    const struct levers_made *a = one, *b = other;
    int order = compare(a->module, b->module);
    if (order == 0)
        order = compare(a->asked, b->asked);
    return order ? order : compare((int64_t)a->block, (int64_t)b->block);
}

static void take(struct levers_orders *orders, size_t at)
{
    const struct levers_step *step = orders->step;
    const struct levers_block *block = &step->blocks[at];
    const struct levers_phase *next = levers_backward_of(step, block);
    if (next && block->end > next->begin)
        orders->saved[orders->saved_count++] =
            (struct levers_saved){next->begin, block->asked, block->end, at};
    if (block->module != GROUP_NONE &&
        levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq)) {
        const struct levers_made made = {block->module, block->asked, at};
        orders->made[orders->made_count] = orders->alike[orders->made_count] = made;
        orders->made_count++;
    }
}

int levers_orders_read(const struct levers_step *step, struct levers_orders *out)
{
    *out = (struct levers_orders){.step = step,
                                  .saved = mem_alloc(step->count + 1, sizeof *out->saved),
                                  .made = mem_alloc(step->count + 1, sizeof *out->made),
                                  .alike = mem_alloc(step->count + 1, sizeof *out->alike)};
    if (!out->saved || !out->made || !out->alike)
        return ERR_NOMEM;
    for (size_t i = step->older; i < step->count; i++)
        take(out, i);
    qsort(out->saved, out->saved_count, sizeof *out->saved, by_end);
    qsort(out->made, out->made_count, sizeof *out->made, by_birth);
    qsort(out->alike, out->made_count, sizeof *out->alike, by_likeness);
    ENSURE_WHOLE(levers_orders_is_valid(out));
    return 0;
}

void levers_orders_clear(struct levers_orders *orders)
{
    mem_free(orders->saved);
    mem_free(orders->made);
    mem_free(orders->alike);
    *orders = (struct levers_orders){0};
}

bool levers_orders_is_valid(const struct levers_orders *orders)
{
    for (size_t i = 1; i < orders->saved_count; i++)
        if (by_end(&orders->saved[i - 1], &orders->saved[i]) > 0)
            return false;
    for (size_t i = 1; i < orders->made_count; i++)
        if (by_birth(&orders->made[i - 1], &orders->made[i]) >= 0 ||
            by_likeness(&orders->alike[i - 1], &orders->alike[i]) >= 0)
            return false;
    return true;
}

/* ---- questions ---- */

static const struct levers_block *saved_at(const struct levers_orders *orders, size_t at,
                                           const struct levers_saved *like)
{
    const struct levers_saved *saved = &orders->saved[at];
    return at < orders->saved_count && saved->backward == like->backward &&
                   saved->asked == like->asked
               ? &orders->step->blocks[saved->block]
               : NULL;
}

const struct levers_block *levers_saved_before(const struct levers_orders *orders,
                                               const struct levers_block *block, int64_t seq)
{
    const struct levers_phase *backward = levers_backward_of(orders->step, block);
    const struct levers_saved like = {backward ? backward->begin : LEVERS_NEVER, block->asked, seq,
                                      0};
    size_t at;
    SEARCH_FIRST(at, 0, orders->saved_count, by_end(&orders->saved[at], &like) < 0);
    return at ? saved_at(orders, at - 1, &like) : NULL;
}

const struct levers_block *levers_saved_behind(const struct levers_orders *orders,
                                               const struct levers_block *block, int64_t seq)
{
    const struct levers_phase *backward = levers_backward_of(orders->step, block);
    const struct levers_saved like = {backward ? backward->begin : LEVERS_NEVER, block->asked, seq,
                                      0};
    size_t at;
    SEARCH_FIRST(at, 0, orders->saved_count, by_end(&orders->saved[at], &like) <= 0);
    return saved_at(orders, at, &like);
}

/* Of those of a list that are no less than the first and less than the second. */
static struct levers_alike between(const struct levers_orders *orders,
                                   const struct levers_made *list,
                                   int (*order)(const void *, const void *),
                                   const struct levers_made *from, const struct levers_made *to)
{
    size_t first, last;
    SEARCH_FIRST(first, 0, orders->made_count, order(&list[first], from) < 0);
    SEARCH_FIRST(last, first, orders->made_count, order(&list[last], to) < 0);
    return (struct levers_alike){&list[first], last - first};
}

struct levers_alike levers_made_alike(const struct levers_orders *orders,
                                      const struct levers_block *block, int64_t from, int64_t to)
{
    const struct levers_made begin = {block->module, block->asked,
                                      levers_first_from(orders->step, from)};
    const struct levers_made end = {block->module, block->asked,
                                    levers_first_from(orders->step, to)};
    return between(orders, orders->alike, by_likeness, &begin, &end);
}

struct levers_alike levers_made_in(const struct levers_orders *orders, int64_t module, int64_t from,
                                   int64_t to)
{
    const struct levers_made begin = {module, 0, levers_first_from(orders->step, from)};
    const struct levers_made end = {module, 0, levers_first_from(orders->step, to)};
    return between(orders, orders->made, by_birth, &begin, &end);
}

/* Births of a module that follow each other at once have places that do. */
size_t levers_run_end(const struct levers_orders *orders, size_t made)
{
    const struct levers_made *list = orders->made;
    const struct levers_made wanted = {orders->step->blocks[made].module, 0, made};
    size_t at, end;
    SEARCH_FIRST(at, 0, orders->made_count, by_birth(&list[at], &wanted) < 0);
    SEARCH_FIRST(end, at, orders->made_count,
                 list[end].module == wanted.module && list[end].block - made == end - at);
    return made + (end - at);
}
