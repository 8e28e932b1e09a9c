/* What a report notices of its recording: losses, its end, what was thinned out or not observed. */
#include <string.h>

#include "error.h"
#include "loss.h"
#include "mem.h"
#include "query.h"
#include "report_parts.h"
#include "thinned.h"
#include "unheard.h"

/* ---- of the whole ---- */

/* What was lost inside of what the report is about. */
static int read_loss(struct report *report, struct loss *loss)
{
    const struct option_range *steps = &report->options->steps;
    struct loss_span *spans = mem_alloc(report->process_count, sizeof *spans);
    int err = spans ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < report->process_count && err >= 0; i++) {
        spans[i] = (struct loss_span){report->processes[i].id, INT64_MAX};
        if (report_has_steps(report->options))
            err = loss_end_of_steps(report->db, steps->first, steps->last, &spans[i]);
    }
    if (err >= 0)
        err = loss_read(report->db, spans, report->process_count, loss);
    mem_free(spans);
    return err;
}

static int notice_loss(struct report *report)
{
    struct report_warning warning = {.kind = WARNING_DAMAGED};
    int err = read_loss(report, &warning.loss);
    if (err >= 0 && warning.loss.damage.any)
        report_notice(report, &warning);
    warning.kind = WARNING_REPAIRED;
    if (err >= 0 && *warning.loss.repaired)
        report_notice(report, &warning);
    warning.kind = WARNING_LOST;
    if (err >= 0 && warning.loss.events)
        report_notice(report, &warning);
    return err;
}

static int notice_end(struct report *report)
{
    struct report_warning warning = {.kind = WARNING_UNFINISHED, .unfinished.db = report->db};
    bool finished;
    int err = loss_read_finished(report->db, &finished, &warning.unfinished.last_ns);
    if (err >= 0 && !finished && !report->following)
        report_notice(report, &warning);
    return err;
}

/* Processes whose allocator is CUDA's own, of which PyTorch's hooks hear nothing: by what PyTorch
 * said, or where it said nothing, by the settings that it was given. `driver`: CUPTI saw memory. */
static const char unseen_sql[] =
    "SELECT s.process, EXISTS (SELECT 1 FROM driver_memory m WHERE m.process = s.process"
    "                             AND m.device IS NOT NULL) AS drives"
    "  FROM (SELECT process, max(CASE key WHEN 'allocator' THEN value END) AS allocator,"
    "               max(CASE key WHEN 'alloc_conf' THEN replace(value, ' ', '') END) AS conf"
    "          FROM setting GROUP BY process) s"
    " WHERE coalesce(s.allocator = 'cudaMallocAsync',"
    "                ',' || s.conf || ',' LIKE '%,backend:cudaMallocAsync,%')"
    " ORDER BY s.process";

/* Of processes of an armed program: what was live as their recording began. */
static const char middle_sql[] =
    "SELECT process, max(CASE key WHEN 'earlier_blocks' THEN CAST(value AS INTEGER) END) AS blocks,"
    "       max(CASE key WHEN 'earlier_bytes' THEN CAST(value AS INTEGER) END) AS bytes"
    "  FROM setting WHERE key IN ('earlier_blocks', 'earlier_bytes')"
    " GROUP BY process HAVING blocks >= 0 AND bytes >= 0 ORDER BY process";

static int notice_middle(struct report *report)
{
    struct report_warning warning = {.kind = WARNING_MIDDLE};
    int64_t process, blocks, bytes;
    bool any = false;
    struct query query = query_ask(report->db, middle_sql, Q_NOTHING,
                                   Q_OUT(Q_INT(process), Q_INT(blocks), Q_INT(bytes)));
    while (query_next(&query)) {
        if (!report_process_of(report, process))
            continue;
        any = true;
        warning.middle.blocks += blocks;
        warning.middle.bytes += bytes;
    }
    int err = query_end(&query);
    if (err >= 0 && any)
        report_notice(report, &warning);
    return err;
}

static bool asks_for_gpu(const struct report *report)
{
    const char *device = report->options->device;
    return !device || strcmp(device, "cpu") != 0;
}

static int notice_unseen(struct report *report)
{
    struct report_warning warning = {.kind = WARNING_UNSEEN};
    int64_t process;
    bool drives;
    if (!asks_for_gpu(report))
        return 0;
    struct query query =
        query_ask(report->db, unseen_sql, Q_NOTHING, Q_OUT(Q_INT(process), Q_INT(drives)));
    while (query_next(&query)) {
        if (!report_process_of(report, process))
            continue;
        if (!warning.unseen.count++)
            warning.unseen.first = process;
        warning.unseen.driver = warning.unseen.driver || drives;
    }
    int err = query_end(&query);
    if (err >= 0 && warning.unseen.count)
        report_notice(report, &warning);
    return err;
}

/* What was thinned of all that the report asks for. A stretch may reach beyond that. */
static int count_thinned(const struct report *report, const char *what, int64_t *count)
{
    const struct option_range *steps = &report->options->steps;
    int err = 0;
    for (size_t i = 0; i < report->process_count && err >= 0; i++) {
        struct thinned one = {0};
        int64_t process = report->processes[i].id, first = 0, last = INT64_MAX;
        if (report_has_steps(report->options))
            err = thinned_span_of_steps(report->db, process, steps->first, steps->last, &first,
                                        &last);
        if (err >= 0)
            err = thinned_read(report->db, what, process, first, last, &one);
        *count += one.count;
    }
    return err;
}

bool report_lacks_steps(const struct report *report)
{
    int64_t count = 0;
    return report_has_steps(report->options) && count_thinned(report, "phases", &count) >= 0 &&
           count > 0;
}

/* Reports that look at a whole run, or at all of some steps. */
static int notice_thinning(struct report *report)
{
    struct report_warning warning = {
        .kind = WARNING_THINNED,
        .thinned = {.what = report->needs ? report->needs : report->command->thinned,
                    .of_steps = report_has_steps(report->options)},
    };
    if (!warning.thinned.what)
        return 0;
    int err = count_thinned(report, warning.thinned.what, &warning.thinned.count);
    if (err >= 0 && warning.thinned.count)
        report_notice(report, &warning);
    return err;
}

int report_notice_all(struct report *report)
{
    int err = notice_end(report);
    if (err >= 0)
        err = notice_middle(report);
    if (err >= 0)
        err = notice_unseen(report);
    if (err >= 0)
        err = notice_loss(report);
    return err < 0 ? err : notice_thinning(report);
}

/* ---- of moments and steps ---- */

void report_needs_steps(struct report *report)
{
    if (report_has_steps(report->options))
        report->needs = "phases";
}

int report_sees_blocks(struct report *report, int64_t process, int64_t seq)
{
    const struct report_warning warning = {.kind = WARNING_THINNED_HERE}, *last;
    struct thinned thinned;
    int err = thinned_read(report->db, "blocks", process, seq, seq, &thinned);
    if (err == 0 && thinned.count && !report_noticed(report, WARNING_THINNED_HERE, &last))
        report_notice(report, &warning);
    return err < 0 ? err : 0;
}

/* A CPU has no driver. */
static bool has_driver(const struct report *report, int64_t process)
{
    for (size_t i = 0; i < report->scope_count; i++)
        if (report->scopes[i].process.id == process && !report_is_host(&report->scopes[i]))
            return true;
    return false;
}

/* Moments that lie in the same gaps are named once. */
static int hears(struct report *report, int64_t process, int64_t first_seq, int64_t last_seq)
{
    struct report_warning warning = {.kind = WARNING_UNHEARD, .unheard.process = process};
    const struct report_warning *last;
    struct unheard *gaps = &warning.unheard.gaps;
    if (!has_driver(report, process))
        return 0;
    int err = unheard_read(report->db, process, first_seq, last_seq, gaps);
    if (err >= 0 && gaps->count &&
        (!report_noticed(report, WARNING_UNHEARD, &last) ||
         last->unheard.gaps.first_seq != gaps->first_seq))
        report_notice(report, &warning);
    return err;
}

int report_sees(struct report *report, int64_t process, int64_t seq)
{
    int err = report_sees_blocks(report, process, seq);
    return err < 0 ? err : hears(report, process, seq, seq);
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
            err = hears(report, span.process, first, span.last_seq);
    }
    return err;
}
