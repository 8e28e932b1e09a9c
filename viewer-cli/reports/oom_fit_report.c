/*
 * What would have let a refused request through, for people and for programs.
 */
#include "oom_report.h"

#include <stdio.h>
#include <string.h>

#include "human.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *conf_text(const char *conf)
{
    return *conf ? conf : "default";
}

/* ---- for people ---- */

static const struct emit_column people_columns[] = {
    {NULL, "through", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "settings", EMIT_TEXT, EMIT_PEOPLE},
};

static void put_settings(const struct emit_column *columns, size_t count,
                         const struct oom_part *part)
{
    struct emit *emit = part->emit;
    emit_section(emit, "oom_settings", "Settings that let the request through, by replay",
                 EMIT_ROWS, columns, count);
    for (size_t i = 0; i < part->fit->count; i++) {
        const struct oom_setting *setting = &part->fit->settings[i];
        char text[200];
        snprintf(text, sizeof text, "%.180s%s", conf_text(setting->text), i ? "" : ", as recorded");
        emit_text(emit, oom_through_text(setting->through));
        emit_text(emit, text);
    }
}

static bool any_perhaps(const struct oom_fit *fit)
{
    for (size_t i = 0; i < fit->count; i++)
        if (fit->settings[i].through == OOM_PERHAPS)
            return true;
    return false;
}

/* A unit that both have is said once. */
static void put_bounds(struct emit *emit, const struct oom_fit *fit)
{
    char low[HUMAN_MAX], high[HUMAN_MAX];
    if (fit->exact)
        return;
    char *unit = strchr(human_bytes(low, fit->low), ' ');
    const char *other = strchr(human_bytes(high, fit->high), ' ');
    if (unit && other && strcmp(unit, other) == 0)
        *unit = '\0';
    if (fit->low < fit->high)
        emit_line(emit, "the limit was between %s and %s", low, high);
    else
        emit_line(emit, "the limit was %s", high);
    if (any_perhaps(fit))
        emit_line(emit, "perhaps: with the most of that, not with the least");
}

static void put_needed(struct emit *emit, const struct oom_fit *fit)
{
    char needed[HUMAN_MAX], more[HUMAN_MAX] = "";
    if (fit->needed == OOM_NONE)
        return;
    human_bytes(needed, fit->needed);
    if (fit->exact)
        emit_line(emit, "with %s for the allocator this request goes through: %s more", needed,
                  human_bytes(more, fit->needed - fit->high));
    else
        emit_line(emit, "with %s for the allocator this request goes through", needed);
}

static void put_why_not(struct emit *emit, const struct oom *oom, const struct oom_fit *fit)
{
    char count[HUMAN_MAX];
    switch (fit->state) {
    case OOM_FIT_DONE:
        break;
    case OOM_FIT_CPU:
        break; /* the host knows no settings of the allocator */
    case OOM_FIT_NO_MEMORY:
        emit_line(emit, "whether settings would have helped: not known, for neither a limit "
                        "nor what was reserved is");
        break;
    case OOM_FIT_LARGE:
        emit_line(emit,
                  "whether settings would have helped: left out after %s events; "
                  "tidemark frag --oom",
                  human_count(count, oom->seq));
        break;
    case OOM_FIT_DIFFERS:
        emit_line(emit, "whether settings would have helped: not known, a replay gets it "
                        "through with the recorded settings");
        break;
    }
}

static void put_none(const struct oom_part *part)
{
    const char *where = "";
    char bytes[HUMAN_MAX];
    if (!part->in_peak)
        where = ": tidemark peak --levers";
    else if (part->levers)
        where = ": see 'Changes that lower the peak' below";
    if (part->fit->short_by != OOM_NONE && part->fit->short_by > 0)
        emit_line(part->emit, "%s less have to be in use%s",
                  human_bytes(bytes, part->fit->short_by), where);
    else
        emit_line(part->emit, "less has to be in use%s", where);
}

void oom_fit_put_people(const struct oom_part *part, const struct oom *oom)
{
    const struct oom_fit *fit = part->fit;
    put_why_not(part->emit, oom, fit);
    if (fit->state != OOM_FIT_DONE)
        return;
    /* Among other things, a table that says no six times is no help. */
    if (fit->helping || !part->in_peak)
        put_settings(people_columns, COUNT(people_columns), part);
    else
        emit_line(part->emit, "by replay, no setting of the allocator lets it through");
    put_bounds(part->emit, fit);
    put_needed(part->emit, fit);
    if (!fit->helping)
        put_none(part);
}

/* ---- for programs ---- */

static const struct emit_column memory_columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, 0},
    {"seq", NULL, EMIT_PLAIN, 0},
    {"replay", NULL, EMIT_TEXT, 0},
    {"memory_least", NULL, EMIT_BYTES, 0},
    {"memory_most", NULL, EMIT_BYTES, 0},
    {"short_by", NULL, EMIT_BYTES, 0},
    {"needed", NULL, EMIT_BYTES, 0},
    {"settings_that_help", NULL, EMIT_COUNT, 0},
};

static const struct emit_column setting_columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},  {"device", NULL, EMIT_TEXT, 0},
    {"seq", NULL, EMIT_PLAIN, 0},      {"settings", NULL, EMIT_TEXT, 0},
    {"recorded", NULL, EMIT_PLAIN, 0}, {"through", NULL, EMIT_TEXT, 0},
    {"retries", NULL, EMIT_COUNT, 0},
};

static void put_scope(const struct oom_part *part)
{
    emit_int(part->emit, part->scope->process.id);
    emit_text(part->emit, part->scope->device_text);
    emit_int(part->emit, part->ooms->failures[part->ooms->shown - 1].seq);
}

static void put_memory_row(const struct oom_part *part)
{
    static const char *const states[] = {"done", "host memory", "memory not known",
                                         "too many events", "goes another way"};
    const struct oom_fit *fit = part->fit;
    struct emit *emit = part->emit;
    put_scope(part);
    emit_text(emit, states[fit->state]);
    emit_known(emit, fit->low);
    emit_known(emit, fit->high);
    emit_known(emit, fit->short_by);
    emit_known(emit, fit->needed);
    if (fit->state == OOM_FIT_DONE)
        emit_int(emit, (int64_t)fit->helping);
    else
        emit_null(emit);
}

static void put_setting_rows(const struct oom_part *part)
{
    for (size_t i = 0; i < part->fit->count; i++) {
        const struct oom_setting *setting = &part->fit->settings[i];
        put_scope(part);
        emit_text(part->emit, setting->text);
        emit_int(part->emit, i == 0);
        emit_text(part->emit, oom_through_text(setting->through));
        emit_int(part->emit, setting->retries);
    }
}

void oom_fit_put_programs(struct emit *emit, const struct oom_part *parts, size_t count)
{
    EMIT_SECTION(emit, "oom_memory", NULL, EMIT_ROWS, memory_columns);
    for (size_t i = 0; i < count; i++)
        if (parts[i].fit && parts[i].ooms->shown)
            put_memory_row(&parts[i]);
    EMIT_SECTION(emit, "oom_settings", NULL, EMIT_ROWS, setting_columns);
    for (size_t i = 0; i < count; i++)
        if (parts[i].fit && parts[i].ooms->shown)
            put_setting_rows(&parts[i]);
}
