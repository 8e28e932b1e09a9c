#include "gzip.h"

#include <stdbool.h>
#include <string.h>

/* A byte at a time by a table of sixteen: the remainder of each half of it. */
uint32_t gzip_crc(uint32_t crc, const void *bytes, size_t count)
{
    static uint32_t table[16];
    const unsigned char *at = bytes;
    for (uint32_t i = 0; !table[15] && i < 16; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 4; bit++)
            value = value & 1 ? value >> 1 ^ UINT32_C(0xedb88320) : value >> 1;
        table[i] = value;
    }
    crc = ~crc;
    for (size_t i = 0; i < count; i++) {
        crc = table[(crc ^ at[i]) & 15] ^ crc >> 4;
        crc = table[(crc ^ at[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

static void put_number(struct gzip *gzip, uint32_t value, unsigned bytes)
{
    unsigned char text[4];
    for (unsigned i = 0; i < bytes; i++)
        text[i] = (unsigned char)(value >> 8 * i);
    out_put(gzip->out, text, bytes);
}

static void put_block(struct gzip *gzip, bool last)
{
    put_number(gzip, last, 1);
    put_number(gzip, (uint32_t)gzip->held, 2);
    put_number(gzip, (uint32_t)~gzip->held, 2);
    out_put(gzip->out, gzip->block, gzip->held);
    gzip->held = 0;
}

void gzip_begin(struct gzip *gzip, struct export_out *out)
{
    /* Deflate, no name, no time, no system: the same recording makes the same bytes. */
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    gzip->out = out;
    gzip->crc = gzip->size = 0;
    gzip->held = 0;
    out_put(out, head, sizeof head);
}

void gzip_put(struct gzip *gzip, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    gzip->crc = gzip_crc(gzip->crc, bytes, count);
    gzip->size += (uint32_t)count;
    while (count > 0) {
        size_t room = GZIP_BLOCK - gzip->held, part = count < room ? count : room;
        memcpy(gzip->block + gzip->held, at, part);
        gzip->held += part;
        at += part;
        count -= part;
        if (gzip->held == GZIP_BLOCK)
            put_block(gzip, false);
    }
}

void gzip_buf(struct gzip *gzip, struct buf *buf)
{
    struct buf none = {.broken = buf->broken};
    if (buf->count)
        gzip_put(gzip, buf->data, buf->count);
    buf->count = 0;
    out_buf(gzip->out, &none);
}

void gzip_end(struct gzip *gzip)
{
    put_block(gzip, true);
    put_number(gzip, gzip->crc, 4);
    put_number(gzip, gzip->size, 4);
}
