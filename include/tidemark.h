/*
 * tidemark.h - report to a Tidemark recording what a program does with its memory.
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

/* 2 added what an allocator with streams and expandable segments has to say, and settings. A
 * program runs with a libtidemark.so of either version: what an older one does not know is not
 * reported. */
#define TIDEMARK_API_VERSION 2u

typedef uint32_t tidemark_heap_t; /* 0 = none: calls with it are ignored */
typedef uint32_t tidemark_site_t; /* 0 = not known */

enum tidemark_device {
    TIDEMARK_DEVICE_CPU = 0,
    TIDEMARK_DEVICE_CUDA = 1,
    TIDEMARK_DEVICE_VIRTUAL = 2, /* addresses without memory behind them */
    TIDEMARK_DEVICE_OTHER = 3,
    TIDEMARK_DEVICE_XPU = 4 /* Intel's GPUs, as PyTorch calls them */
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
    uint64_t bytes;     /* as allocated, rounding included */
    uint64_t requested; /* before rounding */
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
    /* from version 2 */
    void (*block_free_waits)(tidemark_heap_t heap, const void *address);
    void (*block_idle)(tidemark_heap_t heap, const void *address);
    void (*segment_map)(tidemark_heap_t heap, const void *address, uint64_t bytes);
    void (*segment_unmap)(tidemark_heap_t heap, const void *address, uint64_t bytes);
    void (*setting)(tidemark_heap_t heap, const char *key, const char *value);
    tidemark_site_t (*python_site)(void);
};

/* ---- the caching allocator ----
 *
 * PyTorch's policy, address for address, for programs that have no allocator of their own: on a
 * CUDA device, or on a virtual one, whose addresses have no memory behind them. It is in
 * libtidemark_alloc.so (-ltidemark_alloc), needs no CUDA toolkit, and reports to a recording all
 * that it does: blocks with the size that was requested, segments, frees that wait, refusals.
 * The addresses are the same whether somebody records or not.
 *
 *     struct tidemark_allocator_desc desc = {sizeof desc, TIDEMARK_DEVICE_CUDA};
 *     struct tidemark_allocator *allocator;
 *     if (tidemark_allocator_new(&allocator, &desc) == TIDEMARK_OK) {
 *         p = tidemark_malloc(allocator, bytes, stream);
 *         ...
 *         tidemark_allocator_free(allocator, p);
 *         tidemark_allocator_delete(allocator);
 *     }
 *
 * Safe from any thread, but not from a signal handler.
 */

struct tidemark_allocator;

enum tidemark_result {
    TIDEMARK_OK = 0,
    TIDEMARK_NO_MEMORY = 1, /* of the device: refused after the whole cache was freed */
    TIDEMARK_NOT_FOUND = 2, /* not the address of a live block */
    TIDEMARK_BAD_ARGUMENT = 3,
    TIDEMARK_NO_DEVICE = 4, /* no driver, or no such device */
    TIDEMARK_FAILED = 5     /* the driver reports a trouble, or the host is out of memory */
};

struct tidemark_allocator_desc {
    uint32_t size;
    int32_t device_kind;  /* TIDEMARK_DEVICE_CUDA or TIDEMARK_DEVICE_VIRTUAL */
    int32_t device_index; /* cuda:0 is 0 */
    uint32_t why_size;
    uint64_t capacity;  /* of a virtual device, bytes; 0 = as many as are requested (64 TiB) */
    uint64_t limit;     /* bytes that it may take from the device; 0 = no limit */
    const char *config; /* as PYTORCH_CUDA_ALLOC_CONF has it; NULL = the defaults */
    const char *name;   /* of its heaps in a recording; NULL = "tidemark" */
    char *why;          /* gets a sentence if the result is not TIDEMARK_OK; or NULL */
};

/* Why a request was refused. */
struct tidemark_refusal {
    uint32_t size;
    uint32_t unused;
    uint64_t requested;    /* before rounding */
    uint64_t rounded;      /* as a block */
    uint64_t segment_size; /* as requested of the device */
    uint64_t allocated, reserved;
    uint64_t largest_free; /* the largest cached block that the stream might have had */
    uint64_t device_free;
    uint64_t limit; /* 0 = none */
};

struct tidemark_request {
    uint32_t size;
    tidemark_site_t site;             /* 0 = not known */
    uint64_t bytes;                   /* 0 gives the address NULL and changes nothing */
    uint64_t stream;                  /* on CUDA the CUstream, as a number */
    struct tidemark_refusal *refusal; /* filled with TIDEMARK_NO_MEMORY; or NULL */
};

struct tidemark_stat {
    uint64_t current, peak;
    uint64_t increased, decreased; /* the sum of all steps up, and of all steps down */
};

/* As PyTorch defines them (docs/allocator.md): of both its pools together. */
struct tidemark_allocator_stats {
    uint32_t size;
    uint32_t unused;
    struct tidemark_stat requested_bytes, allocated_bytes, active_bytes, reserved_bytes,
        inactive_split_bytes;
    struct tidemark_stat allocations, active_blocks, segments, inactive_splits;
    uint64_t retries; /* requests for which the whole cache was freed */
    uint64_t refusals;
    uint64_t device_allocs, device_frees;
};

int tidemark_allocator_new(struct tidemark_allocator **out,
                           const struct tidemark_allocator_desc *desc);
/* Live blocks are freed first. NULL does nothing. */
void tidemark_allocator_delete(struct tidemark_allocator *allocator);
int tidemark_allocator_malloc(struct tidemark_allocator *allocator,
                              const struct tidemark_request *request, void **address);
int tidemark_allocator_free(struct tidemark_allocator *allocator, void *address);
/* The other stream uses the block from now on: what was asked of it must be done before the block
 * can be allocated again. */
int tidemark_allocator_record_stream(struct tidemark_allocator *allocator, void *address,
                                     uint64_t stream);
int tidemark_allocator_empty_cache(struct tidemark_allocator *allocator);
int tidemark_allocator_set_limit(struct tidemark_allocator *allocator, uint64_t bytes);
/* The string stands for itself: what it does not name, expandable_segments too, is the default. */
int tidemark_allocator_configure(struct tidemark_allocator *allocator, const char *config);
/* The bytes of a live block, 0 for any other address. */
uint64_t tidemark_allocator_block_size(struct tidemark_allocator *allocator, const void *address);
int tidemark_allocator_get_stats(struct tidemark_allocator *allocator,
                                 struct tidemark_allocator_stats *stats);
void tidemark_allocator_reset_peaks(struct tidemark_allocator *allocator);
/* The heap of a stream's blocks in the recording: for tags. */
tidemark_heap_t tidemark_allocator_heap(struct tidemark_allocator *allocator, uint64_t stream);
const char *tidemark_result_text(int result); /* never NULL */

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
    if (attach.function) {
        api = attach.function(TIDEMARK_API_VERSION);
        if (!api)
            api = attach.function(1);
    }
    if (!api || api->size < offsetof(struct tidemark_api, block_free_waits))
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

/* For what came with version 2: 0 with an older library, too. */
static inline const struct tidemark_api *tidemark_api_2_(void)
{
    const struct tidemark_api *api = tidemark_api_();
    return api && api->size >= sizeof(struct tidemark_api) ? api : TIDEMARK_NULL;
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

/* The Python stack of the calling thread as a site, of a thread without Python its name; 0 where
 * stacks cannot be read. The first call may take the dynamic linker's lock. */
static inline tidemark_site_t tidemark_python_site(void)
{
    const struct tidemark_api *api = tidemark_api_2_();
    return api ? api->python_site() : 0;
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

/* This very line, named once: its number stays the same, in forked children, too. */
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

/* Freed while another stream still uses it: the block stays active, and tidemark_idle must follow
 * once the allocator may allocate it again. A block whose free does not wait needs neither. To an
 * older library a plain free is reported. */
static inline void tidemark_free_waits(tidemark_heap_t heap, const void *address)
{
    const struct tidemark_api *api = tidemark_api_2_();
    if (api)
        api->block_free_waits(heap, address);
    else
        tidemark_free(heap, address);
}

static inline void tidemark_idle(tidemark_heap_t heap, const void *address)
{
    const struct tidemark_api *api = tidemark_api_2_();
    if (api)
        api->block_idle(heap, address);
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

/* Pages mapped into a range of addresses that was reserved for them, or taken out of it. What was
 * mapped in pieces may go in others. */
static inline void tidemark_segment_map(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    const struct tidemark_api *api = tidemark_api_2_();
    if (api)
        api->segment_map(heap, address, bytes);
}

static inline void tidemark_segment_unmap(tidemark_heap_t heap, const void *address, uint64_t bytes)
{
    const struct tidemark_api *api = tidemark_api_2_();
    if (api)
        api->segment_unmap(heap, address, bytes);
}

/* A setting that reports may need, of the device of `heap` or, with 0, of the whole process. Keys
 * that they know: allocator (whose policy it is), alloc_conf (as PYTORCH_CUDA_ALLOC_CONF has it),
 * limit (bytes that may be taken from the device). Said again, the last one holds. */
static inline void tidemark_setting(tidemark_heap_t heap, const char *key, const char *value)
{
    const struct tidemark_api *api = tidemark_api_2_();
    if (api)
        api->setting(heap, key, value);
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

/* The live blocks that begin in this range are a parameter, a gradient, ... called `name`. */
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

static inline void *tidemark_malloc_at(struct tidemark_allocator *allocator, uint64_t bytes,
                                       uint64_t stream, tidemark_site_t site)
{
    struct tidemark_request request;
    void *address = TIDEMARK_NULL;
    request.size = (uint32_t)sizeof request;
    request.site = site;
    request.bytes = bytes;
    request.stream = stream;
    request.refusal = (struct tidemark_refusal *)TIDEMARK_NULL;
    return tidemark_allocator_malloc(allocator, &request, &address) == TIDEMARK_OK ? address
                                                                                   : TIDEMARK_NULL;
}

/* A block from the caching allocator, and this very line as its site; NULL if it was refused. */
#define tidemark_malloc(allocator, bytes, stream)                                                  \
    tidemark_malloc_at((allocator), (bytes), (stream), TIDEMARK_SITE_ONCE())

#endif /* TIDEMARK_NO_CLIENT */

#ifdef __cplusplus
}
#endif

#endif
