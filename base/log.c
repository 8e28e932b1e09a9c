#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level shown = LOG_NOTE;

void log_set_level(enum log_level level)
{
    shown = level;
}

/* Names come out of recordings that may be anybody's: what a terminal would obey becomes '?'.
 * Controls; in UTF-8 also U+0080 to U+009F, and what turns the direction of writing. */
static size_t obeyed(const unsigned char *at, size_t left)
{
    if (at[0] < 0x20 || at[0] == 0x7f)
        return 1;
    if (left > 1 && at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0)
        return 2;
    if (left > 2 && at[0] == 0xe2 &&
        ((at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) ||
         (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9)))
        return 3;
    return 0;
}

static void make_safe(char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++) {
        size_t n = obeyed((const unsigned char *)text + at, bytes - at);
        if (n)
            memset(text + at, '?', n);
    }
}

/* One write for the whole line: other processes write to the same terminal. */
void log_say(enum log_level level, const char *format, ...)
{
    static const char *const prefix[] = {
        "tidemark: ", "tidemark: warning: ", "tidemark: ", "tidemark: debug: "};
    char line[2048];
    if (level > shown)
        return;
    size_t used = strlen(prefix[level]);
    memcpy(line, prefix[level], used);
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line + used, sizeof line - used - 1, format, list);
    va_end(list);
    if (n < 0)
        return;
    used += (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
    make_safe(line, used);
    line[used++] = '\n';
    for (size_t done = 0; done < used;) {
        ssize_t wrote = write(STDERR_FILENO, line + done, used - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return;
        done += (size_t)wrote;
    }
}
