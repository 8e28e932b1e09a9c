/*
 * prog_flood.c - another user of the machine: connects to the abstract socket NAME again and again,
 * as fast as it can, until it is killed. Writes a line when it has begun.
 *
 *     prog_flood USER NAME
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (argc < 3 || strlen(argv[2]) >= sizeof address.sun_path)
        return 99;
    if (setresuid((uid_t)atol(argv[1]), (uid_t)atol(argv[1]), (uid_t)atol(argv[1])) != 0)
        return 98;
    size_t bytes = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[2]);
    memcpy(address.sun_path + 1, argv[2], strlen(argv[2]));
    for (long times = 0;; times++) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
        if (fd >= 0)
            (void)!connect(fd, (struct sockaddr *)&address, (socklen_t)bytes);
        close(fd);
        if (times == 10000) {
            puts("begun");
            fflush(stdout);
        }
    }
}
