/* greeting_peer.c - see greeting_peer.h. Raw system calls, as in greeting.c. */
#include "greeting_peer.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OVERFLOW_USER 65534u
#define ALL_USERS 4294967295ull /* the last number means none */

/* Behind spaces; *at moves on. */
static uint64_t next_number(const char **at)
{
    uint64_t value = 0;
    while (**at == ' ')
        ++*at;
    for (; **at >= '0' && **at <= '9'; ++*at)
        value = value < ALL_USERS ? value * 10 + (uint64_t)(**at - '0') : value;
    return value;
}

/* Lines of "first here, first outside, how many"; ranges do not overlap. */
bool greeting_maps_all(const char *text)
{
    uint64_t mapped = 0;
    while (*text) {
        next_number(&text);
        next_number(&text);
        mapped += next_number(&text);
        if (*text && *text != '\n')
            return false;
        text += *text == '\n';
    }
    return mapped == ALL_USERS;
}

/* "" if it cannot be read. */
static void read_file(const char *path, char *text, size_t room)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long got = fd < 0 ? 0 : syscall(SYS_read, fd, text, room - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
    text[got > 0 ? got : 0] = '\0';
}

static uint32_t overflow_user(void)
{
    char text[32];
    const char *at = text;
    read_file("/proc/sys/kernel/overflowuid", text, sizeof text);
    return *text ? (uint32_t)next_number(&at) : OVERFLOW_USER;
}

bool greeting_peer_is_ours(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    char map[1024];
    if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return false;
    uint32_t own = (uint32_t)syscall(SYS_geteuid);
    if (peer.uid != own && peer.uid != 0)
        return false;
    if (peer.uid != overflow_user())
        return true;
    read_file("/proc/self/uid_map", map, sizeof map);
    return greeting_maps_all(map);
}
