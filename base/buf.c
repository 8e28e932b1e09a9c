#include "buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"

void buf_clear(struct buf *buf)
{
    mem_free(buf->data);
    *buf = (struct buf){0};
}

static bool room(struct buf *buf, size_t more)
{
    assert(!buf->data || buf->count < buf->cap);
    if (buf->broken)
        return false;
    if (!MEM_GROW(buf->data, buf->cap, buf->count + more + 1))
        buf->broken = true;
    return !buf->broken;
}

void buf_add(struct buf *buf, const char *bytes, size_t count)
{
    if (!room(buf, count))
        return;
    if (count) /* `bytes` may be NULL then */
        memcpy(buf->data + buf->count, bytes, count);
    buf->count += count;
    buf->data[buf->count] = '\0';
}

void buf_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_print(struct buf *buf, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (n >= 0 && room(buf, (size_t)n)) {
        vsnprintf(buf->data + buf->count, (size_t)n + 1, format, again);
        buf->count += (size_t)n;
    }
    va_end(again);
}

const char *buf_string(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}
