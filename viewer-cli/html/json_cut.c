#include "json_cut.h"

#include <stdbool.h>

/* Bytes of what stands for one character in a string. */
static size_t unit(const char *at, size_t left)
{
    size_t bytes = 1;
    if (*at == '\\')
        bytes = left > 1 && at[1] == 'u' ? 6 : 2;
    else
        while (bytes < left && ((unsigned char)at[bytes] & 0xc0) == 0x80)
            bytes++;
    return bytes < left ? bytes : left;
}

void json_cut(struct buf *out, const char *json, size_t count, size_t most)
{
    size_t kept = 0; /* all before it is in `out` */
    for (size_t at = 0; at < count; at++) {
        if (json[at] != '"')
            continue;
        size_t end = ++at, from = at;
        while (end < count && json[end] != '"') {
            end += unit(json + end, count - end);
            if (end - from <= most)
                at = end;
        }
        if (at < end) {
            buf_add(out, json + kept, at - kept);
            buf_text(out, "\xe2\x80\xa6"); /* an ellipsis */
            kept = end;
        }
        at = end;
    }
    buf_add(out, json + kept, count - kept);
}
