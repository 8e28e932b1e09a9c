#include "screen.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool ends_in_utf8(const char *locale)
{
    const char *dot = strrchr(locale, '.');
    return dot && (strncasecmp(dot + 1, "utf-8", 5) == 0 || strncasecmp(dot + 1, "utf8", 4) == 0);
}

bool screen_says_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return ends_in_utf8(value);
    }
    return false;
}

static unsigned of_environment(const char *name, unsigned least)
{
    const char *set = getenv(name);
    unsigned long asked = set ? strtoul(set, NULL, 10) : 0;
    return asked >= least && asked < 10000 ? (unsigned)asked : 0;
}

struct screen screen_look(void)
{
    struct winsize size = {0};
    const char *terminal = getenv("TERM");
    bool dumb = terminal && strcmp(terminal, "dumb") == 0;
    bool tty = isatty(STDOUT_FILENO) == 1;
    if (tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    struct screen screen = {
        .terminal = tty && !dumb,
        .dumb = tty && dumb,
        .utf8 = !dumb && screen_says_utf8(),
        .width = of_environment("COLUMNS", 20),
        .height = of_environment("LINES", 10),
    };
    if (!screen.width)
        screen.width = size.ws_col >= 20 ? size.ws_col : 80;
    if (!screen.height)
        screen.height = size.ws_row >= 10 ? size.ws_row : 24;
    return screen;
}
