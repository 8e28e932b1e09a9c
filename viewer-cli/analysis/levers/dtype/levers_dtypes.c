/* levers_dtypes.c - see levers_dtypes.h. */
#include "levers_dtypes.h"

#include <string.h>

#include "error.h"
#include "levers_names.h"
#include "mem.h"
#include "query.h"

/* ---- what the helper said ---- */

static const char dtypes_sql[] =
    "SELECT count(DISTINCT key) AS keys, coalesce(sum(value <> 'float32'), 0) AS others"
    "  FROM setting WHERE process = ?1 AND key IN ('parameter_dtype', 'graph_dtype')";

int levers_is_float32(struct levers_seen *seen, bool *yes)
{
    int64_t keys = 0, others = 0;
    int err = query_read(seen->db, dtypes_sql, Q_IN(seen->peak->process),
                         Q_OUT(Q_INT(keys), Q_INT(others)));
    *yes = keys == 2 && others == 0;
    return err;
}

/* ---- who makes what ---- */

static bool ends_with(const char *function, const char *tail)
{
    const struct levers_last last = levers_last_of(function);
    size_t bytes = strlen(tail);
    return last.bytes >= bytes && strncmp(last.begin + last.bytes - bytes, tail, bytes) == 0;
}

enum { NAMES = 40 };

/* Without regard to case, as levers_is_one_of has it; conv1d is that of transformers. */
static const struct named_op {
    enum levers_op op;
    const char *names[NAMES]; /* up to the first that is NULL */
} named_ops[] = {
    {LEVERS_OP_MATRIX, {"linear", "bilinear", "conv1d"}},
    {LEVERS_OP_CONVOLUTION,
     {"_conv_forward", "conv2d", "conv3d", "convtranspose1d", "convtranspose2d",
      "convtranspose3d"}},
    {LEVERS_OP_LOOKUP, {"embedding"}},
    {LEVERS_OP_PIECES, {"newgeluactivation", "newgelu", "new_gelu"}},
    {LEVERS_OP_FOLLOWS,
     {"relu",
      "relu6",
      "leakyrelu",
      "leaky_relu",
      "gelu",
      "gelutanh",
      "geluactivation",
      "quickgeluactivation",
      "silu",
      "siluactivation",
      "mish",
      "elu",
      "celu",
      "selu",
      "glu",
      "tanh",
      "sigmoid",
      "hardsigmoid",
      "logsigmoid",
      "hardswish",
      "hardtanh",
      "dropout",
      "dropout1d",
      "dropout2d",
      "batch_norm",
      "batchnorm1d",
      "batchnorm2d",
      "batchnorm3d",
      "maxpool2d",
      "max_pool2d",
      "_max_pool2d",
      "avgpool2d",
      "adaptive_avg_pool2d",
      "adaptiveavgpool2d",
      "interpolate",
      "pad"}},
    {LEVERS_OP_SOFTMAX, {"softmax", "log_softmax", "logsoftmax"}},
    {LEVERS_OP_NORM,
     {"layer_norm", "layernorm", "group_norm", "groupnorm", "rms_norm", "norm", "normalize"}},
    {LEVERS_OP_ENTROPY, {"cross_entropy", "crossentropyloss"}},
    {LEVERS_OP_LOSS,
     {"nll_loss", "nllloss", "mse_loss", "mseloss", "l1_loss", "l1loss", "smooth_l1_loss",
      "smoothl1loss", "binary_cross_entropy_with_logits", "bcewithlogitsloss", "kl_div",
      "kldivloss"}},
    {LEVERS_OP_RECURRENT, {"lstm", "gru", "rnn"}},
};

static size_t count_of(const char *const names[NAMES])
{
    size_t count = 0;
    while (count < NAMES && names[count])
        count++;
    return count;
}

static enum levers_op op_named(const char *function)
{
    for (size_t i = 0; i < sizeof named_ops / sizeof *named_ops; i++) {
        const struct named_op *row = &named_ops[i];
        if (levers_is_one_of(function, row->names, count_of(row->names)))
            return row->op;
    }
    /* The layer around T5's attention adds the residual. */
    if (ends_with(function, "LayerSelfAttention") || ends_with(function, "LayerCrossAttention"))
        return LEVERS_OP_UNKNOWN;
    if (ends_with(function, "Attention") || ends_with(function, "attention_forward") ||
        ends_with(function, "_in_projection_packed"))
        return LEVERS_OP_ATTENTION;
    /* Gated ones multiply by themselves what two products made. */
    if (ends_with(function, "MLP") || ends_with(function, "GatedActDense"))
        return LEVERS_OP_FOLLOWS;
    return ends_with(function, "RMSNorm") || ends_with(function, "T5LayerNorm") ? LEVERS_OP_UPCASTS
                                                                                : LEVERS_OP_UNKNOWN;
}

/* Large blocks that this call makes one after the other: a fused attention makes its output, and
 * the sums of its rows. */
static bool is_in_pieces(const struct levers_step *step, size_t at)
{
    enum { SMALL = 64, FUSED_MOST = 3 };
    const struct levers_block *first = &step->blocks[at];
    size_t count = 0;
    for (size_t i = at; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->site != first->site || block->module != first->module)
            break;
        count += block->asked >= first->asked / SMALL;
    }
    return count > FUSED_MOST;
}

/* Of other code it is not known which operations these are. A GPU has fused ones, beside copies of
 * what goes in. */
static enum levers_op op_of_attention(const struct levers_seen *seen, size_t at, bool by_library)
{
    if (!is_in_pieces(&seen->step, at) || (by_library && !seen->on_host))
        return LEVERS_OP_ATTENTION;
    return by_library && seen->torch >= 205 ? LEVERS_OP_MATH : LEVERS_OP_UNKNOWN;
}

/* Libraries that cast to float32 by themselves: transformers its losses, and some of its attention.
 */
static const char library_sql[] =
    "SELECT coalesce(max(n.text LIKE '%/transformers/%'), 0) AS library,"
    "  coalesce(max(n.text LIKE '%/transformers/loss/loss_utils.py'), 0) AS loss"
    "  FROM site s JOIN frame f ON f.id = s.frame JOIN string n ON n.id = f.file"
    " WHERE s.site = ?1";

/* A default device, or a counter of calls, stands between a function and its operation. */
static const char name_sql[] =
    "SELECT n.text AS name FROM site s JOIN frame f ON f.id = s.frame"
    "  JOIN string n ON n.id = f.function"
    " WHERE s.site = ?1 AND n.text NOT LIKE '%.\\_\\_torch\\_function\\_\\_' ESCAPE '\\'"
    " ORDER BY s.depth LIMIT 1";

/* NULL: it has none. */
static int name_of(struct db *db, int64_t site, char **out)
{
    const char *name;
    struct query query = query_ask(db, name_sql, Q_IN(site), Q_OUT(Q_TEXT(name)));
    while (query_next(&query))
        if (!(*out = mem_copy(name, strlen(name))))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

/* Of modules that have nothing to do but what they may cast for. */
static bool may_cast(const char *function)
{
    static const char *const parts[] = {"norm",   "rotary", "rope",     "softmax",
                                        "router", "loss",   "attention"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(function, parts[i]))
            return true;
    return false;
}

static bool is_of_module(const char *function)
{
    static const char forward[] = ".forward";
    const size_t bytes = strcspn(function, " "), tail = sizeof forward - 1;
    return bytes > tail && strncmp(function + bytes - tail, forward, tail) == 0;
}

struct site {
    enum levers_op op;
    bool own, written;
};

static int op_of_site(struct levers_seen *seen, size_t at, struct site *out)
{
    enum levers_op *op = &out->op;
    const int64_t site = seen->step.blocks[at].site;
    char *name = NULL;
    bool library = false, loss = false;
    int err = name_of(seen->db, site, &name);
    *op = err >= 0 && name ? op_named(name) : LEVERS_OP_UNKNOWN;
    const bool of_module = err >= 0 && name && is_of_module(name);
    out->own = of_module && !may_cast(name);
    out->written = of_module && *op == LEVERS_OP_ATTENTION;
    if (err >= 0 && (*op == LEVERS_OP_LOSS || *op == LEVERS_OP_ENTROPY || *op == LEVERS_OP_SOFTMAX))
        err = query_read(seen->db, library_sql, Q_IN(site), Q_OUT(Q_INT(library), Q_INT(loss)));
    if ((*op == LEVERS_OP_LOSS || *op == LEVERS_OP_ENTROPY) && loss)
        *op = LEVERS_OP_LOSS_CAST;
    if (*op == LEVERS_OP_SOFTMAX && library)
        *op = LEVERS_OP_UNKNOWN;
    if (*op == LEVERS_OP_ATTENTION)
        *op = op_of_attention(seen, at, ends_with(name, "sdpa_attention_forward"));
    mem_free(name);
    return err;
}

static int read_sites(struct levers_seen *seen, struct levers_dtypes *out)
{
    const struct levers_step *step = &seen->step;
    int err = 0;
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        struct site site;
        if (block->site == GROUP_NONE || !levers_computes(&step->phases, block->seq) ||
            map_get(&out->sites, (uint64_t)block->site) != MAP_NONE)
            continue;
        err = op_of_site(seen, i, &site);
        if (err >= 0 && (!map_put(&out->sites, (uint64_t)block->site, site.op, NULL) ||
                         (site.own && !map_put(&out->own, (uint64_t)block->site, 1, NULL)) ||
                         (site.written && !map_put(&out->written, (uint64_t)block->site, 1, NULL))))
            err = ERR_NOMEM;
    }
    return err;
}

static bool is_named(const struct levers_dtypes *dtypes, const struct levers_block *block,
                     enum levers_op op)
{
    return block->site != GROUP_NONE && block->module != GROUP_NONE &&
           map_get(&dtypes->sites, (uint64_t)block->site) == (uint64_t)op;
}

/* A softmax among what an attention makes: it is written out, a line for each operation. */
static int find_written_out(struct levers_seen *seen, struct levers_dtypes *out)
{
    const struct levers_step *step = &seen->step;
    struct map modules = {0}; /* with a softmax */
    int err = 0;
    for (size_t i = step->older; i < step->count && err == 0; i++)
        if (is_named(out, &step->blocks[i], LEVERS_OP_SOFTMAX) &&
            !map_put(&modules, (uint64_t)step->blocks[i].module, 1, NULL))
            err = ERR_NOMEM;
    for (size_t i = step->older; i < step->count && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_named(out, block, LEVERS_OP_ATTENTION) &&
            map_get(&modules, (uint64_t)block->module) != MAP_NONE &&
            !map_put(&out->sites, (uint64_t)block->site, LEVERS_OP_UNKNOWN, NULL))
            err = ERR_NOMEM;
    }
    map_clear(&modules);
    return err;
}

/* Modules of one shape, most likely: their paths differ by numbers alone. */
static uint64_t shape_of(const char *path)
{
    uint64_t shape = 14695981039346656037u;
    bool number = false;
    for (; *path; path++) {
        const bool digit = *path >= '0' && *path <= '9';
        if (!digit || !number)
            shape = (shape ^ (uint64_t)(digit ? '0' : *path)) * 1099511628211u;
        number = digit;
    }
    return shape >> 1; /* not MAP_NONE */
}

static int read_modules(struct levers_seen *seen, struct levers_dtypes *out)
{
    const char *name, *path;
    int64_t id;
    struct query query =
        query_ask(seen->db, "SELECT id, path, class AS name FROM module WHERE class IS NOT NULL",
                  Q_NOTHING, Q_OUT(Q_INT(id), Q_TEXT(path), Q_TEXT(name)));
    while (query_next(&query))
        if (!map_put(&out->modules, (uint64_t)id, op_named(name), NULL) ||
            !map_put(&out->shapes, (uint64_t)id, shape_of(path), NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

/* Modules, and the class of the one around each. */
static const char attends_sql[] =
    "WITH inner_one AS MATERIALIZED"
    "  (SELECT id, rtrim(path, replace(path, '.', '')) AS head FROM module)"
    " SELECT i.id, m.class AS name FROM inner_one i JOIN module m ON m.path || '.' = i.head"
    " WHERE m.class IS NOT NULL";

static int read_attends(struct levers_seen *seen, struct levers_dtypes *out)
{
    const char *name;
    int64_t id;
    struct query query =
        query_ask(seen->db, attends_sql, Q_NOTHING, Q_OUT(Q_INT(id), Q_TEXT(name)));
    while (query_next(&query))
        if (op_named(name) == LEVERS_OP_ATTENTION && !map_put(&out->attends, (uint64_t)id, 1, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

/* Each layer of a recurrent module, and each way that it goes, has one of these weights. */
static const char layers_sql[] =
    "SELECT m.id, count(DISTINCT t.name) AS layers FROM tag t"
    "  JOIN module m ON m.path = substr(t.name, 1, instr(t.name, '.weight_hh_l') - 1)"
    " WHERE instr(t.name, '.weight_hh_l') > 0 GROUP BY m.id";

static int read_layers(struct levers_seen *seen, struct levers_dtypes *out)
{
    int64_t id, layers;
    struct query query =
        query_ask(seen->db, layers_sql, Q_NOTHING, Q_OUT(Q_INT(id), Q_INT(layers)));
    while (query_next(&query))
        if (!map_put(&out->layers, (uint64_t)id, (uint64_t)layers, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

int levers_dtypes_read(struct levers_seen *seen, struct levers_dtypes *out)
{
    *out = (struct levers_dtypes){0};
    int err = read_sites(seen, out);
    if (err >= 0)
        err = find_written_out(seen, out);
    if (err >= 0)
        err = read_modules(seen, out);
    if (err >= 0)
        err = read_attends(seen, out);
    if (err >= 0)
        err = levers_least_read(seen, out);
    return err < 0 ? err : read_layers(seen, out);
}

void levers_dtypes_clear(struct levers_dtypes *dtypes)
{
    map_clear(&dtypes->sites);
    map_clear(&dtypes->ops);
    map_clear(&dtypes->floats);
    map_clear(&dtypes->modules);
    map_clear(&dtypes->own);
    map_clear(&dtypes->written);
    map_clear(&dtypes->attends);
    map_clear(&dtypes->shapes);
    map_clear(&dtypes->least);
    map_clear(&dtypes->layers);
}

static enum levers_op op_in(const struct map *ops, int64_t key)
{
    uint64_t op = key == GROUP_NONE ? MAP_NONE : map_get(ops, (uint64_t)key);
    return op == MAP_NONE ? LEVERS_OP_UNKNOWN : (enum levers_op)op;
}

enum levers_op levers_op_made(const struct levers_dtypes *dtypes, const struct levers_block *block)
{
    const uint64_t own = map_get(&dtypes->ops, (uint64_t)block->seq);
    if (own != MAP_NONE)
        return (enum levers_op)own;
    bool known =
        block->site != GROUP_NONE && map_get(&dtypes->sites, (uint64_t)block->site) != MAP_NONE;
    return known ? op_in(&dtypes->sites, block->site) : op_in(&dtypes->modules, block->module);
}

enum levers_op levers_op_of_module(const struct levers_dtypes *dtypes,
                                   const struct levers_block *block)
{
    return op_in(&dtypes->modules, block->module);
}

bool levers_is_own(const struct levers_dtypes *dtypes, const struct levers_block *block)
{
    return block->site != GROUP_NONE && map_get(&dtypes->own, (uint64_t)block->site) != MAP_NONE;
}

bool levers_is_written_out(const struct levers_dtypes *dtypes, const struct levers_block *block)
{
    return block->site != GROUP_NONE &&
           map_get(&dtypes->written, (uint64_t)block->site) != MAP_NONE;
}

bool levers_attends(const struct levers_dtypes *dtypes, const struct levers_block *block)
{
    return block->module != GROUP_NONE &&
           map_get(&dtypes->attends, (uint64_t)block->module) != MAP_NONE;
}
