/*
 * Levers of a program without any step and without a backward: what its forwards keep for one all
 * the same, what is there for the rows of its batch, and how wide its numbers are.
 *
 * Half a batch and half a width are estimates: of GPT-2, BERT, Llama and T5 they came out within 1
 * %, of ResNet half a batch saved an eighth less, for some workspace is that of the weights.
 *
 * Where gradients are not recorded, forwards are of the kind forward_no_grad. With them recorded,
 * what the model's calls made and still have at the peak is kept by their graph or by the program,
 * which cannot be told apart: so it is a bound.
 */
#include "buf.h"
#include "error.h"
#include "growth.h"
#include "human.h"
#include "levers_work.h"
#include "living.h"
#include "query.h"

static const char trains_sql[] =
    "SELECT EXISTS(SELECT 1 FROM phase WHERE process = ?1 AND kind IN ('backward', 'optimizer'))"
    "   AS trains";

static const char generates_sql[] =
    "SELECT EXISTS(SELECT 1 FROM string WHERE text LIKE '%.generate' OR text = 'generate')"
    "   AS generates";

static const char float32_sql[] =
    "SELECT count(*) > 0 AND min(value = 'float32') AS float32 FROM setting"
    " WHERE process = ?1 AND key = 'parameter_dtype'";

static const char forwards_sql[] =
    "SELECT id, kind <> 'forward_no_grad' AS keeps FROM phase"
    " WHERE process = ?1 AND kind IN ('forward', 'forward_no_grad', 'eval')";

enum { NO_GRAD = 1, KEEPS = 2 }; /* a forward, in the map of them */

struct inference {
    struct map forwards; /* phase.id, to NO_GRAD or KEEPS */
    struct levers_cache cache;
    int64_t parameters; /* bytes of them at the peak; */
    int64_t kept;       /* of what forwards made that record gradients; */
    int64_t rows;       /* of what all forwards made, and of the cache, */
    int64_t cached;     /* of which those are keys and values */
    bool prefill;       /* the peak is where a prompt is read */
    bool generates, float32;
};

static int read_forwards(struct levers_work *work, struct inference *out)
{
    int64_t id = 0;
    bool keeps = false;
    struct query query = query_ask(work->seen.db, forwards_sql, Q_IN(work->seen.peak->process),
                                   Q_OUT(Q_INT(id), Q_INT(keeps)));
    while (query_next(&query))
        if (!map_put(&out->forwards, (uint64_t)id, keeps ? KEEPS : NO_GRAD, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static bool add_block(void *self, const struct living_block *block)
{
    struct inference *inference = self;
    uint64_t born = block->phase == LIVING_NONE
                        ? MAP_NONE
                        : map_get(&inference->forwards, (uint64_t)block->phase);
    bool cached = block->site != LIVING_NONE &&
                  map_get(&inference->cache.sites, (uint64_t)block->site) != MAP_NONE;
    if (block->purpose == PURPOSE_PARAMETER) {
        inference->parameters += block->size;
        return true;
    }
    inference->cached += cached ? block->size : 0;
    inference->rows += cached || born != MAP_NONE ? block->size : 0;
    inference->kept += born == KEEPS ? block->size : 0;
    return true;
}

static int read_prefill(struct levers_work *work, struct inference *out)
{
    struct growth growth;
    int err =
        growth_read(work->seen.db, work->seen.peak->process, work->seen.peak->device, &growth);
    out->prefill = err >= 0 && growth.sequence.prefill;
    return err;
}

static int read_inference(struct levers_work *work, struct inference *out)
{
    const struct peak *peak = work->seen.peak;
    int err = read_forwards(work, out);
    if (err >= 0)
        err = levers_cache_sites(work->seen.db, &out->cache);
    if (err >= 0)
        err = living_read(work->seen.db, peak->process, peak->device, peak->living_seq, add_block,
                          out);
    if (err >= 0)
        err = query_once(work->seen.db, generates_sql, Q_OUT(Q_INT(out->generates)));
    if (err >= 0)
        err =
            query_read(work->seen.db, float32_sql, Q_IN(peak->process), Q_OUT(Q_INT(out->float32)));
    return err < 0 ? err : read_prefill(work, out);
}

static int add(struct levers_work *work, int64_t bytes, const struct levers_words *words)
{
    work->out->tried++;
    return bytes > 0 && bytes >= work->seen.peak->allocated / 100
               ? levers_add(work, bytes, LEVERS_NONE, words)
               : 0;
}

static int add_no_grad(struct levers_work *work, const struct inference *inference)
{
    const struct levers_words words = {
        .kind = LEVER_NO_GRAD,
        .at_most = true,
        .site = LEVERS_NONE,
        .before = "torch.inference_mode() or torch.no_grad() around the model's calls: no backward "
                  "was seen, and forward keeps this for one"};
    return add(work, inference->kept, &words);
}

/* All that forward makes is there once for each row of its batch. */
static int add_half_batch(struct levers_work *work, const struct inference *inference)
{
    char bytes[HUMAN_MAX];
    struct buf text = {0};
    bool cached = inference->cached >= work->seen.peak->allocated / 100;
    buf_print(&text, "half as many rows %s",
              inference->generates ? "in a call of model.generate()" : "in a call of the model");
    if (cached)
        buf_print(&text, ", or %s half as long: the KV cache holds %s",
                  inference->prefill ? "prompts" : "sequences",
                  human_bytes(bytes, inference->cached));
    const struct levers_words words = {.kind = LEVER_HALF_BATCH,
                                       .estimated = true,
                                       .site = LEVERS_NONE,
                                       .before = buf_string(&text)};
    int err = text.broken ? ERR_NOMEM : add(work, inference->rows / 2, &words);
    buf_clear(&text);
    return err;
}

/* All that a model makes is half as wide then; what the program has beside it may not be. */
static int add_half_precision(struct levers_work *work, const struct inference *inference)
{
    const int64_t whole = inference->parameters + inference->rows;
    const bool others = work->seen.peak->allocated - whole > work->seen.peak->allocated / 10;
    char less[HUMAN_MAX];
    struct buf text = {0};
    buf_print(&text, "load the model in 16 bits, dtype=torch.bfloat16: its parameters take %s less",
              human_bytes(less, inference->parameters / 2));
    const struct levers_words words = {.kind = LEVER_HALF_PRECISION,
                                       .at_most = others,
                                       .estimated = !others,
                                       .changes = true,
                                       .site = LEVERS_NONE,
                                       .before = buf_string(&text)};
    int err = text.broken ? ERR_NOMEM
                          : add(work, (others ? work->seen.peak->allocated : whole) / 2, &words);
    buf_clear(&text);
    return err;
}

int levers_inference(struct levers_work *work)
{
    struct inference inference = {0};
    bool trains = false, calls;
    int err =
        query_read(work->seen.db, trains_sql, Q_IN(work->seen.peak->process), Q_OUT(Q_INT(trains)));
    if (err >= 0 && !trains)
        err = read_inference(work, &inference);
    calls = err >= 0 && !trains && inference.forwards.count > 0;
    work->out->infers = calls && inference.rows > 0;
    work->out->cached = inference.cached;
    if (calls)
        err = add_no_grad(work, &inference);
    if (calls && err >= 0 && !work->out->count)
        err = add_half_batch(work, &inference);
    if (calls && err >= 0 && inference.float32 &&
        inference.parameters / 2 >= work->seen.peak->allocated / 100)
        err = add_half_precision(work, &inference);
    map_clear(&inference.forwards);
    levers_cache_clear(&inference.cache);
    return err;
}
