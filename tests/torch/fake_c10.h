/*
 * fake_c10.h - a libc10 and a libc10_cuda of our own: the reporters under their real names, and the
 * way in which the allocators call them; for tests of the hook where there is no torch and no GPU.
 */
#ifndef TIDEMARK_TESTS_FAKE_C10_H
#define TIDEMARK_TESTS_FAKE_C10_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "torch_hook.h"

/* What libc10's own functions were called with. */
struct fake_c10 {
    bool profiling; /* what its memoryProfilingEnabled says */
    int usage, oom; /* calls */
    int64_t size;   /* of the last call */
    int64_t allocated, reserved;
    struct c10_device device;
    int kept;       /* blocks of the CPU in its reporter's table */
    int complaints; /* one went that was not in it */
    int logged;     /* what it logged of them */
};

struct fake_c10 *fake_c10(void);
/* As the CPU allocator does: asks, then reports. Returns the answer. */
bool fake_cpu(void *ptr, int64_t size);
/* The same by its reporter's New and Delete, which keep sizes while somebody profiles. */
void fake_cpu_new(void *ptr, size_t bytes);
void fake_cpu_delete(void *ptr);
void fake_cpu_oom(size_t bytes);
void fake_device(int8_t type, int8_t index, void *ptr, int64_t size, int64_t allocated,
                 int64_t reserved);
void fake_device_signed(int8_t type, int8_t index, void *ptr, int64_t size, int64_t allocated,
                        int64_t reserved);
void fake_device_old(int8_t type, int8_t index, void *ptr, int64_t size);
void fake_oom(int8_t type, int8_t index, int64_t size, int64_t allocated, int64_t reserved);
/* libc10_cuda: what getCurrentCUDAStream gives from now on. */
void fake_stream(int64_t id);

#endif
