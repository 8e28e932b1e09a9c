/*
 * buf.h - a growable string. After a failed allocation it is `broken`: further calls do nothing,
 * and the owner asks once, at the end.
 */
#ifndef TIDEMARK_BASE_BUF_H
#define TIDEMARK_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {    /* all zero is an empty string */
    char *data; /* NUL-terminated once it is not NULL */
    size_t count;
    size_t cap;
    bool broken;
};

void buf_clear(struct buf *buf); /* frees its memory */
void buf_add(struct buf *buf, const char *bytes, size_t count);
void buf_text(struct buf *buf, const char *text);
void buf_print(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *buf_string(const struct buf *buf); /* "" when empty */

#endif
