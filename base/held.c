#include "held.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int held_open(const char *path)
{
    return open(path, O_PATH | O_CLOEXEC);
}

bool held_is_at(int held, const char *path)
{
    struct stat own, there;
    return fstat(held, &own) == 0 && stat(path, &there) == 0 && own.st_ino == there.st_ino &&
           own.st_dev == there.st_dev;
}

int64_t held_bytes(int held)
{
    struct stat own;
    return fstat(held, &own) == 0 ? (int64_t)own.st_size : -1;
}

/* The kernel's name for it, if it is there by that name: other processes may see other folders, and
 * " (deleted)" is appended to a name that is gone. */
static void find_name(int held, struct buf *now)
{
    char link[64], name[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", held);
    ssize_t bytes = readlink(link, name, sizeof name - 1);
    if (bytes <= 0)
        return;
    name[bytes] = '\0';
    if (held_is_at(held, name))
        buf_text(now, name);
}

enum held_fate held_fate(int held, const char *path, struct buf *now)
{
    struct stat own;
    if (held_is_at(held, path)) {
        if (now)
            buf_text(now, path);
        return HELD_IN_PLACE;
    }
    if (fstat(held, &own) != 0 || own.st_nlink == 0)
        return HELD_REMOVED;
    if (now)
        find_name(held, now);
    return HELD_MOVED;
}
