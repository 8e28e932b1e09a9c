/*
 * kernel_shape.h - what else stands in the names of kernels that bring, count and sort elements:
 * the letters of their types, sizes of elements, and numbers of their templates.
 */
#ifndef TIDEMARK_REHEARSAL_KERNEL_SHAPE_H
#define TIDEMARK_REHEARSAL_KERNEL_SHAPE_H

#include "kernel_name.h"

/* Of a kernel whose walk is known. What its name does not say stays 0. */
void kernel_shape_of_name(const char *name, struct kernel *kernel);

#endif
