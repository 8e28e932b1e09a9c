/*
 * What optimizers count on the device: one launch for lists of tensors, numbers that have a block
 * of their own, and what of them is left when a library was called. Arguments are laid out by hand,
 * as PyTorch 2.6 and 2.14 do: the lists of the latter, with CUDA 13, have room for more.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "test.h"
#include "values.h"

#define X UINT64_C(0x7f0000000000)
#define BLOCK 512u

/* The number in block i; NaN: not known. */
static float at(uint64_t i)
{
    float value;
    return values_get(X + i * BLOCK, &value, sizeof value) ? value : NAN;
}

static void start(void)
{
    values_forget_all();
    for (uint64_t i = 0; i < 8; i++)
        values_block(X + i * BLOCK, BLOCK);
}

/* ---- libraries ---- */

TEST(a_library_forgets_a_number_that_it_is_led_to)
{
    float two[] = {2, 3};
    start();
    values_put_real(X, two, 4);
    values_put_real(X + BLOCK, two, 4);
    values_put_real(X + 2 * BLOCK, two, 8);     /* may be one number of 64 bits */
    values_put_real(X + 3 * BLOCK + 4, two, 4); /* in somebody's block */
    values_put(X + 4 * BLOCK, two, 4);
    CHECK(values_are_real(X + 3 * BLOCK + 4, 4) && values_are_real(X + 4 * BLOCK, 4));
    values_forget_led_to((const uint64_t[]){1, X + BLOCK, X + 4 * BLOCK}, 3);
    CHECK(at(0) == 2 && isnan(at(1)) && at(2) == 2 && at(4) == 2);
    CHECK(!values_are_real(X + 3 * BLOCK + 4, 4));
    values_move(X + 5 * BLOCK, X, 4);
    CHECK(values_are_real(X + 5 * BLOCK, 4));
    values_forget_reals();
    CHECK(isnan(at(0)) && isnan(at(5)) && at(4) == 2);
    CHECK(values_are_valid());
}

TEST_MAIN(TEST_CASE(a_library_forgets_a_number_that_it_is_led_to))
