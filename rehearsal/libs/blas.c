/* blas.c - cuBLAS and cuBLASLt: handles, versions, and a choice of algorithm that always exists. No
 * product is computed. Their workspaces are PyTorch's to allocate, by rules of its own. */
#include "stub.h"

#define BLAS_VERSION 130000

API(int, cublasGetVersion_v2, void *handle, int *version)
{
    (void)handle;
    *version = BLAS_VERSION;
    return 0;
}

/* 0: major, 1: minor, 2: patch level. */
API(int, cublasGetProperty, int which, int *value)
{
    *value = which == 0 ? BLAS_VERSION / 10000 : 0;
    return 0;
}

API(int, cublasGetPointerMode_v2, void *handle, int *mode)
{
    (void)handle;
    *mode = 0; /* of the host */
    return 0;
}

API(int, cublasGetMathMode, void *handle, int *mode)
{
    (void)handle;
    *mode = 0;
    return 0;
}

API(size_t, cublasLtGetVersion, void)
{
    return BLAS_VERSION;
}

/* Of an algorithm nothing is known: all that can be asked is 0. */
API(int, cublasLtMatmulAlgoConfigGetAttribute, const void *algorithm, int which, void *value,
    size_t room, size_t *written)
{
    (void)algorithm, (void)which;
    if (value)
        memset(value, 0, room);
    if (written)
        *written = room;
    return 0;
}

/* The front of cublasLtMatmulHeuristicResult_t is the algorithm, 64 bytes; then how much workspace
 * it wants, whether it can be used, and how well it uses the device. */
struct choice {
    uint64_t algorithm[8];
    size_t workspace;
    int32_t status;
    float waves;
    int32_t reserved[4];
};

API(int, cublasLtMatmulAlgoGetHeuristic, void *handle, void *operation, void *a, void *b, void *c,
    void *d, void *preference, int wanted, struct choice *choices, int *count)
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
    if (wanted > 0)
        memset(choices, 0, sizeof *choices);
    *count = wanted > 0;
    return 0;
}
