/*
 * The ranks of a recording, and where each has its peak.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "skew_report.h"

static int read_host(struct report *report, struct skew_place *place)
{
    char *host = NULL;
    int err = query_first(report->db, "SELECT host FROM process_node WHERE process = ?1",
                          Q_IN(place->scope->process.id), Q_OUT(Q_COPY(host)));
    place->host = err == DB_ROW ? host : NULL;
    return err < 0 ? err : 0;
}

/* A rank may have several processes, as after a restart, and several devices: what has most. */
static int add_place(struct report *report, const struct report_scope *scope, const char *phase,
                     struct skew_places *out)
{
    struct skew_place place = {.scope = scope}, *old = NULL;
    struct diff_side side = {report->db, scope->process.id, scope->device, 0};
    const struct option_range *steps = &report->options->steps;
    const struct diff_moment moment = {NULL, steps->first, steps->last};
    int err = phase ? instant_highest_in(report->db, scope->process.id, scope->device, phase,
                                         steps->first, steps->last, &place.peak)
                    : diff_find_moment(&side, &moment, &place.peak);
    if (err < 0)
        return err == ERR_NOTFOUND ? 0 : err;
    for (size_t i = 0; i < out->count && !old; i++)
        if (out->places[i].scope->process.rank == scope->process.rank)
            old = &out->places[i];
    if (old && old->peak.allocated >= place.peak.allocated)
        return 0;
    err = read_host(report, &place);
    if (err == 0 && !old && !MEM_GROW(out->places, out->cap, out->count + 1))
        err = ERR_NOMEM;
    if (err < 0) {
        mem_free(place.host);
        return err;
    }
    if (old)
        mem_free(old->host);
    *(old ? old : &out->places[out->count++]) = place;
    return 0;
}

static int by_rank(const void *a, const void *b)
{
    const struct skew_place *x = a, *y = b;
    int64_t p = x->scope->process.rank, q = y->scope->process.rank;
    return (p > q) - (p < q);
}

static int by_host(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static bool count_hosts(struct skew_places *out)
{
    const char **hosts = mem_alloc(out->count + 1, sizeof *hosts);
    size_t count = 0;
    for (size_t i = 0; hosts && i < out->count; i++)
        if (out->places[i].host)
            hosts[count++] = out->places[i].host;
    if (count)
        qsort(hosts, count, sizeof *hosts, by_host);
    for (size_t i = 0; i < count; i++)
        out->hosts += !i || strcmp(hosts[i - 1], hosts[i]) != 0;
    mem_free(hosts);
    return hosts != NULL;
}

static bool find_spread(struct skew_places *out)
{
    struct skew_value *values = mem_alloc(out->count + 1, sizeof *values);
    for (size_t i = 0; values && i < out->count; i++)
        values[i] = (struct skew_value){out->places[i].peak.allocated, i};
    if (values && out->count)
        out->spread = skew_spread_of(values, out->count);
    mem_free(values);
    return values != NULL;
}

/* Host memory counts where no rank has any other. */
static bool has_gpu(const struct report *report)
{
    for (size_t i = 0; i < report->scope_count; i++)
        if (!report_is_host(&report->scopes[i]) && report->scopes[i].process.rank != REPORT_ANY)
            return true;
    return false;
}

int skew_find_places(struct report *report, const char *phase, struct skew_places *out)
{
    bool gpu = has_gpu(report);
    int err = 0;
    *out = (struct skew_places){0};
    for (size_t i = 0; i < report->scope_count && err == 0; i++) {
        const struct report_scope *scope = &report->scopes[i];
        if (scope->process.rank != REPORT_ANY && !(gpu && report_is_host(scope)))
            err = add_place(report, scope, phase, out);
    }
    if (err == 0 && out->count)
        qsort(out->places, out->count, sizeof *out->places, by_rank);
    if (err == 0 && (!find_spread(out) || !count_hosts(out)))
        err = ERR_NOMEM;
    return err;
}

void skew_places_clear(struct skew_places *places)
{
    for (size_t i = 0; i < places->count; i++)
        mem_free(places->places[i].host);
    mem_free(places->places);
    *places = (struct skew_places){0};
}

const char *skew_rank_text(char text[128], const struct skew_places *places, size_t at)
{
    const struct skew_place *place = &places->places[at];
    int used = snprintf(text, 128, "rank %" PRId64, place->scope->process.rank);
    if (places->hosts > 1 && place->host)
        snprintf(text + used, 128 - (size_t)used, " (%.64s)", place->host);
    return text;
}
