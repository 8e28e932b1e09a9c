/*
 * cupti_unload.c - the end of a process that libtidemark.so was preloaded into. In the shared
 * library only: nothing names what is in here, so programs that link the sources leave it out.
 */
#include "cupti_life.h"

__attribute__((destructor)) static void say_last(void)
{
    cupti_say_why_not();
}
