/*
 * What may be a power, an exponential or a softplus, asked about one block at a time: each sign
 * that says no, on both sides of where it begins to.
 */
#include "test.h"

#include "levers_hand.h"
#include "levers_powers.h"

enum { LINEAR = 1, ACT, NEXT }; /* modules */
enum { MOST = 120, TENSOR = 100, SMALL = 1 };
enum { INPUT = 180, BLOCK = 182, GOES = 380 }; /* births, and the end of the input */

struct scene { /* blocks by seq */
    struct hand_block blocks[MOST + 1];
    size_t count;
    int64_t scalars[4];
    size_t scalar_count;
    bool on_host;
};

static void put(struct scene *scene, int seq, int end, int kib, int module)
{
    REQUIRE(scene->count < MOST);
    size_t at = scene->count++;
    for (; at > 0 && scene->blocks[at - 1].seq > seq; at--)
        scene->blocks[at] = scene->blocks[at - 1];
    scene->blocks[at] = (struct hand_block){.seq = seq, .end = end, .kib = kib, .module = module};
}

/* Numbers of Python's are made on the host, so they are none of the step's blocks. */
static void put_scalar(struct scene *scene, int seq)
{
    scene->scalars[scene->scalar_count++] = seq;
}

/* Tensors that backward makes one after the other in the module, each gone at once. */
static void put_gradients(struct scene *scene, int seq, int count, int module)
{
    for (int i = 0; i < count; i++)
        put(scene, seq + 2 * i, seq + 2 * i + 1, TENSOR, module);
}

static bool is_power(struct scene *scene)
{
    struct levers_step step;
    struct levers_orders orders;
    const struct levers_scalars scalars = {.seqs = scene->scalars, .count = scene->scalar_count};
    hand_step(scene->blocks, &step);
    REQUIRE(levers_orders_read(&step, &orders) == 0);
    const size_t at = hand_at(&step, BLOCK);
    const struct levers_power power = {&orders, &scalars, &step.phases.phases[0],
                                       &step.blocks[hand_at(&step, INPUT)], scene->on_host};
    bool is = levers_may_be_power(&power, at);
    levers_orders_clear(&orders);
    levers_step_clear(&step);
    return is;
}

/* exp(x) behind a linear: its input stays until backward, it does not. */
static struct scene one_that_goes(void)
{
    struct scene scene = {.count = 0};
    put(&scene, INPUT, GOES, TENSOR, LINEAR);
    put(&scene, BLOCK, BLOCK + 20, TENSOR, ACT);
    return scene;
}

TEST(backward_of_a_sine_makes_two)
{
    static const bool wanted[] = {true, true, false, true, false, false};
    for (int count = 0; count < 6; count++) {
        struct scene scene = one_that_goes();
        put_gradients(&scene, 310, count, ACT);
        CHECK_INT(is_power(&scene), wanted[count]);
    }
}

/* What others make, what has another size, and what comes behind the input's end do not count. */
TEST(gradients_are_its_own)
{
    struct scene scene = one_that_goes();
    put_gradients(&scene, 310, 1, ACT);
    put(&scene, 320, 321, TENSOR, NEXT);
    put(&scene, 322, 323, TENSOR + 1, ACT);
    put(&scene, GOES + 1, GOES + 2, TENSOR, ACT);
    CHECK(is_power(&scene));
    put(&scene, 324, 325, TENSOR, ACT);
    CHECK(!is_power(&scene));
}

/* x * pow(x, 3) * 2 has a gradient more for each number behind the power. */
TEST(numbers_behind_it_have_a_gradient_each)
{
    struct scene scene = one_that_goes();
    put_gradients(&scene, 310, 4, ACT);
    put(&scene, BLOCK + 2, BLOCK + 6, TENSOR, ACT);
    CHECK(!is_power(&scene)); /* without a number */
    put_scalar(&scene, BLOCK + 1);
    CHECK(is_power(&scene));
    put_gradients(&scene, 320, 1, ACT);
    CHECK(!is_power(&scene));
    put(&scene, BLOCK + 4, BLOCK + 8, TENSOR, ACT);
    put_scalar(&scene, BLOCK + 3);
    CHECK(is_power(&scene));
    put_gradients(&scene, 330, 1, ACT);
    CHECK(!is_power(&scene));
}

/* Two numbers, and five gradients: it takes both of them to be a power. */
static struct scene before_two_numbers(void)
{
    struct scene scene = one_that_goes();
    put_gradients(&scene, 310, 5, ACT);
    put_scalar(&scene, BLOCK + 1);
    put(&scene, BLOCK + 2, BLOCK + 7, TENSOR, ACT);
    put_scalar(&scene, BLOCK + 5);
    put(&scene, BLOCK + 6, BLOCK + 9, TENSOR, ACT);
    return scene;
}

TEST(numbers_count_until_something_else_comes)
{
    struct scene scene = before_two_numbers();
    CHECK(is_power(&scene));
    scene.blocks[2].end = GOES; /* backward needs the first */
    CHECK(!is_power(&scene));
    scene.blocks[2].end = HAND_BACKWARD - 1;
    CHECK(is_power(&scene));
    scene = before_two_numbers();
    put(&scene, BLOCK + 4, BLOCK + 5, TENSOR, ACT); /* no number was in it */
    CHECK(!is_power(&scene));
    scene.blocks[3].kib = SMALL;
    CHECK(!is_power(&scene));
    scene.blocks[3].module = NEXT;
    CHECK(!is_power(&scene));
    scene = before_two_numbers();
    scene.blocks[2].module = NEXT;
    CHECK(!is_power(&scene));
    scene.blocks[2].module = ACT;
    scene.blocks[2].kib = TENSOR + 1;
    CHECK(!is_power(&scene));
}

/* A number in it: no power has one. */
TEST(a_number_in_it)
{
    struct scene scene = one_that_goes();
    CHECK(is_power(&scene));
    put_scalar(&scene, BLOCK - 1);
    CHECK(!is_power(&scene));
}

TEST(it_is_as_large_as_an_input_that_backward_needs)
{
    struct scene scene = one_that_goes();
    scene.blocks[1].kib = TENSOR + 1;
    CHECK(!is_power(&scene));
    scene = one_that_goes();
    scene.blocks[0].end = HAND_BACKWARD - 1;
    CHECK(!is_power(&scene));
    scene = one_that_goes();
    scene.blocks[1].module = 0;
    CHECK(!is_power(&scene));
    scene = one_that_goes();
    scene.on_host = true;
    CHECK(!is_power(&scene));
}

/* What made the input, in the same module, saved it: of an input that was made of what went. */
TEST(a_maker_saved_the_input)
{
    struct scene scene = one_that_goes();
    scene.blocks[0].module = ACT;
    CHECK(is_power(&scene));
    put(&scene, INPUT - 10, INPUT + 1, TENSOR, LINEAR);
    CHECK(!is_power(&scene));
    scene.blocks[0].end = 500; /* it was made of what backward needs */
    CHECK(is_power(&scene));
    scene.blocks[0].end = INPUT + 1;
    put_scalar(&scene, INPUT - 1); /* or with a number, which saves nothing */
    CHECK(is_power(&scene));
    scene.scalar_count = 0;
    scene.blocks[0].kib = TENSOR - 1; /* or of something else */
    CHECK(is_power(&scene));
}

/* a * b: backward lets both go at once, and is in their module as it does. `others` are made
 * between the two. */
static bool is_power_of_two(int others, int other_end)
{
    struct scene scene = one_that_goes();
    put(&scene, INPUT - 1 - others, other_end, TENSOR, LINEAR);
    CHECK(is_power(&scene)); /* backward is elsewhere */
    for (int i = 1; i <= others; i++)
        put(&scene, INPUT - i, INPUT + 1, SMALL, LINEAR);
    put(&scene, GOES - 10, GOES - 9, TENSOR, LINEAR);
    return is_power(&scene);
}

TEST(a_product_of_two_lets_both_go_at_once)
{
    enum { LOOKS_AT = 32 }; /* with the input */
    CHECK(!is_power_of_two(0, GOES + 1));
    CHECK(!is_power_of_two(0, GOES - 1));
    CHECK(is_power_of_two(0, GOES + 2));
    CHECK(is_power_of_two(0, GOES - 2));
    CHECK(is_power_of_two(0, INPUT + 1)); /* it went in forward */
    CHECK(!is_power_of_two(LOOKS_AT - 2, GOES + 1));
    CHECK(is_power_of_two(LOOKS_AT - 1, GOES + 1));
    struct scene scene = one_that_goes();
    put(&scene, INPUT - 1, GOES + 1, TENSOR + 1, LINEAR); /* it is none of the two */
    put(&scene, GOES - 10, GOES - 9, TENSOR, LINEAR);
    CHECK(is_power(&scene));
}

/* A gate times a state: the product made both gradients, and lets the gate go alone. `one` and
 * `two` are their births, GATE_GOES that of the gate's end. */
enum { GATE_GOES = 360 };

static struct scene behind_gate(int one, int two)
{
    struct scene scene = one_that_goes();
    put(&scene, INPUT - 10, GATE_GOES, TENSOR, NEXT);
    put(&scene, one, GATE_GOES + 5, TENSOR, ACT);
    put(&scene, two, GATE_GOES + 6, TENSOR, ACT);
    return scene;
}

TEST(a_product_let_one_go_alone)
{
    struct scene scene = behind_gate(GATE_GOES - 2, GATE_GOES - 1);
    CHECK(!is_power(&scene));
    scene = behind_gate(GATE_GOES - 4, GATE_GOES - 3);
    CHECK(!is_power(&scene));
    scene = behind_gate(GATE_GOES - 5, GATE_GOES - 4); /* too long ago */
    CHECK(is_power(&scene));
    scene = behind_gate(GATE_GOES - 3, GATE_GOES - 1); /* something was between */
    CHECK(is_power(&scene));
}

TEST(both_gradients_are_as_large_and_stay)
{
    for (int i = 0; i < 2; i++) {
        struct scene scene = behind_gate(GATE_GOES - 2, GATE_GOES - 1);
        struct hand_block *gradient = &scene.blocks[scene.count - 2 + (size_t)i];
        CHECK(!is_power(&scene));
        gradient->module = NEXT;
        CHECK(is_power(&scene));
        gradient->module = ACT;
        gradient->kib = TENSOR + 1;
        CHECK(is_power(&scene));
        gradient->kib = TENSOR;
        gradient->end = GATE_GOES;
        CHECK(is_power(&scene));
    }
}

/* Two gradients that stay are those of a product. */
TEST(two_gradients_stay)
{
    struct scene scene = one_that_goes();
    put(&scene, 330, GOES + 1, TENSOR, ACT);
    CHECK(is_power(&scene));
    put(&scene, 340, GOES, TENSOR, ACT);
    put(&scene, 341, 342, TENSOR, ACT);
    CHECK(is_power(&scene));
    scene.blocks[3].end = GOES + 2;
    CHECK(!is_power(&scene));
}

/* Of the gradients before what a product saved goes, the last 64 are looked at. */
TEST(a_handful_is_looked_at)
{
    for (int count = 63; count <= 65; count++) {
        struct scene scene = {.count = 0};
        struct levers_step step;
        struct levers_orders orders;
        put(&scene, BLOCK, GOES + 100, TENSOR, ACT);
        put(&scene, 310, GOES + 110, TENSOR, ACT);
        for (int i = 1; i < count - 1; i++)
            put(&scene, 310 + 2 * i, 311 + 2 * i, TENSOR, ACT);
        put(&scene, GOES + 90, GOES + 111, TENSOR, ACT);
        hand_step(scene.blocks, &step);
        REQUIRE(levers_orders_read(&step, &orders) == 0);
        CHECK_INT(levers_is_saved_by_product(&orders, &step.blocks[0]), count <= 64);
        levers_orders_clear(&orders);
        levers_step_clear(&step);
    }
}

/* ---- what backward needs itself ---- */

/* softplus(x): what it was made of goes last, and backward is elsewhere as it goes itself. */
static struct scene one_that_stays(int gradients)
{
    struct scene scene = {.count = 0};
    put(&scene, INPUT, GOES, TENSOR, LINEAR);
    put(&scene, BLOCK, GOES - 40, TENSOR, ACT);
    put(&scene, GOES - 41, GOES - 39, SMALL, NEXT);
    put_gradients(&scene, GOES - 38, gradients, ACT);
    return scene;
}

TEST(what_stays_has_three_gradients)
{
    for (int count = 0; count < 6; count++) {
        struct scene scene = one_that_stays(count);
        CHECK_INT(is_power(&scene), count > 2);
        scene.blocks[0].module = ACT; /* of what backward needs, too: no maker of the module's */
        put(&scene, INPUT - 10, 500, TENSOR, LINEAR);
        CHECK_INT(is_power(&scene), count > 2);
        scene.blocks[0].end = INPUT + 1; /* the maker has one of them */
        CHECK_INT(is_power(&scene), count > 3);
    }
}

TEST(gradients_count_until_another_goes)
{
    struct scene scene = one_that_stays(3);
    CHECK(is_power(&scene));
    put(&scene, INPUT - 20, GOES - 35, TENSOR, NEXT); /* as the second has been made */
    CHECK(!is_power(&scene));
    scene.blocks[0].kib = TENSOR + 1;
    CHECK(is_power(&scene));
}

TEST(what_its_own_module_lets_go_was_saved_there)
{
    struct scene scene = one_that_stays(3);
    CHECK(is_power(&scene));
    scene.blocks[2].module = ACT;
    CHECK(!is_power(&scene));
    scene = one_that_stays(3);
    scene.blocks[1].end = HAND_END; /* the program holds it */
    CHECK(!is_power(&scene));
}

/* ---- signs ---- */

static bool is_let_go(int end, int made, int module)
{
    const struct hand_block blocks[] = {
        {150, end, TENSOR, LINEAR, 0}, {made, HAND_END, SMALL, module, 0}, {0}};
    struct levers_step step;
    hand_step(blocks, &step);
    bool is = levers_is_let_go_in(&step, &step.blocks[0], ACT);
    levers_step_clear(&step);
    return is;
}

TEST(backward_is_in_a_module_as_it_lets_go)
{
    CHECK(is_let_go(330, 320, ACT));
    CHECK(!is_let_go(330, 320, NEXT));
    CHECK(!is_let_go(330, 331, ACT));
    CHECK(!is_let_go(330, HAND_BACKWARD, ACT)); /* no block of its own yet */
    CHECK(is_let_go(330, HAND_BACKWARD + 1, ACT));
    CHECK(!is_let_go(200, 190, ACT));
    CHECK(is_let_go(HAND_END - 1, 320, ACT));
    CHECK(!is_let_go(HAND_END, 320, ACT));
}

/* The next module's blocks come right behind this one's, in the order of modules too. */
TEST(a_run_ends_with_its_module)
{
    static const struct hand_block blocks[] = {{310, 311, SMALL, LINEAR, 0},
                                               {312, 313, SMALL, LINEAR, 0},
                                               {314, 315, SMALL, ACT, 0},
                                               {316, 317, SMALL, LINEAR, 0},
                                               {0}};
    static const size_t ends[] = {2, 2, 3, 4};
    struct levers_step step;
    struct levers_orders orders;
    hand_step(blocks, &step);
    REQUIRE(levers_orders_read(&step, &orders) == 0);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(levers_run_end(&orders, i), ends[i]);
    levers_orders_clear(&orders);
    step.blocks[3].module = NEXT;
    REQUIRE(levers_orders_read(&step, &orders) == 0);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(levers_run_end(&orders, i), ends[i]);
    levers_orders_clear(&orders);
    levers_step_clear(&step);
}

TEST(what_ends_behind_a_forward_is_kept)
{
    const struct levers_phase forward = {.end = 299};
    struct levers_block block = {.end = 300};
    CHECK(levers_is_kept(&forward, &block));
    CHECK(!levers_is_kept(NULL, &block));
    block.end = 299;
    CHECK(!levers_is_kept(&forward, &block));
}

TEST_MAIN(TEST_CASE(backward_of_a_sine_makes_two), TEST_CASE(gradients_are_its_own),
          TEST_CASE(numbers_behind_it_have_a_gradient_each),
          TEST_CASE(numbers_count_until_something_else_comes), TEST_CASE(a_number_in_it),
          TEST_CASE(it_is_as_large_as_an_input_that_backward_needs),
          TEST_CASE(a_maker_saved_the_input), TEST_CASE(a_product_of_two_lets_both_go_at_once),
          TEST_CASE(a_product_let_one_go_alone), TEST_CASE(both_gradients_are_as_large_and_stay),
          TEST_CASE(two_gradients_stay), TEST_CASE(a_handful_is_looked_at),
          TEST_CASE(what_stays_has_three_gradients), TEST_CASE(gradients_count_until_another_goes),
          TEST_CASE(what_its_own_module_lets_go_was_saved_there),
          TEST_CASE(backward_is_in_a_module_as_it_lets_go), TEST_CASE(a_run_ends_with_its_module),
          TEST_CASE(what_ends_behind_a_forward_is_kept))
