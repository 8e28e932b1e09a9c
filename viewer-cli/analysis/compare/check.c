#include "check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "leaks.h"
#include "line.h"
#include "loss.h"
#include "mem.h"
#include "peak.h"
#include "query.h"

static int unknown(struct check_finding *out, const char *why)
{
    out->known = false;
    out->why_not = why;
    return 0;
}

static void found(struct check_finding *out, int64_t value)
{
    out->known = true;
    out->value = value;
}

/* ---- the verdict ---- */

const char *check_result_text(enum check_result result)
{
    static const char *const texts[] = {"passed", "FAILED", "not known"};
    return texts[result];
}

void check_judge(struct check_finding *finding, const char *missing)
{
    bool above = finding->unit == CHECK_RATIO ? finding->ratio > finding->limit_ratio
                                              : finding->value > finding->limit;
    bool unsure = finding->known && !above && missing;
    if (unsure)
        finding->why_not = missing;
    finding->result = !finding->known || unsure ? CHECK_UNKNOWN
                      : above                   ? CHECK_FAILED
                                                : CHECK_PASSED;
}

bool check_is_valid(const struct check_finding *finding)
{
    return finding->result == CHECK_UNKNOWN ? finding->why_not != NULL : finding->known;
}

void check_clear(struct check_finding *finding)
{
    mem_free(finding->phase);
    mem_free(finding->site);
    finding->phase = finding->site = NULL;
}

int check_missing(const struct check_scope *scope, const char **why)
{
    struct loss_span span = {scope->process, INT64_MAX};
    struct loss loss;
    bool finished;
    int64_t last_ns;
    int err = 0;
    *why = NULL;
    if (scope->first_step != INT64_MIN || scope->last_step != INT64_MAX)
        err = loss_end_of_steps(scope->db, scope->first_step, scope->last_step, &span);
    if (err == 0)
        err = loss_read(scope->db, &span, 1, &loss);
    if (err == 0 && (loss.events || loss.damage.any))
        *why = loss.events ? "events were lost" : "blocks are missing: damaged pages";
    if (err == 0)
        err = loss_read_finished(scope->db, &finished, &last_ns);
    if (err == 0 && !finished)
        *why = "the recording has not ended in good order";
    return err;
}

/* ---- where ---- */

static int site_shown(struct db *db, int64_t site, char **out)
{
    char *name = NULL;
    int err = site_names(db, site, &name, out);
    mem_free(name);
    return err;
}

/* The first row of a query with the process, the device and the steps. */
/* The first row of what is asked of the scope, as query_first. */
static int first_row(const struct check_scope *scope, const char *sql,
                     const struct query_place *out)
{
    return query_first(scope->db, sql,
                       Q_IN(scope->process, scope->device, scope->first_step, scope->last_step),
                       out);
}

/* Who asked for the block that made the peak. */
static int peak_site(struct db *db, int64_t seq, char **out)
{
    int64_t site = GROUP_NONE;
    int err =
        query_read(db, "SELECT site FROM allocation WHERE seq = ?", Q_IN(seq), Q_OUT(Q_OPT(site)));
    return err < 0 ? err : site_shown(db, site, out);
}

int check_peak(const struct check_scope *scope, struct check_finding *out)
{
    struct peak peak;
    out->step = GROUP_NONE;
    int err = peak_find(scope->db, scope->process, scope->device, scope->first_step,
                        scope->last_step, &peak);
    if (err == 0 && !peak.found)
        unknown(out, "no phase of these steps had memory here");
    if (err == 0 && peak.found) {
        found(out, peak.allocated);
        out->step = peak.step;
        out->phase = peak.phase_path;
        peak.phase_path = NULL;
        err = peak_site(scope->db, peak.seq, &out->site);
    }
    peak_clear(&peak);
    return err;
}

/* ---- reserved and fragmentation ---- */

/* A running maximum, and the phase that ended first with it. */
static const char reserved_sql[] =
    "SELECT pd.max_reserved, ph.step, ph.name AS phase FROM phase ph"
    "  JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND pd.max_reserved IS NOT NULL"
    "   AND (ph.step BETWEEN ?3 AND ?4"
    "    OR (ph.step IS NULL AND ?3 = -9223372036854775808 AND ?4 = 9223372036854775807))"
    " ORDER BY pd.max_reserved DESC, coalesce(ph.end_seq, 9223372036854775807), ph.begin_seq DESC"
    " LIMIT 1";

static const char fragmentation_sql[] =
    "SELECT pd.inactive_split * 1.0 / pd.reserved AS ratio, ph.step, ph.name AS phase FROM phase ph"
    "  JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.step BETWEEN ?3 AND ?4"
    "   AND ph.step > (SELECT min(step) FROM phase WHERE process = ?1)"
    "   AND ph.end_seq IS NOT NULL AND pd.reserved > 0 AND pd.inactive_split IS NOT NULL"
    " ORDER BY 1 DESC, ph.end_seq LIMIT 1";

int check_reserved(const struct check_scope *scope, struct check_finding *out)
{
    int64_t max_reserved;
    out->step = GROUP_NONE;
    unknown(out, "reserved is not known from this source");
    int err = first_row(scope, reserved_sql,
                        Q_OUT(Q_INT(max_reserved), Q_OPT(out->step), Q_COPY(out->phase)));
    if (err == DB_ROW)
        found(out, max_reserved);
    return err < 0 ? err : 0;
}

int check_fragmentation(const struct check_scope *scope, struct check_finding *out)
{
    out->step = GROUP_NONE;
    out->unit = CHECK_RATIO;
    unknown(out, "not known from this source after the first step");
    int err = first_row(scope, fragmentation_sql,
                        Q_OUT(Q_REAL(out->ratio), Q_OPT(out->step), Q_COPY(out->phase)));
    out->known = out->known || err == DB_ROW;
    return err < 0 ? err : 0;
}

/* ---- growth ---- */

enum { FEWEST_STEPS = 3 }; /* a line through two points says nothing */

int check_left(const struct check_scope *scope, struct check_finding *out)
{
    const struct leak_options options = {scope->first_step, scope->last_step, 2, 1, 0};
    struct leaks leaks;
    double slope = 0;
    const struct leak_site *most = NULL;
    out->growth = true;
    out->step = GROUP_NONE;
    int err = leaks_read(scope->db, scope->process, scope->device, &options, &leaks);
    for (size_t i = 0; i < leaks.count && err == 0; i++) {
        const struct leak_site *site = &leaks.sites[i];
        if (site->sure == LEAK_PERHAPS)
            continue;
        slope += site->slope;
        most = most && most->slope >= site->slope ? most : site;
    }
    if (err == 0 && leaks.window < FEWEST_STEPS) {
        unknown(out, "too few complete steps");
        most = NULL;
    } else if (err == 0) {
        found(out, (int64_t)ceil(slope));
        snprintf(out->note, sizeof out->note, "left by steps %" PRId64 " to %" PRId64,
                 leaks.first_step, leaks.last_step);
    }
    if (err == 0 && most)
        err = site_shown(scope->db, most->site, &out->site);
    leaks_clear(&leaks);
    return err;
}

/* Of complete steps. */
static const char peaks_sql[] =
    "SELECT ph.step, max(pd.peak_allocated) AS peak FROM phase ph"
    "  JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.step BETWEEN ?3 AND ?4"
    "   AND ph.step > (SELECT min(step) FROM phase WHERE process = ?1)"
    " GROUP BY ph.step HAVING count(*) = count(ph.end_seq) ORDER BY ph.step";

int check_slope(const struct check_scope *scope, struct check_finding *out)
{
    int64_t step, peak;
    struct line line = {0};
    char first[HUMAN_MAX], last[HUMAN_MAX];
    out->growth = true;
    out->step = GROUP_NONE;
    struct query query =
        query_ask(scope->db, peaks_sql,
                  Q_IN(scope->process, scope->device, scope->first_step, scope->last_step),
                  Q_OUT(Q_INT(step), Q_INT(peak)));
    while (query_next(&query))
        line_add(&line, step, peak);
    int err = query_end(&query);
    if (err < 0)
        return err;
    if (line.n < FEWEST_STEPS)
        return unknown(out, "too few complete steps");
    found(out, (int64_t)ceil(line_slope(&line)));
    snprintf(out->note, sizeof out->note, "peaks of steps %" PRId64 " to %" PRId64 ": %s to %s",
             line.first_x, line.last_x, human_bytes(first, line.first_y),
             human_bytes(last, line.last_y));
    return 0;
}

/* ---- what must not have happened ---- */

static const char oom_sql[] =
    "SELECT count(*) OVER () AS count, ph.step, ph.name AS phase, o.site, o.asked,"
    "       coalesce(t.device, '') AS device FROM oom o"
    "  LEFT JOIN device_text t ON t.id = o.device"
    "  LEFT JOIN phase ph ON ph.id = (SELECT phase FROM stretch WHERE process = o.process"
    "    AND begin_seq <= o.seq ORDER BY begin_seq DESC LIMIT 1)"
    " WHERE o.process = ?1 AND (ph.step BETWEEN ?3 AND ?4"
    "    OR (?3 = -9223372036854775808 AND ?4 = 9223372036854775807))"
    " ORDER BY o.seq LIMIT 1";

int check_oom(const struct check_scope *scope, struct check_finding *out)
{
    int64_t count, site = GROUP_NONE, asked;
    char text[HUMAN_MAX], device[64];
    out->step = GROUP_NONE;
    out->unit = CHECK_COUNT;
    found(out, 0);
    int err = first_row(scope, oom_sql,
                        Q_OUT(Q_INT(count), Q_OPT(out->step), Q_COPY(out->phase), Q_OPT(site),
                              Q_INT(asked), Q_CHARS(device)));
    if (err == DB_ROW) {
        found(out, count);
        snprintf(out->note, sizeof out->note, "%s was refused%s%.40s", human_bytes(text, asked),
                 *device ? " on " : "", device);
    }
    return err < 0 ? err : site_shown(scope->db, site, &out->site);
}

int check_lost(const struct check_scope *scope, struct check_finding *out)
{
    struct loss_span span = {scope->process, INT64_MAX};
    struct loss loss = {0};
    size_t used = 0;
    int err = 0;
    out->step = GROUP_NONE;
    out->unit = CHECK_COUNT;
    if (scope->first_step != INT64_MIN || scope->last_step != INT64_MAX)
        err = loss_end_of_steps(scope->db, scope->first_step, scope->last_step, &span);
    if (err == 0)
        err = loss_read(scope->db, &span, 1, &loss);
    if (err < 0)
        return err;
    if (!loss.events && loss.damage.any)
        out->why_not = "blocks are missing (damaged pages), how many is not known";
    else if (!loss.events && *loss.repaired)
        out->why_not = "rows are missing (repaired after damage), how many is not known";
    else
        found(out, loss.events);
    for (size_t i = 0; i < loss.kind_count && used < sizeof out->note - 64; i++)
        used += (size_t)snprintf(out->note + used, sizeof out->note - used, "%s%s %" PRId64,
                                 i ? ", " : "", loss.kinds[i].name, loss.kinds[i].n);
    return 0;
}

/* ---- beside a baseline ---- */

static int64_t with_more(int64_t base, const struct check_increase *more)
{
    double limit =
        more->is_share ? (double)base * (1 + more->share) : (double)base + (double)more->bytes;
    if (limit >= 9.2e18)
        return INT64_MAX;
    return more->is_share ? (int64_t)limit : base + more->bytes;
}

/* The group that grew most. */
static int grown_site(struct diff_side sides[DIFF_SIDES], const struct instant moments[DIFF_SIDES],
                      char **out)
{
    struct diff diff;
    const struct diff_group *most = NULL;
    int err = diff_read(sides, moments, &diff);
    for (size_t i = 0; i < diff.group_count && err == 0; i++)
        if (diff_change(&diff.groups[i]) > 0 && !most)
            most = &diff.groups[i];
    const char *shown = most ? diff_group_shown(most) : NULL;
    if (shown && !(*out = mem_copy(shown, strlen(shown))))
        err = ERR_NOMEM;
    diff_clear(&diff);
    return err;
}

int check_against(struct diff_side sides[DIFF_SIDES], const struct check_increase *more,
                  int64_t first_step, int64_t last_step, struct check_finding *out)
{
    const struct diff_moment moment = {NULL, first_step, last_step};
    struct instant moments[DIFF_SIDES];
    char base[HUMAN_MAX];
    int err = 0;
    out->step = GROUP_NONE;
    for (int i = 0; i < DIFF_SIDES && err == 0; i++)
        err = diff_find_moment(&sides[i], &moment, &moments[i]);
    if (err == ERR_NOTFOUND)
        return unknown(out, "one of the two has no memory in these steps");
    if (err < 0)
        return err;
    found(out, moments[DIFF_B].allocated);
    out->limit = with_more(moments[DIFF_A].allocated, more);
    out->step = moments[DIFF_B].step;
    snprintf(out->note, sizeof out->note, "baseline %s at the %.120s",
             human_bytes(base, moments[DIFF_A].allocated), moments[DIFF_A].label);
    sides[DIFF_B].err = err = phase_path(sides[DIFF_B].db, moments[DIFF_B].phase, &out->phase);
    if (err == 0 && out->value > out->limit)
        err = grown_site(sides, moments, &out->site);
    return err;
}
