#include "export_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

#define BUFFER_BYTES ((size_t)256 << 10)

static int fail(struct export_out *out, int err)
{
    if (!out->err) {
        out->err = err;
        out->number = errno;
    }
    return err;
}

/* A pipe or a device: nothing is lost there. */
static bool is_stream(const struct stat *stat)
{
    return S_ISFIFO(stat->st_mode) || S_ISCHR(stat->st_mode);
}

int out_open(struct export_out *out, const char *path, struct buf *why)
{
    *out = (struct export_out){.file = stdout};
    if (strcmp(path, "-") == 0)
        return 0;
    struct stat stat;
    bool is_there = lstat(path, &stat) == 0 && is_stream(&stat);
    int fd = open(path, O_WRONLY | O_CLOEXEC | (is_there ? 0 : O_CREAT | O_EXCL), 0600);
    out->file = fd < 0 ? NULL : fdopen(fd, "w");
    out->path = path;
    out->keep = is_there;
    if (out->file) {
        setvbuf(out->file, NULL, _IOFBF, BUFFER_BYTES);
        return 0;
    }
    int number = errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !is_there)
        unlink(path);
    buf_print(why, "%s: %s", path,
              number == EEXIST ? "there is such a file: name another one with --output"
                               : strerror(number));
    return number == EEXIST ? ERR_EXISTS : base_err_from_errno(number);
}

static int end_file(struct export_out *out)
{
    int failed = fflush(out->file) != 0 || ferror(out->file);
    if (failed)
        fail(out, ERR_IO);
    if (out->path && fclose(out->file) != 0)
        fail(out, ERR_IO);
    out->file = NULL;
    return out->err;
}

int out_close(struct export_out *out, int err, struct buf *why)
{
    int ended = end_file(out);
    if (ended < 0 && err >= 0 && (out->path || ended == ERR_NOMEM))
        buf_print(why, "%s: %s", out->path ? out->path : "standard output",
                  ended == ERR_NOMEM ? base_err_text(ended) : strerror(out->number));
    err = err < 0 ? err : ended;
    if (err < 0)
        out_take_back(out);
    return err;
}

void out_take_back(const struct export_out *out)
{
    if (out->path && !out->keep)
        unlink(out->path);
}

void out_put(struct export_out *out, const void *bytes, size_t count)
{
    if (out->err || count == 0)
        return;
    errno = 0;
    if (fwrite_unlocked(bytes, 1, count, out->file) != count) /* nobody else writes to it */
        fail(out, ERR_IO);
    else
        out->bytes += count;
}

void out_text(struct export_out *out, const char *text)
{
    out_put(out, text, strlen(text));
}

void out_print(struct export_out *out, const char *format, ...)
{
    va_list values;
    if (out->err)
        return;
    errno = 0;
    va_start(values, format);
    int count = vfprintf(out->file, format, values);
    va_end(values);
    if (count < 0)
        fail(out, ERR_IO);
    else
        out->bytes += (uint64_t)count;
}

void out_buf(struct export_out *out, struct buf *buf)
{
    if (buf->broken)
        fail(out, ERR_NOMEM);
    out_put(out, buf_string(buf), buf->count);
    buf->count = 0;
}

bool out_is_valid(const struct export_out *out)
{
    return out->file && out->err <= 0 && (out->path || out->file == stdout);
}
