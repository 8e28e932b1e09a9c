/*
 * tidemark ladder: requested, allocated, reserved, used on the device; the gaps.
 */
#include <inttypes.h>

#include "driven_report.h"
#include "human.h"
#include "ladder_report.h"
#include "ladder_stack.h"
#include "moment.h"
#include "rank_fold.h"
#include "report.h"

struct seen { /* of all places */
    struct ladder_stack stack;
    struct rank_fold alike;
};

static int put_people(struct report *report, const struct report_scope *scope,
                      const struct instant *instant, const struct ladder *ladder,
                      struct rank_fold *alike)
{
    char time[HUMAN_MAX];
    const struct emit_mark begin = emit_here(&report->emit);
    report_heading(report, "The ladder", scope);
    emit_line(&report->emit, "%s (seq %" PRId64 ", %s)", instant->label, instant->seq,
              human_ns(time, instant->at_ns));
    const struct emit_mark body = emit_here(&report->emit);
    ladder_put(&report->emit, scope, ladder, NULL, true);
    return rank_fold_see(alike, &report->emit, scope, &begin, &body, instant->label);
}

/* A sample is older than the moment: memory that no source reported in between is in its gap. */
static void note_sample(struct emit *emit, const struct report_scope *scope,
                        const struct instant *instant, const struct ladder_facts *facts)
{
    char age[HUMAN_MAX];
    int64_t late =
        facts->is_host && facts->host.rss != LADDER_NONE ? facts->host.at_ns - instant->at_ns : 0;
    if (late)
        emit_note(emit, "process %" PRId64 " on %s: RSS was read %s %s that moment",
                  scope->process.id, scope->device_text, human_ns(age, late < 0 ? -late : late),
                  late < 0 ? "before" : "after");
    if (facts->sampled_ns != LADDER_NONE && facts->sampled_ns < instant->at_ns)
        emit_note(emit, "process %" PRId64 " on %s: device used was read %s before that moment%s",
                  scope->process.id, scope->device_text,
                  human_ns(age, instant->at_ns - facts->sampled_ns),
                  facts->outside.told ? "; allocations and frees of the driver since then are added"
                                      : "");
}

/* Where allocated is the lowest rung, no gap of the ladder has what no block explains. */
static void note_unseen(struct emit *emit, const struct report_scope *scope,
                        const struct ladder_facts *facts)
{
    char seen[HUMAN_MAX], all[HUMAN_MAX];
    int64_t allocated = facts->bytes[LADDER_ALLOCATED];
    if (facts->bytes[LADDER_REQUESTED] == LADDER_NONE && facts->living != LADDER_NONE &&
        allocated != LADDER_NONE && allocated != facts->living)
        emit_note(emit, "process %" PRId64 " on %s: the blocks that were seen hold %s of the %s",
                  scope->process.id, scope->device_text, human_bytes(seen, facts->living),
                  human_bytes(all, allocated));
}

static int put_scope(struct report *report, const struct report_scope *scope,
                     const struct instant *instant, const void *how)
{
    struct ladder_facts facts;
    struct ladder ladder;
    struct seen *const *seen = how;
    int err = ladder_read(report->db, scope->process.id, scope->device, instant, &facts);
    if (err < 0)
        return err;
    ladder_make(&facts, &ladder);
    if (report->emit.format == EMIT_TABLE)
        err = put_people(report, scope, instant, &ladder, &(*seen)->alike);
    else
        ladder_put(&report->emit, scope, &ladder, NULL, true);
    note_unseen(&report->emit, scope, &facts);
    note_sample(&report->emit, scope, instant, &facts);
    return err < 0 ? err : ladder_stack_see(&(*seen)->stack, scope, instant);
}

static int put_all(struct report *report, const char *moment, const void *options)
{
    struct seen all = {0}, *const seen = &all;
    (void)options;
    if (report->emit.format != EMIT_TABLE)
        EMIT_SECTION(&report->emit, "ladder", NULL, EMIT_ROWS, ladder_columns);
    int err = moment_each(report, moment, driven_moment_find, put_scope, &seen);
    if (err >= 0 && report->emit.format != EMIT_CSV)
        err = ladder_stack_put(report, &all.stack);
    rank_fold_note(&report->emit, &all.alike, "ladder");
    rank_fold_clear(&all.alike);
    ladder_stack_clear(&all.stack);
    return err;
}

static int cmd_ladder(const struct command_call *call)
{
    struct report_options options = REPORT_OPTIONS;
    return moment_report(call, &options, put_all);
}

const struct command command_ladder = {
    .name = "ladder",
    .group = COMMAND_LOOK,
    .run = cmd_ladder,
    .summary = "requested, allocated, reserved, used on the device; the gaps",
    .arguments = "[DATABASE] [MOMENT]",
    .shared = &report_shared,
    .most = 2,
    .description =
        "At one moment, for each process and device: what the program requested; allocated, the "
        "bytes of the live blocks; active, with blocks that were freed while a "
        "stream still used them; reserved, the allocator's segments; the memory of the process; "
        "and the memory in use on the device. Each line has the difference to the line before, "
        "and the name of that gap. Quantities that the source does not report are listed below, "
        "and the gap above them has several names. The line 'unattributed' has bytes that the "
        "source counts as allocated without reporting a block; with that line, the gaps add up.\n"
        "\n"
        "Where the driver's memory was recorded, the memory of each library has a line of its own "
        "above reserved, and so has the memory in use when the device was first sampled: the "
        "context and, unless the process was sampled, other processes. 'unattributed' is then "
        "the rest of the memory in use. Where no framework reported a block, only these lines are "
        "shown: driver memory by library.\n"
        "\n"
        "Where a device has several processes, what they hold together at one moment comes last.\n"
        "\n"
        "A moment is a step (its highest point), a step and a phase (7/backward: the end of that "
        "phase), a time (@1.5s), 'peak' or 'end'. Default: the peak, of --steps where that option "
        "is passed.",
    .examples =
        {
            {"tidemark ladder", "at the peak of the newest recording in this folder"},
            {"tidemark ladder run.db end", "at the end of the run"},
            {"tidemark ladder run.db 2/backward", "as backward of step 2 ended"},
        },
};
