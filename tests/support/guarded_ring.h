/*
 * guarded_ring.h - a ring between two stretches of memory that nobody may touch: whoever stores or
 * reads outside of the mapping dies of it.
 */
#ifndef TIDEMARK_TESTS_GUARDED_RING_H
#define TIDEMARK_TESTS_GUARDED_RING_H

#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"
#include "test.h"

#define GUARD_BYTES ((size_t)1 << 30)

static inline struct ring_shared *guarded_ring(unsigned bits, uint64_t arena)
{
    struct ring_shared *made = NULL;
    int fd = -1;
    REQUIRE(ring_create(&made, bits, arena, &fd) == 0);
    size_t bytes = ring_bytes(bits, arena);
    char *all = mmap(NULL, bytes + 2 * GUARD_BYTES, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(all != MAP_FAILED);
    void *ring =
        mmap(all + GUARD_BYTES, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    REQUIRE(ring == all + GUARD_BYTES);
    close(fd);
    return ring;
}

#endif
