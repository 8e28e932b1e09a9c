/* What the tape holds and when it lets go, seen through the heap's counters. */
#include "ops.h"
#include "test.h"

enum { KIB = 1 << 10 };

static struct heap heap;
static struct tape tape;

static void begin(void)
{
    heap_open(&heap, "test");
    tape_open(&tape, &heap);
}

static void end(void)
{
    CHECK(tape_is_empty(&tape));
    CHECK_INT(heap.living, 0);
    CHECK(heap_is_valid(&heap));
    tape_close(&tape);
    heap_close(&heap);
}

static void backward(const struct var *root)
{
    tape_backward(&tape, root, view_new(&heap, root->view.bytes));
}

/* Its output passes the gradient on to nobody: a place where backward begins to be interesting. */
static struct var make_leaf(uint64_t bytes)
{
    return var_new(&heap, bytes);
}

TEST(what_was_saved_lives_until_its_backward)
{
    begin();
    struct var x = make_leaf(4 * KIB);
    struct var y = op_tanh(&tape, &x);
    var_drop(&x);
    CHECK_INT(heap.allocated, 4 * KIB);
    struct var z = op_tanh(&tape, &y);
    var_drop(&y);
    CHECK_INT(heap.allocated, 8 * KIB);
    backward(&z);
    CHECK_INT(heap.allocated, 4 * KIB);
    var_drop(&z);
    end();
}

/* z's tanh: its gradient comes in, one goes out, z and y live: 16 KiB. */
TEST(gradients_die_one_node_further)
{
    begin();
    struct var x = make_leaf(4 * KIB);
    struct var y = op_tanh(&tape, &x), z = op_tanh(&tape, &y);
    var_drop(&x);
    var_drop(&y);
    CHECK_INT(heap.max_allocated, 12 * KIB);
    backward(&z);
    CHECK_INT(heap.max_allocated, 16 * KIB);
    var_drop(&z);
    end();
}

TEST(an_assignment_frees_after_the_new_value_is_made)
{
    begin();
    struct var x = make_leaf(4 * KIB);
    var_set(&x, make_leaf(4 * KIB));
    CHECK_INT(heap.max_allocated, 8 * KIB);
    CHECK_INT(heap.allocated, 4 * KIB);
    var_drop(&x);
    end();
}

static struct parameter make_parameter(const char *name, uint64_t rows, uint64_t columns)
{
    struct parameter p = {.name = name, .rows = rows, .columns = columns};
    p.data = tensor_new(&heap, parameter_bytes(&p));
    return p;
}

static void free_parameter(struct parameter *p)
{
    CHECK_INT(p->uses, 0);
    CHECK(p->pending.tensor == NULL);
    view_drop(&p->gradient);
    tensor_drop(p->data);
}

/* One linear layer: 64 -> 128 (32 KiB of weights), applied n times to 16 rows. */
static void apply(struct parameter *weight, struct parameter *bias, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        struct var x = make_leaf(4 * KIB);
        struct var y = op_linear(&tape, &x, weight, bias);
        CHECK_INT(y.view.bytes, 8 * KIB);
        var_drop(&x);
        backward(&y);
        var_drop(&y);
    }
}

TEST(the_first_gradient_stays_later_ones_are_added_in_place)
{
    begin();
    struct parameter weight = make_parameter("weight", 128, 64);
    struct parameter bias = make_parameter("bias", 128, 1);
    CHECK_INT(heap.allocated, 32 * KIB + 512);
    apply(&weight, &bias, 1);
    CHECK_INT(heap.allocated, 64 * KIB + 1024);
    const struct tensor *gradient = weight.gradient.tensor;
    uint64_t highest = heap.max_allocated;
    apply(&weight, &bias, 3);
    CHECK_INT(heap.allocated, 64 * KIB + 1024);
    CHECK(weight.gradient.tensor == gradient);
    CHECK_INT(heap.max_allocated, highest + 32 * KIB + 512);
    free_parameter(&weight);
    free_parameter(&bias);
    end();
}

/* Three uses in one backward: the sum of two is a third tensor, and only the last use makes the
 * gradient. */
TEST(uses_are_summed_before_they_become_the_gradient)
{
    begin();
    struct parameter weight = make_parameter("weight", 64, 64);
    struct var x = make_leaf(4 * KIB);
    for (int i = 0; i < 3; i++)
        var_set(&x, op_linear(&tape, &x, &weight, NULL));
    CHECK_INT(weight.uses, 3);
    CHECK_INT(heap.allocated, 16 * KIB + 4 * 4 * KIB);
    backward(&x);
    CHECK_INT(weight.gradient.bytes, 16 * KIB);
    CHECK_INT(heap.allocated, 2 * 16 * KIB + 4 * KIB);
    CHECK(heap.max_allocated >= 4 * 16 * KIB);
    var_drop(&x);
    free_parameter(&weight);
    end();
}

TEST(a_node_that_no_gradient_reaches_only_lets_go)
{
    begin();
    struct parameter used = make_parameter("used", 64, 64);
    struct parameter unused = make_parameter("unused", 64, 64);
    struct var x = make_leaf(4 * KIB);
    struct var side = op_linear(&tape, &x, &unused, NULL);
    struct var y = op_linear(&tape, &x, &used, NULL);
    var_drop(&x);
    var_drop(&side);
    backward(&y);
    CHECK(used.gradient.tensor != NULL);
    CHECK(unused.gradient.tensor == NULL);
    var_drop(&y);
    free_parameter(&used);
    free_parameter(&unused);
    end();
}

/* The parts of a joined gradient keep the whole alive; those of a split wait for each other. */
TEST(parts_share_their_tensor)
{
    begin();
    struct parameter weight = make_parameter("weight", 64, 64);
    struct var x = make_leaf(16 * KIB), parts[4];
    struct var y = op_linear(&tape, &x, &weight, NULL);
    var_drop(&x);
    op_split(&tape, &y, parts, 4);
    CHECK_INT(heap.allocated, (16 + 16 + 16) * KIB);
    for (int i = 0; i < 4; i++)
        CHECK_INT(parts[i].view.bytes, 4 * KIB);
    struct var joined = op_join(&tape, parts, 4);
    CHECK_INT(joined.view.bytes, 16 * KIB);
    for (int i = 0; i < 4; i++)
        var_drop(&parts[i]);
    var_drop(&y);
    CHECK_INT(heap.allocated, (16 + 16 + 16) * KIB);
    backward(&joined);
    CHECK_INT(heap.allocated, (16 + 16 + 16) * KIB);
    var_drop(&joined);
    free_parameter(&weight);
    end();
}

TEST(the_weights_of_the_gru_share_one_gradient)
{
    begin();
    const struct gru_size size = {.tokens = 32, .batch = 8, .hidden = 64};
    struct parameter weights[GRU_WEIGHTS];
    uint64_t flat = 0;
    for (unsigned i = 0; i < GRU_WEIGHTS; i++) {
        weights[i] = make_parameter("w", 192, i % 4 < 2 ? 64 : 1);
        flat += parameter_bytes(&weights[i]);
    }
    uint64_t start = heap.allocated;
    struct var x = make_leaf(32 * 64 * FLOAT_BYTES);
    struct gru_result result = op_gru(&tape, weights, &x, size);
    var_drop(&x);
    CHECK_INT(result.output.view.bytes, 32 * 2 * 64 * FLOAT_BYTES);
    backward(&result.output);
    var_drop(&result.output);
    var_drop(&result.hidden);
    CHECK_INT(heap.allocated, start + heap_round(flat));
    for (unsigned i = 1; i < GRU_WEIGHTS; i++)
        CHECK(weights[i].gradient.tensor == weights[0].gradient.tensor);
    for (unsigned i = 0; i < GRU_WEIGHTS; i++)
        free_parameter(&weights[i]);
    end();
}

TEST_MAIN(TEST_CASE(what_was_saved_lives_until_its_backward),
          TEST_CASE(gradients_die_one_node_further),
          TEST_CASE(an_assignment_frees_after_the_new_value_is_made),
          TEST_CASE(the_first_gradient_stays_later_ones_are_added_in_place),
          TEST_CASE(uses_are_summed_before_they_become_the_gradient),
          TEST_CASE(a_node_that_no_gradient_reaches_only_lets_go),
          TEST_CASE(parts_share_their_tensor), TEST_CASE(the_weights_of_the_gru_share_one_gradient))
