/*
 * prog_rude.c - a program that speaks to the recorder by hand, and badly.
 *
 *     prog_rude garbage N | twice | scribble SEED | silent | unused [SIGNAL]
 *
 * garbage: N messages of random bytes. twice: fetches two rings without saying hello. scribble:
 * fetches a ring, fills all of it with random bytes, lives for a moment more. silent: connects and
 * says nothing until the end. unused: fetches a ring and does nothing with it; then the
 * signal.
 */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "hello.h"

static uint64_t seed = 1;

static uint64_t rough(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static int dial(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = getenv(HELLO_ENV);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (!name || fd < 0)
        exit(98);
    size_t bytes = strlen(name);
    memcpy(address.sun_path + 1, name, bytes);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    if (connect(fd, (struct sockaddr *)&address, length) != 0)
        exit(97);
    return fd;
}

/* A ring's descriptor. */
static int fetch(void)
{
    struct hello hello = {.magic = HELLO_MAGIC, .format = EVENT_FORMAT, .what = HELLO_FETCH};
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    char word = 0;
    struct iovec part = {&word, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room};
    int fd = dial(), ring;
    message.msg_controllen = sizeof control.room;
    hello.how = HELLO_BY_EXEC;
    if (send(fd, &hello, offsetof(struct hello, text), MSG_NOSIGNAL) < 0)
        exit(96);
    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
        exit(95);
    memcpy(&ring, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof ring);
    close(fd);
    return ring;
}

static void send_garbage(long count)
{
    for (long i = 0; i < count; i++) {
        uint64_t bytes[600];
        int fd = dial();
        for (size_t j = 0; j < sizeof bytes / sizeof *bytes; j++)
            bytes[j] = rough();
        if (i % 2 == 0)
            bytes[0] = HELLO_MAGIC;
        send(fd, bytes, 1 + rough() % sizeof bytes, MSG_NOSIGNAL);
        close(fd);
    }
}

static void scribble(int fd)
{
    struct timespec moment = {.tv_nsec = 1000000};
    off_t size = lseek(fd, 0, SEEK_END);
    uint64_t *words = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED)
        exit(94);
    for (int round = 0; round < 50; round++) {
        for (off_t i = 0; i < size / 8 && i < 200000; i++)
            words[i] = rough() % 3 ? rough() >> rough() % 64 : 0;
        nanosleep(&moment, NULL);
    }
}

int main(int argc, char **argv)
{
    long number = argc > 2 ? atol(argv[2]) : 0;
    if (argc < 2)
        return 99;
    if (strcmp(argv[1], "garbage") == 0) {
        send_garbage(number);
    } else if (strcmp(argv[1], "twice") == 0) {
        return fetch() >= 0 && fetch() >= 0 ? 0 : 93;
    } else if (strcmp(argv[1], "unused") == 0) {
        if (fetch() < 0)
            return 93;
        return number ? raise((int)number) : 0;
    } else if (strcmp(argv[1], "scribble") == 0) {
        seed = (uint64_t)number * 2654435761u + 1;
        scribble(fetch());
    } else {
        dial();
        struct timespec moment = {.tv_nsec = 200000000};
        nanosleep(&moment, NULL);
    }
    return 0;
}
