/* The last lines of a report: how far its numbers can be believed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "loss.h"
#include "query.h"
#include "thinned.h"
#include "buf.h"
#include "error.h"
#include "human.h"
#include "mem.h"
#include "report_parts.h"

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

static void warn_of_damage(const struct loss *loss, struct emit *emit, const char *whose)
{
    char number[HUMAN_MAX], time[HUMAN_MAX];
    human_ns(time, loss->damage.first_ns);
    if (loss->damage.most < 0)
        emit_warning(emit,
                     "%sapproximate from seq %" PRId64 " (%s): blocks are missing (damaged pages), "
                     "how many is not known",
                     whose, loss->damage.first_seq, time);
    else
        emit_warning(emit,
                     "%sapproximate from seq %" PRId64 " (%s): blocks are missing (damaged pages), "
                     "at most %s",
                     whose, loss->damage.first_seq, time, human_count(number, loss->damage.most));
}

static int warn_of_loss(struct report *report, struct emit *emit, const char *whose)
{
    struct loss loss;
    struct buf text = {0};
    char number[HUMAN_MAX], time[HUMAN_MAX];
    int err = read_loss(report, &loss);
    if (err >= 0 && loss.damage.any)
        warn_of_damage(&loss, emit, whose);
    if (err < 0 || loss.events == 0)
        return err;
    buf_print(&text, "%sapproximate from seq %" PRId64 " (%s): %s event%s lost (", whose,
              loss.first_seq, human_ns(time, loss.first_ns), human_count(number, loss.events),
              loss.events == 1 ? "" : "s");
    for (size_t i = 0; i < loss.kind_count; i++)
        buf_print(&text, "%s%s %s", i ? ", " : "", loss.kinds[i].name,
                  human_count(number, loss.kinds[i].n));
    buf_text(&text, ")");
    emit_warning(emit, "%s", buf_string(&text));
    err = text.broken ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}

static int warn_of_end(struct report *report, struct emit *emit, const char *whose)
{
    bool finished;
    int64_t last_ns;
    struct buf text = {0};
    char time[HUMAN_MAX];
    int err = loss_read_finished(report->db, &finished, &last_ns);
    if (err < 0 || finished || report->following)
        return err;
    loss_unfinished(report->db, &text);
    emit_warning(emit, "%s%s; this reaches to %s", whose, buf_string(&text),
                 human_ns(time, last_ns));
    err = text.broken ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}

int report_sees_blocks(struct report *report, int64_t process, int64_t seq)
{
    struct thinned thinned;
    int err = thinned_read(report->db, "blocks", process, seq, seq, &thinned);
    report->thinned |= err == 0 && thinned.count;
    return err < 0 ? err : 0;
}

int report_sees(struct report *report, int64_t process, int64_t seq)
{
    int err = report_sees_blocks(report, process, seq);
    return err < 0 ? err : report_hears(report, process, seq, seq);
}

void report_needs_steps(struct report *report)
{
    if (report_has_steps(report->options))
        report->needs = "phases";
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
static int warn_of_thinning(struct report *report, struct emit *emit, const char *whose)
{
    const char *what = report->needs ? report->needs : report->command->thinned;
    char number[HUMAN_MAX];
    int64_t count = 0;
    if (report->thinned)
        emit_warning(emit,
                     "%sthis moment was thinned out (record --keep, --max-size): blocks that "
                     "soon died are not in it",
                     whose);
    int err = what ? count_thinned(report, what, &count) : 0;
    if (err >= 0 && count && report_has_steps(report->options))
        emit_warning(emit,
                     "%s%s of these steps were thinned out (record --keep, --max-size): only "
                     "their sums are there",
                     whose, what);
    else if (err >= 0 && count)
        emit_warning(emit,
                     "%s%s %s were thinned out (record --keep, --max-size): only their sums "
                     "are there",
                     whose, human_count(number, count), what);
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

static bool asks_for_gpu(const struct report *report)
{
    const char *device = report->options->device;
    return !device || strcmp(device, "cpu") != 0;
}

static int warn_of_unseen(struct report *report, struct emit *emit, const char *whose)
{
    int64_t process, first = 0, count = 0;
    bool drives, driver = false;
    char others[48] = "";
    if (!asks_for_gpu(report))
        return 0;
    struct query query =
        query_ask(report->db, unseen_sql, Q_NOTHING, Q_OUT(Q_INT(process), Q_INT(drives)));
    while (query_next(&query)) {
        if (!report_process_of(report, process))
            continue;
        first = count++ ? first : process;
        driver = driver || drives;
    }
    int err = query_end(&query);
    if (err < 0 || !count)
        return err;
    if (count > 1)
        snprintf(others, sizeof others, " and %" PRId64 " more", count - 1);
    emit_warning(emit,
                 "%sprocess %" PRId64 "%s: backend:cudaMallocAsync reports no CUDA block to "
                 "PyTorch's hooks: take it out of PYTORCH_CUDA_ALLOC_CONF or PYTORCH_ALLOC_CONF to "
                 "record blocks%s",
                 whose, first, others,
                 driver ? "; driver bytes are recorded: tidemark ladder" : "");
    return 0;
}

int report_warn(struct report *report, struct emit *emit, const char *whose)
{
    int err = warn_of_end(report, emit, whose);
    if (err >= 0)
        err = warn_of_unseen(report, emit, whose);
    if (err >= 0)
        err = warn_of_loss(report, emit, whose);
    return err < 0 ? err : warn_of_thinning(report, emit, whose);
}
