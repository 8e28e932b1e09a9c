/*
 * torch.h - what PyTorch looks up by name in libtidemark_alloc.so. docs/pluggable.md shows the few
 * lines of Python.
 *
 * In the place of PyTorch's own allocator, all its tensors come to us one by one:
 * tidemark_torch_malloc and _free, and the functions that are set by address. Or a
 * torch.cuda.MemPool takes its segments from us and cuts them itself: _segment_malloc and
 * _segment_free.
 *
 * Streams are CUstreams; a device is its index among those that are visible.
 */
#ifndef TIDEMARK_ALLOCATOR_TORCH_H
#define TIDEMARK_ALLOCATOR_TORCH_H

#include <stddef.h>

/* NULL if it was refused, and a line on stderr that says why: PyTorch itself says nothing. */
void *tidemark_torch_malloc(size_t bytes, int device, void *stream);
void tidemark_torch_free(void *address, size_t bytes, int device, void *stream);
void tidemark_torch_init(int device_count);
/* empty_cache() */
void tidemark_torch_reset(void);
/* 1 or more: no limit. */
void tidemark_torch_memory_fraction(double fraction, int device);
/* Where the block's segment begins, and in *bytes how large it is; NULL: not a block. */
void *tidemark_torch_base(void *address, size_t *bytes);
void tidemark_torch_record_stream(void *address, void *stream);

void *tidemark_torch_segment_malloc(size_t bytes, int device, void *stream);
void tidemark_torch_segment_free(void *address, size_t bytes, int device, void *stream);

#endif
