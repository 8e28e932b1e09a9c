/*
 * state_totals.h - the sums of a run. Apart from state.h, because the summary, which commands see,
 * holds them, and commands do not see the ring's headers, which state.h needs.
 */
#ifndef TIDEMARK_RECORDER_STATE_TOTALS_H
#define TIDEMARK_RECORDER_STATE_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

struct state_totals {
    uint64_t events, allocs, frees, living, lost, torn, anomalies;
    uint64_t allocated;      /* now, all processes and devices */
    uint64_t peak_allocated; /* the highest of one process on one device */
    int64_t peak_process;
    int64_t peak_rank;   /* of torch.distributed; BATCH_NULL */
    int64_t peak_device; /* device.id */
    int64_t peak_seq;
    int64_t peak_step; /* BATCH_NULL */
    char peak_phase[64];
    bool unseen; /* a process's CUDA allocator reports no block: backend:cudaMallocAsync */
    char peak_device_name[32]; /* "cpu", "cuda:0" */
    uint64_t peak_given;       /* by CUDA's driver, the highest of one process on one device */
    char given_device_name[32];
    uint64_t steps;  /* ended, of the process that is furthest behind of those that count them */
    bool has_source; /* a source was live in some process: tidemark.h, PyTorch, ... */
};

#endif
