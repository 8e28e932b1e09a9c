/*
 * guest_path.c - the guest library, found relative to the program: an installation can be moved,
 * and a build tree needs none.
 */
#include "guest_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

/* From the folder of the program, best first. */
static const char *const places[] = {
    "../lib/tidemark/libtidemark.so", /* installed: bin/tidemark */
    "../profiler/libtidemark.so",     /* a build tree: viewer-cli/tidemark */
};

/* `path` without links and dots, if it is a file; one that may not be read is named all the same,
 * for the reason. */
static int resolve(const char *path, char *out, size_t size)
{
    char real[PATH_MAX];
    struct stat st;
    size_t length;

    if (!realpath(path, real) || stat(real, &st) != 0 || !S_ISREG(st.st_mode))
        return ERR_NOTFOUND;
    length = strlen(real);
    if (length >= size)
        return ERR_LIMIT;
    memcpy(out, real, length + 1);
    return access(real, R_OK) == 0 ? BASE_OK : ERR_DENIED;
}

int guest_path_beside(const char *exe, char *out, size_t size)
{
    const char *slash = strrchr(exe, '/');
    char path[PATH_MAX];
    int err = ERR_NOTFOUND;

    if (size == 0)
        return ERR_LIMIT;
    out[0] = '\0';
    if (!slash)
        return ERR_ARG;
    for (size_t i = 0; i < sizeof places / sizeof *places && err == ERR_NOTFOUND; i++) {
        int length = snprintf(path, sizeof path, "%.*s/%s", (int)(slash - exe), exe, places[i]);
        if (length < 0 || (size_t)length >= sizeof path)
            return ERR_LIMIT;
        err = resolve(path, out, size);
    }
    return err;
}

int guest_path_find(char *out, size_t size)
{
    const char *named = getenv("TIDEMARK_GUEST");
    char exe[PATH_MAX];
    ssize_t length;

    if (size == 0)
        return ERR_LIMIT;
    out[0] = '\0';
    if (named && *named)
        return resolve(named, out, size);
    length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (length <= 0)
        return ERR_NOTFOUND;
    exe[length] = '\0';
    return guest_path_beside(exe, out, size);
}

int guest_path_python(const char *guest, char *out, size_t size)
{
    const char *slash = strrchr(guest, '/');
    int folder = slash ? (int)(slash - guest) : 1;
    int used = snprintf(out, size, "%.*s/python", folder, slash ? guest : ".");
    if (used < 0 || (size_t)used >= size)
        return ERR_LIMIT;
    return access(out, R_OK | X_OK) == 0 ? BASE_OK : ERR_NOTFOUND;
}

int guest_path_rehearsal(const char *guest, char *library, char *folder, size_t size)
{
    static const char *const folders[] = {"rehearsal", "../rehearsal/lib"};
    const char *slash = strrchr(guest, '/');
    char path[PATH_MAX], real[PATH_MAX];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int used = snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - guest) : 1,
                            slash ? guest : ".", folders[i]);
        if (used < 0 || (size_t)used >= sizeof path)
            return ERR_LIMIT;
        if (!realpath(path, real))
            continue;
        /* The name, not what it links to: programs look for it. */
        int bytes = snprintf(library, size, "%s/libcuda.so.1", real);
        if (bytes < 0 || (size_t)bytes >= size)
            return ERR_LIMIT;
        if (access(library, R_OK) != 0)
            continue;
        memcpy(folder, real, strlen(real) + 1);
        return BASE_OK;
    }
    return ERR_NOTFOUND;
}
