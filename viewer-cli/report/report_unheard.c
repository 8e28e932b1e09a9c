/* What a report says of moments at which the driver was not heard. */
#include <inttypes.h>
#include <string.h>

#include "loss.h"
#include "unheard.h"
#include "buf.h"
#include "error.h"
#include "human.h"
#include "report.h"

/* A CPU has no driver. */
static bool has_driver(const struct report *report, int64_t process)
{
    for (size_t i = 0; i < report->scope_count; i++)
        if (report->scopes[i].process.id == process &&
            strcmp(report->scopes[i].device_text, "cpu") != 0)
            return true;
    return false;
}

static int warn(struct report *report, int64_t process, const struct unheard *unheard)
{
    struct buf text = {0};
    char from[HUMAN_MAX], to[HUMAN_MAX];
    bool open = unheard->end_ns == UNHEARD_OPEN;
    buf_print(&text, "process %" PRId64 ": the driver was not heard ", process);
    if (unheard->count > 1)
        buf_print(&text, "in %" PRId64 " stretches ", unheard->count);
    buf_print(&text, "from %s to %s", human_ns(from, unheard->begin_ns),
              open ? "the end" : human_ns(to, unheard->end_ns));
    if (unheard->why != UNHEARD_NOT_KNOWN)
        buf_print(&text, ": %s%s", unheard->name, unheard->why == UNHEARD_TOOL ? " had CUPTI" : "");
    emit_warning(&report->emit, "%s", buf_string(&text));
    int err = text.broken ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}

int report_hears(struct report *report, int64_t process, int64_t first_seq, int64_t last_seq)
{
    struct unheard unheard;
    if (!has_driver(report, process))
        return 0;
    int err = unheard_read(report->db, process, first_seq, last_seq, &unheard);
    if (err < 0 || !unheard.count || unheard.first_seq == report->unheard)
        return err;
    report->unheard = unheard.first_seq;
    return warn(report, process, &unheard);
}

int report_hears_steps(struct report *report)
{
    const struct option_range *steps = &report->options->steps;
    int err = 0;
    for (size_t i = 0; i < report->process_count && err >= 0; i++) {
        struct loss_span span = {report->processes[i].id, INT64_MAX};
        int64_t first = 0;
        if (report_has_steps(report->options))
            err = loss_end_of_steps(report->db, steps->first, steps->last, &span);
        if (err >= 0 && steps->first != INT64_MIN)
            err = loss_begin_of_step(report->db, span.process, steps->first, &first);
        if (err >= 0)
            err = report_hears(report, span.process, first, span.last_seq);
    }
    return err;
}
