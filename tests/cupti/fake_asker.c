/* fake_asker.c - a library that asks the driver for memory. */
#include <stddef.h>
#include <stdint.h>

void fake_ask(int (*allocate)(uint64_t *address, size_t bytes), uint64_t *address);

void fake_ask(int (*allocate)(uint64_t *address, size_t bytes), uint64_t *address)
{
    *address = 0;
    if (allocate(address, 12345) != 0)
        *address = 1; /* behind the call, so that this frame stays */
}
