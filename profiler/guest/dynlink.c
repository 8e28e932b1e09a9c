/* dynlink.c - see dynlink.h. */
#include "dynlink.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

extern void *old_dlopen(const char *path, int mode) __attribute__((weak));
extern void *old_dlsym(void *handle, const char *name) __attribute__((weak));
#ifdef OLDEST
__asm__(".symver old_dlopen, dlopen@" OLDEST);
__asm__(".symver old_dlsym, dlsym@" OLDEST);
#else
__asm__(".set old_dlopen, dlopen\n.set old_dlsym, dlsym");
#endif

void *dynlink_dlsym(void *handle, const char *name)
{
    return old_dlsym ? old_dlsym(handle, name) : NULL;
}

/* What an object is looked for by: the beginning of its file's name, or an address inside. */
struct search {
    const char *name;
    uintptr_t address;
    char path[4096];
};

bool dynlink_holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        uintptr_t begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        if (object->dlpi_phdr[i].p_type == PT_LOAD && address >= begin &&
            address - begin < object->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

static int look_at(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct search *search = argument;
    const char *path = object->dlpi_name ? object->dlpi_name : "";
    const char *slash = strrchr(path, '/');
    (void)size;
    bool found = search->name
                     ? strncmp(slash ? slash + 1 : path, search->name, strlen(search->name)) == 0
                     : dynlink_holds(object, search->address);
    size_t bytes = strlen(path) + 1;
    if (!found || bytes == 1 || bytes > sizeof search->path)
        return 0;
    memcpy(search->path, path, bytes);
    return 1;
}

void *dynlink_loaded(const char *name)
{
    struct search search = {.name = name};
    if (!old_dlopen || dl_iterate_phdr(look_at, &search) == 0)
        return NULL;
    return old_dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
}

void *dynlink_open(const char *path)
{
    return old_dlopen ? old_dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
}

bool dynlink_path_of(const void *address, char *path, size_t bytes)
{
    struct search search = {.address = (uintptr_t)address};
    if (dl_iterate_phdr(look_at, &search) == 0 || strlen(search.path) >= bytes)
        return false;
    memcpy(path, search.path, strlen(search.path) + 1);
    return true;
}
