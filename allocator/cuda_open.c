/*
 * cuda_open.c - the driver of a device found and its context retained, and the end of both.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cuda_driver.h"
#include "error.h"
#include "mem.h"

struct opening {
    struct cuda_device *device;
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 3, 4))) static int complain(const struct opening *opening, int err,
                                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (opening->why && opening->why_size)
        vsnprintf(opening->why, opening->why_size, format, args);
    va_end(args);
    return err;
}

/* A function's address as the function: memcpy, as C has no conversion between the two. */
#define FIND(symbol, member, arguments)                                                            \
    found = dlsym(device->library, symbol);                                                        \
    missing = found || missing ? missing : symbol;                                                 \
    memcpy(&device->driver.member, &found, sizeof found);

/* The first symbol that is not there, or NULL. */
static const char *find_calls(struct cuda_device *device)
{
    const char *missing = NULL;
    void *found;
    DRIVER_CALLS(FIND)
    return missing;
}

static const char *find_page_calls(struct cuda_device *device)
{
    const char *missing = NULL;
    void *found;
    DRIVER_PAGE_CALLS(FIND)
    return missing;
}

static int open_context(const struct opening *opening)
{
    struct cuda_device *device = opening->device;
    int result = device->driver.init(0);
    if (result != CU_OK)
        return complain(opening, cuda_device_error(device, result),
                        "the CUDA driver does not start: error %d", result);
    result = device->driver.device_get(&device->device, device->ordinal);
    if (result != CU_OK)
        return complain(opening, cuda_device_error(device, result),
                        "there is no CUDA device %d: error %d", device->ordinal, result);
    result = device->driver.retain(&device->context, device->device);
    if (result != CU_OK) {
        device->context = NULL;
        return complain(opening, cuda_device_error(device, result),
                        "no context on CUDA device %d: error %d", device->ordinal, result);
    }
    return BASE_OK;
}

static int open_driver(const struct opening *opening, const char *library)
{
    struct cuda_device *device = opening->device;
    device->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!device->library) {
        const char *said = dlerror();
        return complain(opening, ERR_NOTFOUND, "there is no CUDA driver here: %s",
                        said ? said : library);
    }
    const char *missing = find_calls(device);
    if (missing)
        return complain(opening, ERR_NOTFOUND, "%s has no %s: not a CUDA driver, or too old",
                        library, missing);
    cuda_device_make_seam(device, find_page_calls(device) == NULL);
    return open_context(opening);
}

int cuda_device_new(struct cuda_device **out, int ordinal, const char *library, char *why,
                    size_t why_size)
{
    struct opening opening = {.why = why, .why_size = why_size};
    *out = NULL;
    opening.device = mem_alloc(1, sizeof *opening.device);
    if (!opening.device)
        return complain(&opening, ERR_NOMEM, "%s", base_err_text(ERR_NOMEM));
    opening.device->ordinal = ordinal;
    int err = open_driver(&opening, library ? library : "libcuda.so.1");
    if (err != BASE_OK) {
        cuda_device_delete(opening.device);
        return err;
    }
    *out = opening.device;
    return BASE_OK;
}

/* The library stays: a driver does not like to be unloaded. */
void cuda_device_delete(struct cuda_device *device)
{
    if (!device)
        return;
    if (device->context && cuda_device_enter(device) == BASE_OK) {
        int result = CU_OK;
        while (device->spare_count)
            result = device->driver.event_destroy(device->spare[--device->spare_count]);
        cuda_device_leave(device, result);
    }
    if (device->context)
        device->driver.release(device->device);
    map_clear(&device->handles);
    mem_free(device->ranges);
    mem_free(device->spare);
    mem_free(device);
}
