/*
 * meters.h - what a recording can be asked while it goes on: a few numbers of the run, of each
 * rank, of each rank on each device, and of its phases. Filled by the recorder's state, turned into
 * text by exposition.h. meters.def has the list.
 *
 * Rows are of ranks and devices, not of processes: a rank's workers come and go, and each would be
 * a series of its own for ever. How the processes of a rank add up stands in meters.def.
 *
 * Invariants (meters_are_valid): no two ranks, no two (rank, device), no two (rank, device, phase);
 * each count is at most its bound; names are ended.
 */
#ifndef TIDEMARK_RECORDER_METERS_H
#define TIDEMARK_RECORDER_METERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METER_UNKNOWN INT64_MIN
#define METER_NO_RANK ((int64_t)-1)

/* Rows are found one after the other, by the drain. */
#define METER_RANKS_MAX 256
#define METER_DEVICES_MAX 512
#define METER_PHASES_MAX 1024

enum meter_way { METER_NOW, METER_NOW_MOST, METER_COUNT, METER_MOST };

#define METER_RUN(name, family, unit, type, way, form, help) METER_RUN_##name,
#define METER_RANK(name, family, unit, type, way, form, help)
#define METER_DEVICE(name, family, unit, type, way, form, help)
enum {
#include "meters.def"
    METER_RUN_VALUES
};
#undef METER_RUN
#undef METER_RANK
#define METER_RUN(name, family, unit, type, way, form, help)
#define METER_RANK(name, family, unit, type, way, form, help) METER_RANK_##name,
enum {
#include "meters.def"
    METER_RANK_VALUES
};
#undef METER_RANK
#undef METER_DEVICE
#define METER_RANK(name, family, unit, type, way, form, help)
#define METER_DEVICE(name, family, unit, type, way, form, help) METER_DEVICE_##name,
enum {
#include "meters.def"
    METER_DEVICE_VALUES
};
#undef METER_RUN
#undef METER_RANK
#undef METER_DEVICE

struct meter_rank {
    int64_t rank; /* METER_NO_RANK */
    int64_t values[METER_RANK_VALUES];
};

struct meter_device {
    int64_t rank;
    char device[32]; /* "cuda:0" */
    int64_t values[METER_DEVICE_VALUES];
};

struct meter_phase {
    int64_t rank;
    char device[32];
    char phase[64];
    int64_t peak; /* highest allocated of one process inside of it */
};

struct meters { /* all zero is an empty one */
    int64_t run[METER_RUN_VALUES];
    struct meter_rank *ranks;
    size_t rank_count, rank_cap;
    struct meter_device *devices;
    size_t device_count, device_cap;
    struct meter_phase *phases;
    size_t phase_count, phase_cap;
};

void meters_clear(struct meters *meters); /* frees its memory */
/* False without memory: `to` is as it was, or shorter. */
bool meters_copy(struct meters *to, const struct meters *from);
void meters_sort(struct meters *meters); /* by rank, device, phase */
bool meters_are_valid(const struct meters *meters);

/* The row, made if it is new, with nothing known; NULL: no room or no memory, which is counted in
 * METER_RUN_LEFT_OUT. It holds until the next row is made. */
struct meter_rank *meters_rank(struct meters *meters, int64_t rank);
struct meter_device *meters_device(struct meters *meters, int64_t rank, const char *device);
/* A peak that is no news is passed over. */
void meters_phase(struct meters *meters, const struct meter_phase *phase);

/* A process's value joins those that are there. `ended`: only what outlives it. METER_UNKNOWN joins
 * nothing. */
void meter_rank_take(struct meter_rank *row, size_t value, int64_t bytes, bool ended);
void meter_device_take(struct meter_device *row, size_t value, int64_t bytes, bool ended);

#endif
