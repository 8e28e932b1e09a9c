/*
 * offsets.h - PyTorch's OffsetCalculator, as it lies in a kernel's arguments: for up to 25
 * dimensions the size of each, with what divides by it, then the strides in bytes of each operand.
 *
 * An operand's range is the bytes from its lowest element to its highest, those between included.
 */
#ifndef TIDEMARK_REHEARSAL_OFFSETS_H
#define TIDEMARK_REHEARSAL_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

#define OFFSETS_DIMENSIONS 25u
#define OFFSETS_OPERANDS 4u

struct offsets {
    uint32_t dimensions, operands;
    uint32_t sizes[OFFSETS_DIMENSIONS];
    uint32_t strides[OFFSETS_DIMENSIONS][OFFSETS_OPERANDS];
};

/* Bytes that it takes of an argument. */
uint32_t offsets_bytes(uint32_t operands);
/* False: this is none. */
bool offsets_read(const void *at, uint32_t operands, struct offsets *offsets);
/* Of so many elements that lie side by side, in types of these sizes. */
void offsets_flat(uint32_t operands, const uint32_t *bytes, uint64_t count,
                  struct offsets *offsets);
uint64_t offsets_count(const struct offsets *offsets);
/* From an operand's first element to that of this index. */
uint64_t offsets_of(const struct offsets *offsets, uint64_t index, uint32_t operand);
/* The same one element after the other, without a division: `at` has the offsets of each operand.
 */
struct offsets_walk {
    const struct offsets *offsets;
    uint32_t index[OFFSETS_DIMENSIONS];
    uint64_t at[OFFSETS_OPERANDS];
};
void offsets_begin(const struct offsets *offsets, struct offsets_walk *walk);
void offsets_next(struct offsets_walk *walk);
uint64_t offsets_last(const struct offsets *offsets, uint32_t operand);

#endif
