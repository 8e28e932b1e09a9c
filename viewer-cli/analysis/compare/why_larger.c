/*
 * The same blocks, only larger or smaller: call sites that hold as many blocks at both moments.
 * That is what another length of the input does. Blocks without a call site are not known to be the
 * same.
 */
#include <inttypes.h>
#include <stdio.h>

#include "human.h"
#include "why.h"

static bool is_same(const struct why_group *group)
{
    return group->site != GROUP_NONE && group->before_blocks > 0 &&
           group->before_blocks == group->after_blocks && group->before_bytes > 0 &&
           group->after_bytes > 0;
}

static double ratio_of(int64_t before, int64_t after)
{
    return before > 0 ? (double)after / (double)before : 0;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

void why_find_larger(const struct why *why, struct why_larger *out)
{
    int64_t before = 0, after = 0, input_before = 0, input_after = 0;
    for (size_t i = 0; i < why->group_count; i++) {
        const struct why_group *group = &why->groups[i];
        if (is_same(group) && why_change(group)) {
            before += group->before_bytes;
            after += group->after_bytes;
        }
        if (group->purpose == PURPOSE_INPUT && is_same(group)) {
            input_before += group->before_bytes;
            input_after += group->after_bytes;
        }
    }
    int64_t all = why->after_bytes - why->before_bytes;
    *out = (struct why_larger){.bytes = after - before,
                               .ratio = ratio_of(before, after),
                               .input = ratio_of(input_before, input_after)};
    out->found = all && out->bytes && (out->bytes > 0) == (all > 0) &&
                 magnitude(out->bytes) >= magnitude(all) / 2;
}

/* A ratio that is worth a figure: in three digits the others are 1, or nearly. */
static bool is_another(double ratio)
{
    return ratio > 0 && (ratio < 0.99 || ratio > 1.01);
}

static void put_step(char text[40], const struct instant *instant, const char *otherwise)
{
    if (instant->step == INSTANT_NONE)
        snprintf(text, 40, "%s", otherwise);
    else
        snprintf(text, 40, "step %" PRId64, instant->step);
}

/* "same blocks, larger: +8.1 MiB; the input of step 4 is 3.3 times that of step 3". */
const char *why_larger_text(char text[WHY_LARGER_TEXT], const struct why *why)
{
    char before[40], after[40], bytes[HUMAN_MAX];
    struct why_larger larger;
    why_find_larger(why, &larger);
    text[0] = '\0';
    if (!larger.found)
        return text;
    size_t n =
        (size_t)snprintf(text, WHY_LARGER_TEXT, "same blocks, %s: %s",
                         larger.bytes > 0 ? "larger" : "smaller", human_delta(bytes, larger.bytes));
    bool input = is_another(larger.input);
    if (!input && !is_another(larger.ratio))
        return text;
    put_step(before, &why->before, "the first moment");
    put_step(after, &why->after, "the second moment");
    snprintf(text + n, WHY_LARGER_TEXT - n, "; %s of %s %s %.3g times %s of %s",
             input ? "the input" : "these blocks", after, input ? "is" : "are",
             input ? larger.input : larger.ratio, input ? "that" : "those", before);
    return text;
}
