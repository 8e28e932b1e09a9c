#include "fit_version.h"

#include <string.h>

#include "error.h"
#include "mem.h"

const struct alloc_release *fit_version_recorded(const struct fit *fit)
{
    size_t count;
    const struct alloc_release *releases = alloc_releases(&count);
    const struct alloc_release *found =
        fit->trace.torch ? alloc_release_of(fit->trace.torch) : NULL;
    return found ? found : &releases[count - 1];
}

/* ---- two policies, one trace ---- */

static int replay(struct fit *fit, const struct replay_setup *setup)
{
    struct replay_outcome outcome;
    fit->replays++;
    return replay_run(&fit->trace, setup, &fit->scratch, NULL, &outcome);
}

/* What was live before the record is laid out alike in both, and so are addresses given out. */
static int find_first(struct fit *fit, const struct alloc_config *a, const struct alloc_config *b,
                      uint64_t memory, struct replay_marks *marks)
{
    struct replay_setup one = fit_setup(fit, a, memory), other = fit_setup(fit, b, memory);
    one.anew = other.anew = one.anew || other.anew;
    one.addresses = other.addresses = one.addresses && other.addresses;
    one.marks = other.marks = marks;
    marks->compare = false;
    marks->first = UINT32_MAX;
    memset(marks->words, 0, (fit->trace.block_count + 1) * sizeof *marks->words);
    int err = replay(fit, &one);
    marks->compare = true;
    return err < 0 ? err : replay(fit, &other);
}

/* The one switch that makes the same first difference alone. */
static int find_rule(struct fit *fit, const struct fit_version_base *base,
                     const struct alloc_policy *policy, struct replay_marks *marks,
                     const struct alloc_rule **out)
{
    size_t count;
    const struct alloc_rule *rules = alloc_rules(&count);
    uint32_t first = marks->first;
    int err = 0;
    for (size_t i = 0; i < count && !*out && err >= 0; i++) {
        struct alloc_config config;
        alloc_config_default(&config);
        config.policy = base->config.policy;
        config.policy.missing = 0;
        if (!alloc_rule_take(&rules[i], &config.policy, policy) ||
            alloc_config_parse(&config, base->conf, NULL, 0) < 0)
            continue;
        err = find_first(fit, &base->config, &config, base->ceiling, marks);
        if (err >= 0 && marks->first == first)
            *out = &rules[i];
    }
    return err;
}

static uint64_t request_of(const struct replay_trace *trace, uint32_t block)
{
    for (size_t i = 0; i < trace->op_count; i++)
        if (trace->ops[i].kind == REPLAY_ALLOC && trace->ops[i].block == block)
            return trace->ops[i].size;
    return 0;
}

static int compare(struct fit *fit, struct db *db, const struct fit_version_base *base,
                   const struct alloc_config *config, struct fit_version *out)
{
    struct replay_marks marks = {.words =
                                     mem_alloc(fit->trace.block_count + 1, sizeof *marks.words)};
    if (!marks.words)
        return ERR_NOMEM;
    int err = find_first(fit, &base->config, config, base->ceiling, &marks);
    uint32_t first = marks.first;
    out->parts = err >= 0 && first != UINT32_MAX;
    if (out->parts)
        err = find_rule(fit, base, &config->policy, &marks, &out->rule);
    if (out->parts && err >= 0)
        err = fit_place_read(db, &fit->trace, first, &out->place);
    if (out->parts)
        out->requested = request_of(&fit->trace, first);
    mem_free(marks.words);
    return err;
}

/* Read as settings, two policies may come to the same; a fraction is turned into bytes later. */
static bool is_same(const struct alloc_config *a, const struct alloc_config *b)
{
    char one[256], other[256];
    struct alloc_config read = *b;
    read.policy = a->policy;
    alloc_config_format(a, one, sizeof one);
    alloc_config_format(&read, other, sizeof other);
    return strcmp(one, other) == 0 && a->policy.oldest_first == b->policy.oldest_first &&
           (a->memory_fraction >= 1 || a->policy.fraction_is_cut == b->policy.fraction_is_cut);
}

static const struct fit_version *find_like(const struct fit_version *versions, size_t count,
                                           const struct alloc_config *config)
{
    for (size_t i = 0; i < count; i++)
        if (!*versions[i].trouble && is_same(&versions[i].config, config))
            return fit_version_figures(&versions[i]);
    return NULL;
}

int fit_version_measure(struct fit *fit, struct db *db, const struct fit_version_base *base,
                        const struct alloc_release *release, struct fit_version *versions,
                        size_t count)
{
    struct fit_version *out = &versions[count];
    *out = (struct fit_version){.release = release, .need = *base->need};
    alloc_config_default(&out->config);
    out->config.policy = release->policy;
    int err = alloc_config_parse(&out->config, base->conf, out->trouble, sizeof out->trouble);
    if (err < 0)
        return 0;
    out->like = find_like(versions, count, &out->config);
    if (out->like || is_same(&base->config, &out->config))
        return 0;
    err = fit_measure(fit, &out->config, base->ceiling, &out->need);
    return err < 0 ? err : compare(fit, db, base, &out->config, out);
}

void fit_version_clear(struct fit_version *version)
{
    fit_place_clear(&version->place);
}
