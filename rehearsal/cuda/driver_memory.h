/*
 * driver_memory.h - the driver's calls that the runtime's come down to. Those who listen are told
 * of both, the one inside of the other.
 */
#ifndef TIDEMARK_REHEARSAL_DRIVER_MEMORY_H
#define TIDEMARK_REHEARSAL_DRIVER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_abi.h"

int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
                       unsigned element);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags);
int cuMemFree_v2(uint64_t address);
int cuMemAllocHost_v2(void **pointer, size_t bytes);
int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
int cuMemFreeHost(void *pointer);
int cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags);
int cuMemHostUnregister(void *pointer);

int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream);
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuMemPoolCreate(void **pool, const struct abi_memory_at *properties);
int cuMemPoolDestroy(void *pool);
int cuMemPoolTrimTo(void *pool, size_t least);
int cuMemPoolGetAttribute(void *pool, int attribute, void *value);
int cuMemPoolSetAttribute(void *pool, int attribute, const void *value);
int cuDeviceGetDefaultMemPool(void **pool, int device);
int cuDeviceGetGraphMemAttribute(int device, int attribute, void *value);

#endif
