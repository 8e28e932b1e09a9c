/* cupti_device.h - which device a context is of, and the heaps of devices. */
#ifndef TIDEMARK_PROFILER_CUPTI_DEVICE_H
#define TIDEMARK_PROFILER_CUPTI_DEVICE_H

#include <stdint.h>

#define DEVICE_UNKNOWN (-1)

/* May be asked for in a callback: CUPTI answers, not the driver. DEVICE_UNKNOWN if it cannot. */
int32_t device_of_context(const void *context);
/* The device of all contexts that are known, if it is one; else DEVICE_UNKNOWN. For calls that need
 * no context. */
int32_t device_only(void);
/* The context is new, or gone: its address may be another's. Returns how many there are now. */
uint32_t device_context_created(const void *context);
uint32_t device_context_gone(const void *context);

/* The number of the heap of a device's memory. Only while guest_live(). */
uint32_t device_heap(int32_t device);

#endif
