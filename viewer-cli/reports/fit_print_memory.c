/* What fit says of a GPU's memory: the verdict on --memory, and on each of several GPUs. */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "fit_print.h"
#include "fit_sections.h"
#include "human.h"

/* ---- the verdict on --memory ---- */

static const struct emit_column memory_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "GPU", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {"memory", NULL, EMIT_BYTES, 0},
    {"reserve", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "set aside", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "for the context", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {"verdict", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "verdict", EMIT_TEXT, EMIT_PEOPLE},
    {"peak_reserved", "peak reserved", EMIT_BYTES, EMIT_IF_KNOWN},
    {"peak_allocated", "peak allocated", EMIT_BYTES, EMIT_IF_KNOWN},
    {"retries", NULL, EMIT_COUNT, EMIT_IF_KNOWN},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"at_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"allocation", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {NULL, "refused in", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {"requested", NULL, EMIT_BYTES, EMIT_IF_KNOWN},
    {"segment_size", "segment needed", EMIT_BYTES, EMIT_IF_KNOWN},
    {"allocated", "allocated then", EMIT_BYTES, EMIT_IF_KNOWN},
    {"reserved", "reserved then", EMIT_BYTES, EMIT_IF_KNOWN},
    {"largest_free", "largest free block", EMIT_BYTES, EMIT_IF_KNOWN},
    {"free_bytes", "free in kept segments", EMIT_BYTES, EMIT_IF_KNOWN},
    {"largest_hole", "largest hole there", EMIT_BYTES, EMIT_IF_KNOWN},
    {"fits_below", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"gpu", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"context", NULL, EMIT_BYTES, EMIT_PROGRAMS},
};

static const char *const answer_texts[] = {NULL, "fits", "does not fit", "unknown", "no kernels"};

static void put_where(const struct fit_part *part, const struct fit_refusal *refusal)
{
    struct buf text = {0};
    char time[HUMAN_MAX];
    if (refusal->before)
        buf_text(&text, "blocks that were live before the recording began");
    else if (refusal->step != FIT_NONE)
        buf_print(&text, "step %" PRId64 ", ", refusal->step);
    if (!refusal->before)
        buf_print(&text, "%s, %s after the start (seq %" PRId64 ")",
                  refusal->phase ? refusal->phase : "no phase", human_ns(time, refusal->at_ns),
                  refusal->allocation);
    fit_put_buf(fit_emit(part), &text);
}

/* What was live before the record and is taken over as it lay is no single request. */
static void put_of_request(struct emit *emit, const struct fit_refusal *refusal, uint64_t value)
{
    emit_known(emit, refusal->why.requested ? (int64_t)value : FIT_NONE);
}

static void put_refusal(const struct fit_part *part)
{
    struct emit *emit = fit_emit(part);
    const struct fit_refusal *refusal = &part->result.refusal;
    emit_known(emit, refusal->step);
    emit_text(emit, refusal->phase);
    emit_text(emit, refusal->site);
    emit_known(emit, refusal->at_ns);
    emit_known(emit, refusal->allocation);
    put_where(part, refusal);
    emit_text(emit, refusal->site);
    put_of_request(emit, refusal, refusal->why.requested);
    put_of_request(emit, refusal, refusal->why.segment_size);
    emit_int(emit, (int64_t)refusal->why.allocated);
    emit_int(emit, (int64_t)refusal->why.reserved);
    put_of_request(emit, refusal, refusal->why.largest_free);
    emit_int(emit, refusal->free_bytes);
    emit_int(emit, refusal->largest_hole);
}

enum { REFUSAL_CELLS = 14, RESULT_CELLS = 3 };

/* What is left of the memory for what the recording does not have; FIT_NONE unless the verdict
 * depends on it. */
static int64_t fits_below(const struct fit_part *part)
{
    int64_t smallest = part->rows[0].need.smallest;
    if (part->answer != FIT_UNKNOWN || part->ended.is_refused || smallest == FIT_NONE ||
        smallest >= part->options->memory)
        return FIT_NONE;
    return part->options->memory - smallest;
}

/* Where what is set aside is all of the memory, no request was replayed. */
static bool has_room(const struct fit_part *part)
{
    return part->options->memory > fit_reserve(part);
}

static void put_verdict(const struct fit_part *part)
{
    char rest[HUMAN_MAX];
    struct buf text = {0};
    int64_t below = fits_below(part);
    if (part->answer == FIT_DOES_NOT && !has_room(part))
        buf_print(&text, "%s: all of the memory is set aside", answer_texts[part->answer]);
    else if (part->answer != FIT_UNKNOWN)
        buf_text(&text, answer_texts[part->answer]);
    else if (part->ended.is_refused)
        buf_print(&text, "not known: %s",
                  part->ended.went_on ? "a request was refused in this run"
                                      : "the recording ended at a refusal");
    else if (below == FIT_NONE)
        buf_text(&text, "fits only if the CUDA context and libraries need nothing");
    else
        buf_print(&text,
                  "fits if the CUDA context and libraries need less than %s (usually 0.5 to 1 GiB)",
                  human_bytes(rest, below));
    fit_put_buf(fit_emit(part), &text);
}

static void put_memory(const struct fit_part *part)
{
    struct emit *emit = fit_emit(part);
    const struct fit_verdict *result = &part->result;
    if (part->answer == FIT_NOT_ASKED)
        return;
    EMIT_SECTION(emit, "memory", part->options->gpu ? "With --gpu" : "With --memory", EMIT_RECORD,
                 memory_columns);
    fit_put_scope(part);
    emit_text(emit, part->options->gpu);
    emit_int(emit, part->options->memory);
    int64_t context = fit_context_off(part) ? fit_context_off(part) : FIT_NONE;
    bool open = part->answer == FIT_UNKNOWN && !part->ended.is_refused && context == FIT_NONE;
    int64_t reserve = open ? FIT_NONE : fit_reserve(part);
    emit_known(emit, reserve);
    emit_known(emit, reserve);
    emit_known(emit, context);
    emit_text(emit, answer_texts[part->answer]);
    put_verdict(part);
    for (int i = 0; part->answer != FIT_FITS && i < RESULT_CELLS; i++)
        emit_null(emit);
    if (part->answer == FIT_FITS) {
        emit_int(emit, result->peak_reserved);
        emit_int(emit, result->peak_allocated);
        emit_int(emit, result->retries);
    }
    bool refused = part->answer == FIT_DOES_NOT && has_room(part);
    for (int i = 0; !refused && i < REFUSAL_CELLS; i++)
        emit_null(emit);
    if (refused)
        put_refusal(part);
    emit_known(emit, fits_below(part));
    emit_text(emit, part->options->gpu);
    emit_known(emit, context);
}

/* ---- several GPUs ---- */

static const struct emit_column gpu_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"gpu", "GPU", EMIT_TEXT, 0},
    {"memory", NULL, EMIT_BYTES, 0},
    {"context", "CUDA context", EMIT_BYTES, 0},
    {"needs", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"at_least", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "needs", EMIT_TEXT, EMIT_PEOPLE},
    {"verdict", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "verdict", EMIT_TEXT, EMIT_PEOPLE},
};

/* With the context of each; a bound is one of all that came before the refusal. */
static void put_card(const struct fit_part *part, size_t at)
{
    struct emit *emit = fit_emit(part);
    const struct profile *profile = &part->options->cards.list[at].profile;
    enum fit_answer answer = part->answers[at];
    char bytes[HUMAN_MAX], text[HUMAN_MAX + 8] = "not known";
    int64_t least = fit_least_of(part);
    bool bound = part->ended.is_refused;
    if (least != FIT_NONE) {
        least += (int64_t)profile->context + fit_reserve(part);
        snprintf(text, sizeof text, "%s%s", bound ? "> " : "", human_bytes(bytes, least));
    }
    fit_put_scope(part);
    emit_text(emit, part->options->cards.list[at].gpu);
    emit_int(emit, (int64_t)profile->memory);
    emit_int(emit, (int64_t)profile->context);
    emit_known(emit, bound ? FIT_NONE : least);
    emit_known(emit, bound ? least : FIT_NONE);
    emit_text(emit, text);
    emit_text(emit, answer_texts[answer]);
    emit_text(emit, answer == FIT_UNKNOWN ? "not known" : answer_texts[answer]);
}

static void put_cards(const struct fit_part *part)
{
    if (!part->options->cards.several)
        return;
    EMIT_SECTION(fit_emit(part), "gpus", "On each GPU", EMIT_ROWS, gpu_columns);
    for (size_t i = 0; i < part->options->cards.count; i++)
        put_card(part, i);
}

const struct fit_section fit_section_memory = FIT_SECTION("memory", memory_columns, put_memory);
const struct fit_section fit_section_gpus = FIT_SECTION("gpus", gpu_columns, put_cards);
