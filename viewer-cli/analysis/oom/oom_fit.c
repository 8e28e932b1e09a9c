#include "oom_fit.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "rehearsed.h"

enum { CONF = 256 };

const char *oom_through_text(enum oom_through through)
{
    static const char *const texts[] = {"no", "yes", "perhaps"};
    return texts[through];
}

/* ---- how much memory there was ---- */

static const char limit_sql[] =
    "SELECT d.kind = 'cpu' AS cpu, d.total_bytes AS total,"
    "  (SELECT CAST(s.value AS INTEGER) FROM setting s WHERE s.process = ?1 AND s.key = 'limit'"
    "    AND (s.device = ?2 OR s.device IS NULL) ORDER BY s.device IS NULL, s.rowid DESC LIMIT 1)"
    "   AS \"limit\" FROM device d WHERE d.id = ?2";

static const char most_reserved_sql[] =
    "SELECT max(x.max_reserved) AS most FROM phase p JOIN phase_device x ON x.phase = p.id"
    " WHERE p.process = ?1 AND x.device = ?2 AND p.begin_seq <= ?3";

struct device_facts {
    bool cpu;
    int64_t total; /* less the CUDA context, where that is known; OOM_NONE */
};

/* Of a rehearsal it is known what the CUDA context takes: no allocator gets that. */
static int take_context_off(struct db *db, int64_t *total)
{
    struct rehearsed rehearsed;
    int err = rehearsed_read(db, &rehearsed);
    if (err >= 0 && rehearsed.is_one && rehearsed.context != REHEARSED_NONE && *total != OOM_NONE &&
        *total > rehearsed.context)
        *total -= rehearsed.context;
    return err;
}

static int read_limit(struct db *db, int64_t process, int64_t device, struct oom_fit *out,
                      struct device_facts *facts)
{
    int64_t limit = OOM_NONE;
    *facts = (struct device_facts){.total = OOM_NONE};
    int err = query_read(db, limit_sql, Q_IN(process, device),
                         Q_OUT(Q_INT(facts->cpu), Q_OPT(facts->total), Q_OPT(limit)));
    if (err >= 0 && !facts->cpu)
        err = take_context_off(db, &facts->total);
    out->exact = limit != OOM_NONE && limit > 0;
    if (out->exact && facts->total != OOM_NONE && facts->total < limit)
        limit = facts->total;
    if (out->exact)
        out->low = out->high = limit;
    return err;
}

/* What was reserved at any time, the device gave once. */
static int read_most_reserved(struct db *db, int64_t process, int64_t device, int64_t seq,
                              int64_t *most)
{
    return query_read(db, most_reserved_sql, Q_IN(process, device, seq), Q_OUT(Q_OPT(*most)));
}

static int64_t segment_for(int64_t asked, const struct alloc_config *config)
{
    const int64_t step = (int64_t)FIT_STEP;
    if (asked <= (int64_t)ALLOC_SMALL_SIZE)
        return step;
    if (asked < ((int64_t)10 << 20))
        return (int64_t)config->large_segment_size;
    return (asked + step - 1) / step * step;
}

/* Where no limit is known. */
static int find_bounds(struct db *db, int64_t process, int64_t device, const struct oom *oom,
                       const struct fit *fit, int64_t total, struct oom_fit *out)
{
    int64_t reserved = oom->reserved, most = OOM_NONE;
    if (reserved == OOM_NONE && oom->frag.known)
        reserved = oom->frag.reserved;
    if (reserved == OOM_NONE || reserved < 0 || oom->asked > (int64_t)REPLAY_MOST)
        return 0;
    int err = read_most_reserved(db, process, device, oom->seq, &most);
    out->high = reserved + segment_for(oom->asked, &fit->recorded) - (int64_t)FIT_STEP;
    if (total != OOM_NONE && out->high > total)
        out->high = total;
    out->low = most != OOM_NONE && most > reserved ? most : reserved;
    if (out->low > out->high) /* others took it in the meantime */
        out->low = out->high;
    return err;
}

/* ---- doing it again ---- */

static int survives(struct fit *fit, const struct alloc_config *config, int64_t memory,
                    struct replay_outcome *outcome)
{
    const struct replay_setup setup = fit_setup(fit, config, (uint64_t)memory);
    fit->replays++;
    return replay_run(&fit->trace, &setup, &fit->scratch, NULL, outcome);
}

static int try_setting(struct fit *fit, const struct alloc_config *config, struct oom_fit *out,
                       struct oom_setting *setting)
{
    struct replay_outcome outcome;
    int err = survives(fit, config, out->high, &outcome);
    if (err < 0)
        return err;
    setting->retries = outcome.retries;
    setting->through = outcome.survived ? OOM_THROUGH : OOM_REFUSED;
    if (!outcome.survived || out->low == out->high)
        return 0;
    err = survives(fit, config, out->low, &outcome);
    if (err >= 0 && !outcome.survived)
        setting->through = OOM_PERHAPS;
    return err;
}

static bool is_tried(char confs[][CONF], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(confs[i], confs[count]) == 0)
            return true;
    return false;
}

static int try_all(struct fit *fit, struct oom_fit *out)
{
    char confs[FIT_TRIED + 1][CONF];
    int err = 0;
    for (size_t i = 0; i <= FIT_TRIED && err >= 0; i++) {
        struct alloc_config config = fit->recorded;
        struct oom_setting *setting = &out->settings[out->count];
        setting->text = i ? fit_tried[i - 1] : out->recorded;
        if (i) {
            alloc_config_default(&config);
            err = alloc_config_parse(&config, fit_tried[i - 1], NULL, 0);
        }
        alloc_config_format(&config, confs[out->count], CONF);
        if (err < 0 || is_tried(confs, out->count))
            continue;
        err = try_setting(fit, &config, out, setting);
        if (err >= 0 && i == 0 && setting->through != OOM_REFUSED) {
            out->state = OOM_FIT_DIFFERS;
            return 0;
        }
        out->helping += setting->through != OOM_REFUSED;
        out->count++;
    }
    return err;
}

static int replay(struct db *db, int64_t process, int64_t device, const struct oom *oom,
                  int64_t total, struct oom_fit *out)
{
    struct fit fit;
    struct fit_need need;
    int err = fit_begin_refused(db, process, device, oom->seq, (uint64_t)oom->asked, &fit);
    const char *conf = fit.trace.conf && !*fit.conf_trouble ? fit.trace.conf : "";
    if (err >= 0 && !(out->recorded = mem_copy(conf, strlen(conf))))
        err = ERR_NOMEM;
    if (err >= 0 && !out->exact)
        err = find_bounds(db, process, device, oom, &fit, total, out);
    out->state = out->high != OOM_NONE && out->high > 0 ? OOM_FIT_DONE : OOM_FIT_NO_MEMORY;
    if (err >= 0 && out->state == OOM_FIT_DONE)
        err = try_all(&fit, out);
    if (err >= 0 && out->state == OOM_FIT_DONE) {
        err = fit_measure(&fit, &fit.recorded, 0, &need);
        out->needed = need.smallest == FIT_NONE ? OOM_NONE : need.smallest;
    }
    fit_clear(&fit);
    if (err != ERR_NOTFOUND)
        return err;
    out->state = OOM_FIT_NO_MEMORY;
    return 0;
}

int oom_fit_read(struct db *db, int64_t process, int64_t device, const struct oom *oom,
                 int64_t most, struct oom_fit *out)
{
    struct device_facts facts;
    *out = (struct oom_fit){
        .low = OOM_NONE, .high = OOM_NONE, .short_by = OOM_NONE, .needed = OOM_NONE};
    int err = read_limit(db, process, device, out, &facts);
    if (err < 0)
        return err;
    if (out->exact && oom->allocated != OOM_NONE)
        out->short_by = oom->asked - (out->high - oom->allocated);
    out->state = facts.cpu ? OOM_FIT_CPU : OOM_FIT_LARGE;
    if (facts.cpu || oom->seq > most || oom->asked < 0)
        return 0;
    return replay(db, process, device, oom, facts.total, out);
}

void oom_fit_clear(struct oom_fit *fit)
{
    mem_free(fit->recorded);
    *fit = (struct oom_fit){0};
}

bool oom_fit_is_valid(const struct oom_fit *fit)
{
    size_t helping = 0;
    for (size_t i = 0; i < fit->count; i++)
        helping += fit->settings[i].through != OOM_REFUSED;
    if (helping != fit->helping || (fit->short_by != OOM_NONE && !fit->exact) ||
        (fit->high == OOM_NONE) != (fit->low == OOM_NONE) || fit->low > fit->high ||
        (fit->exact && fit->low != fit->high))
        return false;
    if (fit->state != OOM_FIT_DONE)
        return fit->count == 0;
    return fit->count && fit->settings[0].through == OOM_REFUSED;
}
