/* The last lines of a report: how far its numbers can be believed. */
#include "report_warning.h"

#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "error.h"
#include "human.h"
#include "mem.h"
#include "report_parts.h"

void report_notice(struct report *report, const struct report_warning *warning)
{
    struct report_warnings *all = &report->warnings;
    if (MEM_GROW(all->list, all->cap, all->count + 1))
        all->list[all->count++] = *warning;
    else
        all->broken = true;
}

size_t report_noticed(const struct report *report, enum report_warning_kind kind,
                      const struct report_warning **last)
{
    size_t count = 0;
    for (size_t i = 0; i < report->warnings.count; i++) {
        if (report->warnings.list[i].kind != kind)
            continue;
        *last = &report->warnings.list[i];
        count++;
    }
    return count;
}

/* ---- texts ---- */

static void put_missed_step(struct buf *text, const struct report_warning *warning)
{
    buf_print(text,
              "step %" PRId64 " was thinned out (record --keep, --max-size): only its sums are "
              "there; the nearest steps that are kept are %" PRId64 " and %" PRId64,
              warning->missed.moment.step, warning->missed.kept.first, warning->missed.kept.last);
}

static void put_missed_time(struct buf *text, const struct instant *moment)
{
    const struct thinned_time *thinned = &moment->thinned;
    char from[HUMAN_MAX], until[HUMAN_MAX];
    buf_print(text, "%s was thinned out (record --keep, --max-size): only sums are there from %s",
              moment->label, human_ns(from, thinned->from_ns));
    if (thinned->until_ns == INT64_MAX)
        buf_text(text, " on");
    else
        buf_print(text, " to %s", human_ns(until, thinned->until_ns));
    if (thinned->step_before != THINNED_NONE && thinned->step_behind != THINNED_NONE)
        buf_print(text, "; the nearest steps that are kept are %" PRId64 " and %" PRId64,
                  thinned->step_before, thinned->step_behind);
}

static void put_missed(struct buf *text, const struct report_warning *warning)
{
    if (*warning->missed.device)
        buf_print(text, "process %" PRId64 " on %s: ", warning->missed.process,
                  warning->missed.device);
    if (warning->missed.moment.thinned.is)
        put_missed_time(text, &warning->missed.moment);
    else
        put_missed_step(text, warning);
}

static void put_missed_more(struct buf *text, const struct report_warning *warning)
{
    (void)warning;
    buf_text(text, "so it is in more processes");
}

static void put_unheard(struct buf *text, const struct report_warning *warning)
{
    const struct unheard *gaps = &warning->unheard.gaps;
    char from[HUMAN_MAX], to[HUMAN_MAX];
    bool open = gaps->end_ns == UNHEARD_OPEN;
    buf_print(text, "process %" PRId64 ": ", warning->unheard.process);
    if (gaps->count > 1)
        buf_print(text, "%" PRId64 " CUPTI gaps ", gaps->count);
    else
        buf_text(text, "CUPTI gap ");
    buf_print(text, "from %s to %s", human_ns(from, gaps->begin_ns),
              open ? "the end" : human_ns(to, gaps->end_ns));
    if (gaps->why != UNHEARD_NOT_KNOWN)
        buf_print(text, ": %s%s", gaps->name, gaps->why == UNHEARD_TOOL ? " had CUPTI" : "");
}

static void put_unfinished(struct buf *text, const struct report_warning *warning)
{
    char time[HUMAN_MAX];
    loss_unfinished(warning->unfinished.db, text);
    buf_print(text, "; this reaches to %s", human_ns(time, warning->unfinished.last_ns));
}

static void put_middle(struct buf *text, const struct report_warning *warning)
{
    char blocks[HUMAN_MAX], bytes[HUMAN_MAX];
    buf_print(text,
              "the recording began in the middle of the program: %s block%s (%s) allocated before "
              "it have no call site; step 0 is its first",
              human_count(blocks, warning->middle.blocks), warning->middle.blocks == 1 ? "" : "s",
              human_bytes(bytes, warning->middle.bytes));
}

static void put_unseen(struct buf *text, const struct report_warning *warning)
{
    buf_print(text, "process %" PRId64, warning->unseen.first);
    if (warning->unseen.count > 1)
        buf_print(text, " and %" PRId64 " more", warning->unseen.count - 1);
    buf_print(text,
              ": backend:cudaMallocAsync reports no CUDA block to PyTorch's hooks: take it out of "
              "PYTORCH_CUDA_ALLOC_CONF or PYTORCH_ALLOC_CONF to record blocks%s",
              warning->unseen.driver ? "; driver bytes are recorded: tidemark ladder" : "");
}

static void put_damaged(struct buf *text, const struct report_warning *warning)
{
    const struct loss *loss = &warning->loss;
    char number[HUMAN_MAX], time[HUMAN_MAX];
    buf_print(text, "approximate from seq %" PRId64 " (%s): blocks are missing (damaged pages), ",
              loss->damage.first_seq, human_ns(time, loss->damage.first_ns));
    if (loss->damage.most < 0)
        buf_text(text, "how many is not known");
    else
        buf_print(text, "at most %s", human_count(number, loss->damage.most));
}

static void put_repaired(struct buf *text, const struct report_warning *warning)
{
    buf_print(text,
              "rows are missing in %s: the file was damaged and repaired, and figures "
              "may be too low, or of other steps and phases",
              warning->loss.repaired);
}

static void put_lost(struct buf *text, const struct report_warning *warning)
{
    const struct loss *loss = &warning->loss;
    char number[HUMAN_MAX], time[HUMAN_MAX];
    buf_print(text, "approximate from seq %" PRId64 " (%s): %s event%s lost (", loss->first_seq,
              human_ns(time, loss->first_ns), human_count(number, loss->events),
              loss->events == 1 ? "" : "s");
    for (size_t i = 0; i < loss->kind_count; i++)
        buf_print(text, "%s%s %s", i ? ", " : "", loss->kinds[i].name,
                  human_count(number, loss->kinds[i].n));
    buf_text(text, ")");
}

static void put_thinned_here(struct buf *text, const struct report_warning *warning)
{
    (void)warning;
    buf_text(text, "this moment was thinned out (record --keep, --max-size): short-lived blocks "
                   "are not in it");
}

static void put_thinned(struct buf *text, const struct report_warning *warning)
{
    char number[HUMAN_MAX];
    if (warning->thinned.of_steps)
        buf_print(text, "%s of these steps", warning->thinned.what);
    else
        buf_print(text, "%s %s", human_count(number, warning->thinned.count),
                  warning->thinned.what);
    buf_text(text, " were thinned out (record --keep, --max-size): only their sums are there");
}

static void (*const put_text[WARNING_KINDS])(struct buf *text,
                                             const struct report_warning *warning) = {
    [WARNING_MISSED] = put_missed,   [WARNING_MISSED_MORE] = put_missed_more,
    [WARNING_UNHEARD] = put_unheard, [WARNING_UNFINISHED] = put_unfinished,
    [WARNING_MIDDLE] = put_middle,   [WARNING_UNSEEN] = put_unseen,
    [WARNING_DAMAGED] = put_damaged, [WARNING_REPAIRED] = put_repaired,
    [WARNING_LOST] = put_lost,       [WARNING_THINNED_HERE] = put_thinned_here,
    [WARNING_THINNED] = put_thinned,
};

/* ---- the list ---- */

static int put(const struct report *report, const struct report_warning *warning, struct emit *emit)
{
    struct buf text = {0};
    if (report->beside)
        buf_print(&text, "%s: ", report->path);
    put_text[warning->kind](&text, warning);
    emit_warning(emit, "%s", buf_string(&text));
    int err = text.broken ? ERR_NOMEM : 0;
    buf_clear(&text);
    return err;
}

static int put_kinds(const struct report *report, struct emit *emit, int first, int end)
{
    const struct report_warnings *all = &report->warnings;
    int err = all->broken ? ERR_NOMEM : 0;
    for (int kind = first; kind < end; kind++)
        for (size_t i = 0; i < all->count && err == 0; i++)
            if ((int)all->list[i].kind == kind)
                err = put(report, &all->list[i], emit);
    return err;
}

static int put_both(struct report *report, int first, int end)
{
    int err = put_kinds(report, &report->emit, first, end);
    return err < 0 || !report->beside ? err : put_kinds(report->beside, &report->emit, first, end);
}

int report_put_warnings(struct report *report)
{
    struct buf *out = &report->emit.notes, notes = *out;
    const char *text = buf_string(&notes);
    *out = (struct buf){.broken = notes.broken};
    buf_add(out, text, report->first_notes);
    int err = put_both(report, 0, WARNING_UNFINISHED);
    buf_add(out, text + report->first_notes, notes.count - report->first_notes);
    buf_clear(&notes);
    return err < 0 ? err : put_both(report, WARNING_UNFINISHED, WARNING_KINDS);
}
