/* gpus.h - a driver of our own with several GPUs: the calls that gpus.c has. */
#ifndef TIDEMARK_TESTS_GPUS_H
#define TIDEMARK_TESTS_GPUS_H

#include <stddef.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxSetCurrent(void *context);
int cuCtxGetCurrent(void **context);
int cuCtxGetDevice(int *device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuDeviceGetDefaultMemPool(uint64_t *pool, int device);
int cuMemPoolGetAttribute(uint64_t pool, int attribute, uint64_t *value);
int cuThreadExchangeStreamCaptureMode(int *mode);
/* Not of the driver: memory of the current device that no call shows, as of a module. */
void gpus_hide(size_t bytes);
/* How often somebody asked what a GPU has. */
unsigned gpus_asked(int gpu);

#endif
