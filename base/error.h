/*
 * error.h - the few words for what went wrong. Libraries return them (0 or positive is success);
 * only commands print, and only commands choose exit codes.
 */
#ifndef TIDEMARK_BASE_ERROR_H
#define TIDEMARK_BASE_ERROR_H

enum base_err {
    BASE_OK = 0,
    ERR_NOMEM = -1,
    ERR_IO = -2,
    ERR_FULL = -3,    /* no room on the disk, or a file size limit */
    ERR_BUSY = -4,    /* somebody else holds it */
    ERR_CORRUPT = -5, /* damaged, or bytes that nobody of us writes */
    ERR_NOTOURS = -6, /* a file, but not a recording */
    ERR_NEWER = -7,   /* made by a version that does not fit, mostly a later one */
    ERR_NOTFOUND = -8,
    ERR_DENIED = -9,
    ERR_EXISTS = -10,
    ERR_ARG = -11,   /* the caller's mistake */
    ERR_LIMIT = -12, /* larger than we accept */
    ERR_CLOSED = -13,
    ERR_TIMEOUT = -14,
    ERR_INTERNAL = -15,
    ERR_FILES = -16, /* too many descriptors, of this process or of the machine */
    ERR_LAST = -16
};

const char *base_err_text(int err); /* never NULL */
int base_err_from_errno(int number);

/* Exit codes of the command. */
enum base_exit {
    EXIT_FINE = 0,
    EXIT_CHECK_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3, /* unreadable or damaged input */
    EXIT_INTERNAL = 4
};

#endif
