#include "growth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "category.h"
#include "error.h"
#include "line.h"
#include "mem.h"
#include "query.h"

/* ---- the units ---- */

struct unit {
    int64_t number;
    int64_t begin, peak, end; /* bytes */
};

struct units {
    struct unit *units;
    size_t count, cap;
};

/* Phases of one step, the one that ends last at the end: the last row of a step has its end. No
 * step behind the last that trained, where any did: it ends with the program (category_steps). */
static const char steps_sql[] =
    "SELECT ph.step AS number, x.begin_allocated AS begin, x.peak_allocated AS peak,"
    "       x.allocated AS end"
    "  FROM phase ph JOIN phase_device x ON x.phase = ph.id"
    " WHERE ph.process = ?1 AND x.device = ?2 AND ph.step IS NOT NULL AND ph.scope = 'process'"
    "   AND ph.domain IS NULL AND ph.end_seq IS NOT NULL"
    " ORDER BY ph.step, ph.end_seq";

static const char calls_sql[] =
    "SELECT row_number() OVER (ORDER BY ph.begin_seq) - 1 AS number,"
    "       x.begin_allocated AS begin, x.peak_allocated AS peak, x.allocated AS end"
    "  FROM phase ph JOIN phase_device x ON x.phase = ph.id"
    " WHERE ph.process = ?1 AND x.device = ?2 AND ph.parent IS NULL AND ph.scope = 'process'"
    "   AND ph.kind IN ('forward', 'forward_no_grad', 'eval') AND ph.end_seq IS NOT NULL"
    " ORDER BY ph.begin_seq";

static int take(struct units *units, const struct unit *row)
{
    struct unit *last = units->count ? &units->units[units->count - 1] : NULL;
    if (last && last->number == row->number) {
        last->peak = row->peak > last->peak ? row->peak : last->peak;
        last->end = row->end;
        return 0;
    }
    if (!MEM_GROW(units->units, units->cap, units->count + 1))
        return ERR_NOMEM;
    units->units[units->count++] = *row;
    return 0;
}

static int read_units(struct db *db, const char *sql, int64_t process, int64_t device, int64_t but,
                      struct units *units)
{
    struct unit row = {0};
    units->count = 0;
    struct query query =
        query_ask(db, sql, Q_IN(process, device),
                  Q_OUT(Q_INT(row.number), Q_INT(row.begin), Q_INT(row.peak), Q_INT(row.end)));
    while (query_next(&query))
        query_fail(&query, row.number == but ? 0 : take(units, &row));
    return query_end(&query);
}

static int read_steps(struct db *db, int64_t process, int64_t device, struct units *units)
{
    struct category_rules *rules;
    int err = category_load(db, process, &rules);
    if (err < 0)
        return err;
    const int64_t test = category_test_behind(rules);
    category_free(rules);
    return read_units(db, steps_sql, process, device, test, units);
}

/* ---- what they say ---- */

static int64_t lowest_end(const struct unit *units, size_t from, size_t to)
{
    int64_t lowest = INT64_MAX;
    for (size_t i = from; i < to; i++)
        lowest = units[i].end < lowest ? units[i].end : lowest;
    return lowest;
}

static bool is_growing(const struct unit *units, size_t count, int64_t peak)
{
    enum { PARTS = 4 };
    int64_t lows[PARTS], least = peak / 100 < 1 << 20 ? peak / 100 : 1 << 20;
    for (size_t i = 0; i < PARTS; i++) {
        lows[i] = lowest_end(units, count * i / PARTS, count * (i + 1) / PARTS);
        if (i && lows[i] <= lows[i - 1])
            return false;
    }
    return lows[PARTS - 1] - lows[0] >= (least > 0 ? least : 1);
}

static int by_value(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return a < b ? -1 : a > b;
}

/* Of the line through what stays: the ends, each no higher than any later one. */
static int64_t slope(const struct unit *units, size_t count)
{
    struct line line = {0};
    int64_t lowest = INT64_MAX;
    for (size_t i = count; i-- > 0;) {
        lowest = units[i].end < lowest ? units[i].end : lowest;
        line_add(&line, units[i].number, lowest);
    }
    return llround(line_slope(&line));
}

/* The first unit from which all peaks are within a hundredth of the highest. */
static size_t steady_from(const struct unit *units, size_t count)
{
    int64_t low = INT64_MAX, high = 0;
    size_t at = count;
    while (at > 0) {
        int64_t peak = units[at - 1].peak;
        low = peak < low ? peak : low;
        high = peak > high ? peak : high;
        if (high - low > high / 100)
            break;
        at--;
    }
    return at;
}

static void find_extremes(const struct unit *units, size_t count, struct growth *out)
{
    for (size_t i = 0; i < count; i++) {
        if (out->lowest_unit == GROUP_NONE || units[i].peak < out->lowest) {
            out->lowest = units[i].peak;
            out->lowest_unit = units[i].number;
        }
        if (out->highest_unit == GROUP_NONE || units[i].peak > out->highest) {
            out->highest = units[i].peak;
            out->highest_unit = units[i].number;
        }
    }
}

/* `units` are all but the first. */
static void judge(const struct unit *units, size_t count, struct growth *out)
{
    size_t steady = steady_from(units, count);
    find_extremes(units, count, out);
    out->units = (int64_t)count;
    out->first = units[0].number;
    out->last = units[count - 1].number;
    if (is_growing(units, count, out->highest))
        out->per_unit = slope(units, count);
    if (out->per_unit > 0) {
        out->kind = GROWTH_GROWING;
        out->since = out->first;
        return;
    }
    out->per_unit = 0;
    out->kind = steady <= count / 2 ? GROWTH_STEADY : GROWTH_VARYING;
    if (out->kind == GROWTH_STEADY)
        out->since = units[steady].number;
}

/* ---- sequences of calls ---- */

enum { SEVERAL = 3 }; /* times the median of what calls have of their own */

static int64_t own_of(const struct unit *unit)
{
    return unit->peak - unit->begin;
}

static int median_own(const struct unit *units, size_t count, int64_t *median)
{
    int64_t *own = mem_alloc(count, sizeof *own);
    if (!own)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        own[i] = own_of(&units[i]);
    qsort(own, count, sizeof *own, by_value);
    *median = own[count / 2];
    mem_free(own);
    return 0;
}

static bool is_prefill(const struct unit *unit, int64_t median)
{
    return own_of(unit) > SEVERAL * median;
}

static bool begins(const struct unit *units, size_t at, int64_t median)
{
    return at == 0 || is_prefill(&units[at], median) ||
           units[at].end < units[at - 1].end - units[at - 1].end / 100;
}

/* The longest run of calls behind one that begins a sequence. */
static size_t find_sequence(const struct unit *units, size_t count, int64_t median, size_t *from)
{
    size_t longest = 0, first = 1;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && !begins(units, i, median))
            continue;
        if (i - first > longest) {
            longest = i - first;
            *from = first;
        }
        first = i + 1;
    }
    return longest;
}

/* All calls, the first too. */
static int judge_sequences(const struct unit *units, size_t count, struct growth *out)
{
    int64_t median = 0;
    size_t from = 0;
    int err = median_own(units, count, &median);
    size_t length = err == 0 ? find_sequence(units, count, median, &from) : 0;
    if (length < GROWTH_LEAST || !is_growing(units + from, length, out->highest))
        return err;
    struct growth_sequence *sequence = &out->sequence;
    sequence->per_call = slope(units + from, length);
    sequence->per_call = sequence->per_call > 0 ? sequence->per_call : 0;
    sequence->first = units[from].number;
    sequence->last = units[from + length - 1].number;
    for (size_t i = 0; i < count; i++)
        if (units[i].number == out->highest_unit)
            sequence->prefill = is_prefill(&units[i], median);
    return err;
}

/* Of a recording that was thinned out the steps with the highest peaks are left: no sample of all,
 * unless they are most. A program may number its steps as it likes where none is missing. */
static int read_thinned(struct db *db, int64_t process, const struct units *units, bool *thinned)
{
    int64_t phases = 0;
    size_t count = units->count;
    *thinned = false;
    if (!count ||
        count > ((uint64_t)units->units[count - 1].number - (uint64_t)units->units[0].number) / 2)
        return 0;
    int err = query_read(db,
                         "SELECT coalesce(sum(n), 0) AS phases FROM thinned"
                         " WHERE what = 'phases' AND coalesce(process, ?1) = ?1",
                         Q_IN(process), Q_OUT(Q_INT(phases)));
    *thinned = phases > 0;
    return err;
}

int growth_read(struct db *db, int64_t process, int64_t device, struct growth *out)
{
    struct units units = {0};
    *out =
        (struct growth){.since = GROUP_NONE, .lowest_unit = GROUP_NONE, .highest_unit = GROUP_NONE};
    int err = read_steps(db, process, device, &units);
    if (err == 0 && units.count == 0) {
        out->calls = true;
        err = read_units(db, calls_sql, process, device, CATEGORY_UNKNOWN, &units);
    }
    if (err == 0)
        err = read_thinned(db, process, &units, &out->thinned);
    if (err == 0 && units.count > GROWTH_LEAST && !out->thinned)
        judge(units.units + 1, units.count - 1, out);
    if (err == 0 && out->calls && out->kind == GROWTH_VARYING)
        err = judge_sequences(units.units, units.count, out);
    mem_free(units.units);
    return err;
}

bool growth_is_valid(const struct growth *growth)
{
    if (growth->kind == GROWTH_UNKNOWN)
        return growth->units == 0;
    if (growth->thinned)
        return false;
    if (growth->since != GROUP_NONE &&
        (growth->since < growth->first || growth->since > growth->last))
        return false;
    if (growth->sequence.per_call && (growth->kind != GROWTH_VARYING || !growth->calls))
        return false;
    return growth->units >= GROWTH_LEAST && growth->first < growth->last &&
           (growth->per_unit > 0) == (growth->kind == GROWTH_GROWING) &&
           growth->lowest <= growth->highest;
}
