#include "summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "clock.h"
#include "human.h"
#include "process.h"
#include "safe.h"

void summary_clear(struct summary *summary)
{
    buf_clear(&summary->failure);
    buf_clear(&summary->file);
    buf_clear(&summary->removed);
    buf_clear(&summary->moved);
    buf_clear(&summary->stopped);
    buf_clear(&summary->killed);
    buf_clear(&summary->silent);
    buf_clear(&summary->strayed);
    buf_clear(&summary->unloaded);
    buf_clear(&summary->hints);
    *summary = (struct summary){0};
}

/* Names are the program's, and paths anybody's: none begins a line or steers the terminal. */
static void put_safe(struct buf *out, const char *text)
{
    safe_put(out, text, strlen(text));
}

void summary_hint(struct summary *summary, const char *format, ...)
{
    char line[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    buf_text(&summary->hints, "tidemark: ");
    put_safe(&summary->hints, line);
    buf_text(&summary->hints, "\n");
}

/* Even where there was no memory for the words. */
static bool is_set(const struct buf *text)
{
    return text->count > 0 || text->broken;
}

static const char *words(const struct buf *text)
{
    return text->broken ? "out of memory" : buf_string(text);
}

static void add_bytes(struct buf *out, uint64_t bytes)
{
    char text[HUMAN_MAX];
    buf_text(out, human_bytes(text, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes));
}

static void add_count(struct buf *out, uint64_t count, const char *one, const char *many)
{
    char text[HUMAN_MAX];
    int64_t number = count > INT64_MAX ? INT64_MAX : (int64_t)count;
    buf_print(out, "%s %s", human_count(text, number), count == 1 ? one : many);
}

/* Where there are no blocks, add_why_nothing says so. */
static void add_status(const struct summary *summary, struct buf *out)
{
    if (!summary->totals.peak_allocated)
        return;
    if (summary->let_go)
        buf_print(out, ", ended by signal %d to the recorder while the program ran",
                  summary->let_go);
    else if (summary->signal)
        buf_print(out, ", killed by signal %d", summary->signal);
    else if (summary->exit_code)
        buf_print(out, ", exit status %d", summary->exit_code);
}

static void add_events(const struct summary *summary, struct buf *out)
{
    const struct state_totals *totals = &summary->totals;
    bool stopped = is_set(&summary->stopped);
    buf_text(out, "tidemark: ");
    add_count(out, stopped ? summary->stored_events : totals->events, "event", "events");
    buf_text(out, " (");
    add_count(out, stopped ? summary->stored_blocks : totals->allocs, "block", "blocks");
    buf_text(out, ") of ");
    add_count(out, summary->processes, "process", "processes");
    if (!stopped) {
        buf_print(out, " in %.1f s", (double)summary->run_ns / (double)NS_PER_S);
        add_status(summary, out);
        buf_text(out, "\n");
        return;
    }
    buf_text(out, " were stored, then the recording stopped: ");
    put_safe(out, words(&summary->stopped));
    buf_text(out, "\n");
}

/* Nothing came, and there is a reason for that other than a loss. */
static bool is_nothing(const struct summary *summary)
{
    const struct state_totals *totals = &summary->totals;
    return (is_set(&summary->unloaded) || is_set(&summary->silent) || is_set(&summary->strayed)) &&
           totals->events == 0 && totals->lost == 0 && totals->torn == 0 && summary->missing == 0 &&
           !summary->may_miss && !is_set(&summary->stopped) && !is_set(&summary->removed);
}

static void add_nothing(const struct summary *summary, struct buf *out)
{
    const struct {
        const char *what;
        const struct buf *why;
    } reasons[] = {
        {"libtidemark.so was not loaded into the program: ", &summary->unloaded},
        {"the program itself did not take part: ", &summary->silent},
        {"", &summary->strayed},
    };
    size_t i = is_set(&summary->unloaded) ? 0 : is_set(&summary->silent) ? 1 : 2;
    buf_print(out, "tidemark: nothing was recorded: %s", reasons[i].what);
    put_safe(out, words(reasons[i].why));
    buf_text(out, "\n");
}

static void add_lost(const struct summary *summary, struct buf *out)
{
    const struct state_totals *totals = &summary->totals;
    buf_text(out, "tidemark: ");
    if (is_set(&summary->removed)) {
        buf_text(out, "all of it is lost: ");
        put_safe(out, summary->removed.broken ? "the file" : buf_string(&summary->removed));
        buf_text(out, summary->replaced ? " was replaced by another file while the program ran\n"
                                        : " was removed while the program ran\n");
        return;
    }
    if (is_set(&summary->stopped)) {
        buf_text(out, "what came after was not stored; how much that is, is not known\n");
        return;
    }
    if (summary->missing > 0) {
        buf_text(out, summary->may_miss ? "at least " : "");
        add_count(out, summary->missing, "process", "processes");
        buf_text(out, " could not be recorded; ");
    } else if (summary->may_miss) {
        buf_text(out, "processes may be missing; ");
    }
    if (totals->lost == 0 && totals->torn == 0)
        buf_text(out, summary->missing > 0 || summary->may_miss ? "the others lost no event"
                                                                : "nothing was lost");
    if (totals->lost > 0) {
        add_count(out, totals->lost, "event was", "events were");
        buf_text(out, " lost: figures after the first loss are approximate");
    }
    if (totals->torn > 0) {
        buf_text(out, totals->lost > 0 ? "; " : "");
        add_count(out, totals->torn, "event was", "events were");
        buf_text(out, " begun and never finished");
    }
    buf_text(out, "\n");
}

/* A program that failed may have done so before its first block. */
static void add_why_nothing(const struct summary *summary, struct buf *out)
{
    bool failed = summary->signal || summary->exit_code;
    buf_text(out, "tidemark: no block was reported");
    if (summary->let_go) {
        buf_print(out, " before signal %d to the recorder ended the recording\n", summary->let_go);
        return;
    }
    if (summary->silent.count > 0 || summary->missing > 0 ||
        (!failed && summary->totals.has_source)) {
        buf_text(out, "\n");
        return;
    }
    if (summary->signal)
        buf_print(out, ": the program was killed by signal %d", summary->signal);
    else if (failed)
        buf_print(out, ": the program ended with status %d", summary->exit_code);
    if (failed)
        buf_text(out, summary->totals.has_source ? " before its first block"
                                                 : " before its first block, or");
    if (!summary->totals.has_source)
        buf_print(out,
                  "%s what ran uses neither PyTorch nor tidemark.h, its LD_PRELOAD was replaced, "
                  "%sit ran in another network namespace or where no socket may be opened%s",
                  failed ? "" : ":", failed ? "or " : "",
                  failed ? "" : ", or it ended before its first block");
    buf_text(out, "\n");
}

static void add_peak(const struct summary *summary, struct buf *out)
{
    const struct state_totals *totals = &summary->totals;
    if (totals->peak_allocated == 0 && totals->peak_given > 0) {
        buf_text(out, "tidemark: no framework's block was reported; CUDA's driver allocated ");
        add_bytes(out, totals->peak_given);
        buf_text(out, " at the peak, on ");
        put_safe(out, totals->given_device_name);
        buf_text(out, "\n");
        return;
    }
    if (totals->peak_allocated == 0) {
        add_why_nothing(summary, out);
        return;
    }
    buf_print(out, "tidemark: peak %s", is_set(&summary->stopped) ? "before that " : "");
    add_bytes(out, totals->peak_allocated);
    buf_text(out, " allocated on ");
    put_safe(out, totals->peak_device_name);
    if (totals->peak_step != BATCH_NULL)
        buf_print(out, ", step %" PRId64, totals->peak_step);
    buf_text(out, totals->peak_phase[0] ? ", " : "");
    put_safe(out, totals->peak_phase);
    if (totals->peak_rank != BATCH_NULL)
        buf_print(out, ", rank %" PRId64, totals->peak_rank);
    else if (summary->processes > 1)
        buf_print(out, ", process %" PRId64, totals->peak_process);
    buf_text(out, "\n");
}

/* The hook is the native allocator's. CUPTI sees the driver all the same. */
static void add_unseen(const struct summary *summary, struct buf *out)
{
    if (!summary->totals.unseen)
        return;
    buf_text(out,
             "tidemark: backend:cudaMallocAsync reports no CUDA block to PyTorch's hooks: take it "
             "out of PYTORCH_CUDA_ALLOC_CONF or PYTORCH_ALLOC_CONF to record blocks");
    if (summary->totals.peak_given > 0)
        buf_text(out, "; driver bytes are recorded: tidemark ladder");
    buf_text(out, "\n");
}

void summary_text(const struct summary *summary, struct buf *out)
{
    const char *file = buf_string(&summary->file);
    if (is_set(&summary->failure)) {
        buf_text(out, "tidemark: ");
        put_safe(out, words(&summary->failure));
        buf_text(out, "\n");
        return;
    }
    if (summary->file.broken) {
        buf_text(out, "tidemark: out of memory: the recording is where it was to be\n");
    } else if (*file) {
        buf_text(out, "tidemark: recorded into ");
        put_safe(out, file);
        buf_text(out, " (");
        add_bytes(out, summary->file_bytes);
        buf_text(out, ")\n");
    } else if (is_set(&summary->moved)) {
        buf_text(out, "tidemark: recorded into ");
        put_safe(out, words(&summary->moved));
        buf_text(out, ", which was moved while the program ran; its new place is not known\n");
    } else {
        buf_text(out, "tidemark: there is no recording\n");
    }
    add_events(summary, out);
    if (is_nothing(summary)) {
        add_nothing(summary, out);
        if (!is_set(&summary->unloaded) && !is_set(&summary->silent)) /* others took part */
            add_why_nothing(summary, out);
    } else {
        add_lost(summary, out);
        add_peak(summary, out);
        add_unseen(summary, out);
    }
    if (is_set(&summary->killed))
        buf_print(out, "tidemark: %s\n", words(&summary->killed));
    if (*file) {
        bool blocks =
            (is_set(&summary->stopped) ? summary->stored_blocks : summary->totals.allocs) > 0;
        bool given = !is_set(&summary->stopped) && summary->totals.peak_given > 0;
        buf_print(out, "tidemark: next: tidemark %s ", blocks || given ? "peak" : "info");
        argv_quote(out, file, strlen(file));
        buf_text(out, "\n");
    }
    if (summary->silent.count > 0 && !is_nothing(summary)) {
        buf_text(out, "tidemark: the program itself did not take part: ");
        put_safe(out, buf_string(&summary->silent));
        buf_text(out, "\n");
    }
    buf_text(out, buf_string(&summary->hints));
    if (summary->hints.broken || summary->silent.broken)
        buf_text(out, "tidemark: out of memory: there would be more to say\n");
}
