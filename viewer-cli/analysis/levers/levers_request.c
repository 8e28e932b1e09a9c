/*
 * A lever of programs that answer requests: the cache of keys and values of one that is over still
 * lives as the next one begins.
 *
 * Each call makes its keys and values anew, and lets the ones before go at once. What goes
 * otherwise, and after another call has made some, was of a request that was over: what holds it
 * (the answer) could have gone before that call. There need not be any step, so the window is the
 * whole run.
 */
#include "error.h"
#include "levers_work.h"
#include "mem.h"

static bool is_cached(const struct levers_work *work, const struct levers_block *block)
{
    return block->site != GROUP_NONE &&
           map_get(&work->cache.sites, (uint64_t)block->site) != MAP_NONE;
}

static const struct levers_phase *call_around(const struct levers_step *step, int64_t seq)
{
    const struct levers_phase *call = levers_phase_around(&step->phases, LEVERS_FORWARD, seq);
    return call ? call : levers_phase_around(&step->phases, LEVERS_OTHER_PHASE, seq);
}

/* The last birth before its end was its successor's. */
static bool is_replaced(const struct levers_work *work, const struct levers_block *block)
{
    size_t next = levers_first_from(&work->seen.step, block->end);
    return next > 0 && &work->seen.step.blocks[next - 1] != block &&
           is_cached(work, &work->seen.step.blocks[next - 1]);
}

/* Where the next request's first call begins; LEVERS_NEVER: it goes before that. */
static int64_t next_request(const struct levers_work *work, const struct levers_block *block)
{
    const struct levers_step *step = &work->seen.step;
    const struct levers_phase *own = call_around(step, block->seq);
    if (!own || own->end == LEVERS_NEVER || block->end == LEVERS_NEVER || is_replaced(work, block))
        return LEVERS_NEVER;
    for (size_t i = levers_first_from(step, own->end + 1);
         i < step->count && step->blocks[i].seq < block->end; i++) {
        const struct levers_phase *call = call_around(step, step->blocks[i].seq);
        if (is_cached(work, &step->blocks[i]))
            return call ? call->begin : step->blocks[i].seq;
    }
    return LEVERS_NEVER;
}

/* Moments at which such blocks go, to where they could. */
static int find_moments(const struct levers_work *work, struct map *moments)
{
    const struct levers_step *step = &work->seen.step;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        int64_t from = is_cached(work, block) ? next_request(work, block) : LEVERS_NEVER;
        if (from != LEVERS_NEVER &&
            !map_put(moments, levers_first_from(step, block->end), (uint64_t)from, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

static int let_go(const struct levers_step *step, const struct map *moments,
                  struct levers_edit *edit)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        uint64_t from = block->end == LEVERS_NEVER
                            ? MAP_NONE
                            : map_get(moments, levers_first_from(step, block->end));
        if (from != MAP_NONE && block->seq < (int64_t)from &&
            !levers_cut(edit, i, (int64_t)from, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    return 0;
}

static int try_requests(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_FINISHED_REQUEST,
        .site = LEVERS_NONE,
        .before = "del the answer of a request, and its cache of keys and values "
                  "(past_key_values), before the next request begins"};
    struct map moments = {0};
    struct levers_edit edit = {0};
    int err = find_moments(work, &moments);
    if (err >= 0)
        err = let_go(&work->seen.step, &moments, &edit);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    map_clear(&moments);
    return err;
}

int levers_requests(struct levers_work *work)
{
    if (work->out->state != LEVERS_NO_STEP || work->seen.peak->step != PEAK_NONE)
        return 0;
    int err = levers_cache_sites(work->seen.db, &work->cache);
    if (err < 0 || !work->cache.sites.count)
        return err;
    if (!work->seen.step.count)
        err = levers_step_read_run(work->seen.db, work->seen.peak, &work->seen.step);
    if (err >= 0)
        return try_requests(work);
    levers_step_clear(&work->seen.step);
    return err == ERR_LIMIT || err == ERR_NOTFOUND ? 0 : err;
}
