/* A training loop that keeps a history of its losses, and so leaves one block behind in each step.
 */
#include <stddef.h>
#include <stdint.h>

#include "tidemark.h"

enum { STEPS = 24 };

static tidemark_heap_t heap;
static uintptr_t top = 0x10000;

static void *take(size_t bytes, tidemark_site_t site)
{
    void *address = (void *)top; // NOLINT: addresses without memory behind them
    top += bytes;
    tidemark_alloc_at(heap, address, bytes, site);
    return address;
}

static void remember_loss(void)
{
    take(1 << 20, TIDEMARK_SITE());
}

static void train_step(unsigned step)
{
    tidemark_step_begin(step);
    tidemark_phase_begin("forward");
    void *activations = take(24 << 20, TIDEMARK_SITE());
    tidemark_phase_end("forward");
    tidemark_phase_begin("loss");
    remember_loss();
    tidemark_phase_end("loss");
    tidemark_phase_begin("backward");
    void *gradients = take(8 << 20, TIDEMARK_SITE());
    tidemark_free(heap, activations);
    tidemark_phase_end("backward");
    tidemark_phase_begin("optimizer");
    tidemark_free(heap, gradients);
    tidemark_phase_end("optimizer");
    tidemark_step_end();
}

int main(void)
{
    heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "tensors");
    void *parameters = take(8 << 20, TIDEMARK_SITE());
    for (unsigned step = 0; step < STEPS; step++)
        train_step(step);
    tidemark_free(heap, parameters);
    return 0;
}
