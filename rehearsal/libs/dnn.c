/* dnn.c - cuDNN: handles, versions, and descriptors that remember what a size depends on. */
#include "dnn.h"

#include "current.h"
#include "device.h"
#include "stub.h"

#define DNN_VERSION 92400

int dnn_new(void **descriptor)
{
    *descriptor = calloc(1, sizeof(struct dnn_descriptor));
    return *descriptor ? DNN_FINE : DNN_NO_MEMORY;
}

size_t dnn_width(int32_t type)
{
    switch ((enum dnn_type)type) {
    case DNN_DOUBLE:
    case DNN_INT64:
        return 8;
    case DNN_HALF:
    case DNN_BFLOAT16:
        return 2;
    case DNN_INT8:
    case DNN_UINT8:
    case DNN_BOOLEAN:
    case DNN_FP8_E4M3:
    case DNN_FP8_E5M2:
        return 1;
    default:
        return 4;
    }
}

/* ---- versions and handles ---- */

API(size_t, cudnnGetVersion, void)
{
    return DNN_VERSION;
}

API(size_t, cudnnGetCudartVersion, void)
{
    int cudaRuntimeGetVersion(int *version);
    int version;
    cudaRuntimeGetVersion(&version);
    return (size_t)version;
}

API(int, cudnnGetProperty, int which, int *value)
{
    *value = which == 0   ? DNN_VERSION / 10000
             : which == 1 ? DNN_VERSION / 100 % 100
                          : DNN_VERSION % 100;
    return DNN_FINE;
}

API(const char *, cudnnGetErrorString, int result)
{
    return result == DNN_FINE ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_EXECUTION_FAILED";
}

API(void, cudnnGetLastErrorString, char *text, size_t room)
{
    if (room)
        *text = '\0';
}

API(int, cudnnSetStream, void **handle, void *stream)
{
    *handle = stream; /* the front of the handle */
    return DNN_FINE;
}

API(int, cudnnGetStream, void **handle, void **stream)
{
    *stream = *handle;
    return DNN_FINE;
}

/* ---- descriptors ---- */

#define DESCRIPTOR(kind)                                                                           \
    API(int, cudnnCreate##kind##Descriptor, void **descriptor)                                     \
    {                                                                                              \
        return dnn_new(descriptor);                                                                \
    }                                                                                              \
    API(int, cudnnDestroy##kind##Descriptor, void *descriptor)                                     \
    {                                                                                              \
        free(descriptor);                                                                          \
        return DNN_FINE;                                                                           \
    }
DESCRIPTOR(Activation)
DESCRIPTOR(Convolution)
DESCRIPTOR(CTCLoss)
DESCRIPTOR(Dropout)
DESCRIPTOR(Filter)
DESCRIPTOR(Pooling)
DESCRIPTOR(RNN)
DESCRIPTOR(RNNData)
DESCRIPTOR(SpatialTransformer)
DESCRIPTOR(Tensor)

API(int, cudnnSetTensorNdDescriptor, struct dnn_descriptor *descriptor, int type, int dims,
    const int *size, const int *stride)
{
    struct dnn_tensor *tensor = &descriptor->tensor;
    if (dims < 0 || dims > DNN_DIMS_MAX)
        return DNN_BAD_VALUE;
    tensor->type = type;
    tensor->dims = dims;
    memcpy(tensor->size, size, (size_t)dims * sizeof *size);
    memcpy(tensor->stride, stride, (size_t)dims * sizeof *stride);
    return DNN_FINE;
}

/* Packed; format 1 has the channels last. */
API(int, cudnnSetTensor4dDescriptor, struct dnn_descriptor *descriptor, int format, int type, int n,
    int c, int h, int w)
{
    const int size[] = {n, c, h, w};
    const int first[] = {c * h * w, h * w, w, 1}, last[] = {c * h * w, 1, w * c, c};
    return cudnnSetTensorNdDescriptor(descriptor, type, 4, size, format == 1 ? last : first);
}

API(int, cudnnGetTensorNdDescriptor, const struct dnn_descriptor *descriptor, int wanted, int *type,
    int *dims, int *size, int *stride)
{
    const struct dnn_tensor *tensor = &descriptor->tensor;
    *type = tensor->type;
    *dims = tensor->dims;
    for (int i = 0; i < tensor->dims && i < wanted; i++) {
        size[i] = tensor->size[i];
        stride[i] = tensor->stride[i];
    }
    return DNN_FINE;
}

API(int, cudnnSetFilterNdDescriptor, struct dnn_descriptor *descriptor, int type, int format,
    int dims, const int *size)
{
    int none[DNN_DIMS_MAX] = {0};
    (void)format;
    return cudnnSetTensorNdDescriptor(descriptor, type, dims, size, none);
}

API(int, cudnnGetFilterNdDescriptor, const struct dnn_descriptor *descriptor, int wanted, int *type,
    int *format, int *dims, int *size)
{
    int none[DNN_DIMS_MAX];
    *format = 0;
    return cudnnGetTensorNdDescriptor(descriptor, wanted < DNN_DIMS_MAX ? wanted : DNN_DIMS_MAX,
                                      type, dims, size, none);
}

/* ---- dropout ---- */

/* Of the random numbers' generators, as seen on an H200 (docs/gpu-profiles.md). */
#define STATES_OF_SM ((size_t)48 << 10)

API(int, cudnnDropoutGetStatesSize, void *handle, size_t *bytes)
{
    (void)handle;
    read_modelled("cudnnDropoutGetStatesSize");
    *bytes = STATES_OF_SM * (size_t)device_attribute(16, current_device());
    return DNN_FINE;
}

API(int, cudnnSetDropoutDescriptor, struct dnn_descriptor *descriptor, void *handle, float dropout,
    void *states, size_t bytes, unsigned long long seed)
{
    (void)handle, (void)states, (void)bytes, (void)seed;
    values_forget_reals();
    descriptor->dropout = dropout;
    return DNN_FINE;
}

API(int, cudnnRestoreDropoutDescriptor, struct dnn_descriptor *descriptor, void *handle,
    float dropout, void *states, size_t bytes, unsigned long long seed)
{
    return cudnnSetDropoutDescriptor(descriptor, handle, dropout, states, bytes, seed);
}

/* ---- the choice of an algorithm, where a program does not ask by graphs ---- */

/* cudnnConvolutionFwdAlgoPerf_t, and those of the two gradients. */
struct choice {
    int32_t algorithm, status;
    float time;
    size_t memory;
    int32_t deterministic, math, reserved[3];
};

/* There is always one: of each direction number 1 is what PyTorch takes by default. */
static int choose(int wanted, int *count, struct choice *choices)
{
    if (wanted > 0)
        *choices = (struct choice){.algorithm = 1, .deterministic = 1};
    *count = wanted > 0;
    return DNN_FINE;
}

#define CHOICE(direction)                                                                          \
    API(int, cudnnGetConvolution##direction##Algorithm_v7, void *handle, void *a, void *b,         \
        void *how, void *c, int wanted, int *count, struct choice *choices)                        \
    {                                                                                              \
        (void)handle, (void)a, (void)b, (void)how, (void)c;                                        \
        return choose(wanted, count, choices);                                                     \
    }                                                                                              \
    API(int, cudnnFindConvolution##direction##AlgorithmEx, void *handle, void *a, void *a_at,      \
        void *b, void *b_at, void *how, void *c, void *c_at, int wanted, int *count,               \
        struct choice *choices)                                                                    \
    {                                                                                              \
        (void)handle, (void)a, (void)a_at, (void)b, (void)b_at, (void)how, (void)c, (void)c_at;    \
        return choose(wanted, count, choices);                                                     \
    }
CHOICE(Forward)
CHOICE(BackwardData)
CHOICE(BackwardFilter)

#include "dnn.def"
