/*
 * What one rank holds beyond another, by kind, call site and module: diff's analysis, of two
 * processes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "modules.h"
#include "skew_report.h"

static const struct emit_column group_columns[] = {
    {"change", "difference", EMIT_DELTA, 0},
    {"a", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"b", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"a_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"b_blocks", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"category", "kind", EMIT_TEXT, 0},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME | EMIT_IF_KNOWN | EMIT_ROOMY},
};

static const struct emit_column module_columns[] = {
    {"change", "difference", EMIT_DELTA, 0},
    {"a", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"b", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"module", NULL, EMIT_TEXT, EMIT_NAME},
};

static void put_group(struct emit *emit, const struct diff_group *group)
{
    emit_int(emit, diff_change(group));
    emit_int(emit, group->bytes[DIFF_A]);
    emit_int(emit, group->bytes[DIFF_B]);
    emit_int(emit, group->blocks[DIFF_A]);
    emit_int(emit, group->blocks[DIFF_B]);
    emit_text(emit, diff_category(group));
    emit_text(emit, group->text);
    emit_text(emit, diff_group_shown(group));
}

static void put_groups(struct emit *emit, const struct skew_sides *sides, const struct diff *diff)
{
    int64_t rest = diff->allocated[DIFF_B] - diff->allocated[DIFF_A];
    size_t top = (size_t)sides->top, count = 0;
    char bytes[HUMAN_MAX], more[HUMAN_MAX];
    while (count < diff->group_count && diff_change(&diff->groups[count]))
        count++;
    EMIT_SECTION(emit, sides->lowest ? "lowest_groups" : "groups", sides->title, EMIT_ROWS,
                 group_columns);
    for (size_t i = 0; i < count && i < top; i++) {
        rest -= diff_change(&diff->groups[i]);
        put_group(emit, &diff->groups[i]);
    }
    if (count > top)
        emit_line(emit, "and %s in %s more group%s: --top shows them", human_delta(bytes, rest),
                  human_count(more, (int64_t)(count - top)), count - top == 1 ? "" : "s");
}

/* ---- modules: of one recording, so that both have the same tree ---- */

static int64_t change_of(const struct modules modules[DIFF_SIDES], size_t at)
{
    return module_own(&modules[DIFF_B].nodes[at]) - module_own(&modules[DIFF_A].nodes[at]);
}

/* The node that differs most and was not put yet; SIZE_MAX: none. */
static size_t next_node(const struct modules modules[DIFF_SIDES], const bool *done)
{
    size_t best = SIZE_MAX;
    int64_t most = 0;
    for (size_t i = 1; i < modules[DIFF_A].count; i++) {
        int64_t change = change_of(modules, i);
        change = change < 0 ? -change : change;
        if (!done[i] && change > most && modules[DIFF_A].nodes[i].path) {
            best = i;
            most = change;
        }
    }
    return best;
}

enum { MODULES = 3 };

static const char *modules_key(bool lowest)
{
    return lowest ? "lowest_modules" : "modules";
}

static int put_nodes(struct emit *emit, const struct modules modules[DIFF_SIDES], bool lowest)
{
    bool *done = mem_alloc(modules[DIFF_A].count + 1, sizeof *done);
    size_t most = emit->format == EMIT_TABLE ? MODULES : SIZE_MAX, at = 0;
    for (size_t n = 0; done && n < most; n++) {
        at = next_node(modules, done);
        if (at == SIZE_MAX)
            break;
        if (n == 0)
            EMIT_SECTION(emit, modules_key(lowest), "By module", EMIT_ROWS, module_columns);
        done[at] = true;
        emit_int(emit, change_of(modules, at));
        emit_int(emit, module_own(&modules[DIFF_A].nodes[at]));
        emit_int(emit, module_own(&modules[DIFF_B].nodes[at]));
        emit_text(emit, *modules[DIFF_A].nodes[at].path ? modules[DIFF_A].nodes[at].path
                                                        : modules[DIFF_A].nodes[at].class_name);
    }
    mem_free(done);
    return done ? 0 : ERR_NOMEM;
}

static int put_modules(struct emit *emit, const struct skew_sides *sides)
{
    struct modules modules[DIFF_SIDES] = {{0}};
    int err = 0;
    if (emit->format != EMIT_TABLE)
        EMIT_SECTION(emit, modules_key(sides->lowest), NULL, EMIT_ROWS, module_columns);
    if (sides->reports[DIFF_A] != sides->reports[DIFF_B])
        return 0;
    for (int side = 0; side < DIFF_SIDES && err == 0; side++) {
        const struct skew_place *place = sides->places[side];
        err = modules_read(sides->reports[side]->db, place->scope->process.id, place->scope->device,
                           place->peak.seq, &modules[side]);
    }
    if (err == 0 && modules[DIFF_A].known && modules[DIFF_A].count == modules[DIFF_B].count)
        err = put_nodes(emit, modules, sides->lowest);
    for (int side = 0; side < DIFF_SIDES; side++)
        modules_clear(&modules[side]);
    return err;
}

/* ---- both ---- */

int skew_put_holders(struct emit *emit, const struct skew_sides *sides)
{
    struct diff_side both[DIFF_SIDES];
    struct instant moments[DIFF_SIDES];
    struct diff diff;
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct skew_place *place = sides->places[side];
        both[side] = (struct diff_side){sides->reports[side]->db, place->scope->process.id,
                                        place->scope->device, 0};
        moments[side] = place->peak;
    }
    int err = diff_read(both, moments, &diff);
    if (err == 0) {
        put_groups(emit, sides, &diff);
        err = put_modules(emit, sides);
    } else if (both[DIFF_B].err) {
        sides->reports[DIFF_A]->at_fault = sides->reports[DIFF_B];
    }
    diff_clear(&diff);
    return err;
}

void skew_put_no_holders(struct emit *emit, bool lowest)
{
    if (emit->format == EMIT_TABLE)
        return;
    EMIT_SECTION(emit, lowest ? "lowest_groups" : "groups", NULL, EMIT_ROWS, group_columns);
    EMIT_SECTION(emit, modules_key(lowest), NULL, EMIT_ROWS, module_columns);
}
