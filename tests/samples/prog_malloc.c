/*
 * prog_malloc - an allocator of the program's own that reports each block through the header, in a
 * program that nobody records: the header's first look must not come back to the allocator for
 * ever. Exit 0; 1 if it went too deep.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidemark.h"

static _Alignas(16) char memory[1 << 20];
static size_t used;
static int depth;

void *malloc(size_t bytes)
{
    if (++depth > 20)
        _exit(1);
    void *at = memory + used;
    used += (bytes + 15) & ~(size_t)15;
    tidemark_alloc_at(1, at, bytes, 0);
    depth--;
    return used <= sizeof memory ? at : NULL;
}

void free(void *block)
{
    tidemark_free(1, block);
}

int main(void)
{
    char *text = strdup("a block of this program's own");
    dlerror();
    tidemark_mark("one", (int64_t)strlen(text));
    if (dlerror())
        return 2; /* the header's look is not the program's error */
    free(text);
    return tidemark_recording();
}
