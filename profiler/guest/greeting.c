/*
 * greeting.c - see greeting.h. Raw system calls: libc's are cancellation points, and a thread that
 * is cancelled here would leave the guest half born.
 */
#include "greeting.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "event.h"
#include "greeting_peer.h"
#include "hello.h"

static struct hello greeting;
static struct sockaddr_un address;
static socklen_t address_size;
static struct sockaddr_un door; /* no path: there is none */
static bool by_door;            /* this process said hello there */
static int32_t greeted; /* the process that said hello; a child finds its parent's pid here */
static bool armed;

static int number_from(const char *name)
{
    const char *text = getenv(name);
    int value = 0;
    if (!text || !*text)
        return HELLO_UNKNOWN;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > 99999999)
            return HELLO_UNKNOWN;
        value = value * 10 + (*text - '0');
    }
    return value;
}

static void put_arguments(int argc, char **argv)
{
    for (int i = 0; i < argc && argv && argv[i]; i++) {
        size_t bytes = strlen(argv[i]) + 1;
        size_t room = sizeof greeting.text - greeting.argv_bytes;
        size_t fits = bytes < room ? bytes : room;
        memcpy(greeting.text + greeting.argv_bytes, argv[i], fits);
        greeting.argv_bytes += (uint32_t)fits;
        greeting.argv_total += bytes;
    }
    if (greeting.argv_bytes)
        greeting.text[greeting.argv_bytes - 1] = '\0';
}

/* For a constructor that runs before ours. */
static void read_arguments(void)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    long got = syscall(SYS_read, fd, greeting.text, sizeof greeting.text);
    syscall(SYS_close, fd);
    greeting.argv_bytes = got > 0 ? (uint32_t)got : 0;
    greeting.argv_total = greeting.argv_bytes;
    if (got > 0)
        greeting.text[got - 1] = '\0';
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

static void find_door(void)
{
    const char *path = getenv(HELLO_DOOR_ENV);
    size_t bytes = path ? strlen(path) : 0;
    if (bytes == 0 || *path != '/' || bytes >= sizeof door.sun_path)
        return;
    door.sun_family = AF_UNIX;
    memcpy(door.sun_path, path, bytes);
}

static bool prepare(const char *name)
{
    size_t bytes = name ? strlen(name) : 0;
    if (bytes == 0 || bytes > sizeof address.sun_path - 1)
        return false;
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + 1, name, bytes);
    address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    greeting.magic = HELLO_MAGIC;
    greeting.format = EVENT_FORMAT;
    greeting.how = HELLO_BY_EXEC;
    greeting.rank = number_from("RANK");
    greeting.local_rank = number_from("LOCAL_RANK");
    greeting.world_size = number_from("WORLD_SIZE");
    return true;
}

bool greeting_prepare_armed(const char *name)
{
    if (!prepare(name))
        return false;
    armed = true;
    read_arguments();
    return true;
}

const char *greeting_name(void)
{
    return address.sun_path + 1;
}

bool greeting_prepare(int argc, char **argv)
{
    if (!prepare(getenv(HELLO_ENV)))
        return false;
    find_door();
    armed = is_set(HELLO_ARMED_ENV);
    if (argc > 0)
        put_arguments(argc, argv);
    else
        read_arguments();
    return true;
}

/* What a failed call means. */
static int failure(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? GREETING_NO_ANSWER : -1;
}

/* 0 or what the failure means. */
static int connect_to(int fd, const struct sockaddr_un *to, socklen_t bytes)
{
    for (int tries = 0; tries < 10; tries++) {
        if (syscall(SYS_connect, fd, to, bytes) == 0)
            return 0;
        if (errno != EINTR)
            break;
    }
    return failure();
}

/* The door's number may lead into another process by now. */
static bool is_its_door(int fd)
{
    struct sockaddr_un peer = {0};
    socklen_t bytes = sizeof peer;
    size_t name = strlen(address.sun_path + 1);
    if (syscall(SYS_getpeername, fd, &peer, &bytes) != 0 || peer.sun_path[0] != '/')
        return false;
    size_t path = strnlen(peer.sun_path, sizeof peer.sun_path);
    return path > name && memcmp(peer.sun_path + path - name, address.sun_path + 1, name) == 0;
}

/* Of an armed program anybody may listen at the name, and leave the queue full. */
static bool may_wait(const struct sockaddr_un *to)
{
    return !armed || to == &door;
}

/* The queue is full: an armed program tries again at its next turn, as if nobody listened. */
static int failure_of(const struct sockaddr_un *to, int failed)
{
    return may_wait(to) ? failed : -1;
}

/* A connection on which no call waits for more than a second, or a failure. */
static int dial(const struct sockaddr_un *to, socklen_t bytes)
{
    struct timeval second = {1, 0};
    int wait = may_wait(to) ? 0 : SOCK_NONBLOCK;
    int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | wait, 0);
    if (fd < 0)
        return -1;
    syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    int failed = connect_to(fd, to, bytes);
    if (!failed && (to != &door || is_its_door(fd)) && greeting_peer_is_ours(fd)) {
        if (wait) /* the recorder's answer is worth it */
            syscall(SYS_fcntl, fd, F_SETFL, 0);
        return fd;
    }
    syscall(SYS_close, fd);
    return failed ? failure_of(to, failed) : -1;
}

/* Who said hello by the name is not known at the door yet. */
static int dial_either(uint16_t what)
{
    int fd = -1;
    if (door.sun_path[0] && (what == HELLO_HELLO || by_door))
        fd = dial(&door, sizeof door);
    if (what == HELLO_HELLO)
        by_door = fd >= 0;
    return fd == -1 ? dial(&address, address_size) : fd;
}

/* Sends the greeting; the connection, or a failure. */
static int say(uint16_t what)
{
    struct hello message = greeting;
    message.what = what;
    message.pid = (int32_t)syscall(SYS_getpid);
    message.ppid = (int32_t)syscall(SYS_getppid);
    size_t bytes = offsetof(struct hello, text) + message.argv_bytes;
    int fd = dial_either(what);
    if (fd < 0)
        return fd;
    if (syscall(SYS_sendto, fd, &message, bytes, MSG_NOSIGNAL, NULL, 0) == (long)bytes)
        return fd;
    int failed = failure();
    syscall(SYS_close, fd);
    return failed;
}

/* 0 or a failure. */
static int say_and_hang_up(uint16_t what)
{
    int fd = say(what);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return fd < 0 ? fd : 0;
}

bool greeting_is_armed(void)
{
    return armed;
}

void greeting_hello(void)
{
    greeted = (int32_t)syscall(SYS_getpid);
    say_and_hang_up(HELLO_HELLO);
}

void greeting_forget(void)
{
    greeted = 0;
}

/* 0, or a failure by which an armed process knows that there is nobody to ask. */
static int introduce(int32_t self)
{
    if (greeted)
        greeting.how = HELLO_BY_FORK;
    int failed = say_and_hang_up(HELLO_HELLO);
    if (failed && armed)
        return failed;
    greeted = self;
    return 0;
}

/* The answer: one byte, and with HELLO_YES a descriptor. */
static int hear(int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char answer = 0;
    struct iovec part = {&answer, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    long got;
    int tries = 0;
    do
        got = syscall(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR && tries++ < 10);
    if (got < 0)
        return failure();
    struct cmsghdr *header = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    int ring = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&ring, CMSG_DATA(header), sizeof ring);
    return ring;
}

int greeting_fetch(uint64_t from_key, uint32_t count)
{
    int32_t self = (int32_t)syscall(SYS_getpid);
    int failed = greeted != self ? introduce(self) : 0;
    if (failed)
        return failed;
    greeting.from_key = from_key;
    greeting.from_count = count;
    int fd = say(HELLO_FETCH);
    if (fd < 0)
        return fd;
    int ring = hear(fd);
    syscall(SYS_close, fd);
    return ring;
}
