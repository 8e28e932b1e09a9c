#include "fit.h"

#include <string.h>

#include "error.h"

/* ---- the recorded settings ---- */

static int replay(struct fit *fit, const struct replay_setup *setup,
                  const struct replay_witness *witness, struct replay_outcome *out)
{
    fit->replays++;
    return replay_run(&fit->trace, setup, &fit->scratch, witness, out);
}

int fit_begin(struct db *db, int64_t process, int64_t device, struct fit *out)
{
    *out = (struct fit){0};
    int err = replay_load(db, process, device, &out->trace);
    if (err < 0)
        return err;
    alloc_config_default(&out->recorded);
    if (out->trace.conf &&
        alloc_config_parse(&out->recorded, out->trace.conf, out->conf_trouble,
                           sizeof out->conf_trouble) < 0 &&
        !*out->conf_trouble)
        strcpy(out->conf_trouble, "they cannot be read");
    out->compared = replay_has_addresses(&out->trace);
    const struct replay_setup setup = {
        .config = &out->recorded,
        .limit = out->compared ? out->trace.limit : 0,
        .recorded = out->compared,
    };
    return replay(out, &setup, NULL, &out->as_recorded);
}

void fit_clear(struct fit *fit)
{
    replay_trace_clear(&fit->trace);
    replay_scratch_clear(&fit->scratch);
}

static double part(uint64_t some, uint64_t all)
{
    return all ? (double)some / (double)all : -1;
}

double fit_address_match(const struct fit *fit)
{
    return fit->compared ? part(fit->as_recorded.equal, fit->as_recorded.compared) : -1;
}

double fit_segment_match(const struct fit *fit)
{
    const struct replay_outcome *out = &fit->as_recorded;
    uint64_t all =
        out->segments_recorded > out->segments_taken ? out->segments_recorded : out->segments_taken;
    return fit->compared ? part(out->segments_equal, all) : -1;
}

/* ---- the smallest memory ---- */

bool fit_lies_elsewhere(const struct fit *fit, const struct alloc_config *config)
{
    const struct alloc_config *was = &fit->recorded;
    return fit->trace.living_adopted &&
           (config->expandable_segments != was->expandable_segments ||
            config->large_segment_size != was->large_segment_size ||
            memcmp(config->roundup, was->roundup, sizeof was->roundup) != 0);
}

/* Keeps *best, the outcome of the smallest limit that survives. `fails` does not. */
static int bisect(struct fit *fit, struct replay_setup *setup, uint64_t fails, uint64_t survives,
                  struct replay_outcome *best)
{
    int err = 0;
    while (err >= 0 && survives - fails > FIT_STEP) {
        struct replay_outcome outcome;
        uint64_t middle = fails + (survives - fails) / 2 / FIT_STEP * FIT_STEP;
        setup->limit = middle;
        err = replay(fit, setup, NULL, &outcome);
        if (err >= 0 && outcome.survived) {
            survives = middle;
            *best = outcome;
        } else if (err >= 0) {
            fails = middle;
        }
    }
    setup->limit = survives;
    return err;
}

/* A limit that survives. It is the peak, unless garbage collection goes other ways below it. */
static int find_enough(struct fit *fit, struct replay_setup *setup, struct replay_outcome *best)
{
    int err = replay(fit, setup, NULL, best);
    while (err >= 0 && !best->survived && setup->limit < ALLOC_MAX_REQUEST) {
        setup->limit += setup->limit / 8 / FIT_STEP * FIT_STEP + FIT_STEP;
        err = replay(fit, setup, NULL, best);
    }
    return err >= 0 && !best->survived ? ERR_LIMIT : err;
}

int fit_measure(struct fit *fit, const struct alloc_config *config, uint64_t ceiling,
                struct fit_need *out)
{
    struct replay_outcome free, best;
    struct replay_setup setup = {.config = config, .anew = fit_lies_elsewhere(fit, config)};
    *out = (struct fit_need){.anew = setup.anew};
    int err = replay(fit, &setup, NULL, &free);
    if (err < 0)
        return err;
    uint64_t peak = (uint64_t)free.peak_reserved, least = (uint64_t)free.peak_requested;
    if (config->gc_threshold > 0 && ceiling) {
        struct replay_outcome collected;
        setup.limit = ceiling;
        err = replay(fit, &setup, NULL, &collected);
        if (err >= 0 && collected.survived)
            free = collected;
    }
    out->peak_allocated = free.peak_allocated;
    out->peak_reserved = free.peak_reserved;
    if (err < 0 || peak == 0)
        return err;
    setup.limit = (peak + FIT_STEP - 1) / FIT_STEP * FIT_STEP;
    err = find_enough(fit, &setup, &best);
    /* Less than what was asked for at once is too little. */
    if (err >= 0)
        err =
            bisect(fit, &setup, least ? (least - 1) / FIT_STEP * FIT_STEP : 0, setup.limit, &best);
    out->smallest = (int64_t)setup.limit;
    out->retries = best.retries;
    out->segments = best.segments_made;
    return err;
}
