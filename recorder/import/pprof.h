/*
 * pprof.h - profiles of live memory (pprof's protobuf), as JAX's save_device_memory_profile writes
 * them, into a log: blocks that are live at one moment, by call stack and device.
 *
 * A sample is of a call stack, with how many blocks it has and their bytes. Of JAX's all blocks of
 * a sample are equally large, and become so many blocks. Where bytes do not divide by the count, or
 * there are too many, one block stands for the sample, and is counted. Addresses are not in a
 * profile: blocks are put one behind the other, so that none meets another.
 *
 * Messages may stand in any order, and name each other by numbers: the bytes are held while they
 * are read. Nothing in them is trusted.
 */
#ifndef TIDEMARK_IMPORT_PPROF_H
#define TIDEMARK_IMPORT_PPROF_H

#include "block_log.h"
#include "pickle_input.h"

struct pprof_facts {
    int64_t taken_ns; /* since 1970; 0 = not known */
    bool jax;         /* it has the labels that JAX writes */
};

/* A base_err, with result->message. */
int pprof_read(struct pickle_input *input, struct block_log *log, struct pprof_facts *facts,
               struct import_result *result);

#endif
