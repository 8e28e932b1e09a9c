/* plan_read.c - see plan_read.h. The figures are those of peak, check, fit and diff. */
#include "plan_read.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "diff.h"
#include "fit.h"
#include "oom.h"
#include "peak.h"
#include "error.h"
#include "mem.h"
#include "query.h"

#define ALL_STEPS INT64_MIN, INT64_MAX

/* Those of CUDA first, the host's own memory last. */
static const char scopes_sql[] =
    "SELECT DISTINCT h.process, h.device, d.kind = 'cuda' AS is_cuda, d.kind = 'cpu' AS is_cpu"
    "  FROM heap h JOIN device d ON d.id = h.device ORDER BY 3 DESC, 4, 1, 2";
static const char steps_sql[] =
    "SELECT count(DISTINCT step) AS steps,"
    "  EXISTS(SELECT 1 FROM meta WHERE key = 'ended_steps') AS cut"
    "  FROM phase WHERE step IS NOT NULL";
static const char refusals_sql[] = "SELECT count(*) AS refusals FROM oom";

static const char driven_sql[] =
    "SELECT EXISTS(SELECT 1 FROM driver_memory m JOIN device d ON d.id = m.device"
    "  WHERE d.kind = 'cuda') AS driven";

static int open_one(const char *path, struct db **db)
{
    int err = db_open(db, path);
    return err < 0 ? err : db_exec(*db, "BEGIN");
}

/* ---- how much it was ---- */

static int read_reserved(struct db *db, int64_t process, int64_t device, int64_t *out)
{
    const struct check_scope scope = {db, process, device, ALL_STEPS};
    struct check_finding finding = {.check = "max-reserved"};
    int err = check_reserved(&scope, &finding);
    *out = finding.known ? finding.value : SEEN_NONE;
    check_clear(&finding);
    return err;
}

/* Takes the scope over if it has more than what was seen so far. */
static int read_scope(struct db *db, int64_t process, int64_t device, struct plan_seen *out)
{
    struct peak peak;
    int64_t reserved;
    int err = peak_find(db, process, device, ALL_STEPS, &peak);
    if (err >= 0)
        err = read_reserved(db, process, device, &reserved);
    if (err >= 0 && peak.found && (!out->found || peak.allocated > out->allocated)) {
        mem_free(out->phase);
        out->found = true;
        out->process = process;
        out->device = device;
        out->allocated = peak.allocated;
        out->reserved = reserved;
        out->step = peak.step;
        out->phase = peak.phase_path;
        peak.phase_path = NULL;
    }
    peak_clear(&peak);
    return err;
}

/* Of the best kind of device that there is. */
static int read_scopes(struct db *db, struct plan_seen *out)
{
    int64_t process, device;
    bool is_cuda, is_cpu, cuda = false, cpu = false;
    struct query query =
        query_ask(db, scopes_sql, Q_NOTHING,
                  Q_OUT(Q_INT(process), Q_INT(device), Q_INT(is_cuda), Q_INT(is_cpu)));
    while (query_next(&query)) {
        if (out->found && (is_cuda != cuda || is_cpu != cpu))
            break;
        cuda = is_cuda;
        cpu = is_cpu;
        query_fail(&query, read_scope(db, process, device, out));
        out->cuda = out->found && cuda;
    }
    return query_end(&query);
}

static int read_need(struct db *db, struct plan_seen *out)
{
    struct fit fit;
    struct fit_need need = {.smallest = FIT_NONE};
    int err = fit_begin(db, out->process, out->device, &fit);
    if (err >= 0 && fit.trace.block_count)
        err = fit_measure(&fit, &fit.recorded, 0, &need);
    if (err >= 0 && need.smallest != FIT_NONE)
        out->need = need.smallest;
    fit_clear(&fit);
    return err;
}

/* With what it asked for last. */
static int read_least(struct db *db, const struct oom_place *place, int64_t seq,
                      struct plan_seen *out)
{
    struct fit fit;
    struct fit_need need = {.smallest = FIT_NONE};
    int err =
        fit_begin_refused(db, place->process, place->device, seq, (uint64_t)place->asked, &fit);
    if (err >= 0)
        err = fit_measure(&fit, &fit.recorded, 0, &need);
    if (err >= 0 && need.smallest != FIT_NONE)
        out->at_least = need.smallest;
    fit_clear(&fit);
    return err;
}

static int read_kernels(struct db *db, struct plan_seen *out)
{
    struct rehearsed rehearsed;
    int err = rehearsed_read(db, &rehearsed);
    snprintf(out->no_kernels, sizeof out->no_kernels, "%s", rehearsed.no_kernels);
    return err;
}

/* Where it was refused: the phase is that of the refusal then. */
static int read_refusal(struct db *db, struct plan_seen *out)
{
    struct oom_place place;
    struct ooms ooms;
    int err = oom_find_last(db, &place);
    if (err < 0)
        return err;
    out->asked = place.asked;
    if (place.device == OOM_NONE)
        return 0;
    err = oom_read_newest(db, place.process, place.device, ALL_STEPS, 1, &ooms);
    if (err >= 0 && ooms.shown) {
        mem_free(out->phase);
        out->phase = ooms.failures[0].phase;
        ooms.failures[0].phase = NULL;
        out->step = ooms.failures[0].step;
        err = read_least(db, &place, ooms.failures[0].seq, out);
    }
    ooms_clear(&ooms);
    return err;
}

int plan_read(const char *path, struct plan_seen *out)
{
    struct db *db = NULL;
    *out = (struct plan_seen){.allocated = SEEN_NONE,
                              .reserved = SEEN_NONE,
                              .need = SEEN_NONE,
                              .at_least = SEEN_NONE,
                              .step = SEEN_NONE,
                              .asked = SEEN_NONE};
    int err = open_one(path, &db);
    if (err >= 0)
        err = query_read(db, steps_sql, Q_NOTHING, Q_OUT(Q_INT(out->steps), Q_INT(out->cut)));
    if (err >= 0)
        err = query_read(db, refusals_sql, Q_NOTHING, Q_OUT(Q_INT(out->refusals)));
    if (err >= 0)
        err = query_read(db, driven_sql, Q_NOTHING, Q_OUT(Q_INT(out->driven)));
    if (err >= 0)
        err = read_scopes(db, out);
    if (err >= 0)
        err = rehearsed_count(db, REHEARSED_ALL, out->unknown);
    if (err >= 0)
        err = read_kernels(db, out);
    if (err >= 0 && out->refusals)
        err = read_refusal(db, out);
    else if (err >= 0 && out->found)
        err = read_need(db, out);
    if (db)
        db_close(db);
    return err < 0 ? err : 0;
}

void plan_seen_clear(struct plan_seen *seen)
{
    mem_free(seen->phase);
    *seen = (struct plan_seen){0};
}

/* ---- what grew ---- */

static int copy_largest(const struct diff *diff, struct plan_growth *out)
{
    const struct diff_group *largest = NULL;
    for (size_t i = 0; i < diff->group_count; i++)
        if (diff_change(&diff->groups[i]) > (largest ? diff_change(largest) : 0))
            largest = &diff->groups[i];
    if (!largest)
        return 0;
    const char *shown = diff_group_shown(largest);
    out->bytes = diff_change(largest);
    out->category = diff_category(largest);
    out->site = shown ? mem_copy(shown, strlen(shown)) : NULL;
    return out->site || !shown ? 0 : ERR_NOMEM;
}

int plan_read_growth(const char *less, const struct plan_seen *less_seen, const char *more,
                     const struct plan_seen *more_seen, struct plan_growth *out)
{
    const struct diff_moment highest = {NULL, ALL_STEPS};
    struct diff_side sides[DIFF_SIDES] = {
        {NULL, less_seen->process, less_seen->device, 0},
        {NULL, more_seen->process, more_seen->device, 0},
    };
    struct instant moments[DIFF_SIDES];
    struct diff diff = {0};
    *out = (struct plan_growth){0};
    int err = open_one(less, &sides[DIFF_A].db);
    if (err >= 0)
        err = open_one(more, &sides[DIFF_B].db);
    for (int side = 0; side < DIFF_SIDES && err >= 0; side++)
        err = diff_find_moment(&sides[side], &highest, &moments[side]);
    if (err >= 0)
        err = diff_read(sides, moments, &diff);
    if (err >= 0)
        err = copy_largest(&diff, out);
    diff_clear(&diff);
    for (int side = 0; side < DIFF_SIDES; side++)
        if (sides[side].db)
            db_close(sides[side].db);
    return err < 0 ? err : 0;
}

void plan_growth_clear(struct plan_growth *growth)
{
    mem_free(growth->site);
    *growth = (struct plan_growth){0};
}

/* ---- another card ---- */

int plan_read_fits(const char *path, const struct plan_seen *seen, int64_t memory, bool *fits,
                   int64_t *reserved)
{
    struct db *db = NULL;
    struct fit fit = {0};
    struct fit_verdict verdict = {0};
    int err = open_one(path, &db);
    if (err >= 0)
        err = fit_begin(db, seen->process, seen->device, &fit);
    if (err >= 0 && memory > 0)
        err = fit_try(&fit, db, &fit.recorded, (uint64_t)memory, &verdict);
    *fits = err >= 0 && verdict.fits;
    *reserved = *fits ? verdict.peak_reserved : SEEN_NONE;
    fit_verdict_clear(&verdict);
    fit_clear(&fit);
    if (db)
        db_close(db);
    return err < 0 ? err : 0;
}
