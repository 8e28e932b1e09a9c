/* fake_recorder.c - see fake_recorder.h. */
#include "fake_recorder.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

static void give(int to, int fd)
{
    char answer = fd >= 0 ? HELLO_YES : HELLO_NO;
    struct iovec part = {&answer, 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    sendmsg(to, &message, MSG_NOSIGNAL);
}

/* Until the guest has given up: it hangs up, and the connection ends. */
static void be_deaf(int from)
{
    struct pollfd wait = {from, POLLIN, 0};
    poll(&wait, 1, 600000);
}

static void answer(const struct fake_recorder *fake, struct fake_said *said, int from)
{
    int fd = -1;
    unsigned bits = fake->slot_bits ? fake->slot_bits : 10;
    uint64_t arena = fake->arena_bytes ? fake->arena_bytes : 1 << 16;
    usleep((unsigned)fake->slow_ms * 1000);
    if (!fake->refuse && ring_create(&said->ring, bits, arena, &fd) == 0) {
        ring_reader_init(&said->reader, said->ring);
        said->ring->key = (uint64_t)(said - fake->said) + 1;
        if (fake->refer && said->hello.from_key)
            said->ring->arena_first = said->hello.from_count + fake->too_many;
    }
    give(from, fd);
    if (fd >= 0)
        close(fd);
}

static void hear_one(struct fake_recorder *fake)
{
    int from = accept4(fake->fd, NULL, NULL, SOCK_CLOEXEC);
    int at = atomic_load(&fake->count);
    if (from < 0 || at == FAKE_MAX)
        return;
    struct fake_said *said = &fake->said[at];
    struct ucred peer;
    socklen_t size = sizeof peer;
    getsockopt(from, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    said->peer = peer.pid;
    if (recv(from, &said->hello, sizeof said->hello, 0) > 0 && said->hello.what == HELLO_FETCH) {
        if (fake->deaf-- > 0)
            be_deaf(from);
        else
            answer(fake, said, from);
    }
    close(from);
    atomic_store(&fake->count, at + 1);
}

static void *serve(void *argument)
{
    struct fake_recorder *fake = argument;
    for (;;) {
        struct pollfd wait[2] = {{fake->fd, POLLIN, 0}, {fake->bell[0], POLLIN, 0}};
        poll(wait, 2, -1);
        if (wait[1].revents)
            return NULL;
        if (wait[0].revents)
            hear_one(fake);
    }
}

void fake_start(struct fake_recorder *fake, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char full[64];
    snprintf(full, sizeof full, "tidemark-test-%s-%d", name, (int)getpid());
    strcpy(address.sun_path + 1, full);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(full));
    fake->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    REQUIRE(fake->fd >= 0 && bind(fake->fd, (struct sockaddr *)&address, size) == 0);
    REQUIRE(listen(fake->fd, 16) == 0 && pipe(fake->bell) == 0);
    REQUIRE(setenv(HELLO_ENV, full, 1) == 0);
    REQUIRE(pthread_create(&fake->thread, NULL, serve, fake) == 0);
}

void fake_stop(struct fake_recorder *fake)
{
    close(fake->bell[1]);
    pthread_join(fake->thread, NULL);
    close(fake->fd);
}

void fake_wait(struct fake_recorder *fake, int count)
{
    for (int i = 0; i < 5000 && atomic_load(&fake->count) < count; i++)
        usleep(1000);
    CHECK(atomic_load(&fake->count) >= count);
}
