#include "utf8.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character at `text`, 0 if it is none: too short, too long, a surrogate, beyond
 * U+10FFFF. */
static size_t character(const unsigned char *text, size_t left)
{
    unsigned char lead = text[0];
    size_t bytes = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead > 0xf4 || bytes == 0 || bytes > left || lead == 0)
        return 0;
    uint32_t code = bytes == 1 ? lead : lead & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    if ((bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000) || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return 0;
    return bytes;
}

void utf8_clean(unsigned char *text, size_t count)
{
    for (size_t at = 0; at < count;) {
        size_t bytes = character(text + at, count - at);
        if (!bytes) {
            text[at] = '?';
            bytes = 1;
        }
        at += bytes;
    }
}

size_t utf8_cut(const char *text, size_t max)
{
    size_t count = strlen(text);
    if (count <= max)
        return count;
    while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
        max--;
    return max;
}
