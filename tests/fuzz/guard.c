/* guard.c - memory that ends where a driver says. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

/* Pages of FUZZ_GUARD_BYTES, each with one behind it that cannot be touched. */
static char *end_of(unsigned place)
{
    static char *ends[FUZZ_GUARD_PLACES];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    MUST(place < FUZZ_GUARD_PLACES && page >= FUZZ_GUARD_BYTES);
    if (ends[place])
        return ends[place];
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    ends[place] = pages + page;
    return ends[place];
}

void *fuzz_guard(unsigned place, const void *bytes, size_t count)
{
    MUST(count <= FUZZ_GUARD_BYTES);
    char *at = end_of(place) - count;
    memcpy(at, bytes, count);
    return at;
}

const void *fuzz_guard_end(void)
{
    return end_of(0);
}
