/*
 * sizes.c - what a request becomes: the bytes of its block, and of the segment that is asked for
 * where no block fits.
 */
#include "engine.h"

static uint64_t log2_of(uint64_t n)
{
    return 63u - (uint64_t)__builtin_clzll(n);
}

/* Slot 0: up to 2 MiB; the last one: 32 GiB and up. */
static uint32_t divisions_for(const struct alloc_config *config, uint64_t bytes)
{
    uint64_t slot = log2_of(bytes);
    slot = slot < 20 ? 0 : slot - 20;
    return config->roundup[slot < ALLOC_ROUNDUP_SLOTS ? slot : ALLOC_ROUNDUP_SLOTS - 1];
}

uint64_t sizes_round(const struct alloc_config *config, uint64_t bytes)
{
    if (bytes < ALLOC_MIN_BLOCK)
        return ALLOC_MIN_BLOCK;
    uint64_t divisions = divisions_for(config, bytes);
    if (divisions <= 1 || bytes <= ALLOC_MIN_BLOCK * divisions)
        return (bytes + ALLOC_MIN_BLOCK - 1) & ~(uint64_t)(ALLOC_MIN_BLOCK - 1);
    uint64_t step =
        (UINT64_C(1) << log2_of(bytes)) / divisions; /* >= 512, as divisions < n / 512 */
    return (bytes + step - 1) & ~(step - 1);
}

uint64_t sizes_segment(const struct alloc_config *config, uint64_t rounded)
{
    if (rounded <= ALLOC_SMALL_SIZE)
        return ALLOC_SMALL_SEGMENT;
    if (rounded < ALLOC_MIN_LARGE)
        return config->large_segment_size;
    return round_up(rounded, ALLOC_ROUND_LARGE);
}
