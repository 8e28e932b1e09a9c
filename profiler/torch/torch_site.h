/*
 * torch_site.h - the call stack of a block of torch as a site number.
 *
 *     thread                            site, innermost frame first
 *     with Python frames                these
 *     of the autograd engine            its Python frames, if any; "autograd"; then the stack of
 *                                       the open backward call that another thread made last
 *     any other without Python frames   "[thread NAME]"
 *     stacks cannot be read             none
 *
 * Of a stack that is too long the innermost frames are kept, of each thread in it and of all.
 *
 * The Python helper says when a backward call begins and ends, in the thread that makes it; there
 * its stack is interned. Calls nest, and threads make them beside each other.
 */
#ifndef TIDEMARK_PROFILER_TORCH_SITE_H
#define TIDEMARK_PROFILER_TORCH_SITE_H

#include <stdbool.h>
#include <stdint.h>

#define TORCH_CALLERS 64u /* threads with open backward calls; of more nothing is known */
#define TORCH_NESTED 64u  /* calls of one thread; inside the last of them it stays that one */

/* From any thread, also under an allocator's mutex: takes no lock but that of the arena for a stack
 * that is new. Only while guest_live(). */
uint32_t torch_site(void);
/* The same, with the number of the module that the block belongs to; 0 = of none, or not known. */
uint32_t torch_site_and_module(uint32_t *module);

/* The calling thread begins a backward call, and ends its innermost one. Only while guest_live().
 */
void torch_backward_begin(void);
void torch_backward_end(void);
/* In a forked child: nothing is open. */
void torch_backward_forget(void);

/* For tests, while no other thread begins or ends one. */
bool torch_site_is_valid(void);

#endif
