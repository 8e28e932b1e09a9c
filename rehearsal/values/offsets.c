/* offsets.c - see offsets.h. */
#include "offsets.h"

#include <string.h>

#define DIVIDER 3u /* words: the size, and two that divide by it */

uint32_t offsets_bytes(uint32_t operands)
{
    return 4 * (1 + OFFSETS_DIMENSIONS * DIVIDER + OFFSETS_DIMENSIONS * operands);
}

bool offsets_read(const void *at, uint32_t operands, struct offsets *offsets)
{
    const uint32_t *words = at;
    *offsets = (struct offsets){.dimensions = words[0], .operands = operands};
    if (offsets->dimensions > OFFSETS_DIMENSIONS || operands > OFFSETS_OPERANDS)
        return false;
    for (uint32_t i = 0; i < offsets->dimensions; i++) {
        const uint32_t *strides = words + 1 + OFFSETS_DIMENSIONS * DIVIDER + i * operands;
        offsets->sizes[i] = words[1 + i * DIVIDER];
        memcpy(offsets->strides[i], strides, operands * sizeof *strides);
        if (offsets->sizes[i] == 0)
            return false;
    }
    return true;
}

void offsets_flat(uint32_t operands, const uint32_t *bytes, uint64_t count, struct offsets *offsets)
{
    *offsets = (struct offsets){.dimensions = 1, .operands = operands};
    offsets->sizes[0] = (uint32_t)count;
    memcpy(offsets->strides[0], bytes, operands * sizeof *bytes);
}

uint64_t offsets_count(const struct offsets *offsets)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < offsets->dimensions && count <= UINT32_MAX; i++)
        count *= offsets->sizes[i];
    return count;
}

uint64_t offsets_of(const struct offsets *offsets, uint64_t index, uint32_t operand)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < offsets->dimensions; i++) {
        offset += index % offsets->sizes[i] * offsets->strides[i][operand];
        index /= offsets->sizes[i];
    }
    return offset;
}

void offsets_begin(const struct offsets *offsets, struct offsets_walk *walk)
{
    *walk = (struct offsets_walk){.offsets = offsets};
}

void offsets_next(struct offsets_walk *walk)
{
    const struct offsets *offsets = walk->offsets;
    for (uint32_t i = 0; i < offsets->dimensions; i++) {
        bool wraps = ++walk->index[i] == offsets->sizes[i];
        uint64_t back = wraps ? offsets->sizes[i] : 0;
        for (uint32_t k = 0; k < offsets->operands; k++)
            walk->at[k] += offsets->strides[i][k] - back * offsets->strides[i][k];
        if (!wraps)
            return;
        walk->index[i] = 0;
    }
}

uint64_t offsets_last(const struct offsets *offsets, uint32_t operand)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < offsets->dimensions; i++)
        offset += (uint64_t)(offsets->sizes[i] - 1) * offsets->strides[i][operand];
    return offset;
}
