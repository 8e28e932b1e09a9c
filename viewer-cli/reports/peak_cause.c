/*
 * The cause of a peak in one sentence: the kinds of memory that hold most of it, and what keeps
 * such memory.
 */
#include "buf.h"
#include "human.h"
#include "peak_page.h"
#include "plot_bar.h"

/* What keeps a block of a kind, as a page says it behind the kind's name; NULL: it is not
 * known. */
static const char *const kept_by[PURPOSES] = {
    [PURPOSE_PARAMETER] = "the model",
    [PURPOSE_COPY] = "EMA or frozen",
    [PURPOSE_GATHERED] = "while a layer runs",
    [PURPOSE_GRADIENT] = "kept until zero_grad",
    [PURPOSE_OPTIMIZER_STATE] = "always kept",
    [PURPOSE_BUCKET] = "always kept",
    [PURPOSE_COMMUNICATION] = "of collectives",
    [PURPOSE_HELD] = "a variable refers to them",
    [PURPOSE_ACTIVATION] = "kept for backward",
    [PURPOSE_INPUT] = "the batches",
    [PURPOSE_WORKSPACE] = "temporary",
    [PURPOSE_LIBRARY] = "always kept",
    [PURPOSE_OTHER] = NULL,
};

/* Of equals the one that says more: what is of no kind last, and parameters before that. */
static bool is_more(const int64_t bytes[PURPOSES], int kind, int than)
{
    if (bytes[kind] != bytes[than])
        return bytes[kind] > bytes[than];
    return than == PURPOSE_OTHER || (kind > than && kind != PURPOSE_OTHER);
}

/* The `rank`-th by bytes, from 0 on. PURPOSES: there are fewer. */
static enum purpose find_kind(const int64_t bytes[PURPOSES], int rank)
{
    for (int kind = 0; kind < PURPOSES; kind++) {
        int before = 0;
        for (int other = 0; other < PURPOSES; other++)
            before += other != kind && is_more(bytes, other, kind);
        if (before == rank && bytes[kind] > 0)
            return (enum purpose)kind;
    }
    return PURPOSES;
}

/* Where most of what is of no kind is. NULL: nobody knows. */
static const struct holder *find_place(const struct holders *holders)
{
    const struct holder *most = NULL;
    for (size_t i = 0; i < holders->count; i++) {
        const struct holder *one = &holders->holders[i];
        if (!most || one->held[PURPOSE_OTHER] > most->held[PURPOSE_OTHER])
            most = one;
    }
    return most && most->held[PURPOSE_OTHER] && most->name ? most : NULL;
}

struct cause {
    const struct peak_part *part;
    const struct holders *holders;
    int64_t bytes[PURPOSES];
    int64_t whole;
};

/* Most of what is of no kind lives from before the first step to the end, as a data set does. */
static bool is_early(const struct peak *peak)
{
    return peak_category(peak, PURPOSE_OTHER).by == RULE_NOT_TAGGED;
}

static void put_why(const struct cause *cause, struct buf *out, enum purpose kind)
{
    const struct holder *place = kind == PURPOSE_OTHER ? find_place(cause->holders) : NULL;
    char bytes[HUMAN_MAX];
    if (cause->part->infers && kind == PURPOSE_OTHER && cause->part->keys > cause->whole / 100) {
        buf_print(out, " (%s of it KV cache)", human_bytes(bytes, cause->part->keys));
    } else if (cause->part->infers && kind == PURPOSE_OTHER) {
        buf_text(out, " (outputs and caches)");
    } else if (place) {
        buf_text(out, is_early(cause->part->peak) ? " (set up at " : " (from ");
        peak_put_holder_name(out, place);
        buf_text(out, ")");
    } else if (kept_by[kind]) {
        buf_print(out, " (%s)", kept_by[kind]);
    }
}

/* "cause: activations 57 % (kept for backward), workspace 16 % (temporary)", with reasons for so
 * many of them. */
static void put_line(const struct cause *cause, int reasons, struct buf *out)
{
    const double whole = (double)cause->whole;
    for (int rank = 0; rank < 2; rank++) {
        enum purpose kind = find_kind(cause->bytes, rank);
        if (kind == PURPOSES)
            return;
        buf_print(out, "%s%s %.0f %%", rank ? ", " : "cause: ", plot_bar_name(kind),
                  (double)cause->bytes[kind] / whole * 100);
        if (rank < reasons)
            put_why(cause, out, kind);
        if (cause->bytes[kind] >= cause->whole / 3 * 2)
            return;
    }
}

void peak_put_cause(const struct peak_part *part, const struct holders *holders)
{
    struct cause cause = {.part = part, .holders = holders};
    struct emit *emit = part->emit;
    struct buf line = {0};
    int reasons = 2;
    for (size_t i = 0; i < part->peak->category_count; i++) {
        const int64_t bytes = part->peak->categories[i].bytes;
        cause.bytes[part->peak->categories[i].purpose] += bytes;
        cause.whole += bytes;
    }
    do {
        line.count = 0;
        put_line(&cause, reasons, &line);
    } while (emit->width && line.count > emit->width && reasons-- > 0);
    if (line.count)
        emit_line(emit, "%s", buf_string(&line));
    emit->out.broken = emit->out.broken || line.broken;
    buf_clear(&line);
}
