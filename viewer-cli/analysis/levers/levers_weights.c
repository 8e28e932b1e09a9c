/* levers_weights.c - see levers_weights.h. */
#include "levers_weights.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"

static int put_weight(struct levers_work *work, struct levers_weights *out, const char *path,
                      size_t bytes, int64_t asked)
{
    char *copy = mem_copy(path, bytes);
    int64_t id;
    if (!copy)
        return ERR_NOMEM;
    struct query query = query_ask(work->db, "SELECT id FROM module WHERE path = ?1",
                                   Q_IN((const char *)copy), Q_OUT(Q_INT(id)));
    while (query_next(&query))
        if (!map_put(&out->modules, (uint64_t)id, (uint64_t)asked, NULL))
            query_fail(&query, ERR_NOMEM);
    mem_free(copy);
    return query_end(&query);
}

static int take_name(struct levers_work *work, struct levers_weights *out, const char *name,
                     int64_t asked)
{
    static const char weight[] = ".weight", bias[] = ".bias";
    size_t bytes = strlen(name);
    if (bytes >= sizeof weight && strcmp(name + bytes - (sizeof weight - 1), weight) == 0)
        return put_weight(work, out, name, bytes - (sizeof weight - 1), asked);
    if (bytes < sizeof bias || strcmp(name + bytes - (sizeof bias - 1), bias) != 0)
        out->own += asked;
    return 0;
}

static int take_weight(struct levers_work *work, struct levers_weights *out,
                       const struct levers_block *block)
{
    const char *name;
    struct query query = query_ask(work->db,
                                   "SELECT t.name FROM allocation a JOIN tag t ON t.id = a.tag"
                                   " WHERE a.seq = ?1 AND t.name IS NOT NULL",
                                   Q_IN(block->seq), Q_OUT(Q_TEXT(name)));
    while (query_next(&query))
        query_fail(&query, take_name(work, out, name, block->asked));
    return query_end(&query);
}

int levers_weights_read(struct levers_work *work, struct levers_weights *out)
{
    const struct levers_step *step = &work->step;
    int err = 0;
    *out = (struct levers_weights){0};
    for (size_t i = 0; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose != PURPOSE_PARAMETER || !block->tagged)
            continue;
        out->largest = block->size > out->largest ? block->size : out->largest;
        err = take_weight(work, out, block);
    }
    return err;
}

void levers_weights_clear(struct levers_weights *weights)
{
    map_clear(&weights->modules);
}
