/*
 * tidemark why: what changed between two moments.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "why.h"
#include "driven_report.h"
#include "error.h"
#include "human.h"
#include "log.h"
#include "mem.h"
#include "report.h"
#include "why_print.h"
#include "workers.h"

struct why_options {
    struct report_options common;
    int64_t top;
};

struct why_request { /* what the arguments say; NULL = left out */
    const char *database;
    char *first, *second;
};

/* Blocks that no birth is known of, or whose events were lost. */
static void note_difference(struct emit *emit, const struct why *why)
{
    char noted[HUMAN_MAX], seen[HUMAN_MAX];
    if (why->before.allocated == INSTANT_NONE || why->after.allocated == INSTANT_NONE)
        return;
    int64_t change = why->after.allocated - why->before.allocated;
    if (change != why->after_bytes - why->before_bytes)
        emit_note(emit, "the blocks known to live at the two moments explain %s of the %s",
                  human_delta(seen, why->after_bytes - why->before_bytes),
                  human_delta(noted, change));
}

/* The moments of one process on one device. A moment that is not there is nobody's mistake when
 * another process has it: *found stays false. */
static int find_moments(const struct report *report, const struct report_scope *scope,
                        const char *first, const char *second, struct instant *before,
                        struct instant *after)
{
    const struct option_range *steps = &report->options->steps;
    if (!first)
        return instant_last_steps(report->db, scope->process.id, scope->device, steps->first,
                                  steps->last, before, after);
    int err = instant_find(report->db, scope->process.id, scope->device, second, after);
    if (err) /* of "99", which is short for 98..99, the one that was typed is named */
        return err;
    err = instant_find(report->db, scope->process.id, scope->device, first, before);
    if (err == ERR_NOTFOUND)
        *after = *before;
    return err;
}

struct looks { /* all that is compared */
    struct why *whys;
    struct why_part *parts;
    size_t count;
    struct driven_part *driven; /* of scopes without a block */
    size_t driven_count;
    struct instant missing; /* the last moment that was not there */
};

/* Where blocks never were, what the driver gave is compared. */
static int look_at_driven(struct report *report, const struct report_scope *scope,
                          const char *first, const char *second, struct looks *looks)
{
    struct driven_part *part = &looks->driven[looks->driven_count++];
    int err = driven_part_change(report, scope, first, second, part);
    if (err == ERR_NOTFOUND && part->instant.label[0])
        looks->missing = part->instant;
    return err == ERR_NOTFOUND ? 0 : err;
}

static int look_at(struct report *report, const struct report_scope *scope, int64_t top,
                   const char *first, const char *second, struct looks *looks)
{
    struct instant before, after;
    bool driven = false;
    int err = driven_is(report->db, scope->process.id, scope->device, &driven);
    if (err == 0 && driven)
        return look_at_driven(report, scope, first, second, looks);
    if (err == 0)
        err = find_moments(report, scope, first, second, &before, &after);
    if (err == ERR_NOTFOUND) {
        looks->missing = after;
        if (first)
            report_misses(report, scope, &after);
        return 0;
    }
    if (err == 0)
        err = report_sees(report, scope->process.id, before.seq);
    if (err == 0)
        err = report_sees(report, scope->process.id, after.seq);
    if (err < 0)
        return err;
    struct why *why = &looks->whys[looks->count];
    looks->parts[looks->count++] = (struct why_part){&report->emit, scope, why, top};
    err = why_read(report->db, scope->process.id, scope->device, &before, &after, (size_t)top, why);
    if (err >= 0 && report->emit.format == EMIT_TABLE)
        err = why_tell_apart(report->db, why, (size_t)top);
    return err;
}

static void put_driven(struct report *report, const struct looks *looks, int64_t top)
{
    bool people = report->emit.format == EMIT_TABLE;
    for (size_t i = 0; i < looks->driven_count; i++) {
        const struct driven_part *part = &looks->driven[i];
        if (people && part->shown)
            report_heading(report, "Change", part->scope);
        driven_put_change(report, part);
        if (people)
            driven_put_groups(report, part, top);
    }
    for (size_t i = 0; !people && i < looks->driven_count; i++)
        driven_put_groups(report, &looks->driven[i], top);
}

static void say_nothing(struct report *report, const struct looks *looks, const char *first)
{
    for (size_t i = 0; i < looks->driven_count; i++)
        if (looks->driven[i].shown)
            return;
    if (looks->count)
        return;
    if (report->scope_count && first)
        report_no_moment(report, &looks->missing);
    else if (report->scope_count) {
        emit_note(&report->emit, "there are no two steps to compare: name two moments, A..B");
        report_note_steps(report);
    } else
        report_nothing(report);
}

static void put_looks(struct report *report, const struct looks *looks, int64_t top,
                      const char *first)
{
    say_nothing(report, looks, first);
    if (report->emit.format == EMIT_TABLE)
        why_print_people(report, looks->parts, looks->count);
    else
        why_print_programs(report, looks->parts, looks->count);
    put_driven(report, looks, top);
    for (size_t i = 0; i < looks->count; i++)
        note_difference(&report->emit, &looks->whys[i]);
}

static int put_all(struct report *report, int64_t top, const char *first, const char *second)
{
    struct looks looks = {
        .whys = mem_alloc(report->scope_count, sizeof *looks.whys),
        .parts = mem_alloc(report->scope_count, sizeof *looks.parts),
        .driven = mem_alloc(report->scope_count, sizeof *looks.driven),
    };
    int err = looks.whys && looks.parts && looks.driven ? workers_fold(report) : ERR_NOMEM;
    for (size_t i = 0; i < report->scope_count && err >= 0; i++)
        err = look_at(report, &report->scopes[i], top, first, second, &looks);
    if (!first)
        report_needs_steps(report);
    if (err >= 0)
        put_looks(report, &looks, top, first);
    for (size_t i = 0; i < looks.count; i++)
        why_clear(&looks.whys[i]);
    for (size_t i = 0; i < looks.driven_count; i++)
        driven_part_clear(&looks.driven[i]);
    mem_free(looks.whys);
    mem_free(looks.parts);
    mem_free(looks.driven);
    return err;
}

/* "3" is step 3 and the one before; "A.." is from A to the end. False: it is neither. */
static bool read_half(const char *text, char *first, char *second, size_t room)
{
    size_t size = strlen(text);
    int64_t step;
    if (option_read_int(text, &step) && step > 0) {
        snprintf(first, room, "%" PRId64, step - 1);
        snprintf(second, room, "%" PRId64, step);
        return true;
    }
    if (size < 3 || strcmp(text + size - 2, "..") != 0)
        return false;
    snprintf(first, room, "%.*s", (int)(size - 2), text);
    snprintf(second, room, "end");
    return instant_is_name(first);
}

/* The argument that names two moments, in one piece of memory: the first, then *second. NULL
 * without memory. */
static char *split_pair(const char *text, char **second)
{
    size_t size = strlen(text) + sizeof "end";
    char *first = mem_alloc(2, size);
    *second = first ? first + size : NULL;
    if (first && !read_half(text, first, *second, size) && !instant_pair(text, first, *second))
        *first = **second = '\0';
    return first;
}

/* Which of the arguments is the database, and which names the moments. Both may be left out. An
 * argument that is no pair of moments is a database: `../run.db` has two dots, too. */
static int read_arguments(const struct command_call *call, char **arguments, int count,
                          struct why_request *out)
{
    *out = (struct why_request){0};
    for (int i = 0; i < count; i++) {
        char *second, *first = split_pair(arguments[i], &second);
        if (!first) {
            log_say(LOG_ERROR, "%s", base_err_text(ERR_NOMEM));
            return EXIT_INTERNAL;
        }
        if (!out->first && instant_is_name(first) && instant_is_name(second)) {
            out->first = first;
            out->second = second;
            continue;
        }
        bool half = instant_is_name(first) || instant_is_name(second);
        mem_free(first);
        if (half || out->database)
            return command_misused(call->command, "'%s' is no pair of moments, such as 3..8",
                                   arguments[i]);
        out->database = arguments[i];
    }
    return 0;
}

static int cmd_why(const struct command_call *call)
{
    struct why_options options = {.common = REPORT_OPTIONS, .top = WHY_TOP};
    struct why_request request;
    struct report report;
    char **arguments;
    int count, code;

    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = read_arguments(call, arguments, count, &request);
    if (!code)
        code = report_begin(&report, call->command, &options.common, request.database);
    mem_free(arguments);
    if (!code)
        code = report_end(&report, put_all(&report, options.top, request.first, request.second));
    mem_free(request.first);
    return code;
}

static const struct option option_table[] = {
    {"top", 'n', OPT_INT, offsetof(struct why_options, top), "N", "N groups (12)", NULL, 1},
    {0},
};

const struct command command_why = {
    .name = "why",
    .group = COMMAND_LOOK,
    .run = cmd_why,
    .summary = "what changed between two moments, by kind and call site",
    .arguments = "[DATABASE] [A..B | N]",
    .options = option_table,
    .shared = &report_shared,
    .most = 2,
    .description =
        "Groups the live blocks of two moments by kind of memory and call site, and shows how much "
        "each group grew or shrank, largest first. The changes add up to the change of allocated, "
        "whatever was freed and allocated again in between. "
        "Where segments are known, they explain the change of reserved.\n"
        "\n"
        "A moment is a step (its highest point), a step and a phase (7/backward: the end of that "
        "phase; 7/backward#0: of the first of that name), a time (@1.5s), 'peak' or 'end'. "
        "3 is short for 2..3, and A.. for A..end. Without A..B: the highest points of the last two "
        "steps, or of the first and the last of "
        "--steps.\n"
        "\n"
        "On a device where no framework had a block, the memory from CUDA's driver is compared, by "
        "library and call.\n"
        "\n"
        "In csv and json these are the sections change, by_category, groups and segments, and "
        "driver_change and driver_groups where there is such a device.",
    .examples =
        {
            {"tidemark why", "why the last step's peak is not that of the one before"},
            {"tidemark why run.db 0..1", "why step 1 is higher than step 0"},
            {"tidemark why 0/forward..0/backward", "what backward left behind"},
            {"tidemark why @2s..end --top 30", "what grew after that"},
        },
};
