#include "levers.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "category_rules.h"
#include "error.h"
#include "levers_idle_calls.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"
#include "site_apart.h"

const char *lever_name(enum lever_kind kind)
{
    static const char *const names[LEVER_KINDS] = {
        [LEVER_HELD] = "drop_held",
        [LEVER_GRADIENTS_TO_NONE] = "gradients_to_none",
        [LEVER_ZERO_GRAD_EARLIER] = "zero_grad_earlier",
        [LEVER_BUCKET_VIEW] = "gradient_as_bucket_view",
        [LEVER_FLATTEN_PARAMETERS] = "flatten_parameters",
        [LEVER_RESHARD] = "reshard_after_forward",
        [LEVER_FULLY_SHARD] = "fully_shard",
        [LEVER_CHECKPOINT] = "checkpoint",
        [LEVER_CHECKPOINT_HALF] = "checkpoint_half",
        [LEVER_NO_CACHE] = "no_cache",
        [LEVER_FINISHED_REQUEST] = "drop_request",
        [LEVER_RETAIN_GRAPH] = "retain_graph",
        [LEVER_FUSED_OPERATION] = "fused_operation",
        [LEVER_FUSED_ATTENTION] = "fused_attention",
        [LEVER_CHANNELS_LAST] = "channels_last",
        [LEVER_NO_BENCHMARK] = "no_benchmark",
        [LEVER_DETACH] = "detach",
        [LEVER_BOUND] = "bound",
        [LEVER_NO_GRAD] = "no_grad",
        [LEVER_FIRST_STEP] = "first_step",
        [LEVER_EVALUATION] = "smaller_evaluation",
        [LEVER_FUSED_OPTIMIZER] = "fused_optimizer",
        [LEVER_OPTIMIZER_IN_BACKWARD] = "optimizer_in_backward",
        [LEVER_WORKSPACE] = "smaller_workspace",
        [LEVER_LIBRARY_WORKSPACE] = "cublas_workspace",
        [LEVER_EIGHT_BIT_STATES] = "eight_bit_states",
        [LEVER_NO_STATES] = "no_states",
        [LEVER_OFFLOAD_STATES] = "offload_states",
        [LEVER_OFFLOAD_SHARDS] = "offload_shards",
        [LEVER_SHARD_STATES] = "shard_states",
        [LEVER_CHUNKED_LOSS] = "chunked_loss",
        [LEVER_HALF_BATCH] = "half_batch",
        [LEVER_HALF_PRECISION] = "half_precision",
        [LEVER_MIXED_PRECISION] = "mixed_precision",
        [LEVER_AUTOCAST] = "autocast",
        [LEVER_EXPANDABLE_SEGMENTS] = "expandable_segments",
        [LEVER_MAX_SPLIT_SIZE] = "max_split_size_mb",
        [LEVER_EMPTY_CACHE] = "empty_cache",
        [LEVER_TOGETHER] = "together",
    };
    return names[kind];
}

/* ---- all of them ---- */

/* The highest before the first step. Where a recording began in the middle of a program, that is
 * the rest of another step. */
static int read_floor(struct levers_work *work)
{
    struct category_rules *rules;
    int64_t floor = QUERY_NONE;
    int err = category_load(work->seen.db, work->seen.peak->process, &rules);
    if (err == 0 && rules->step_count)
        err = query_read(work->seen.db,
                         "SELECT max(pd.peak_allocated) AS floor FROM phase ph"
                         "  JOIN phase_device pd ON pd.phase = ph.id"
                         " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.step IS NULL"
                         "   AND ph.begin_seq < ?3 AND ph.id <= ?4"
                         "   AND (SELECT origin FROM process WHERE id = ?1) <> 'armed'",
                         Q_IN(work->seen.peak->process, work->seen.peak->device, rules->first_seq,
                              rules->early_id),
                         Q_OUT(Q_OPT(floor)));
    category_free(rules);
    if (err == 0 && floor != QUERY_NONE)
        work->out->floor = floor;
    return err;
}

static int read_step(struct levers_work *work)
{
    if (work->seen.peak->step == PEAK_NONE) {
        work->out->state = LEVERS_NO_STEP;
        return 0;
    }
    int err = levers_step_read(work->seen.db, work->seen.peak, &work->seen.step);
    work->out->whole = work->seen.step.whole && work->seen.peak->first_step == INT64_MIN;
    if (err == ERR_NOTFOUND) {
        levers_step_clear(&work->seen.step);
        work->out->state = LEVERS_NO_STEP;
        return 0;
    }
    if (err == ERR_LIMIT) {
        levers_step_clear(&work->seen.step);
        work->out->state = LEVERS_TOO_LARGE;
        return 0;
    }
    work->shards = levers_see_shards(&work->seen.step);
    return err < 0 ? err : levers_find_uncut(work);
}

static int read_device(struct levers_work *work)
{
    return query_read(work->seen.db, "SELECT kind = 'cpu' AS on_host FROM device WHERE id = ?1",
                      Q_IN(work->seen.peak->device), Q_OUT(Q_INT(work->seen.on_host)));
}

/* Of one of its processes where the helper sent none for this one, which another has forked. */
static const char torch_sql[] =
    "SELECT value AS version FROM setting WHERE key = 'torch' ORDER BY process <> ?1 LIMIT 1";

static int read_torch(struct levers_work *work)
{
    const char *version = NULL;
    struct query query =
        query_ask(work->seen.db, torch_sql, Q_IN(work->seen.peak->process), Q_OUT(Q_TEXT(version)));
    while (query_next(&query)) {
        char *end;
        long major = strtol(version, &end, 10);
        long minor = *end == '.' ? strtol(end + 1, NULL, 10) : -1;
        if (major > 0 && major < 1000 && minor >= 0 && minor < 100)
            work->seen.torch = major * 100 + minor;
    }
    return query_end(&query);
}

static int place_of(const struct lever *lever)
{
    return lever->kind == LEVER_TOGETHER ? 1 : lever->changes ? 2 : 0;
}

static int by_bytes(const void *one, const void *other)
{
    const struct lever *a = one, *b = other;
    if (place_of(a) != place_of(b))
        return place_of(a) < place_of(b) ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->reserved != b->reserved)
        return a->reserved < b->reserved ? 1 : -1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static int find_all(struct levers_work *work)
{
    int (*const of_lives[])(struct levers_work *) = {
        levers_find_added,
        levers_frozen,
        levers_batch_norm,
        levers_leak,
        levers_no_cache,
        levers_retain_graph,
        levers_evaluation,
        levers_idle,
        levers_held,
        levers_gradients_to_none,
        levers_bucket_view,
        levers_flatten,
        levers_reshard,
        levers_zero_grad_earlier,
        levers_checkpoint,
        levers_fused_operation,
        levers_fused_attention,
        levers_convolution,
        levers_fused_optimizer,
        levers_optimizer_in_backward,
        levers_workspace,
        levers_library_workspace,
        levers_chunked_loss,
        levers_half_batch,
        levers_together,
        levers_states,
        levers_half_precision,
        levers_autocast,
        levers_fully_shard,
        levers_ranks,
    };
    int err = 0;
    for (size_t i = 0; i < sizeof of_lives / sizeof *of_lives && err >= 0; i++)
        if (work->out->state == LEVERS_READY)
            err = of_lives[i](work);
    if (err >= 0 && work->out->state == LEVERS_NO_STEP)
        err = levers_inference(work);
    if (err >= 0 && work->out->state == LEVERS_NO_STEP)
        err = levers_evaluation(work);
    if (err >= 0)
        err = levers_requests(work);
    if (err >= 0)
        err = levers_first_step(work);
    if (err >= 0)
        err = levers_replay(work);
    return err;
}

static int rename_site(struct lever *lever, const char *name)
{
    struct buf text = {0};
    buf_add(&text, lever->text, lever->name_at);
    buf_text(&text, name);
    buf_text(&text, lever->text + lever->name_at + strlen(lever->site_text));
    char *copy = text.broken ? NULL : mem_copy(buf_string(&text), text.count);
    buf_clear(&text);
    if (!copy)
        return ERR_NOMEM;
    mem_free(lever->text);
    lever->text = copy;
    return 0;
}

/* Two levers of a kind on sites with one name are told apart in their texts. */
static int tell_apart(struct db *db, struct levers *out)
{
    struct site_row *rows = mem_alloc(out->count + 1, sizeof *rows);
    char **names = mem_alloc(out->count + 1, sizeof *names);
    int err = rows && names ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < out->count && err == 0; i++) {
        const struct lever *lever = &out->levers[i];
        rows[i] = (struct site_row){LEVERS_NONE, (int)lever->kind, &names[i]};
        if (!lever->name_at)
            continue;
        rows[i].site = lever->site;
        names[i] = mem_copy(lever->site_text, strlen(lever->site_text));
        err = names[i] ? 0 : ERR_NOMEM;
    }
    if (err == 0)
        err = sites_tell_apart(db, rows, out->count);
    for (size_t i = 0; i < out->count && names; i++) {
        if (err == 0 && names[i] && strcmp(names[i], out->levers[i].site_text) != 0)
            err = rename_site(&out->levers[i], names[i]);
        mem_free(names[i]);
    }
    mem_free(rows);
    mem_free(names);
    return err;
}

int levers_read(struct db *db, const struct peak *peak, bool bounded, struct levers *out)
{
    struct levers_work work = {.seen = {.db = db, .peak = peak}, .out = out};
    *out = (struct levers){.peak = peak->allocated};
    if (!peak->found)
        return 0;
    int err = read_device(&work);
    if (err == 0)
        err = read_torch(&work);
    if (err == 0)
        err = levers_loop_read(db, &work.loop);
    if (err == 0)
        err = levers_facts_read(db, peak->process, &work.facts);
    if (err == 0 && !bounded)
        err = read_floor(&work);
    if (err == 0)
        err = read_step(&work);
    if (err == 0)
        err = find_all(&work);
    if (err >= 0 && out->count)
        qsort(out->levers, out->count, sizeof *out->levers, by_bytes);
    if (err >= 0)
        err = tell_apart(db, out);
    for (size_t i = 0; i < work.kept_count; i++) {
        levers_edit_clear(&work.kept[i].edit);
        mem_free(work.kept[i].brief);
    }
    mem_free(work.kept);
    levers_step_clear(&work.seen.step);
    map_clear(&work.seen.parameters);
    map_clear(&work.leaking);
    map_clear(&work.batch_norm);
    levers_cache_clear(&work.cache);
    levers_units_clear(&work.units);
    levers_casts_clear(&work.casts);
    idle_calls_clear(&work);
    return err < 0 ? err : 0;
}

void levers_clear(struct levers *levers)
{
    for (size_t i = 0; i < levers->count; i++) {
        mem_free(levers->levers[i].site_text);
        mem_free(levers->levers[i].text);
        mem_free(levers->levers[i].next_phase);
    }
    for (size_t i = 0; i < levers->added_count; i++)
        mem_free(levers->added[i].like);
    mem_free(levers->added);
    mem_free(levers->levers);
    *levers = (struct levers){0};
}

bool levers_is_valid(const struct levers *levers)
{
    for (size_t i = 0; i < levers->count; i++) {
        const struct lever *lever = &levers->levers[i];
        if (i && by_bytes(&levers->levers[i - 1], lever) > 0)
            return false;
        if (!lever->text || lever->bytes > levers->peak || lever->bytes < 0)
            return false;
        if (lever->bytes < levers_least(levers->peak) && lever->reserved <= 0)
            return false;
        if (lever->joined && (lever->changes || lever->kind == LEVER_TOGETHER))
            return false;
    }
    return true;
}
