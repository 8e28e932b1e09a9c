/* The smallest program that Tidemark can explain: one heap, two steps, one block that stays. */
#include "tidemark.h"

#include <stdlib.h>

static tidemark_heap_t heap;

static void *get(size_t bytes)
{
    void *block = malloc(bytes);
    if (block)
        tidemark_alloc(heap, block, bytes); /* after it was made */
    return block;
}

static void put(void *block)
{
    if (block)
        tidemark_free(heap, block); /* before it goes */
    free(block);
}

int main(void)
{
    heap = tidemark_heap_open(TIDEMARK_DEVICE_CPU, 0, "tensors");
    void *weights = get(1 << 20);
    for (unsigned step = 0; step < 2; step++) {
        tidemark_step_begin(step);
        tidemark_phase_begin("forward");
        void *activations = get(4 << 20);
        tidemark_phase_end("forward");
        tidemark_phase_begin("backward");
        put(activations);
        tidemark_phase_end("backward");
    }
    put(weights);
    return 0;
}
