/*
 * torch_hook.h - PyTorch's allocators seen from inside the process.
 *
 * libtidemark.so defines the functions by which libc10 reports memory to torch.profiler; being
 * preloaded, its definitions come before libc10's own. Each report becomes one event, and is then
 * handed on to libc10's own function, so that torch.profiler works beside us. The originals are
 * found in the loaded libc10 (torch_hook_bind); before that nothing can be handed on.
 *
 * Where they are called: CUDA reports come under the mutex of the device's allocator, perhaps with
 * the GIL held. So nothing there takes the loader's lock, the GIL, or memory.
 * memoryProfilingEnabled is called by the CPU reporter before it takes its mutex: slow one-time
 * work is done there.
 */
#ifndef TIDEMARK_PROFILER_TORCH_HOOK_H
#define TIDEMARK_PROFILER_TORCH_HOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* c10::Device: two signed bytes in one register. */
struct c10_device {
    int8_t type; /* enum c10_type, or another accelerator */
    int8_t index;
};
enum c10_type { C10_CPU = 0, C10_CUDA = 1, C10_XPU = 12 };

/* c10::cuda::CUDAStream, returned in two registers. */
struct c10_stream {
    struct c10_device device;
    int64_t id; /* 0 = the default stream */
};

/* What libc10 itself has. The signed and unsigned variants of a function take the same registers.
 */
enum torch_original {
    TORCH_USAGE,     /* torch_usage_fn */
    TORCH_USAGE_OLD, /* torch_usage_old_fn */
    TORCH_OOM,       /* torch_oom_fn */
    TORCH_ENABLED,   /* torch_enabled_fn */
    TORCH_DELETE, /* torch_delete_fn: a block of the CPU goes; of no use where we are preloaded */
    TORCH_STREAM, /* torch_stream_fn, of libc10_cuda */
    TORCH_ORIGINALS
};
typedef void (*torch_usage_fn)(void *ptr, int64_t size, int64_t allocated, int64_t reserved,
                               struct c10_device device);
typedef void (*torch_usage_old_fn)(void *ptr, int64_t size, struct c10_device device);
typedef void (*torch_oom_fn)(int64_t size, int64_t allocated, int64_t reserved,
                             struct c10_device device);
typedef bool (*torch_enabled_fn)(void);
typedef void (*torch_delete_fn)(void *reporter, void *ptr);
typedef struct c10_stream (*torch_stream_fn)(int8_t device);

/* Looks for the originals in the libraries that are loaded. Takes the loader's lock: never under an
 * allocator's mutex. Cheap when all was found; may be called again when more is loaded. */
void torch_hook_bind(void);
/* The address of one; 0: it is not there, or was not found yet. */
extern _Atomic uintptr_t torch_hook_originals[TORCH_ORIGINALS];
static inline uintptr_t torch_hook_original(enum torch_original which)
{
    return atomic_load_explicit(&torch_hook_originals[which], memory_order_acquire);
}

/* Keeps the census from now on; false: there is no memory for it. */
bool torch_hook_keep(void);

/* By who is above us: tried at the first reports, where the loader's lock may be taken, until it
 * returns true. */
void torch_hook_at_first_reports(bool (*attempt)(void));

/* ---- what one thread allocates in a stretch: for blocks that no tensor of the program shows ----
 */

struct watched {
    uint64_t addr;
    uint64_t bytes;
};
#define WATCH_MAX 128

/* Begins to remember the calling thread's blocks; false if another thread is at it. */
bool torch_watch_begin(void);
/* Ends it, and gives those that were not freed; returns how many, at most max. A
 * note says if there were more than WATCH_MAX at once; it has not been sent yet. */
uint32_t torch_watch_end(struct watched *out, uint32_t max);
/* From the hook: size > 0 a block, < 0 it was freed. */
void torch_watch_take(uint64_t addr, int64_t size);

extern char *_Atomic torch_watch_owner; /* NULL: nobody watches */
static inline bool torch_watch_is_on(void)
{
    return atomic_load_explicit(&torch_watch_owner, memory_order_relaxed) != NULL;
}

#endif
