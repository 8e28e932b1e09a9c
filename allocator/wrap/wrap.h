/*
 * wrap.h - what libtidemark_alloc.so is made of: an allocator on a device of its own, and the
 * report of all that it does.
 *
 * program.c has the functions that tidemark.h declares; torch.c those that PyTorch looks up by
 * name; wrap_report.c turns the allocator's events into calls of tidemark.h.
 */
#ifndef TIDEMARK_ALLOCATOR_WRAP_H
#define TIDEMARK_ALLOCATOR_WRAP_H

#include "alloc.h"
#include "wrap_report.h"

#define TIDEMARK_NO_CLIENT
#include "tidemark.h"
#undef TIDEMARK_NO_CLIENT

/* Invariant: `report` is told of everything that `alloc` does, or of nothing; `device` outlives
 * `alloc`. */
struct tidemark_allocator {
    struct alloc *alloc;
    const struct alloc_device *device;
    struct virtual_device *on_virtual; /* one of the two is behind it, the other is NULL */
    struct cuda_device *on_cuda;
    uint64_t capacity; /* of the virtual device, 0 = nobody set one */
    struct report report;
};

/* enum tidemark_result of an enum base_err; ERR_NOMEM is our own memory. */
int wrap_result(int err);

#endif
