/*
 * dynlink.h - the dynamic linker, for a library that must load where it was not built.
 *
 * dlopen and dlsym moved from libdl to libc in glibc 2.34 and got a new version there. We ask for
 * the old one, which both have, and weakly: a program on an old glibc that has no libdl has nothing
 * to look up either. All of these take the loader's lock.
 */
#ifndef TIDEMARK_PROFILER_DYNLINK_H
#define TIDEMARK_PROFILER_DYNLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dl_phdr_info;

/* A symbol of the object behind `handle`, of the global scope (RTLD_DEFAULT); NULL if there is none
 * or no dynamic linker. */
void *dynlink_dlsym(void *handle, const char *name);
/* A handle to the loaded object whose file name begins with `name`, or NULL. Loads nothing. */
void *dynlink_loaded(const char *name);
/* Loads a library, with a scope of its own; NULL. Runs its constructors. */
void *dynlink_open(const char *path);
/* The path of the object that holds `address`; false if it has none or it does not fit. */
bool dynlink_path_of(const void *address, char *path, size_t bytes);

/* Whether the address is in a loaded part of the object. */
bool dynlink_holds(const struct dl_phdr_info *object, uintptr_t address);

#endif
