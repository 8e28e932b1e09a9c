/* plan_scale.c - see plan_scale.h. */
#include "plan_scale.h"

#include <assert.h>
#include <string.h>

#include "db.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "query.h"
#include "whole_steps.h"

/* ---- the call stacks of a recording ---- */

/* Texts, for numbers mean something only in their own recording. */
static const char stacks_sql[] = "SELECT site, frame FROM stack ORDER BY site, depth";
static const char sites_sql[] =
    "SELECT a.seq, a.site FROM allocation a JOIN heap h ON h.id = a.heap"
    " WHERE h.process = ?1 AND h.device = ?2 ORDER BY a.seq";
#define HASH_FIRST UINT64_C(14695981039346656037)
#define HASH_PRIME UINT64_C(1099511628211)

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * HASH_PRIME;
    return (hash ^ '\n') * HASH_PRIME;
}

static int read_stacks(struct db *db, struct map *stacks)
{
    int64_t site;
    const char *frame;
    struct query query = query_ask(db, stacks_sql, Q_NOTHING, Q_OUT(Q_INT(site), Q_TEXT(frame)));
    while (query_next(&query)) {
        uint64_t hash = map_get(stacks, (uint64_t)site);
        hash = hash_text(hash == MAP_NONE ? HASH_FIRST : hash, frame);
        if (!map_put(stacks, (uint64_t)site, hash == MAP_NONE ? 0 : hash, NULL))
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

/* ---- one recording ---- */

struct loaded {
    struct db *db;
    struct fit fit;
    int64_t *sites;    /* of each block of the trace, GROUP_NONE */
    uint64_t *stacks;  /* its text's hash; without a stack 0 */
    uint64_t *order;   /* the how many-th of its stack, from 0 */
    struct map counts; /* of each stack */
};

static void loaded_clear(struct loaded *loaded)
{
    fit_clear(&loaded->fit);
    mem_free(loaded->sites);
    mem_free(loaded->stacks);
    mem_free(loaded->order);
    map_clear(&loaded->counts);
    if (loaded->db)
        db_close(loaded->db);
    *loaded = (struct loaded){0};
}

/* So many all of them have: a program that is ended has come as far as it came. */
static int read_steps(const struct scale_source *sources, size_t count, int64_t *steps)
{
    int err = 0;
    for (size_t i = 0; i < count && err >= 0 && *steps; i++) {
        struct db *db = NULL;
        int64_t whole = 0;
        err = db_open(&db, sources[i].path);
        if (err >= 0)
            err = whole_steps_count(db, sources[i].process, &whole);
        *steps = whole < *steps ? whole : *steps;
        if (db)
            db_close(db);
    }
    return err;
}

/* Both come by seq; the trace lacks what could not be. */
static int read_sites(const struct scale_source *source, struct loaded *out, struct map *stacks)
{
    const struct replay_trace *trace = &out->fit.trace;
    int64_t seq, site;
    size_t at = 0;
    struct query query = query_ask(out->db, sites_sql, Q_IN(source->process, source->device),
                                   Q_OUT(Q_INT(seq), Q_OPT(site)));
    while (at < trace->block_count && query_next(&query)) {
        if (seq != trace->blocks[at].seq)
            continue;
        out->sites[at] = site;
        uint64_t hash = map_get(stacks, (uint64_t)out->sites[at]);
        out->stacks[at++] = hash == MAP_NONE ? 0 : hash;
    }
    int err = query_end(&query);
    return err < 0 ? err : at < trace->block_count ? ERR_CORRUPT : 0;
}

static int count_order(struct loaded *out)
{
    for (size_t i = 0; i < out->fit.trace.block_count; i++) {
        uint64_t before = map_get(&out->counts, out->stacks[i]);
        out->order[i] = before == MAP_NONE ? 0 : before;
        if (!map_put(&out->counts, out->stacks[i], out->order[i] + 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

static int load(const struct scale_source *source, int64_t steps, struct loaded *out)
{
    struct map stacks = {0};
    int64_t end;
    *out = (struct loaded){0};
    int err = db_open(&out->db, source->path);
    if (err >= 0)
        err = db_exec(out->db, "BEGIN");
    if (err >= 0)
        err = whole_steps_end(out->db, source->process, steps, &end);
    if (err >= 0)
        err = fit_begin_until(out->db, source->process, source->device, end, &out->fit);
    if (err >= 0)
        err = read_stacks(out->db, &stacks);
    if (err >= 0) {
        size_t count = out->fit.trace.block_count + 1;
        out->sites = mem_alloc(count, sizeof *out->sites);
        out->stacks = mem_alloc(count, sizeof *out->stacks);
        out->order = mem_alloc(count, sizeof *out->order);
        err = out->sites && out->stacks && out->order ? 0 : ERR_NOMEM;
    }
    if (err >= 0)
        err = read_sites(source, out, &stacks);
    map_clear(&stacks);
    return err < 0 ? err : count_order(out);
}

/* ---- the same block in all of them ---- */

static uint64_t key_of(const struct loaded *loaded, size_t block)
{
    return (loaded->stacks[block] ^ (loaded->order[block] + 1) * HASH_PRIME) * HASH_PRIME;
}

/* Bytes that were asked for, of each block of the trace. */
static int64_t *sizes_of(const struct replay_trace *trace)
{
    int64_t *sizes = mem_alloc(trace->block_count + 1, sizeof *sizes);
    for (size_t i = 0; i < trace->adopted && sizes; i++)
        sizes[i] = (int64_t)trace->adopted_blocks[i].requested;
    for (size_t i = 0; i < trace->op_count && sizes; i++)
        if (trace->ops[i].kind == REPLAY_ALLOC)
            sizes[trace->ops[i].block] = (int64_t)trace->ops[i].size;
    return sizes;
}

/* Fills sizes[at] of the base's blocks; a block that is not in the other gets -1. */
static int match(const struct loaded *base, const struct loaded *other, size_t at,
                 struct scale_block *blocks)
{
    struct map index = {0};
    int64_t *sizes = sizes_of(&other->fit.trace);
    bool filled = sizes != NULL;
    for (size_t i = 0; i < other->fit.trace.block_count && filled; i++)
        filled = map_put(&index, key_of(other, i), i, NULL);
    for (size_t i = 0; i < base->fit.trace.block_count && filled; i++) {
        uint64_t place = map_get(&index, key_of(base, i));
        bool as_many =
            map_get(&base->counts, base->stacks[i]) == map_get(&other->counts, base->stacks[i]);
        blocks[i].sizes[at] = as_many && place != MAP_NONE ? sizes[place] : -1;
    }
    mem_free(sizes);
    map_clear(&index);
    return filled ? 0 : ERR_NOMEM;
}

static void find_laws(struct scale *scale)
{
    for (size_t i = 0; i < scale->fit.trace.block_count; i++) {
        struct scale_block *block = &scale->blocks[i];
        bool everywhere = true;
        for (size_t at = 0; at < scale->count; at++)
            everywhere = everywhere && block->sizes[at] >= 0;
        block->law =
            everywhere ? scale_find_law(scale->numbers, block->sizes, scale->count) : SCALE_NONE;
    }
}

/* The base's parts go over into it. */
static void take_base(struct scale *scale, struct loaded *base, const struct scale_source *source)
{
    scale->db = base->db;
    base->db = NULL;
    scale->fit = base->fit;
    base->fit = (struct fit){0};
    /* Of another run than the recorded one: nothing of its addresses is to come again. */
    scale->fit.compared = false;
    scale->fit.least = 0;
    scale->process = source->process;
    scale->device = source->device;
}

int scale_load(const struct scale_source *sources, size_t count, int64_t steps, struct scale *out)
{
    struct loaded base = {0}, other = {0};
    assert(count > 0 && count <= SCALE_MOST);
    *out = (struct scale){.count = count};
    int err = read_steps(sources, count, &steps);
    if (err >= 0)
        err = load(&sources[count - 1], steps, &base);
    if (err >= 0)
        out->blocks = mem_alloc(base.fit.trace.block_count + 1, sizeof *out->blocks);
    if (err >= 0 && !out->blocks)
        err = ERR_NOMEM;
    for (size_t i = 0; i < count && err >= 0; i++) {
        bool is_base = i == count - 1;
        out->numbers[i] = sources[i].number;
        if (!is_base)
            err = load(&sources[i], steps, &other);
        if (err >= 0)
            err = match(&base, is_base ? &base : &other, i, out->blocks);
        loaded_clear(&other);
    }
    for (size_t i = 0; err >= 0 && i < base.fit.trace.block_count; i++)
        out->blocks[i].site = base.sites[i];
    if (err >= 0)
        take_base(out, &base, &sources[count - 1]);
    if (err >= 0)
        find_laws(out);
    loaded_clear(&base);
    assert(err < 0 || scale_is_valid(out));
    return err;
}

void scale_clear(struct scale *scale)
{
    fit_clear(&scale->fit);
    mem_free(scale->blocks);
    if (scale->db)
        db_close(scale->db);
    *scale = (struct scale){0};
}

bool scale_is_valid(const struct scale *scale)
{
    for (size_t i = 1; i < scale->count; i++)
        if (scale->numbers[i] <= scale->numbers[i - 1])
            return false;
    return replay_trace_is_valid(&scale->fit.trace);
}

/* ---- at another number ---- */

int64_t scale_block_at(const struct scale *scale, size_t block, int64_t number)
{
    const struct scale_block *it = &scale->blocks[block];
    if (it->law == SCALE_NONE) { /* of the one recording that surely has it */
        size_t last = scale->count - 1;
        return scale_size_at(&scale->numbers[last], &it->sizes[last], 1, SCALE_NONE, number);
    }
    return scale_size_at(scale->numbers, it->sizes, scale->count, it->law, number);
}

static void set_number(struct scale *scale, int64_t number)
{
    struct replay_trace *trace = &scale->fit.trace;
    for (size_t i = 0; i < trace->adopted; i++) {
        struct replay_adopted *block = &trace->adopted_blocks[i];
        block->size = block->requested = (uint64_t)scale_block_at(scale, i, number);
    }
    for (size_t i = 0; i < trace->op_count; i++)
        if (trace->ops[i].kind == REPLAY_ALLOC)
            trace->ops[i].size = (uint64_t)scale_block_at(scale, trace->ops[i].block, number);
}

int scale_measure(struct scale *scale, int64_t number, struct fit_need *out)
{
    set_number(scale, number);
    return fit_measure(&scale->fit, &scale->fit.recorded, 0, out);
}
