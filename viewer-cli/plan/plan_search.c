/* plan_search.c - see plan_search.h. */
#include "plan_search.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Points of a law lie so far apart that the roughness of single needs does not bend it. */
#define APART 0.8
#define PART 16
#define SECOND 8 /* places: of two needs that are nearer, roughness makes the slope */
#define FAR 16   /* times the largest number that is known: no law is believed beyond */

void search_begin(struct search *search, const struct vary_name *name, size_t most, int64_t memory)
{
    *search = (struct search){.name = name, .memory = (double)memory, .low = -1, .floor = -1};
    search->high = (int64_t)(most < name->count ? most : name->count);
}

/* ---- the law ---- */

/* The points that it goes through, the one with the largest number first. */
static size_t choose_points(const struct search *search, struct search_point chosen[3])
{
    size_t count = 0;
    for (size_t i = search->point_count; i-- > 0 && count < 3;) {
        const struct search_point *point = &search->points[i];
        if (count == 0 || point->number <= APART * chosen[count - 1].number ||
            (i == 0 && count == 1))
            chosen[count++] = *point;
    }
    return count;
}

/* Newton's form: need(x) = p0 + slope * (x - x0) + bend * (x - x0) * (x - x1). */
struct law {
    double x0, x1, need, slope, bend;
};

static bool find_law(const struct search *search, struct law *law)
{
    struct search_point p[3];
    size_t count = choose_points(search, p);
    *law = (struct law){0};
    if (count == 0)
        return false;
    *law = (struct law){.x0 = p[0].number, .x1 = p[0].number, .need = p[0].need};
    if (count == 1) { /* as if all of it grew with the number: too few rather than too many */
        law->slope = p[0].number > 0 ? p[0].need / p[0].number : 0;
        return p[0].number > 0;
    }
    law->x1 = p[1].number;
    law->slope = (p[0].need - p[1].need) / (p[0].number - p[1].number);
    if (count == 3) {
        double before = (p[1].need - p[2].need) / (p[1].number - p[2].number);
        law->bend = (law->slope - before) / (p[0].number - p[2].number);
        if (law->bend < 0) /* nothing that grows needs ever less for more */
            law->bend = 0;
    }
    return true;
}

static double law_at(const struct law *law, double x)
{
    return law->need + law->slope * (x - law->x0) + law->bend * (x - law->x0) * (x - law->x1);
}

/* The last place between low and high at which the law fits into the memory; low if none does. */
static int64_t last_by_law(const struct search *search, const struct law *law)
{
    int64_t fits = search->low, fails = search->high;
    while (fails - fits > 1) {
        int64_t middle = fits + (fails - fits) / 2;
        double number = (double)vary_number(search->name, (size_t)middle);
        if (number <= FAR * law->x0 && law_at(law, number) <= search->memory)
            fits = middle;
        else
            fails = middle;
    }
    return fits;
}

/* ---- the next try ---- */

static int64_t clamp(const struct search *search, int64_t at)
{
    if (at <= search->low)
        return search->low + 1;
    return at >= search->high ? search->high - 1 : at;
}

/* It says that the value which does not fit would. */
static bool is_refuted(const struct search *search, const struct law *law)
{
    if (search->high >= (int64_t)search->name->count)
        return false;
    double number = (double)vary_number(search->name, (size_t)search->high);
    return law_at(law, number) <= search->memory;
}

static int64_t first_steps(const struct search *search, int64_t place)
{
    int64_t room = (int64_t)search->name->count / (4 * SECOND);
    int64_t least = search->low + (room < SECOND ? room : SECOND);
    return search->point_count == 1 && place < least ? least : place;
}

bool search_next(struct search *search, size_t *at)
{
    int64_t room = search->high - search->low, place;
    struct law law;
    if (room <= 1)
        return false;
    if (search->low == search->floor && search->point_count == 0)
        place = search->low + 1;
    else if (!find_law(search, &law))
        place = search->low + room / 2;
    else if (search->step == 0 && is_refuted(search, &law))
        place = search->low + room / 2;
    else if (search->step == 0)
        place = first_steps(search, last_by_law(search, &law));
    else if (search->step > room / 2)
        place = search->low + room / 2;
    else if (search->step_down)
        place = search->high - search->step;
    else {
        place = last_by_law(search, &law);
        if (place < search->low + search->step)
            place = search->low + search->step;
    }
    *at = (size_t)clamp(search, place);
    return true;
}

/* ---- what came of it ---- */

static void add_point(struct search *search, double number, double need)
{
    size_t at = search->point_count;
    if (at == SEARCH_POINTS)
        return;
    while (at && search->points[at - 1].number >= number)
        at--;
    if (at < search->point_count && search->points[at].number == number) {
        search->points[at].need = need;
        return;
    }
    memmove(&search->points[at + 1], &search->points[at],
            (search->point_count - at) * sizeof *search->points);
    search->points[at] = (struct search_point){number, need};
    search->point_count++;
}

void search_hint(struct search *search, size_t at, int64_t need)
{
    add_point(search, (double)vary_number(search->name, at), (double)need);
}

/* The law was wrong about this place: by a part of the way that it was asked for beyond what was
 * known to fit, or by more, where that part was tried already. */
static void take_step(struct search *search, int64_t at, bool down)
{
    int64_t part = (at - search->low) / PART;
    if (search->step && search->step_down == down)
        search->step *= 3;
    else
        search->step = part > 1 ? part : 1;
    search->step_down = down;
}

/* A new point makes another law, which is to be believed again. */
static void take_point(struct search *search, size_t at, int64_t need)
{
    search_hint(search, at, need);
    if (search->step_down)
        search->step = 0;
}

void search_learn(struct search *search, size_t at, bool fits, int64_t need)
{
    struct law law;
    bool lawful = find_law(search, &law);
    bool beyond = lawful && last_by_law(search, &law) < (int64_t)at;
    if (lawful && beyond == fits)
        take_step(search, (int64_t)at, !fits);
    if (fits && (int64_t)at > search->low)
        search->low = (int64_t)at;
    if (!fits && (int64_t)at < search->high)
        search->high = (int64_t)at;
    if (fits && need != SEARCH_UNKNOWN)
        take_point(search, at, need);
    assert(search_is_valid(search));
}

void search_skip(struct search *search)
{
    assert(search->low == search->floor && search->low + 1 < search->high);
    search->low = ++search->floor;
}

bool search_is_valid(const struct search *search)
{
    if (search->floor < -1 || search->low < search->floor || search->low >= search->high ||
        search->high > (int64_t)search->name->count)
        return false;
    for (size_t i = 1; i < search->point_count; i++)
        if (search->points[i].number <= search->points[i - 1].number)
            return false;
    return true;
}
