/*
 * torch_node.h - the node of autograd that the calling thread evaluates, and whose it is.
 *
 * libtidemark.so stands in the place of two functions of libtorch_cpu, which calls them through its
 * table of imports (1.13 to 2.14): the one that numbers a node as it is made, and the one in which
 * the engine evaluates a node. Both go on to libtorch_cpu's own. A node has in it the number and
 * the thread that made it.
 */
#ifndef TIDEMARK_PROFILER_TORCH_NODE_H
#define TIDEMARK_PROFILER_TORCH_NODE_H

#include <stdint.h>

/* The module whose forward made the node that is being evaluated; 0 = none is, or not known. */
uint32_t torch_node_module(void);
/* The thread evaluates none. */
void torch_node_forget(void);

#endif
