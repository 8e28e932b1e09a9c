/* A program that takes memory from the allocator library, on a device without memory behind it. */
#include <tidemark.h>

int main(void)
{
    struct tidemark_allocator_desc desc = {sizeof desc, TIDEMARK_DEVICE_VIRTUAL};
    struct tidemark_allocator *allocator;
    void *block;
    if (tidemark_allocator_new(&allocator, &desc) != TIDEMARK_OK)
        return 1;
    block = tidemark_malloc(allocator, 5 << 20, 0);
    if (!block || tidemark_allocator_block_size(allocator, block) < 5 << 20)
        return 2;
    tidemark_allocator_free(allocator, block);
    tidemark_allocator_delete(allocator);
    return 0;
}
