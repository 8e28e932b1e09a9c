/* rows.c - see rows.h. */
#include "rows.h"

#include <string.h>

#include "carry.h"
#include "functor.h"
#include "mem.h"
#include "values.h"

bool row_fetch(const struct row *row, uint8_t *bytes)
{
    if (row->stride == 1)
        return values_are_known(row->at, row->count * row->width) &&
               values_get(row->at, bytes, row->count * row->width);
    for (uint64_t i = 0; i < row->count; i++)
        if (!values_get(row->at + i * row->stride * row->width, bytes + i * row->width, row->width))
            return false;
    return true;
}

void row_put(const struct row *row, const uint8_t *bytes)
{
    if (row->stride == 1)
        values_put(row->at, bytes, row->count * row->width);
    for (uint64_t i = 0; row->stride != 1 && i < row->count; i++)
        values_put(row->at + i * row->stride * row->width, bytes + i * row->width, row->width);
}

void row_forget(const struct row *row)
{
    if (row->stride == 1)
        values_forget(row->at, row->count * row->width);
    for (uint64_t i = 0; row->stride != 1 && i < row->count; i++)
        values_forget(row->at + i * row->stride * row->width, row->width);
}

/* ---- sorting ---- */

bool row_sort_begin(struct row_sort *sort, uint64_t count)
{
    *sort = (struct row_sort){.keys = mem_alloc(count + 1, sizeof *sort->keys),
                              .order = mem_alloc(count + 1, sizeof *sort->order),
                              .room = mem_alloc(count + 1, sizeof *sort->room),
                              .numbers = mem_alloc(count + 1, sizeof(uint64_t)),
                              .values = mem_alloc(count + 1, CARRY_BYTES),
                              .sorted = mem_alloc(count + 1, CARRY_BYTES)};
    if (sort->keys && sort->order && sort->room && sort->numbers && sort->values && sort->sorted)
        return true;
    row_sort_end(sort);
    return false;
}

void row_sort_end(struct row_sort *sort)
{
    mem_free(sort->keys);
    mem_free(sort->order);
    mem_free(sort->room);
    mem_free(sort->numbers);
    mem_free(sort->values);
    mem_free(sort->sorted);
    *sort = (struct row_sort){0};
}

bool row_sort_fetch(struct row_sort *sort, const struct row *numbers, const struct row *values)
{
    return row_fetch(numbers, sort->numbers) && (!values->width || row_fetch(values, sort->values));
}

void row_sort_keys(struct row_sort *sort, char type, uint64_t count, bool falls)
{
    uint32_t width = kernel_type_bytes(type);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = (uint64_t)functor_load(type, sort->numbers + i * width);
        uint64_t key = number ^ (UINT64_C(1) << 63); /* of a signed one it counts the other way */
        sort->keys[i] = falls ? ~key : key;
    }
}

/* How many keys have each digit, of each of their bytes. */
#define KEY_BYTES 8u
#define DIGITS 256u
struct digits {
    uint32_t of[KEY_BYTES][DIGITS];
};

static uint8_t digit(uint64_t key, uint32_t byte)
{
    return (uint8_t)(key >> 8 * byte);
}

static void count_digits(const uint64_t *keys, uint64_t count, struct digits *digits)
{
    memset(digits, 0, sizeof *digits);
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t byte = 0; byte < KEY_BYTES; byte++)
            digits->of[byte][digit(keys[i], byte)]++;
}

/* By one byte; those in which it is equal stay as they stand. */
static void order_by(const uint64_t *keys, uint64_t count, uint32_t byte, const uint32_t *digits,
                     const uint32_t *from, uint32_t *to)
{
    uint32_t place[DIGITS] = {0};
    for (uint32_t i = 1; i < DIGITS; i++)
        place[i] = place[i - 1] + digits[i - 1];
    for (uint64_t i = 0; i < count; i++)
        to[place[digit(keys[from[i]], byte)]++] = from[i];
}

/* By the last byte first. Of small numbers most bytes are the same in all of them. */
void row_sort_order(struct row_sort *sort, uint64_t count)
{
    struct digits digits;
    uint32_t *from = sort->order, *to = sort->room;
    count_digits(sort->keys, count, &digits);
    for (uint64_t i = 0; i < count; i++)
        from[i] = (uint32_t)i;
    for (uint32_t byte = 0; count && byte < KEY_BYTES; byte++) {
        if (digits.of[byte][digit(sort->keys[0], byte)] == count)
            continue;
        order_by(sort->keys, count, byte, digits.of[byte], from, to);
        uint32_t *other = from;
        from = to;
        to = other;
    }
    sort->order = from;
    sort->room = to;
}

static void put_in_order(struct row_sort *sort, const struct row *row, const uint8_t *bytes)
{
    for (uint64_t i = 0; i < row->count; i++)
        memcpy(sort->sorted + i * row->width, bytes + (uint64_t)sort->order[i] * row->width,
               row->width);
    row_put(row, sort->sorted);
}

void row_sort_put(struct row_sort *sort, const struct row *numbers, const struct row *values)
{
    put_in_order(sort, numbers, sort->numbers);
    if (values->width)
        put_in_order(sort, values, sort->values);
}
