/*
 * nccl_collect.c - NCCL's collectives between ranks that all do the same: what this one brings, all
 * bring. So what is known of a rank's own values (values.h) is known of the result: numbers of
 * parameters, shapes and settings that ranks compare come out equal. Nobody is waited for. What
 * comes from one other rank alone, by ncclRecv, is not known.
 */
#include "nccl.h"
#include "stream.h"
#include "stub.h"
#include "values.h"

/* What is larger is no setting, and not looked at. */
#define BYTES_MAX ((size_t)1 << 16)

/* ncclDataType_t */
enum type { INT32 = 2, INT64 = 4, FLOAT32 = 7, FLOAT64 = 8 };
/* ncclRedOp_t; what is not here leaves equal values as they are */
enum operation { SUM = 0, PRODUCT = 1 };

/* Puts a collective into a stream. True: it is captured, so not to be done now. */
static bool put(const struct communicator *communicator, void *stream)
{
    bool captured = stream_put(stream);
    if (!captured && communicator->meeting)
        meeting_put(communicator->meeting, &stream_of(stream)->works);
    return captured;
}

static size_t width_of(int type)
{
    static const unsigned char widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && (size_t)type < sizeof widths ? widths[type] : 1;
}

static void *offset(const void *at, size_t bytes)
{
    return (void *)((uintptr_t)at + bytes);
}

/* The values of the rank's own part; false, and zeros: they are not known. */
static bool own(const void *at, char *values, size_t bytes)
{
    return bytes <= BYTES_MAX && values_get((uint64_t)(uintptr_t)at, values, bytes);
}

/* NULL: not known from now on. */
static void bring(void *at, const void *values, size_t bytes)
{
    uint64_t to = (uint64_t)(uintptr_t)at;
    if (values)
        values_put(to, values, bytes);
    else
        values_forget(to, bytes);
}

/* ---- equal values of all ranks, reduced ---- */

#define REDUCE(type)                                                                               \
    do {                                                                                           \
        type value, result;                                                                        \
        memcpy(&value, at, sizeof value);                                                          \
        result = value;                                                                            \
        for (int rank = 1; rank < ranks; rank++)                                                   \
            result = (type)(operation == SUM ? result + value : result * value);                   \
        memcpy(at, &result, sizeof result);                                                        \
    } while (0)

static bool reduce(char *values, size_t count, int type, int operation, int ranks)
{
    if (operation != SUM && operation != PRODUCT)
        return true;
    for (size_t i = 0; i < count; i++) {
        char *at = values + i * width_of(type);
        if (type == INT32)
            REDUCE(uint32_t);
        else if (type == INT64)
            REDUCE(uint64_t);
        else if (type == FLOAT32)
            REDUCE(float);
        else if (type == FLOAT64)
            REDUCE(double);
        else
            return false;
    }
    return true;
}

static int reduced(const void *from, void *to, size_t count, int type, int operation,
                   const struct communicator *communicator, void *stream)
{
    char values[BYTES_MAX];
    size_t bytes = count * width_of(type);
    if (put(communicator, stream))
        return NCCL_FINE;
    bool told =
        own(from, values, bytes) && reduce(values, count, type, operation, communicator->size);
    bring(to, told ? values : NULL, bytes);
    return NCCL_FINE;
}

API(int, ncclAllReduce, const void *from, void *to, size_t count, int type, int operation,
    const struct communicator *communicator, void *stream)
{
    return reduced(from, to, count, type, operation, communicator, stream);
}

API(int, ncclReduce, const void *from, void *to, size_t count, int type, int operation, int root,
    const struct communicator *communicator, void *stream)
{
    if (communicator->rank == root)
        return reduced(from, to, count, type, operation, communicator, stream);
    (void)put(communicator, stream);
    return NCCL_FINE;
}

API(int, ncclReduceScatter, const void *from, void *to, size_t count, int type, int operation,
    const struct communicator *communicator, void *stream)
{
    size_t part = count * width_of(type) * (size_t)communicator->rank;
    return reduced(offset(from, part), to, count, type, operation, communicator, stream);
}

/* ---- values that are passed on ---- */

/* `parts` times what is there, one behind the other. */
static int repeated(const void *from, void *to, size_t bytes, int parts,
                    const struct communicator *communicator, void *stream)
{
    char values[BYTES_MAX];
    if (put(communicator, stream))
        return NCCL_FINE;
    bool told = own(from, values, bytes);
    for (int i = 0; i < parts; i++)
        bring(offset(to, (size_t)i * bytes), told ? values : NULL, bytes);
    return NCCL_FINE;
}

API(int, ncclAllGather, const void *from, void *to, size_t count, int type,
    const struct communicator *communicator, void *stream)
{
    return repeated(from, to, count * width_of(type), communicator->size, communicator, stream);
}

API(int, ncclGather, const void *from, void *to, size_t count, int type, int root,
    const struct communicator *communicator, void *stream)
{
    int parts = communicator->rank == root ? communicator->size : 0;
    return repeated(from, to, count * width_of(type), parts, communicator, stream);
}

/* The root has all of it; another rank only what is its own, which is what it would bring. */
API(int, ncclScatter, const void *from, void *to, size_t count, int type, int root,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * width_of(type);
    if (communicator->rank == root)
        return repeated(offset(from, bytes * (size_t)root), to, bytes, 1, communicator, stream);
    if (!put(communicator, stream))
        bring(to, NULL, bytes);
    return NCCL_FINE;
}

/* Each rank's part for this one is what this one has for itself. */
API(int, ncclAlltoAll, const void *from, void *to, size_t count, int type,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * width_of(type);
    const void *own_part = offset(from, bytes * (size_t)communicator->rank);
    return repeated(own_part, to, bytes, communicator->size, communicator, stream);
}

/* A rank that is not the root brings its own buffer, where the values will be: what it had there
 * itself is what the root had. */
API(int, ncclBroadcast, const void *from, void *to, size_t count, int type, int root,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * width_of(type);
    if (communicator->rank == root)
        return repeated(from, to, bytes, 1, communicator, stream);
    (void)put(communicator, stream);
    return NCCL_FINE;
}

API(int, ncclBcast, void *at, size_t count, int type, int root,
    const struct communicator *communicator, void *stream)
{
    return ncclBroadcast(at, at, count, type, root, communicator, stream);
}

API(int, ncclSend, const void *from, size_t count, int type, int peer,
    const struct communicator *communicator, void *stream)
{
    (void)from, (void)count, (void)type, (void)peer, (void)communicator;
    (void)stream_put(stream);
    return NCCL_FINE;
}

API(int, ncclRecv, void *to, size_t count, int type, int peer,
    const struct communicator *communicator, void *stream)
{
    (void)peer, (void)communicator;
    if (!stream_put(stream))
        bring(to, NULL, count * width_of(type));
    return NCCL_FINE;
}
