#include "levers_places.h"

#include <stdbool.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"

static int take(struct levers_places *all, int64_t id, const struct levers_place *place)
{
    if (!MEM_GROW(all->places, all->cap, all->count + 1)) {
        mem_free(place->path);
        mem_free(place->class_name);
        return ERR_NOMEM;
    }
    all->places[all->count] = *place;
    all->places[all->count].bytes = strlen(place->path);
    all->places[all->count].last = levers_place_last_name(place->class_name);
    return map_put(&all->ids, (uint64_t)id, all->count++, NULL) ? 0 : ERR_NOMEM;
}

int levers_places_read(struct db *db, struct levers_places *all)
{
    int64_t id;
    struct levers_place place = {0};
    struct query query =
        query_ask(db,
                  "SELECT id, coalesce(path, '') AS path, coalesce(class, '') AS class_name"
                  "  FROM module ORDER BY id",
                  Q_NOTHING, Q_OUT(Q_INT(id), Q_COPY(place.path), Q_COPY(place.class_name)));
    while (query_next(&query))
        query_fail(&query, take(all, id, &place));
    int err = query_end(&query);
    all->folded = mem_alloc(all->count + 1, sizeof *all->folded);
    all->names = mem_alloc(all->count + 1, sizeof *all->names);
    if (err == 0 && (!all->folded || !all->names))
        err = ERR_NOMEM;
    for (size_t i = 0; i < all->count && err == 0; i++)
        all->names[i] = (struct module_name){all->places[i].path, all->places[i].class_name};
    return err < 0 ? err : module_fold(all->names, all->count, all->folded);
}

void levers_places_clear(struct levers_places *all)
{
    for (size_t i = 0; i < all->count; i++) {
        mem_free(all->places[i].path);
        mem_free(all->places[i].class_name);
        mem_free(all->folded ? all->folded[i] : NULL);
    }
    mem_free(all->places);
    mem_free(all->names);
    mem_free(all->folded);
    map_clear(&all->ids);
    *all = (struct levers_places){0};
}

const char *levers_place_last_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool is_around(const struct levers_place *outer, const struct levers_place *inner)
{
    const size_t bytes = outer->bytes;
    return bytes <= inner->bytes && memcmp(outer->path, inner->path, bytes) == 0 &&
           (bytes == 0 || inner->path[bytes] == '\0' || inner->path[bytes] == '.');
}

bool levers_place_is_inside(const struct levers_places *all, int64_t id, int64_t outer)
{
    uint64_t inner_at = map_get(&all->ids, (uint64_t)id);
    uint64_t outer_at = map_get(&all->ids, (uint64_t)outer);
    return inner_at != MAP_NONE && outer_at != MAP_NONE &&
           is_around(&all->places[outer_at], &all->places[inner_at]);
}

bool levers_place_is_outermost(const struct levers_places *all, int64_t id)
{
    uint64_t at = map_get(&all->ids, (uint64_t)id);
    return at != MAP_NONE && all->places[at].path[0] == '\0';
}

size_t levers_place_around(const struct levers_places *all, int64_t id, const char *class_name)
{
    const char *last = levers_place_last_name(class_name);
    uint64_t inner = map_get(&all->ids, (uint64_t)id);
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < all->count && inner != MAP_NONE; i++) {
        const struct levers_place *place = &all->places[i];
        if (*place->last == *last && strcmp(place->last, last) == 0 &&
            is_around(place, &all->places[inner]) &&
            (best == SIZE_MAX || place->bytes > all->places[best].bytes))
            best = i;
    }
    return best;
}
