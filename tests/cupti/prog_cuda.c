/*
 * A program that uses CUDA, as far as a driver of our own goes: prog_cuda LIBCUDA [HOW]. HOW is
 * "load" (never starts it), "silent" (starts it, and says nothing of itself), "ask LIBRARY" (which
 * asks for memory, too), "fork" (a child goes on with it), "none" (CUDA's runtime is there, and no
 * driver; LIBCUDA is that runtime), "profile" (as if torch.profiler came twice, and kept CUPTI),
 * "profile-and-go" (it lets go), or nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cupti.h"
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

/* ---- torch.profiler ---- */

static void hear_nothing(void *own, int domain, uint32_t cbid, const void *data)
{
    (void)own, (void)domain, (void)cbid, (void)data;
}

static void pass_points(int count)
{
    for (int i = 0; i < count; i++) {
        tidemark_phase_begin("work");
        usleep(50000);
        tidemark_phase_end("work");
    }
}

/* 1 MiB goes and 2 MiB come while it runs, 4 MiB come behind it. */
static int profile(void *library, int lets_go)
{
    void (*profiler)(int begins) = NULL;
    void *guest = dlsym(RTLD_DEFAULT, "tidemark_py_profiler");
    void *cupti = dlopen(getenv("TIDEMARK_CUPTI"), RTLD_LAZY | RTLD_NOLOAD);
    struct fake_cupti *fake = cupti ? dlsym(cupti, "fake_cupti") : NULL;
    uint64_t before = 0, inside = 0, behind = 0;
    if (!guest || !fake)
        return 1;
    memcpy(&profiler, &guest, sizeof profiler);
    int failed = DRIVER(library, cuMemAlloc_v2)(&before, 1 << 20);
    profiler(1);
    failed |= fake->callback && fake->callback != hear_nothing;
    fake->callback = hear_nothing;
    failed |= DRIVER(library, cuMemFree_v2)(before);
    failed |= DRIVER(library, cuMemAlloc_v2)(&inside, 2 << 20);
    if (lets_go)
        fake->callback = NULL;
    profiler(0);
    pass_points(6);
    failed |= DRIVER(library, cuMemAlloc_v2)(&behind, 4 << 20);
    pass_points(3);
    return failed;
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
    for (int i = 0; i < 2 && strcmp(how, "profile") == 0; i++)
        failed |= profile(library, 0);
    if (strcmp(how, "profile-and-go") == 0)
        failed |= profile(library, 1);
    if (strcmp(how, "fatal") == 0)
        DRIVER(library, fake_driver_fatal)();
    return failed;
}
