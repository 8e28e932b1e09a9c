/*
 * pages.h - memory of the guest's own. The program's allocators are the program's: what the guest
 * keeps stands in pages that it maps, which are zero, and munmap gives back.
 */
#ifndef TIDEMARK_GUEST_PAGES_H
#define TIDEMARK_GUEST_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL: there are none. */
static inline void *pages_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

#endif
