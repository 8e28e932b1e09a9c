/*
 * fake_driver.h - a libcuda.so.1 with two devices and no memory, for tests: what the driver would
 * refuse it refuses, and it counts what is asked of it. Calls that need a context are refused
 * without one.
 */
#ifndef TIDEMARK_TESTS_FAKE_DRIVER_H
#define TIDEMARK_TESTS_FAKE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_DEVICES = 2 };

struct fake_cuda {
    uint64_t total;              /* bytes of each device: set before use */
    uint64_t used[FAKE_DEVICES]; /* allocated and created */
    unsigned allocs, frees, maps, unmaps;
    unsigned events;      /* made and not destroyed */
    unsigned waits;       /* for events or streams */
    uint64_t last_stream; /* that an event was recorded on */
    unsigned depth;       /* of the contexts that are current */
    unsigned errors;      /* calls that contradict each other */
    bool busy;            /* events that were recorded are not reached */
};

/* The library has one of these; the test finds it by its name. */
extern struct fake_cuda fake_cuda;

#endif
