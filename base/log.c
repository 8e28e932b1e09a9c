#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level shown = LOG_NOTE;

void log_set_level(enum log_level level)
{
    shown = level;
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
    line[used++] = '\n';
    for (size_t done = 0; done < used;) {
        ssize_t wrote = write(STDERR_FILENO, line + done, used - done);
        if (wrote <= 0)
            return;
        done += (size_t)wrote;
    }
}
