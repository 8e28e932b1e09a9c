/* terminal.c - see terminal.h. */
#include "terminal.h"

#include <termios.h>
#include <unistd.h>

bool terminal_is_ours(int fd)
{
    struct termios settings;
    pid_t foreground = tcgetpgrp(fd);
    const tcflag_t lines = ICANON | ECHO;
    if (foreground >= 0 && foreground != getpgrp())
        return false;
    return tcgetattr(fd, &settings) == 0 && (settings.c_lflag & lines) == lines;
}
