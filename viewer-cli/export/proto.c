#include "proto.h"

#include <assert.h>
#include <string.h>

#include "safe.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

/* Seven bits a byte, the lowest first; all but the last have the eighth set. */
static void put_varint(struct buf *out, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    while (value > 0x7f) {
        bytes[count++] = (char)(value | 0x80);
        value >>= 7;
    }
    bytes[count++] = (char)value;
    buf_add(out, bytes, count);
}

static void put_key(struct buf *out, unsigned field, enum wire wire)
{
    assert(field > 0);
    put_varint(out, (uint64_t)field << 3 | wire);
}

void proto_uint(struct buf *message, unsigned field, uint64_t value)
{
    put_key(message, field, WIRE_VARINT);
    put_varint(message, value);
}

void proto_int(struct buf *message, unsigned field, int64_t value)
{
    proto_uint(message, field, (uint64_t)value);
}

void proto_double(struct buf *message, unsigned field, double value)
{
    uint64_t bits;
    char bytes[8];
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (char)(bits >> 8 * i);
    put_key(message, field, WIRE_FIXED64);
    buf_add(message, bytes, sizeof bytes);
}

void proto_utf8(struct buf *out, const char *text, size_t bytes)
{
    size_t from = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t code;
        size_t n = safe_utf8(text + at, bytes - at, &code);
        if (n == 0) {
            buf_add(out, text + from, at - from);
            buf_text(out, "\xef\xbf\xbd");
            from = at + 1;
        }
        at += n ? n : 1;
    }
    buf_add(out, text + from, bytes - from);
}

void proto_message(struct buf *message, unsigned field, struct buf *inner)
{
    put_key(message, field, WIRE_BYTES);
    put_varint(message, inner->count);
    buf_add(message, buf_string(inner), inner->count);
    message->broken = message->broken || inner->broken;
    inner->count = 0;
}

void proto_text(struct buf *message, unsigned field, const char *text)
{
    struct buf clean = {0};
    proto_utf8(&clean, text, strlen(text));
    proto_message(message, field, &clean);
    buf_clear(&clean);
}
