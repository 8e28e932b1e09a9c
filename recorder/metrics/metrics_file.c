#include "metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

#define OURS "# HELP tidemark_"

enum exposition metrics_file_form(const char *path)
{
    size_t bytes = strlen(path);
    bool prom = bytes > 5 && strcmp(path + bytes - 5, ".prom") == 0;
    return prom ? EXPOSITION_TEXT : EXPOSITION_OPENMETRICS;
}

/* Of a file that can be read: it is empty or ours. */
static bool is_ours(int fd)
{
    char begin[sizeof OURS - 1];
    ssize_t bytes = read(fd, begin, sizeof begin);
    return bytes == 0 || (bytes == (ssize_t)sizeof begin && memcmp(begin, OURS, sizeof begin) == 0);
}

int metrics_file_check(const char *path, struct buf *why)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return BASE_OK; /* the first write says what is wrong with its folder */
    bool known = fd >= 0 && fstat(fd, &about) == 0;
    int err = BASE_OK;
    if (!known) {
        err = base_err_from_errno(errno);
        buf_print(why, "--metrics %s: %s", path, base_err_text(err));
    } else if (!S_ISREG(about.st_mode)) {
        err = ERR_EXISTS;
        buf_print(why, "--metrics %s: it is there, and no file", path);
    } else if (!is_ours(fd)) {
        err = ERR_EXISTS;
        buf_print(why, "--metrics %s: the file is there, and holds no metrics of Tidemark", path);
    }
    if (fd >= 0)
        close(fd);
    return err;
}

/* Beside the file, hidden, and no .prom: nobody reads it by its name. False: too long. */
static bool name_beside(const char *path, char *out, size_t room)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int bytes = snprintf(out, room, "%.*s.%s.%d", (int)(name - path), path, name, (int)getpid());
    return bytes > 0 && (size_t)bytes < room;
}

static bool write_all(int fd, const char *at, size_t left)
{
    while (left > 0) {
        ssize_t wrote = write(fd, at, left);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        at += wrote;
        left -= (size_t)wrote;
    }
    return true;
}

int metrics_file_write(const char *path, const struct buf *text, struct buf *why)
{
    char beside[PATH_MAX];
    if (!name_beside(path, beside, sizeof beside)) {
        buf_print(why, "--metrics %s: the name is too long", path);
        return ERR_ARG;
    }
    unlink(beside); /* of a recorder with our number that was killed */
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    bool done = fd >= 0 && write_all(fd, buf_string(text), text->count);
    if (fd >= 0)
        done = close(fd) == 0 && done;
    done = done && rename(beside, path) == 0;
    if (done)
        return BASE_OK;
    int err = base_err_from_errno(errno);
    buf_print(why, "--metrics %s: cannot write it: %s", path, strerror(errno));
    if (fd >= 0)
        unlink(beside);
    return err;
}
