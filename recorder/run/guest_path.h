/*
 * guest_path.h - where libtidemark.so is, which `record` preloads into the recorded program.
 */
#ifndef TIDEMARK_RECORDER_GUEST_PATH_H
#define TIDEMARK_RECORDER_GUEST_PATH_H

#include <stddef.h>

/* The absolute path of the guest library: what the variable TIDEMARK_GUEST names, else the file
 * that belongs to this very program (see guest_path_beside). ERR_NOTFOUND if there is no file,
 * ERR_DENIED if it may not be read, ERR_LIMIT if `out` is too small. `out` is "" after an error,
 * but after ERR_DENIED. */
int guest_path_find(char *out, size_t size);

/* The guest library of the program `exe`, an absolute path: ../lib/tidemark/libtidemark.so from its
 * folder when installed, ../profiler/libtidemark.so in a build tree. */
int guest_path_beside(const char *exe, char *out, size_t size);

/* The stand-in for CUDA's driver that `tidemark rehearse` preloads, and its folder: rehearsal/
 * beside the guest when installed, ../rehearsal/lib/ in a build tree. ERR_NOTFOUND if there is
 * none. */
int guest_path_rehearsal(const char *guest, char *library, char *folder, size_t size);

/* The folder of the Python helper, python/ beside the library. ERR_NOTFOUND if there is none. */
int guest_path_python(const char *guest, char *out, size_t size);

#endif
