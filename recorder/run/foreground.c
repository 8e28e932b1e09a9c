/* foreground.c - see foreground.h. SIGTTOU is blocked in us: tcsetpgrp is heard from the
 * background. */
#include "foreground.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* If the terminal is that group's. */
static bool change(pid_t from, pid_t to)
{
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    bool done = terminal >= 0 && tcgetpgrp(terminal) == from && tcsetpgrp(terminal, to) == 0;
    if (terminal >= 0)
        close(terminal);
    return done;
}

bool foreground_give(pid_t program, int number, pid_t *given)
{
    pid_t ours = getpgrp(), its = getpgid(program);
    if ((number != SIGTTIN && number != SIGTTOU) || its <= 0 || its == ours || ours != getpid())
        return false;
    if (!change(ours, its))
        return false;
    *given = its;
    kill(-its, SIGCONT);
    return true;
}

void foreground_take_back(pid_t *given)
{
    if (*given > 0)
        change(*given, getpgrp());
    *given = 0;
}
