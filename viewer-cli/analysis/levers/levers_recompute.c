#include "levers_recompute.h"

#include <stdlib.h>

#include "error.h"
#include "mem.h"
#include "search.h"

/* A call in its backward. Blocks that end before `begin` are needed by what comes behind it. */
struct again {
    const struct levers_call *call;
    const struct levers_phase *backward;
    bool cut_short;
    size_t output;     /* place of the block that it leaves to others; SIZE_MAX */
    int64_t begin;     /* from here on backward is in the call, or between it and the next */
    bool has_own;      /* blocks that are computed again */
    int64_t first_end; /* of its own blocks; LEVERS_NEVER: it has none */
    int64_t last_end;  /* likewise; `begin` */
};

struct ends { /* in backward, in their order */
    struct levers_event *ends;
    size_t count;
};

/* ---- events ---- */

static size_t event_from(const struct levers_step *step, int64_t seq)
{
    size_t at;
    SEARCH_FIRST(at, 0, step->event_count, step->events[at].seq < seq);
    return at;
}

static int64_t birth_after(const struct levers_step *step, int64_t seq)
{
    if (seq == LEVERS_NEVER)
        return seq;
    size_t at = event_from(step, seq + 1);
    while (at < step->event_count && step->events[at].change < 0)
        at++;
    return at < step->event_count ? step->events[at].seq : LEVERS_NEVER;
}

/* ---- one call ---- */

/* A library keeps its workspace from its first call on, in whatever module that is: it belongs to
 * no call, and is not made again. */
static bool is_of_call(const struct levers_block *block)
{
    return block->purpose != PURPOSE_LIBRARY;
}

/* What lives when a step is cut short, backward would have freed. */
static bool is_saved(const struct again *again, const struct levers_block *block)
{
    return block->purpose == PURPOSE_ACTIVATION && block->end >= again->backward->begin &&
           (block->end <= again->backward->end || again->cut_short);
}

/* What goes on to others is made once, and not cut. */
static bool is_own(const struct levers_step *step, const struct again *again, size_t at)
{
    const struct levers_block *block = &step->blocks[at];
    return at != again->output && is_saved(again, block) && block->end >= again->begin;
}

/* Beside a tensor, the numbers that a norm keeps of each of its rows are small. */
enum { ROWS = 64 };

/* The last tensor of [first, last] that lives behind `seq`; SIZE_MAX. Of several that one call
 * left, as a maximum and its places, backward is first through with the one that goes on to others.
 */
static size_t last_living(const struct levers_step *step, size_t first, size_t last, int64_t seq)
{
    const struct levers_block *blocks = step->blocks;
    int64_t largest = 0;
    size_t out = SIZE_MAX;
    for (size_t i = first; i <= last; i++)
        if (is_of_call(&blocks[i]) && blocks[i].end > seq && blocks[i].size > largest)
            largest = blocks[i].size;
    for (size_t i = last + 1; i-- > first && largest;) {
        if (!is_of_call(&blocks[i]))
            continue;
        if (out != SIZE_MAX && blocks[i].site != blocks[out].site)
            break;
        if (blocks[i].end > seq && blocks[i].size >= largest / ROWS &&
            (out == SIZE_MAX || blocks[i].end < blocks[out].end))
            out = i;
    }
    return out;
}

/* Where the backward of all that was born behind the calls is over. */
static int64_t end_of_rest(const struct levers_step *step, const struct again *again)
{
    int64_t last = again->backward->begin;
    for (size_t i = again->call->last + 1;
         i < step->count && step->blocks[i].seq < again->backward->begin; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_saved(again, block) && block->end > last)
            last = block->end;
    }
    return last;
}

/* `behind` is the call whose backward comes before this one's; NULL = none. */
static void find_again(const struct levers_step *step, const struct again *behind,
                       struct again *again)
{
    int64_t end = behind ? behind->last_end : end_of_rest(step, again);
    int64_t birth = birth_after(step, end);
    again->begin = birth < again->backward->end ? birth : end;
    again->first_end = LEVERS_NEVER;
    again->last_end = end;
    for (size_t i = again->call->first; i <= again->call->last; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_own(step, again, i))
            continue;
        again->has_own = true;
        again->first_end = block->end < again->first_end ? block->end : again->first_end;
        again->last_end = block->end > again->last_end ? block->end : again->last_end;
    }
}

static int by_number(const void *one, const void *other)
{
    const int64_t *a = one, *b = other;
    return *a < *b ? -1 : *a > *b;
}

/* What computing again takes for a moment beyond what it leaves: the births of the call once more,
 * as far as its last own block. */
static int spike_of(const struct levers_step *step, const struct again *again, int64_t *spike)
{
    const struct levers_block *blocks = step->blocks;
    size_t first = again->call->first, last = first, ended = 0, count = 0;
    int64_t own = 0, level = 0, highest = 0;
    for (size_t i = first; i <= again->call->last; i++)
        if (is_own(step, again, i)) {
            own += blocks[i].size;
            last = i;
        }
    struct levers_event *ends = mem_alloc(last - first + 1, sizeof *ends);
    if (!ends)
        return ERR_NOMEM;
    for (size_t i = first; i <= last; i++)
        if (is_of_call(&blocks[i]))
            ends[count++] = (struct levers_event){blocks[i].end, blocks[i].size};
    qsort(ends, count, sizeof *ends, by_number); /* seq is the first of it */
    for (size_t i = first; i <= last; i++) {
        for (; ended < count && ends[ended].seq <= blocks[i].seq; ended++)
            level -= ends[ended].change;
        level += is_of_call(&blocks[i]) ? blocks[i].size : 0;
        highest = level > highest ? level : highest;
    }
    mem_free(ends);
    *spike = highest > own ? highest - own : 0;
    return 0;
}

/* What goes before anything else is born, as a sum that is scaled, is left to nobody. */
static size_t output_of(const struct levers_step *step, const struct levers_call *call)
{
    int64_t last = step->blocks[call->last].seq, next = birth_after(step, last);
    return last_living(step, call->first, call->last, next < call->forward->end ? next : last);
}

/* The input of a call is kept until backward is through with it. Mostly it is saved anyway; where
 * it is not, it is the last one before the call that is as large as what the call leaves. */
static bool keep_input(const struct levers_step *step, const struct again *again,
                       struct levers_edit *edit)
{
    size_t from = levers_first_from(step, again->call->forward->begin);
    size_t first = again->call->first;
    if (!again->has_own || again->first_end == LEVERS_NEVER || again->output == SIZE_MAX)
        return true;
    for (size_t i = first; i-- > from;) {
        const struct levers_block *block = &step->blocks[i];
        if (block->end > step->blocks[first].seq &&
            block->asked == step->blocks[again->output].asked)
            return block->end >= again->first_end || levers_lengthen(edit, i, again->last_end);
    }
    return true;
}

/* Where several paths lead to what a call leaves, as a skip does, their gradients are added before
 * the call's first node runs: a birth, and the ends of both addends before anything else is born.
 */
static int64_t behind_sum(const struct levers_step *step, int64_t birth, int64_t first_end)
{
    size_t ends = 0, at = event_from(step, birth + 1);
    for (; at < step->event_count && step->events[at].change < 0; at++)
        ends++;
    bool sum = ends >= 2 && at < step->event_count && step->events[at].seq < first_end;
    return sum ? step->events[at].seq : birth;
}

/* Backward computes again as it comes to the first node of the call that needs something: behind
 * the last end of what others saved, and before the next birth. */
static int64_t comes_again(const struct levers_step *step, const struct again *again,
                           const struct ends *ends)
{
    size_t at;
    if (again->first_end == LEVERS_NEVER)
        return LEVERS_NEVER;
    SEARCH_FIRST(at, 0, ends->count, ends->ends[at].seq < again->first_end);
    int64_t birth = birth_after(step, at ? ends->ends[at - 1].seq : again->backward->begin);
    birth = birth > again->begin ? birth : again->begin;
    if (birth < again->first_end)
        birth = behind_sum(step, birth, again->first_end);
    return birth < again->first_end ? birth : again->first_end;
}

static int cut_call(const struct levers_step *step, const struct again *again,
                    const struct ends *ends, int64_t kept, bool least, struct levers_edit *edit)
{
    int64_t over = step->blocks[again->call->last].seq + 1, spike = 0;
    int64_t come = comes_again(step, again, ends);
    if (!again->has_own)
        return 0;
    for (size_t i = again->call->first; i <= again->call->last; i++)
        if (is_own(step, again, i) &&
            !levers_cut(edit, i, least ? step->blocks[i].seq + 1 : over, come))
            return ERR_NOMEM;
    if (!levers_extra(edit, kept, step->blocks[again->call->first].seq, again->last_end))
        return ERR_NOMEM;
    if (least || come == LEVERS_NEVER)
        return 0;
    int err = spike_of(step, again, &spike);
    return err == 0 && !levers_spike(edit, spike, come) ? ERR_NOMEM : err;
}

/* Of all that this forward saved. */
static int read_ends(const struct levers_step *step, const struct again *again, struct ends *out)
{
    size_t first = levers_first_from(step, again->call->forward->begin);
    size_t last = levers_first_from(step, again->backward->begin);
    *out = (struct ends){.ends = mem_alloc(last - first + 1, sizeof *out->ends)};
    if (!out->ends)
        return ERR_NOMEM;
    for (size_t i = first; i < last; i++)
        if (is_saved(again, &step->blocks[i]))
            out->ends[out->count++] = (struct levers_event){step->blocks[i].end, 0};
    qsort(out->ends, out->count, sizeof *out->ends, by_number); /* seq is the first of it */
    return 0;
}

/* ---- calls of one forward ---- */

static int cut_forward(const struct levers_step *step, const struct levers_call *calls,
                       size_t count, int64_t kept, bool least, struct levers_edit *edit)
{
    static const struct levers_phase never = {.begin = LEVERS_NEVER, .end = LEVERS_NEVER};
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, step->blocks[calls[count - 1].last].seq);
    if (!backward && step->cut_short)
        backward = &never;
    struct again *again = mem_alloc(count, sizeof *again);
    struct ends ends = {0};
    int err = again ? 0 : ERR_NOMEM;
    if (err == 0 && backward) {
        again[0] =
            (struct again){.call = &calls[0], .backward = backward, .cut_short = step->cut_short};
        err = read_ends(step, &again[0], &ends);
    }
    for (size_t i = count; i-- > 0 && backward && err == 0;) {
        again[i] =
            (struct again){.call = &calls[i], .backward = backward, .cut_short = step->cut_short};
        again[i].output = output_of(step, &calls[i]);
        find_again(step, i + 1 < count ? &again[i + 1] : NULL, &again[i]);
        err = cut_call(step, &again[i], &ends, kept, least, edit);
    }
    for (size_t i = 0; i < count && backward && err == 0; i++)
        if (!keep_input(step, &again[i], edit))
            err = ERR_NOMEM;
    mem_free(ends.ends);
    mem_free(again);
    return err;
}

int levers_recompute(const struct levers_step *step, const struct levers_unit *unit, int64_t kept,
                     bool least, struct levers_edit *edit)
{
    int err = 0;
    for (size_t i = 0, next; i < unit->count && err >= 0; i = next) {
        for (next = i + 1;
             next < unit->count && unit->calls[next].forward == unit->calls[i].forward;)
            next++;
        err = cut_forward(step, &unit->calls[i], next - i, kept, least, edit);
    }
    return err;
}
