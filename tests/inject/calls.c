/*
 * calls.c - the calls of libc that can be made to fail. The names that begin with __wrap_ and
 * __real_ are the linker's; CMakeLists.txt lists the same calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* The whole of a call: RESULT NAME(PARAMETERS), which fails by returning FAILED. */
#define CALL(result, name, failed, parameters, arguments)                                          \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        int code;                                                                                  \
        if (!inject_now(#name, __builtin_return_address(0), &code))                                \
            return __real_##name arguments;                                                        \
        errno = code;                                                                              \
        return failed;                                                                             \
    }

/* One that moves `count` bytes, and may move half of them. */
#define MOVE(name, parameters, arguments, halved)                                                  \
    ssize_t __real_##name parameters;                                                              \
    ssize_t __wrap_##name parameters                                                               \
    {                                                                                              \
        int code;                                                                                  \
        if (!inject_now(#name, __builtin_return_address(0), &code))                                \
            return __real_##name arguments;                                                        \
        errno = code;                                                                              \
        return code || count < 2 ? -1 : __real_##name halved;                                      \
    }

/* One with a last argument that not every caller gives. */
#define OPEN(name, type, parameters, last, arguments)                                              \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        int code;                                                                                  \
        va_list list;                                                                              \
        va_start(list, last);                                                                      \
        type more = va_arg(list, type);                                                            \
        va_end(list);                                                                              \
        if (!inject_now(#name, __builtin_return_address(0), &code))                                \
            return __real_##name arguments;                                                        \
        errno = code;                                                                              \
        return -1;                                                                                 \
    }

/* ---- memory ---- */

CALL(void *, malloc, NULL, (size_t bytes), (bytes))
CALL(void *, calloc, NULL, (size_t count, size_t bytes), (count, bytes))
CALL(void *, realloc, NULL, (void *old, size_t bytes), (old, bytes))
CALL(void *, mmap, MAP_FAILED, (void *at, size_t bytes, int how, int flags, int fd, off_t from),
     (at, bytes, how, flags, fd, from))
CALL(void *, mmap64, MAP_FAILED, (void *at, size_t bytes, int how, int flags, int fd, off_t from),
     (at, bytes, how, flags, fd, from))

/* ---- files ---- */

OPEN(open, int, (const char *path, int flags, ...), flags, (path, flags, more))
OPEN(open64, int, (const char *path, int flags, ...), flags, (path, flags, more))
OPEN(fcntl64, void *, (int fd, int what, ...), what, (fd, what, more))
MOVE(read, (int fd, void *out, size_t count), (fd, out, count), (fd, out, count / 2))
MOVE(pread, (int fd, void *out, size_t count, off_t at), (fd, out, count, at),
     (fd, out, count / 2, at))
MOVE(pread64, (int fd, void *out, size_t count, off_t at), (fd, out, count, at),
     (fd, out, count / 2, at))
MOVE(write, (int fd, const void *from, size_t count), (fd, from, count), (fd, from, count / 2))
MOVE(pwrite64, (int fd, const void *from, size_t count, off_t at), (fd, from, count, at),
     (fd, from, count / 2, at))
CALL(int, ftruncate, -1, (int fd, off_t bytes), (fd, bytes))
CALL(int, ftruncate64, -1, (int fd, off_t bytes), (fd, bytes))
CALL(int, fsync, -1, (int fd), (fd))
CALL(int, fdatasync, -1, (int fd), (fd))
CALL(int, unlink, -1, (const char *path), (path))
CALL(int, link, -1, (const char *from, const char *to), (from, to))
CALL(int, rename, -1, (const char *from, const char *to), (from, to))
CALL(int, access, -1, (const char *path, int how), (path, how))
CALL(int, statfs, -1, (const char *path, struct statfs *out), (path, out))
CALL(ssize_t, readlink, -1, (const char *path, char *out, size_t room), (path, out, room))
CALL(char *, realpath, NULL, (const char *path, char *out), (path, out))
CALL(char *, getcwd, NULL, (char *out, size_t room), (out, room))
CALL(void *, opendir, NULL, (const char *path), (path))
CALL(FILE *, fopen, NULL, (const char *path, const char *mode), (path, mode))

/* ---- sockets, events, signals ---- */

CALL(int, socket, -1, (int family, int type, int protocol), (family, type, protocol))
CALL(int, bind, -1, (int fd, const struct sockaddr *name, socklen_t bytes), (fd, name, bytes))
CALL(int, listen, -1, (int fd, int most), (fd, most))
CALL(int, accept4, -1, (int fd, struct sockaddr *name, socklen_t *bytes, int flags),
     (fd, name, bytes, flags))
CALL(int, getsockopt, -1, (int fd, int level, int what, void *out, socklen_t *bytes),
     (fd, level, what, out, bytes))
CALL(ssize_t, sendmsg, -1, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
CALL(ssize_t, recv, -1, (int fd, void *out, size_t room, int flags), (fd, out, room, flags))
CALL(int, epoll_create1, -1, (int flags), (flags))
CALL(int, epoll_ctl, -1, (int epoll, int what, int fd, struct epoll_event *event),
     (epoll, what, fd, event))
CALL(int, epoll_wait, -1, (int epoll, struct epoll_event *out, int most, int ms),
     (epoll, out, most, ms))
CALL(int, poll, -1, (struct pollfd * list, nfds_t count, int ms), (list, count, ms))
CALL(int, eventfd, -1, (unsigned value, int flags), (value, flags))
CALL(int, signalfd, -1, (int fd, const sigset_t *set, int flags), (fd, set, flags))
CALL(int, pipe2, -1, (int *fds, int flags), (fds, flags))
CALL(ssize_t, getrandom, -1, (void *out, size_t bytes, unsigned flags), (out, bytes, flags))

/* ---- processes and threads ---- */

CALL(pid_t, fork, -1, (void), ())
CALL(pid_t, waitpid, -1, (pid_t pid, int *status, int flags), (pid, status, flags))
CALL(int, waitid, -1, (idtype_t kind, id_t id, siginfo_t *out, int flags), (kind, id, out, flags))
CALL(int, pthread_create, code,
     (pthread_t * out, const pthread_attr_t *how, void *(*run)(void *), void *with),
     (out, how, run, with))
/* memfd_create, pidfd_open, futex and the like. */
CALL(long, syscall, -1, (long which, long a, long b, long c, long d, long e, long f),
     (which, a, b, c, d, e, f))
