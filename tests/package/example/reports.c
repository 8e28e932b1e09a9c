/* A program with an allocator of its own, malloc, that says what it does by the header alone. */
#include <stdlib.h>
#include <tidemark.h>

int main(void)
{
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_CPU, 0, "example");
    void *block = malloc(3 << 20);
    if (!block)
        return 1;
    tidemark_step_begin(0);
    tidemark_alloc(heap, block, 3 << 20);
    tidemark_free(heap, block);
    tidemark_step_end();
    free(block);
    return 0;
}
