/*
 * One rank of a made-up training on a made-up device:  rank FILE STEPS
 *
 * FILE is memory that all ranks share, 64 bytes of zeros, for their barrier; RANK and WORLD_SIZE
 * are in the environment, as a launcher puts them there. Rank 5 holds more activations than the
 * others from step 3 on, and rank 2 has less of everything.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tidemark.h"

enum { KEPT = 6, MOST = 64 };

struct shared {
    _Atomic unsigned arrived;
};

static struct shared *shared;
static unsigned ranks, rank, rounds;

static void pause_ns(long ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}

/* All leave it when the last one has come. */
static void meet(void)
{
    unsigned all = ++rounds * ranks;
    tidemark_phase_begin("all_reduce");
    atomic_fetch_add(&shared->arrived, 1);
    while (atomic_load(&shared->arrived) < all)
        pause_ns(20000);
    tidemark_phase_end("all_reduce");
}

static uint64_t scaled(uint64_t bytes)
{
    return rank == 2 ? bytes / 2 : bytes;
}

static unsigned activations(unsigned step)
{
    return 4 + (rank == 5 && step >= 3 ? 3 : 0);
}

static void *address(unsigned number)
{
    return (void *)(uintptr_t)(0x10000000u + number * 0x100000u);
}

static void run_step(tidemark_heap_t heap, unsigned step)
{
    unsigned count = activations(step);
    tidemark_step_begin(step);
    tidemark_phase_begin("forward");
    for (unsigned i = 0; i < count; i++) {
        tidemark_alloc(heap, address(KEPT + i), scaled(65536 + 4096 * i));
        tidemark_tag(heap, address(KEPT + i), scaled(65536 + 4096 * i), TIDEMARK_ACTIVATION,
                     "hidden");
    }
    tidemark_phase_end("forward");
    tidemark_phase_begin("backward");
    tidemark_alloc(heap, address(MOST), scaled(131072));
    for (unsigned i = count; i > 0; i--)
        tidemark_free(heap, address(KEPT + i - 1));
    meet();
    tidemark_free(heap, address(MOST));
    tidemark_phase_end("backward");
    tidemark_step_end();
    pause_ns(100000 + 50000 * rank);
}

int main(int argc, char **argv)
{
    int file = argc == 3 ? open(argv[1], O_RDWR) : -1;
    const char *number = getenv("RANK"), *world = getenv("WORLD_SIZE");
    if (file < 0 || !number || !world)
        return 99;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED)
        return 99;
    rank = (unsigned)atoi(number);
    ranks = (unsigned)atoi(world);
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "made up");
    for (unsigned i = 0; i < KEPT; i++) {
        tidemark_alloc(heap, address(i), scaled(262144));
        tidemark_tag(heap, address(i), scaled(262144), TIDEMARK_PARAMETER, "layer.weight");
    }
    for (unsigned step = 0; step < (unsigned)atoi(argv[2]); step++)
        run_step(heap, step);
    for (unsigned i = 0; i < KEPT; i++)
        tidemark_free(heap, address(i));
    return 0;
}
