/*
 * process_argv.c - the arguments of a process as one line that a person can read and a shell can
 * run. A stored text must be UTF-8; arguments need not be.
 */
#include "process.h"

#include <string.h>

#include "safe.h"

static void add_clean(struct buf *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        uint32_t code = 0;
        size_t length = safe_utf8(text + at, bytes - at, &code);
        if (length == 0 || safe_is_control(code))
            buf_add(out, "?", 1);
        else if (text[at] == '\'')
            buf_text(out, "'\\''");
        else
            buf_add(out, text + at, length);
        at += length ? length : 1;
    }
}

void argv_quote(struct buf *out, const char *argument, size_t bytes)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%^";
    bool quote = bytes == 0;
    for (size_t i = 0; i < bytes; i++)
        if (!argument[i] || !strchr(plain, argument[i]))
            quote = true;
    if (quote)
        buf_text(out, "'");
    add_clean(out, argument, bytes);
    if (quote)
        buf_text(out, "'");
}

void argv_text(struct buf *out, const char *arguments, size_t bytes, uint64_t total)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = strnlen(arguments + at, bytes - at);
        if (at > 0)
            buf_text(out, " ");
        argv_quote(out, arguments + at, length);
        at += length + 1;
    }
    if (total > bytes)
        buf_text(out, " ...");
}

void argv_text_of(struct buf *out, const char *const *argv)
{
    for (size_t i = 0; argv[i]; i++) {
        if (i > 0)
            buf_text(out, " ");
        argv_quote(out, argv[i], strlen(argv[i]));
    }
}
