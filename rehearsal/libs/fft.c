/* fft.c - cuFFT: plans are numbers and not handles as stub.h has them, and need no workspace that
 * we know of. */
#include <stdatomic.h>

#include "stub.h"

static _Atomic int plans = 1;

API(int, cufftCreate, int *plan)
{
    *plan = atomic_fetch_add(&plans, 1);
    return 0;
}

API(int, cufftDestroy, int plan)
{
    (void)plan;
    return 0;
}

API(int, cufftXtMakePlanMany, int plan, int rank, void *sizes, void *in, long long in_stride,
    long long in_distance, int in_type, void *out, long long out_stride, long long out_distance,
    int out_type, long long batch, size_t *workspace, int execution)
{
    (void)plan, (void)rank, (void)sizes, (void)in, (void)in_stride, (void)in_distance;
    (void)in_type, (void)out, (void)out_stride, (void)out_distance, (void)out_type, (void)batch;
    (void)execution;
    read_library("cufftXtMakePlanMany");
    *workspace = 0;
    return 0;
}

#include "fft.def"
