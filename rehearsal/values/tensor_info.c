/* tensor_info.c - see tensor_info.h. */
#include "tensor_info.h"

#include <string.h>

#include "kernel_name.h"

static uint64_t read_at(const char *at, uint32_t width)
{
    uint64_t value = 0;
    memcpy(&value, at, width);
    return value;
}

bool tensor_info_read(const void *argument, char index, struct tensor_info *info)
{
    const char *at = argument;
    uint32_t width = kernel_type_bytes(index);
    *info = (struct tensor_info){0};
    if (width != 4 && width != 8)
        return false;
    memcpy(&info->at, at, sizeof info->at);
    at += sizeof info->at;
    memcpy(&info->dimensions, at + 2 * (size_t)width * TENSOR_INFO_DIMENSIONS,
           sizeof info->dimensions);
    if (info->dimensions < 0 || info->dimensions > TENSOR_INFO_DIMENSIONS)
        return false;
    for (int32_t i = 0; i < info->dimensions; i++) {
        info->sizes[i] = read_at(at + (size_t)i * width, width);
        info->strides[i] = read_at(at + (size_t)(TENSOR_INFO_DIMENSIONS + i) * width, width);
        if (info->sizes[i] == 0)
            return false;
    }
    return true;
}

uint64_t tensor_info_offset(const struct tensor_info *info, uint64_t number)
{
    uint64_t offset = 0;
    for (int32_t i = info->dimensions - 1; i > 0; i--) {
        offset += number % info->sizes[i] * info->strides[i];
        number /= info->sizes[i];
    }
    return info->dimensions > 0 ? offset + number * info->strides[0] : 0;
}

uint64_t tensor_info_count(const struct tensor_info *info)
{
    uint64_t count = 1;
    for (int32_t i = 0; i < info->dimensions && count <= UINT32_MAX; i++)
        count *= info->sizes[i];
    return count;
}
