/* fake_c10_cuda.c - built as libc10_cuda.so: streams. */
#include "fake_c10.h"

#define EXPORT __attribute__((visibility("default")))

static int64_t stream;

EXPORT struct c10_stream
current_stream(int8_t device) __asm__("_ZN3c104cuda20getCurrentCUDAStreamEa");

EXPORT void fake_stream(int64_t id)
{
    stream = id;
}

struct c10_stream current_stream(int8_t device)
{
    struct c10_stream result = {{C10_CUDA, device}, stream};
    return result;
}
