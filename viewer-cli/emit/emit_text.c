/*
 * Text that came from a recorded program, made fit for a screen.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit_parts.h"
#include "safe.h"

size_t emit_utf8(const char *text, size_t bytes, uint32_t *code)
{
    return safe_utf8(text, bytes, code);
}

unsigned emit_put_safe(struct buf *out, const char *text, size_t bytes)
{
    return safe_put(out, text, bytes);
}

size_t emit_fit(const char *text, size_t bytes, unsigned width)
{
    unsigned used = 0;
    size_t at = 0;
    while (at < bytes) {
        uint32_t code = 0;
        size_t n = emit_utf8(text + at, bytes - at, &code);
        unsigned wide = n ? safe_width(code) : 1;
        if (used + wide > width)
            break;
        used += wide;
        at += n ? n : 1;
    }
    return at;
}

unsigned emit_columns_of(const char *text, size_t bytes)
{
    unsigned used = 0;
    for (size_t at = 0; at < bytes;) {
        uint32_t code = 0;
        size_t n = emit_utf8(text + at, bytes - at, &code);
        used += n ? safe_width(code) : 1;
        at += n ? n : 1;
    }
    return used;
}

void emit_put_real(struct buf *out, double value)
{
    char text[40];
    if (!isfinite(value)) {
        buf_text(out, isnan(value) ? "null" : value < 0 ? "-9e999" : "9e999");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_text(out, text);
    if (!strpbrk(text, ".e"))
        buf_text(out, ".0");
}
