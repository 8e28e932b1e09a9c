#include "safe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t safe_utf8(const char *text, size_t bytes, uint32_t *code)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const unsigned char *at = (const unsigned char *)text;
    for (size_t form = 0; form < 4 && form < bytes; form++) {
        if ((at[0] & forms[form].mask) != forms[form].lead)
            continue;
        uint32_t value = at[0] & (unsigned char)~forms[form].mask;
        for (size_t i = 1; i <= form; i++) {
            if ((at[i] & 0xc0) != 0x80)
                return 0;
            value = value << 6 | (at[i] & 0x3f);
        }
        if (value < forms[form].least || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
            return 0;
        *code = value;
        return form + 1;
    }
    return 0;
}

unsigned safe_width(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        unsigned width;
    } ranges[] = {
        {0x0300, 0x036f, 0},   {0x1100, 0x115f, 2}, {0x200b, 0x200f, 0}, {0x20d0, 0x20ff, 0},
        {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0},
        {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2},
        {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return ranges[i].width;
    return 1;
}

bool safe_is_control(uint32_t code)
{
    bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || turns;
}

unsigned safe_put(struct buf *out, const char *text, size_t bytes)
{
    unsigned width = 0;
    for (size_t at = 0; at < bytes;) {
        char escape[16];
        uint32_t code = 0;
        size_t n = safe_utf8(text + at, bytes - at, &code);
        if (n && !safe_is_control(code)) {
            buf_add(out, text + at, n);
            width += safe_width(code);
            at += n;
            continue;
        }
        if (n && (code == '\n' || code == '\t'))
            snprintf(escape, sizeof escape, "%s", code == '\n' ? "\\n" : "\\t");
        else if (n && code >= 0x80)
            snprintf(escape, sizeof escape, "\\u%04" PRIx32, code);
        else
            snprintf(escape, sizeof escape, "\\x%02x", (unsigned char)text[at]);
        buf_text(out, escape);
        width += (unsigned)strlen(escape);
        at += n ? n : 1;
    }
    return width;
}
