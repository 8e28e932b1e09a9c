/* alive.h - whether a process is still there. One that has ended and that nobody has asked for its
 * status yet is not, nor is another one that has its number since. */
#ifndef TIDEMARK_REHEARSAL_ALIVE_H
#define TIDEMARK_REHEARSAL_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/* When it began, in the kernel's units; 0: not known. */
uint64_t alive_since(int32_t pid);
bool is_alive(int32_t pid, uint64_t since);

#endif
