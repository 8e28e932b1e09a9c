/*
 * torch.c - see torch.h.
 *
 * An allocator is made when its device is first used, with the settings of the environment
 * variable that PyTorch reads, too. It is never deleted: tensors may be freed while the process
 * ends, when the driver has gone already.
 */
#include "torch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cuda_device.h"
#include "error.h"
#include "human.h"
#include "log.h"
#include "mem.h"
#include "wrap.h"

#define PUBLIC __attribute__((visibility("default")))

enum { DEVICES = 128 }; /* PyTorch numbers them in a signed byte */

/* The driver below a MemPool: segments are PyTorch's to cut, so no allocator of ours is there. A
 * seam takes one call at a time: under `calling`. */
struct torch_segments {
    struct cuda_device *cuda;
    const struct alloc_device *seam;
    struct report report;
};

/* What PyTorch uses of a device. Invariants: what is there stays; `tried` is set with the first try
 * to make it, which says what went wrong, and there is no second one. Under `making`. */
struct torch_device {
    _Atomic(void *) allocator; /* struct tidemark_allocator */
    _Atomic(void *) segments;  /* struct torch_segments */
    bool allocator_tried, segments_tried;
};
static struct torch_device devices[DEVICES];
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t calling = PTHREAD_MUTEX_INITIALIZER;

static struct tidemark_allocator *existing(int device)
{
    if (device < 0 || device >= DEVICES)
        return NULL;
    return atomic_load_explicit(&devices[device].allocator, memory_order_acquire);
}

/* ---- making them ---- */

static const char *environment(void)
{
    const char *text = getenv("PYTORCH_ALLOC_CONF");
    if (!text)
        text = getenv("PYTORCH_CUDA_ALLOC_CONF");
    return text ? text : "";
}

static void *make_allocator(int device)
{
    struct tidemark_allocator *allocator = NULL;
    char why[256] = "";
    struct tidemark_allocator_desc desc = {.size = sizeof desc,
                                           .device_kind = TIDEMARK_DEVICE_CUDA,
                                           .device_index = device,
                                           .config = environment(),
                                           .name = "pytorch",
                                           .why = why,
                                           .why_size = sizeof why};
    int result = tidemark_allocator_new(&allocator, &desc);
    if (result == TIDEMARK_BAD_ARGUMENT) {
        log_say(LOG_WARNING, "the allocator goes on with its defaults: %s", why);
        desc.config = NULL;
        result = tidemark_allocator_new(&allocator, &desc);
    }
    if (result)
        log_say(LOG_ERROR, "no allocator for cuda:%d: %s", device,
                *why ? why : tidemark_result_text(result));
    return allocator;
}

static void *make_segments(int device)
{
    char why[256] = "";
    struct torch_segments *made = mem_alloc(1, sizeof *made);
    int err = made ? cuda_device_new(&made->cuda, device, NULL, why, sizeof why) : ERR_NOMEM;
    if (!err)
        err = report_init(&made->report, TIDEMARK_DEVICE_CUDA, device, "pytorch pool");
    if (!err) {
        made->seam = cuda_device_seam(made->cuda);
        return made;
    }
    log_say(LOG_ERROR, "no segments of cuda:%d: %s", device, *why ? why : base_err_text(err));
    if (made)
        cuda_device_delete(made->cuda);
    mem_free(made);
    return NULL;
}

static void *find(_Atomic(void *) *place, bool *tried, void *(*make)(int device), int device)
{
    void *found = atomic_load_explicit(place, memory_order_acquire);
    if (found)
        return found;
    pthread_mutex_lock(&making);
    found = atomic_load_explicit(place, memory_order_acquire);
    if (!found && !*tried) {
        *tried = true;
        found = make(device);
        atomic_store_explicit(place, found, memory_order_release);
    }
    pthread_mutex_unlock(&making);
    return found;
}

static struct tidemark_allocator *allocator_of(int device)
{
    if (device < 0 || device >= DEVICES)
        return NULL;
    struct torch_device *of = &devices[device];
    return find(&of->allocator, &of->allocator_tried, make_allocator, device);
}

static struct torch_segments *segments_of(int device)
{
    if (device < 0 || device >= DEVICES)
        return NULL;
    struct torch_device *of = &devices[device];
    return find(&of->segments, &of->segments_tried, make_segments, device);
}

/* ---- blocks ---- */

static void say_refused(int device, const struct alloc_refusal *refusal)
{
    char asked[HUMAN_MAX], allocated[HUMAN_MAX], reserved[HUMAN_MAX], unused[HUMAN_MAX];
    log_say(LOG_ERROR,
            "cuda:%d is out of memory: %s requested; %s allocated, %s reserved, %s free on the "
            "device. PyTorch gets NULL",
            device, human_bytes(asked, (int64_t)refusal->segment_size),
            human_bytes(allocated, (int64_t)refusal->allocated),
            human_bytes(reserved, (int64_t)refusal->reserved),
            human_bytes(unused, (int64_t)refusal->device_free));
}

PUBLIC void *tidemark_torch_malloc(size_t bytes, int device, void *stream)
{
    struct tidemark_allocator *self = allocator_of(device);
    struct alloc_refusal refusal = {0};
    uint64_t address = 0;
    if (!self || !bytes)
        return NULL;
    report_site(report_python_site());
    int err = alloc_malloc(self->alloc, bytes, (uint64_t)(uintptr_t)stream, &address, &refusal);
    report_site(0);
    if (err == ERR_NOMEM)
        say_refused(device, &refusal);
    else if (err)
        log_say(LOG_ERROR, "cuda:%d: %s", device, base_err_text(err));
    return (void *)(uintptr_t)address;
}

PUBLIC void tidemark_torch_free(void *address, size_t bytes, int device, void *stream)
{
    struct tidemark_allocator *self = existing(device);
    (void)bytes;
    (void)stream;
    if (!self || !address)
        return;
    int err = alloc_give(self->alloc, (uint64_t)(uintptr_t)address);
    if (err)
        log_say(LOG_ERROR, "cuda:%d: freeing %p: %s", device, address, base_err_text(err));
}

/* The allocator of a device that has the block; PyTorch does not say which. */
static struct tidemark_allocator *owner_of(const void *address)
{
    for (int i = 0; address && i < DEVICES; i++) {
        struct tidemark_allocator *self = existing(i);
        if (self && alloc_block_size(self->alloc, (uint64_t)(uintptr_t)address))
            return self;
    }
    return NULL;
}

PUBLIC void tidemark_torch_record_stream(void *address, void *stream)
{
    struct tidemark_allocator *self = owner_of(address);
    if (self)
        alloc_record_stream(self->alloc, (uint64_t)(uintptr_t)address, (uint64_t)(uintptr_t)stream);
}

PUBLIC void *tidemark_torch_base(void *address, size_t *bytes)
{
    struct tidemark_allocator *self = owner_of(address);
    uint64_t size = 0;
    uint64_t base = self ? alloc_base(self->alloc, (uint64_t)(uintptr_t)address, &size) : 0;
    if (bytes)
        *bytes = size;
    return (void *)(uintptr_t)base;
}

/* ---- the whole ---- */

PUBLIC void tidemark_torch_init(int device_count)
{
    (void)device_count; /* an allocator is made when its device is first used */
}

PUBLIC void tidemark_torch_reset(void)
{
    for (int i = 0; i < DEVICES; i++) {
        struct tidemark_allocator *self = existing(i);
        if (self)
            alloc_empty_cache(self->alloc);
    }
}

static int device_bytes(int device, uint64_t *total)
{
    struct torch_segments *self = segments_of(device);
    uint64_t unused;
    if (!self)
        return ERR_NOTFOUND;
    pthread_mutex_lock(&calling);
    int err = self->seam->memory(self->seam->self, &unused, total);
    pthread_mutex_unlock(&calling);
    return err;
}

PUBLIC void tidemark_torch_memory_fraction(double fraction, int device)
{
    struct tidemark_allocator *self = allocator_of(device);
    uint64_t total = 0;
    if (!self || !(fraction >= 0) || device_bytes(device, &total))
        return;
    uint64_t limit = fraction < 1 ? (uint64_t)((double)total * fraction) : 0;
    /* A limit of 0 means that there is none, and a fraction of 0 that there is no memory. */
    tidemark_allocator_set_limit(self, limit || fraction >= 1 ? limit : 1);
}

/* ---- segments that PyTorch cuts itself ---- */

PUBLIC void *tidemark_torch_segment_malloc(size_t bytes, int device, void *stream)
{
    struct torch_segments *self = segments_of(device);
    uint64_t address = 0, on = (uint64_t)(uintptr_t)stream;
    if (!self || !bytes)
        return NULL;
    pthread_mutex_lock(&calling);
    int err = self->seam->take(self->seam->self, bytes, on, &address);
    if (!err)
        report_segment_taken(&self->report, on, address, bytes);
    pthread_mutex_unlock(&calling);
    return err ? NULL : (void *)(uintptr_t)address; /* NULL: PyTorch goes down its own ladder */
}

PUBLIC void tidemark_torch_segment_free(void *address, size_t bytes, int device, void *stream)
{
    struct torch_segments *self = segments_of(device);
    uint64_t at = (uint64_t)(uintptr_t)address;
    if (!self || !address)
        return;
    pthread_mutex_lock(&calling);
    report_segment_given(&self->report, (uint64_t)(uintptr_t)stream, at);
    int err = self->seam->give(self->seam->self, at, bytes);
    pthread_mutex_unlock(&calling);
    if (err)
        log_say(LOG_ERROR, "cuda:%d: giving back %p: %s", device, address, base_err_text(err));
}
