/* current.c - see current.h. */
#include "current.h"

#include "cuda_abi.h"
#include "error.h"
#include "machine.h"

#define DEPTH 64

static _Thread_local int32_t device;
static _Thread_local int last;
static _Thread_local struct {
    int32_t devices[DEPTH];
    int depth;
} below;

int32_t current_device(void)
{
    return device;
}

bool current_set_device(int32_t wanted)
{
    if (wanted < 0 || wanted >= machine_devices())
        return false;
    device = wanted;
    return true;
}

bool current_push(int32_t wanted)
{
    int32_t before = device;
    if (below.depth == DEPTH || !current_set_device(wanted))
        return false;
    below.devices[below.depth++] = before;
    return true;
}

bool current_pop(void)
{
    if (below.depth == 0)
        return false;
    device = below.devices[--below.depth];
    return true;
}

int current_result(int result)
{
    if (result != CUDA_FINE)
        last = result;
    return result;
}

int current_peek(void)
{
    return last;
}

int current_take(void)
{
    int result = last;
    last = CUDA_FINE;
    return result;
}

int cuda_from_err(int err)
{
    switch (err) {
    case BASE_OK:
        return CUDA_FINE;
    case ERR_NOMEM:
        return CUDA_OUT_OF_MEMORY;
    case ERR_NOTFOUND:
    case ERR_ARG:
    case ERR_BUSY:
        return CUDA_INVALID_VALUE;
    case ERR_EXISTS:
        return CUDA_ALREADY_REGISTERED;
    default:
        return CUDA_UNKNOWN;
    }
}
