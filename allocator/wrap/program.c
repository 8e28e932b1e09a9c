/*
 * program.c - the caching allocator as tidemark.h declares it.
 */
#include "wrap.h"

#include <stdio.h>
#include <string.h>

#include "cuda_device.h"
#include "error.h"
#include "mem.h"
#include "virtual.h"

#define PUBLIC __attribute__((visibility("default")))

/* The capacity of a virtual device that nobody set: more than any model, and little enough that the
 * ranges of expandable segments, which are larger still, find addresses. */
#define ENDLESS (UINT64_C(1) << 46)

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static uint64_t number(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

int wrap_result(int err)
{
    switch (err) {
    case BASE_OK:
        return TIDEMARK_OK;
    case ERR_NOTFOUND:
        return TIDEMARK_NOT_FOUND;
    case ERR_ARG:
    case ERR_LIMIT:
        return TIDEMARK_BAD_ARGUMENT;
    default:
        return TIDEMARK_FAILED;
    }
}

PUBLIC const char *tidemark_result_text(int result)
{
    switch (result) {
    case TIDEMARK_OK:
        return "fine";
    case TIDEMARK_NO_MEMORY:
        return "out of memory";
    case TIDEMARK_NOT_FOUND:
        return "no block has this address";
    case TIDEMARK_BAD_ARGUMENT:
        return "not an argument that this function takes";
    case TIDEMARK_NO_DEVICE:
        return "no such device";
    case TIDEMARK_FAILED:
        return "the device or the host failed";
    default:
        return "not a result of Tidemark";
    }
}

/* ---- made and deleted ---- */

/* Says why in the caller's own memory, and gives `result` back. */
static int refuse(const struct tidemark_allocator_desc *desc, int result, const char *why)
{
    if (desc->why && desc->why_size)
        snprintf(desc->why, desc->why_size, "%s", why);
    return result;
}

static int open_virtual(struct tidemark_allocator *self, const struct tidemark_allocator_desc *desc)
{
    struct virtual_options options = {.capacity = desc->capacity ? desc->capacity : ENDLESS};
    int err = virtual_new(&self->on_virtual, &options);
    self->capacity = desc->capacity;
    if (!err)
        self->device = virtual_seam(self->on_virtual);
    return err;
}

static int open_cuda(struct tidemark_allocator *self, const struct tidemark_allocator_desc *desc,
                     char *why, size_t why_size)
{
    int err = cuda_device_new(&self->on_cuda, desc->device_index, NULL, why, why_size);
    if (!err)
        self->device = cuda_device_seam(self->on_cuda);
    return err;
}

static int open_device(struct tidemark_allocator *self, const struct tidemark_allocator_desc *desc,
                       char *why, size_t why_size)
{
    int err = desc->device_kind == TIDEMARK_DEVICE_VIRTUAL ? open_virtual(self, desc)
                                                           : open_cuda(self, desc, why, why_size);
    if (err && !*why)
        snprintf(why, why_size, "%s", base_err_text(err));
    return err;
}

static void close_device(struct tidemark_allocator *self)
{
    virtual_delete(self->on_virtual);
    cuda_device_delete(self->on_cuda);
}

static bool desc_is_right(const struct tidemark_allocator_desc *desc)
{
    return desc->size >= sizeof *desc && desc->device_index >= 0 &&
           (desc->device_kind == TIDEMARK_DEVICE_CUDA ||
            desc->device_kind == TIDEMARK_DEVICE_VIRTUAL);
}

/* What a replay must know of this allocator. A virtual device that is full refuses as a limit does:
 * the smaller of the two is reported. */
static uint64_t limit_to_report(uint64_t limit, uint64_t capacity)
{
    return capacity && (!limit || capacity < limit) ? capacity : limit;
}

static void report_settings(const struct tidemark_allocator *self,
                            const struct tidemark_allocator_desc *desc)
{
    uint64_t limit = limit_to_report(desc->limit, self->capacity);
    report_setting(&self->report, "allocator", "tidemark");
    report_setting(&self->report, "waiting", "1");
    report_setting(&self->report, "alloc_conf", desc->config ? desc->config : "");
    if (limit)
        report_bytes(&self->report, "limit", limit);
}

static int make_allocator(struct tidemark_allocator *self,
                          const struct tidemark_allocator_desc *desc,
                          const struct alloc_config *config)
{
    int err = report_init(&self->report, desc->device_kind, desc->device_index,
                          desc->name ? desc->name : "tidemark");
    if (err)
        return err;
    struct alloc_options options = {.device = self->device,
                                    .config = config,
                                    .observer = report_observer(&self->report),
                                    .limit = desc->limit};
    err = alloc_new(&self->alloc, &options);
    if (!err)
        report_settings(self, desc);
    return err;
}

PUBLIC int tidemark_allocator_new(struct tidemark_allocator **out,
                                  const struct tidemark_allocator_desc *desc)
{
    struct alloc_config config;
    char why[256] = "";
    if (!out || !desc || !desc_is_right(desc))
        return TIDEMARK_BAD_ARGUMENT;
    *out = NULL;
    alloc_config_default(&config);
    if (desc->config && alloc_config_parse(&config, desc->config, why, sizeof why))
        return refuse(desc, TIDEMARK_BAD_ARGUMENT, why);
    struct tidemark_allocator *self = mem_alloc(1, sizeof *self);
    if (!self)
        return refuse(desc, TIDEMARK_FAILED, "the host is out of memory");
    int err = open_device(self, desc, why, sizeof why);
    if (err) {
        mem_free(self);
        return refuse(desc, TIDEMARK_NO_DEVICE, why);
    }
    if (make_allocator(self, desc, &config)) {
        tidemark_allocator_delete(self);
        return refuse(desc, TIDEMARK_FAILED, "the host is out of memory");
    }
    *out = self;
    return TIDEMARK_OK;
}

struct addresses {
    uint64_t *of;
    size_t count, cap;
};

static bool keep_living(void *self, const struct alloc_segment_view *segment)
{
    struct addresses *living = self;
    for (size_t i = 0; i < segment->block_count; i++) {
        if (segment->blocks[i].state != ALLOC_LIVING)
            continue;
        if (!MEM_GROW(living->of, living->cap, living->count + 1))
            return false;
        living->of[living->count++] = segment->blocks[i].address;
    }
    return true;
}

/* So that a recording does not show them alive in segments that are gone. Those that wait for a
 * stream are awaited when the cache is emptied. */
static void give_all(struct alloc *alloc)
{
    struct addresses living = {0};
    alloc_walk(alloc, keep_living, &living);
    for (size_t i = 0; i < living.count; i++)
        alloc_give(alloc, living.of[i]);
    mem_free(living.of);
}

PUBLIC void tidemark_allocator_delete(struct tidemark_allocator *self)
{
    if (!self)
        return;
    if (self->alloc) {
        give_all(self->alloc);
        alloc_empty_cache(self->alloc);
        alloc_delete(self->alloc);
    }
    close_device(self);
    report_clear(&self->report);
    mem_free(self);
}

/* ---- blocks ---- */

static void fill_refusal(struct tidemark_refusal *out, const struct alloc_refusal *refusal)
{
    const struct tidemark_refusal full = {.size = out->size,
                                          .requested = refusal->requested,
                                          .rounded = refusal->rounded,
                                          .segment_size = refusal->segment_size,
                                          .allocated = refusal->allocated,
                                          .reserved = refusal->reserved,
                                          .largest_free = refusal->largest_free,
                                          .device_free = refusal->device_free,
                                          .limit = refusal->limit};
    memcpy(out, &full, out->size < sizeof full ? out->size : sizeof full);
}

PUBLIC int tidemark_allocator_malloc(struct tidemark_allocator *self,
                                     const struct tidemark_request *request, void **address)
{
    struct alloc_refusal refusal = {0};
    uint64_t found = 0;
    if (!self || !request || request->size < sizeof *request || !address)
        return TIDEMARK_BAD_ARGUMENT;
    *address = NULL;
    if (request->site)
        report_site(request->site);
    int err = alloc_malloc(self->alloc, request->bytes, request->stream, &found, &refusal);
    bool refused = err == ERR_NOMEM && (refusal.rounded || refusal.requested >= ALLOC_MAX_REQUEST);
    if (request->site)
        report_site(0);
    if (refused && request->refusal)
        fill_refusal(request->refusal, &refusal);
    if (!err)
        *address = pointer(found);
    return refused ? TIDEMARK_NO_MEMORY : wrap_result(err);
}

PUBLIC int tidemark_allocator_free(struct tidemark_allocator *self, void *address)
{
    if (!self)
        return TIDEMARK_BAD_ARGUMENT;
    return address ? wrap_result(alloc_give(self->alloc, number(address))) : TIDEMARK_OK;
}

PUBLIC int tidemark_allocator_record_stream(struct tidemark_allocator *self, void *address,
                                            uint64_t stream)
{
    if (!self)
        return TIDEMARK_BAD_ARGUMENT;
    return wrap_result(alloc_record_stream(self->alloc, number(address), stream));
}

PUBLIC uint64_t tidemark_allocator_block_size(struct tidemark_allocator *self, const void *address)
{
    return self ? alloc_block_size(self->alloc, number(address)) : 0;
}

/* ---- the whole ---- */

PUBLIC int tidemark_allocator_empty_cache(struct tidemark_allocator *self)
{
    return self ? wrap_result(alloc_empty_cache(self->alloc)) : TIDEMARK_BAD_ARGUMENT;
}

PUBLIC int tidemark_allocator_set_limit(struct tidemark_allocator *self, uint64_t bytes)
{
    if (!self)
        return TIDEMARK_BAD_ARGUMENT;
    alloc_limit(self->alloc, bytes);
    report_bytes(&self->report, "limit", limit_to_report(bytes, self->capacity));
    return TIDEMARK_OK;
}

PUBLIC int tidemark_allocator_configure(struct tidemark_allocator *self, const char *config)
{
    struct alloc_config parsed;
    if (!self || !config)
        return TIDEMARK_BAD_ARGUMENT;
    alloc_config_default(&parsed);
    int err = alloc_config_parse(&parsed, config, NULL, 0);
    if (!err)
        err = alloc_configure(self->alloc, &parsed);
    if (!err)
        report_setting(&self->report, "alloc_conf", config);
    return wrap_result(err);
}

static struct tidemark_stat stat_of(const struct alloc_stat stat[ALLOC_CLASSES])
{
    const struct alloc_stat *all = &stat[ALLOC_ALL];
    return (struct tidemark_stat){(uint64_t)all->current, (uint64_t)all->peak,
                                  (uint64_t)all->allocated, (uint64_t)all->freed};
}

PUBLIC int tidemark_allocator_get_stats(struct tidemark_allocator *self,
                                        struct tidemark_allocator_stats *out)
{
    struct alloc_stats stats;
    if (!self || !out || out->size < sizeof out->size)
        return TIDEMARK_BAD_ARGUMENT;
    alloc_stats(self->alloc, &stats);
    const struct tidemark_allocator_stats full = {
        .size = out->size,
        .requested_bytes = stat_of(stats.requested_bytes),
        .allocated_bytes = stat_of(stats.allocated_bytes),
        .active_bytes = stat_of(stats.active_bytes),
        .reserved_bytes = stat_of(stats.reserved_bytes),
        .inactive_split_bytes = stat_of(stats.inactive_split_bytes),
        .allocations = stat_of(stats.allocation),
        .active_blocks = stat_of(stats.active),
        .segments = stat_of(stats.segment),
        .inactive_splits = stat_of(stats.inactive_split),
        .retries = (uint64_t)stats.num_alloc_retries,
        .refusals = (uint64_t)stats.num_ooms,
        .device_allocs = (uint64_t)stats.num_device_alloc,
        .device_frees = (uint64_t)stats.num_device_free,
    };
    memcpy(out, &full, out->size < sizeof full ? out->size : sizeof full);
    return TIDEMARK_OK;
}

PUBLIC void tidemark_allocator_reset_peaks(struct tidemark_allocator *self)
{
    if (self)
        alloc_reset_peaks(self->alloc);
}

PUBLIC tidemark_heap_t tidemark_allocator_heap(struct tidemark_allocator *self, uint64_t stream)
{
    return self ? report_heap(&self->report, stream, 0) : 0;
}
