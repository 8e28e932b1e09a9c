/* result_text.c - see result_text.h. Programs compare names and look for "out of memory". */
#include "result_text.h"

#include <stddef.h>

#include "cuda_abi.h"

static const struct row {
    int result;
    const char *runtime, *driver, *text;
} rows[] = {
    {CUDA_FINE, "cudaSuccess", "CUDA_SUCCESS", "no error"},
    {CUDA_INVALID_VALUE, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_NOT_INITIALIZED, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED",
     "initialization error"},
    {CUDA_INVALID_SYMBOL, "cudaErrorInvalidSymbol", "CUDA_ERROR_INVALID_VALUE",
     "invalid device symbol"},
    {CUDA_MISSING_CONFIGURATION, "cudaErrorMissingConfiguration", "CUDA_ERROR_INVALID_VALUE",
     "missing launch configuration"},
    {CUDA_NO_DEVICE, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA device"},
    {CUDA_INVALID_DEVICE, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",
     "invalid device ordinal"},
    {CUDA_INVALID_CONTEXT, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT",
     "invalid device context"},
    {CUDA_NOT_FOUND, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "not found"},
    {CUDA_NOT_READY, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_PEER_IS_ENABLED, "cudaErrorPeerAccessAlreadyEnabled",
     "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is enabled already"},
    {CUDA_ALREADY_REGISTERED, "cudaErrorHostMemoryAlreadyRegistered",
     "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "memory is registered already"},
    {CUDA_NOT_REGISTERED, "cudaErrorHostMemoryNotRegistered",
     "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "memory is not registered"},
    {CUDA_NOT_SUPPORTED, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "not supported"},
    {CUDA_CAPTURE_INVALIDATED, "cudaErrorStreamCaptureInvalidated",
     "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was invalidated"},
    {CUDA_CAPTURE_UNMATCHED, "cudaErrorStreamCaptureUnmatched",
     "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture did not begin in this stream"},
};

static const struct row *find(int result)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].result == result)
            return &rows[i];
    return NULL;
}

const char *result_name(int result, bool of_runtime)
{
    const struct row *row = find(result);
    if (!row)
        return of_runtime ? "cudaErrorUnknown" : "CUDA_ERROR_UNKNOWN";
    return of_runtime ? row->runtime : row->driver;
}

const char *result_text(int result)
{
    const struct row *row = find(result);
    return row ? row->text : "unknown error";
}
