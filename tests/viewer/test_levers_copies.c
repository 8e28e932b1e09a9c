/*
 * Copies under autocast, one call at a time: how many bytes each has, from which event on, and
 * until which.
 */
#include "test.h"

#include "levers_copies.h"
#include "levers_hand.h"

enum { LINEAR = 1, ACT, NEXT, OTHER };                        /* modules */
enum { AT_LINEAR = 1, AT_ACT, AT_NEXT };                      /* sites */
enum { TENSOR = 128, HALF = 64, SMALL = 1 };                  /* KiB */
enum { WEIGHT = 32, LARGEST = 48, OWN = 24, BACK_END = 599 }; /* of weights; backward's last */

static struct levers_seen seen;
static struct levers_autocast all;

/* A step of these blocks on a GPU. The weights of `linear` and `next` are known. */
static void begin(const struct hand_block *blocks, bool sure)
{
    seen = (struct levers_seen){.on_host = false};
    all = (struct levers_autocast){.seen = &seen, .sure = sure};
    hand_step(blocks, &seen.step);
    all.flow.seen = &seen;
    all.flow.forward = &seen.step.phases.phases[0];
    REQUIRE(levers_orders_read(&seen.step, &all.flow.orders) == 0);
    all.weights.largest = KIB(LARGEST);
    all.weights.own = KIB(OWN);
    REQUIRE(map_put(&all.weights.modules, LINEAR, KIB(WEIGHT), NULL) &&
            map_put(&all.weights.modules, NEXT, KIB(WEIGHT), NULL) &&
            map_put(&all.dtypes.sites, AT_LINEAR, LEVERS_OP_MATRIX, NULL) &&
            map_put(&all.dtypes.sites, AT_NEXT, LEVERS_OP_MATRIX, NULL));
}

static void end(void)
{
    levers_edit_clear(&all.edit);
    levers_orders_clear(&all.flow.orders);
    map_clear(&all.weights.modules);
    map_clear(&all.dtypes.sites);
    map_clear(&all.dtypes.modules);
    map_clear(&all.dtypes.attends);
    map_clear(&all.copied);
    map_clear(&all.halved);
    map_clear(&all.whole);
    levers_step_clear(&seen.step);
}

static const struct levers_block *block(int64_t seq)
{
    return &seen.step.blocks[hand_at(&seen.step, seq)];
}

static void check_change(size_t at, int kib, int64_t from, int64_t to)
{
    REQUIRE(all.edit.count > at);
    const struct levers_change *change = &all.edit.changes[at];
    CHECK_INT(change->how, LEVERS_EXTRA);
    CHECK_INT(change->bytes, KIB(kib));
    CHECK_INT(change->from, from);
    CHECK_INT(change->to, to);
}

/* The only change so far; then there are none. */
static void check_one(int kib, int64_t from, int64_t to)
{
    CHECK_INT(all.edit.count, 1);
    check_change(0, kib, from, to);
    all.edit.count = 0;
}

static void check_none(void)
{
    CHECK_INT(all.edit.count, 0);
}

/* ---- what goes into products ---- */

static const struct levers_block *behind(int seq, int kib, int site, int module)
{
    const struct hand_block blocks[] = {
        {101, 400, TENSOR, ACT, AT_ACT}, {seq, 410, kib, module, site}, {0}};
    begin(blocks, true);
    return levers_product_behind(&all, 0);
}

TEST(the_next_tensor_is_a_products)
{
    CHECK(behind(103, TENSOR, AT_NEXT, NEXT) == block(103));
    end();
    CHECK(behind(103, TENSOR / 64, AT_NEXT, NEXT) == block(103));
    seen.step.blocks[1].asked--; /* beside a tensor */
    CHECK(!levers_product_behind(&all, 0));
    end();
    CHECK(behind(103, TENSOR, AT_NEXT, NEXT) == block(103));
    seen.step.blocks[0].site = AT_NEXT; /* the same line */
    CHECK(!levers_product_behind(&all, 0));
    end();
    CHECK(!behind(103, TENSOR, 9, NEXT));
    end();
    CHECK(!behind(HAND_BACKWARD + 1, TENSOR, AT_NEXT, NEXT));
    end();
}

TEST(what_is_small_stands_before_a_product)
{
    const struct hand_block blocks[] = {{101, 400, TENSOR, ACT, AT_ACT},
                                        {103, 410, SMALL, ACT, 9},
                                        {104, 420, TENSOR, NEXT, AT_NEXT},
                                        {0}};
    begin(blocks, true);
    CHECK(levers_product_behind(&all, 0) == block(104));
    end();
}

/* Of a block in an attention without a name it is not known, so it may be one. */
TEST(what_is_not_known_may_be_a_product)
{
    CHECK(!behind(103, TENSOR, 9, OTHER));
    REQUIRE(map_put(&all.dtypes.modules, OTHER, LEVERS_OP_ATTENTION, NULL));
    CHECK(!levers_product_behind(&all, 0));
    all.sure = false;
    CHECK(levers_product_behind(&all, 0) == block(103));
    REQUIRE(map_put(&all.dtypes.sites, 9, LEVERS_OP_UNKNOWN, NULL));
    CHECK(levers_product_behind(&all, 0) == block(103));
    REQUIRE(map_put(&all.dtypes.sites, 9, LEVERS_OP_NORM, NULL)); /* this is known */
    CHECK(!levers_product_behind(&all, 0));
    REQUIRE(map_put(&all.dtypes.sites, 9, LEVERS_OP_UNKNOWN, NULL));
    REQUIRE(map_put(&all.dtypes.modules, OTHER, LEVERS_OP_FOLLOWS, NULL));
    CHECK(!levers_product_behind(&all, 0));
    end();
}

/* The block of 101 goes into the product of 104, and goes itself at 400. */
static void copy_into(enum levers_op op, enum levers_dtype dtype, bool sure, int module_at_end)
{
    const struct hand_block blocks[] = {{101, 400, TENSOR, ACT, AT_ACT},
                                        {104, 410, TENSOR, NEXT, AT_NEXT},
                                        {390, 395, SMALL, module_at_end, 0},
                                        {0}};
    begin(blocks, sure);
    REQUIRE(levers_copy_into_product(&all, op, dtype, block(101), block(104)));
}

TEST(a_product_is_given_a_copy)
{
    static const enum levers_op alone[] = {LEVERS_OP_NORM, LEVERS_OP_UPCASTS, LEVERS_OP_PIECES};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        copy_into(alone[i], LEVERS_FULL, true, OTHER); /* the copy takes its place */
        check_one(-HALF, 105, 400);
        end();
    }
    copy_into(LEVERS_OP_UNKNOWN, LEVERS_FULL, true, OTHER); /* both stay */
    check_one(HALF, 104, 400);
    end();
    copy_into(LEVERS_OP_UNKNOWN, LEVERS_FULL, true, NEXT); /* the product alone needs it */
    check_one(-HALF, 105, 400);
    end();
    copy_into(LEVERS_OP_UNKNOWN, LEVERS_FULL, true, ACT);
    check_one(HALF, 104, 400);
    end();
    copy_into(LEVERS_OP_UNKNOWN, LEVERS_FULL, true, ACT);
    all.edit.count = 0;
    seen.step.blocks[1].module = ACT; /* what made it may be what needs it */
    REQUIRE(levers_copy_into_product(&all, LEVERS_OP_UNKNOWN, LEVERS_FULL, block(101), block(104)));
    check_one(HALF, 104, 400);
    end();
    copy_into(LEVERS_OP_UNKNOWN, LEVERS_FULL, false, OTHER);
    check_one(-HALF, 105, 400);
    end();
    copy_into(LEVERS_OP_UNKNOWN, LEVERS_OPEN, false, OTHER); /* it may be half itself */
    check_one(-HALF, 101, 400);
    end();
    copy_into(LEVERS_OP_UNKNOWN, LEVERS_OPEN, true, NEXT);
    check_one(-HALF, 105, 400);
    end();
}

/* ---- weights ---- */

/* A product of `module`, which backward makes two blocks in. */
static void multiply(int module, bool sure)
{
    const struct hand_block blocks[] = {
        {101, 400, TENSOR, ACT, AT_ACT}, {104, 410, TENSOR, module, AT_NEXT},
        {310, 320, TENSOR, NEXT, 0},     {330, 340, SMALL, NEXT, 0},
        {350, 360, TENSOR, ACT, 0},      {0}};
    begin(blocks, sure);
    all.flow.source_flow = LEVERS_FULL;
    REQUIRE(levers_copy_of_product(&all, 1));
    CHECK_INT(all.products, 1);
}

TEST(a_weight_has_a_copy_until_backward_is_through_with_it)
{
    multiply(NEXT, true);
    check_one(WEIGHT / 2, 104, 331); /* at most to its last block there */
    end();
    multiply(NEXT, false);
    check_one(WEIGHT / 2, 104, 311); /* and at least to its first */
    end();
}

TEST(backward_may_make_nothing_in_the_module)
{
    multiply(LINEAR, true);
    check_one(WEIGHT / 2, 104, BACK_END);
    end();
    multiply(LINEAR, false);
    check_none();
    end();
}

TEST(a_product_without_a_weight_has_anothers)
{
    multiply(OTHER, true);
    check_one(LARGEST / 2, 104, BACK_END);
    end();
    multiply(OTHER, false);
    check_none();
    end();
    multiply(0, true);
    check_one(LARGEST / 2, 104, BACK_END);
    end();
    multiply(ACT, true); /* whatever backward makes there */
    check_one(LARGEST / 2, 104, BACK_END);
    end();
}

TEST(a_weight_is_copied_once_in_a_forward)
{
    multiply(NEXT, true);
    all.edit.count = 0;
    REQUIRE(levers_copy_of_product(&all, 1));
    check_none();
    map_clear(&all.copied); /* another forward */
    REQUIRE(levers_copy_of_product(&all, 1));
    check_one(WEIGHT / 2, 104, 331);
    end();
    multiply(OTHER, true); /* nobody knows whose it is: each time */
    all.edit.count = 0;
    REQUIRE(levers_copy_of_product(&all, 1));
    check_one(LARGEST / 2, 104, BACK_END);
    end();
}

TEST(without_a_backward_no_weight_stays)
{
    const struct hand_block blocks[] = {
        {101, 590, TENSOR, ACT, AT_ACT}, {104, 591, TENSOR, NEXT, AT_NEXT}, {0}};
    begin(blocks, true);
    seen.step.phases.of[LEVERS_BACKWARD].count = 0;
    REQUIRE(levers_copy_of_product(&all, 1));
    check_none();
    end();
}

/* q, k and v of one input: blocks of 104 and 106 are products, of `one` and of `two`. */
static void multiply_again(int one, int two, bool sure)
{
    const struct hand_block blocks[] = {{101, 400, TENSOR, ACT, AT_ACT},
                                        {104, 410, TENSOR, one, AT_LINEAR},
                                        {106, 411, TENSOR, two, AT_NEXT},
                                        {0}};
    begin(blocks, sure);
    REQUIRE(map_put(&all.copied, LINEAR, 1, NULL) && map_put(&all.copied, NEXT, 1, NULL));
    all.flow.source = block(101);
    all.flow.source_flow = LEVERS_FULL;
    all.flow.after_product = true;
    REQUIRE(levers_copy_of_product(&all, 2));
}

TEST(a_second_product_copies_its_input_again)
{
    multiply_again(LINEAR, NEXT, true);
    check_one(HALF, 106, 400);
    CHECK_INT(all.products, 1);
    all.flow.source_flow = LEVERS_OPEN;
    REQUIRE(levers_copy_of_product(&all, 2));
    check_one(HALF, 106, 400);
    all.flow.source_flow = LEVERS_HALF; /* it is half already */
    REQUIRE(levers_copy_of_product(&all, 2));
    check_none();
    CHECK(map_get(&all.halved, NEXT) == MAP_NONE);
    all.flow.after_product = false;
    REQUIRE(levers_copy_of_product(&all, 2));
    check_none();
    CHECK(map_get(&all.halved, NEXT) != MAP_NONE);
    end();
}

TEST(a_first_product_is_given_no_copy_by_itself)
{
    multiply_again(LINEAR, NEXT, true);
    all.edit.count = 0;
    all.flow.after_product = false; /* what made its input has given it one */
    REQUIRE(levers_copy_of_product(&all, 2));
    check_none();
    CHECK(map_get(&all.halved, NEXT) == MAP_NONE);
    end();
}

TEST(a_second_block_of_the_same_call_is_no_product_of_its_own)
{
    multiply_again(NEXT, NEXT, true);
    check_none();
    CHECK_INT(all.products, 0);
    all.flow.after_product = false; /* another call */
    REQUIRE(levers_copy_of_product(&all, 2));
    CHECK_INT(all.products, 1);
    end();
}

/* Unless it is an attention's, it may be the first one's output that it takes. */
TEST(the_least_has_copies_of_attention_alone)
{
    multiply_again(LINEAR, NEXT, false);
    check_none();
    REQUIRE(map_put(&all.dtypes.attends, NEXT, 1, NULL));
    REQUIRE(levers_copy_of_product(&all, 2));
    check_one(HALF, 106, 400);
    end();
}

TEST(a_recurrent_module_copies_all_its_weights_once)
{
    const struct hand_block blocks[] = {{101, 400, TENSOR, ACT, AT_ACT}, {0}};
    begin(blocks, true);
    REQUIRE(levers_copy_of_recurrent(&all, block(101)));
    check_one(OWN / 2, 101, BACK_END);
    CHECK(all.recurs && map_get(&all.halved, ACT) != MAP_NONE);
    REQUIRE(levers_copy_of_recurrent(&all, block(101)));
    check_none();
    all.recurs = all.sure = false;
    REQUIRE(levers_copy_of_recurrent(&all, block(101)));
    check_none();
    end();
}

/* ---- what is computed in float32 ---- */

/* A norm behind what the linear made: one number of each row first, `beside` of them, and then the
 * output, of `module`. It is in bfloat16 what it is given. */
static void normalize(int beside, int module, bool sure)
{
    struct hand_block blocks[8] = {{101, 400, TENSOR, LINEAR, AT_LINEAR}};
    for (int i = 0; i < beside; i++)
        blocks[1 + i] = (struct hand_block){110 + i, 405, SMALL, ACT, AT_ACT};
    blocks[1 + beside] = (struct hand_block){110 + beside, 410, TENSOR, module, AT_ACT};
    begin(blocks, sure);
    all.flow.input = block(101);
    all.flow.flow = LEVERS_HALF;
    REQUIRE(levers_copy_of_norm(&all, 1));
}

/* The copy is there with the tensor for a moment, and then in its place. */
static void check_in_place(void)
{
    REQUIRE(all.edit.count == 2);
    check_change(0, TENSOR, 110, 400);
    check_change(1, HALF - TENSOR, 111, 400);
}

TEST(a_norms_copy_takes_the_place_of_what_it_was_given)
{
    normalize(0, ACT, false);
    check_in_place();
    end();
    normalize(0, ACT, true); /* unless another needs that */
    check_one(TENSOR, 110, 400);
    end();
}

TEST(a_norm_may_be_given_what_its_module_made)
{
    normalize(0, ACT, true);
    all.edit.count = 0;
    seen.step.blocks[0].module = ACT;
    REQUIRE(levers_copy_of_norm(&all, 1));
    check_one(TENSOR, 110, 400);
    end();
}

TEST(a_norm_of_what_is_full_or_open)
{
    normalize(0, ACT, true);
    all.edit.count = 0;
    all.flow.flow = LEVERS_FULL;
    REQUIRE(levers_copy_of_norm(&all, 1));
    check_none();
    all.flow.flow = LEVERS_OPEN;
    REQUIRE(levers_copy_of_norm(&all, 1));
    check_none();
    all.sure = false;
    REQUIRE(levers_copy_of_norm(&all, 1));
    check_in_place();
    all.edit.count = 0;
    all.flow.input = NULL;
    REQUIRE(levers_copy_of_norm(&all, 1));
    check_none();
    end();
}

/* What is divided by norms is looked for among the next three. */
TEST(a_norm_is_given_what_is_as_large_as_its_output)
{
    for (int beside = 1; beside < 5; beside++) {
        normalize(beside, ACT, false);
        if (beside <= 3)
            check_one(TENSOR, 110, 400); /* both are needed */
        else
            check_none();
        end();
    }
    normalize(1, NEXT, false); /* another module's */
    check_none();
    end();
    normalize(1, ACT, false);
    all.edit.count = 0;
    seen.step.blocks[0].module = ACT; /* the norm made it itself */
    REQUIRE(levers_copy_of_norm(&all, 1));
    check_none();
    end();
}

/* A softmax whose output goes at 400; what backward makes last before that. */
static void soften(const struct hand_block *made, bool sure)
{
    struct hand_block blocks[10] = {{101, 400, TENSOR, ACT, AT_ACT},
                                    {104, 410, TENSOR, NEXT, AT_NEXT}};
    for (size_t i = 0; made[i].kib; i++)
        blocks[2 + i] = made[i];
    begin(blocks, sure);
    REQUIRE(levers_copy_of_softmax(&all, block(101), block(104)));
}

static bool is_whole(int64_t seq)
{
    return map_get(&all.whole, hand_at(&seen.step, seq)) != MAP_NONE;
}

TEST(gradients_of_a_softmax_are_whole)
{
    static const struct hand_block made[] = {
        {380, 396, TENSOR, ACT, 0}, {385, 450, TENSOR + 1, ACT, 0}, {390, 395, TENSOR, ACT, 0},
        {395, 450, TENSOR, ACT, 0}, {401, 450, TENSOR, ACT, 0},     {0}};
    soften(made, true);
    CHECK(is_whole(380)); /* it ends four events before the output does, and is the fourth back */
    CHECK(!is_whole(385));
    CHECK(!is_whole(390)); /* it went too early */
    CHECK(is_whole(395));
    CHECK(!is_whole(401)); /* it came too late */
    check_one(HALF, 104, 400);
    end();
    soften(made, false); /* the product is done with its copy as the first is there */
    check_one(HALF, 104, 381);
    end();
}

TEST(the_last_four_before_a_softmax_goes_are_looked_at)
{
    static const struct hand_block made[] = {{375, 450, TENSOR, ACT, 0}, {380, 451, TENSOR, ACT, 0},
                                             {385, 390, SMALL, ACT, 0},  {388, 391, SMALL, ACT, 0},
                                             {390, 395, SMALL, ACT, 0},  {0}};
    soften(made, true);
    CHECK(!is_whole(375));
    CHECK(is_whole(380));
    end();
}

/* Large ones of forward, which are alive as well, are none of backward. */
TEST(what_forward_made_is_no_gradient_of_a_softmax)
{
    static const struct hand_block made[] = {{390, 450, TENSOR, ACT, 0}, {0}};
    soften(made, false);
    CHECK(is_whole(390));
    CHECK(!is_whole(104));
    check_one(HALF, 104, 391);
    end();
    soften(&made[1], false); /* backward makes none: as long as the output is there */
    check_one(HALF, 104, 400);
    REQUIRE(levers_copy_of_softmax(&all, block(101), NULL));
    check_none();
    end();
}

TEST(a_powers_copy_is_whole)
{
    const struct hand_block blocks[] = {
        {101, 400, TENSOR, LINEAR, AT_LINEAR}, {103, 110, TENSOR, ACT, AT_ACT}, {0}};
    begin(blocks, true);
    all.flow.input = block(101);
    REQUIRE(levers_copy_of_power(&all, 1));
    check_one(TENSOR, 103, 400);
    end();
}

TEST_MAIN(
    TEST_CASE(the_next_tensor_is_a_products), TEST_CASE(what_is_small_stands_before_a_product),
    TEST_CASE(what_is_not_known_may_be_a_product), TEST_CASE(a_product_is_given_a_copy),
    TEST_CASE(a_weight_has_a_copy_until_backward_is_through_with_it),
    TEST_CASE(backward_may_make_nothing_in_the_module),
    TEST_CASE(a_product_without_a_weight_has_anothers),
    TEST_CASE(a_weight_is_copied_once_in_a_forward), TEST_CASE(without_a_backward_no_weight_stays),
    TEST_CASE(a_second_product_copies_its_input_again),
    TEST_CASE(a_first_product_is_given_no_copy_by_itself),
    TEST_CASE(a_second_block_of_the_same_call_is_no_product_of_its_own),
    TEST_CASE(the_least_has_copies_of_attention_alone),
    TEST_CASE(a_recurrent_module_copies_all_its_weights_once),
    TEST_CASE(a_norms_copy_takes_the_place_of_what_it_was_given),
    TEST_CASE(a_norm_may_be_given_what_its_module_made), TEST_CASE(a_norm_of_what_is_full_or_open),
    TEST_CASE(a_norm_is_given_what_is_as_large_as_its_output),
    TEST_CASE(gradients_of_a_softmax_are_whole),
    TEST_CASE(the_last_four_before_a_softmax_goes_are_looked_at),
    TEST_CASE(what_forward_made_is_no_gradient_of_a_softmax), TEST_CASE(a_powers_copy_is_whole))
