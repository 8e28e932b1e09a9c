/*
 * tidemark live: what was live at one moment, by kind of memory, by phase and by call site.
 *
 * The tables are those of `tidemark peak`, with another moment in the peak's place.
 */
#include <inttypes.h>
#include <stddef.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "moment.h"
#include "peak.h"
#include "peak_parts.h"
#include "report.h"

struct live_options {
    struct report_options common;
    int64_t top;
};

/* A process on a device at its moment. */
struct live_scope {
    struct instant instant;
    struct peak peak;
    struct peak_part part; /* of it; no more than the groupings ask for */
};

/* In the order of the report's scopes; those without such a moment are left out. */
struct live {
    struct live_scope *scopes; /* room for all */
    size_t count;
    int64_t top;
};

static const enum peak_table_name tables[] = {PEAK_KINDS, PEAK_PHASES, PEAK_SITES};

static const struct emit_column moment_columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},    {"device", NULL, EMIT_TEXT, 0},
    {"moment", NULL, EMIT_TEXT, 0},      {"step", NULL, EMIT_PLAIN, 0},
    {"phase", NULL, EMIT_TEXT, 0},       {"phase_path", NULL, EMIT_TEXT, 0},
    {"at_ns", NULL, EMIT_NS, 0},         {"seq", NULL, EMIT_PLAIN, 0},
    {"allocated", NULL, EMIT_BYTES, 0},  {"reserved", NULL, EMIT_BYTES, 0},
    {"live_bytes", NULL, EMIT_BYTES, 0}, {"live_blocks", NULL, EMIT_COUNT, 0},
};

/* ---- reading ---- */

static int read_scope(struct report *report, const struct report_scope *scope,
                      const struct instant *instant, const void *how)
{
    struct live *live = *(struct live *const *)how;
    struct live_scope *at = &live->scopes[live->count++];
    at->instant = *instant;
    at->part = (struct peak_part){
        .emit = &report->emit, .scope = scope, .peak = &at->peak, .top = live->top};
    int err = peak_read_at(report->db, scope->process.id, scope->device, instant, (size_t)live->top,
                           &at->peak);
    if (err == 0 && report->emit.format == EMIT_TABLE)
        err = groups_tell_apart(report->db, &at->peak.sites, (size_t)live->top);
    return err;
}

/* ---- printing ---- */

static void put_moment(struct emit *emit, const struct live_scope *at)
{
    peak_put_scope(&at->part);
    emit_text(emit, at->instant.label);
    emit_known(emit, at->peak.step);
    emit_text(emit, at->peak.phase_name);
    emit_text(emit, at->peak.phase_path);
    emit_int(emit, at->peak.at_ns);
    emit_int(emit, at->peak.seq);
    emit_int(emit, at->peak.allocated);
    emit_known(emit, at->peak.reserved);
    emit_int(emit, at->peak.bytes);
    emit_int(emit, at->peak.blocks);
}

static void put_for_people(struct report *report, const struct live_scope *at)
{
    char time[HUMAN_MAX], bytes[HUMAN_MAX], blocks[HUMAN_MAX];
    report_heading(report, "Live memory", at->part.scope);
    emit_line(&report->emit, "%s (seq %" PRId64 ", %s): %s in %s block%s", at->instant.label,
              at->instant.seq, human_ns(time, at->instant.at_ns),
              human_bytes(bytes, at->peak.bytes), human_count(blocks, at->peak.blocks),
              at->peak.blocks == 1 ? "" : "s");
    for (size_t i = 0; at->peak.blocks && i < sizeof tables / sizeof *tables; i++)
        peak_tables[tables[i]].put(&at->part);
}

/* The sections are there even without a row. */
static void put_for_programs(struct report *report, const struct live *live)
{
    EMIT_SECTION(&report->emit, "moment", NULL, EMIT_ROWS, moment_columns);
    for (size_t i = 0; i < live->count; i++)
        put_moment(&report->emit, &live->scopes[i]);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const struct peak_table *table = &peak_tables[tables[t]];
        emit_section(&report->emit, table->key, NULL, EMIT_ROWS, table->columns,
                     table->column_count);
        for (size_t i = 0; i < live->count; i++)
            table->put(&live->scopes[i].part);
    }
}

static void put_live(struct report *report, const struct live *live)
{
    for (size_t i = 0; i < live->count && report->emit.format == EMIT_TABLE; i++)
        put_for_people(report, &live->scopes[i]);
    if (report->emit.format != EMIT_TABLE)
        put_for_programs(report, live);
}

/* ---- the command ---- */

static int put_all(struct report *report, const char *moment, const void *options)
{
    const struct live_options *asked = options;
    struct live live = {mem_alloc(report->scope_count, sizeof(struct live_scope)), 0, asked->top};
    struct live *how = &live;
    if (!live.scopes)
        return ERR_NOMEM;
    int err = moment_each(report, moment, moment_find, read_scope, &how);
    if (err >= 0)
        put_live(report, &live);
    for (size_t i = 0; i < live.count; i++)
        peak_clear(&live.scopes[i].peak);
    mem_free(live.scopes);
    return err;
}

static int cmd_live(const struct command_call *call)
{
    struct live_options options = {.common = REPORT_OPTIONS, .top = 10};
    return moment_report(call, &options, put_all);
}

static const struct option option_table[] = {
    {"top", 'n', OPT_INT, offsetof(struct live_options, top), "N", "N rows of each table (10)",
     NULL, 1},
    {0},
};

const struct command command_live = {
    .name = "live",
    .group = COMMAND_LOOK,
    .run = cmd_live,
    .summary = "what was live at one moment, by kind, phase and call site",
    .arguments = "[DATABASE] [MOMENT]",
    .options = option_table,
    .shared = &report_shared,
    .most = 2,
    .description =
        "The blocks that were live at one moment: by kind of memory, by the phase that allocated "
        "them, and by call site. These are the tables of 'tidemark peak' for any moment; by module "
        "'tidemark modules' has them.\n"
        "\n"
        "A moment is a step (its highest point), a step and a phase (7/backward: the end of that "
        "phase), a time (@1.5s), 'peak' or 'end'. Default: the peak, of --steps where that option "
        "is passed.\n"
        "\n"
        "In csv and json these are the sections moment, by_category, by_phase and by_site.",
    .examples =
        {
            {"tidemark live run.db 1/forward", "what forward of step 1 left for its backward"},
            {"tidemark live run.db end", "what was live when the program ended"},
            {"tidemark live run.db @1.5s --format json", "for a program"},
        },
};
