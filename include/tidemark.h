/*
 * tidemark.h - tell a Tidemark recording what a program does with its memory.
 *
 * Header only: include it and call. The program links nothing, and runs the same where Tidemark was
 * never installed. When it is started by `tidemark record -- program`, the calls reach the
 * recorder; when nobody records, each call is a load and a branch. C99 or C++11, GCC or Clang,
 * Linux.
 *
 *     static tidemark_heap_t heap;
 *     heap = tidemark_heap_open(TIDEMARK_DEVICE_CPU, 0, "tensors");
 *     tidemark_phase_begin("forward");
 *     p = my_alloc(bytes);
 *     tidemark_alloc(heap, p, bytes);
 *     tidemark_phase_end("forward");
 *     ...
 *     tidemark_free(heap, p);
 *     my_free(p);
 *
 * Report an allocation after it was made and a free before it is done: then no other thread can
 * have got the same address in between. Every call is safe from any thread and from a signal
 * handler, allocates nothing and never fails; what could not be stored is counted in the database.
 */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TIDEMARK_NULL nullptr
#else
#define TIDEMARK_NULL ((void *)0)
#endif

#define TIDEMARK_API_VERSION 1u

typedef uint32_t tidemark_heap_t; /* 0 = none: calls with it are ignored */
typedef uint32_t tidemark_site_t; /* 0 = not known */

enum tidemark_device {
    TIDEMARK_DEVICE_CPU = 0,
    TIDEMARK_DEVICE_CUDA = 1,
    TIDEMARK_DEVICE_VIRTUAL = 2, /* addresses without memory behind them */
    TIDEMARK_DEVICE_OTHER = 3
};

/* What a range of memory is for. */
enum tidemark_category {
    TIDEMARK_PARAMETER = 1,
    TIDEMARK_GRADIENT = 2,
    TIDEMARK_OPTIMIZER_STATE = 3,
    TIDEMARK_ACTIVATION = 4,
    TIDEMARK_INPUT = 5,
    TIDEMARK_BUCKET = 6,
    TIDEMARK_WORKSPACE = 7,
    TIDEMARK_OTHER = 8
};

/* Versioned structs: set `size` to sizeof; later versions add fields at the end only. */
struct tidemark_heap_desc {
    uint32_t size;
    int32_t device_kind;  /* enum tidemark_device */
    int32_t device_index; /* -1 = not known */
    uint32_t unused;
    uint64_t stream; /* your own name for it, 0 = default */
    uint64_t pool;   /* your own name for it, 0 = default */
    const char *name;
};

struct tidemark_block {
    uint32_t size;
    tidemark_heap_t heap;
    tidemark_site_t site;
    uint32_t has_requested; /* 1: `requested` is known */
    const void *address;
    uint64_t bytes;     /* as handed out, rounding included */
    uint64_t requested; /* as asked for */
};

/* The table that libtidemark.so hands out; call through the functions below instead. */
struct tidemark_api {
    uint32_t size;
    uint32_t version;
    tidemark_heap_t (*heap_open)(const struct tidemark_heap_desc *desc);
    tidemark_site_t (*site)(const char *function, const char *file, uint32_t line);
    void (*block_alloc)(const struct tidemark_block *block);
    void (*block_free)(tidemark_heap_t heap, const void *address);
    void (*segment_alloc)(tidemark_heap_t heap, const void *address, uint64_t bytes);
    void (*segment_free)(tidemark_heap_t heap, const void *address);
    void (*phase_begin)(const char *name);
    void (*phase_end)(const char *name);
    void (*step_begin)(uint64_t number);
    void (*step_end)(void);
    void (*mark)(const char *name, int64_t value);
    void (*tag)(tidemark_heap_t heap, const void *address, uint64_t bytes, int category,
                const char *name);
    void (*oom)(tidemark_heap_t heap, uint64_t asked, tidemark_site_t site);
};

#ifdef TIDEMARK_NO_CLIENT /* the library itself: the types, and what it exports */

const struct tidemark_api *tidemark_attach(uint32_t version);

#else

/* ---- how the table is found ---- */

struct tidemark_client {
    int state; /* 2 = not looked yet, 1 = recording, 0 = nobody records */
    const struct tidemark_api *api;
};

/* One for each program or shared library; the linker merges the copies of its source files. */
extern struct tidemark_client tidemark_client_ __attribute__((weak, visibility("hidden")));
struct tidemark_client tidemark_client_ = {2, TIDEMARK_NULL};

/* How the library is found: as a symbol of the program, which the dynamic linker sets when `record`
 * has preloaded it; or, in programs whose linker left the symbol at zero, by dlsym, and then only
 * when somebody records. (Linked at fixed addresses and on glibc before 2.34, such a program needs
 * -ldl.) A program that is linked statically has neither and is not recorded. */
extern const struct tidemark_api *tidemark_attach_(uint32_t version) __asm__("tidemark_attach")
    __attribute__((weak));
extern void *tidemark_dlsym_(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));
extern char *tidemark_getenv_(const char *name) __asm__("getenv") __attribute__((weak));

/* Runs before main, and at the first call of a constructor that comes earlier still. What it calls
 * may allocate, and an allocator may report: meanwhile nobody records. */
__attribute__((noinline, cold, constructor)) static void tidemark_connect_(void)
{
    typedef const struct tidemark_api *(*attach_fn)(uint32_t version);
    union {
        void *object;
        attach_fn function;
    } attach;
    const struct tidemark_api *api = TIDEMARK_NULL;
    int unknown = 2;
    if (!__atomic_compare_exchange_n(&tidemark_client_.state, &unknown, 0, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    attach.function = tidemark_attach_;
    if (!attach.function && tidemark_dlsym_ && tidemark_getenv_ &&
        tidemark_getenv_("TIDEMARK_SOCKET"))
        attach.object = tidemark_dlsym_(TIDEMARK_NULL, "tidemark_attach");
    if (attach.function)
        api = attach.function(TIDEMARK_API_VERSION);
    if (!api || api->size < sizeof(struct tidemark_api))
        return;
    __atomic_store_n(&tidemark_client_.api, api, __ATOMIC_RELAXED);
    __atomic_store_n(&tidemark_client_.state, 1, __ATOMIC_RELEASE);
}

static inline const struct tidemark_api *tidemark_api_(void)
{
    int state = __atomic_load_n(&tidemark_client_.state, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == 0, 1))
        return TIDEMARK_NULL;
    if (__builtin_expect(state == 2, 0)) {
        tidemark_connect_();
        if (__atomic_load_n(&tidemark_client_.state, __ATOMIC_ACQUIRE) != 1)
            return TIDEMARK_NULL;
    }
    return __atomic_load_n(&tidemark_client_.api, __ATOMIC_RELAXED);
}

/* ---- the calls ---- */

/* 1 when a recorder was there at the start. */
static inline int tidemark_recording(void)
{
    return tidemark_api_() != TIDEMARK_NULL;
}

/* A heap is where blocks live: one for each device, stream and pool. Calls with the same values
 * give the same heap. */
static inline tidemark_heap_t tidemark_heap_open_desc(const struct tidemark_heap_desc *desc)
{
    const struct tidemark_api *api = tidemark_api_();
    return api ? api->heap_open(desc) : 0;
}

static inline tidemark_heap_t tidemark_heap_open(int device_kind, int device_index,
                                                 const char *name)
{
    struct tidemark_heap_desc desc;
    desc.size = (uint32_t)sizeof desc;
    desc.device_kind = device_kind;
    desc.device_index = device_index;
    desc.unused = 0;
    desc.stream = 0;
    desc.pool = 0;
    desc.name = name;
    return tidemark_heap_open_desc(&desc);
}

/* The place that asks for memory; keep the number, or use TIDEMARK_SITE(). */
static inline tidemark_site_t tidemark_site(const char *function, const char *file, uint32_t line)
{
    const struct tidemark_api *api = tidemark_api_();
    return api ? api->site(function, file, line) : 0;
}

/* This very line. */
#define TIDEMARK_SITE() tidemark_site(__func__, __FILE__, (uint32_t)__LINE__)

static inline void tidemark_block_alloc(const struct tidemark_block *block)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->block_alloc(block);
}

static inline void tidemark_alloc_at(tidemark_heap_t heap, const void *address, uint64_t bytes,
                                     tidemark_site_t site)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api) {
        struct tidemark_block block;
        block.size = (uint32_t)sizeof block;
        block.heap = heap;
        block.site = site;
        block.has_requested = 0;
        block.address = address;
        block.bytes = bytes;
        block.requested = 0;
        api->block_alloc(&block);
    }
}

/* This very line, asked for once: its number stays the same, in forked children, too. */
#define TIDEMARK_SITE_ONCE()                                                                       \
    __extension__({                                                                                \
        static tidemark_site_t tidemark_here_;                                                     \
        tidemark_site_t tidemark_seen_ = __atomic_load_n(&tidemark_here_, __ATOMIC_RELAXED);       \
        if (!tidemark_seen_) {                                                                     \
            tidemark_seen_ = TIDEMARK_SITE();                                                      \
            __atomic_store_n(&tidemark_here_, tidemark_seen_, __ATOMIC_RELAXED);                   \
        }                                                                                          \
        tidemark_seen_;                                                                            \
    })

#define tidemark_alloc(heap, address, bytes)                                                       \
    tidemark_alloc_at((heap), (address), (bytes), TIDEMARK_SITE_ONCE())

static inline void tidemark_free(tidemark_heap_t heap, const void *address)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->block_free(heap, address);
}

/* Memory that your allocator took from the device, to hand out as blocks: makes `reserved` known.
 */
static inline void tidemark_segment_alloc(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->segment_alloc(heap, address, bytes);
}

static inline void tidemark_segment_free(tidemark_heap_t heap, const void *address)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->segment_free(heap, address);
}

/* Phases nest. "zero_grad", "forward", "loss", "backward", "optimizer" and "eval" are known by
 * name; any other name is a phase of your own. */
static inline void tidemark_phase_begin(const char *name)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->phase_begin(name);
}

/* `name` may be NULL: the innermost phase of this thread. */
static inline void tidemark_phase_end(const char *name)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->phase_end(name);
}

/* What happens until the next of them belongs to this step. */
static inline void tidemark_step_begin(uint64_t number)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->step_begin(number);
}

/* What happens from here on belongs to no step. */
static inline void tidemark_step_end(void)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->step_end();
}

static inline void tidemark_mark(const char *name, int64_t value)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->mark(name, value);
}

/* The living blocks that begin in this range are a parameter, a gradient, ... called `name`. */
static inline void tidemark_tag(tidemark_heap_t heap, const void *address, uint64_t bytes,
                                enum tidemark_category category, const char *name)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->tag(heap, address, bytes, (int)category, name);
}

/* An allocation of `asked` bytes failed. */
static inline void tidemark_oom(tidemark_heap_t heap, uint64_t asked, tidemark_site_t site)
{
    const struct tidemark_api *api = tidemark_api_();
    if (api)
        api->oom(heap, asked, site);
}

#endif /* TIDEMARK_NO_CLIENT */

#ifdef __cplusplus
}
#endif

#endif
