/* nccl_reduce.c - see nccl_reduce.h. */
#include "nccl_reduce.h"

#include <stdint.h>
#include <string.h>

/* ncclDataType_t */
enum type { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64 };
/* ncclRedOp_t */
enum operation { SUM, PRODUCT, MOST, LEAST, AVERAGE };

size_t reduction_width(int type)
{
    static const unsigned char widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && (size_t)type < sizeof widths ? widths[type] : 1;
}

static bool is_whole(int type)
{
    return type >= INT8 && type <= UINT64;
}

static bool is_signed(int type)
{
    return type == INT8 || type == INT32 || type == INT64;
}

/* ---- whole numbers ---- */

static uint64_t load(int type, const char *at)
{
    size_t width = reduction_width(type);
    uint64_t value = 0;
    memcpy(&value, at, width);
    if (is_signed(type) && width < 8 && value >> (8 * width - 1))
        value |= UINT64_MAX << (8 * width);
    return value;
}

static bool is_less(int type, uint64_t x, uint64_t y)
{
    return is_signed(type) ? (int64_t)x < (int64_t)y : x < y;
}

static uint64_t join(const struct reduction *it, uint64_t x, uint64_t y)
{
    switch (it->operation) {
    case PRODUCT:
        return x * y;
    case MOST:
        return is_less(it->type, x, y) ? y : x;
    case LEAST:
        return is_less(it->type, x, y) ? x : y;
    default:
        return x + y;
    }
}

static uint64_t average(const struct reduction *it, uint64_t sum)
{
    if (is_signed(it->type))
        return (uint64_t)((int64_t)sum / it->ranks);
    return sum / (uint64_t)it->ranks;
}

static void reduce_whole(const struct reduction *it, const char *first, size_t apart, char *to)
{
    uint64_t value = load(it->type, first);
    for (int rank = 1; rank < it->ranks; rank++)
        value = join(it, value, load(it->type, first + (size_t)rank * apart));
    if (it->operation == AVERAGE)
        value = average(it, value);
    memcpy(to, &value, reduction_width(it->type));
}

/* ---- floats ---- */

static double load_float(int type, const char *at)
{
    float narrow;
    double wide;
    if (type == FLOAT64) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return (double)narrow;
}

/* One step on the way; false: it has to be rounded, and the next step depends on it. */
static bool step(const struct reduction *it, double *value, double more, bool is_last)
{
    long double exact = (long double)*value + (long double)more;
    if (it->operation == PRODUCT)
        exact = (long double)*value * (long double)more;
    else if (it->operation == MOST)
        exact = *value > more ? (long double)*value : (long double)more;
    else if (it->operation == LEAST)
        exact = *value < more ? (long double)*value : (long double)more;
    double rounded = it->type == FLOAT32 ? (double)(float)exact : (double)exact;
    *value = rounded;
    return (long double)rounded == exact || (is_last && it->ranks == 2);
}

static bool is_power_of_two(int number)
{
    return (number & (number - 1)) == 0;
}

static bool reduce_float(const struct reduction *it, const char *first, size_t apart, char *to)
{
    double value = load_float(it->type, first);
    float narrow;
    for (int rank = 1; rank < it->ranks; rank++) {
        double more = load_float(it->type, first + (size_t)rank * apart);
        if (!step(it, &value, more, rank + 1 == it->ranks))
            return false;
    }
    if (it->operation == AVERAGE && !is_power_of_two(it->ranks))
        return false;
    if (it->operation == AVERAGE)
        value /= it->ranks;
    narrow = (float)value;
    memcpy(to, it->type == FLOAT64 ? (void *)&value : (void *)&narrow, reduction_width(it->type));
    return true;
}

/* ---- all elements ---- */

bool reduction_run(const struct reduction *it, const char *parts, char *result)
{
    size_t width = reduction_width(it->type), apart = it->count * width;
    bool is_float = it->type == FLOAT32 || it->type == FLOAT64;
    if ((!is_whole(it->type) && !is_float) || it->operation < SUM || it->operation > AVERAGE ||
        it->ranks < 1)
        return false;
    for (size_t i = 0; i < it->count; i++) {
        if (!is_float)
            reduce_whole(it, parts + i * width, apart, result + i * width);
        else if (!reduce_float(it, parts + i * width, apart, result + i * width))
            return false;
    }
    return true;
}
