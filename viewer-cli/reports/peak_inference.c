/*
 * A program without any step and without a backward: what its forwards keep for one all the same,
 * and what is there for the rows of its batch.
 *
 * Where gradients are not recorded, forwards are of the kind forward_no_grad, and nothing is said.
 * With it recorded, what the model's calls made and still have at the peak is kept by their graph
 * or by the program, which cannot be told apart: so it is an upper bound.
 */
#include <stdio.h>

#include "buf.h"
#include "human.h"
#include "levers_cache.h"
#include "living.h"
#include "peak_parts.h"
#include "phase_kind.h"
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

static const char keeps_sql[] =
    "SELECT kind IN ('forward', 'eval') AS keeps FROM phase WHERE id = ?1";

static bool is_forward(enum phase_kind kind)
{
    return kind == PHASE_KIND_FORWARD || kind == PHASE_KIND_FORWARD_NO_GRAD ||
           kind == PHASE_KIND_EVAL;
}

struct keys {
    struct levers_cache cache;
    int64_t bytes;
};

static bool add_keys(void *self, const struct living_block *block)
{
    struct keys *keys = self;
    if (block->site != LIVING_NONE &&
        map_get(&keys->cache.sites, (uint64_t)block->site) != MAP_NONE)
        keys->bytes += block->size;
    return true;
}

static int read_keys(struct db *db, struct peak_part *part)
{
    const struct peak *peak = part->peak;
    struct keys keys = {0};
    int err = levers_cache_sites(db, &keys.cache);
    if (err >= 0 && keys.cache.sites.count)
        err = living_read(db, peak->process, peak->device, peak->living_seq, add_keys, &keys);
    part->keys = keys.bytes;
    levers_cache_clear(&keys.cache);
    return err;
}

int peak_inference_read(struct db *db, struct peak_part *part)
{
    const struct groups *births = &part->peak->births;
    bool trains = false, keeps;
    int err = query_read(db, trains_sql, Q_IN(part->peak->process), Q_OUT(Q_INT(trains)));
    part->kept = 0;
    part->infers = !trains && is_forward(phase_kind_from(part->peak->phase_kind));
    for (size_t i = 0; i < births->count && err >= 0 && !trains; i++) {
        keeps = false;
        if (births->groups[i].id != GROUP_NONE)
            err = query_read(db, keeps_sql, Q_IN(births->groups[i].id), Q_OUT(Q_INT(keeps)));
        part->kept += keeps ? births->groups[i].bytes : 0;
    }
    part->keys = 0;
    part->generates = part->float32 = false;
    if (err >= 0 && part->infers)
        err = query_read(db, generates_sql, Q_NOTHING, Q_OUT(Q_INT(part->generates)));
    if (err >= 0 && part->infers)
        err = query_read(db, float32_sql, Q_IN(part->peak->process), Q_OUT(Q_INT(part->float32)));
    return err >= 0 && part->infers ? read_keys(db, part) : err;
}

void peak_inference_half(const struct peak_part *part, struct buf *out)
{
    const int64_t parameters = peak_category(part->peak, PURPOSE_PARAMETER).bytes;
    char half[HUMAN_MAX], less[HUMAN_MAX];
    if (part->infers && part->float32 && parameters / 2 >= part->peak->allocated / 100)
        buf_print(out,
                  "at most %s: (changes results) the model in 16 bits from the start, "
                  "dtype=torch.bfloat16; its parameters take %s less",
                  human_bytes(half, part->peak->allocated / 2), human_bytes(less, parameters / 2));
}

void peak_inference_text(const struct peak_part *part, struct buf *out)
{
    char bytes[HUMAN_MAX], keys[HUMAN_MAX + 80] = "", cache[HUMAN_MAX];
    int64_t rows = part->peak->bytes - peak_category(part->peak, PURPOSE_PARAMETER).bytes;
    if (part->kept >= part->peak->allocated / 100 && part->kept > 0)
        buf_print(out,
                  "at most %s: torch.inference_mode() or torch.no_grad() around the model's calls: "
                  "no backward was seen, and forward keeps this for one",
                  human_bytes(bytes, part->kept));
    if (out->count || !part->infers || rows < part->peak->allocated / 100 || rows <= 0)
        return;
    if (part->keys >= part->peak->allocated / 100)
        snprintf(keys, sizeof keys, "%s fewer rows at once or %s (the KV cache holds %s)",
                 part->generates ? ": model.generate() of" : ":",
                 part->growth.sequence.prefill ? "with shorter prompts"
                                               : "a smaller max_new_tokens",
                 human_bytes(cache, part->keys));
    buf_print(out,
              "at most %s: a smaller batch or shorter sequences%s; the rest are parameters (no "
              "training step in this recording)",
              human_bytes(bytes, rows), keys);
}
