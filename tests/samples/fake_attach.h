/*
 * fake_attach.h - stands in for the recorder: exports tidemark_attach, keeps its own map of living
 * blocks, and counts. Linked into a test (with its symbols exported) or preloaded into a program.
 * Preloaded, it writes to the file named by FAKE_ATTACH_FILE: for each phase that ends a row
 * step,phase,allocated,max_allocated,reserved,max_reserved, and at the end of the program
 * "end" with the living blocks, the living segments and the errors.
 */
#ifndef TIDEMARK_TESTS_SAMPLES_FAKE_ATTACH_H
#define TIDEMARK_TESTS_SAMPLES_FAKE_ATTACH_H

#include "tidemark.h"

struct fake_counts {
    unsigned attached; /* the header looks once for each program */
    unsigned heaps, sites, allocs, frees, segment_allocs, segment_frees;
    unsigned phase_begins, phase_ends, step_begins, step_ends, marks, tags, ooms;
    unsigned waits, idles, maps, unmaps, settings, python_sites;
    unsigned errors; /* calls that contradict each other */
    uint64_t allocated, max_allocated, requested, reserved, max_reserved;
    uint32_t version;
    struct tidemark_block block; /* what the last call said */
    struct tidemark_heap_desc heap;
    char text[64], setting[128];
    tidemark_heap_t setting_heap;
    uint64_t number;
    int64_t value;
    int category;
};

extern struct fake_counts fake_counts;

#endif
