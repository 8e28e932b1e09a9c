/*
 * What the steps leave behind, in a line: the rows are `tidemark leaks`.
 */
#include <inttypes.h>

#include "human.h"
#include "leaks.h"
#include "peak_parts.h"

/* As `tidemark leaks` looks when nothing is asked for. */
static const struct leak_options usual = {
    .first_step = INT64_MIN, .last_step = INT64_MAX, .keep = 2, .warm_up = 1, .named = 1};

/* Of what is left in half of the steps at least. */
static double slope_of(const struct leaks *leaks, const struct leak_site **most)
{
    double slope = 0;
    *most = NULL;
    for (size_t i = 0; i < leaks->count; i++) {
        const struct leak_site *site = &leaks->sites[i];
        if (site->sure == LEAK_PERHAPS)
            continue;
        slope += site->slope;
        *most = !*most || site->slope > (*most)->slope ? site : *most;
    }
    return slope;
}

static void put_line(struct emit *emit, const struct leaks *leaks)
{
    const struct leak_site *most;
    char bytes[HUMAN_MAX];
    double slope = slope_of(leaks, &most);
    if (!leaks->window)
        emit_line(emit, "growth: too few complete steps to tell");
    else if (most)
        emit_line(emit, "growth: %s per step since step %" PRId64 ": tidemark leaks",
                  human_bytes(bytes, (int64_t)(slope + 0.5)), leaks->first_step);
    else if (leaks->count)
        emit_line(emit, "growth: %s stays from some steps, no steady growth: tidemark leaks",
                  human_bytes(bytes, leaks->bytes));
    else
        emit_line(emit, "growth: none, steady since step %" PRId64, leaks->first_step);
}

int peak_put_growth(struct report *report, const struct report_scope *scope)
{
    struct leaks leaks;
    int err = leaks_read(report->db, scope->process.id, scope->device, &usual, &leaks);
    if (err >= 0)
        put_line(&report->emit, &leaks);
    leaks_clear(&leaks);
    return err;
}
