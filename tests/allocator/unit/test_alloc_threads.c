/*
 * Several threads on one allocator: no block is handed out twice, sums come out right, and the
 * thread sanitizer has nothing to say.
 */
#include <pthread.h>
#include <string.h>

#include "bed.h"

enum { THREADS = 4, STEPS = 3000, LIVE = 64 };

static struct bed bed;
static unsigned char owner[1 << 20]; /* of each 512 bytes; written by who has the block */

struct worker {
    pthread_t thread;
    uint64_t seed, number;
    uint64_t address[LIVE], size[LIVE];
    size_t live;
    bool wrong;
};

/* Whoever has a block writes to it, as a program would: a second owner is a race, or is seen. */
static void mark(struct worker *worker, uint64_t address, uint64_t size, unsigned char was,
                 unsigned char now)
{
    for (uint64_t at = (address - BED_BASE) / 512; at < (address - BED_BASE + size) / 512; at++) {
        if (at >= sizeof owner)
            break;
        worker->wrong |= owner[at] != was;
        owner[at] = now;
    }
}

static void take(struct worker *worker)
{
    uint64_t address, bytes = 1 + test_random(&worker->seed) % (20 * KIB);
    if (worker->live == LIVE)
        return;
    if (alloc_malloc(bed.alloc, bytes, test_random(&worker->seed) % 2, &address, NULL) != BASE_OK) {
        worker->wrong = true;
        return;
    }
    uint64_t size = alloc_block_size(bed.alloc, address);
    worker->wrong |= size < bytes;
    mark(worker, address, size, 0, (unsigned char)worker->number);
    worker->size[worker->live] = size;
    worker->address[worker->live++] = address;
}

static void give(struct worker *worker, size_t at)
{
    mark(worker, worker->address[at], worker->size[at], (unsigned char)worker->number, 0);
    worker->wrong |= alloc_give(bed.alloc, worker->address[at]) != BASE_OK;
    worker->live--;
    worker->address[at] = worker->address[worker->live];
    worker->size[at] = worker->size[worker->live];
}

static void *work(void *self)
{
    struct worker *worker = self;
    struct alloc_stats stats;
    for (int i = 0; i < STEPS; i++) {
        uint64_t r = test_random(&worker->seed) % 100;
        size_t at = worker->live ? test_random(&worker->seed) % worker->live : 0;
        if (r < 50)
            take(worker);
        else if (r < 90 && worker->live)
            give(worker, at);
        else if (r < 95 && worker->live)
            worker->wrong |= alloc_record_stream(bed.alloc, worker->address[at], r) != BASE_OK;
        else if (r == 95)
            worker->wrong |= alloc_empty_cache(bed.alloc) != BASE_OK;
        else if (r == 96)
            alloc_reset_peaks(bed.alloc);
        else
            alloc_stats(bed.alloc, &stats);
        if (i % 500 == 0)
            worker->wrong |= !alloc_is_valid(bed.alloc);
    }
    while (worker->live)
        give(worker, 0);
    return NULL;
}

TEST(threads_do_not_meet_in_a_block)
{
    static struct worker workers[THREADS];
    bed_begin(&bed, &(struct bed_options){0});
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i].seed = workers[i].number = i + 1;
        REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(!workers[i].wrong);
    }
    bed_empty(&bed);
    struct alloc_stats stats = bed_stats(&bed);
    CHECK_INT(stats.active_bytes[ALLOC_ALL].current, 0);
    CHECK_INT(stats.reserved_bytes[ALLOC_ALL].current, 0);
    CHECK_INT(stats.allocation[ALLOC_ALL].allocated, stats.allocation[ALLOC_ALL].freed);
    CHECK(stats.allocation[ALLOC_ALL].allocated > THREADS * STEPS / 4);
    bed_end(&bed);
}

TEST_MAIN(TEST_CASE(threads_do_not_meet_in_a_block))
