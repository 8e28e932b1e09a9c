/* levers_weights.c - see levers_weights.h. */
#include "levers_weights.h"

#include "error.h"
#include "group.h"
#include "query.h"

/* Names of parameters, and the module that each is of: its path is what stands before the last dot.
 */
static const char names_sql[] =
    "WITH named AS MATERIALIZED"
    "  (SELECT id, name, rtrim(rtrim(name, replace(name, '.', '')), '.') AS path"
    "     FROM tag WHERE category = 1 AND name IS NOT NULL)"
    ", heads AS MATERIALIZED"
    "  (SELECT DISTINCT rtrim(rtrim(path, replace(path, '.', '')), '.') AS head"
    "     FROM named WHERE path <> '')"
    " SELECT n.id AS tag, m.id AS module, n.name LIKE '%.weight' AS weight,"
    "  n.name LIKE '%.bias' AS bias, n.path IN (SELECT head FROM heads) AS around"
    "  FROM named n LEFT JOIN module m ON m.path = n.path ORDER BY n.id";

struct named {
    int64_t tag, module; /* GROUP_NONE */
    bool weight, bias;
    bool around; /* there are others in the module */
};

/* Names are of all processes: those of this one are the tags of its blocks. */
static int take_name(struct levers_weights *out, const struct map *asked, const struct named *named,
                     bool again)
{
    uint64_t bytes = map_get(asked, (uint64_t)named->tag);
    if (bytes == MAP_NONE)
        return 0;
    if (!again && !named->weight && !named->bias)
        out->own += (int64_t)bytes;
    if (named->module == GROUP_NONE)
        return 0;
    return (!named->weight || map_put(&out->modules, (uint64_t)named->module, bytes, NULL)) &&
                   (named->around || map_put(&out->owners, (uint64_t)named->module, 1, NULL))
               ? 0
               : ERR_NOMEM;
}

static int read_names(struct levers_seen *seen, const struct map *asked, struct levers_weights *out)
{
    struct named named;
    int64_t last = GROUP_NONE;
    struct query query = query_ask(seen->db, names_sql, Q_NOTHING,
                                   Q_OUT(Q_INT(named.tag), Q_OPT(named.module), Q_INT(named.weight),
                                         Q_INT(named.bias), Q_INT(named.around)));
    while (query_next(&query)) {
        query_fail(&query, take_name(out, asked, &named, named.tag == last));
        last = named.tag;
    }
    return query_end(&query);
}

int levers_weights_read(struct levers_seen *seen, struct levers_weights *out)
{
    const struct levers_step *step = &seen->step;
    struct map asked = {0}; /* tags, to bytes */
    int err = 0;
    *out = (struct levers_weights){0};
    for (size_t i = 0; i < step->count && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose != PURPOSE_PARAMETER || !block->tagged || block->tag == GROUP_NONE)
            continue;
        out->largest = block->size > out->largest ? block->size : out->largest;
        if (!map_put(&asked, (uint64_t)block->tag, (uint64_t)block->asked, NULL))
            err = ERR_NOMEM;
    }
    if (err == 0)
        err = read_names(seen, &asked, out);
    map_clear(&asked);
    return err;
}

void levers_weights_clear(struct levers_weights *weights)
{
    map_clear(&weights->modules);
    map_clear(&weights->owners);
}
