/*
 * A lever on attention that is written out: a product of queries and keys, a softmax, and a product
 * with the values. Each leaves a tensor with a number for every pair of a query and a key; the
 * fused operation makes none of that size, and keeps one number for each query.
 *
 * That there is such attention, and how large, was seen in the graph (levers_facts.h). A call of it
 * is a row of blocks of one module, or of its softmax and dropout: two or more of that size, and
 * what comes of the values behind them.
 */
#include <string.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "levers_dtypes.h"
#include "levers_scalars.h"
#include "levers_work.h"
#include "query.h"

enum {
    FLOAT = 4,
    HALF = 2,
    TABLES_LEAST = 2,
    ALIGNED = 4, /* numbers of a query: others take no fused kernel on a GPU */
    ROUNDED = 512,
    UNCUT = 1 << 20,
    MAKERS = 8
};

/* Places whose calls are cut, in their order: each class with each folded path once. */
struct makers {
    size_t places[MAKERS], count;
    bool more; /* there were others */
};

struct attention {
    struct levers_work *work;
    struct levers_dtypes dtypes;
    struct levers_places places;
    const struct levers_attention *fact;
    int64_t table;      /* numbers in it: of each query with each key */
    int64_t values;     /* numbers that come of a call */
    bool halves;        /* some of it may be in half of the bytes */
    struct map modules; /* that made tables, to 1 */
    struct map cut;     /* places of blocks, to 1: those of another fact may have the same size */
    struct makers makers;
    size_t found, calls; /* tables of the largest call; calls */
    int64_t site;        /* of the first call that is not of MultiheadAttention */
    bool masks, drops;   /* one of them does */
    struct levers_edit edit;
};

static bool has_bytes(const struct attention *all, const struct levers_block *block, int64_t bytes)
{
    int64_t over = block->size - bytes;
    int64_t most = !all->work->seen.on_host && bytes >= UNCUT ? UNCUT : ROUNDED;
    return block->asked == bytes || (block->asked == block->size && over >= 0 && over < most);
}

static bool is_table(const struct attention *all, const struct levers_block *block)
{
    return has_bytes(all, block, FLOAT * all->table) ||
           (all->halves && has_bytes(all, block, HALF * all->table));
}

/* Of a dropout: which of them stay. */
static bool is_mask(const struct attention *all, const struct levers_block *block)
{
    return all->fact->drops && has_bytes(all, block, all->table);
}

static bool is_values(const struct attention *all, const struct levers_block *block)
{
    return has_bytes(all, block, FLOAT * all->values) ||
           (all->halves && has_bytes(all, block, HALF * all->values));
}

/* In the module itself, or in one of its own that is no layer: softmax, dropout. */
static bool is_of(const struct attention *all, const struct levers_block *block, int64_t module)
{
    if (block->module == module)
        return true;
    enum levers_op op = levers_op_of_module(&all->dtypes, block);
    return block->module != GROUP_NONE &&
           levers_place_is_inside(&all->places, block->module, module) &&
           (op == LEVERS_OP_SOFTMAX || op == LEVERS_OP_FOLLOWS || op == LEVERS_OP_UNKNOWN);
}

struct row {                 /* of blocks that one call makes */
    size_t first, last, end; /* tables; behind the call */
    size_t tables;
    bool valued, lines; /* what comes of the values is there; several lines make the tables */
};

static struct row read_row(const struct attention *all, size_t at)
{
    const struct levers_step *step = &all->work->seen.step;
    const struct levers_block *first = &step->blocks[at];
    struct row row = {.first = at, .last = at};
    size_t i = at;
    for (; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->asked <= LEVERS_SCALAR)
            continue;
        if (!levers_computes(&step->phases, block->seq) || !is_of(all, block, first->module))
            break;
        if (is_table(all, block)) {
            row.last = i;
            row.tables++;
            row.valued = false;
            row.lines = row.lines || block->site != first->site;
        } else if (is_values(all, block)) {
            row.valued = true;
        } else if (!is_mask(all, block) && block->asked >= HALF * all->table) {
            break;
        }
    }
    row.end = i > at ? i : at + 1;
    return row;
}

/* Of what is made between the first and the last table: masks, and numbers. */
static bool goes(const struct attention *all, const struct levers_block *block, int64_t module)
{
    return is_table(all, block) || is_mask(all, block) ||
           (!is_values(all, block) && block->module == module);
}

static bool is_cut(const struct attention *all, size_t at)
{
    return map_get(&all->cut, at) != MAP_NONE;
}

static bool cut_once(struct attention *all, size_t at)
{
    return is_cut(all, at) ||
           (map_put(&all->cut, at, 1, NULL) && levers_cut(&all->edit, at, INT64_MIN, LEVERS_NEVER));
}

/* One number for each query is kept in place of the tables. */
static bool cut_row(struct attention *all, const struct row *row)
{
    const struct levers_step *step = &all->work->seen.step;
    int64_t end = 0;
    for (size_t i = row->first; i <= row->last; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!goes(all, block, step->blocks[row->first].module))
            continue;
        end = block->end > end ? block->end : end;
        if (!cut_once(all, i) || (block->module != GROUP_NONE &&
                                  !map_put(&all->modules, (uint64_t)block->module, 1, NULL)))
            return false;
    }
    all->found = row->tables > all->found ? row->tables : all->found;
    return levers_extra(&all->edit, FLOAT * all->fact->heads * all->fact->queries,
                        step->blocks[row->last].seq, end);
}

static const char *class_of(const struct attention *all, size_t place)
{
    return levers_place_last_name(all->places.places[place].class_name);
}

/* PyTorch's, whose calls have a parameter for it. */
static bool is_multihead(const struct attention *all, size_t place)
{
    return strcmp(class_of(all, place), "MultiheadAttention") == 0;
}

static void add_maker(struct attention *all, const struct levers_block *block)
{
    struct makers *makers = &all->makers;
    const size_t place = (size_t)map_get(&all->places.ids, (uint64_t)block->module);
    if (place >= all->places.count)
        return;
    if (all->site == GROUP_NONE && !is_multihead(all, place))
        all->site = block->site;
    for (size_t i = 0; i < makers->count; i++)
        if (strcmp(all->places.folded[makers->places[i]], all->places.folded[place]) == 0 &&
            strcmp(class_of(all, makers->places[i]), class_of(all, place)) == 0)
            return;
    if (makers->count < MAKERS)
        makers->places[makers->count++] = place;
    else
        makers->more = true;
}

static int cut_forward(struct attention *all)
{
    const struct levers_step *step = &all->work->seen.step;
    for (size_t i = step->older; i < step->count;) {
        const struct levers_block *block = &step->blocks[i];
        if (block->module == GROUP_NONE || !levers_computes(&step->phases, block->seq) ||
            !is_table(all, block)) {
            i++;
            continue;
        }
        const struct row row = read_row(all, i);
        i = row.end;
        if (row.tables < TABLES_LEAST || !row.valued || (all->fact->scaled && !row.lines))
            continue;
        all->masks = all->masks || all->fact->masks;
        all->drops = all->drops || all->fact->drops;
        if (is_cut(all, row.first))
            continue;
        if (!cut_row(all, &row))
            return ERR_NOMEM;
        all->calls++;
        add_maker(all, block);
    }
    return 0;
}

/* The gradients of tables. */
static int cut_backward(struct attention *all)
{
    const struct levers_step *step = &all->work->seen.step;
    for (size_t i = step->older; i < step->count && all->calls; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->module != GROUP_NONE && is_table(all, block) &&
            map_get(&all->modules, (uint64_t)block->module) != MAP_NONE &&
            levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq) && !cut_once(all, i))
            return ERR_NOMEM;
    }
    return 0;
}

/* A CPU has a fused one without dropout alone. Where a value or a mask has as many bytes as a
 * table, they cannot be known from each other. */
static bool may_be_fused(const struct attention *all)
{
    const struct levers_attention *fact = all->fact;
    return !(fact->drops && all->work->seen.on_host) &&
           (all->work->seen.on_host || fact->width % ALIGNED == 0) && fact->keys != fact->width &&
           !(all->halves && (fact->keys == 2 * fact->width || 2 * fact->keys == fact->width));
}

static int cut_all(struct attention *all)
{
    const struct levers_facts *facts = &all->work->facts;
    int err = 0;
    for (size_t i = 0; i < facts->attention_count && err >= 0; i++) {
        all->fact = &facts->attention[i];
        all->table = all->fact->heads * all->fact->queries * all->fact->keys;
        all->values = all->fact->heads * all->fact->queries * all->fact->width;
        if (!may_be_fused(all))
            continue;
        err = cut_forward(all);
        if (err >= 0)
            err = cut_backward(all);
    }
    return err;
}

/* ---- the lever ---- */

static const char library_sql[] =
    "SELECT coalesce(max(n.text LIKE '%/transformers/%'), 0) AS library"
    "  FROM site s JOIN frame f ON f.id = s.frame JOIN string n ON n.id = f.file"
    " WHERE s.site = ?1 AND s.depth = 0";

/* The first of its class from there on; the number of makers: none. */
static size_t next_of_class(const struct attention *all, size_t from, const char *name)
{
    while (from < all->makers.count && strcmp(class_of(all, all->makers.places[from]), name) != 0)
        from++;
    return from;
}

/* "Encoder (a[0-5]) and Decoder (b[0-5].own, b[0-5].cross)" */
static bool put_makers(const struct attention *all, bool multihead, struct buf *text)
{
    const struct makers *makers = &all->makers;
    bool any = false;
    for (size_t i = 0; i < makers->count; i++) {
        const char *name = class_of(all, makers->places[i]);
        if (is_multihead(all, makers->places[i]) != multihead || next_of_class(all, 0, name) < i)
            continue;
        buf_print(text, "%s%s (", any ? " and " : multihead ? "nn." : "", name);
        for (size_t j = i; j < makers->count; j = next_of_class(all, j + 1, name))
            buf_print(text, "%s%s", j > i ? ", " : "", all->places.folded[makers->places[j]]);
        buf_text(text, ")");
        any = true;
    }
    if (any && makers->more)
        buf_text(text, " and others");
    return any;
}

static int put_fused(const struct attention *all, const char *makers, struct buf *text)
{
    bool library = false;
    int err = query_read(all->work->seen.db, library_sql, Q_IN(all->site), Q_OUT(Q_INT(library)));
    buf_print(text,
              "torch.nn.functional.scaled_dot_product_attention(q, k, v%s%s) in place of "
              "softmax(q @ k.T) @ v in %s%s",
              all->masks ? ", is_causal=True or attn_mask=..." : "",
              all->drops ? ", dropout_p=..." : "", makers,
              library ? " (transformers: attn_implementation='sdpa')" : "");
    return err;
}

static int put_text(const struct attention *all, struct buf *text)
{
    struct buf multihead = {0}, others = {0};
    int err = 0;
    const bool first = put_makers(all, true, &multihead);
    const bool both = put_makers(all, false, &others) && first;
    if (buf_string(&multihead)[0])
        buf_print(text, "need_weights=False in calls of %s%s", buf_string(&multihead),
                  both ? " and " : "");
    if (buf_string(&others)[0])
        err = put_fused(all, buf_string(&others), text);
    buf_print(text, ": %zu tensors for each pair of a query and a key are not made", all->found);
    if (multihead.broken || others.broken || text->broken)
        err = err < 0 ? err : ERR_NOMEM;
    buf_clear(&multihead);
    buf_clear(&others);
    return err;
}

static int try_attention(struct attention *all)
{
    struct buf text = {0};
    int err = put_text(all, &text);
    const struct levers_words words = {.kind = LEVER_FUSED_ATTENTION,
                                       .at_most = all->masks, /* each call may keep a copy */
                                       .estimated = true,
                                       .site = LEVERS_NONE,
                                       .before = buf_string(&text)};
    /* Rests of segments that blocks keep are others then. */
    if (err >= 0 && words.at_most &&
        !levers_extra(&all->edit, -all->work->uncut, all->work->seen.step.begin, LEVERS_NEVER))
        err = ERR_NOMEM;
    if (err >= 0)
        err = levers_try(all->work, &all->edit, &words);
    buf_clear(&text);
    return err;
}

int levers_fused_attention(struct levers_work *work)
{
    struct attention all = {.work = work, .site = GROUP_NONE};
    bool plain = false;
    if (!work->facts.attention_count)
        return 0;
    int err = levers_is_float32(&work->seen, &plain);
    all.halves = !plain;
    if (err >= 0)
        err = levers_dtypes_read(&work->seen, &all.dtypes);
    if (err >= 0)
        err = levers_places_read(work->seen.db, &all.places);
    if (err >= 0)
        err = cut_all(&all);
    if (err >= 0 && all.makers.count)
        err = try_attention(&all);
    levers_edit_clear(&all.edit);
    levers_dtypes_clear(&all.dtypes);
    levers_places_clear(&all.places);
    map_clear(&all.modules);
    map_clear(&all.cut);
    return err < 0 ? err : 0;
}
