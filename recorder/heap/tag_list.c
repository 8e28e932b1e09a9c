#include "tag_list.h"

#include <assert.h>

#include "mem.h"

const struct tag_list *tag_list_get(const struct tag_lists *lists, uint64_t list)
{
    uint64_t at = map_get(&lists->by_number, list);
    return at == MAP_NONE ? NULL : &lists->lists[at];
}

static struct tag_list *get_list(struct tag_lists *lists, uint32_t number)
{
    uint64_t at = map_get(&lists->by_number, number);
    if (at != MAP_NONE)
        return &lists->lists[at];
    if (!MEM_GROW(lists->lists, lists->cap, lists->count + 1) ||
        !map_put(&lists->by_number, number, lists->count, NULL))
        return NULL;
    lists->lists[lists->count] = (struct tag_list){0};
    return &lists->lists[lists->count++];
}

/* A list counts as at least one place, so that empty ones are bounded, too. */
enum tag_result tag_list_set(struct tag_lists *lists, uint32_t list, uint32_t place,
                             const struct tag_place *value)
{
    const struct tag_list *known = tag_list_get(lists, list);
    size_t count = known ? known->count : 0;
    size_t more = place < count ? 0 : (size_t)place + 1 - count;
    assert(lists->places <= TAG_MAX_PLACES);
    if (more > TAG_MAX_PLACES - lists->places)
        return TAG_TOO_MANY;
    struct tag_list *own = get_list(lists, list);
    if (!own || !MEM_GROW(own->places, own->cap, count + more))
        return TAG_NO_MEMORY;
    while (own->count < count + more)
        own->places[own->count++] = (struct tag_place){0};
    lists->places += more;
    own->places[place] = *value;
    return TAG_SET;
}

void tag_lists_clear(struct tag_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++)
        mem_free(lists->lists[i].places);
    mem_free(lists->lists);
    map_clear(&lists->by_number);
    *lists = (struct tag_lists){0};
}

bool tag_lists_are_valid(const struct tag_lists *lists)
{
    size_t places = 0;
    for (size_t i = 0; i < lists->count; i++)
        places += lists->lists[i].count;
    return places == lists->places && places <= TAG_MAX_PLACES &&
           lists->by_number.count == lists->count && map_is_valid(&lists->by_number);
}
