/* Changes that are united, against all of them in one list that is sorted. */
#include <stdlib.h>
#include <string.h>

#include "levers_step.h"
#include "mem.h"
#include "test.h"

enum { MOST = 400 };

struct model {
    struct levers_change changes[MOST];
    size_t count;
};

static int by_block(const void *one, const void *other)
{
    const struct levers_change *a = one, *b = other;
    if (a->how != b->how)
        return a->how < b->how ? -1 : 1;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* What is cut or lengthened twice counts once. */
static void unite_model(struct model *model)
{
    size_t kept = 0;
    qsort(model->changes, model->count, sizeof *model->changes, by_block);
    for (size_t i = 0; i < model->count; i++) {
        struct levers_change *last = kept ? &model->changes[kept - 1] : NULL;
        const struct levers_change *now = &model->changes[i];
        if (last && now->how <= LEVERS_LONGER && last->how == now->how &&
            last->block == now->block && now->from <= last->to)
            last->to = now->to > last->to ? now->to : last->to;
        else
            model->changes[kept++] = *now;
    }
    model->count = kept;
}

static void add_random(struct levers_edit *edit, struct model *model, uint64_t *seed)
{
    size_t block = test_random(seed) % 12;
    int64_t from = (int64_t)(test_random(seed) % 50), to = from + 1 + (int64_t)(from * 7 % 20);
    switch (test_random(seed) % 4) {
    case 0:
        REQUIRE(levers_cut(edit, block, from, to));
        break;
    case 1:
        REQUIRE(levers_lengthen(edit, block, to));
        break;
    case 2:
        REQUIRE(levers_extra(edit, from + 1, from, to));
        break;
    default:
        REQUIRE(levers_spike(edit, from + 1, from));
        break;
    }
    REQUIRE(model->count < MOST);
    model->changes[model->count++] = edit->changes[edit->count - 1];
}

/* Ties of what is not united may stand in any order. */
static int by_all(const void *one, const void *other)
{
    const struct levers_change *a = one, *b = other;
    int order = by_block(one, other);
    if (order == 0)
        order = a->to < b->to ? -1 : a->to > b->to;
    return order ? order : a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static void check_same(struct levers_edit *edit, struct model *model)
{
    CHECK_INT(edit->count, model->count);
    for (size_t i = 1; i < edit->count; i++)
        CHECK(by_block(&edit->changes[i - 1], &edit->changes[i]) <= 0);
    REQUIRE(edit->count == model->count);
    qsort(edit->changes, edit->count, sizeof *edit->changes, by_all);
    qsort(model->changes, model->count, sizeof *model->changes, by_all);
    for (size_t i = 0; i < model->count; i++)
        CHECK(by_all(&edit->changes[i], &model->changes[i]) == 0);
}

TEST(united_changes_equal_one_sorted_list)
{
    uint64_t seed = 11;
    for (int round = 0; round < 200; round++) {
        struct levers_edit edit = {0};
        struct model model = {.count = 0};
        for (size_t i = test_random(&seed) % 20; i > 0; i--)
            add_random(&edit, &model, &seed);
        for (size_t more = test_random(&seed) % 6; more > 0; more--) {
            struct levers_edit other = {0};
            for (size_t i = test_random(&seed) % 20; i > 0; i--)
                add_random(&other, &model, &seed);
            REQUIRE(levers_unite(&edit, &other));
            levers_edit_clear(&other);
            unite_model(&model);
            check_same(&edit, &model);
        }
        levers_edit_clear(&edit);
    }
}

TEST(without_memory_nothing_is_united)
{
    struct levers_edit edit = {0}, other = {0};
    REQUIRE(levers_cut(&edit, 1, 0, 5) && levers_cut(&other, 1, 3, 9));
    mem_fail_after(1);
    CHECK(!levers_unite(&edit, &other));
    mem_fail_after(0);
    CHECK_INT(edit.count, 1);
    CHECK_INT(edit.changes[0].to, 5);
    REQUIRE(levers_unite(&edit, &other));
    CHECK_INT(edit.count, 1);
    CHECK_INT(edit.changes[0].to, 9);
    levers_edit_clear(&edit);
    levers_edit_clear(&other);
}

TEST_MAIN(TEST_CASE(united_changes_equal_one_sorted_list),
          TEST_CASE(without_memory_nothing_is_united))
