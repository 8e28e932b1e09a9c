/* alive.c - see alive.h. */
#include "alive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES 1024
#define BEGAN_FIELD 20 /* of those behind the name, the state being the first */

struct look {
    char state; /* 0: not known */
    uint64_t since;
};

/* "123 (name) S 1 ...": a name may have any character in it, also a parenthesis. */
static struct look look_at(int32_t pid)
{
    char path[64], text[STAT_BYTES + 1];
    struct look look = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, text, STAT_BYTES) : -1;
    if (file >= 0)
        close(file);
    if (n <= 0)
        return look;
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 1; at && field <= BEGAN_FIELD; field++) {
        at = strchr(at + 1, ' ');
        if (at && field == 1)
            look.state = at[1];
        if (at && field == BEGAN_FIELD)
            look.since = strtoull(at + 1, NULL, 10);
    }
    return look;
}

uint64_t alive_since(int32_t pid)
{
    return look_at(pid).since;
}

bool is_alive(int32_t pid, uint64_t since)
{
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return false;
    struct look look = look_at(pid);
    if (look.state == 'Z' || look.state == 'X')
        return false;
    return !since || !look.since || look.since == since;
}
