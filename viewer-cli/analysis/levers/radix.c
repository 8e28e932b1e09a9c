#include "radix.h"

#include <stdint.h>
#include <string.h>

#include "mem.h"

/* A pass orders by so many bits, the lowest first. */
enum { BITS = 11, VALUES = 1 << BITS };

/* A row's number above the smallest one, and where the row is. */
struct key {
    uint64_t above;
    size_t row;
};

struct range {
    int64_t least, most;
    bool in_order;
};

static int64_t number_of(const char *rows, size_t row, size_t size)
{
    int64_t number;
    memcpy(&number, rows + row * size, sizeof number);
    return number;
}

static struct range look(const char *rows, size_t count, size_t size)
{
    int64_t before = number_of(rows, 0, size);
    struct range range = {before, before, true};
    for (size_t i = 1; i < count; i++) {
        int64_t number = number_of(rows, i, size);
        range.in_order = range.in_order && before <= number;
        range.least = number < range.least ? number : range.least;
        range.most = number > range.most ? number : range.most;
        before = number;
    }
    return range;
}

static void pass(const struct key *from, struct key *to, size_t count, unsigned shift)
{
    size_t places[VALUES] = {0}, place = 0;
    for (size_t i = 0; i < count; i++)
        places[from[i].above >> shift & (VALUES - 1)]++;
    for (size_t i = 0; i < VALUES; i++) {
        size_t these = places[i];
        places[i] = place;
        place += these;
    }
    for (size_t i = 0; i < count; i++)
        to[places[from[i].above >> shift & (VALUES - 1)]++] = from[i];
}

/* The keys in order, which stand in `keys` or in `other` then. */
static const struct key *order(struct key *keys, struct key *other, size_t count, uint64_t most)
{
    for (unsigned shift = 0; shift < 64 && most >> shift; shift += BITS) {
        struct key *from = keys;
        pass(from, other, count, shift);
        keys = other;
        other = from;
    }
    return keys;
}

bool radix_sort(void *rows, size_t count, size_t size)
{
    struct range range = count ? look(rows, count, size) : (struct range){.in_order = true};
    if (range.in_order)
        return true;
    struct key *keys = mem_alloc(count, 2 * sizeof *keys);
    char *copy = keys ? mem_alloc(count, size) : NULL;
    for (size_t i = 0; copy && i < count; i++)
        keys[i] = (struct key){
            (uint64_t)number_of(rows, i, size) - (uint64_t)range.least,
            i,
        };
    if (copy) {
        uint64_t most = (uint64_t)range.most - (uint64_t)range.least;
        const struct key *ordered = order(keys, keys + count, count, most);
        memcpy(copy, rows, count * size);
        for (size_t i = 0; i < count; i++)
            memcpy((char *)rows + i * size, copy + ordered[i].row * size, size);
    }
    mem_free(copy);
    mem_free(keys);
    return copy != NULL;
}
