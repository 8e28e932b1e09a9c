/*
 * nccl_reduce.h - what a reduction makes of all ranks' elements: whole numbers as they wrap, floats
 * where each sum on the way is exact, for in which order a GPU adds is not known.
 */
#ifndef TIDEMARK_REHEARSAL_NCCL_REDUCE_H
#define TIDEMARK_REHEARSAL_NCCL_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

struct reduction {
    size_t count;        /* elements */
    int type, operation; /* ncclDataType_t, ncclRedOp_t */
    int ranks;
};

/* Bytes of an element. */
size_t reduction_width(int type);
/* `parts`: one of each rank, behind each other. False: what it makes is not known. */
bool reduction_run(const struct reduction *reduction, const char *parts, char *result);

#endif
