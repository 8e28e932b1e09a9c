/*
 * The newest out-of-memory event of a process, as part of its peak's report.
 */
#include <inttypes.h>
#include <stdio.h>

#include "instant.h"
#include "error.h"
#include "human.h"
#include "mem.h"
#include "oom_report.h"
#include "peak_parts.h"

enum { EVENTS_MOST = 1000000 }; /* a replay of more takes longer than a report may */

int peak_oom_read(struct report *report, struct peak_part *part)
{
    const struct option_range *steps = &report->options->steps;
    const int64_t process = part->scope->process.id, device = part->scope->device;
    int err = oom_read_newest(report->db, process, device, steps->first, steps->last,
                              (size_t)part->top, &part->ooms);
    if (err < 0 || !part->ooms.shown)
        return err;
    const struct oom *oom = &part->ooms.failures[0];
    err = oom_fit_read(report->db, process, device, oom, EVENTS_MOST, &part->oom_fit);
    return err < 0 ? err : oom_went_on(report->db, process, device, oom->seq, &part->went_on);
}

int peak_oom_read_moment(struct report *report, struct peak_part *part, struct peak *out)
{
    const struct option_range *steps = &report->options->steps;
    const int64_t process = part->scope->process.id, device = part->scope->device;
    const struct oom *oom = &part->ooms.failures[0];
    const struct instant moment = {.seq = oom->seq,
                                   .at_ns = oom->at_ns,
                                   .allocated = oom->allocated,
                                   .reserved = oom->reserved,
                                   .phase = oom->phase_id,
                                   .step = oom->step};
    int err = peak_find(report->db, process, device, steps->first, steps->last, &part->highest);
    if (err < 0 || !part->highest.found)
        return err;
    return peak_read_refusal(report->db, process, device, &moment, (size_t)part->top, out);
}

void peak_oom_clear(struct peak_part *part)
{
    peak_clear(&part->highest);
    ooms_clear(&part->ooms);
    oom_fit_clear(&part->oom_fit);
}

static struct oom_part oom_part_of(const struct peak_part *part)
{
    return (struct oom_part){.emit = part->emit,
                             .scope = part->scope,
                             .ooms = &part->ooms,
                             .top = part->top,
                             .in_peak = true,
                             .levers = part->levers.count > 0,
                             .fit = part->ooms.shown ? &part->oom_fit : NULL};
}

void peak_oom_highest(const struct peak_part *part, struct buf *out)
{
    const struct peak *highest = &part->highest;
    char bytes[HUMAN_MAX], remark[PEAK_REMARK], step[40] = "";
    if (highest->step != PEAK_NONE)
        snprintf(step, sizeof step, "step %" PRId64 ", ", highest->step);
    buf_print(out, "highest: %s in %s%s%s", human_bytes(bytes, highest->allocated), step,
              highest->phase_path ? highest->phase_path : "no phase", peak_remark(remark, highest));
}

static void put_highest(const struct peak_part *part)
{
    struct buf line = {0};
    peak_oom_highest(part, &line);
    emit_line(part->emit, "%s", buf_string(&line));
    part->emit->out.broken = part->emit->out.broken || line.broken;
    buf_clear(&line);
}

void peak_put_oom(const struct peak_part *part)
{
    const struct oom_part oom = oom_part_of(part);
    if (part->ooms.shown)
        oom_put_brief(&oom, part->went_on ? "It ran out of memory, and went on" : NULL);
    if (part->peak->refused)
        put_highest(part);
}

void peak_put_refusal(const struct peak_part *part)
{
    const struct oom_part oom = oom_part_of(part);
    oom_put_refusal(&oom, part->went_on);
}

int peak_put_oom_programs(struct report *report, const struct peak_part *all)
{
    size_t count = report->scope_count;
    struct oom_part *parts = mem_alloc(count + 1, sizeof *parts);
    if (!parts)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        parts[i] = oom_part_of(&all[i]);
    oom_put_programs(&report->emit, parts, count);
    mem_free(parts);
    return 0;
}
