#include "pack.h"

#include <stdbool.h>
#include <string.h>

#include "safe.h"

void pack_number(struct buf *out, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[count++] = (char)(value | 0x80);
    bytes[count++] = (char)value;
    buf_add(out, bytes, count);
}

void pack_signed(struct buf *out, int64_t value)
{
    uint64_t twice = (uint64_t)value << 1;
    pack_number(out, value < 0 ? ~twice : twice);
}

void pack_known(struct buf *out, int64_t value)
{
    pack_number(out, value < 0 ? 0 : (uint64_t)value + 1);
}

void pack_bytes(struct buf *out, const char *bytes, size_t count)
{
    pack_number(out, count);
    buf_add(out, bytes, count);
}

/* Not in the middle of a character. */
static size_t cut(const char *text, size_t count)
{
    size_t at = count;
    while (at > 0 && count - at < 4 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

void pack_text(struct buf *out, const char *text)
{
    struct buf safe = {0};
    size_t count = text ? strnlen(text, PACK_TEXT_MOST + 1) : 0;
    bool whole = count <= PACK_TEXT_MOST;
    safe_put(&safe, text ? text : "", whole ? count : cut(text, PACK_TEXT_MOST));
    if (safe.count > PACK_TEXT_MOST) {
        safe.count = cut(safe.data, PACK_TEXT_MOST);
        whole = false;
    }
    if (!whole)
        buf_add(&safe, "\xe2\x80\xa6", 3); /* an ellipsis */
    out->broken = out->broken || safe.broken;
    pack_bytes(out, buf_string(&safe), safe.count);
    buf_clear(&safe);
}

void pack_base64(struct buf *out, const char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[1024];
    size_t at = 0;
    for (size_t i = 0; i < count; i += 3) {
        uint32_t three = (uint32_t)(unsigned char)bytes[i] << 16;
        three |= i + 1 < count ? (uint32_t)(unsigned char)bytes[i + 1] << 8 : 0;
        three |= i + 2 < count ? (uint32_t)(unsigned char)bytes[i + 2] : 0;
        line[at++] = digits[three >> 18];
        line[at++] = digits[three >> 12 & 63];
        line[at++] = i + 1 < count ? digits[three >> 6 & 63] : '=';
        line[at++] = i + 2 < count ? digits[three & 63] : '=';
        if (at == sizeof line) {
            buf_add(out, line, at);
            at = 0;
        }
    }
    buf_add(out, line, at);
}
