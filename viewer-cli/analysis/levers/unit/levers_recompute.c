#include "levers_recompute.h"

#include <stdlib.h>

#include "error.h"
#include "group.h"
#include "map.h"
#include "mem.h"
#include "search.h"

/* A call in its backward. Blocks that end before `begin` are needed by what comes behind it. */
struct again {
    const struct levers_call *call;
    const struct levers_phase *backward;
    bool cut_short;
    size_t output;     /* place of the block that it leaves to others; SIZE_MAX */
    int64_t entered;   /* its modules' first birth in backward; LEVERS_NEVER: not known */
    bool saves_output; /* its own last node needs that, as a ReLU's does: it is computed again */
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

int levers_recomputed(const struct levers_step *step, struct map *modules)
{
    const struct levers_phases *phases = &step->phases;
    for (size_t i = 0; i < phases->count; i++) {
        const struct levers_phase *phase = &phases->phases[i];
        if (phase->kind != LEVERS_RECOMPUTE)
            continue;
        for (size_t j = levers_first_from(step, phase->begin);
             j < step->count && step->blocks[j].seq <= phase->end; j++)
            if (step->blocks[j].module != GROUP_NONE &&
                !map_put(modules, (uint64_t)step->blocks[j].module, 1, NULL))
                return ERR_NOMEM;
    }
    return 0;
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

/* What backward is through with before it comes to `at`, of several calls behind it, was made of it
 * in turn: then that is none that goes on to others, however small these are, as of a transform
 * that a network makes for each of its clouds of points. */
static bool goes_on_inside(const struct levers_step *step, size_t at, size_t last, int64_t seq)
{
    int64_t site = GROUP_NONE;
    for (size_t i = at + 1; i <= last; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose != PURPOSE_ACTIVATION || block->end <= seq ||
            block->end >= step->blocks[at].end || block->site == step->blocks[at].site ||
            block->site == site)
            continue;
        if (site != GROUP_NONE)
            return true;
        site = block->site;
    }
    return false;
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

/* It goes once a node of the call's own ran, not as those behind it are through. What others took
 * is gone by then, and the one that is computed again takes its place. */
static bool saves_output(const struct levers_step *step, const struct again *again)
{
    return again->entered != LEVERS_NEVER && again->output != SIZE_MAX &&
           is_saved(again, &step->blocks[again->output]) &&
           step->blocks[again->output].end > again->entered && again->entered >= again->begin;
}

/* `behind` is the call whose backward comes before this one's; NULL = none. */
static void find_again(const struct levers_step *step, const struct again *behind,
                       struct again *again)
{
    int64_t end = behind ? behind->last_end : end_of_rest(step, again);
    int64_t birth = birth_after(step, end);
    again->begin = birth < again->backward->end ? birth : end;
    if (again->entered != LEVERS_NEVER && again->entered > again->begin)
        again->begin = again->entered;
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
        if (is_own(step, again, i) || (again->saves_output && i == again->output)) {
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
    size_t first = call->first, out;
    last = next < call->forward->end ? next : last;
    out = last_living(step, first, call->last, last);
    while (out != SIZE_MAX && goes_on_inside(step, out, call->last, last)) {
        first = out + 1;
        out = last_living(step, first, call->last, last);
    }
    return out;
}

/* The input of a call is kept until backward is through with it. Mostly it is saved anyway; where
 * it is not, it is the last one before the call that is as large as what the call leaves; or twice
 * as large under autocast and gone inside of the call, as what a norm made in float32. */
static bool keep_input(const struct levers_step *step, const struct again *again,
                       const struct levers_casts *casts, struct levers_edit *edit)
{
    size_t from = levers_first_from(step, again->call->forward->begin);
    size_t first = again->call->first;
    if (!again->has_own || again->first_end == LEVERS_NEVER || again->output == SIZE_MAX)
        return true;
    for (size_t i = first; i-- > from;) {
        const struct levers_block *block = &step->blocks[i];
        const int64_t left = step->blocks[again->output].asked;
        const bool cast = casts->blocks.count && block->asked == 2 * left &&
                          block->end <= step->blocks[again->call->last].seq;
        if (block->end > step->blocks[first].seq && (block->asked == left || cast))
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
    if (again->saves_output && again->entered < again->first_end)
        return again->entered;
    SEARCH_FIRST(at, 0, ends->count, ends->ends[at].seq < again->first_end);
    int64_t birth = birth_after(step, at ? ends->ends[at - 1].seq : again->backward->begin);
    birth = birth > again->begin ? birth : again->begin;
    if (birth < again->first_end)
        birth = behind_sum(step, birth, again->first_end);
    return birth < again->first_end ? birth : again->first_end;
}

/* Copies of weights that nobody needs in backward, as of biases, go as autocast is left. Where
 * there are none, it is not left before backward. */
static int64_t autocast_left(const struct levers_step *step, const struct again *again,
                             const struct levers_casts *casts)
{
    int64_t left = 0;
    for (size_t i = again->call->first; i <= again->call->last; i++) {
        int64_t end = step->blocks[i].end;
        if (levers_is_cast(casts, i) && end < again->backward->begin && end > left)
            left = end;
    }
    return left > step->blocks[again->call->last].seq ? left : again->backward->begin;
}

static int cut_call(const struct levers_step *step, const struct again *again,
                    const struct ends *ends, const struct levers_recomputing *how,
                    struct levers_edit *edit)
{
    int64_t over = step->blocks[again->call->last].seq + 1, spike = 0;
    int64_t come = comes_again(step, again, ends), left = autocast_left(step, again, how->casts);
    if (!again->has_own)
        return 0;
    for (size_t i = again->call->first; i <= again->call->last; i++) {
        int64_t from = how->least ? step->blocks[i].seq + 1 : over;
        if (levers_is_cast(how->casts, i))
            from = left;
        if (is_own(step, again, i) && !levers_cut(edit, i, from, come))
            return ERR_NOMEM;
    }
    if (!levers_extra(edit, how->kept, step->blocks[again->call->first].seq, again->last_end))
        return ERR_NOMEM;
    if (how->least || come == LEVERS_NEVER)
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

/* Which module's node made a block of backward is known: by instances of the unit the first block
 * of each. Of one that is called several times in a forward that says nothing. */
static int read_entered(const struct levers_step *step, const struct levers_unit *unit,
                        struct again *again, size_t count)
{
    const struct levers_phase *backward = again[0].backward;
    struct map calls = {0};
    int err = 0;
    for (size_t i = 0; i < count && err == 0; i++) {
        uint64_t instance = again[i].call->instance, before = MAP_NONE;
        if (instance != SIZE_MAX &&
            !map_put(&calls, instance, map_get(&calls, instance) == MAP_NONE ? i : count, &before))
            err = ERR_NOMEM;
    }
    for (size_t i = levers_first_from(step, backward->begin);
         i < step->count && step->blocks[i].seq <= backward->end && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        uint64_t instance = block->module == GROUP_NONE
                                ? MAP_NONE
                                : map_get(&unit->inside, (uint64_t)block->module);
        uint64_t call = instance == MAP_NONE ? MAP_NONE : map_get(&calls, instance);
        if (call < count && again[call].entered == LEVERS_NEVER)
            again[call].entered = block->seq;
    }
    map_clear(&calls);
    return err;
}

static int cut_calls(const struct levers_step *step, struct again *again, size_t count,
                     const struct levers_recomputing *how, struct levers_edit *edit)
{
    struct ends ends;
    int err = read_ends(step, &again[0], &ends);
    for (size_t i = count; i-- > 0 && err == 0;) {
        again[i].output = output_of(step, again[i].call);
        find_again(step, i + 1 < count ? &again[i + 1] : NULL, &again[i]);
        again[i].saves_output = saves_output(step, &again[i]);
        err = cut_call(step, &again[i], &ends, how, edit);
    }
    for (size_t i = 0; i < count && err == 0; i++)
        if (!keep_input(step, &again[i], how->casts, edit))
            err = ERR_NOMEM;
    mem_free(ends.ends);
    return err;
}

static int cut_forward(const struct levers_step *step, const struct levers_unit *unit,
                       const struct levers_call *calls, size_t count,
                       const struct levers_recomputing *how, struct levers_edit *edit)
{
    static const struct levers_phase never = {.begin = LEVERS_NEVER, .end = LEVERS_NEVER};
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, step->blocks[calls[count - 1].last].seq);
    if (!backward && step->cut_short)
        backward = &never;
    if (!backward)
        return 0;
    struct again *again = mem_alloc(count, sizeof *again);
    if (!again)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        again[i] = (struct again){.call = &calls[i],
                                  .backward = backward,
                                  .cut_short = step->cut_short,
                                  .entered = LEVERS_NEVER};
    int err = read_entered(step, unit, again, count);
    if (err == 0)
        err = cut_calls(step, again, count, how, edit);
    mem_free(again);
    return err;
}

int levers_recompute(const struct levers_step *step, const struct levers_unit *unit,
                     const struct levers_recomputing *how, struct levers_edit *edit)
{
    int err = 0;
    for (size_t i = 0, next; i < unit->count && err >= 0; i = next) {
        for (next = i + 1;
             next < unit->count && unit->calls[next].forward == unit->calls[i].forward;)
            next++;
        err = cut_forward(step, unit, &unit->calls[i], next - i, how, edit);
    }
    return err;
}
