/* carry.c - see carry.h. */
#include "carry.h"

#include <string.h>

#include "functor.h"
#include "mem.h"
#include "values.h"

bool carry_number(uint64_t at, char type, int64_t *value)
{
    uint8_t bytes[8] = {0};
    bool known = values_get(at, bytes, kernel_type_bytes(type));
    *value = functor_load(type, bytes);
    return known;
}

/* All places. NULL: too many, or one of them is not known. */
static struct carry *find_places(carry_fn *where, const void *how, uint64_t count)
{
    struct carry *places = count <= CARRY_MOST ? mem_alloc(count, sizeof *places) : NULL;
    for (uint64_t i = 0; places && i < count; i++)
        if (!where(how, i, &places[i])) {
            mem_free(places);
            places = NULL;
        }
    return places;
}

/* All elements are read before the first is written: what is written may be what is read. */
static bool read_all(struct carry *places, uint64_t count, uint32_t bytes)
{
    for (uint64_t i = 0; i < count; i++)
        if (places[i].from && !values_get(places[i].from, places[i].value, bytes))
            return false;
    return true;
}

static void write_all(const struct carry *places, uint64_t count, uint32_t bytes)
{
    for (uint64_t i = 0; i < count; i++)
        values_put(places[i].to, places[i].value, bytes);
}

static void forget_all(const struct carry *places, uint64_t count, uint32_t bytes)
{
    for (uint64_t i = 0; i < count; i++)
        values_forget(places[i].to, bytes);
}

#define FIRST_ALONE                                                                                \
    4096u /* elements: of more, the first one says whether a look is worth while                   \
           */

static bool is_worth(carry_fn *where, const void *how, uint64_t count, uint32_t bytes)
{
    struct carry first = {0};
    if (bytes > CARRY_BYTES)
        return false;
    return count <= FIRST_ALONE ||
           (where(how, 0, &first) && (!first.from || values_get(first.from, first.value, bytes)));
}

void carry_all(carry_fn *where, const void *how, uint64_t count, uint32_t bytes, uint64_t block)
{
    if (count == 0)
        return;
    bool worth = is_worth(where, how, count, bytes);
    struct carry *places = worth ? find_places(where, how, count) : NULL;
    if (!places)
        values_forget_run(block);
    else if (read_all(places, count, bytes))
        write_all(places, count, bytes);
    else
        forget_all(places, count, bytes);
    mem_free(places);
}

static void add(const struct carry *place, char type)
{
    uint32_t bytes = kernel_type_bytes(type);
    int64_t old;
    uint8_t sum[8] = {0};
    if (carry_number(place->to, type, &old)) {
        uint64_t more = (uint64_t)functor_load(type, place->value);
        functor_store(type, sum, (int64_t)((uint64_t)old + more));
        values_put(place->to, sum, bytes);
    } else {
        values_forget(place->to, bytes);
    }
}

void carry_add(carry_fn *where, const void *how, uint64_t count, char type, uint64_t block)
{
    uint32_t bytes = kernel_type_bytes(type);
    struct carry *places = bytes ? find_places(where, how, count) : NULL;
    if (!places)
        values_forget_run(block);
    else if (!read_all(places, count, bytes))
        forget_all(places, count, bytes);
    else
        for (uint64_t i = 0; i < count; i++)
            add(&places[i], type);
    mem_free(places);
}
