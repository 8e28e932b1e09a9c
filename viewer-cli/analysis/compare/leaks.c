/*
 * One reading of what lives as the last complete step ends: a keyframe and what came since,
 * whatever the length of the run. The phase of a block's birth tells its step; where it has none,
 * as an evaluation between two steps, it counts as the last step that had begun.
 */
#include "leaks.h"

#include <stdlib.h>
#include <string.h>

#include "category.h"
#include "error.h"
#include "leak_steps.h"
#include "living.h"
#include "mem.h"
#include "query.h"
#include "search.h"
#include "site_apart.h"

/* Complete: another step has begun, or the process has ended in good order. */
static int read_window(struct db *db, int64_t process, const struct leak_options *options,
                       struct leaks *out)
{
    struct category_rules *rules;
    int64_t first_step = 0, last_step = 0, seq = 0;
    int err = category_load(db, process, &rules);
    if (err < 0)
        return err;
    bool ended = category_steps(rules, &first_step, &last_step, &seq);
    category_free(rules);
    if (ended && last_step > first_step) {
        out->steps_known = true;
        out->first_step = first_step + options->warm_up;
        out->last_step = last_step - options->keep;
        out->seq = seq;
    }
    if (out->first_step < options->first_step)
        out->first_step = options->first_step;
    if (out->last_step > options->last_step)
        out->last_step = options->last_step;
    if (out->last_step >= out->first_step)
        out->window = out->last_step - out->first_step + 1;
    return 0;
}

/* ---- evaluations ---- */

/* Of the steps that count. */
static void count_evaluated(const struct leak_steps *steps, struct leaks *leaks)
{
    struct leak_evaluated *all = &leaks->evaluated;
    for (size_t i = 0; i < steps->count; i++) {
        const struct leak_step *step = &steps->steps[i];
        if (!step->evaluated)
            continue;
        all->last = step->step > all->last ? step->step : all->last;
        if (step->step < leaks->first_step || step->step > leaks->last_step)
            continue;
        all->low = all->count && all->low < step->step ? all->low : step->step;
        all->high = all->count && all->high > step->step ? all->high : step->step;
        all->count++;
    }
}

/* ---- what was left ---- */

struct gather {
    struct leaks *leaks;
    struct db *db;
    struct module_index modules;
    struct leak_steps all_steps;
    struct map steps; /* phase.id to its step + 1, 0 = none: blocks of one phase are many */
    struct map seen;  /* place of a site and step: living blocks come in no order */
    int err;
};

/* Of the block's birth; false: no step had begun, or an error that stands in gather->err. */
static bool step_of(struct gather *gather, const struct living_block *block, int64_t *step,
                    bool *between)
{
    const struct leak_step *before = NULL;
    int64_t phase = block->phase;
    uint64_t known = map_get(&gather->steps, (uint64_t)phase);
    if (known == MAP_NONE) {
        int64_t step_known = QUERY_NONE;
        int err = query_read(gather->db, "SELECT step AS step_known FROM phase WHERE id = ?",
                             Q_IN(phase), Q_OUT(Q_OPT(step_known)));
        known = step_known == QUERY_NONE ? 0 : (uint64_t)step_known + 1;
        if (err < 0 || !map_put(&gather->steps, (uint64_t)phase, known, NULL))
            gather->err = err < 0 ? err : ERR_NOMEM;
    }
    *between = known == 0;
    if (*between)
        before = leak_step_before(&gather->all_steps, block->seq);
    *step = before ? before->step : (int64_t)known - 1;
    return (known != 0 || before) && gather->err == 0;
}

static struct leak_site *site_of(struct leaks *leaks, int64_t site)
{
    uint64_t place = map_get(&leaks->index, (uint64_t)site);
    if (place != MAP_NONE)
        return &leaks->sites[place];
    if (!MEM_GROW(leaks->sites, leaks->cap, leaks->count + 1) ||
        !map_put(&leaks->index, (uint64_t)site, leaks->count, NULL))
        return NULL;
    struct leak_site *made = &leaks->sites[leaks->count++];
    *made = (struct leak_site){
        .site = site, .first_step = INT64_MAX, .last_step = INT64_MIN, .between = true};
    return made;
}

static bool count_step(struct gather *gather, struct leak_site *site, int64_t step)
{
    const struct leaks *leaks = gather->leaks;
    uint64_t place = (uint64_t)(site - leaks->sites);
    uint64_t key = place << 36 | (uint64_t)(step - leaks->first_step), old = MAP_NONE;
    if (!map_put(&gather->seen, key, 1, &old))
        return false;
    site->steps += old == MAP_NONE;
    return true;
}

/* By majority; a block that was freed before the look says nothing. */
static void vote(const struct leaks *leaks, struct leak_site *site,
                 const struct living_block *block)
{
    const struct leak_holder *holder =
        leak_holders_find(&leaks->holders, block->address, block->size);
    if (!holder || (block->free_seq != LIVING_NONE && block->free_seq <= holder->seq))
        return;
    site->held++;
    if (site->votes == 0)
        site->holder = *holder;
    bool same = site->holder.kind == holder->kind && strcmp(site->holder.path, holder->path) == 0;
    site->votes += same ? 1 : -1;
}

static bool is_outlived(const struct leak_site *site)
{
    return site->outlived * 2 >= site->blocks;
}

/* What no variable leads to, in many steps or behind an evaluation, and made while gradients are
 * recorded. */
static void find_graph(const struct leaks *leaks, struct leak_site *site)
{
    struct leak_holder graph;
    bool kind = site->between || site->purpose == PURPOSE_HELD ||
                site->purpose == PURPOSE_ACTIVATION || site->purpose == PURPOSE_INPUT;
    if (site->held * 2 >= site->blocks)
        return;
    site->holder = (struct leak_holder){0};
    if (kind && (site->sure != LEAK_PERHAPS || is_outlived(site)) &&
        leak_holders_graph(&leaks->holders, site->chances, site->between, &graph))
        site->holder = graph;
}

static bool add_block(void *self, const struct living_block *block)
{
    struct gather *gather = self;
    struct leaks *leaks = gather->leaks;
    int64_t step;
    bool between = false;
    bool known = block->phase != LIVING_NONE && step_of(gather, block, &step, &between);
    leak_holders_weigh(&leaks->holders, block->address, block->size,
                       block->free_seq == LIVING_NONE ? INT64_MAX : block->free_seq,
                       block->requested == LIVING_NONE ? block->size : block->requested,
                       !known    ? HOLDER_BORN_UNKNOWN
                       : between ? HOLDER_BORN_BETWEEN
                                 : HOLDER_BORN_IN);
    if (!known)
        return gather->err == 0;
    if (step < leaks->first_step || step > leaks->last_step)
        return true;
    struct leak_site *site = site_of(leaks, block->site);
    if (!site || !count_step(gather, site, step))
        return false;
    vote(leaks, site, block);
    module_label_add(&site->modules, module_index_of(&gather->modules, block), block->size);
    leaks->bytes += block->size;
    leaks->blocks++;
    site->between = site->between && between;
    site->outlived += between && leak_steps_outlived(&gather->all_steps, block);
    site->bytes += block->size;
    site->blocks++;
    site->first_step = step < site->first_step ? step : site->first_step;
    site->last_step = step > site->last_step ? step : site->last_step;
    if (block->size > site->largest) {
        site->largest = block->size;
        site->purpose = block->purpose;
    }
    return true;
}

/* ---- what it means ---- */

/* Of the window, or of its evaluations, which come at their own distance. */
static void weigh(const struct leaks *leaks, struct leak_site *site)
{
    const struct leak_evaluated *evaluated = &leaks->evaluated;
    site->chances = leaks->window;
    if (site->between && evaluated->count >= site->steps)
        site->chances = evaluated->count;
    site->slope = (double)site->bytes / (double)leaks->window;
    if (site->chances < leaks->window && evaluated->count > 1)
        site->slope = (double)site->bytes / (double)evaluated->count *
                      (double)(evaluated->count - 1) / (double)(evaluated->high - evaluated->low);
}

static enum leak_sure how_sure(const struct leak_site *site)
{
    double share = (double)site->steps / (double)site->chances;
    if (site->chances >= 5 && share >= 0.9)
        return LEAK_SURE;
    return site->steps >= 3 && share >= 0.5 ? LEAK_LIKELY : LEAK_PERHAPS;
}

/* What is full loses an element for each new one; a list that is cut has to be seen for a while. */
static enum leak_sure sure_of_bounded(const struct leak_site *site)
{
    bool may_be_full = site->holder.kind == HOLDER_TRIMMED && site->chances < LEAK_A_WHILE;
    return site->holder.kind == HOLDER_BOUNDED || may_be_full ? LEAK_PERHAPS : site->sure;
}

const char *leak_sure_text(enum leak_sure sure)
{
    static const char *const texts[] = {"sure", "likely", "perhaps"};
    return texts[sure];
}

static int by_weight(const void *one, const void *other)
{
    const struct leak_site *a = one, *b = other;
    if (a->sure != b->sure)
        return a->sure < b->sure ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->site < b->site ? -1 : a->site > b->site;
}

static int name_sites(struct db *db, struct leaks *leaks, size_t named)
{
    int err = 0;
    for (size_t i = 0; i < leaks->count && i < named && err == 0; i++)
        err = site_names(db, leaks->sites[i].site, &leaks->sites[i].name, &leaks->sites[i].shown);
    for (size_t i = 0; i < leaks->count && i < named && err == 0; i++) {
        bool full;
        leaks->sites[i].module = module_label_text(&leaks->sites[i].modules, &full);
        err = full ? 0 : ERR_NOMEM;
    }
    return err;
}

/* `history` of `history['a']`: a dict of many lists is one holder. */
static bool is_same_holder(const char *a, const char *b)
{
    size_t length = strcspn(a, "[");
    return length == strcspn(b, "[") && memcmp(a, b, length) == 0;
}

/* The best outputs so far are in one list, and all of the later evaluation's in others. */
static bool is_held_elsewhere(const struct leaks *leaks, const struct leak_steps *steps,
                              const struct leak_site *site)
{
    size_t count;
    bool known = false;
    const struct leak_later *later = leak_steps_later(steps, site->site, &count);
    for (size_t i = 0; later && i < count && site->holder.kind != HOLDER_UNKNOWN; i++) {
        const struct leak_holder *holder =
            leak_holders_find(&leaks->holders, later[i].address, later[i].size);
        if (!holder || (later[i].free_seq != LIVING_NONE && later[i].free_seq <= holder->seq))
            continue;
        if (is_same_holder(holder->path, site->holder.path))
            return false;
        known = true;
    }
    return known;
}

/* What the last evaluation before the look alone left may be what it holds until the next. */
static void drop_last_evaluation(struct leaks *leaks, const struct leak_steps *steps)
{
    size_t kept = 0;
    for (size_t i = 0; i < leaks->count; i++) {
        const struct leak_site site = leaks->sites[i];
        if (site.between && site.steps == 1 && site.last_step == leaks->evaluated.last &&
            (!is_outlived(&site) || is_held_elsewhere(leaks, steps, &site))) {
            leaks->bytes -= site.bytes;
            leaks->blocks -= site.blocks;
        } else {
            leaks->sites[kept++] = site;
        }
    }
    leaks->count = kept;
}

int leaks_read(struct db *db, int64_t process, int64_t device, const struct leak_options *options,
               struct leaks *out)
{
    *out = (struct leaks){.last_step = -1, .evaluated = {.last = -1}};
    struct gather gather = {.leaks = out, .db = db};
    int err = read_window(db, process, options, out);
    if (err < 0 || !out->window)
        return err;
    err = query_read(db, "SELECT kind = 'cpu' AS on_host FROM device WHERE id = ?1", Q_IN(device),
                     Q_OUT(Q_INT(out->on_host)));
    if (err >= 0)
        err = leak_holders_read(db, process, &out->holders);
    if (err >= 0)
        err = module_index_read(db, &gather.modules);
    if (err >= 0)
        err = leak_steps_read(db, process, out->seq, &gather.all_steps);
    if (err >= 0)
        err = living_read(db, process, device, out->seq, add_block, &gather);
    if (gather.err)
        err = gather.err;
    map_clear(&gather.steps);
    map_clear(&gather.seen);
    map_clear(&out->index);
    if (err >= 0) {
        count_evaluated(&gather.all_steps, out);
        drop_last_evaluation(out, &gather.all_steps);
    }
    leak_steps_clear(&gather.all_steps);
    for (size_t i = 0; i < out->count; i++) {
        weigh(out, &out->sites[i]);
        out->slope += out->sites[i].slope;
        out->sites[i].sure = how_sure(&out->sites[i]);
        find_graph(out, &out->sites[i]);
        out->sites[i].sure = sure_of_bounded(&out->sites[i]);
    }
    if (out->count)
        qsort(out->sites, out->count, sizeof *out->sites, by_weight);
    err = err < 0 ? err : name_sites(db, out, options->named);
    for (size_t i = 0; i < out->count; i++) /* it points into the index */
        out->sites[i].modules = (struct module_label){0};
    module_index_clear(&gather.modules);
    return err;
}

int leaks_tell_apart(struct db *db, struct leaks *leaks, size_t most)
{
    size_t count = leaks->count < most ? leaks->count : most;
    struct site_row *rows = mem_alloc(count + 1, sizeof *rows);
    for (size_t i = 0; i < count && rows; i++) {
        struct leak_site *site = &leaks->sites[i];
        rows[i] = (struct site_row){site->site, (int)site->purpose, &site->shown};
    }
    int err = rows ? sites_tell_apart(db, rows, count) : ERR_NOMEM;
    mem_free(rows);
    return err;
}

void leaks_clear(struct leaks *leaks)
{
    for (size_t i = 0; i < leaks->count; i++) {
        mem_free(leaks->sites[i].name);
        mem_free(leaks->sites[i].shown);
        mem_free(leaks->sites[i].module);
    }
    mem_free(leaks->sites);
    leak_holders_clear(&leaks->holders);
    map_clear(&leaks->index);
    *leaks = (struct leaks){0};
}

bool leaks_is_valid(const struct leaks *leaks)
{
    int64_t bytes = 0, blocks = 0;
    for (size_t i = 0; i < leaks->count; i++) {
        const struct leak_site *site = &leaks->sites[i];
        bytes += site->bytes;
        blocks += site->blocks;
        if (site->steps < 1 || site->steps > site->chances || site->chances > leaks->window ||
            site->first_step < leaks->first_step || site->last_step > leaks->last_step ||
            (i && by_weight(site, site - 1) <= 0))
            return false;
    }
    return bytes == leaks->bytes && blocks == leaks->blocks;
}
