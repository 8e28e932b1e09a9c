/*
 * cuda_device.h - the device "cuda": the driver, opened when it is asked for (libcuda.so.1), so
 * that whoever links this runs without a GPU, too. Nothing of the toolkit is needed to build it.
 *
 * Segments are cuMemAlloc, pages of expandable segments a physical handle each. All calls are made
 * in the device's primary context, which is current for the call only. Streams are CUstream handles
 * as numbers, 0 the default one. Driver errors become ERR_NOMEM (out of memory), ERR_BUSY (not
 * ready), ERR_ARG (invalid value, handle or context), ERR_NOTFOUND (no such device), ERR_DENIED
 * (not permitted, not supported), ERR_CLOSED (the driver is not up, or no longer); any other
 * ERR_IO.
 *
 * One thread at a time, as device.h says.
 */
#ifndef TIDEMARK_ALLOCATOR_CUDA_DEVICE_H
#define TIDEMARK_ALLOCATOR_CUDA_DEVICE_H

#include <stddef.h>

#include "device.h"

struct cuda_device;

/* `library` NULL: "libcuda.so.1". On failure a sentence in `why` (may be NULL). ERR_NOTFOUND: no
 * driver, or no such device. An old driver without virtual memory management has no expandable
 * segments: `reserve` is NULL then. */
int cuda_device_new(struct cuda_device **out, int ordinal, const char *library, char *why,
                    size_t why_size);
/* After the allocators on it. The driver stays loaded. */
void cuda_device_delete(struct cuda_device *device); /* NULL is fine */
const struct alloc_device *cuda_device_seam(struct cuda_device *device);
int cuda_device_last_error(const struct cuda_device *device); /* CUresult of the last failed call */

#endif
