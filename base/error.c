#include "error.h"

#include <errno.h>
#include <stddef.h>

static const char *const texts[] = {
    [-BASE_OK] = "no error",
    [-ERR_NOMEM] = "out of memory",
    [-ERR_IO] = "input/output error",
    [-ERR_FULL] = "no space left",
    [-ERR_BUSY] = "in use by another program",
    [-ERR_CORRUPT] = "damaged",
    [-ERR_NOTOURS] = "not a Tidemark recording",
    [-ERR_NEWER] = "made by a newer version of Tidemark",
    [-ERR_NOTFOUND] = "no such file",
    [-ERR_DENIED] = "permission denied",
    [-ERR_EXISTS] = "exists already",
    [-ERR_ARG] = "invalid argument",
    [-ERR_LIMIT] = "too large",
    [-ERR_CLOSED] = "closed",
    [-ERR_TIMEOUT] = "timed out",
    [-ERR_INTERNAL] = "internal error",
    [-ERR_FILES] = "too many open files",
};

const char *base_err_text(int err)
{
    if (err >= 0)
        return texts[0];
    if (err < ERR_LAST)
        return "unknown error";
    return texts[-err];
}

int base_err_from_errno(int number)
{
    switch (number) {
    case 0:
        return BASE_OK;
    case ENOMEM:
        return ERR_NOMEM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return ERR_FULL;
    case EBUSY:
    case EAGAIN:
        return ERR_BUSY;
    case ENOENT:
    case ENOTDIR:
        return ERR_NOTFOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_DENIED;
    case EEXIST:
        return ERR_EXISTS;
    case EINVAL:
        return ERR_ARG;
    case EMFILE:
    case ENFILE:
        return ERR_FILES;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    default:
        return ERR_IO;
    }
}
