/*
 * prog_gpu.c - plays a training with PyTorch on a GPU: what CUPTI would tell of the driver and what
 * the allocator tells of its blocks. It keeps its own account, and prints it as each phase ends:
 *
 *     step,phase,allocated,reserved,outside,unattributed
 *
 * Segments of 2 and 20 MiB by cudaMalloc, expandable segments by mapping, a workspace of cuBLAS's,
 * NCCL's buffers by mapping, pinned memory of the host, a pool; caches that are emptied. The device
 * had 500 MiB in use when it was first asked, and 64 KiB more are gone with each step of which no
 * call tells.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "story_guest.h"
#include "tidemark.h"

#define MIB ((uint64_t)1 << 20)
#define CONTEXT (500 * MIB)
#define UNSEEN (64u << 10)

static int (*send_event)(const struct event *event);
static uint32_t (*number_of)(const char *text);
static uint32_t device, heap;

static struct {
    uint64_t allocated, reserved, outside, unseen;
    uint64_t next; /* address */
    int step;
} now = {.next = 0x7f0000000000ull};

static void send_it(struct event event)
{
    if (!send_event(&event))
        exit(3);
}

/* ---- the driver ---- */

static uint64_t take(unsigned kind, const char *library, const char *call, uint64_t bytes)
{
    uint64_t at = now.next;
    now.next += (bytes + 32 * MIB) & ~(2 * MIB - 1);
    send_it((struct event){.kind = EVENT_DRIVER_ALLOC,
                           .heap = kind == DRIVER_HOST ? 0 : device & EVENT_MAX_HEAP,
                           .name = number_of(call),
                           .addr = at,
                           .size = bytes,
                           .a = (uint64_t)number_of(library) << 32 | kind});
    return at;
}

static void give(unsigned kind, uint64_t at)
{
    send_it((struct event){
        .kind = EVENT_DRIVER_FREE, .heap = device & EVENT_MAX_HEAP, .addr = at, .a = kind});
}

static uint64_t create(const char *library, uint64_t at, uint64_t bytes)
{
    uint64_t handle = take(DRIVER_PHYSICAL, library, "cuMemCreate", bytes);
    send_it((struct event){.kind = EVENT_DRIVER_MAP,
                           .heap = device & EVENT_MAX_HEAP,
                           .addr = at,
                           .size = bytes,
                           .b = handle});
    return handle;
}

static void destroy(uint64_t handle, uint64_t at, uint64_t bytes)
{
    send_it((struct event){
        .kind = EVENT_DRIVER_UNMAP, .heap = device & EVENT_MAX_HEAP, .addr = at, .size = bytes});
    give(DRIVER_PHYSICAL, handle);
}

static void sample(const char *what, uint64_t value)
{
    send_it((struct event){.kind = EVENT_SAMPLE,
                           .heap = device & EVENT_MAX_HEAP,
                           .name = number_of(what),
                           .a = value});
}

static void sample_device(void)
{
    sample("device used", CONTEXT + now.reserved + now.outside + now.unseen);
    sample("device total", 2048 * MIB);
}

/* ---- the allocator ---- */

static void block(uint64_t at, uint64_t bytes)
{
    now.allocated += bytes;
    send_it((struct event){.kind = EVENT_BLOCK_ALLOC,
                           .flags = EVENT_F_TOTALS,
                           .heap = heap & EVENT_MAX_HEAP,
                           .addr = at,
                           .size = bytes,
                           .a = now.allocated,
                           .b = now.reserved});
}

static void drop(uint64_t at, uint64_t bytes)
{
    now.allocated -= bytes;
    send_it((struct event){.kind = EVENT_BLOCK_FREE,
                           .flags = EVENT_F_TOTALS,
                           .heap = heap & EVENT_MAX_HEAP,
                           .addr = at,
                           .size = bytes,
                           .a = now.allocated,
                           .b = now.reserved});
}

static uint64_t segment(uint64_t bytes)
{
    now.reserved += bytes;
    return take(DRIVER_DEVICE, "libc10_cuda.so", "cudaMalloc", bytes);
}

static void empty(uint64_t at, uint64_t bytes)
{
    now.reserved -= bytes;
    give(DRIVER_DEVICE, at);
}

static void outside(unsigned kind, const char *library, uint64_t bytes)
{
    take(kind, library, "cudaMalloc", bytes);
    now.outside += bytes;
}

/* ---- the training ---- */

static void end_phase(const char *name)
{
    sample_device();
    tidemark_phase_end(name);
    printf("%d,%s,%llu,%llu,%llu,%llu\n", now.step, name, (unsigned long long)now.allocated,
           (unsigned long long)now.reserved, (unsigned long long)now.outside,
           (unsigned long long)now.unseen);
}

static void build(uint64_t parameters)
{
    block(parameters, 12 * MIB);
    sample_device();
    take(DRIVER_HOST, "libc10_cuda.so", "cudaHostAlloc", 64 * MIB);
    take(DRIVER_MANAGED, "prog_gpu", "cudaMallocManaged", 16 * MIB);
}

static void forward(uint64_t small, uint64_t large)
{
    tidemark_phase_begin("forward");
    if (now.step == 0) {
        outside(DRIVER_DEVICE, "/usr/local/cuda/lib64/libcublas.so.13", 8 * MIB);
        outside(DRIVER_DEVICE, "libcublasLt.so.13", MIB);
    }
    for (uint64_t i = 0; i < 100; i++)
        block(small + i * 4096, 4096);
    block(large, 7 * MIB);
    block(large + 8 * MIB, 3 * MIB);
    end_phase("forward");
}

/* Two pages of 20 MiB, which one block spans; gone again before the phase ends, in odd steps. */
static void backward(uint64_t small, uint64_t large)
{
    tidemark_phase_begin("backward");
    uint64_t at = now.next;
    now.next += 64 * MIB;
    uint64_t first = create("libc10_cuda.so", at, 20 * MIB);
    uint64_t second = create("libc10_cuda.so", at + 20 * MIB, 20 * MIB);
    now.reserved += 40 * MIB;
    block(at, 30 * MIB);
    if (now.step == 1) {
        for (uint64_t i = 0; i < 3; i++)
            create("/opt/nccl/lib/libnccl.so.2", now.next + i * 2 * MIB, 2 * MIB);
        now.next += 64 * MIB;
        now.outside += 6 * MIB;
    }
    for (uint64_t i = 0; i < 100; i++)
        drop(small + i * 4096, 4096);
    drop(large, 7 * MIB);
    drop(large + 8 * MIB, 3 * MIB);
    drop(at, 30 * MIB);
    now.reserved -= 40 * MIB;
    destroy(second, at + 20 * MIB, 20 * MIB);
    destroy(first, at, 20 * MIB);
    end_phase("backward");
}

static void told_later(void)
{
    struct event kernel = {.kind = EVENT_ACTIVITY,
                           .heap = device & EVENT_MAX_HEAP,
                           .name = number_of("gemm"),
                           .size = 1000,
                           .a = 7 << 8 | ACTIVITY_KERNEL};
    kernel.addr = 1;
    send_it(kernel);
    kernel.a = 7 << 8 | ACTIVITY_COPY;
    kernel.b = 4096;
    kernel.name = 0;
    send_it(kernel);
    struct event gap = {.kind = EVENT_GAP, .name = number_of("cupti: torch.profiler ran"), .a = 1};
    send_it(gap);
    give(DRIVER_DEVICE, 0x1000); /* of what came when nobody saw it */
    gap.a = 0;
    send_it(gap);
}

int main(int argc, char **argv)
{
    uint32_t (*heap_of)(int32_t, int32_t, const char *);
    *(void **)&send_event = dlsym(RTLD_DEFAULT, "story_event");
    *(void **)&number_of = dlsym(RTLD_DEFAULT, "story_string");
    *(void **)&heap_of = dlsym(RTLD_DEFAULT, "story_heap");
    if (!send_event || !number_of || !heap_of)
        return 2;
    device = heap_of(DEVICE_CUDA, 0, "driver");
    heap = heap_of(DEVICE_CUDA, 0, NULL);
    int steps = argc > 1 ? atoi(argv[1]) : 4;
    uint64_t parameters = segment(20 * MIB);
    build(parameters);
    uint64_t small = segment(2 * MIB);
    for (now.step = 0; now.step < steps; now.step++) {
        tidemark_step_begin((uint64_t)now.step);
        uint64_t large = segment(20 * MIB);
        forward(small, large);
        now.unseen += UNSEEN;
        backward(small, large);
        tidemark_phase_begin("empty cache");
        empty(large, 20 * MIB);
        end_phase("empty cache");
        tidemark_step_end();
    }
    told_later();
    return 0;
}
