/* occasion.c - see occasion.h. */
#include "occasion.h"

_Atomic(const struct occasion_listener *) occasion_listener;
_Atomic uint64_t occasion_due_ns = UINT64_MAX;
