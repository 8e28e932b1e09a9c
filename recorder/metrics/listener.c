#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "error.h"

#define BACKLOG 16
#define FLAGS (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un local;
};

static socklen_t address_of(const struct place *place, union address *out)
{
    *out = (union address){.any = {0}};
    if (place->kind == PLACE_UNIX) {
        out->local.sun_family = AF_UNIX;
        memcpy(out->local.sun_path, place->path, sizeof out->local.sun_path - 1);
        return sizeof out->local;
    }
    if (place->six) {
        out->six.sin6_family = AF_INET6;
        out->six.sin6_addr = in6addr_loopback;
        out->six.sin6_port = htons(place->port);
        return sizeof out->six;
    }
    out->four.sin_family = AF_INET;
    out->four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out->four.sin_port = htons(place->port);
    return sizeof out->four;
}

static void name_of(const struct place *place, struct buf *out)
{
    if (place->kind == PLACE_UNIX)
        buf_print(out, "--metrics unix:%s: ", place->path);
    else
        buf_print(out, "--metrics %s:%u: ", place->six ? "[::1]" : "127.0.0.1", place->port);
}

static int fail(const struct place *place, int number, struct buf *why)
{
    name_of(place, why);
    if (number == EADDRINUSE && place->kind == PLACE_PORT)
        buf_text(why, "another program listens at that port");
    else
        buf_text(why, strerror(number));
    return base_err_from_errno(number);
}

/* Whether the name can be bound: nothing is there, or a socket that nobody listens at, which goes.
 */
static int clear_name(const struct place *place, struct buf *why)
{
    struct stat about;
    union address address;
    socklen_t bytes = address_of(place, &address);
    if (lstat(place->path, &about) != 0)
        return errno == ENOENT ? BASE_OK : fail(place, errno, why);
    if (!S_ISSOCK(about.st_mode)) {
        name_of(place, why);
        buf_text(why, "it is there, and no socket");
        return ERR_EXISTS;
    }
    int fd = socket(AF_UNIX, FLAGS, 0);
    if (fd < 0)
        return fail(place, errno, why);
    bool dead = connect(fd, &address.any, bytes) != 0 && errno == ECONNREFUSED;
    close(fd);
    if (dead && (unlink(place->path) == 0 || errno == ENOENT))
        return BASE_OK;
    name_of(place, why);
    buf_text(why, dead ? strerror(errno) : "another program listens at that socket");
    return dead ? base_err_from_errno(errno) : ERR_BUSY;
}

/* The name of a Unix socket gets the mode that the socket has as it is bound. */
static bool bind_to(struct listener *listener)
{
    struct place *place = &listener->place;
    union address address;
    struct stat about;
    socklen_t bytes = address_of(place, &address);
    const int on = 1;
    if (place->kind == PLACE_UNIX && fchmod(listener->fd, 0600) != 0)
        return false;
    if (place->kind == PLACE_PORT &&
        setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
        return false;
    if (bind(listener->fd, &address.any, bytes) != 0)
        return false;
    if (place->kind == PLACE_UNIX && lstat(place->path, &about) == 0) {
        listener->device = about.st_dev;
        listener->inode = about.st_ino;
    }
    if (listen(listener->fd, BACKLOG) != 0)
        return false;
    if (place->kind == PLACE_PORT && getsockname(listener->fd, &address.any, &bytes) == 0)
        place->port = ntohs(place->six ? address.six.sin6_port : address.four.sin_port);
    return true;
}

int listener_open(struct listener *listener, const struct place *place, struct buf *why)
{
    *listener = (struct listener){.fd = -1, .place = *place};
    int err = place->kind == PLACE_UNIX ? clear_name(place, why) : BASE_OK;
    if (err)
        return err;
    listener->fd = socket(place->kind == PLACE_UNIX ? AF_UNIX
                          : place->six              ? AF_INET6
                                                    : AF_INET,
                          FLAGS, 0);
    if (listener->fd >= 0 && bind_to(listener))
        return BASE_OK;
    err = fail(place, errno, why);
    listener_close(listener);
    return err;
}

void listener_close(struct listener *listener)
{
    struct stat about;
    if (listener->fd < 0)
        return;
    if (listener->inode && lstat(listener->place.path, &about) == 0 &&
        about.st_dev == listener->device && about.st_ino == listener->inode)
        unlink(listener->place.path);
    close(listener->fd);
    listener->fd = -1;
}

int listener_accept(const struct listener *listener)
{
    return accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
