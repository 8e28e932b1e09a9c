/* fake_driver.h - the calls of the driver that fake_driver.c has. */
#ifndef TIDEMARK_TESTS_FAKE_DRIVER_H
#define TIDEMARK_TESTS_FAKE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxGetCurrent(void **context);
int cuCtxGetDevice(int *device);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties, unsigned long long flags);
int cuMemRelease(uint64_t handle);
int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
             unsigned long long flags);
int cuMemUnmap(uint64_t address, size_t bytes);
int cuDeviceGetDefaultMemPool(uint64_t *pool, int device);
int cuMemPoolGetAttribute(uint64_t pool, int attribute, uint64_t *value);
int cuDeviceGetGraphMemAttribute(int device, int attribute, uint64_t *value);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuPointerGetAttribute(void *data, int attribute, uint64_t pointer);
/* Not of the driver: an error that CUDA does not get over. */
void fake_driver_fatal(void);

#endif
