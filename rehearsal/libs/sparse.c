/* sparse.c - cuSPARSE. */
#include "stub.h"

#include "sparse.def"
