/* current.c - see current.h. */
#include "current.h"

#include "cuda_abi.h"
#include "error.h"
#include "machine.h"

static _Thread_local int32_t device;
static _Thread_local int last;

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
