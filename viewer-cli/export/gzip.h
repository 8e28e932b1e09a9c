/*
 * gzip.h - a gzip file around bytes that are stored as they are: for readers that want gzip (RFC
 * 1952), not for a smaller file. A profile is some hundred kilobytes, which no library is worth.
 *
 * Invariants: what was put and has not left is in `block`, held <= GZIP_BLOCK; crc and size are of
 * all that was put.
 */
#ifndef TIDEMARK_EXPORT_GZIP_H
#define TIDEMARK_EXPORT_GZIP_H

#include <stddef.h>
#include <stdint.h>

#include "export_out.h"

#define GZIP_BLOCK 65535u /* a stored block of RFC 1951 has no more */

struct gzip {
    struct export_out *out;
    uint32_t crc, size; /* size: modulo 2^32, as the file ends with it */
    size_t held;
    unsigned char block[GZIP_BLOCK];
};

void gzip_begin(struct gzip *gzip, struct export_out *out);
void gzip_put(struct gzip *gzip, const void *bytes, size_t count);
void gzip_buf(struct gzip *gzip, struct buf *buf); /* as out_buf */
void gzip_end(struct gzip *gzip);
uint32_t gzip_crc(uint32_t crc, const void *bytes, size_t count); /* 0 at first */

#endif
