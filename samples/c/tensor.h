/*
 * tensor.h - a block with a count of its holders: what PyTorch calls a storage. Everybody who needs
 * it holds it (a variable of the program, an operation that saved it for backward, a parameter),
 * and its block is freed with the last holder, at that very moment, as in PyTorch. So the time of a
 * free is never written down anywhere in this sample: it follows from who holds what.
 */
#ifndef SEQ2SEQ_TENSOR_H
#define SEQ2SEQ_TENSOR_H

#include "heap.h"

struct tensor {
    struct heap *heap;
    struct block *block;
    uint64_t holders; /* > 0 */
};

/* A tensor with one holder, the caller. Its site is the line that calls. */
#define tensor_new(heap, bytes) tensor_new_at((heap), (bytes), TIDEMARK_SITE())
struct tensor *tensor_new_at(struct heap *heap, uint64_t bytes, tidemark_site_t site);
struct tensor *tensor_hold(struct tensor *tensor);
/* NULL is allowed and ignored. */
void tensor_drop(struct tensor *tensor);

/* What was asked for, before rounding. */
uint64_t tensor_bytes(const struct tensor *tensor);
void tensor_tag(const struct tensor *tensor, enum tidemark_category category, const char *name);

#endif
