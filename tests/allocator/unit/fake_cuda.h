/*
 * fake_cuda.h - a library with the driver's symbols and no GPU behind it. It checks how it is
 * called, and counts what was made and not destroyed; the test asks it through fake_state.
 */
#ifndef TIDEMARK_TESTS_ALLOCATOR_FAKE_CUDA_H
#define TIDEMARK_TESTS_ALLOCATOR_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

struct fake_cuda {
    /* set by the test */
    uint64_t capacity;
    const char *fail_name; /* calls of this name fail ... */
    int fail_result;       /* ... with that, */
    int fail_after;        /* but the first so many do not */
    int not_ready;         /* that many event queries from now */
    /* told to the test */
    uint64_t taken;
    int contexts, depth, allocations, ranges, handles, mappings, events, recorded, stream_waits;
    int created_events;
    size_t last_page;
    void *last_stream;
    int mistakes; /* calls that no program should make */
};

struct fake_cuda *fake_state(void);

#endif
