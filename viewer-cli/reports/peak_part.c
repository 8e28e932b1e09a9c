/*
 * What is read of one process on one device for the report of its peak.
 */
#include "human.h"
#include "peak_parts.h"

/* Programs get the highest point in any case, and the refusal in sections of its own. */
static int read_moment(struct report *report, struct peak_part *part, struct peak *peak)
{
    const struct option_range *steps = &report->options->steps;
    int err = peak_oom_read(report, part);
    if (err < 0)
        return err;
    if (part->ooms.shown && !part->went_on && report->emit.format == EMIT_TABLE)
        err = peak_oom_read_moment(report, part, peak);
    if (err < 0 || peak->found)
        return err;
    return peak_read(report->db, part->scope->process.id, part->scope->device, steps->first,
                     steps->last, (size_t)part->top, peak);
}

/* For people: programs have the sites' numbers. */
static int tell_apart(struct report *report, struct peak_part *part, struct peak *peak)
{
    int err = 0;
    if (report->emit.format != EMIT_TABLE)
        return 0;
    if (peak->found)
        err = groups_tell_apart(report->db, &peak->sites, (size_t)part->top);
    if (err >= 0 && part->changed)
        err = why_tell_apart(report->db, &part->change, PEAK_CHANGES);
    if (err >= 0 && part->ooms.shown)
        err = frag_tell_apart(report->db, &part->ooms.failures[0].frag, (size_t)part->top);
    return err;
}

/* Why it is higher than the step before, and what would lower it. */
static int read_causes(const struct report *report, struct peak_part *part)
{
    int err = peak_change_read(report->db, part);
    if (err >= 0)
        err = peak_growth_read(report->db, part);
    if (err >= 0)
        err = peak_running_read(report->db, part);
    return err < 0 ? err
                   : levers_read(report->db, part->peak,
                                 part->peak->refused || report_has_steps(report->options),
                                 &part->levers);
}

int peak_part_read(struct report *report, const struct report_scope *scope, int64_t top,
                   struct peak_part *part, struct peak *peak)
{
    *part = (struct peak_part){.emit = &report->emit, .scope = scope, .peak = peak, .top = top};
    int err = read_moment(report, part, peak);
    if (err >= 0)
        err = host_kill_read(report->db, scope->process.id, &part->kill);
    if (err >= 0 && peak->found)
        err = report_sees(report, scope->process.id, peak->seq);
    if (err >= 0 && peak->found)
        err = peak_read_ladder(report->db, part);
    if (err >= 0 && peak->found)
        err = read_causes(report, part);
    if (err >= 0)
        err = tell_apart(report, part, peak);
    if (err >= 0 && !peak->found)
        err = driven_part_read(report, scope, &part->driven);
    return err;
}

void peak_note_difference(struct emit *emit, const struct peak *peak)
{
    char seen[HUMAN_MAX], held[HUMAN_MAX];
    if (peak->bytes != peak->allocated)
        emit_note(emit, "the blocks known to live at the peak hold %s of the %s",
                  human_bytes(seen, peak->bytes), human_bytes(held, peak->allocated));
}

bool peak_part_shows(const struct peak_part *part)
{
    return part->peak->found || part->ooms.shown || part->driven.shown;
}

void peak_part_clear(struct peak_part *part)
{
    peak_change_clear(part);
    levers_clear(&part->levers);
    peak_oom_clear(part);
    growth_cause_clear(&part->growth_cause);
    running_clear(&part->running);
    driven_part_clear(&part->driven);
}
