/* runtime_stub.c - the runtime and the driver: what only has to succeed. */
#include "stub.h"

#include "driver.def"
#include "runtime.def"
