/* argument.h - arguments of a launch, which lie where they like. */
#ifndef TIDEMARK_REHEARSAL_ARGUMENT_H
#define TIDEMARK_REHEARSAL_ARGUMENT_H

#include <stdint.h>
#include <string.h>

/* How long an argument is that is passed by value, nobody says: what lies behind it on the stack is
 * looked at, too. */
#define LOOKS_BEYOND __attribute__((noinline, no_sanitize("address", "undefined", "thread")))

static inline uint64_t argument_word(const void *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* An int; 0 if it is negative. */
static inline uint64_t argument_count(const void *at)
{
    int32_t count;
    memcpy(&count, at, sizeof count);
    return count > 0 ? (uint64_t)count : 0;
}

#endif
