/*
 * Several processes or devices: which of them the page is about, and a table of all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "oom.h"
#include "peak_page.h"
#include "phase_text.h"

enum {
    ROWS = 8,
    NOTICEABLE = 1000, /* a difference of such a part of the median */
    WEIGHED = 8        /* ranks whose changes are looked for: it takes as long for each */
};

struct rank { /* a process on a device */
    const struct report_scope *scope;
    struct peak peak;
    bool aside; /* host memory, beside a GPU's */
};

struct ranks {
    struct rank *ranks;
    size_t count;                     /* of all scopes */
    size_t shown;                     /* in the table; not those aside */
    size_t main;                      /* that the page is about */
    int64_t median[PURPOSES], middle; /* bytes of each kind, and of all */
};

static int read_ranks(struct report *report, struct ranks *ranks)
{
    const struct option_range *steps = &report->options->steps;
    int err = 0;
    for (size_t i = 0; i < report->scope_count && err >= 0; i++) {
        const struct report_scope *scope = &report->scopes[i];
        struct rank *rank = &ranks->ranks[ranks->count++];
        *rank = (struct rank){.scope = scope};
        err = peak_read(report->db, scope->process.id, scope->device, steps->first, steps->last, 0,
                        &rank->peak);
    }
    return err;
}

/* Ranks do the same on memory of their own: they can be compared. */
static bool is_rank(const struct rank *rank)
{
    return !rank->aside && rank->peak.found && rank->scope->process.rank != REPORT_ANY;
}

/* Host memory counts where there is no other. */
static void put_aside(struct ranks *ranks)
{
    bool gpu = false;
    for (size_t i = 0; i < ranks->count; i++)
        gpu = gpu || !report_is_host(ranks->ranks[i].scope);
    for (size_t i = 0; i < ranks->count; i++) {
        ranks->ranks[i].aside = gpu && report_is_host(ranks->ranks[i].scope);
        ranks->shown += !ranks->ranks[i].aside;
    }
}

/* Where a request was refused last; else the fullest. */
static int choose(struct report *report, struct ranks *ranks)
{
    struct oom_place place;
    size_t best = SIZE_MAX;
    int err = oom_find_last(report->db, &place);
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->ranks[i];
        bool refused = err >= 0 && rank->scope->process.id == place.process &&
                       rank->scope->device == place.device;
        if (refused)
            best = i;
        if (refused)
            break;
        if (!rank->aside &&
            (best == SIZE_MAX || rank->peak.allocated > ranks->ranks[best].peak.allocated))
            best = i;
    }
    ranks->main = best == SIZE_MAX ? 0 : best;
    return err == ERR_NOTFOUND ? 0 : err;
}

/* ---- the table ---- */

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The lower one of two. */
static int64_t median_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count ? values[(count - 1) / 2] : 0;
}

static bool find_medians(struct ranks *ranks)
{
    int64_t *values = mem_alloc(ranks->count + 1, sizeof *values);
    for (int purpose = -1; values && purpose < PURPOSES; purpose++) {
        size_t count = 0;
        for (size_t i = 0; i < ranks->count; i++)
            if (is_rank(&ranks->ranks[i]))
                values[count++] =
                    purpose < 0 ? ranks->ranks[i].peak.allocated
                                : peak_category(&ranks->ranks[i].peak, (enum purpose)purpose).bytes;
        *(purpose < 0 ? &ranks->middle : &ranks->median[purpose]) = median_of(values, count);
    }
    mem_free(values);
    return values != NULL;
}

static const struct emit_column columns[] = {
    {NULL, "process", EMIT_PLAIN, EMIT_PEOPLE},
    {NULL, "rank", EMIT_PLAIN, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
    {NULL, "host", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "device", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "peak", EMIT_BYTES, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "step", EMIT_PLAIN, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
    {NULL, "phase", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "beside the median", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
};

/* By how much, and the kind that differs most: "+120 MiB, activations". */
static void put_difference(struct emit *emit, const struct ranks *ranks, const struct rank *rank)
{
    char bytes[HUMAN_MAX], text[HUMAN_MAX + 80];
    int64_t change = rank->peak.allocated - ranks->middle, most = 0;
    int kind = -1;
    for (int i = 0; i < PURPOSES; i++) {
        int64_t own = peak_category(&rank->peak, (enum purpose)i).bytes - ranks->median[i];
        if (change > 0 ? own > most : own < most) {
            most = own;
            kind = i;
        }
    }
    if (!is_rank(rank) || llabs(change) < ranks->middle / NOTICEABLE || kind < 0) {
        emit_null(emit);
        return;
    }
    snprintf(text, sizeof text, "%s, %s", human_delta(bytes, change),
             purpose_name((enum purpose)kind));
    emit_text(emit, text);
}

static void put_phase(struct emit *emit, const struct peak *peak)
{
    struct buf text = {0};
    bool remark = peak->between && emit->format == EMIT_TABLE;
    if (peak->found && peak->phase_path)
        buf_print(&text, "%s%s", peak->phase_path, remark ? PHASE_BETWEEN_REMARK : "");
    emit_text(emit, text.count ? buf_string(&text) : NULL);
    emit->out.broken = emit->out.broken || text.broken;
    buf_clear(&text);
}

static void put_rank(struct report *report, const struct ranks *ranks, const struct rank *rank)
{
    struct emit *emit = &report->emit;
    const struct report_process *process = &rank->scope->process;
    char host[REPORT_HOST];
    bool found = rank->peak.found;
    emit_int(emit, process->id);
    emit_known(emit, process->rank == REPORT_ANY ? INT64_MIN : process->rank);
    report_host(report, process->id, host);
    emit_text(emit, *host ? host : NULL);
    emit_text(emit, rank->scope->device_text);
    emit_known(emit, found ? rank->peak.allocated : INT64_MIN);
    emit_known(emit, found ? rank->peak.step : INT64_MIN);
    put_phase(emit, &rank->peak);
    put_difference(emit, ranks, rank);
}

static void put_table(struct report *report, const struct ranks *ranks)
{
    struct emit *emit = &report->emit;
    char count[HUMAN_MAX], bytes[HUMAN_MAX];
    int64_t most = 0;
    size_t rows = 0;
    EMIT_SECTION(emit, "ranks", "Peaks", EMIT_ROWS, columns);
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->ranks[i];
        if (rank->aside)
            continue;
        if (rows++ < ROWS)
            put_rank(report, ranks, rank);
        else if (rank->peak.allocated > most)
            most = rank->peak.allocated;
    }
    if (rows > ROWS)
        emit_line(emit, "and %s more with at most %s: tidemark peak --all",
                  human_count(count, (int64_t)(rows - ROWS)), human_bytes(bytes, most));
}

/* Ranks whose peaks differ by less than what the table shows of a difference, in one step and
 * phase: their rows would say one thing. */
static bool are_alike(const struct ranks *ranks)
{
    const struct peak *one = &ranks->ranks[ranks->main].peak;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->ranks[i];
        if (rank->aside)
            continue;
        if (!is_rank(rank) || rank->peak.step != one->step || !rank->peak.phase_path ||
            !one->phase_path || strcmp(rank->peak.phase_path, one->phase_path) != 0 ||
            llabs(rank->peak.allocated - ranks->middle) >= ranks->middle / NOTICEABLE)
            return false;
    }
    return true;
}

static void put_alike(struct report *report, const struct ranks *ranks)
{
    char bytes[HUMAN_MAX], step[40] = "";
    const struct peak *peak = &ranks->ranks[ranks->main].peak;
    if (peak->step != PEAK_NONE)
        snprintf(step, sizeof step, "step %" PRId64 ", ", peak->step);
    emit_line(&report->emit, "%zu ranks alike: each %s at most, %s%s", ranks->shown,
              human_bytes(bytes, peak->allocated), step, peak->phase_path);
}

/* Host memory beside a GPU's; 0: none. */
static int64_t most_on_host(const struct ranks *ranks)
{
    int64_t most = 0;
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->ranks[i].aside && ranks->ranks[i].peak.allocated > most)
            most = ranks->ranks[i].peak.allocated;
    return most;
}

/* ---- what changes take off the highest ---- */

struct others { /* the fullest ranks beside the page's own */
    struct levers *levers;
    const struct levers **all; /* with the page's own */
    size_t count;
};

/* The fullest of those that were not taken. SIZE_MAX: there is none. */
static size_t find_fullest(const struct ranks *ranks, const bool *taken)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < ranks->count; i++)
        if (!taken[i] && is_rank(&ranks->ranks[i]) &&
            (best == SIZE_MAX ||
             ranks->ranks[i].peak.allocated > ranks->ranks[best].peak.allocated))
            best = i;
    return best;
}

static int64_t largest_of(const struct levers *levers)
{
    int64_t largest = 0;
    for (size_t i = 0; i < levers->count; i++)
        largest = levers->levers[i].bytes > largest ? levers->levers[i].bytes : largest;
    return largest;
}

/* Those that a change of the page's can make the highest: others stay below, whatever they do. */
static int read_others(struct report *report, const struct ranks *ranks, const struct levers *own,
                       bool *taken, struct others *out)
{
    int64_t low = own->peak - largest_of(own);
    int err = 0;
    size_t at;
    taken[ranks->main] = true;
    out->all[out->count++] = own;
    while (err >= 0 && out->count < WEIGHED && (at = find_fullest(ranks, taken)) != SIZE_MAX &&
           ranks->ranks[at].peak.allocated > low) {
        struct levers *levers = &out->levers[out->count];
        taken[at] = true;
        out->all[out->count++] = levers;
        err = levers_read(report->db, &ranks->ranks[at].peak, report_has_steps(report->options),
                          levers);
    }
    return err;
}

static size_t count_ranks(const struct ranks *ranks)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks->count; i++)
        count += is_rank(&ranks->ranks[i]);
    return count;
}

/* A refused request is one rank's: what is missing there does not depend on the others. */
int peak_ranks_weigh(struct report *report, struct peak_page *page, struct peak_part *part)
{
    const struct ranks *ranks = page->ranks;
    struct others others = {.levers = mem_alloc(WEIGHED, sizeof *others.levers),
                            .all = mem_alloc(WEIGHED, sizeof *others.all)};
    bool *taken = mem_alloc(ranks->count + 1, sizeof *taken);
    int err = others.levers && others.all && taken ? 0 : ERR_NOMEM;
    page->all = count_ranks(ranks);
    if (err >= 0 && page->all > 1 && is_rank(&ranks->ranks[ranks->main]) && !part->peak->refused)
        err = read_others(report, ranks, &part->levers, taken, &others);
    if (err >= 0 && others.count) {
        bool some = others.count == WEIGHED && others.count < page->all;
        levers_over_ranks(&part->levers, others.all, others.count);
        page->weighed = some ? others.count : page->all;
    }
    for (size_t i = 1; i < others.count; i++)
        levers_clear(&others.levers[i]);
    mem_free(others.levers);
    mem_free(others.all);
    mem_free(taken);
    return err < 0 ? err : 0;
}

/* ---- all of it ---- */

static const char *whose_text(char text[80], const struct ranks *ranks)
{
    const struct report_process *process = &ranks->ranks[ranks->main].scope->process;
    text[0] = '\0';
    if (ranks->shown > 1 && process->rank != REPORT_ANY)
        snprintf(text, 80, ", rank %" PRId64, process->rank);
    else if (ranks->shown > 1)
        snprintf(text, 80, ", process %" PRId64, process->id);
    return text;
}

static int put_all(struct report *report, struct ranks *ranks, size_t most)
{
    char whose[80];
    put_aside(ranks);
    int err = choose(report, ranks);
    if (err >= 0 && !find_medians(ranks))
        err = ERR_NOMEM;
    if (err < 0)
        return err;
    bool alike = ranks->shown > 1 && are_alike(ranks);
    if (alike)
        put_alike(report, ranks);
    else if (ranks->shown > 1)
        put_table(report, ranks);
    const struct peak_page frame = {.ranks = ranks,
                                    .whose = whose_text(whose, ranks),
                                    .host = most_on_host(ranks),
                                    .above =
                                        ranks->shown > 1 && !alike ? emit_lines(&report->emit) : 0};
    return peak_put_page_of(report, ranks->ranks[ranks->main].scope, &frame, most);
}

int peak_put_page(struct report *report, int64_t most)
{
    struct ranks ranks = {.ranks = mem_alloc(report->scope_count + 1, sizeof *ranks.ranks)};
    report_needs_steps(report);
    if (!ranks.ranks)
        return ERR_NOMEM;
    int err = report_lead_briefly(report);
    if (err >= 0 && report->scope_count == 1)
        err = peak_put_page_of(report, &report->scopes[0], &(struct peak_page){.whose = ""},
                               (size_t)most);
    else if (err >= 0 && !report->scope_count)
        report_nothing(report);
    else if (err >= 0)
        err = read_ranks(report, &ranks);
    if (err >= 0 && ranks.count)
        err = put_all(report, &ranks, (size_t)most);
    for (size_t i = 0; i < ranks.count; i++)
        peak_clear(&ranks.ranks[i].peak);
    mem_free(ranks.ranks);
    return err;
}
