/*
 * Where in the model the modules of a unit stand, folded: model.layers[0-23]. A block knows the
 * innermost module that ran; the unit's own is the one around it that is of the unit's class.
 */
#include <string.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "levers_units.h"
#include "map.h"
#include "mem.h"
#include "module_fold.h"
#include "query.h"

enum { SHOWN = 2 };

struct texts {
    char *path, *class_name;
};

struct modules_named { /* of the whole recording */
    struct texts *texts;
    struct module_name *names; /* the same texts */
    char **folded;
    size_t count, cap;
    struct map ids; /* to their places */
};

static int take(struct modules_named *all, int64_t id, const struct texts *texts)
{
    if (!MEM_GROW(all->texts, all->cap, all->count + 1)) {
        mem_free(texts->path);
        mem_free(texts->class_name);
        return ERR_NOMEM;
    }
    all->texts[all->count] = *texts;
    return map_put(&all->ids, (uint64_t)id, all->count++, NULL) ? 0 : ERR_NOMEM;
}

static int read_all(struct db *db, struct modules_named *all)
{
    int64_t id;
    struct texts texts = {0};
    struct query query =
        query_ask(db, "SELECT id, path, class AS class_name FROM module ORDER BY id", Q_NOTHING,
                  Q_OUT(Q_INT(id), Q_COPY(texts.path), Q_COPY(texts.class_name)));
    while (query_next(&query))
        query_fail(&query, take(all, id, &texts));
    int err = query_end(&query);
    all->folded = mem_alloc(all->count + 1, sizeof *all->folded);
    all->names = mem_alloc(all->count + 1, sizeof *all->names);
    if (err == 0 && (!all->folded || !all->names))
        err = ERR_NOMEM;
    for (size_t i = 0; i < all->count && err == 0; i++)
        all->names[i] = (struct module_name){all->texts[i].path, all->texts[i].class_name};
    return err < 0 ? err : module_fold(all->names, all->count, all->folded);
}

static void clear_all(struct modules_named *all)
{
    for (size_t i = 0; i < all->count; i++) {
        mem_free(all->texts[i].path);
        mem_free(all->texts[i].class_name);
        mem_free(all->folded ? all->folded[i] : NULL);
    }
    mem_free(all->texts);
    mem_free(all->names);
    mem_free(all->folded);
    map_clear(&all->ids);
}

/* The last part of a nested class's name. */
static const char *last_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool is_around(const char *path, const char *inner)
{
    size_t bytes = strlen(path);
    return strncmp(path, inner, bytes) == 0 &&
           (bytes == 0 || inner[bytes] == '\0' || inner[bytes] == '.');
}

/* The innermost one around it of that class; SIZE_MAX. */
static size_t find_own(const struct modules_named *all, size_t inner, const char *class_name)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(last_name(all->names[i].class_name), last_name(class_name)) == 0 &&
            is_around(all->names[i].path, all->names[inner].path) &&
            (best == SIZE_MAX || strlen(all->names[i].path) > strlen(all->names[best].path)))
            best = i;
    return best;
}

/* Of the first block of a call that knows its module; SIZE_MAX. `known`: what came of others. */
static size_t module_of(const struct levers_step *step, const struct modules_named *all,
                        const struct levers_call *call, const char *class_name, struct map *known)
{
    for (size_t i = call->first; i <= call->last; i++) {
        uint64_t id = (uint64_t)step->blocks[i].module, at = map_get(&all->ids, id);
        uint64_t own = map_get(known, id);
        if (step->blocks[i].module == GROUP_NONE || at == MAP_NONE)
            continue;
        if (own == MAP_NONE) {
            own = find_own(all, at, class_name);
            if (own != SIZE_MAX) /* without memory it is looked for again */
                map_put(known, id, own, NULL);
        }
        return own;
    }
    return SIZE_MAX;
}

static void add_name(struct buf *text, size_t *count, const char *folded)
{
    if (*count == SHOWN)
        buf_text(text, ", ...");
    else if (*count < SHOWN)
        buf_print(text, "%s%s", *count ? ", " : "", folded);
    *count += 1;
}

static int name_unit(const struct levers_step *step, const struct modules_named *all,
                     struct levers_unit *unit)
{
    const char *seen[SHOWN + 1];
    struct buf text = {0};
    struct map found = {0};
    size_t count = 0;
    for (size_t i = 0; i < unit->count && count <= SHOWN; i++) {
        size_t at = module_of(step, all, &unit->calls[i], unit->name, &found), known = 0;
        if (at == SIZE_MAX || !all->names[at].path[0])
            continue;
        while (known < count && strcmp(seen[known], all->folded[at]) != 0)
            known++;
        if (known < count)
            continue;
        seen[count] = all->folded[at];
        add_name(&text, &count, all->folded[at]);
    }
    if (text.count && !text.broken)
        unit->instances = mem_copy(buf_string(&text), text.count);
    map_clear(&found);
    int err = text.count && !unit->instances ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}

int levers_units_name(struct db *db, const struct levers_step *step, struct levers_units *units)
{
    struct modules_named all = {0};
    int err = read_all(db, &all);
    for (size_t i = 0; i < units->count && all.count && err >= 0; i++)
        err = name_unit(step, &all, &units->units[i]);
    clear_all(&all);
    return err;
}
