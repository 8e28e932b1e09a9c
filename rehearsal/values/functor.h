/*
 * functor.h - what one element of an output is, of the elements of the inputs: the arithmetic of
 * kernel_name.h's forms and operations, on whole numbers as C has them on the device.
 */
#ifndef TIDEMARK_REHEARSAL_FUNCTOR_H
#define TIDEMARK_REHEARSAL_FUNCTOR_H

#include "kernel_name.h"

/* A kernel with the numbers that its functor holds. */
struct functor_call {
    const struct kernel *kernel;
    int64_t first, second;
    int32_t which; /* of comparisons, or of limits */
};

/* Reads the functor that a launch brings. False: this form is not known. */
bool functor_read(const struct kernel *kernel, const void *functor, struct functor_call *call);
/* `in`: as many as the kernel has inputs; of a range the index. */
int64_t functor_apply(const struct functor_call *call, const int64_t *in);

/* One element in memory. */
int64_t functor_load(char type, const void *at);
void functor_store(char type, void *at, int64_t value);

#endif
