#include "radix.h"

#include <stdint.h>
#include <string.h>

#include "mem.h"

/* A pass orders by so many bits, the lowest first. */
enum { BITS = 11, VALUES = 1 << BITS };

struct range {
    int64_t least, most;
    bool in_order;
};

static int64_t number_of(const char *row)
{
    int64_t number;
    memcpy(&number, row, sizeof number);
    return number;
}

static struct range look(const char *rows, size_t count, size_t size)
{
    int64_t before = number_of(rows);
    struct range range = {before, before, true};
    for (const char *row = rows; row < rows + count * size; row += size) {
        int64_t number = number_of(row);
        range.in_order = range.in_order && before <= number;
        range.least = number < range.least ? number : range.least;
        range.most = number > range.most ? number : range.most;
        before = number;
    }
    return range;
}

/* Which of the values a row has in a pass. */
static size_t value_of(const char *row, int64_t least, unsigned shift)
{
    return ((uint64_t)number_of(row) - (uint64_t)least) >> shift & (VALUES - 1);
}

static void pass(const char *from, char *to, size_t count, size_t size, int64_t least,
                 unsigned shift)
{
    size_t places[VALUES] = {0}, place = 0;
    for (size_t i = 0; i < count; i++)
        places[value_of(from + i * size, least, shift)]++;
    for (size_t i = 0; i < VALUES; i++) {
        size_t these = places[i];
        places[i] = place;
        place += these;
    }
    for (size_t i = 0; i < count; i++) {
        const char *row = from + i * size;
        memcpy(to + places[value_of(row, least, shift)]++ * size, row, size);
    }
}

bool radix_sort(void *rows, size_t count, size_t size)
{
    struct range range = count ? look(rows, count, size) : (struct range){.in_order = true};
    if (range.in_order)
        return true;
    char *copy = mem_resize(NULL, count, size), *now = rows, *other = copy;
    if (!copy)
        return false;
    uint64_t most = (uint64_t)range.most - (uint64_t)range.least;
    for (unsigned shift = 0; shift < 64 && most >> shift; shift += BITS) {
        char *from = now;
        pass(from, other, count, size, range.least, shift);
        now = other;
        other = from;
    }
    if (now == copy)
        memcpy(rows, copy, count * size);
    mem_free(copy);
    return true;
}
