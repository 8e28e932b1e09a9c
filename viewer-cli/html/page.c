#include "page.h"

#include <string.h>

#include "error.h"
#include "pack.h"

static const char place[] = "@DATA@"; /* once, in web/page.html */

int page_write(FILE *file, const struct buf *data)
{
    struct buf text = {0};
    const char *middle = strstr(page_text, place);
    if (!middle)
        return ERR_INTERNAL;
    pack_base64(&text, buf_string(data), data->count);
    int err = text.broken ? ERR_NOMEM : 0;
    if (err == 0) {
        fwrite(page_text, 1, (size_t)(middle - page_text), file);
        fwrite(buf_string(&text), 1, text.count, file);
        fputs(middle + sizeof place - 1, file);
        err = ferror(file) || fflush(file) ? ERR_IO : 0;
    }
    buf_clear(&text);
    return err;
}
