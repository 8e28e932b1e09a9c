/*
 * A program that uses CUDA, as far as a driver of our own goes: prog_cuda LIBCUDA [HOW]. HOW is
 * "load" (never starts it), "silent" (starts it, and says nothing of itself), "ask LIBRARY" (which
 * asks for memory, too), "fork" (a child goes on with it), "none" (CUDA's runtime is there, and no
 * driver; LIBCUDA is that runtime), or nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_driver.h"
#include "tidemark.h"

#define DRIVER(library, name) (*(__typeof__(name) **)&(void *){dlsym(library, #name)})

static int work(void *library)
{
    uint64_t first = 0, second = 0, none = 0;
    tidemark_phase_begin("forward");
    int failed = DRIVER(library, cuMemAlloc_v2)(&first, 1 << 20);
    failed |= DRIVER(library, cuMemAlloc_v2)(&second, 4096);
    failed |= DRIVER(library, cuMemAlloc_v2)(&none, (size_t)1 << 40) == 0;
    failed |= DRIVER(library, cuMemFree_v2)(second);
    tidemark_phase_end("forward");
    return failed;
}

static int ask(void *library, const char *asker)
{
    typedef void (*ask_fn)(int (*allocate)(uint64_t *, size_t), uint64_t *address);
    void *other = dlopen(asker, RTLD_NOW | RTLD_LOCAL);
    void *address = other ? dlsym(other, "fake_ask") : NULL;
    ask_fn fake_ask;
    uint64_t given = 0;
    if (!address)
        return 1;
    memcpy(&fake_ask, &address, sizeof fake_ask);
    fake_ask(DRIVER(library, cuMemAlloc_v2), &given);
    return given <= 1;
}

static int in_child(void *library)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(work(library));
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *context = NULL;
    if (strcmp(how, "silent") != 0)
        tidemark_mark("begin", 1);
    if (!library || strcmp(how, "load") == 0 || strcmp(how, "none") == 0)
        return !library;
    int result = DRIVER(library, cuInit)(0);
    if (result) {
        printf("cuInit: %d\n", result);
        return 0;
    }
    DRIVER(library, cuCtxCreate_v2)(&context, 0, 0);
    int failed = work(library);
    if (strcmp(how, "ask") == 0 && argc > 3)
        failed |= ask(library, argv[3]);
    if (strcmp(how, "fork") == 0)
        failed |= in_child(library);
    if (strcmp(how, "fatal") == 0)
        DRIVER(library, fake_driver_fatal)();
    return failed;
}
