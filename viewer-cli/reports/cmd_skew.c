/*
 * tidemark skew: the ranks of a run beside each other, and the worst one.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "skew_report.h"

enum {
    PHASES = 7,
    STEPS = 8, /* rows of one phase */
    LOWEST = 3,
    ALIKE = 1000, /* a part of the median */
    APART = 20    /* that much below it the lowest rank stands out */
};

/* ---- each rank ---- */

static const struct emit_column rank_columns[] = {
    {"rank", NULL, EMIT_PLAIN, 0},
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"host", NULL, EMIT_TEXT, EMIT_IF_KNOWN},
    {"device", NULL, EMIT_TEXT, 0},
    {"peak", NULL, EMIT_BYTES, 0},
    {"beside_median", "beside the median", EMIT_DELTA, 0},
    {"step", NULL, EMIT_PLAIN, EMIT_NONE},
    {"moment", "at", EMIT_TEXT, EMIT_NAME},
};

/* People see all of them with --all. */
static void put_ranks(struct emit *emit, const struct skew_places *places)
{
    EMIT_SECTION(emit, "ranks", "Ranks", EMIT_ROWS, rank_columns);
    for (size_t i = 0; i < places->count; i++) {
        const struct skew_place *place = &places->places[i];
        emit_int(emit, place->scope->process.rank);
        emit_int(emit, place->scope->process.id);
        emit_text(emit, place->host);
        emit_text(emit, place->scope->device_text);
        emit_int(emit, place->peak.allocated);
        emit_int(emit, place->peak.allocated - places->spread.median.value);
        emit_known(emit, place->peak.step);
        emit_text(emit, place->peak.label);
    }
}

/* ---- each phase ---- */

#define SPREAD(name)                                                                               \
    {name "_most", NULL, EMIT_BYTES, EMIT_PROGRAMS},                                               \
        {name "_most_rank", NULL, EMIT_PLAIN, EMIT_PROGRAMS},                                      \
        {name "_median", NULL, EMIT_BYTES, EMIT_PROGRAMS},                                         \
        {name "_median_rank", NULL, EMIT_PLAIN, EMIT_PROGRAMS},                                    \
        {name "_least", NULL, EMIT_BYTES, EMIT_PROGRAMS},                                          \
    {                                                                                              \
        name "_least_rank", NULL, EMIT_PLAIN, EMIT_PROGRAMS                                        \
    }

static const struct emit_column phase_columns[] = {
    {"phase", NULL, EMIT_TEXT, EMIT_NAME},
    {"step", NULL, EMIT_PLAIN, 0},
    {"ordinal", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"ranks", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {NULL, "largest", EMIT_BYTES, EMIT_PEOPLE},
    {NULL, "rank", EMIT_PLAIN, EMIT_PEOPLE},
    {NULL, "median", EMIT_BYTES, EMIT_PEOPLE},
    {NULL, "smallest", EMIT_BYTES, EMIT_PEOPLE},
    {NULL, "rank", EMIT_PLAIN, EMIT_PEOPLE},
    {NULL, "slowest", EMIT_NS, EMIT_PEOPLE},
    {NULL, "rank", EMIT_PLAIN, EMIT_PEOPLE},
    {NULL, "median time", EMIT_NS, EMIT_PEOPLE},
    SPREAD("peak"),
    SPREAD("end"),
    SPREAD("ns"),
};

struct folded { /* phases of one name: the one in which ranks differ most */
    char *name;
    struct skew_row row;
};

struct phases {
    struct emit *emit;
    const struct skew_places *places;
    struct folded *folded; /* tables without --all */
    size_t count, cap;
    bool fold;
    size_t rows, most; /* of those that are not folded; the rest is counted */
};

static int64_t rank_at(const struct phases *phases, const struct skew_value *value)
{
    return phases->places->places[value->rank].scope->process.rank;
}

static void put_value(const struct phases *phases, const struct skew_value *value)
{
    emit_int(phases->emit, value->value);
    emit_int(phases->emit, rank_at(phases, value));
}

static void put_row(const struct phases *phases, const struct skew_row *row)
{
    struct emit *emit = phases->emit;
    const struct skew_spread *peak = &row->spreads[SKEW_PEAK], *time = &row->spreads[SKEW_TIME];
    emit_text(emit, row->name);
    emit_int(emit, row->step);
    emit_int(emit, row->ordinal);
    emit_int(emit, (int64_t)row->count);
    put_value(phases, &peak->most);
    emit_int(emit, peak->median.value);
    put_value(phases, &peak->least);
    put_value(phases, &time->most);
    emit_int(emit, time->median.value);
    for (int figure = 0; figure < SKEW_FIGURES; figure++) {
        put_value(phases, &row->spreads[figure].most);
        put_value(phases, &row->spreads[figure].median);
        put_value(phases, &row->spreads[figure].least);
    }
}

/* In bytes; where they are the same, in time. */
static bool differs_more(const struct skew_row *a, const struct skew_row *b)
{
    int64_t bytes = skew_excess(&a->spreads[SKEW_PEAK]) - skew_excess(&b->spreads[SKEW_PEAK]);
    return bytes ? bytes > 0
                 : skew_excess(&a->spreads[SKEW_TIME]) > skew_excess(&b->spreads[SKEW_TIME]);
}

static int fold_row(struct phases *phases, const struct skew_row *row)
{
    struct folded *folded = NULL;
    for (size_t i = 0; i < phases->count && !folded; i++)
        if (strcmp(phases->folded[i].name, row->name) == 0)
            folded = &phases->folded[i];
    if (!folded) {
        char *name = mem_copy(row->name, strlen(row->name));
        if (!name || !MEM_GROW(phases->folded, phases->cap, phases->count + 1)) {
            mem_free(name);
            return ERR_NOMEM;
        }
        folded = &phases->folded[phases->count++];
        *folded = (struct folded){name, *row};
    }
    if (differs_more(row, &folded->row))
        folded->row = *row;
    folded->row.name = folded->name;
    return 0;
}

static int take_row(void *self, const struct skew_row *row)
{
    struct phases *phases = self;
    if (phases->fold)
        return fold_row(phases, row);
    if (phases->rows++ < phases->most)
        put_row(phases, row);
    return 0;
}

/* Those in which the ranks differ most. */
static size_t next_folded(const struct phases *phases, const bool *done)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < phases->count; i++) {
        const struct skew_row *row = &phases->folded[i].row;
        if (!done[i] && (best == SIZE_MAX || differs_more(row, &phases->folded[best].row)))
            best = i;
    }
    return best;
}

static int put_folded(struct phases *phases)
{
    char number[HUMAN_MAX];
    if (!phases->count)
        return 0;
    EMIT_SECTION(phases->emit, "phases", "Peaks by phase, each in the step where ranks differ most",
                 EMIT_ROWS, phase_columns);
    bool *done = mem_alloc(phases->count + 1, sizeof *done);
    for (size_t n = 0; done && n < phases->count && n < PHASES; n++) {
        size_t at = next_folded(phases, done);
        done[at] = true;
        put_row(phases, &phases->folded[at].row);
    }
    if (done && phases->count > PHASES)
        emit_line(phases->emit, "and %s more phases that differ less: --all shows them",
                  human_count(number, (int64_t)(phases->count - PHASES)));
    mem_free(done);
    return done ? 0 : ERR_NOMEM;
}

static void clear_phases(struct phases *phases)
{
    for (size_t i = 0; i < phases->count; i++)
        mem_free(phases->folded[i].name);
    mem_free(phases->folded);
}

/* People see one row of each name; of a name that they asked for the first steps. */
static int put_phases(struct report *report, const struct skew_options *options,
                      const struct skew_places *places)
{
    struct emit *emit = &report->emit;
    const struct skew_wish wish = {report->options->steps.first, report->options->steps.last,
                                   options->phase};
    struct phases phases = {.emit = emit, .places = places, .most = SIZE_MAX};
    struct skew_rank *ranks = mem_alloc(places->count + 1, sizeof *ranks);
    bool people = emit->format == EMIT_TABLE && !options->all;
    char number[HUMAN_MAX];
    phases.fold = people && !options->phase;
    phases.most = people ? STEPS : SIZE_MAX;
    for (size_t i = 0; ranks && i < places->count; i++)
        ranks[i] = (struct skew_rank){places->places[i].scope->process.id,
                                      places->places[i].scope->device};
    if (!phases.fold)
        EMIT_SECTION(emit, "phases", "Peaks by phase", EMIT_ROWS, phase_columns);
    int err =
        ranks ? skew_read(report->db, ranks, places->count, &wish, take_row, &phases) : ERR_NOMEM;
    if (err == 0 && phases.fold)
        err = put_folded(&phases);
    if (err == 0 && phases.rows > phases.most)
        emit_line(emit, "and %s more: --all shows them, --steps A..B some",
                  human_count(number, (int64_t)(phases.rows - phases.most)));
    clear_phases(&phases);
    mem_free(ranks);
    return err;
}

/* ---- the answer ---- */

static bool are_alike(const struct skew_places *places)
{
    const struct skew_spread *spread = &places->spread;
    return spread->most.value - spread->least.value <= spread->median.value / ALIKE;
}

static void say_answer(struct emit *emit, const struct skew_places *places)
{
    const struct skew_spread *spread = &places->spread;
    const struct skew_place *worst = &places->places[spread->most.rank];
    char most[HUMAN_MAX], other[HUMAN_MAX], share[HUMAN_MAX], worst_text[128], text[128];
    if (are_alike(places)) {
        emit_line(emit, "all %zu ranks are alike: their peaks are from %s to %s", places->count,
                  human_bytes(other, spread->least.value), human_bytes(most, spread->most.value));
        return;
    }
    emit_line(emit, "%s has the highest peak: %s on %s, %s",
              skew_rank_text(worst_text, places, spread->most.rank),
              human_bytes(most, spread->most.value), worst->scope->device_text, worst->peak.label);
    emit_line(emit, "%s (%s) above the median, %s; lowest: %s, %s",
              human_delta(other, skew_excess(spread)),
              human_percent(share, spread->median.value
                                       ? (double)skew_excess(spread) / (double)spread->median.value
                                       : 0),
              skew_rank_text(text, places, spread->median.rank),
              skew_rank_text(worst_text, places, spread->least.rank),
              human_bytes(most, spread->least.value));
}

static int put_beside_median(struct report *report, const struct skew_places *places, int64_t top,
                             bool lowest)
{
    const struct skew_spread *spread = &places->spread;
    size_t rank = lowest ? spread->least.rank : spread->most.rank, middle = spread->median.rank;
    char title[400], text[128], median[128];
    snprintf(title, sizeof title, "Memory of %s%s %s, at their peaks",
             skew_rank_text(text, places, rank), lowest ? ", the lowest, beside" : " beyond",
             skew_rank_text(median, places, middle));
    const struct skew_sides sides = {
        .reports = {report, report},
        .places = {&places->places[middle], &places->places[rank]},
        .title = title,
        .top = top,
        .lowest = lowest,
    };
    int err = skew_put_holders(&report->emit, &sides);
    emit_close(&report->emit); /* the title is gone then */
    return err;
}

static int put_holders(struct report *report, const struct skew_options *options,
                       const struct skew_places *places)
{
    const struct skew_spread *spread = &places->spread;
    bool short_page = report->emit.format == EMIT_TABLE && !options->all;
    int64_t below = spread->median.value - spread->least.value, top = options->top;
    int err = 0;
    if (skew_excess(spread))
        err = put_beside_median(report, places, top, false);
    else
        skew_put_no_holders(&report->emit, false);
    if (err == 0 && below > spread->median.value / APART)
        err = put_beside_median(report, places, short_page && top > LOWEST ? LOWEST : top, true);
    else if (err == 0)
        skew_put_no_holders(&report->emit, true);
    return err;
}

static void say_alone(struct report *report, const struct skew_options *options, size_t ranks)
{
    if (options->phase && !ranks)
        report_absent(report, "no rank has a phase %.80s in %s", options->phase,
                      report_has_steps(report->options) ? "these steps" : "a step");
    else
        emit_note(&report->emit, "there is nothing to compare: %s",
                  ranks ? "one rank is in it" : "no ranks are in it");
}

static int put_all(struct report *report, const struct skew_options *options)
{
    struct skew_places places;
    report_needs_steps(report);
    int err = skew_find_places(report, options->phase, &places);
    if (err == 0 && places.count < 2) {
        say_alone(report, options, places.count);
    } else if (err == 0) {
        say_answer(&report->emit, &places);
        if (report->emit.format != EMIT_TABLE || options->all)
            put_ranks(&report->emit, &places);
        err = put_phases(report, options, &places);
        if (err == 0)
            err = put_holders(report, options, &places);
    }
    emit_close(&report->emit);
    skew_places_clear(&places);
    return err;
}

/* ---- the command ---- */

static int cmd_skew(const struct command_call *call)
{
    struct skew_options options = {.common = REPORT_OPTIONS, .top = 6};
    struct report a, b;
    char **arguments;
    int count, code;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = report_begin(&a, call->command, &options.common, count ? arguments[0] : NULL);
    if (code == 0 && count == 2)
        code = report_begin_beside(&b, &a, arguments[1]);
    bool fleets = count == 2;
    mem_free(arguments);
    if (code)
        return code;
    return report_end(&a, fleets ? skew_put_fleets(&a, &b, &options) : put_all(&a, &options));
}

static const struct option option_table[] = {
    {"all", 'a', OPT_FLAG, offsetof(struct skew_options, all), NULL,
     "each rank, and each phase of each step", NULL, 0},
    {"phase", 0, OPT_TEXT, offsetof(struct skew_options, phase), "NAME",
     "peaks inside the phases of this name or kind, step by\nstep", NULL, 0},
    {"top", 'n', OPT_INT, offsetof(struct skew_options, top), "N", "N groups (6)", NULL, 1},
    {0},
};

static const struct option shared_options[] = {
    REPORT_OPTION_DEVICE,
    {"steps", 's', OPT_RANGE, REPORT_AT(steps), "A..B", "only these steps", NULL, 0},
    REPORT_OPTION_FORMAT,
    REPORT_OPTION_NO_COLOR,
    {0},
};

static const struct command_shared skew_shared = {"of every report", shared_options};

const struct command command_skew = {
    .name = "skew",
    .group = COMMAND_LOOK,
    .run = cmd_skew,
    .thinned = "phases",
    .summary = "which rank differs from the others, in which phase, and by what",
    .arguments = "[DATABASE] [OTHER]",
    .takes = TAKES_DATABASES,
    .options = option_table,
    .shared = &skew_shared,
    .least = 0,
    .most = 2,
    .description =
        "The ranks of a run beside each other: of one recording, or of several that 'tidemark "
        "merge' made one. Of a rank with several devices or processes the fullest counts; host "
        "memory only where no rank has any other.\n"
        "\n"
        "Phases are the same if their step, name and ordinal in the step are. Of each the "
        "largest, the median and the smallest rank are found by the peak inside it, by the bytes "
        "at its end and by its time; the table has the peak and the time, csv and json all of "
        "them. The median is a rank's own figure: of an even number the lower one in the middle.\n"
        "\n"
        "What the rank with the highest peak holds beyond the median rank is compared as by "
        "'tidemark diff': by kind and call site, and by module where modules are known; and so is "
        "what the lowest rank holds where it is more than 5 % below the median.\n"
        "\n"
        "With two recordings: the peak of each rank in A and in B, and what the rank that changed "
        "most holds in B beyond A.\n"
        "\n"
        "With --phase all of this is about the peaks inside the phases of that name.\n"
        "\n"
        "In csv and json these are the sections ranks, phases, groups and modules, and of the "
        "lowest rank lowest_groups and lowest_modules.",
    .examples =
        {
            {"tidemark skew fleet.db", "which rank is worst, and why"},
            {"tidemark skew fleet.db --phase forward", "the ranks' forwards, step by step"},
            {"tidemark skew fleet.db --steps 1 --all", "every rank and phase of step 1"},
            {"tidemark skew ranks.db fleet.db", "rank by rank, two runs"},
        },
};
