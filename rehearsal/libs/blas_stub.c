/* blas_stub.c - cuBLAS: the rest. */
#include "stub.h"

#include "blas.def"
