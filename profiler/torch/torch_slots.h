/*
 * torch_slots.h - the slots of the loaded libraries: where a library calls a function by its name,
 * its own or another's, it goes by an address in a table that the loader filled in. Of C++'s names
 * in namespaces, as libc10's are.
 */
#ifndef TIDEMARK_PROFILER_TORCH_SLOTS_H
#define TIDEMARK_PROFILER_TORCH_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct torch_slot {
    uintptr_t at;
    const char *name;
    bool protected; /* by the loader, after relocation */
};

typedef void (*torch_slot_fn)(void *self, const struct torch_slot *slot);

/* Those of the library that has the address in it; 0: of all but ours. */
void torch_slots_each(uintptr_t around, torch_slot_fn see, void *self);

#endif
