/*
 * tensor_info.h - PyTorch's TensorInfo, as it lies in a kernel's arguments: an address, the sizes
 * of up to 25 dimensions, their strides in elements, and how many dimensions there are. Sizes and
 * strides are of 32 bits or of 64, by the letter of the type that the kernel counts in.
 */
#ifndef TIDEMARK_REHEARSAL_TENSOR_INFO_H
#define TIDEMARK_REHEARSAL_TENSOR_INFO_H

#include <stdbool.h>
#include <stdint.h>

#define TENSOR_INFO_DIMENSIONS 25

struct tensor_info {
    uint64_t at;
    int32_t dimensions;
    uint64_t sizes[TENSOR_INFO_DIMENSIONS], strides[TENSOR_INFO_DIMENSIONS];
};

/* False: this is none. */
bool tensor_info_read(const void *argument, char index, struct tensor_info *info);
/* In elements, of the element that has this number; the last dimension is the innermost. */
uint64_t tensor_info_offset(const struct tensor_info *info, uint64_t number);
uint64_t tensor_info_count(const struct tensor_info *info);

#endif
