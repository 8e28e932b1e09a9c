/*
 * hello_server.c - the two listening sockets, the door (door.h) and the one with the name, and the
 * connections that have not spoken yet sit in one epoll descriptor, which is what the owner polls.
 *
 * Order. A process says HELLO on one connection and FETCH on a later one, and the first must be
 * heard first. Connections are accepted in the order in which they were made, those at the door
 * before all others; a FETCH is sent after its process has sent the HELLO, and comes by the door
 * only if that did. So: each time a connection was accepted, all pending ones are read in the order
 * of their age, the new one last.
 */
#include "hello_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "door.h"
#include "error.h"
#include "event.h"
#include "mem.h"
#include "process.h"

#define STRANGERS 16
#define STRANGER_NS (100 * NS_PER_MS) /* no pid comes round in that */
#define LOOKS_A_TURN 64u

struct stranger { /* of another user, and no descendant */
    pid_t pid;
    uid_t uid;
    uint64_t until_ns;
};

struct connection {
    int fd;
    pid_t pid;
    uint64_t since_ns;
};

struct hello_server {
    struct door door;
    int listener;
    int epoll;
    char name[HELLO_SERVER_NAME], key[HELLO_SERVER_NAME];
    struct connection pending[HELLO_SERVER_PENDING]; /* oldest first */
    size_t pending_count;
    struct stranger strangers[STRANGERS];
    size_t next_stranger;
    struct hello_server_stats stats;
};

static int random_name(char *name, size_t room, const char *begin)
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return ERR_IO;
    int used = snprintf(name, room, "%s", begin);
    for (size_t i = 0; i < sizeof bytes; i++)
        used += snprintf(name + used, room - (size_t)used, "%02x", bytes[i]);
    return BASE_OK;
}

static int watch(const struct hello_server *server, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? BASE_OK
                                                                    : base_err_from_errno(errno);
}

static int listen_to(struct hello_server *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = strlen(server->name);
    memcpy(address.sun_path + 1, server->name, bytes);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->listener < 0)
        return base_err_from_errno(errno);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
    if (bind(server->listener, (struct sockaddr *)&address, length) != 0 ||
        listen(server->listener, HELLO_SERVER_BACKLOG) != 0)
        return errno == EADDRINUSE ? ERR_BUSY : base_err_from_errno(errno);
    return watch(server, server->listener);
}

static void add_door(struct hello_server *server)
{
    door_open(&server->door, server->name, HELLO_SERVER_BACKLOG);
    if (server->door.listener >= 0 && watch(server, server->door.listener) != BASE_OK)
        door_close(&server->door);
}

int hello_server_think_up(char name[HELLO_SERVER_NAME], char key[HELLO_SERVER_NAME])
{
    int err = random_name(name, HELLO_SERVER_NAME, HELLO_SERVER_PREFIX);
    return err ? err : random_name(key, HELLO_SERVER_NAME, "");
}

int hello_server_open(struct hello_server **out)
{
    char name[HELLO_SERVER_NAME], key[HELLO_SERVER_NAME];
    *out = NULL;
    int err = hello_server_think_up(name, key);
    if (!err)
        err = hello_server_open_as(out, name, key);
    if (!err)
        add_door(*out);
    return err;
}

int hello_server_open_as(struct hello_server **out, const char *name, const char *key)
{
    struct hello_server *server = mem_alloc(1, sizeof *server);
    *out = NULL;
    if (!server)
        return ERR_NOMEM;
    server->listener = server->door.listener = server->door.file = -1;
    snprintf(server->name, sizeof server->name, "%s", name);
    snprintf(server->key, sizeof server->key, "%s", key);
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    int err = server->epoll < 0 ? base_err_from_errno(errno) : BASE_OK;
    if (!err)
        err = listen_to(server);
    if (err)
        hello_server_close(server);
    else
        *out = server;
    return err;
}

void hello_server_close(struct hello_server *server)
{
    if (!server)
        return;
    for (size_t i = 0; i < server->pending_count; i++)
        close(server->pending[i].fd);
    door_close(&server->door);
    if (server->listener >= 0)
        close(server->listener);
    if (server->epoll >= 0)
        close(server->epoll);
    mem_free(server);
}

const char *hello_server_name(const struct hello_server *server)
{
    return server->name;
}

const char *hello_server_door(const struct hello_server *server)
{
    return server->door.path;
}

const char *hello_server_key(const struct hello_server *server)
{
    return server->key;
}

int hello_server_fd(const struct hello_server *server)
{
    return server->epoll;
}

const struct hello_server_stats *hello_server_stats(const struct hello_server *server)
{
    return &server->stats;
}

static bool is_well_formed(const struct hello *hello, size_t bytes)
{
    const size_t head = offsetof(struct hello, text);
    if (bytes < head || bytes > sizeof *hello || hello->magic != HELLO_MAGIC)
        return false;
    if (hello->what != HELLO_HELLO && hello->what != HELLO_FETCH)
        return false;
    if (hello->how != HELLO_BY_EXEC && hello->how != HELLO_BY_FORK)
        return false;
    return hello->format != EVENT_FORMAT || hello->argv_bytes <= bytes - head;
}

/* Never waits: a peer that is gone, or does not read, gets nothing. 0 or the errno. */
static int answer(int connection, int fd)
{
    char word = fd >= 0 ? HELLO_YES : HELLO_NO;
    struct iovec part = {.iov_base = &word, .iov_len = 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    memset(&control, 0, sizeof control);
    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    return sendmsg(connection, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : errno;
}

/* Of another format nothing is believed but that a process is there. */
static void hear(struct hello_server *server, const struct connection *from, struct hello *hello,
                 hello_handler *handler, void *context)
{
    struct hello_said said = {.hello = hello, .pid = from->pid, .at_ns = clock_now_ns()};
    said.understood = hello->format == EVENT_FORMAT;
    if (!said.understood)
        hello->argv_bytes = 0;
    said.pidfd = proc_peer_pidfd(from->fd);
    if (said.pidfd < 0)
        said.pidfd = proc_open_pidfd(from->pid);
    server->stats.heard++;
    int fd = handler(context, &said);
    int unsent = hello->what == HELLO_FETCH ? answer(from->fd, fd) : 0;
    if (fd < 0)
        return;
    close(fd);
    if (unsent) {
        said.unsent = unsent;
        said.pidfd = -1;
        handler(context, &said);
    }
}

static void note_failure(struct hello_server *server, int number)
{
    server->stats.failed++;
    server->stats.why = number;
}

/* True when the connection is done with. */
static bool read_one(struct hello_server *server, const struct connection *from,
                     hello_handler *handler, void *context)
{
    struct hello hello;
    ssize_t bytes = recv(from->fd, &hello, sizeof hello, MSG_DONTWAIT | MSG_TRUNC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        uint64_t waited = clock_now_ns() - from->since_ns;
        if (waited < HELLO_SERVER_PATIENCE_MS * NS_PER_MS &&
            server->pending_count < HELLO_SERVER_PENDING)
            return false;
        server->stats.silent++;
    } else if (bytes < 0) {
        note_failure(server, errno);
    } else if (!is_well_formed(&hello, (size_t)bytes)) {
        server->stats.malformed++;
    } else {
        hear(server, from, &hello, handler, context);
    }
    return true;
}

static void read_pending(struct hello_server *server, hello_handler *handler, void *context)
{
    size_t kept = 0, count = server->pending_count;
    for (size_t i = 0; i < count; i++) {
        struct connection one = server->pending[i];
        if (read_one(server, &one, handler, context)) {
            close(one.fd); /* leaves the epoll set with it */
            server->pending_count--;
        } else {
            server->pending[kept++] = one;
        }
    }
    server->pending_count = kept;
}

/* The socket's name is no secret (/proc/net/unix has it), so others could fill up our file. Of
 * root's program, descendants may have become somebody else; a daemon has no parent that we know.
 */
static bool may_speak(const struct hello_server *server, const struct ucred *peer)
{
    if (peer->pid <= 0)
        return false;
    return peer->uid == geteuid() ||
           (geteuid() == 0 && (proc_is_descendant(peer->pid) ||
                               proc_environ_has(peer->pid, HELLO_KEY_ENV, server->key)));
}

static struct stranger *find_stranger(struct hello_server *server, const struct ucred *peer)
{
    for (size_t i = 0; i < STRANGERS; i++) {
        struct stranger *known = &server->strangers[i];
        if (known->until_ns && known->pid == peer->pid && known->uid == peer->uid)
            return known;
    }
    return NULL;
}

/* Of another user's program nobody who descends from us can have become root's, or a third's. */
static void note_stranger(struct hello_server *server, const struct ucred *peer)
{
    struct stranger *entry = find_stranger(server, peer);
    if (!entry) {
        entry = &server->strangers[server->next_stranger++ % STRANGERS];
        if (geteuid() == 0 && server->stats.refused < STRANGERS)
            server->stats.refused++;
        else if (geteuid() == 0)
            server->stats.refused_more = true; /* or one that was forgotten for the others */
    }
    *entry = (struct stranger){peer->pid, peer->uid, clock_now_ns() + STRANGER_NS};
}

static bool is_welcome(struct hello_server *server, const struct ucred *peer)
{
    const struct stranger *known = find_stranger(server, peer);
    if (peer->uid == geteuid())
        return may_speak(server, peer);
    if (known && clock_now_ns() < known->until_ns)
        return false;
    server->stats.looks++;
    bool welcome = may_speak(server, peer);
    if (!welcome)
        note_stranger(server, peer);
    return welcome;
}

/* Closes a connection of anyone who is not to be heard. */
static bool admit(struct hello_server *server, int fd, struct connection *out)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
    if (!known)
        note_failure(server, errno);
    if (!known || !is_welcome(server, &peer)) {
        server->stats.strangers += known;
        close(fd);
        return false;
    }
    /* Without a place in the set it is looked at whenever we are called. */
    (void)watch(server, fd);
    *out = (struct connection){.fd = fd, .pid = peer.pid, .since_ns = clock_now_ns()};
    return true;
}

/* Whoever is at the door comes first: no queue of others is before him. */
static int accept_next(const struct hello_server *server)
{
    int fd = -1;
    if (server->door.listener >= 0)
        fd = accept4(server->door.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (server->door.listener < 0 || errno == EAGAIN || errno == EWOULDBLOCK))
        fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return fd;
}

bool hello_server_handle(struct hello_server *server, hello_handler *handler, void *context)
{
    uint64_t looks = server->stats.looks;
    read_pending(server, handler, context);
    for (int turn = 0; turn < HELLO_SERVER_TURN && server->stats.looks - looks < LOOKS_A_TURN;
         turn++) {
        int fd = accept_next(server);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        server->stats.deaf = fd < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
        if (server->stats.deaf)
            server->stats.why = errno;
        if (fd < 0)
            return !server->stats.deaf;
        if (admit(server, fd, &server->pending[server->pending_count])) {
            server->pending_count++;
            read_pending(server, handler, context);
        }
    }
    return true;
}
