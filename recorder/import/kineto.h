/*
 * kineto.h - traces of torch.profiler (Kineto's Chrome JSON) with profile_memory=True, into
 * records.
 *
 * [memory] events are blocks, [OutOfMemory] refusals. Ranges of the CPU (operators, annotations,
 * with with_stack=True Python's functions) are what a block's call stack is made of; annotations
 * are phases, steps and marks of optimizers, too.
 */
#ifndef TIDEMARK_IMPORT_KINETO_H
#define TIDEMARK_IMPORT_KINETO_H

#include "block_log.h"
#include "pickle_input.h"

struct kineto_facts {
    int64_t base_ns; /* of time 0, since 1970; 0 = not known */
    int64_t pid;     /* of the first block; 0 = not known */
    uint64_t memory; /* [memory] events */
};

/* A base_err, with result->message. */
int kineto_read(struct pickle_input *input, struct block_log *log, struct kineto_facts *facts,
                struct import_result *result);

#endif
