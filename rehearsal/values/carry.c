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

#define RUN_BYTES 1024u

/* How many places from here on lie side by side, as many as fit into a run. */
static uint64_t run_of(const struct carry *places, uint64_t count, uint32_t bytes, bool reads)
{
    uint64_t run = 1, most = RUN_BYTES / bytes;
    for (; run < count && run < most; run++) {
        bool next = reads ? places[run].from == places[run - 1].from + bytes
                          : places[run].to == places[run - 1].to + bytes;
        if (!next)
            break;
    }
    return run;
}

/* All elements are read before the first is written: what is written may be what is read. */
static bool read_all(struct carry *places, uint64_t count, uint32_t bytes)
{
    uint8_t side_by_side[RUN_BYTES];
    for (uint64_t i = 0, run; i < count; i += run) {
        run = places[i].from ? run_of(&places[i], count - i, bytes, true) : 1;
        if (!places[i].from)
            continue;
        if (!values_get(places[i].from, side_by_side, run * bytes))
            return false;
        for (uint64_t k = 0; k < run; k++)
            memcpy(places[i + k].value, side_by_side + k * bytes, bytes);
    }
    return true;
}

static void write_all(const struct carry *places, uint64_t count, uint32_t bytes)
{
    uint8_t side_by_side[RUN_BYTES];
    for (uint64_t i = 0, run; i < count; i += run) {
        run = run_of(&places[i], count - i, bytes, false);
        for (uint64_t k = 0; k < run; k++)
            memcpy(side_by_side + k * bytes, places[i + k].value, bytes);
        values_put(places[i].to, side_by_side, run * bytes);
    }
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
