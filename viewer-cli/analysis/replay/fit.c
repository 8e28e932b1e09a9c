#include "fit.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

const char *const fit_tried[FIT_TRIED] = {
    "",
    "max_split_size_mb:128",
    "max_split_size_mb:512",
    "expandable_segments:True",
    "roundup_power2_divisions:8",
    "garbage_collection_threshold:0.8",
};

/* ---- the recorded settings ---- */

static int replay(struct fit *fit, const struct replay_setup *setup,
                  const struct replay_witness *witness, struct replay_outcome *out)
{
    fit->replays++;
    return replay_run(&fit->trace, setup, &fit->scratch, witness, out);
}

/* Recorded settings that cannot be read are replayed as the default. */
static void read_settings(struct fit *fit)
{
    size_t room = sizeof fit->conf_trouble;
    int err = replay_settings(&fit->trace, &fit->recorded, fit->conf_trouble, room);
    if (err < 0 && !*fit->conf_trouble)
        snprintf(fit->conf_trouble, room, "%s", base_err_text(err));
    else if (err == 0)
        fit->conf_trouble[0] = '\0';
}

/* Whatever the settings are. The scratch has a word for each block, and has no other use yet. */
static int find_least(struct fit *fit)
{
    const struct replay_trace *trace = &fit->trace;
    uint64_t now = 0, *sizes;
    int err = replay_scratch_fit(&fit->scratch, trace);
    if (err < 0)
        return err;
    sizes = fit->scratch.addresses;
    for (size_t i = 0; i < trace->adopted; i++) {
        const struct replay_adopted *block = &trace->adopted_blocks[i];
        sizes[i] = block->requested;
        now += block->state == REPLAY_LIVING ? block->requested : 0;
    }
    fit->least = now;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct replay_op *op = &trace->ops[i];
        if (op->kind == REPLAY_ALLOC)
            now += sizes[op->block] = op->size;
        else if (op->kind == REPLAY_FREE || op->kind == REPLAY_GIVE)
            now -= sizes[op->block];
        fit->least = now > fit->least ? now : fit->least;
    }
    return 0;
}

static int prepare(struct fit *fit)
{
    int err = find_least(fit);
    if (err < 0)
        return err;
    read_settings(fit);
    fit->compared = replay_has_addresses(&fit->trace);
    return 0;
}

int fit_begin_refused(struct db *db, int64_t process, int64_t device, int64_t seq, uint64_t bytes,
                      struct fit *out)
{
    *out = (struct fit){0};
    int err = replay_load_refused(db, process, device, seq, bytes, &out->trace);
    return err < 0 ? err : prepare(out);
}

int fit_begin(struct db *db, int64_t process, int64_t device, struct fit *out)
{
    return fit_begin_until(db, process, device, INT64_MAX, out);
}

int fit_begin_until(struct db *db, int64_t process, int64_t device, int64_t last, struct fit *out)
{
    *out = (struct fit){0};
    int err = replay_load_until(db, process, device, last, &out->trace);
    if (err >= 0)
        err = prepare(out);
    if (err < 0)
        return err;
    const struct replay_setup setup = {
        .config = &out->recorded,
        .limit = out->compared ? out->trace.limit : 0,
        .recorded = out->compared,
        .addresses = out->compared,
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

static bool lies_elsewhere(const struct fit *fit, const struct alloc_config *config)
{
    const struct alloc_config *was = &fit->recorded;
    return fit->trace.living_adopted &&
           (config->expandable_segments != was->expandable_segments ||
            config->large_segment_size != was->large_segment_size ||
            memcmp(config->roundup, was->roundup, sizeof was->roundup) != 0);
}

struct replay_setup fit_setup(const struct fit *fit, const struct alloc_config *config,
                              uint64_t memory)
{
    bool anew = lies_elsewhere(fit, config);
    return (struct replay_setup){
        .config = config,
        .memory = memory,
        .limit = config->gc_threshold > 0 && config->memory_fraction >= 1 ? memory : 0,
        .whole = memory ? memory + fit->aside : REPLAY_MOST,
        .addresses =
            fit->compared && config->expandable_segments == fit->recorded.expandable_segments,
        .anew = anew};
}

/* Keeps *best, the outcome of the smallest memory that survives. */
static int bisect(struct fit *fit, const struct alloc_config *config, uint64_t fails,
                  uint64_t *survives, struct replay_outcome *best)
{
    int err = 0;
    while (err >= 0 && *survives - fails > FIT_STEP) {
        struct replay_outcome outcome;
        uint64_t middle = fails + (*survives - fails) / 2 / FIT_STEP * FIT_STEP;
        const struct replay_setup setup = fit_setup(fit, config, middle);
        err = replay(fit, &setup, NULL, &outcome);
        if (err >= 0 && outcome.survived) {
            *survives = middle;
            *best = outcome;
        } else if (err >= 0) {
            fails = middle;
        }
    }
    return err;
}

/* Raises *memory until it survives, or to 0 if it never does. It is the peak, unless garbage
 * collection goes other ways, or the device has too few addresses. */
static int find_enough(struct fit *fit, const struct alloc_config *config, uint64_t *memory,
                       struct replay_outcome *best)
{
    uint64_t most = 4 * *memory;
    for (; *memory <= most; *memory += *memory / 8 / FIT_STEP * FIT_STEP + FIT_STEP) {
        const struct replay_setup setup = fit_setup(fit, config, *memory);
        int err = replay(fit, &setup, NULL, best);
        if (err < 0 || best->survived)
            return err;
    }
    *memory = 0;
    return 0;
}

/* The whole device of which the settings leave so much, in steps. */
static uint64_t device_for(const struct alloc_config *config, uint64_t bytes)
{
    double whole = (double)bytes;
    if (config->memory_fraction < 1)
        whole /= config->memory_fraction > 0 ? config->memory_fraction : 1;
    bytes = whole < (double)REPLAY_MOST ? (uint64_t)whole : REPLAY_MOST;
    return (bytes + FIT_STEP - 1) / FIT_STEP * FIT_STEP;
}

/* The peak, when there is enough; where there is a ceiling, with the garbage collected below it. */
static int find_peak(struct fit *fit, const struct alloc_config *config, uint64_t ceiling,
                     struct fit_need *out, uint64_t *memory)
{
    struct replay_outcome outcome;
    struct replay_setup setup = fit_setup(fit, config, 0);
    int err = replay(fit, &setup, NULL, &outcome);
    if (err < 0)
        return err;
    *memory = device_for(config, (uint64_t)outcome.peak_reserved);
    out->anew = setup.anew;
    out->peak_allocated = outcome.peak_allocated;
    out->peak_reserved = outcome.peak_reserved;
    if (config->gc_threshold == 0 || !ceiling)
        return 0;
    setup = fit_setup(fit, config, ceiling);
    err = replay(fit, &setup, NULL, &outcome);
    if (err >= 0 && outcome.survived) {
        out->peak_allocated = outcome.peak_allocated;
        out->peak_reserved = outcome.peak_reserved;
    }
    return err;
}

int fit_measure(struct fit *fit, const struct alloc_config *config, uint64_t ceiling,
                struct fit_need *out)
{
    struct replay_outcome best;
    uint64_t memory;
    *out = (struct fit_need){0};
    int err = find_peak(fit, config, ceiling, out, &memory);
    if (err < 0 || memory == 0)
        return err;
    err = find_enough(fit, config, &memory, &best);
    if (err < 0 || memory == 0) {
        out->smallest = FIT_NONE;
        return err;
    }
    uint64_t fails = fit->least ? (fit->least - 1) / FIT_STEP * FIT_STEP : 0;
    err = bisect(fit, config, fails, &memory, &best);
    out->smallest = (int64_t)memory;
    out->retries = best.retries;
    out->segments = best.segments_made;
    return err;
}
