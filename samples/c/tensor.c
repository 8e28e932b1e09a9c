#include "tensor.h"

#include <assert.h>
#include <stdlib.h>

struct tensor *tensor_new_at(struct heap *heap, uint64_t bytes, tidemark_site_t site)
{
    struct tensor *tensor = host_memory(1, sizeof *tensor);
    *tensor = (struct tensor){heap, heap_allocate(heap, bytes, site), 1};
    return tensor;
}

struct tensor *tensor_hold(struct tensor *tensor)
{
    assert(tensor->holders > 0);
    tensor->holders++;
    return tensor;
}

void tensor_drop(struct tensor *tensor)
{
    if (!tensor || --tensor->holders)
        return;
    heap_free(tensor->heap, tensor->block);
    free(tensor);
}

uint64_t tensor_bytes(const struct tensor *tensor)
{
    return tensor->block->requested;
}

void tensor_tag(const struct tensor *tensor, enum tidemark_category category, const char *name)
{
    tidemark_tag(tensor->heap->report, heap_address(tensor->block), tensor->block->bytes, category,
                 name);
}
