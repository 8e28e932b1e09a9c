/*
 * What a peak comes to, in a line or two each: first what need not be there, then what explains the
 * rest. The sections below have the rows that each line is made of.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "human.h"
#include "peak_parts.h"

const struct emit_column peak_finding_columns[PEAK_FINDING_COLUMNS] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS}, {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"finding", NULL, EMIT_TEXT, EMIT_PROGRAMS},  {"bytes", NULL, EMIT_BYTES, 0},
    {"text", "finding", EMIT_TEXT, EMIT_WRAP},
};

static const struct lever *lever_of(const struct levers *levers, enum lever_kind kind)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].kind == kind)
            return &levers->levers[i];
    return NULL;
}

static void put(const struct peak_part *part, const char *name, int64_t bytes, struct buf *text)
{
    if (part->emit->columns != peak_finding_columns)
        EMIT_SECTION(part->emit, "findings", "What stands out", EMIT_ROWS, peak_finding_columns);
    peak_put_scope(part);
    emit_text(part->emit, name);
    emit_int(part->emit, bytes);
    emit_text(part->emit, buf_string(text));
    part->emit->out.broken = part->emit->out.broken || text->broken;
    buf_clear(text);
}

static bool alike(int64_t a, int64_t b)
{
    return a >= b / 10 * 9 && a <= b / 10 * 11;
}

/* ---- what need not be there ---- */

/* Buckets that gradients are views into are no second copy: then there are gradients of their own
 * in no step but the first, where they are not allocated yet. */
static void put_buckets(const struct peak_part *part)
{
    const struct peak *peak = part->peak;
    struct buf text = {0};
    int64_t buckets = peak_category(peak, PURPOSE_BUCKET).bytes,
            gradients = peak_category(peak, PURPOSE_GRADIENT).bytes;
    bool early = peak->step == PEAK_NONE || part->step_before == PEAK_NONE;
    if (!buckets || buckets < peak->allocated / 20 || (!alike(gradients, buckets) && !early))
        return;
    buf_text(&text, "in buckets of DistributedDataParallel");
    if (alike(buckets, peak_category(peak, PURPOSE_PARAMETER).bytes))
        buf_text(&text, ", as much as all parameters: wrapped in it, the model takes twice its "
                        "memory");
    if (alike(gradients, buckets))
        buf_text(&text, "; the gradients are there once more beside them");
    put(part, "ddp_buckets", buckets, &text);
}

static void put_packed(const struct peak_part *part)
{
    const struct lever *lever = lever_of(&part->levers, LEVER_FLATTEN_PARAMETERS);
    struct buf text = {0};
    if (!lever)
        return;
    buf_print(&text,
              "in copies of the RNN's weights, which are not one piece of memory: each "
              "call packs them into one copy, live until its backward: %s",
              lever->site_text ? lever->site_text : "no call stack");
    put(part, "weights_packed_again", lever->alive, &text);
}

static void put_held(const struct peak_part *part)
{
    const struct lever *lever = lever_of(&part->levers, LEVER_HELD);
    struct buf text = {0};
    if (!lever || lever->alive < part->peak->allocated / 20)
        return;
    buf_print(&text,
              "the output of %s stays live during backward because a variable still refers to it",
              lever->site_text ? lever->site_text : "calls without a stack");
    put(part, "held_by_the_program", lever->alive, &text);
}

/* ---- what explains the rest ---- */

static void put_backward(const struct peak_part *part)
{
    const struct levers *levers = &part->levers;
    char each[HUMAN_MAX];
    struct buf text = {0};
    int64_t bytes = 0;
    for (size_t i = 0; i < levers->added_count; i++) {
        const struct levers_added *added = &levers->added[i];
        bytes += added->bytes;
        buf_print(&text, "%s%" PRId64 " x %s", i ? ", " : "backward allocates ", added->blocks,
                  human_bytes(each, added->each));
    }
    if (!levers->added_count)
        return;
    if (levers->added[0].like)
        buf_print(&text, "%seach the size of the output of %s: probably %s",
                  levers->added_count > 1 ? "; the first " : ", ", levers->added[0].like,
                  levers->added[0].likes > 1 ? "gradients" : "its gradient");
    put(part, "added_by_backward", bytes, &text);
}

/* Categories that changed by a hundredth of the peak: what went belongs to the sum. True if nothing
 * but what a first step makes for good grew, and nothing went. */
static bool put_changed(const struct peak_part *part, struct buf *text)
{
    const struct why *why = &part->change;
    char bytes[HUMAN_MAX];
    bool any = false, settled = true;
    for (size_t i = 0; i < why->category_count; i++) {
        const struct why_group *category = &why->categories[i];
        int64_t change = why_change(category);
        if ((change < 0 ? -change : change) < part->peak->allocated / 100)
            continue;
        buf_print(text, "%s%s %s", any ? ", " : ": ", purpose_name_in_list(category->purpose),
                  human_delta(bytes, change));
        any = true;
        settled =
            settled && !category->before_bytes &&
            (category->purpose == PURPOSE_GRADIENT || category->purpose == PURPOSE_OPTIMIZER_STATE);
    }
    return any && settled;
}

/* Of reserved, where the source shows it. */
static void put_rise(const struct peak_part *part)
{
    const struct why *why = &part->change;
    int64_t rise = why->after_bytes - why->before_bytes;
    char bytes[HUMAN_MAX];
    struct buf text = {0};
    if (!part->changed || rise <= 0 || !peak_change_is_shown(part))
        return;
    buf_print(&text, "more than step %" PRId64 "%s%s", part->step_before,
              part->phase_before ? ", in " : "", part->phase_before ? part->phase_before : "");
    if (put_changed(part, &text))
        buf_text(&text, " (kept between steps)");
    buf_text(&text, ". Live tensors, not fragmentation");
    if (why->before.reserved != INSTANT_NONE && why->after.reserved != INSTANT_NONE) {
        int64_t reserved = why->after.reserved - why->before.reserved;
        if (reserved)
            buf_print(&text, "; reserved went %s by %s", reserved > 0 ? "up" : "down",
                      human_bytes(bytes, reserved > 0 ? reserved : -reserved));
        else
            buf_text(&text, "; reserved is unchanged");
    }
    put(part, "higher_than_step_before", rise, &text);
}

/* A heading of the report stands above nothing else: it does not stand alone. */
static void put_none(const struct peak_part *part)
{
    struct emit *emit = part->emit;
    if (emit->format != EMIT_TABLE || emit->columns == peak_finding_columns)
        return;
    emit_close(emit);
    if (!emit->headed)
        return;
    emit_heading(emit, "What stands out");
    emit_line(emit, "nothing (tried: copies in buckets of DistributedDataParallel or of an RNN's "
                    "weights, outputs held by a variable, blocks that backward allocates, growth "
                    "since the step before)");
}

void peak_put_findings(const struct peak_part *part)
{
    static void (*const all[])(const struct peak_part *part) = {
        put_buckets, put_packed, put_held, put_backward, put_rise,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i](part);
    put_none(part);
}
