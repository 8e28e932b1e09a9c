#include "library.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The first beginning that fits counts. */
static const struct {
    const char *begins, *name;
} known[] = {
    {"libnccl", "NCCL"},
    {"libcublas", "cuBLAS"},
    {"libcudnn", "cuDNN"},
    {"libcufft", "cuFFT"},
    {"libcusolver", "cuSOLVER"},
    {"libcusparse", "cuSPARSE"},
    {"libcurand", "cuRAND"},
    {"libcutensor", "cuTENSOR"},
    {"libnvinfer", "TensorRT"},
    {"libnvshmem", "NVSHMEM"},
    {"libnvjpeg", "nvJPEG"},
    {"libcudart", "the CUDA runtime"},
    {"libcuda.", "the CUDA driver"},
    {"libcupti", "CUPTI"},
    {"libtorch", "PyTorch"},
    {"libc10", "PyTorch"},
    {"libmagma", "MAGMA"},
    {"libtriton", "Triton"},
    {"libmpi", "MPI"},
    {"libucp", "UCX"},
    {"libucs", "UCX"},
    {"libuct", "UCX"},
    {"librmm", "RMM"},
    {"libtidemark_alloc", "Tidemark's allocator"},
    {"libtidemark.", "Tidemark"},
};

static int is_shared_object(const char *name)
{
    const char *at = strstr(name, ".so");
    return at && (at[3] == '\0' || at[3] == '.');
}

const char *library_name(const char *file, char out[LIBRARY_TEXT])
{
    const char *slash = file ? strrchr(file, '/') : NULL, *name = slash ? slash + 1 : file;
    if (!name || !*name)
        return "not known by whom";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i].begins, strlen(known[i].begins)) == 0)
            return known[i].name;
    if (!is_shared_object(name))
        return "the program";
    snprintf(out, LIBRARY_TEXT, "%.*s", LIBRARY_TEXT - 1, name);
    return out;
}
