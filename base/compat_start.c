/*
 * compat_start.c - the program's first call into libc, for old and new hosts.
 *
 * Until glibc 2.34 the start code of a program handed __libc_start_main a function that runs the
 * program's own constructors; since then libc finds them by itself, and the start code hands it
 * NULL. A program that is linked today against the old version of the call would lose its
 * constructors on an old host. So it gets the function here. A new libc that is given one takes it
 * for a program of old and leaves the constructors to it: they run once on both.
 */
#include <stddef.h>

#ifndef __x86_64__
#error "compat.cmake builds this for x86-64 only"
#endif

typedef int main_fn(int argc, char **argv, char **envp);
typedef void init_fn(int argc, char **argv, char **envp);
typedef void end_fn(void);

/* From the C library's start files and the linker. */
extern void _init(void);
extern init_fn *const __init_array_start[] __attribute__((visibility("hidden")));
extern init_fn *const __init_array_end[] __attribute__((visibility("hidden")));

int compat_old_start(main_fn *start, int argc, char **argv, init_fn *init, end_fn *fini,
                     end_fn *loader_fini, void *stack_end);
__asm__(".symver compat_old_start,__libc_start_main@GLIBC_2.2.5");

int __wrap___libc_start_main(main_fn *start, int argc, char **argv, init_fn *init, end_fn *fini,
                             end_fn *loader_fini, void *stack_end);

static void run_constructors(int argc, char **argv, char **envp)
{
    size_t count = (size_t)(__init_array_end - __init_array_start);
    _init();
    for (size_t i = 0; i < count; i++)
        __init_array_start[i](argc, argv, envp);
}

/* The program's destructors are run by the loader's own end, on old hosts and new. */
int __wrap___libc_start_main(main_fn *start, int argc, char **argv, init_fn *init, end_fn *fini,
                             end_fn *loader_fini, void *stack_end)
{
    return compat_old_start(start, argc, argv, init ? init : run_constructors, fini, loader_fini,
                            stack_end);
}
