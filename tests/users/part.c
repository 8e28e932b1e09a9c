/*
 * part.c - a shared library that reports for itself: linked, and opened while the program runs. The
 * same source makes both, PART is the name. It finds the recorder by itself: its client is hidden.
 */
#include "moments.h"

void moments_of_part(long value);

static char kept; /* a block that lives as long as the library is loaded */

__attribute__((constructor)) static void load(void)
{
    moment(PART " constructor", 1);
    tidemark_alloc(tidemark_heap_open(TIDEMARK_DEVICE_OTHER, 0, PART), &kept, 4096);
}

__attribute__((destructor)) static void unload(void)
{
    tidemark_free(tidemark_heap_open(TIDEMARK_DEVICE_OTHER, 0, PART), &kept);
    moment(PART " destructor", 2);
}

__attribute__((visibility("default"))) void moments_of_part(long value)
{
    moment(PART, value);
}
