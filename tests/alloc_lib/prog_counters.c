/*
 * prog_counters [CONFIG] - a program on the caching allocator that prints, at the end of each
 * phase, what the allocator counts: record_counters.sh compares it with what was recorded. Blocks
 * of all sizes on three streams, frees that wait for another one, an emptied cache, a limit.
 */
#include "tidemark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 8, PHASES = 3, CALLS = 60, KEPT = 48 };

static struct tidemark_allocator *allocator;
static void *kept[KEPT];
static uint64_t seed = 12345;

static uint64_t next(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

static void one_call(void)
{
    static const uint64_t sizes[] = {700, 40000, 900000, 3 << 20, 14 << 20};
    void **slot = &kept[next(KEPT)];
    if (*slot && next(3) == 0)
        tidemark_allocator_record_stream(allocator, *slot, 4);
    tidemark_allocator_free(allocator, *slot);
    *slot = tidemark_malloc(allocator, 1 + next(sizes[next(5)]), next(3));
}

static void print_counters(unsigned step, const char *phase)
{
    struct tidemark_allocator_stats stats = {.size = sizeof stats};
    tidemark_allocator_get_stats(allocator, &stats);
    printf("%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", step, phase,
           stats.allocated_bytes.current, stats.active_bytes.current, stats.reserved_bytes.current,
           stats.inactive_split_bytes.current, stats.allocated_bytes.peak);
}

int main(int argc, char **argv)
{
    static const char *const phases[PHASES] = {"forward", "backward", "optimizer"};
    struct tidemark_allocator_desc desc = {.size = sizeof desc,
                                           .device_kind = TIDEMARK_DEVICE_VIRTUAL,
                                           .config = argc > 1 ? argv[1] : NULL,
                                           .limit = UINT64_C(400) << 20};
    if (tidemark_allocator_new(&allocator, &desc) != TIDEMARK_OK)
        return EXIT_FAILURE;
    for (unsigned step = 0; step < STEPS; step++) {
        tidemark_step_begin(step);
        for (unsigned i = 0; i < PHASES; i++) {
            tidemark_phase_begin(phases[i]);
            for (unsigned call = 0; call < CALLS; call++)
                one_call();
            if (step % 3 == 2 && i == 1)
                tidemark_allocator_empty_cache(allocator);
            tidemark_phase_end(phases[i]);
            print_counters(step, phases[i]);
        }
    }
    tidemark_step_end();
    tidemark_allocator_delete(allocator);
    return EXIT_SUCCESS;
}
