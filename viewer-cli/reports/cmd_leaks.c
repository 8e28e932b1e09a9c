/*
 * tidemark leaks: what each step leaves behind.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "driven.h"
#include "leaks.h"
#include "rank_fold.h"
#include "error.h"
#include "human.h"
#include "report.h"
#include "workers.h"

struct leaks_options {
    struct report_options common;
    int64_t keep;
    int64_t warm_up;
    int64_t top;
};

/* Rows; people see none below a thousandth unless --top wants more. */
enum { TOP = 20, LEAST_SHARE = 1000 };

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes_per_step", "per step", EMIT_BYTES, 0},
    {"bytes", "left", EMIT_BYTES, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"steps", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"window", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {NULL, "in steps", EMIT_TEXT, EMIT_PEOPLE},
    {"sure", NULL, EMIT_TEXT, 0},
    {"category", "kind", EMIT_TEXT, EMIT_ABOVE},
    {"first_step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"last_step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "module", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME | EMIT_NONE | EMIT_IF_KNOWN | EMIT_ABOVE},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"site_short", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"module", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"holder_kind", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"holder", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"advice", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"holder_line", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static void put_site(struct emit *emit, const struct report_scope *scope, const struct leaks *leaks,
                     const struct leak_site *site)
{
    char steps[64], advice[HOLDER_ADVICE];
    snprintf(steps, sizeof steps, "%" PRId64 " of %" PRId64 "%s", site->steps, site->chances,
             site->chances < leaks->window ? " with eval" : "");
    emit_int(emit, scope->process.id);
    emit_text(emit, scope->device_text);
    emit_int(emit, (int64_t)(site->slope + 0.5));
    emit_int(emit, site->bytes);
    emit_int(emit, site->blocks);
    emit_int(emit, site->steps);
    emit_int(emit, site->chances);
    emit_text(emit, steps);
    emit_text(emit, leak_sure_text(site->sure));
    emit_text(emit, purpose_name(site->purpose));
    emit_int(emit, site->first_step);
    emit_int(emit, site->last_step);
    emit_text(emit, site->name);
    emit_text(emit, site->module);
    emit_text(emit, site->shown);
    emit_known(emit, site->site);
    emit_text(emit, site->shown);
    emit_text(emit, site->module);
    emit_text(emit, holder_kind_text(site->holder.kind));
    emit_text(emit, *site->holder.path ? site->holder.path : NULL);
    emit_text(emit,
              *holder_advice(advice, &site->holder, site->purpose, leaks->on_host) ? advice : NULL);
    emit_text(emit, *site->holder.line ? site->holder.line : NULL);
}

/* ---- who holds it, for people ---- */

static const struct emit_column holder_columns[] = {
    {NULL, "per step", EMIT_BYTES, EMIT_PEOPLE},
    {NULL, "blocks", EMIT_COUNT, EMIT_PEOPLE},
    {NULL, "held by", EMIT_TEXT, EMIT_PEOPLE | EMIT_WRAP},
    {NULL, "advice", EMIT_TEXT, EMIT_PEOPLE | EMIT_WRAP | EMIT_IF_KNOWN},
};

static bool same_holder(const struct leak_site *one, const struct leak_site *other)
{
    return one->holder.kind == other->holder.kind &&
           (one->holder.kind == HOLDER_GRAPH || one->holder.kind == HOLDER_UNKNOWN ||
            (one->purpose == PURPOSE_INPUT) == (other->purpose == PURPOSE_INPUT)) &&
           strcmp(one->holder.path, other->holder.path) == 0;
}

/* A row for all sites of one holder; false: an earlier site has put it. */
static bool sum_holder(const struct leaks *leaks, size_t at, double *slope, int64_t *bytes,
                       int64_t *blocks)
{
    *bytes = *blocks = 0;
    *slope = 0;
    for (size_t i = 0; i < leaks->count; i++) {
        if (!same_holder(&leaks->sites[i], &leaks->sites[at]))
            continue;
        if (i < at)
            return false;
        *slope += leaks->sites[i].slope;
        *bytes += leaks->sites[i].bytes;
        *blocks += leaks->sites[i].blocks;
    }
    return true;
}

static void put_holders(struct emit *emit, const struct leaks *leaks, size_t shown)
{
    char text[HOLDER_TEXT], advice[HOLDER_ADVICE];
    int64_t bytes, blocks;
    double slope;
    EMIT_SECTION(emit, "holders", "Held by a variable", EMIT_ROWS, holder_columns);
    for (size_t i = 0; i < shown; i++) {
        const struct leak_site *site = &leaks->sites[i];
        if (!sum_holder(leaks, i, &slope, &bytes, &blocks) || bytes < leaks->bytes / 100)
            continue;
        emit_int(emit, (int64_t)slope);
        emit_int(emit, blocks);
        emit_text(emit, holder_text(text, &site->holder, site->purpose, leaks->holders.looked));
        emit_text(emit, *holder_advice(advice, &site->holder, site->purpose, leaks->on_host)
                            ? advice
                            : NULL);
    }
}

/* "step 1", "steps 1 to 5". */
static const char *window_text(char text[64], const struct leaks *leaks)
{
    if (leaks->first_step == leaks->last_step)
        snprintf(text, 64, "step %" PRId64, leaks->first_step);
    else
        snprintf(text, 64, "steps %" PRId64 " to %" PRId64, leaks->first_step, leaks->last_step);
    return text;
}

static void say_window(struct emit *emit, const struct leaks *leaks, int64_t keep)
{
    char bytes[HUMAN_MAX], slope[HUMAN_MAX], steps[64];
    emit_line(emit, "%s left %s: %s per step, live at least %" PRId64 " step%s later",
              window_text(steps, leaks), human_bytes(bytes, leaks->bytes),
              human_bytes(slope, (int64_t)leaks->slope), keep, keep == 1 ? "" : "s");
}

static void put_sites(struct emit *emit, const struct report_scope *scope,
                      const struct leaks *leaks, const struct leaks_options *options)
{
    size_t shown = leaks->count < (size_t)options->top ? leaks->count : (size_t)options->top;
    char bytes[HUMAN_MAX], more[HUMAN_MAX], steps[64];
    int64_t rest = leaks->bytes;
    /* The last ones only: call sites are in the order of their evidence. */
    while (emit->format == EMIT_TABLE && options->top <= TOP && shown > 1 &&
           leaks->sites[shown - 1].bytes < leaks->bytes / LEAST_SHARE)
        shown--;
    if (emit->format == EMIT_TABLE && !leaks->count) {
        emit_line(emit, "nothing: %s left no block behind", window_text(steps, leaks));
        return;
    }
    if (emit->format == EMIT_TABLE) {
        say_window(emit, leaks, options->keep);
        EMIT_SECTION(emit, "leaks", NULL, EMIT_ROWS, columns);
    }
    for (size_t i = 0; i < shown; i++) {
        rest -= leaks->sites[i].bytes;
        put_site(emit, scope, leaks, &leaks->sites[i]);
    }
    if (shown < leaks->count)
        emit_line(emit, "and %s by %s more call site%s: --top shows them", human_bytes(bytes, rest),
                  human_count(more, (int64_t)(leaks->count - shown)),
                  leaks->count - shown == 1 ? "" : "s");
    if (emit->format == EMIT_TABLE)
        put_holders(emit, leaks, shown);
}

static int put_scope(struct report *report, const struct report_scope *scope,
                     const struct leaks_options *options, struct rank_fold *alike, bool *any)
{
    struct emit *emit = &report->emit;
    const struct option_range *steps = &options->common.steps;
    const struct leak_options wish = {steps->first, steps->last, options->keep, options->warm_up,
                                      (size_t)options->top};
    struct leaks leaks;
    int err = leaks_read(report->db, scope->process.id, scope->device, &wish, &leaks);
    if (err == 0 && report->emit.format == EMIT_TABLE)
        err = leaks_tell_apart(report->db, &leaks, (size_t)options->top);
    if (err == 0 && leaks.window) {
        struct emit_mark begin = {0}, body = {0};
        *any = true;
        if (emit->format == EMIT_TABLE) {
            begin = emit_here(emit);
            report_heading(report, "Blocks left by steps", scope);
            body = emit_here(emit);
        }
        put_sites(emit, scope, &leaks, options);
        err = rank_fold_see(alike, emit, scope, &begin, &body, "");
    }
    leaks_clear(&leaks);
    return err;
}

/* What the driver allocated and nobody freed is no block: such a device is not said to be free of
 * leaks. */
static int put_scopes(struct report *report, const struct leaks_options *options, bool *any,
                      size_t *driven)
{
    struct rank_fold alike = {0};
    int err = 0;
    for (size_t i = 0; i < report->scope_count && err == 0; i++) {
        const struct report_scope *scope = &report->scopes[i];
        bool is = false;
        err = driven_is(report->db, scope->process.id, scope->device, &is);
        if (err == 0 && !is)
            err = put_scope(report, scope, options, &alike, any);
        *driven += is;
    }
    rank_fold_note(&report->emit, &alike, "leaks");
    rank_fold_clear(&alike);
    return err;
}

static int put_all(struct report *report, const struct leaks_options *options)
{
    bool any = false;
    size_t driven = 0;
    int err = workers_fold(report);
    if (err == 0 && report->emit.format != EMIT_TABLE)
        EMIT_SECTION(&report->emit, "leaks", NULL, EMIT_ROWS, columns);
    if (err == 0)
        err = put_scopes(report, options, &any, &driven);
    if (err == 0 && driven == report->scope_count)
        report_nothing(report);
    else if (err == 0 && !any)
        emit_note(&report->emit,
                  "too few steps to judge: the first %" PRId64 " (--warm-up) and the last %" PRId64
                  " (--keep) do not count, and no step is left between them",
                  options->warm_up, options->keep);
    if (err == 0 && driven && driven < report->scope_count)
        report_note_driven(report);
    return err;
}

static int cmd_leaks(const struct command_call *call)
{
    struct leaks_options options = {
        .common = REPORT_OPTIONS, .keep = LEAK_KEEP, .warm_up = LEAK_WARM_UP, .top = TOP};
    struct report report;
    int code;

    if (!report_start(&report, call, &options, &code))
        return code;
    return report_end(&report, put_all(&report, &options));
}

static const struct option option_table[] = {
    {"keep", 'k', OPT_INT, offsetof(struct leaks_options, keep), "N",
     "a block counts that is live N steps later (2)", NULL, 1},
    {"warm-up", 'w', OPT_INT, offsetof(struct leaks_options, warm_up), "N",
     "the first N steps do not count (1)", NULL, 0},
    {"top", 'n', OPT_INT, offsetof(struct leaks_options, top), "N", "N call sites (20)", NULL, 1},
    {0},
};

const struct command command_leaks = {
    .name = "leaks",
    .group = COMMAND_LOOK,
    .run = cmd_leaks,
    .summary = "what each step leaves behind, by call site",
    .arguments = "[DATABASE]",
    .options = option_table,
    .shared = &report_shared,
    .most = 1,
    .description =
        "Blocks that were allocated in one step and still live when the last complete step ended, "
        "some steps later, by call site: their bytes, and bytes for each step that counts. The "
        "first steps make gradients, optimizer states and "
        "caches, which stay, so they do not count; the last ones have not had the time.\n"
        "\n"
        "Call sites with most evidence come first. 'sure': left in nine of ten steps and more, of "
        "at least five; "
        "'likely': in half of them; "
        "'perhaps': less often, or the run is too short to judge. What an evaluation between two "
        "steps leaves counts as the step's before it, and of its call sites the steps that have an "
        "evaluation behind them count.",
    .examples =
        {
            {"tidemark leaks", "the newest recording in this folder"},
            {"tidemark leaks run.db --steps 100..", "what steps from 100 on leave"},
            {"tidemark leaks run.db --keep 10", "only blocks that are live ten steps later"},
        },
};
