#include "meters.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

#define METER_RUN(name, family, unit, type, way, form, help)
#define METER_RANK(name, family, unit, type, way, form, help) [METER_RANK_##name] = METER_##way,
#define METER_DEVICE(name, family, unit, type, way, form, help)
static const enum meter_way rank_ways[METER_RANK_VALUES] = {
#include "meters.def"
};
#undef METER_RANK
#undef METER_DEVICE
#define METER_RANK(name, family, unit, type, way, form, help)
#define METER_DEVICE(name, family, unit, type, way, form, help) [METER_DEVICE_##name] = METER_##way,
static const enum meter_way device_ways[METER_DEVICE_VALUES] = {
#include "meters.def"
};

void meters_clear(struct meters *meters)
{
    mem_free(meters->ranks);
    mem_free(meters->devices);
    mem_free(meters->phases);
    *meters = (struct meters){0};
}

bool meters_copy(struct meters *to, const struct meters *from)
{
    assert(to != from);
    if (!MEM_GROW(to->ranks, to->rank_cap, from->rank_count) ||
        !MEM_GROW(to->devices, to->device_cap, from->device_count) ||
        !MEM_GROW(to->phases, to->phase_cap, from->phase_count))
        return false;
    memcpy(to->run, from->run, sizeof to->run);
    to->rank_count = from->rank_count;
    to->device_count = from->device_count;
    to->phase_count = from->phase_count;
    if (from->rank_count)
        memcpy(to->ranks, from->ranks, from->rank_count * sizeof *to->ranks);
    if (from->device_count)
        memcpy(to->devices, from->devices, from->device_count * sizeof *to->devices);
    if (from->phase_count)
        memcpy(to->phases, from->phases, from->phase_count * sizeof *to->phases);
    return true;
}

static int by_rank(const void *a, const void *b)
{
    int64_t left = ((const struct meter_rank *)a)->rank,
            right = ((const struct meter_rank *)b)->rank;
    return (left > right) - (left < right);
}

static int by_device(const void *a, const void *b)
{
    const struct meter_device *left = a, *right = b;
    int order = (left->rank > right->rank) - (left->rank < right->rank);
    return order ? order : strcmp(left->device, right->device);
}

static int by_phase(const void *a, const void *b)
{
    const struct meter_phase *left = a, *right = b;
    int order = (left->rank > right->rank) - (left->rank < right->rank);
    order = order ? order : strcmp(left->device, right->device);
    return order ? order : strcmp(left->phase, right->phase);
}

void meters_sort(struct meters *meters)
{
    if (meters->rank_count)
        qsort(meters->ranks, meters->rank_count, sizeof *meters->ranks, by_rank);
    if (meters->device_count)
        qsort(meters->devices, meters->device_count, sizeof *meters->devices, by_device);
    if (meters->phase_count)
        qsort(meters->phases, meters->phase_count, sizeof *meters->phases, by_phase);
}

/* ---- rows ---- */

static void forget(int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = METER_UNKNOWN;
}

struct meter_rank *meters_rank(struct meters *meters, int64_t rank)
{
    for (size_t i = 0; i < meters->rank_count; i++)
        if (meters->ranks[i].rank == rank)
            return &meters->ranks[i];
    if (meters->rank_count >= METER_RANKS_MAX ||
        !MEM_GROW(meters->ranks, meters->rank_cap, meters->rank_count + 1)) {
        meters->run[METER_RUN_LEFT_OUT]++;
        return NULL;
    }
    struct meter_rank *row = &meters->ranks[meters->rank_count++];
    row->rank = rank;
    forget(row->values, METER_RANK_VALUES);
    return row;
}

static struct meter_device *find_device(const struct meters *meters, int64_t rank,
                                        const char *device)
{
    for (size_t i = 0; i < meters->device_count; i++)
        if (meters->devices[i].rank == rank && strcmp(meters->devices[i].device, device) == 0)
            return &meters->devices[i];
    return NULL;
}

struct meter_device *meters_device(struct meters *meters, int64_t rank, const char *device)
{
    struct meter_device *row = find_device(meters, rank, device);
    if (row)
        return row;
    if (meters->device_count >= METER_DEVICES_MAX ||
        !MEM_GROW(meters->devices, meters->device_cap, meters->device_count + 1)) {
        meters->run[METER_RUN_LEFT_OUT]++;
        return NULL;
    }
    row = &meters->devices[meters->device_count++];
    *row = (struct meter_device){.rank = rank};
    snprintf(row->device, sizeof row->device, "%s", device);
    forget(row->values, METER_DEVICE_VALUES);
    return row;
}

static bool is_same_phase(const struct meter_phase *a, const struct meter_phase *b)
{
    return a->rank == b->rank && strcmp(a->phase, b->phase) == 0 &&
           strcmp(a->device, b->device) == 0;
}

void meters_phase(struct meters *meters, const struct meter_phase *phase)
{
    for (size_t i = 0; i < meters->phase_count; i++) {
        struct meter_phase *row = &meters->phases[i];
        if (!is_same_phase(row, phase))
            continue;
        row->peak = phase->peak > row->peak ? phase->peak : row->peak;
        return;
    }
    if (meters->phase_count >= METER_PHASES_MAX ||
        !MEM_GROW(meters->phases, meters->phase_cap, meters->phase_count + 1)) {
        meters->run[METER_RUN_LEFT_OUT]++;
        return;
    }
    meters->phases[meters->phase_count++] = *phase;
}

/* ---- values ---- */

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void take(int64_t *own, enum meter_way way, int64_t value, bool ended)
{
    bool most = way == METER_MOST || way == METER_NOW_MOST;
    bool now = way == METER_NOW || way == METER_NOW_MOST;
    if (value == METER_UNKNOWN || (ended && now))
        return;
    if (*own == METER_UNKNOWN || (most && value > *own))
        *own = value;
    else if (!most)
        *own = add(*own, value);
}

void meter_rank_take(struct meter_rank *row, size_t value, int64_t bytes, bool ended)
{
    take(&row->values[value], rank_ways[value], bytes, ended);
}

void meter_device_take(struct meter_device *row, size_t value, int64_t bytes, bool ended)
{
    take(&row->values[value], device_ways[value], bytes, ended);
}

/* ---- the check ---- */

static bool devices_are_valid(const struct meters *meters)
{
    for (size_t i = 0; i < meters->device_count; i++) {
        const struct meter_device *row = &meters->devices[i];
        if (!memchr(row->device, 0, sizeof row->device) ||
            find_device(meters, row->rank, row->device) != row)
            return false;
    }
    return true;
}

static bool phases_are_valid(const struct meters *meters)
{
    for (size_t i = 0; i < meters->phase_count; i++)
        for (size_t k = 0; k < i; k++)
            if (is_same_phase(&meters->phases[i], &meters->phases[k]))
                return false;
    return true;
}

bool meters_are_valid(const struct meters *meters)
{
    for (size_t i = 0; i < meters->rank_count; i++)
        for (size_t k = 0; k < i; k++)
            if (meters->ranks[i].rank == meters->ranks[k].rank)
                return false;
    return meters->rank_count <= METER_RANKS_MAX && meters->device_count <= METER_DEVICES_MAX &&
           meters->phase_count <= METER_PHASES_MAX && devices_are_valid(meters) &&
           phases_are_valid(meters);
}
