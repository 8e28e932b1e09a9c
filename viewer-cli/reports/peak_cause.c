/*
 * The cause of a peak in one sentence: the kinds of memory that hold most of it, and what keeps
 * such memory.
 */
#include "buf.h"
#include "human.h"
#include "peak_page.h"
#include "phase_kind.h"
#include "plot_bar.h"

static const char for_nothing[] = "kept for a backward that does not come";

/* What keeps a block of a kind, as a page says it behind the kind's name; NULL: a function of its
 * own says it. */
static const char *const kept_by[PURPOSES] = {
    [PURPOSE_PARAMETER] = "the model",
    [PURPOSE_COPY] = "EMA or frozen",
    [PURPOSE_GATHERED] = "while a layer runs",
    [PURPOSE_GRADIENT] = "kept until zero_grad",
    [PURPOSE_OPTIMIZER_STATE] = "always kept",
    [PURPOSE_BUCKET] = "always kept",
    [PURPOSE_COMMUNICATION] = "between ranks",
    [PURPOSE_HELD] = "a variable refers to them",
    [PURPOSE_ACTIVATION] = "kept for backward",
    [PURPOSE_INPUT] = "the batches",
    [PURPOSE_LIBRARY] = "cuBLAS",
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

/* Nine parts of ten, or more. */
static bool is_nearly_all(int64_t bytes, int64_t whole)
{
    return whole > 0 && bytes >= whole / 10 * 9;
}

const char *peak_other_name(const struct peak_part *part)
{
    const struct peak_category other = peak_category(part->peak, PURPOSE_OTHER);
    if (part->levers.infers && is_nearly_all(part->levers.cached, other.bytes))
        return "KV cache";
    if (other.by == RULE_NOT_TAGGED && is_nearly_all(other.by_bytes, other.bytes))
        return "made before training";
    return NULL;
}

/* Most of that kind is what forwards keep of which no backward comes: of what is of no kind, as of
 * an evaluation, or of what variables hold. */
static bool is_kept_for_nothing(const struct peak_part *part, enum purpose kind)
{
    int64_t kept = 0;
    for (size_t i = 0; i < part->levers.count; i++) {
        const struct lever *lever = &part->levers.levers[i];
        if (lever->kind == LEVER_NO_GRAD)
            kept += kind == PURPOSE_HELD ? lever->held : lever->alive - lever->held;
    }
    return kept > peak_category(part->peak, kind).bytes / 2;
}

/* It is known where most of it is: such a reason says more than that of its kind. */
static bool has_place(const struct cause *cause, enum purpose kind)
{
    if (kind == PURPOSE_OTHER)
        return !cause->part->levers.infers && !is_kept_for_nothing(cause->part, kind) &&
               find_place(cause->holders);
    return kind == PURPOSE_WORKSPACE && cause->holders->temporary.name;
}

static void put_other(const struct cause *cause, bool places, struct buf *out)
{
    const struct peak_part *part = cause->part;
    const char *name = peak_other_name(part);
    char bytes[HUMAN_MAX];
    if (part->levers.infers && name) {
        buf_text(out, " (grows with the sequence)");
    } else if (part->levers.infers && part->levers.cached > cause->whole / 100) {
        buf_print(out, " (%s of it KV cache)", human_bytes(bytes, part->levers.cached));
    } else if (part->levers.infers) {
        buf_text(out, " (outputs and caches)");
    } else if (is_kept_for_nothing(part, PURPOSE_OTHER)) {
        buf_print(out, " (%s)", for_nothing);
    } else if (places && has_place(cause, PURPOSE_OTHER)) {
        buf_text(out, name ? " (" : " (from ");
        peak_put_holder_name(out, find_place(cause->holders));
        buf_text(out, name ? ": a data set?)" : ")");
    }
}

static void put_temporary(const struct cause *cause, bool places, struct buf *out)
{
    buf_text(out, " (temporary");
    if (places && has_place(cause, PURPOSE_WORKSPACE)) {
        buf_text(out, ": ");
        peak_put_holder_name(out, &cause->holders->temporary);
    }
    buf_text(out, ")");
}

/* Of FSDP's collectives those that gather parameters are known, and the others of backward spread
 * gradients. */
static const char *sent_by(const struct peak *peak)
{
    bool backward = phase_kind_from(peak->phase_kind) == PHASE_KIND_BACKWARD;
    if (peak_category(peak, PURPOSE_COMMUNICATION).by == RULE_GATHERED_IN)
        return "all_gather";
    return backward && peak_category(peak, PURPOSE_GATHERED).bytes ? "reduce_scatter"
                                                                   : kept_by[PURPOSE_COMMUNICATION];
}

static void put_why(const struct cause *cause, enum purpose kind, bool places, struct buf *out)
{
    if (kind == PURPOSE_OTHER)
        put_other(cause, places, out);
    else if (kind == PURPOSE_WORKSPACE)
        put_temporary(cause, places, out);
    else if (kind == PURPOSE_COMMUNICATION)
        buf_print(out, " (%s)", sent_by(cause->part->peak));
    else if (kind == PURPOSE_HELD && is_kept_for_nothing(cause->part, kind))
        buf_print(out, " (%s)", for_nothing);
    else if (kept_by[kind])
        buf_print(out, " (%s)", kept_by[kind]);
}

static const char *name_of(const struct cause *cause, enum purpose kind, bool brief)
{
    if (brief && (kind == PURPOSE_COMMUNICATION || kind == PURPOSE_GATHERED))
        return kind == PURPOSE_GATHERED ? "gathered" : "communication";
    const char *other = kind == PURPOSE_OTHER ? peak_other_name(cause->part) : NULL;
    return other ? other : plot_bar_name(kind);
}

enum {
    KINDS = 2,
    LEAST_THIRD = 10 /* per cent: a third kind is named where there is room for it */
};

struct detail {         /* of the line */
    bool reason[KINDS]; /* of each of the kinds */
    bool places;
    bool brief; /* names, as in the table of holders */
};

/* "cause: activations 57 % (kept for backward), workspace 16 % (temporary: model.head)" */
static void put_line(const struct cause *cause, const struct detail *detail, struct buf *out)
{
    const double whole = (double)cause->whole;
    for (int rank = 0; rank < KINDS; rank++) {
        enum purpose kind = find_kind(cause->bytes, rank);
        if (kind == PURPOSES)
            return;
        buf_print(out, "%s%s %.0f %%", rank ? ", " : "cause: ", name_of(cause, kind, detail->brief),
                  (double)cause->bytes[kind] / whole * 100);
        if (detail->reason[rank])
            put_why(cause, kind, detail->places, out);
        if (cause->bytes[kind] >= cause->whole / 3 * 2)
            return;
    }
}

/* From the most on: what has most and a place keeps that before the other's reason. */
static bool is_of_use(const struct cause *cause, const struct detail *detail)
{
    for (int rank = 0; rank < KINDS; rank++) {
        enum purpose kind = find_kind(cause->bytes, rank);
        bool alone = detail->reason[rank] && !detail->reason[!rank];
        if (detail->places && alone && (kind == PURPOSES || !has_place(cause, kind)))
            return false;
    }
    return true;
}

static void put_fitting(const struct cause *cause, unsigned width, struct buf *out)
{
    static const struct detail details[] = {
        {{true, true}, true, false},    {{true, false}, true, false}, {{true, true}, false, false},
        {{true, true}, false, true},    {{false, true}, true, false}, {{true, false}, false, false},
        {{false, false}, false, false},
    };
    bool fits = false;
    for (size_t i = 0; i < sizeof details / sizeof *details && !fits; i++) {
        if (!is_of_use(cause, &details[i]))
            continue;
        out->count = 0;
        put_line(cause, &details[i], out);
        fits = !width || out->count <= width;
    }
}

/* ", KV cache 15 % (grows with the sequence)", or without the reason. */
static void add_third(const struct cause *cause, unsigned width, struct buf *out)
{
    const enum purpose kind = find_kind(cause->bytes, KINDS);
    if (kind == PURPOSES || (kind == PURPOSE_OTHER && !peak_other_name(cause->part)) ||
        cause->bytes[kind] < cause->whole / 100 * LEAST_THIRD ||
        cause->bytes[find_kind(cause->bytes, 0)] >= cause->whole / 3 * 2)
        return;
    struct buf third = {0};
    bool done = false;
    for (int reason = 1; reason >= 0 && !done; reason--) {
        third.count = 0;
        buf_print(&third, ", %s %.0f %%", name_of(cause, kind, false),
                  (double)cause->bytes[kind] / (double)cause->whole * 100);
        if (reason)
            put_why(cause, kind, false, &third);
        done = !width || out->count + third.count <= width;
    }
    if (done)
        buf_add(out, third.data, third.count);
    out->broken = out->broken || third.broken;
    buf_clear(&third);
}

void peak_put_cause(const struct peak_part *part, const struct holders *holders)
{
    struct cause cause = {.part = part, .holders = holders};
    struct emit *emit = part->emit;
    struct buf line = {0};
    for (size_t i = 0; i < part->peak->category_count; i++) {
        const int64_t bytes = part->peak->categories[i].bytes;
        cause.bytes[part->peak->categories[i].purpose] += bytes;
        cause.whole += bytes;
    }
    put_fitting(&cause, emit->width, &line);
    add_third(&cause, emit->width, &line);
    if (line.count)
        emit_line(emit, "%s", buf_string(&line));
    emit->out.broken = emit->out.broken || line.broken;
    buf_clear(&line);
}
