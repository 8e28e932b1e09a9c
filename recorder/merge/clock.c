#include "clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"

const char *clock_kind_text(enum clock_kind kind)
{
    static const char *const texts[CLOCK_KINDS] = {
        [CLOCK_KERNEL] = "kernels of NCCL",
        [CLOCK_NAMED] = "collectives that the program named",
        [CLOCK_NCCL] = "calls of NCCL",
        [CLOCK_BACKWARD] = "ends of backward",
    };
    return texts[kind];
}

/* ---- meetings ---- */

static bool put_earlier(struct map *map, uint64_t hash, int64_t ns)
{
    uint64_t old = map_get(map, hash);
    return (old != MAP_NONE && (int64_t)old <= ns) || map_put(map, hash, (uint64_t)ns, NULL);
}

/* Twice as many bits have to be zero: about half of them stay. */
static bool halve(struct clock_meetings *meetings)
{
    struct map kept = {0};
    const struct map_entry *entry;
    bool fine = true;
    meetings->mask = meetings->mask << 1 | 1;
    for (size_t at = 0; fine && (entry = map_next(&meetings->by_name, &at));)
        if (!(entry->key & meetings->mask))
            fine = map_put(&kept, entry->key, entry->value, NULL);
    map_clear(&meetings->by_name);
    meetings->by_name = kept;
    return fine;
}

bool clock_meet(struct clock_meetings *meetings, uint64_t hash, int64_t ns)
{
    if (hash & meetings->mask || ns < 0)
        return true;
    if (!put_earlier(&meetings->by_name, hash, ns))
        return false;
    while (meetings->by_name.count > CLOCK_MOST)
        if (!halve(meetings))
            return false;
    return true;
}

void clock_clear(struct clock_meetings *meetings)
{
    map_clear(&meetings->by_name);
}

/* ---- a line through differences ---- */

struct pair {
    double at, apart; /* a time of the new recording; how much later it was in the merged run */
};

struct line {
    size_t count;
    double middle, height, slope;
    double error, slope_error;
};

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double quantile(double *values, size_t count, double share)
{
    qsort(values, count, sizeof *values, by_value);
    size_t at = (size_t)(share * (double)count);
    return values[at < count ? at : count - 1];
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double slope_of(const struct pair *pairs, size_t count, double *room)
{
    size_t slopes = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (pairs[i].at != pairs[j].at)
                room[slopes++] = (pairs[j].apart - pairs[i].apart) / (pairs[j].at - pairs[i].at);
    return slopes ? median(room, slopes) : 0;
}

static double height_of(const struct pair *pairs, const struct line *line, double *room)
{
    for (size_t i = 0; i < line->count; i++)
        room[i] = pairs[i].apart - line->slope * (pairs[i].at - line->middle);
    return median(room, line->count);
}

/* How far from the line: in half of the meetings, or in 19 of 20. */
static double distance(const struct pair *pairs, const struct line *line, double share,
                       double *room)
{
    for (size_t i = 0; i < line->count; i++)
        room[i] = fabs(pairs[i].apart - line->height - line->slope * (pairs[i].at - line->middle));
    return quantile(room, line->count, share);
}

/* 1.48 times the median distance is the deviation, if it is spread as errors mostly are. */
static double slope_error_of(const struct pair *pairs, const struct line *line, double *room)
{
    double squares = 0;
    for (size_t i = 0; i < line->count; i++)
        squares += (pairs[i].at - line->middle) * (pairs[i].at - line->middle);
    return squares > 0 ? 1.48 * distance(pairs, line, 0.5, room) / sqrt(squares) : 0;
}

static double middle_of(const struct pair *pairs, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += pairs[i].at / (double)count;
    return sum;
}

/* `half` of the meetings are no farther from the line. */
static bool is_drift(const struct line *line, double span, double half)
{
    double slope = fabs(line->slope);
    return slope > 3 * line->slope_error && slope * span > 6 * half && slope <= CLOCK_DRIFT;
}

/* A line through a few points passes close to them wherever it should be. So it is level, and what
 * is not known of the drift is its error. */
static void lay_level(const struct pair *pairs, double *room, struct line *line)
{
    line->slope = 0;
    line->height = height_of(pairs, line, room);
    line->slope_error = CLOCK_UNSEEN / 2;
    line->error = 2 * distance(pairs, line, 1, room);
}

/* `room` is for count * count / 2 numbers. */
static void lay(const struct pair *pairs, size_t count, double *room, struct line *line)
{
    *line = (struct line){.count = count, .middle = middle_of(pairs, count)};
    if (count < CLOCK_LINE) {
        lay_level(pairs, room, line);
        return;
    }
    line->slope = slope_of(pairs, count, room);
    line->height = height_of(pairs, line, room);
    line->slope_error = slope_error_of(pairs, line, room);
    double half = distance(pairs, line, 0.5, room);
    if (!is_drift(line, pairs[count - 1].at - pairs[0].at, half)) {
        line->slope = line->slope_error = 0;
        line->height = height_of(pairs, line, room);
    }
    /* It is closer to the points that it was laid through than to others. */
    const double few = 1 + 8 / (double)count;
    line->slope_error *= few;
    line->error = few * distance(pairs, line, 0.95, room);
}

/* ---- one recording against those that are aligned ---- */

struct met { /* a meeting in the merged run */
    int64_t ns, error_ns;
    bool loose; /* error_ns is not beside the first recording */
};

struct known {          /* of one kind: as the first recording that has it was aligned */
    struct map by_name; /* -> index */
    struct met *met;
    size_t count, cap;
};

/* What is called alike in two jobs is two meetings. */
static uint64_t key_of(const struct clock_side *side, uint64_t hash)
{
    return hash ^ (unsigned)side->job * 0x9e3779b97f4a7c15ull;
}

static bool learn(struct known *known, const struct clock_side *side, enum clock_kind kind)
{
    const struct map_entry *entry;
    const struct map *map = &side->meetings[kind].by_name;
    for (size_t at = 0; (entry = map_next(map, &at));) {
        uint64_t key = key_of(side, entry->key);
        if (map_get(&known->by_name, key) != MAP_NONE)
            continue;
        if (!MEM_GROW(known->met, known->cap, known->count + 1) ||
            !map_put(&known->by_name, key, known->count, NULL))
            return false;
        known->met[known->count++] =
            (struct met){clock_ns(side, (int64_t)entry->value), side->error_ns, side->loose};
    }
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* What was met: the largest error of its clocks. */
static void add_error(struct met *all, const struct met *met)
{
    all->error_ns = met->error_ns > all->error_ns ? met->error_ns : all->error_ns;
    all->loose = all->loose || met->loose;
}

/* Those that both have, by time; of many every so many. Returns how many; SIZE_MAX: no memory. */
static size_t find_pairs(const struct known *known, const struct clock_side *side,
                         enum clock_kind kind, struct pair **out, struct met *all)
{
    const struct clock_meetings *meetings = &side->meetings[kind];
    struct pair *pairs = mem_alloc(meetings->by_name.count + 1, sizeof *pairs);
    const struct map_entry *entry;
    size_t count = 0, kept = 0;
    *out = pairs;
    for (size_t at = 0; pairs && (entry = map_next(&meetings->by_name, &at));) {
        uint64_t place = map_get(&known->by_name, key_of(side, entry->key));
        if (place == MAP_NONE)
            continue;
        const struct met *met = &known->met[place];
        pairs[count++] =
            (struct pair){(double)(int64_t)entry->value, (double)(met->ns - (int64_t)entry->value)};
        add_error(all, met);
    }
    if (!pairs)
        return SIZE_MAX;
    qsort(pairs, count, sizeof *pairs, by_time);
    size_t step = count / CLOCK_FIT + 1;
    for (size_t i = 0; i < count; i += step)
        pairs[kept++] = pairs[i];
    return kept;
}

static void take(struct clock_side *side, enum clock_kind kind, const struct line *line,
                 const struct met *all)
{
    double end = (double)side->run_ns - line->middle;
    double far = line->middle > end ? line->middle : end;
    double error = line->error + 2 * line->slope_error * far + (double)all->error_ns;
    if (side->aligned && side->error_ns <= (int64_t)error)
        return;
    side->aligned = true;
    side->way = MERGE_WAY_COLLECTIVES;
    side->kind = kind;
    side->count = (int64_t)line->count;
    side->error_ns = (int64_t)error;
    side->middle = (int64_t)line->middle;
    side->offset = (int64_t)line->height;
    side->drift = line->slope;
    side->loose = all->loose;
}

/* False without memory. */
static bool by_meetings(struct known known[CLOCK_KINDS], struct clock_side *side)
{
    bool fine = true;
    for (int kind = 0; kind < CLOCK_KINDS && fine; kind++) {
        struct pair *pairs;
        struct line line;
        struct met all = {0};
        size_t count = find_pairs(&known[kind], side, (enum clock_kind)kind, &pairs, &all);
        double *room =
            count == SIZE_MAX ? NULL : mem_alloc(count * count / 2 + count + 1, sizeof *room);
        fine = room != NULL;
        if (fine && count >= CLOCK_LEAST) {
            lay(pairs, count, room, &line);
            take(side, (enum clock_kind)kind, &line, &all);
        }
        mem_free(room);
        mem_free(pairs);
    }
    return fine;
}

/* ---- without meetings ---- */

/* Two recorders of one machine see the same clock: its distance to the calendar is the same, and
 * of two machines it is not, for they did not start in the same millisecond. */
static bool is_same(const struct clock_side *a, const struct clock_side *b)
{
    if (!a->host || !b->host || strcmp(a->host, b->host) != 0 || !a->monotonic || !b->monotonic ||
        !a->calendar || !b->calendar)
        return false;
    return llabs((a->real_ns - a->monotonic_ns) - (b->real_ns - b->monotonic_ns)) < CLOCK_SAME_NS;
}

static bool by_same_clock(const struct clock_side *sides, size_t count, struct clock_side *side)
{
    for (size_t i = 0; i < count; i++) {
        const struct clock_side *other = &sides[i];
        if (other == side || !other->aligned || !is_same(other, side))
            continue;
        side->aligned = true;
        side->way = MERGE_WAY_SAME;
        side->error_ns = other->error_ns;
        side->loose = other->loose;
        side->drift = other->drift;
        side->middle = other->middle + other->monotonic_ns - side->monotonic_ns;
        side->offset = other->offset + side->monotonic_ns - other->monotonic_ns;
        return true;
    }
    return false;
}

static void by_calendar(const struct clock_side *first, struct clock_side *side)
{
    bool known = first->calendar && side->calendar;
    side->aligned = side->loose = true;
    side->way = known ? MERGE_WAY_CALENDAR : MERGE_WAY_BEGIN;
    side->offset = known ? side->real_ns - first->real_ns : 0;
}

/* ---- all of them ---- */

int64_t clock_ns(const struct clock_side *side, int64_t ns)
{
    return ns + side->offset + (int64_t)(side->drift * (double)(ns - side->middle));
}

static bool learn_all(struct known known[CLOCK_KINDS], const struct clock_side *side)
{
    bool fine = true;
    for (int kind = 0; kind < CLOCK_KINDS && fine; kind++)
        fine = learn(&known[kind], side, (enum clock_kind)kind);
    return fine;
}

/* Those that share a clock or meetings with what is aligned, until none is left. */
static bool align_known(struct clock_side *sides, size_t count, struct known known[CLOCK_KINDS])
{
    bool fine = true, more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < count && fine; i++) {
            struct clock_side *side = &sides[i];
            if (side->aligned)
                continue;
            fine = by_same_clock(sides, count, side) || by_meetings(known, side);
            more |= side->aligned;
            if (fine && side->aligned)
                fine = learn_all(known, side);
        }
    }
    return fine;
}

static void forget_loose_errors(struct clock_side *sides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sides[i].loose)
            sides[i].error_ns = MERGE_UNKNOWN;
}

static void begin_at_zero(struct clock_side *sides, size_t count)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++)
        least = clock_ns(&sides[i], 0) < least ? clock_ns(&sides[i], 0) : least;
    for (size_t i = 0; i < count; i++)
        sides[i].offset -= least;
}

int clock_align(struct clock_side *sides, size_t count)
{
    struct known known[CLOCK_KINDS] = {{{0}, NULL, 0, 0}};
    sides[0].aligned = true;
    sides[0].way = MERGE_WAY_FIRST;
    bool fine = learn_all(known, &sides[0]) && align_known(sides, count, known);
    for (size_t i = 1; i < count && fine; i++) {
        if (sides[i].aligned)
            continue;
        by_calendar(&sides[0], &sides[i]);
        fine = learn_all(known, &sides[i]) && align_known(sides, count, known);
    }
    forget_loose_errors(sides, count);
    begin_at_zero(sides, count);
    for (int kind = 0; kind < CLOCK_KINDS; kind++) {
        map_clear(&known[kind].by_name);
        mem_free(known[kind].met);
    }
    return fine ? 0 : ERR_NOMEM;
}

bool clock_is_valid(const struct clock_side *sides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!sides[i].aligned || fabs(sides[i].drift) > CLOCK_DRIFT || clock_ns(&sides[i], 0) < 0)
            return false;
    return count == 0 || sides[0].drift == 0;
}
