/*
 * Pairs are made in rounds, each over what the ones before left: processes of one rank; processes
 * in their order, unless both have a rank; then, within each pair of processes, devices of one
 * name; and the last device of each.
 */
#include "diff.h"

#include <string.h>

#include "error.h"
#include "mem.h"

struct process { /* a run of places */
    int64_t rank;
    size_t first, count;
    size_t mate; /* in the other list, DIFF_ALONE */
};

/* NULL without memory, also for none. */
static struct process *list_processes(const struct diff_place *places, size_t count, size_t *n)
{
    struct process *list = mem_alloc(count + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < count; i++) {
        if (*n && places[list[*n - 1].first].process == places[i].process)
            list[*n - 1].count++;
        else
            list[(*n)++] = (struct process){places[i].rank, i, 1, DIFF_ALONE};
    }
    return list;
}

static bool fits(const struct process *a, const struct process *b, bool by_rank)
{
    if (a->mate != DIFF_ALONE || b->mate != DIFF_ALONE)
        return false;
    if (by_rank)
        return a->rank != GROUP_NONE && a->rank == b->rank;
    return a->rank == GROUP_NONE || b->rank == GROUP_NONE;
}

static void pair_processes(struct process *a, size_t a_count, struct process *b, size_t b_count,
                           bool by_rank)
{
    for (size_t i = 0; i < a_count; i++) {
        for (size_t j = 0; j < b_count; j++) {
            if (!fits(&a[i], &b[j], by_rank))
                continue;
            a[i].mate = j;
            b[j].mate = i;
            break;
        }
    }
}

static bool is_taken(const size_t *mates, const struct process *of, size_t place)
{
    for (size_t i = of->first; i < of->first + of->count; i++)
        if (mates[i] == place)
            return true;
    return false;
}

static void pair_devices(const struct diff_place *a, const struct process *one,
                         const struct diff_place *b, const struct process *other, size_t *mates)
{
    size_t left[2] = {0, 0}, last[2] = {0, 0};
    for (size_t i = one->first; i < one->first + one->count; i++)
        for (size_t j = other->first; j < other->first + other->count; j++)
            if (strcmp(a[i].device, b[j].device) == 0)
                mates[i] = j;
    for (size_t i = one->first; i < one->first + one->count; i++) {
        if (mates[i] == DIFF_ALONE) {
            left[0]++;
            last[0] = i;
        }
    }
    for (size_t j = other->first; j < other->first + other->count; j++) {
        if (!is_taken(mates, one, j)) {
            left[1]++;
            last[1] = j;
        }
    }
    if (left[0] == 1 && left[1] == 1)
        mates[last[0]] = last[1];
}

int diff_pair(const struct diff_place *a, size_t a_count, const struct diff_place *b,
              size_t b_count, size_t *mates)
{
    size_t ones, others;
    struct process *one = list_processes(a, a_count, &ones);
    struct process *other = list_processes(b, b_count, &others);
    if (one && other) {
        pair_processes(one, ones, other, others, true);
        pair_processes(one, ones, other, others, false);
        for (size_t i = 0; i < a_count; i++)
            mates[i] = DIFF_ALONE;
        for (size_t i = 0; i < ones; i++)
            if (one[i].mate != DIFF_ALONE)
                pair_devices(a, &one[i], b, &other[one[i].mate], mates);
    }
    int err = one && other ? 0 : ERR_NOMEM;
    mem_free(one);
    mem_free(other);
    return err;
}
