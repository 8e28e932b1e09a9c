/* fake_nvrtc.c - an NVRTC that takes any text for good; its code is known to fake_cuda.c. */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
static const char code_is[] = "code of the fake NVRTC";

EXPORT int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers,
                              const char *const *header, const char *const *header_name);
EXPORT int nvrtcCompileProgram(void *program, int count, const char *const *option);
EXPORT int nvrtcGetProgramLogSize(void *program, size_t *bytes);
EXPORT int nvrtcGetProgramLog(void *program, char *text);
EXPORT int nvrtcGetCUBINSize(void *program, size_t *bytes);
EXPORT int nvrtcGetCUBIN(void *program, char *bytes);
EXPORT int nvrtcDestroyProgram(void **program);

int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers,
                       const char *const *header, const char *const *header_name)
{
    (void)name, (void)header, (void)header_name;
    *program = (void *)&code_is;
    return headers || !strstr(text, "KERNEL adam(");
}

int nvrtcCompileProgram(void *program, int count, const char *const *option)
{
    (void)program;
    return count != 1 || strcmp(option[0], "--gpu-architecture=sm_90") != 0;
}

int nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = 1;
    return 0;
}

int nvrtcGetProgramLog(void *program, char *text)
{
    (void)program;
    *text = '\0';
    return 0;
}

int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof code_is;
    return 0;
}

int nvrtcGetCUBIN(void *program, char *bytes)
{
    (void)program;
    memcpy(bytes, code_is, sizeof code_is);
    return 0;
}

int nvrtcDestroyProgram(void **program)
{
    *program = NULL;
    return 0;
}
