/* kernels.c - see kernels.h. NVRTC's interface is declared here by hand: no header of it is needed.
 */
#include "kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const kernel_names[KERNEL_COUNT] = {
    [KERNEL_GATHER] = "gather",     [KERNEL_SCATTER_ADD] = "scatter_add",
    [KERNEL_ADD_BIAS] = "add_bias", [KERNEL_PICK_LOSS] = "pick_loss",
    [KERNEL_ADAM] = "adam",         [KERNEL_PICK_GRADIENT] = "pick_gradient",
};

struct nvrtc {
    void *library;
    int (*create)(void **program, const char *text, const char *name, int headers,
                  const char *const *header, const char *const *header_name);
    int (*compile)(void *program, int options, const char *const *option);
    int (*log_size)(void *program, size_t *bytes);
    int (*log)(void *program, char *text);
    int (*cubin_size)(void *program, size_t *bytes);
    int (*cubin)(void *program, char *bytes);
    int (*destroy)(void **program);
};

static bool open_nvrtc(struct nvrtc *nvrtc)
{
    static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"nvrtcCreateProgram", &nvrtc->create},       {"nvrtcCompileProgram", &nvrtc->compile},
        {"nvrtcGetProgramLogSize", &nvrtc->log_size}, {"nvrtcGetProgramLog", &nvrtc->log},
        {"nvrtcGetCUBINSize", &nvrtc->cubin_size},    {"nvrtcGetCUBIN", &nvrtc->cubin},
        {"nvrtcDestroyProgram", &nvrtc->destroy}};
    for (size_t i = 0; !nvrtc->library && i < sizeof files / sizeof *files; i++)
        nvrtc->library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (!nvrtc->library)
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(nvrtc->library, functions[i].name);
        if (!symbol)
            return false;
        memcpy(functions[i].function, &symbol, sizeof symbol);
    }
    return true;
}

/* The first line of what the compiler says. */
static void explain(const struct nvrtc *nvrtc, void *program, char *why, size_t why_size)
{
    size_t bytes = 0;
    char *text = NULL;
    if (nvrtc->log_size(program, &bytes) == 0 && bytes > 0)
        text = calloc(1, bytes + 1);
    if (text && nvrtc->log(program, text) == 0)
        snprintf(why, why_size, "NVRTC: %s", text);
    else
        snprintf(why, why_size, "NVRTC does not compile the kernels");
    free(text);
}

static void *take_cubin(const struct nvrtc *nvrtc, void *program, size_t *bytes)
{
    char *cubin = NULL;
    if (nvrtc->cubin_size(program, bytes) == 0 && *bytes > 0)
        cubin = malloc(*bytes);
    if (cubin && nvrtc->cubin(program, cubin) == 0)
        return cubin;
    free(cubin);
    return NULL;
}

void *kernels_compile(int capability, size_t *bytes, char *why, size_t why_size)
{
    struct nvrtc nvrtc = {0};
    char target[32];
    void *program = NULL, *cubin = NULL;
    const char *options[] = {target};
    snprintf(target, sizeof target, "--gpu-architecture=sm_%d", capability);
    snprintf(why, why_size, "no NVRTC (libnvrtc.so.13 or .12) to compile the kernels");
    if (!open_nvrtc(&nvrtc))
        goto out;
    snprintf(why, why_size, "NVRTC gives no machine code");
    if (nvrtc.create(&program, kernels_text, "kernels.cu", 0, NULL, NULL) != 0)
        goto out;
    if (nvrtc.compile(program, 1, options) != 0)
        explain(&nvrtc, program, why, why_size);
    else
        cubin = take_cubin(&nvrtc, program, bytes);
    nvrtc.destroy(&program);
out:
    if (nvrtc.library)
        dlclose(nvrtc.library);
    return cubin;
}
