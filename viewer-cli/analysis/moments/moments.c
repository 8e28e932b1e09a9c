/* moments.c - one pass over the blocks of a process; see moments.h. */
#include <stdlib.h>
#include <string.h>

#include "category.h"
#include "error.h"
#include "mem.h"
#include "moments_parts.h"
#include "query.h"
#include "search.h"
#include "span.h"

/* ---- births ---- */

static int read_births(struct moments_work *work)
{
    int64_t id;
    const char *kind;
    struct query query = query_ask(work->db, "SELECT id, kind FROM phase WHERE process = ?1",
                                   Q_IN(work->process), Q_OUT(Q_INT(id), Q_TEXT(kind)));
    while (query_next(&query))
        if (!map_put(&work->births, (uint64_t)id, course_kind_of(kind), NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static enum course_kind born_in(const struct moments_work *work, int64_t phase)
{
    uint64_t kind = phase == CATEGORY_UNKNOWN ? MAP_NONE : map_get(&work->births, (uint64_t)phase);
    return kind == MAP_NONE ? COURSE_NOTHING : (enum course_kind)kind;
}

/* ---- classes ---- */

static uint64_t mix(const struct moments_class *class)
{
    uint64_t key = (uint64_t) class->site * 0x9e3779b97f4a7c15u;
    key ^= ((uint64_t) class->module << 12 | (uint64_t) class->purpose << 6 | class->born) *
           0xbf58476d1ce4e5b9u;
    return (key ^ key >> 29) & (UINT64_MAX >> 1);
}

static bool is_same(const struct moments_class *a, const struct moments_class *b)
{
    return a->purpose == b->purpose && a->born == b->born && a->site == b->site &&
           a->module == b->module;
}

/* One that is full for good keeps what its blocks are for. */
static struct moments_class without_site(const struct moments_class *class)
{
    struct moments_class bare = *class;
    bare.site = MOMENTS_NONE;
    bare.module = 0;
    return bare;
}

/* The class of a block. False without memory. */
static bool class_of(struct moments_work *work, const struct moments_class *class, uint32_t *out)
{
    struct moments *moments = work->out;
    struct moments_class wanted = *class;
    bool folded = false;
    for (uint64_t key = mix(&wanted);; key++) {
        uint64_t at = map_get(&work->classes, key);
        if (at != MAP_NONE && !is_same(&moments->classes[at], &wanted))
            continue;
        if (at != MAP_NONE) {
            *out = (uint32_t)at;
            moments->folded += folded;
            return true;
        }
        if (!folded && wanted.site != MOMENTS_NONE &&
            moments->class_count >= moments->limits.classes) {
            wanted = without_site(class);
            folded = true;
            key = mix(&wanted) - 1;
            continue;
        }
        if (!MEM_GROW(moments->classes, moments->class_cap, moments->class_count + 1) ||
            !map_put(&work->classes, key, moments->class_count, NULL))
            return false;
        *out = (uint32_t)moments->class_count;
        moments->classes[moments->class_count++] = wanted;
        moments->folded += folded;
        return true;
    }
}

/* ---- blocks ---- */

/* The first moment that is not before the number; `count`: none is. */
static size_t moment_at(const struct moments *moments, int64_t seq)
{
    size_t at;
    SEARCH_FIRST(at, 0, moments->count, moments->moments[at].seq < seq);
    return at;
}

static bool new_change(struct moments *out, size_t moment, uint32_t class)
{
    if (!MEM_GROW(out->changes, out->change_cap, out->change_count + 1))
        return false;
    out->changes[out->change_count++] =
        (struct moments_change){.moment = (uint32_t)moment, .class = class};
    return true;
}

/* Births come moment by moment: the last change of a class is the one, or there is none yet. What a
 * free changes at the same moment stands apart, until all are merged. */
static bool add_birth(struct moments_work *work, size_t moment, uint32_t class, int64_t bytes)
{
    struct moments *out = work->out;
    size_t known = work->born_cap;
    if (!MEM_GROW(work->born, work->born_cap, (size_t) class + 1))
        return false;
    for (; known < work->born_cap; known++)
        work->born[known] = SIZE_MAX;
    size_t at = work->born[class];
    if (at == SIZE_MAX || out->changes[at].moment != moment) {
        at = out->change_count;
        if (!new_change(out, moment, class))
            return false;
        work->born[class] = at;
    }
    out->changes[at].bytes += bytes;
    out->changes[at].blocks++;
    return true;
}

static bool add_death(struct moments_work *work, size_t moment, uint32_t class, int64_t bytes)
{
    struct moments *out = work->out;
    uint64_t key = (uint64_t)moment << 32 | class, at = map_get(&work->changes, key);
    if (at == MAP_NONE) {
        at = out->change_count;
        if (!new_change(out, moment, class) || !map_put(&work->changes, key, at, NULL))
            return false;
    }
    out->changes[at].bytes -= bytes;
    out->changes[at].blocks--;
    return true;
}

static bool add_chosen(struct moments_work *work, const struct moments_block *block)
{
    struct moments *out = work->out;
    size_t from = work->next;
    size_t until = block->free_seq == MOMENTS_NONE ? out->count : moment_at(out, block->free_seq);
    if (!add_birth(work, from, block->class, block->size))
        return false;
    if (until < out->count && !add_death(work, until, block->class, block->size))
        return false;
    return moments_top_offer(work, block, from, until);
}

static bool add_exact(struct moments *out, const struct moments_block *block)
{
    if (!MEM_GROW(out->blocks, out->block_cap, out->block_count + 1))
        return false;
    out->blocks[out->block_count++] = *block;
    return true;
}

static int add_row(struct moments_work *work, const struct moments_row *row)
{
    struct category_verdict verdict;
    struct category_block asked = {row->seq, row->free_seq, row->tag, row->phase, row->size};
    int err = category_decide(work->rules, &asked, &verdict);
    if (err < 0)
        return err;
    struct moments_class class = {verdict.purpose, born_in(work, verdict.born), row->site,
                                  module_tree_node(work->tree, row->module, row->tag, row->site)};
    bool living = row->free_seq < 0;
    struct moments_block block = {
        .seq = row->seq,
        .size = row->size,
        .requested = row->requested,
        .alloc_ns = row->alloc_ns,
        .free_seq = living ? MOMENTS_NONE : row->free_seq,
        .free_ns = living ? MOMENTS_NONE : row->alloc_ns + row->life_ns,
        .site = row->site,
    };
    if (!class_of(work, &class, &block.class))
        return ERR_NOMEM;
    bool fine = work->out->exact ? add_exact(work->out, &block) : add_chosen(work, &block);
    return fine ? 0 : ERR_NOMEM;
}

/* Of ten million blocks most are born and freed between two moments, and nothing is seen of them:
 * asked for from moment to moment, such a row costs a look at free_seq and no more. */
#define BLOCKS                                                                                     \
    "SELECT a.seq, a.size, a.requested, a.alloc_ns, a.life_ns, a.free_seq, a.site, a.tag,"         \
    "  a.module, ap.phase FROM allocation a"                                                       \
    "  LEFT JOIN allocation_phase ap ON ap.allocation = a.seq"                                     \
    " WHERE a.heap IN (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
static const char all_sql[] = BLOCKS " AND" SPAN_HAS("a.seq") " ORDER BY a.seq";
static const char seen_sql[] = BLOCKS " AND a.seq BETWEEN ?3 AND ?4"
                                      " AND (a.free_seq < 0 OR a.free_seq > ?4) ORDER BY a.seq";

static int read_rows(struct moments_work *work, struct query *query, struct moments_row *row)
{
    while (query_next(query))
        query_fail(query, add_row(work, row));
    return query->err < 0 ? query->err : 0;
}

#define ROW(row)                                                                                   \
    Q_OUT(Q_INT((row).seq), Q_SIZE((row).size), Q_OPT((row).requested), Q_INT((row).alloc_ns),     \
          Q_INT((row).life_ns), Q_INT((row).free_seq), Q_OPT((row).site), Q_OPT((row).tag),        \
          Q_OPT((row).module), Q_OPT((row).phase))

static int read_all_blocks(struct moments_work *work)
{
    struct moments_row row;
    struct query query = query_ask(work->db, all_sql, Q_IN(work->process, work->device), ROW(row));
    read_rows(work, &query, &row);
    return query_end(&query);
}

static int read_seen_blocks(struct moments_work *work)
{
    const struct moments *out = work->out;
    struct moments_row row;
    int64_t from = 0;
    int err = 0;
    struct query query = query_ask(
        work->db, seen_sql, Q_IN(work->process, work->device, (int64_t)0, (int64_t)-1), ROW(row));
    for (work->next = 0; work->next < out->count && err == 0; work->next++) {
        int64_t until = out->moments[work->next].seq;
        query_again(&query, Q_IN(work->process, work->device, from, until));
        err = read_rows(work, &query, &row);
        from = until + 1;
    }
    return query_end(&query);
}

/* ---- moments of an exact picture ---- */

static int by_seq(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool add_event(struct moments *out, struct moment event)
{
    if (!MEM_GROW(out->moments, out->cap, out->count + 1))
        return false;
    out->moments[out->count++] = event;
    return true;
}

/* Two that have one number are one moment; times never run backwards. */
static void add_up_events(struct moments *out)
{
    struct moment sum = {0};
    size_t count = 0;
    for (size_t i = 0; i < out->count; i++) {
        const struct moment *event = &out->moments[i];
        sum.seq = event->seq;
        sum.ns = event->ns > sum.ns ? event->ns : sum.ns;
        sum.bytes += event->bytes;
        sum.blocks += event->blocks;
        if (count && out->moments[count - 1].seq == sum.seq)
            count--;
        out->moments[count++] = sum;
    }
    out->count = count;
}

static int make_exact(struct moments *out)
{
    bool fine = true;
    for (size_t i = 0; i < out->block_count && fine; i++) {
        const struct moments_block *block = &out->blocks[i];
        fine = add_event(
            out, (struct moment){
                     .seq = block->seq, .ns = block->alloc_ns, .bytes = block->size, .blocks = 1});
        if (fine && block->free_seq != MOMENTS_NONE)
            fine = add_event(out, (struct moment){.seq = block->free_seq,
                                                  .ns = block->free_ns,
                                                  .bytes = -block->size,
                                                  .blocks = -1});
    }
    if (out->count)
        qsort(out->moments, out->count, sizeof *out->moments, by_seq);
    add_up_events(out);
    return fine ? 0 : ERR_NOMEM;
}

/* ---- all of it ---- */

static int count_births(struct moments_work *work)
{
    int64_t births = 0;
    int err =
        query_read(work->db,
                   "SELECT count(*) AS births FROM (SELECT 1 FROM allocation a WHERE a.heap IN"
                   " (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
                   " AND" SPAN_HAS("a.seq") " LIMIT ?3)",
                   Q_IN(work->process, work->device, (int64_t)work->out->limits.exact + 1),
                   Q_OUT(Q_INT(births)));
    work->out->exact = births <= (int64_t)work->out->limits.exact;
    return err;
}

static int read_all(struct moments_work *work)
{
    const struct moments_class none = {PURPOSE_OTHER, COURSE_NOTHING, MOMENTS_NONE, 0};
    uint32_t first;
    int err = count_births(work);
    if (err == 0)
        err = module_tree_load(work->db, &work->out->modules, &work->tree);
    if (err == 0)
        err = read_births(work);
    if (err == 0)
        err = category_load(work->db, work->process, &work->rules);
    if (err == 0 && !work->out->exact)
        err = moments_choose(work);
    if (err == 0 && !class_of(work, &none, &first))
        err = ERR_NOMEM;
    if (err == 0 && !work->out->exact && !moments_top_begin(work))
        err = ERR_NOMEM;
    if (err == 0)
        err = work->out->exact ? read_all_blocks(work) : read_seen_blocks(work);
    map_clear(&work->changes); /* sorting takes as much again */
    if (err == 0 && work->out->exact)
        err = make_exact(work->out);
    else if (err == 0 && !moments_top_end(work))
        err = ERR_NOMEM;
    else if (err == 0)
        moments_settle(work->out);
    return err;
}

int moments_read(struct db *db, int64_t process, int64_t device,
                 const struct moments_limits *limits, struct moments *out)
{
    *out = (struct moments){.limits = *limits};
    struct moments_work work = {.db = db, .process = process, .device = device, .out = out};
    int err = read_all(&work);
    moments_top_clear(&work);
    module_tree_free(work.tree);
    category_free(work.rules);
    map_clear(&work.births);
    map_clear(&work.classes);
    mem_free(work.born);
    return err;
}

void moments_clear(struct moments *moments)
{
    modules_clear(&moments->modules);
    mem_free(moments->moments);
    mem_free(moments->classes);
    mem_free(moments->changes);
    mem_free(moments->blocks);
    *moments = (struct moments){0};
}
