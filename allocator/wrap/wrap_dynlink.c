/*
 * wrap_dynlink.c - dlopen and its companions by the names that every glibc has. The linker hands
 * all calls of this library to the functions here (--wrap in CMakeLists.txt): bound to the names of
 * the glibc that it is built with, it would load nowhere else.
 *
 * Before glibc 2.34 they are in a library of their own, libdl.so.2. Python has it; a C program that
 * does not, and asks for a CUDA device, is told that there is no driver.
 */
#include <stddef.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

extern void *old_dlopen(const char *path, int mode) __attribute__((weak));
extern void *old_dlsym(void *handle, const char *name) __attribute__((weak));
extern char *old_dlerror(void) __attribute__((weak));
#ifdef OLDEST
__asm__(".symver old_dlopen, dlopen@" OLDEST);
__asm__(".symver old_dlsym, dlsym@" OLDEST);
__asm__(".symver old_dlerror, dlerror@" OLDEST);
#else
__asm__(".set old_dlopen, dlopen\n.set old_dlsym, dlsym\n.set old_dlerror, dlerror");
#endif

void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlsym(void *handle, const char *name);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *path, int mode)
{
    return old_dlopen ? old_dlopen(path, mode) : NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
    return old_dlsym ? old_dlsym(handle, name) : NULL;
}

char *__wrap_dlerror(void)
{
    return old_dlerror ? old_dlerror() : NULL;
}
