/* attach_stop.c - see attach_stop.h. */
#include "attach_stop.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int asks[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

/* A signal that is blocked comes to the descriptor also where it is ignored. */
static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool attach_stop_open(struct attach_stop *stop)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        if (!is_ignored(asks[i]))
            sigaddset(&set, asks[i]);
    *stop = (struct attach_stop){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (stop->fd < 0)
        return false;
    sigprocmask(SIG_BLOCK, &set, &stop->before);
    return true;
}

bool attach_stop_wait(struct attach_stop *stop, int ms)
{
    struct pollfd wait = {stop->fd, POLLIN, 0};
    struct signalfd_siginfo info;
    if (!stop->signal && poll(&wait, 1, ms) > 0 &&
        read(stop->fd, &info, sizeof info) == (ssize_t)sizeof info)
        stop->signal = (int)info.ssi_signo;
    return stop->signal != 0;
}

void attach_stop_close(struct attach_stop *stop)
{
    close(stop->fd);
    sigprocmask(SIG_SETMASK, &stop->before, NULL);
}
