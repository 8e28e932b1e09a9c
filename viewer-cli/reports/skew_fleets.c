/*
 * Two runs of a fleet: the peak of each rank in one beside that in the other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "skew_report.h"

enum { SHOWN = 8 };

struct pair { /* a rank that both have */
    size_t at[DIFF_SIDES];
    int64_t rank, change;
};

static const struct emit_column columns[] = {
    {"rank", NULL, EMIT_PLAIN, 0},
    {"change", NULL, EMIT_DELTA, 0},
    {"a", "A", EMIT_BYTES, 0},
    {"b", "B", EMIT_BYTES, 0},
    {"a_host", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"b_host", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"a_device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"b_device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"a_moment", "A at", EMIT_TEXT, 0},
    {"b_moment", "B at", EMIT_TEXT, 0},
};

static int by_change(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int64_t p = llabs(x->change), q = llabs(y->change);
    return p != q ? (p < q ? 1 : -1) : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Both come by rank. */
static size_t find_pairs(const struct skew_places fleets[DIFF_SIDES], struct pair *pairs)
{
    size_t count = 0, i = 0, j = 0;
    while (i < fleets[DIFF_A].count && j < fleets[DIFF_B].count) {
        const struct skew_place *a = &fleets[DIFF_A].places[i], *b = &fleets[DIFF_B].places[j];
        int64_t p = a->scope->process.rank, q = b->scope->process.rank;
        if (p == q)
            pairs[count++] = (struct pair){{i, j}, p, b->peak.allocated - a->peak.allocated};
        i += p <= q;
        j += q <= p;
    }
    return count;
}

static void put_pair(struct emit *emit, const struct skew_places fleets[DIFF_SIDES],
                     const struct pair *pair)
{
    const struct skew_place *a = &fleets[DIFF_A].places[pair->at[DIFF_A]];
    const struct skew_place *b = &fleets[DIFF_B].places[pair->at[DIFF_B]];
    emit_int(emit, pair->rank);
    emit_int(emit, pair->change);
    emit_int(emit, a->peak.allocated);
    emit_int(emit, b->peak.allocated);
    emit_text(emit, a->host);
    emit_text(emit, b->host);
    emit_text(emit, a->scope->device_text);
    emit_text(emit, b->scope->device_text);
    emit_text(emit, a->peak.label);
    emit_text(emit, b->peak.label);
}

static int64_t median_change(const struct pair *pairs, size_t count)
{
    struct skew_value *values = mem_alloc(count + 1, sizeof *values);
    int64_t median = INT64_MIN;
    for (size_t i = 0; values && i < count; i++)
        values[i] = (struct skew_value){pairs[i].change, i};
    if (values)
        median = skew_spread_of(values, count).median.value;
    mem_free(values);
    return median;
}

static void say_answer(struct emit *emit, const struct skew_places fleets[DIFF_SIDES],
                       const struct pair *pairs, size_t count, int64_t median)
{
    char change[HUMAN_MAX], middle[HUMAN_MAX], most[2][HUMAN_MAX], number[HUMAN_MAX];
    if (!pairs[0].change)
        emit_line(emit, "all %s ranks have the same peak in both",
                  human_count(number, (int64_t)count));
    else
        emit_line(emit,
                  "rank %" PRId64 " changed most: %s; the median of %s ranks by %s; the largest "
                  "peak went from %s to %s",
                  pairs[0].rank, human_delta(change, pairs[0].change),
                  human_count(number, (int64_t)count), human_delta(middle, median),
                  human_bytes(most[0], fleets[DIFF_A].spread.most.value),
                  human_bytes(most[1], fleets[DIFF_B].spread.most.value));
}

static int put_pairs(struct report *a, struct report *b, const struct skew_options *options,
                     const struct skew_places fleets[DIFF_SIDES], struct pair *pairs, size_t count)
{
    struct emit *emit = &a->emit;
    bool people = emit->format == EMIT_TABLE && !options->all;
    char title[96], number[HUMAN_MAX];
    int64_t median = median_change(pairs, count);
    if (median == INT64_MIN)
        return ERR_NOMEM;
    qsort(pairs, count, sizeof *pairs, by_change);
    say_answer(emit, fleets, pairs, count, median);
    EMIT_SECTION(emit, "ranks", "Peaks of the ranks, from A to B", EMIT_ROWS, columns);
    for (size_t i = 0; i < count && (!people || i < SHOWN); i++)
        put_pair(emit, fleets, &pairs[i]);
    if (people && count > SHOWN)
        emit_line(emit, "and %s more that changed less: --all shows them",
                  human_count(number, (int64_t)(count - SHOWN)));
    if (!pairs[0].change) {
        skew_put_no_holders(emit, false);
        return 0;
    }
    snprintf(title, sizeof title, "Memory of rank %" PRId64 " in B beyond A, at both peaks",
             pairs[0].rank);
    const struct skew_sides sides = {
        .reports = {a, b},
        .places = {&fleets[DIFF_A].places[pairs[0].at[DIFF_A]],
                   &fleets[DIFF_B].places[pairs[0].at[DIFF_B]]},
        .title = title,
        .top = options->top,
    };
    return skew_put_holders(emit, &sides);
}

static void note_alone(struct report *a, const struct skew_places fleets[DIFF_SIDES], size_t both)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        size_t alone = fleets[side].count - both;
        if (alone)
            emit_note(&a->emit, "%zu rank%s only in %c", alone, alone == 1 ? " is" : "s are",
                      "AB"[side]);
    }
}

int skew_put_fleets(struct report *a, struct report *b, const struct skew_options *options)
{
    struct skew_places fleets[DIFF_SIDES];
    struct pair *pairs = NULL;
    size_t count = 0;
    int err = skew_find_places(a, options->phase, &fleets[DIFF_A]);
    int other = skew_find_places(b, options->phase, &fleets[DIFF_B]);
    if (err == 0 && other < 0) {
        a->at_fault = b;
        err = other;
    }
    if (err == 0 && !(pairs = mem_alloc(fleets[DIFF_A].count + 1, sizeof *pairs)))
        err = ERR_NOMEM;
    if (err == 0)
        count = find_pairs(fleets, pairs);
    if (err == 0 && !count)
        emit_note(&a->emit, "there is nothing to compare: no rank is in both%s%.80s",
                  options->phase ? " with phase " : "", options->phase ? options->phase : "");
    if (err == 0 && count)
        err = put_pairs(a, b, options, fleets, pairs, count);
    if (err == 0)
        note_alone(a, fleets, count);
    if (err == 0 && count)
        err = report_note_commits(a, b);
    emit_close(&a->emit);
    mem_free(pairs);
    for (int side = 0; side < DIFF_SIDES; side++)
        skew_places_clear(&fleets[side]);
    return err;
}
