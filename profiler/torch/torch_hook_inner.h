/*
 * torch_hook_inner.h - what the two ways of a block share: by libc10's reports (torch_hook.c), and
 * without them (torch_cpu.c).
 */
#ifndef TIDEMARK_PROFILER_TORCH_HOOK_INNER_H
#define TIDEMARK_PROFILER_TORCH_HOOK_INNER_H

#include "arena.h"
#include "guest.h"
#include "here.h"
#include "torch_hook.h"
#include "torch_site.h"

/* exit() has begun: what goes from now on is not told. */
extern _Atomic bool torch_hook_leaving;

static inline bool torch_hook_is_recording(void)
{
    return guest.page && guest_live();
}

static inline uint32_t torch_hook_site(uint32_t *module)
{
    *module = 0;
    return here_stacks ? torch_site_and_module(module) : 0;
}

/* Whether what is done at the first reports is done; if not, this tries it. */
bool torch_hook_is_settled(void);
void torch_hook_settle(void);
/* The number of a heap; says that its source is live. Not of each block: who calls remembers it for
 * guest.generation. */
uint32_t torch_hook_heap(const struct arena_heap *heap);

#endif
