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
#include "whole_steps.h"

#define ALL_STEPS INT64_MIN, INT64_MAX

/* One recording, and how many of its steps are looked at. */
struct reading {
    struct db *db;
    int64_t steps;
    int64_t process, end; /* of that process: the last event that is looked at */
};

/* Those of CUDA first, the host's own memory last. */
static const char scopes_sql[] =
    "SELECT DISTINCT h.process, h.device, d.kind = 'cuda' AS is_cuda, d.kind = 'cpu' AS is_cpu"
    "  FROM heap h JOIN device d ON d.id = h.device ORDER BY 3 DESC, 4, 1, 2";
static const char steps_sql[] = "SELECT count(DISTINCT step) AS steps,"
                                "  EXISTS(SELECT 1 FROM meta WHERE key = 'ended_steps') AS cut"
                                "  FROM phase WHERE step IS NOT NULL";
static const char counting_sql[] = "SELECT DISTINCT process FROM phase WHERE step IS NOT NULL";
static const char refusals_sql[] = "SELECT seq, process FROM oom ORDER BY process, seq";
/* The highest since the process began, as the phases that ended until then know it. */
static const char reserved_sql[] =
    "SELECT max(pd.max_reserved) AS reserved FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.end_seq <= ?3";

static const char driven_sql[] =
    "SELECT EXISTS(SELECT 1 FROM driver_memory m JOIN device d ON d.id = m.device"
    "  WHERE d.kind = 'cuda') AS driven";

static int open_one(const char *path, struct db **db)
{
    int err = db_open(db, path);
    return err < 0 ? err : db_exec(*db, "BEGIN");
}

/* ---- how much it was ---- */

static int find_end(struct reading *reading, int64_t process)
{
    if (process == reading->process)
        return 0;
    reading->process = process;
    return whole_steps_end(reading->db, process, reading->steps, &reading->end);
}

static int read_steps(struct reading *reading, struct plan_seen *out)
{
    int64_t process;
    int err =
        query_read(reading->db, steps_sql, Q_NOTHING, Q_OUT(Q_INT(out->steps), Q_INT(out->cut)));
    out->done = reading->steps && out->steps;
    struct query query = query_ask(reading->db, counting_sql, Q_NOTHING, Q_OUT(Q_INT(process)));
    query_fail(&query, err);
    while (query_next(&query)) {
        query_fail(&query, find_end(reading, process));
        out->done = out->done && reading->end != INT64_MAX;
    }
    return query_end(&query);
}

static int read_reserved(const struct reading *reading, int64_t device, int64_t *reserved)
{
    const struct check_scope scope = {reading->db, reading->process, device, ALL_STEPS};
    struct check_finding finding = {.check = "max-reserved"};
    if (reading->end != INT64_MAX)
        return query_read(reading->db, reserved_sql, Q_IN(reading->process, device, reading->end),
                          Q_OUT(Q_OPT(*reserved)));
    int err = check_reserved(&scope, &finding);
    *reserved = finding.known ? finding.value : SEEN_NONE;
    check_clear(&finding);
    return err;
}

/* Whether a higher point lies behind the steps that are looked at. */
static int see_behind(const struct reading *reading, int64_t device, int64_t allocated, bool *cut)
{
    struct peak peak;
    if (reading->end == INT64_MAX)
        return 0;
    int err = peak_find(reading->db, reading->process, device, ALL_STEPS, &peak);
    *cut = *cut || (err >= 0 && peak.found && peak.allocated > allocated);
    peak_clear(&peak);
    return err;
}

/* Takes the scope over if it has more than what was seen so far. */
static int read_scope(struct reading *reading, int64_t process, int64_t device,
                      struct plan_seen *out)
{
    struct peak peak = {0};
    int64_t reserved = SEEN_NONE;
    int err = find_end(reading, process);
    if (err >= 0)
        err = peak_find_until(reading->db, process, device, reading->end, &peak);
    if (err >= 0)
        err = read_reserved(reading, device, &reserved);
    if (err >= 0 && peak.found)
        err = see_behind(reading, device, peak.allocated, &out->cut);
    if (err >= 0 && peak.found && (!out->found || peak.allocated > out->allocated)) {
        mem_free(out->phase);
        out->found = true;
        out->process = process;
        out->device = device;
        out->end = reading->end;
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
static int read_scopes(struct reading *reading, struct plan_seen *out)
{
    int64_t process, device;
    bool is_cuda, is_cpu, cuda = false, cpu = false;
    struct query query =
        query_ask(reading->db, scopes_sql, Q_NOTHING,
                  Q_OUT(Q_INT(process), Q_INT(device), Q_INT(is_cuda), Q_INT(is_cpu)));
    while (query_next(&query)) {
        if (out->found && (is_cuda != cuda || is_cpu != cpu))
            break;
        cuda = is_cuda;
        cpu = is_cpu;
        query_fail(&query, read_scope(reading, process, device, out));
        out->cuda = out->found && cuda;
    }
    return query_end(&query);
}

static int read_need(struct db *db, struct plan_seen *out)
{
    struct fit fit;
    struct fit_need need = {.smallest = FIT_NONE};
    int err = fit_begin_until(db, out->process, out->device, out->end, &fit);
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
    return err == ERR_NOTFOUND ? 0 : err; /* more than any device has: no replay says how much */
}

static int read_kernels(struct db *db, struct plan_seen *out)
{
    struct rehearsed rehearsed;
    int err = rehearsed_read(db, &rehearsed);
    snprintf(out->no_kernels, sizeof out->no_kernels, "%s", rehearsed.no_kernels);
    return err;
}

/* Counts them; *last is the event of the newest. */
static int read_refusals(struct reading *reading, int64_t *last, struct plan_seen *out)
{
    int64_t seq, process;
    *last = INT64_MIN;
    struct query query =
        query_ask(reading->db, refusals_sql, Q_NOTHING, Q_OUT(Q_INT(seq), Q_INT(process)));
    while (query_next(&query)) {
        query_fail(&query, find_end(reading, process));
        bool counts = seq <= reading->end;
        out->refusals += counts;
        out->cut |= !counts;
        *last = counts && seq > *last ? seq : *last;
    }
    return query_end(&query);
}

/* Where it was refused: the phase is that of the refusal then. */
static int read_refusal(struct db *db, int64_t last, struct plan_seen *out)
{
    struct oom_place place;
    struct ooms ooms;
    int err = oom_find_until(db, last, &place);
    if (err < 0)
        return err;
    out->asked = place.asked;
    if (place.device == OOM_NONE)
        return 0;
    err = oom_read_until(db, place.process, place.device, last, 1, &ooms);
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

int plan_read(const char *path, int64_t steps, struct plan_seen *out)
{
    struct reading reading = {.steps = steps, .process = SEEN_NONE, .end = INT64_MAX};
    int64_t last;
    *out = (struct plan_seen){.end = INT64_MAX,
                              .allocated = SEEN_NONE,
                              .reserved = SEEN_NONE,
                              .need = SEEN_NONE,
                              .at_least = SEEN_NONE,
                              .step = SEEN_NONE,
                              .asked = SEEN_NONE};
    int err = open_one(path, &reading.db);
    if (err >= 0)
        err = read_steps(&reading, out);
    if (err >= 0)
        err = read_refusals(&reading, &last, out);
    if (err >= 0)
        err = query_read(reading.db, driven_sql, Q_NOTHING, Q_OUT(Q_INT(out->driven)));
    if (err >= 0)
        err = read_scopes(&reading, out);
    if (err >= 0)
        err = rehearsed_count(reading.db, REHEARSED_ALL, out->unknown);
    if (err >= 0)
        err = read_kernels(reading.db, out);
    if (err >= 0 && out->refusals)
        err = read_refusal(reading.db, last, out);
    else if (err >= 0 && out->found)
        err = read_need(reading.db, out);
    if (reading.db)
        db_close(reading.db);
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
    const int64_t ends[DIFF_SIDES] = {less_seen->end, more_seen->end};
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
        err = diff_find_highest(&sides[side], ends[side], &moments[side]);
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
        err = fit_begin_until(db, seen->process, seen->device, seen->end, &fit);
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
