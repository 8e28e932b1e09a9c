/*
 * prog_usurp.c - another user of the machine: listens to the abstract socket NAME as soon as it is
 * free, says "bound", and then writes a line for each connection: "heard N", with the bytes that
 * came before the other side hung up.
 *
 *     prog_usurp USER NAME
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void say(const char *word, long number)
{
    printf("%s %ld\n", word, number);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char bytes[4096];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (argc < 3 || strlen(argv[2]) >= sizeof address.sun_path)
        return 99;
    if (setresuid((uid_t)atol(argv[1]), (uid_t)atol(argv[1]), (uid_t)atol(argv[1])) != 0)
        return 98;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[2]));
    memcpy(address.sun_path + 1, argv[2], strlen(argv[2]));
    int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    while (bind(listener, (struct sockaddr *)&address, size) != 0)
        usleep(1000);
    if (listen(listener, 64) != 0)
        return 97;
    say("bound", 0);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        say("heard", (long)recv(fd, bytes, sizeof bytes, 0));
        close(fd);
    }
}
