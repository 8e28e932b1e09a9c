/*
 * What a change takes off the highest of several ranks, where all of them make it: another rank may
 * be the highest then.
 */
#include <stdio.h>
#include <string.h>

#include "levers.h"

static bool is_same_text(const char *one, const char *other)
{
    return (one == NULL) == (other == NULL) && (!one || strcmp(one, other) == 0);
}

static size_t count_of(const struct levers *levers, enum lever_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < levers->count; i++)
        count += levers->levers[i].kind == kind;
    return count;
}

/* The change that `lever`, one of `own`, is on another rank: of its text, which may say how many
 * bytes there are; else of its call site; else the only one of its kind on both, as of ranks with
 * other layers. NULL: that rank has none. */
static const struct lever *find_same(const struct levers *levers, const struct levers *own,
                                     const struct lever *lever)
{
    const struct lever *by_site = NULL, *only = NULL;
    const bool alone = count_of(levers, lever->kind) == 1 && count_of(own, lever->kind) == 1;
    for (size_t i = 0; i < levers->count; i++) {
        const struct lever *one = &levers->levers[i];
        if (one->kind != lever->kind)
            continue;
        if (is_same_text(one->text, lever->text))
            return one;
        if (one->site_text && is_same_text(one->site_text, lever->site_text))
            by_site = one;
        only = alone ? one : NULL;
    }
    return by_site ? by_site : only;
}

static int64_t highest_of(const struct levers *const *ranks, size_t count)
{
    int64_t highest = 0;
    for (size_t i = 0; i < count; i++)
        if (ranks[i]->peak > highest)
            highest = ranks[i]->peak;
    return highest;
}

/* The highest point of another rank with the change, of which NULL says that it is this one's. */
static void put_phase(struct lever *lever, const struct lever *other)
{
    snprintf(lever->over_phase, sizeof lever->over_phase, "%s",
             other && other->next_phase ? other->next_phase : "");
}

static void weigh(const struct levers *own, struct lever *lever, const struct levers *const *ranks,
                  size_t count)
{
    int64_t left = 0;
    lever->shared = true;
    lever->over_at_most = lever->over_estimated = false;
    lever->over_phase[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const struct lever *same = find_same(ranks[i], own, lever);
        int64_t then = ranks[i]->peak - (same ? same->bytes : 0);
        if (then > left)
            put_phase(lever, ranks[i] == own ? NULL : same);
        left = then > left ? then : left;
        lever->over_at_most = lever->over_at_most || (same && same->at_most);
        lever->over_estimated = lever->over_estimated || (same && same->estimated);
    }
    lever->over_ranks = highest_of(ranks, count) - left;
}

void levers_over_ranks(struct levers *levers, const struct levers *const *ranks, size_t count)
{
    for (size_t i = 0; i < levers->count && count > 1; i++)
        weigh(levers, &levers->levers[i], ranks, count);
}

int64_t levers_worth(const struct lever *lever)
{
    return lever->shared ? lever->over_ranks : lever->bytes;
}

bool levers_is_bound(const struct lever *lever)
{
    return lever->shared ? lever->over_at_most : lever->at_most;
}

bool levers_is_estimate(const struct lever *lever)
{
    return lever->shared ? lever->over_estimated : lever->estimated;
}
