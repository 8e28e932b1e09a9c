/* driver_event.c - the driver's events: those of the runtime by other names. */
#include "cuda_abi.h"
#include "stream.h"

API(int, cuEventCreate, void **event, unsigned flags)
{
    *event = event_new(flags);
    return *event ? CUDA_FINE : CUDA_OUT_OF_MEMORY;
}

API(int, cuEventDestroy_v2, void *event)
{
    if (event)
        event_delete(event);
    return CUDA_FINE;
}

API(int, cuEventRecord, void *event, void *stream)
{
    event_record(event, stream);
    return CUDA_FINE;
}

/* What was recorded is over: nothing takes time. */
API(int, cuEventQuery, void *event)
{
    (void)event;
    return CUDA_FINE;
}

API(int, cuEventSynchronize, void *event)
{
    (void)event;
    return CUDA_FINE;
}

API(int, cuEventElapsedTime, float *ms, void *begin, void *end)
{
    const struct event *from = begin, *to = end;
    if (!from->at_ns || !to->at_ns)
        return CUDA_INVALID_VALUE;
    *ms = (float)((double)(int64_t)(to->at_ns - from->at_ns) / 1e6);
    return CUDA_FINE;
}
