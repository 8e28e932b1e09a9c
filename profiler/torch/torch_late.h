/*
 * torch_late.h - libtidemark.so in the place of libc10's functions where it was not preloaded.
 *
 * A library that is loaded later comes behind libc10 in the order of symbols: who calls libc10's
 * reporters is bound to libc10's own. Each call that can be preloaded goes by a slot in the
 * caller's table of addresses (a relocation by name), and it is these slots that get our addresses.
 * A slot is one aligned word: threads that call meanwhile take the one or the other. What the
 * loader protected after relocating is writable for the moment of the store.
 *
 * The order is that of the tables: libc10's CPU reporter asks whether somebody profiles, keeps the
 * sizes of blocks from then on, and complains of one that goes and that it did not see come. So
 * before it is told that we do, its function for blocks that go is ours (torch_hook.c): if that one
 * has no slot, blocks of the CPU are not reported at all.
 *
 * Libraries that are loaded later still are bound to ours, if ours was loaded for all to see.
 */
#ifndef TIDEMARK_PROFILER_TORCH_LATE_H
#define TIDEMARK_PROFILER_TORCH_LATE_H

#include <stdbool.h>

typedef void (*torch_late_function)(void);

struct torch_late {
    const char *name;
    torch_late_function ours;
};

#define TORCH_HOOK_LATE 6 /* the first is for blocks that go, the last tells that we profile */
#define TORCH_NODE_LATE 2
extern const struct torch_late torch_hook_late[TORCH_HOOK_LATE];
extern const struct torch_late torch_node_late[TORCH_NODE_LATE];

/* Takes the slots of all libraries that are loaded. False: libc10 is among them, and could not be
 * taken as a whole; a note says why. One thread; takes the loader's lock. */
bool torch_late_bind(void);

#endif
