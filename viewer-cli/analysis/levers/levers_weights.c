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

static uint64_t key_of(int64_t module, int64_t asked)
{
    return (uint64_t)module << 40 ^ (uint64_t)asked;
}

static bool put_parameter(struct levers_weights *out, const struct named *named, int64_t asked)
{
    const uint64_t module = (uint64_t)named->module, known = map_get(&out->of_own, module);
    if ((known == MAP_NONE || (int64_t)known < asked) &&
        !map_put(&out->of_own, module, (uint64_t)asked, NULL))
        return false;
    return named->around || (map_put(&out->owners, module, 1, NULL) &&
                             map_put(&out->sizes, key_of(named->module, asked), 1, NULL));
}

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
                   put_parameter(out, named, (int64_t)bytes)
               ? 0
               : ERR_NOMEM;
}

static int read_names(struct levers_work *work, const struct map *asked, struct levers_weights *out)
{
    struct named named;
    int64_t last = GROUP_NONE;
    struct query query = query_ask(work->db, names_sql, Q_NOTHING,
                                   Q_OUT(Q_INT(named.tag), Q_OPT(named.module), Q_INT(named.weight),
                                         Q_INT(named.bias), Q_INT(named.around)));
    while (query_next(&query)) {
        query_fail(&query, take_name(out, asked, &named, named.tag == last));
        last = named.tag;
    }
    return query_end(&query);
}

int levers_weights_read(struct levers_work *work, struct levers_weights *out)
{
    const struct levers_step *step = &work->step;
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
        err = read_names(work, &asked, out);
    map_clear(&asked);
    return err;
}

void levers_weights_clear(struct levers_weights *weights)
{
    map_clear(&weights->modules);
    map_clear(&weights->of_own);
    map_clear(&weights->owners);
    map_clear(&weights->sizes);
}

enum { ROWS_LEAST = 64 }; /* what has as many rows is larger than a vector by this */

bool levers_has_no_matrix(const struct levers_weights *weights, int64_t module, int64_t asked)
{
    const uint64_t largest =
        module == GROUP_NONE ? MAP_NONE : map_get(&weights->of_own, (uint64_t)module);
    return largest == MAP_NONE || (int64_t)largest <= asked / ROWS_LEAST;
}

bool levers_has_parameter(const struct levers_weights *weights, int64_t module, int64_t asked)
{
    return module != GROUP_NONE && map_get(&weights->sizes, key_of(module, asked)) != MAP_NONE;
}
