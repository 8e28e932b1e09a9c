/*
 * What backward added to a peak, and changes that lower it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "human.h"
#include "peak_parts.h"

const struct emit_column peak_lever_columns[PEAK_LEVER_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"lever", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"at_most", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"reserved_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"text", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"estimated", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"next_step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"next_phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"changes_training", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"in_together", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"bytes_over_ranks", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "saves", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "of the highest rank", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
    {NULL, "saves of reserved", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE | EMIT_SPARE},
    {NULL, "peak is then in", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE | EMIT_SPARE},
    {NULL, "change", EMIT_TEXT, EMIT_PEOPLE | EMIT_WRAP | EMIT_ROOMY},
};

/* "at most ", "about ", "" */
static const char *grade_of(const struct lever *lever)
{
    return lever->at_most ? "at most " : lever->estimated ? "about " : "";
}

const char *peak_grade_of_worth(const struct lever *lever)
{
    return levers_is_bound(lever) ? "at most " : levers_is_estimate(lever) ? "about " : "";
}

void peak_put_amount(struct emit *emit, int64_t bytes, const char *grade)
{
    char text[HUMAN_MAX], amount[HUMAN_MAX + 16];
    if (bytes == LEVERS_NONE) {
        emit_null(emit);
        return;
    }
    if (bytes < 0)
        snprintf(amount, sizeof amount, "%s more", human_bytes(text, -bytes));
    else
        snprintf(amount, sizeof amount, "%s%s", bytes ? grade : "", human_bytes(text, bytes));
    emit_text(emit, amount);
}

/* It holds more than it takes off: then another moment of the step is the highest. */
static bool is_outdone(const struct lever *lever)
{
    return !lever->at_most && !lever->estimated && lever->bytes < lever->alive / 10 * 9;
}

static void put_off_peak(struct emit *emit, const struct lever *lever)
{
    char text[2 * HUMAN_MAX + 8], bytes[HUMAN_MAX], alive[HUMAN_MAX];
    if (!is_outdone(lever)) {
        peak_put_amount(emit, lever->bytes, grade_of(lever));
        return;
    }
    snprintf(text, sizeof text, "%s of %s", human_bytes(bytes, lever->bytes),
             human_bytes(alive, lever->alive));
    emit_text(emit, text);
}

static void put_next(struct emit *emit, const struct lever *lever)
{
    struct buf text = {0};
    if (lever->next_step != LEVERS_NONE)
        buf_print(&text, "step %" PRId64 ", %s", lever->next_step,
                  lever->next_phase ? lever->next_phase : "?");
    emit_text(emit, text.count ? buf_string(&text) : NULL);
    emit->out.broken = emit->out.broken || text.broken;
    buf_clear(&text);
}

static void put_lever(const struct peak_part *part, const struct lever *lever)
{
    struct emit *emit = part->emit;
    peak_put_scope(part);
    emit_text(emit, lever_name(lever->kind));
    emit_int(emit, lever->bytes);
    emit_int(emit, lever->at_most);
    emit_known(emit, lever->reserved);
    emit_text(emit, lever->site_text);
    emit_known(emit, lever->site);
    emit_text(emit, lever->text);
    emit_int(emit, lever->estimated);
    emit_known(emit, lever->next_step);
    emit_text(emit, lever->next_phase);
    emit_int(emit, lever->changes);
    emit_int(emit, lever->joined);
    emit_known(emit, lever->shared ? lever->over_ranks : LEVERS_NONE);
    put_off_peak(emit, lever);
    peak_put_amount(emit, lever->shared ? lever->over_ranks : LEVERS_NONE,
                    peak_grade_of_worth(lever));
    peak_put_amount(emit, lever->reserved, grade_of(lever));
    put_next(emit, lever);
    emit_text(emit, lever->text);
}

static bool any_outdone(const struct levers *levers)
{
    for (size_t i = 0; i < levers->count; i++)
        if (is_outdone(&levers->levers[i]))
            return true;
    return false;
}

/* One of that kind is an 'at most'. */
static bool any_bound(const struct levers *levers, enum lever_kind kind)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].kind == kind && levers->levers[i].at_most)
            return true;
    return false;
}

/* A line for people, a note for programs: both end up where they are looked for. */
static void say(const struct peak_part *part, const char *text)
{
    if (part->emit->format == EMIT_TABLE)
        emit_line(part->emit, "%s", text);
    else
        emit_note(part->emit, "process %" PRId64 " on %s: levers: %s", part->scope->process.id,
                  part->scope->device_text, text);
}

void peak_put_why_none(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    struct buf text = {0};
    char floor[HUMAN_MAX], tried[HUMAN_MAX];
    if (levers->state == LEVERS_NO_STEP)
        buf_text(&text, "the peak is in no training step: changes to a step are not tried");
    else if (levers->state == LEVERS_TOO_LARGE)
        buf_text(&text, "the step of the peak has too many blocks to look for what changes it");
    else if (levers->floor >= levers->peak - levers->peak / 100)
        buf_print(&text,
                  "nothing: memory was as high before the first step (%s), where no change to a "
                  "step reaches",
                  human_bytes(floor, levers->floor));
    else if (levers->tried == 0)
        buf_text(&text, "no change was found that could be tried");
    else if (levers->tried == 1)
        buf_text(&text, "the one change that was tried saves less than 1 %");
    else
        buf_print(&text, "none of the %s changes that were tried saves 1 %% or more",
                  human_count(tried, (int64_t)levers->tried));
    say(part, buf_string(&text));
    part->emit->out.broken = part->emit->out.broken || text.broken;
    buf_clear(&text);
}

/* Where not all steps are done again, what those before them had reserved stays in the cache, where
 * the same change made in them, too, would not have needed it. */
static bool is_kept_by_earlier_steps(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    for (size_t i = 0; i < levers->count && !levers->whole && part->step_before != PEAK_NONE; i++)
        if (levers->levers[i].reserved != LEVERS_NONE &&
            levers->levers[i].reserved < levers->levers[i].bytes / 2)
            return true;
    return false;
}

/* No change of gradients or of optimizer state reaches them. */
static void put_frozen(const struct peak_part *part)
{
    char bytes[HUMAN_MAX];
    if (part->levers.frozen >= part->levers.peak / 100 && part->levers.frozen > 0)
        emit_line(part->emit, "frozen parameters: %s have no gradient and no optimizer state",
                  human_bytes(bytes, part->levers.frozen));
}

/* What the column 'off reserved' goes by. */
static void put_licence(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    char now[HUMAN_MAX], recorded[HUMAN_MAX];
    struct buf text = {0};
    if (levers->simulated)
        buf_print(&text,
                  "savings of reserved by replay with PyTorch's policy, not this program's: replay "
                  "reserves %s where it had %s",
                  human_bytes(now, levers->simulated), human_bytes(recorded, part->peak->reserved));
    else if (levers->unsettled)
        buf_text(&text,
                 "savings of reserved are not known: a replay of this recording reserves other "
                 "segments than it did");
    if (text.count)
        say(part, buf_string(&text));
    if (is_kept_by_earlier_steps(part))
        say(part, "savings of reserved with the change in these steps only: earlier steps "
                  "keep their segments; the change in all steps may save more");
    part->emit->out.broken = part->emit->out.broken || text.broken;
    buf_clear(&text);
}

/* Under the table, what the promises in it depend on. */
static void put_conditions(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    if (!levers->count)
        peak_put_why_none(part);
    if (any_outdone(levers))
        emit_line(part->emit, "of what it holds there: without it, another moment of the step is "
                              "the highest");
    if (any_bound(levers, LEVER_HELD))
        emit_line(part->emit, "del helps if nothing in backward needs it");
    if (any_bound(levers, LEVER_CHECKPOINT))
        emit_line(part->emit,
                  "what is checkpointed is computed again in backward, and takes memory then");
    put_frozen(part);
    if (levers->count)
        put_licence(part);
}

/* Those of one group; people see each under a heading of its own. */
static void put_group(const struct peak_part *part, bool changes)
{
    const struct levers *levers = &part->levers;
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].changes == changes)
            put_lever(part, &levers->levers[i]);
}

static bool any_in(const struct levers *levers, bool changes)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].changes == changes)
            return true;
    return false;
}

void peak_put_levers(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    if (part->emit->format == EMIT_TABLE && !levers->count) {
        emit_heading(part->emit, "Changes that lower the peak");
        peak_put_why_none(part);
        return;
    }
    bool people = part->emit->format == EMIT_TABLE;
    if (!people || any_in(levers, false))
        EMIT_SECTION(part->emit, "levers", "Changes that lower the peak", EMIT_ROWS,
                     peak_lever_columns);
    put_group(part, false);
    if (people && any_in(levers, true))
        EMIT_SECTION(part->emit, "levers_that_change",
                     "Changes that lower the peak and change results", EMIT_ROWS,
                     peak_lever_columns);
    put_group(part, true);
    put_conditions(part);
}

/* ---- what backward added ---- */

const struct emit_column peak_added_columns[PEAK_ADDED_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"each", NULL, EMIT_BYTES, 0},
    {"like", "the size of the output of", EMIT_TEXT, EMIT_WRAP | EMIT_NONE | EMIT_IF_KNOWN},
};

void peak_put_added(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    struct emit *emit = part->emit;
    bool people = emit->format == EMIT_TABLE;
    if (people && !levers->added_count)
        return;
    EMIT_SECTION(emit, "added_by_backward", "Added by backward: gradients and temporaries",
                 EMIT_ROWS, peak_added_columns);
    for (size_t i = 0; i < levers->added_count; i++) {
        const struct levers_added *added = &levers->added[i];
        peak_put_scope(part);
        emit_int(emit, added->bytes);
        emit_int(emit, added->blocks);
        emit_int(emit, added->each);
        emit_text(emit, added->like);
    }
}
