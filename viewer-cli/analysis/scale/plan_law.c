/* plan_law.c - the bytes of one block as a polynomial, in whole numbers: see plan_scale.h. */
#include <string.h>

#include "plan_scale.h"

__extension__ typedef __int128 wide;

const char *scale_law_text(enum scale_law law)
{
    static const char *const texts[] = {"constant", "linear", "quadratic", "no polynomial"};
    return texts[law];
}

/* A straight line through the first and the second passes through all others. */
static bool is_line(const int64_t *x, const int64_t *y, size_t count)
{
    for (size_t i = 2; i < count; i++)
        if ((wide)(y[i] - y[0]) * (x[1] - x[0]) != (wide)(y[1] - y[0]) * (x[i] - x[0]))
            return false;
    return true;
}

/* Newton's form over its common denominator: y0 + (x-x0) * [01] + (x-x0)(x-x1) * [012]. */
static void parabola_at(const int64_t *x, const int64_t *y, int64_t at, wide *above, wide *below)
{
    wide d01 = x[1] - x[0], d12 = x[2] - x[1], d02 = x[2] - x[0];
    wide rise01 = y[1] - y[0], rise12 = y[2] - y[1];
    wide bend = rise12 * d01 - rise01 * d12; /* [012] * d01 * d12 * d02 */
    *below = d01 * d12 * d02;
    *above =
        y[0] * *below + (at - x[0]) * rise01 * d12 * d02 + (wide)(at - x[0]) * (at - x[1]) * bend;
}

static bool is_parabola(const int64_t *x, const int64_t *y, size_t count)
{
    wide above, below;
    for (size_t i = 3; i < count; i++) {
        parabola_at(x, y, x[i], &above, &below);
        if (above != y[i] * below)
            return false;
    }
    return true;
}

enum scale_law scale_find_law(const int64_t *numbers, const int64_t *sizes, size_t count)
{
    bool constant = true;
    for (size_t i = 1; i < count; i++)
        constant = constant && sizes[i] == sizes[0];
    if (constant)
        return SCALE_CONSTANT;
    if (count > 2 && is_line(numbers, sizes, count))
        return SCALE_LINE;
    return count > 3 && is_parabola(numbers, sizes, count) ? SCALE_PARABOLA : SCALE_NONE;
}

static int64_t round_up(wide above, wide below)
{
    wide whole = above / below;
    whole += above > whole * below;
    if (whole < 0)
        return 0;
    return whole > (wide)REPLAY_MOST ? (int64_t)REPLAY_MOST : (int64_t)whole;
}

int64_t scale_size_at(const int64_t *numbers, const int64_t *sizes, size_t count,
                      enum scale_law law, int64_t number)
{
    size_t last = count - 1;
    wide above, below = 1;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return sizes[i];
    if (law == SCALE_CONSTANT || (law == SCALE_NONE && numbers[last] <= 0))
        return sizes[last];
    if (law == SCALE_NONE) {
        above = (wide)sizes[last] * number;
        below = numbers[last];
    } else if (law == SCALE_LINE) {
        below = numbers[1] - numbers[0];
        above = sizes[0] * below + (wide)(sizes[1] - sizes[0]) * (number - numbers[0]);
    } else {
        parabola_at(numbers, sizes, number, &above, &below);
    }
    return round_up(above, below);
}
