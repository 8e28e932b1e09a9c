/*
 * Levers on the state that an optimizer keeps: fewer bytes of it, another place, or none.
 */
#include <stdio.h>

#include "error.h"
#include "levers_work.h"
#include "query.h"

/* Eight bits for 32, and a float for each 256 of them; small tensors are left as they are. */
static int64_t of_eight_bits(const struct levers_step *step, const struct levers_block *block)
{
    (void)step;
    return block->purpose == PURPOSE_OPTIMIZER_STATE && block->asked >= 4096 * 4 ? 254 : 1000;
}

/* The optimizer's temporaries are with its state: elsewhere, or, as of an SGD that adds gradients
 * to parameters in place, nowhere. */
static int64_t without_states(const struct levers_step *step, const struct levers_block *block)
{
    return block->purpose == PURPOSE_OPTIMIZER_STATE || levers_is_temporary(step, block) ? 0 : 1000;
}

/* What FSDP keeps of parameters between gathers, and all that belongs to these. */
static int64_t offloaded_shards(const struct levers_step *step, const struct levers_block *block)
{
    bool shard = block->purpose == PURPOSE_PARAMETER || block->purpose == PURPOSE_GRADIENT;
    return shard && block->tagged ? 0 : without_states(step, block);
}

static int try_offload_shards(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_OFFLOAD_SHARDS,
        .estimated = true,
        .site = LEVERS_NONE,
        .before = "fully_shard(..., offload_policy=CPUOffloadPolicy()) (FSDP1: "
                  "CPUOffload(offload_params=True)): parameters, gradients and optimizer state in "
                  "the host's memory"};
    if (work->seen.on_host || !work->shards)
        return 0;
    return levers_try_scaled(work, offloaded_shards, &words);
}

/* ---- 8 bits ---- */

/* Which optimizer makes a state: functions of PyTorch's, and its files. OTHER: one that has no
 * relative of 8 bits. */
enum { OTHER = 4 };

static const char class_sql[] =
    "SELECT coalesce(max(CASE"
    "  WHEN n.text LIKE 'SGD.%' OR n.text LIKE '\\_%\\_sgd' ESCAPE '\\'"
    "    OR p.text LIKE '%/optim/sgd.py' THEN 1"
    "  WHEN n.text LIKE 'RMSprop.%' OR p.text LIKE '%/optim/rmsprop.py' THEN 2"
    "  WHEN n.text LIKE 'Adagrad.%' OR p.text LIKE '%/optim/adagrad.py' THEN 3"
    "  WHEN p.text LIKE '%/optim/%.py' AND p.text NOT LIKE '%/optim/adam.py'"
    "    AND p.text NOT LIKE '%/optim/adamw.py' AND p.text NOT LIKE '%/optim/optimizer.py'"
    "    AND p.text NOT LIKE '%/optim/lr\\_scheduler.py' ESCAPE '\\' THEN 4 END), 0) AS class"
    "  FROM site s JOIN frame f ON f.id = s.frame JOIN string n ON n.id = f.function"
    "  LEFT JOIN string p ON p.id = f.file"
    " WHERE s.site = ?1";

/* Of the largest state; Adam where no other is known. */
static int read_class(struct levers_work *work, int64_t *class)
{
    const struct levers_step *step = &work->seen.step;
    const struct levers_block *largest = NULL;
    *class = 0;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose == PURPOSE_OPTIMIZER_STATE && block->site != GROUP_NONE &&
            (!largest || block->size > largest->size))
            largest = block;
    }
    return largest ? query_read(work->seen.db, class_sql, Q_IN(largest->site), Q_OUT(Q_INT(*class)))
                   : 0;
}

/* Those of 8 bits have as many states for a parameter as `of_class` says: a momentum beside
 * RMSprop's, or amsgrad's third, is in none of them. */
static bool has_more_states(const struct levers_work *work, int64_t class)
{
    static const int64_t of_class[] = {2, 1, 1, 1};
    const struct levers_step *step = &work->seen.step;
    int64_t states = 0, parameters = 0;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->seq > step->peak || block->end <= step->peak)
            continue;
        states += block->purpose == PURPOSE_OPTIMIZER_STATE ? block->size : 0;
        parameters += block->purpose == PURPOSE_PARAMETER ? block->size : 0;
    }
    return parameters && states / parameters >= of_class[class] &&
           2 * (states - of_class[class] * parameters) > parameters;
}

static int try_eight_bits(struct levers_work *work)
{
    static const char *const classes[] = {"AdamW", "SGD", "RMSprop", "Adagrad"};
    char text[80];
    struct levers_words words = {
        .kind = LEVER_EIGHT_BIT_STATES, .estimated = true, .changes = true, .site = LEVERS_NONE};
    int64_t class = 0;
    bool reduced = false;
    int err = levers_has_reduced_states(work, &reduced);
    if (err >= 0)
        err = read_class(work, &class);
    if (err < 0 || reduced || class == OTHER || (work->shards && class) || /* torchao has Adam's */
        has_more_states(work, class))
        return err;
    snprintf(text, sizeof text, "%s.optim.%s8bit(...): optimizer state in 8 bits",
             work->shards ? "torchao" : "bitsandbytes", classes[class]);
    /* Transformers' trainer leaves the states of embeddings in 32 bits. */
    words.at_most = !class && work->loop == LEVERS_HF_TRAINER;
    words.before = class ? text : levers_in_loop(work->loop, words.kind, text);
    return levers_try_scaled(work, of_eight_bits, &words);
}

int levers_states(struct levers_work *work)
{
    struct levers_words words = {.estimated = true, .site = LEVERS_NONE, .changes = true};
    int err = try_eight_bits(work);
    words.kind = LEVER_NO_STATES;
    words.before = levers_in_loop(work->loop, words.kind,
                                  "an optimizer without state, as "
                                  "torch.optim.SGD(..., momentum=0, weight_decay=0)");
    if (err >= 0)
        err = levers_try_scaled(work, without_states, &words);
    words.changes = false;
    words.kind = LEVER_OFFLOAD_STATES;
    words.before = "optimizer state and optimizer.step() in the host's memory (CPU offload): "
                   "torchao.optim.CPUOffloadOptimizer(model.parameters(), type(optimizer), lr=...)";
    bool clips = true;
    if (err >= 0)
        err = levers_clips(work, &clips);
    if (err >= 0 && !work->seen.on_host && !work->shards && !clips)
        err = levers_try_scaled(work, without_states, &words);
    return err < 0 ? err : try_offload_shards(work);
}
