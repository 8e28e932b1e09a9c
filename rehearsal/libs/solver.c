/* solver.c - cuSOLVER: factorisations that nobody computes, with workspaces of 0 bytes. */
#include "stub.h"

#include "solver.def"
