#include "levers.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "category_rules.h"
#include "error.h"
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

/* ---- one lever ---- */

static int64_t least(int64_t whole)
{
    return whole / 100 > 1 ? whole / 100 : 1;
}

int levers_add(struct levers_work *work, int64_t bytes, int64_t reserved,
               const struct levers_words *words)
{
    struct levers *out = work->out;
    struct buf text = {0};
    if (!MEM_GROW(out->levers, out->cap, out->count + 1))
        return ERR_NOMEM;
    struct lever *lever = &out->levers[out->count++];
    *lever = (struct lever){.kind = words->kind,
                            .at_most = words->at_most,
                            .estimated = words->estimated,
                            .changes = words->changes,
                            .elsewhere = words->elsewhere,
                            .next_step = LEVERS_NONE,
                            .bytes = bytes,
                            .reserved = reserved,
                            .site = words->site};
    char *name = NULL;
    int err = site_names(work->db, words->site, &name, &lever->site_text);
    mem_free(name);
    buf_text(&text, words->before);
    lever->name_at = !words->name && lever->site_text ? text.count : 0;
    if (words->name || lever->site_text)
        buf_text(&text, words->name ? words->name : lever->site_text);
    buf_text(&text, words->after ? words->after : "");
    if (err == 0 && text.broken)
        err = ERR_NOMEM;
    if (err == 0 && !(lever->text = mem_copy(buf_string(&text), text.count)))
        err = ERR_NOMEM;
    buf_clear(&text);
    return err;
}

/* Bytes that are not there any more at that moment. */
static int64_t alive_at_peak(const struct levers_step *step, const struct levers_edit *edit)
{
    int64_t alive = 0;
    for (size_t i = 0; i < edit->count; i++) {
        const struct levers_change *change = &edit->changes[i];
        if (change->how == LEVERS_CUT && change->from <= step->peak && change->to > step->peak &&
            levers_at_peak(step, &step->blocks[change->block]))
            alive += step->blocks[change->block].size;
    }
    return alive;
}

/* Step and phase of the highest point that is left; of a refusal there is none. */
static int find_next(const struct levers_work *work, int64_t at, struct lever *lever)
{
    const struct levers_phase *phase = levers_phase_at(&work->step.phases, at);
    if (!phase || work->step.moment != LEVERS_NEVER)
        return 0;
    lever->next_step = phase->step;
    lever->next_phase = mem_copy(phase->name, strlen(phase->name));
    return lever->next_phase ? 0 : ERR_NOMEM;
}

/* PyTorch's allocator does not cut off less than 1 MiB of a segment, and which block keeps such a
 * rest is another with each change: to a hundredth that says nothing of less than a hundred times
 * the rests at the peak, nor of less than 100 MiB. */
enum { UNCUT = 1 << 20, SURE_OF = 100 };

/* Forward's blocks of one call are of one size, but for such rests. */
static bool is_call(const struct levers_step *step, const struct levers_block *block)
{
    return block->asked >= UNCUT && block->asked == block->size && block->site != GROUP_NONE &&
           levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq);
}

static uint64_t call_of(const struct levers_block *block)
{
    return (uint64_t)block->site << 32 ^ (uint64_t)block->module;
}

static int find_calls(const struct levers_step *step, struct map *least)
{
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_call(step, block) && (uint64_t)block->size < map_get(least, call_of(block)) &&
            !map_put(least, call_of(block), (uint64_t)block->size, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

static int find_uncut(struct levers_work *work)
{
    const struct levers_step *step = &work->step;
    struct map least = {0};
    int64_t at_peak = 0;
    bool any = false;
    int err = work->on_host ? 0 : find_calls(step, &least);
    for (size_t i = step->older; i < step->count && err == 0 && !work->on_host; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_call(step, block))
            continue;
        int64_t rest = block->size - (int64_t)map_get(&least, call_of(block));
        bool cut = rest == 0 || rest >= UNCUT;
        any = any || !cut;
        if (!cut && block->seq <= step->peak && block->end > step->peak)
            at_peak += rest;
    }
    work->uncut = any && at_peak < UNCUT ? UNCUT : at_peak;
    map_clear(&least);
    return err;
}

int levers_try(struct levers_work *work, struct levers_edit *edit, const struct levers_words *words)
{
    int64_t highest, bytes, at;
    work->out->tried += edit->count > 0;
    int err = levers_highest(&work->step, edit, &highest, &at);
    if (err < 0)
        return err;
    /* What the source counts and never showed is there with the lever too. */
    int64_t unseen = work->peak->allocated - work->step.highest;
    if (!words->anew && highest + unseen < work->out->floor)
        highest = work->out->floor - unseen;
    bytes = work->step.highest - highest;
    if (bytes < least(work->out->peak))
        return 0;
    if (!MEM_GROW(work->kept, work->kept_cap, work->kept_count + 1))
        return ERR_NOMEM;
    int64_t alive = alive_at_peak(&work->step, edit);
    struct levers_kept *kept = &work->kept[work->kept_count++];
    *kept = (struct levers_kept){.lever = work->out->count, .edit = *edit};
    *edit = (struct levers_edit){0};
    if (words->brief && !(kept->brief = mem_copy(words->brief, strlen(words->brief))))
        return ERR_NOMEM;
    err = levers_add(work, bytes, LEVERS_NONE, words);
    if (err < 0)
        return err;
    struct lever *lever = &work->out->levers[work->out->count - 1];
    lever->alive = alive;
    lever->estimated =
        lever->estimated || (work->uncut && !lever->at_most && bytes < SURE_OF * work->uncut);
    return find_next(work, at, lever);
}

/* ---- all of them ---- */

/* The highest before the first step. Where a recording began in the middle of a program, that is
 * the rest of another step. */
static int read_floor(struct levers_work *work)
{
    struct category_rules *rules;
    int64_t floor = QUERY_NONE;
    int err = category_load(work->db, work->peak->process, &rules);
    if (err == 0 && rules->step_count)
        err = query_read(
            work->db,
            "SELECT max(pd.peak_allocated) AS floor FROM phase ph"
            "  JOIN phase_device pd ON pd.phase = ph.id"
            " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.step IS NULL"
            "   AND ph.begin_seq < ?3 AND ph.id <= ?4"
            "   AND (SELECT origin FROM process WHERE id = ?1) <> 'armed'",
            Q_IN(work->peak->process, work->peak->device, rules->first_seq, rules->early_id),
            Q_OUT(Q_OPT(floor)));
    category_free(rules);
    if (err == 0 && floor != QUERY_NONE)
        work->out->floor = floor;
    return err;
}

static int read_step(struct levers_work *work)
{
    if (work->peak->step == PEAK_NONE) {
        work->out->state = LEVERS_NO_STEP;
        return 0;
    }
    int err = levers_step_read(work->db, work->peak, &work->step);
    work->out->whole = work->step.whole && work->peak->first_step == INT64_MIN;
    if (err == ERR_NOTFOUND) {
        levers_step_clear(&work->step);
        work->out->state = LEVERS_NO_STEP;
        return 0;
    }
    if (err == ERR_LIMIT) {
        levers_step_clear(&work->step);
        work->out->state = LEVERS_TOO_LARGE;
        return 0;
    }
    work->shards = levers_see_shards(&work->step);
    return err < 0 ? err : find_uncut(work);
}

static int read_device(struct levers_work *work)
{
    return query_read(work->db, "SELECT kind = 'cpu' AS on_host FROM device WHERE id = ?1",
                      Q_IN(work->peak->device), Q_OUT(Q_INT(work->on_host)));
}

/* Of one of its processes where the helper sent none for this one, which another has forked. */
static const char torch_sql[] =
    "SELECT value AS version FROM setting WHERE key = 'torch' ORDER BY process <> ?1 LIMIT 1";

static int read_torch(struct levers_work *work)
{
    const char *version = NULL;
    struct query query =
        query_ask(work->db, torch_sql, Q_IN(work->peak->process), Q_OUT(Q_TEXT(version)));
    while (query_next(&query)) {
        char *end;
        long major = strtol(version, &end, 10);
        long minor = *end == '.' ? strtol(end + 1, NULL, 10) : -1;
        if (major > 0 && major < 1000 && minor >= 0 && minor < 100)
            work->torch = major * 100 + minor;
    }
    return query_end(&query);
}

bool levers_has(const struct levers_work *work, int64_t since)
{
    return !work->torch || work->torch >= since;
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
        levers_held,
        levers_gradients_to_none,
        levers_bucket_view,
        levers_flatten,
        levers_reshard,
        levers_zero_grad_earlier,
        levers_checkpoint,
        levers_fused_operation,
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
    struct levers_work work = {.db = db, .peak = peak, .out = out};
    *out = (struct levers){.peak = peak->allocated};
    if (!peak->found)
        return 0;
    int err = read_device(&work);
    if (err == 0)
        err = read_torch(&work);
    if (err == 0)
        err = levers_loop_read(db, &work.loop);
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
    levers_step_clear(&work.step);
    map_clear(&work.parameters);
    map_clear(&work.leaking);
    map_clear(&work.batch_norm);
    levers_cache_clear(&work.cache);
    levers_units_clear(&work.units);
    levers_casts_clear(&work.casts);
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
        if (lever->bytes < least(levers->peak) && lever->reserved <= 0)
            return false;
        if (lever->joined && (lever->changes || lever->kind == LEVER_TOGETHER))
            return false;
    }
    return true;
}
