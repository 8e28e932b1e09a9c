/*
 * model_round.c - how large a block and a segment become for a request.
 */
#include "model.h"

#define KIB_HALF 512u

static unsigned log2_floor(uint64_t n)
{
    unsigned log = 0;
    while (n >>= 1)
        log++;
    return log;
}

static uint64_t round_to(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

/* The slot of a request: 1 MiB and less is 0, 32 GiB and more is the last. */
static uint32_t divisions_of(const struct alloc_config *config, uint64_t bytes)
{
    unsigned log = log2_floor(bytes);
    unsigned slot = log < 20 ? 0 : log - 20;
    if (slot > ALLOC_ROUNDUP_SLOTS - 1)
        slot = ALLOC_ROUNDUP_SLOTS - 1;
    return config->roundup[slot];
}

uint64_t model_round(const struct alloc_config *config, uint64_t bytes)
{
    if (bytes < KIB_HALF)
        return KIB_HALF;
    uint64_t divisions = divisions_of(config, bytes);
    if (divisions <= 1 || bytes <= KIB_HALF * divisions)
        return round_to(bytes, KIB_HALF);
    uint64_t power = UINT64_C(1) << log2_floor(bytes);
    if (power == bytes)
        return bytes;
    uint64_t step = power / divisions;
    return step == 0 ? 2 * power : round_to(bytes, step);
}

uint64_t model_segment_size(const struct alloc_config *config, uint64_t rounded)
{
    const uint64_t mib = UINT64_C(1) << 20;
    if (rounded <= mib)
        return 2 * mib;
    if (rounded < 10 * mib)
        return config->large_segment_size;
    return round_to(rounded, 2 * mib);
}
