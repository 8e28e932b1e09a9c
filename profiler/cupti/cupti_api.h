/*
 * cupti_api.h - CUPTI and the driver, found at run time.
 *
 * CUPTI is taken, in this order, from: a libcuda that has its functions, too, which is a
 * rehearsal's; what is loaded already (two copies in one process would be in each other's way); the
 * path in TIDEMARK_CUPTI; libcupti.so.13 and .12 by the loader's search; $CUDA_HOME, $CUDA_PATH,
 * /usr/local/cuda; the folders of NVIDIA's wheels, which stand beside a loaded libcudart, or beside
 * a loaded libtorch. The driver is never loaded by us.
 *
 * All of this takes the loader's lock: never in a callback.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_API_H
#define TIDEMARK_PROFILER_CUPTI_API_H

#include <stdbool.h>
#include <stddef.h>

#include "cupti_abi.h"

#define CUPTI_OLDEST 18u /* of CUDA 11.8 to 12.1; 12.2 has 20 */

/* NULL where the library has no such function; what every version has is never NULL in a library
 * that was opened. */
struct cupti_api {
    int (*get_version)(uint32_t *version);
    int (*get_result_string)(int result, const char **text);
    int (*get_timestamp)(uint64_t *ns);
    int (*subscribe)(abi_subscriber *subscriber, abi_callback_fn callback, void *own);
    int (*subscribe_v2)(abi_subscriber *subscriber, abi_callback_fn callback, void *own,
                        struct abi_subscriber_params *params); /* since 13.0 */
    int (*unsubscribe)(abi_subscriber subscriber);
    int (*enable_callback)(uint32_t on, abi_subscriber subscriber, int domain, uint32_t cbid);
    int (*get_device)(const void *context, uint32_t *device);
    int (*register_buffers)(abi_request_fn request, abi_complete_fn complete);
    int (*activity_enable)(int kind);
    int (*activity_disable)(int kind);
    int (*activity_flush)(uint32_t flags);
    int (*next_record)(uint8_t *buffer, size_t valid, struct abi_record **record);
    int (*dropped)(const void *context, uint32_t stream, size_t *count);
    int (*set_attribute)(int attribute, size_t *bytes, void *value);
};

/* Of the driver, all optional. */
struct driver_api {
    int (*get_info)(size_t *free_bytes, size_t *total);
    int (*context)(const void **context);
    int (*device)(int *device);
    int (*version)(int *version);
    int (*default_pool)(uint64_t *pool, int device);
    int (*pool_attribute)(uint64_t pool, int attribute, uint64_t *value);
    int (*graph_attribute)(int device, int attribute, uint64_t *value);
    int (*capture_mode)(int *mode);
    int (*pointer_attribute)(void *value, int attribute, uint64_t pointer);
    int (*push)(const void *context);
    int (*pop)(const void **context);
};

extern struct cupti_api cupti_api;
extern struct driver_api driver_api;

/* The candidates one after the other: `index` 0, 1, ... Each is opened, its functions fill
 * cupti_api, *version is what it says. 1: opened; 0: this one is not there; -1: there are no more.
 * A library that was opened stays loaded. */
int cupti_api_try(int index, uint32_t *version);

/* The driver, if it is loaded. */
bool driver_api_find(void);
/* The CUPTI of a rehearsal's libcuda serves several tools at once. */
bool cupti_api_is_shared(void);

#endif
