/*
 * cupti_caller.h - which library asked for memory: the object of the first frame that is not
 * CUDA's, libc's or ours.
 *
 * For calls of the driver that give memory, which are rare beside what they cost. Locks: in a
 * callback the thread may hold locks of the driver's, and another thread may be in dlopen() and
 * wait for those in a constructor. So nothing here takes the lock that dlopen() holds all the time
 * (dladdr would). dl_iterate_phdr, and the unwinder through it, takes the one that guards the list
 * of objects for the length of a change; nobody waits for anything else while holding that.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_CALLER_H
#define TIDEMARK_PROFILER_CUPTI_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the unwinder (libgcc_s). Takes the loader's lock: not in a callback. */
void caller_start(void);

/* The number of the library's name, without folders, or of the program's; 0 = not known. Only while
 * guest_live(). */
uint32_t caller_library(void);

/* For tests: whose code stands at an address; NULL: of something that is passed over, or unknown.
 */
const char *caller_of(uintptr_t address);

#endif
