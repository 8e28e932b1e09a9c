/* cupti.c - CUPTI, beside what cupti/ has: its version, what its results mean, and the rest. */
#include <stddef.h>

#include "context.h"
#include "cuda_abi.h"
#include "current.h"
#include "stub.h"
#include "told_abi.h"

/* Of CUDA 13.0.1, and of 12.9.1: numbers that the versions of PyTorch came with or behind. */
enum { VERSION_13 = 130001, VERSION_12 = 28 };

API(int, cuptiGetVersion, uint32_t *version)
{
    if (!version)
        return TOLD_WRONG;
    *version = cuda_major() >= 13 ? VERSION_13 : VERSION_12;
    return TOLD_FINE;
}

static const struct {
    int result;
    const char *name;
} results[] = {
    {TOLD_FINE, "CUPTI_SUCCESS"},
    {TOLD_WRONG, "CUPTI_ERROR_INVALID_PARAMETER"},
    {TOLD_LIMIT, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
    {TOLD_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
    {TOLD_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
    {TOLD_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
    {TOLD_HELD, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
    {TOLD_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
};

API(int, cuptiGetResultString, int result, const char **text)
{
    for (size_t i = 0; text && i < sizeof results / sizeof *results; i++) {
        if (results[i].result != result)
            continue;
        *text = results[i].name;
        return TOLD_FINE;
    }
    return TOLD_WRONG;
}

API(int, cuptiGetDeviceId, const void *context, uint32_t *device)
{
    int32_t of = context ? context_device(context) : current_device();
    if (of < 0 || !device)
        return TOLD_WRONG;
    *device = (uint32_t)of;
    return TOLD_FINE;
}

/* Nothing is kept of what was pushed: no record could have it. */
API(int, cuptiActivityPopExternalCorrelationId, uint32_t kind, uint64_t *last)
{
    (void)kind;
    if (last)
        *last = 0;
    return TOLD_FINE;
}

#include "cupti.def"
