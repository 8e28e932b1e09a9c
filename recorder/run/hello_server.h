/*
 * hello_server.h - where recorded processes say hello: an abstract Unix socket with a random name,
 * as ring/hello.h describes it, and a door beside it for our own user (door.h). One thread owns it
 * and calls hello_server_handle() when the descriptor is readable; nothing in here waits.
 *
 * Only processes of our own user are heard; where that is root, of any user those that descend from
 * us or were started with our key in their environment. Everybody else is hung up on at once;
 * whoever connects again and again is not looked up each time, and a turn looks up only so many.
 * Who is at the door is served before all others: a flood of another user's does not hold up ours.
 * Of a message nothing is believed: the pid comes from the kernel, lengths are checked against what
 * arrived, numbers are the handler's to check.
 */
#ifndef TIDEMARK_RECORDER_HELLO_SERVER_H
#define TIDEMARK_RECORDER_HELLO_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hello.h"

#define HELLO_SERVER_PENDING 256 /* connections that have not spoken yet */
#define HELLO_SERVER_PATIENCE_MS 1000u
/* Connections that wait to be accepted; the kernel may cut it. */
#define HELLO_SERVER_BACKLOG 4096
/* One turn accepts so many, which is all that waited when it began: whoever connected before the
 * owner looked at anything else is heard before that. */
#define HELLO_SERVER_TURN (HELLO_SERVER_BACKLOG + 1)

struct hello_server;

struct hello_said {
    const struct hello *hello; /* argv_bytes is within the text; what, how are known ones */
    pid_t pid;                 /* in our pid namespace */
    int pidfd;                 /* -1 or the handler's from now on */
    uint64_t at_ns;            /* CLOCK_MONOTONIC */
    bool understood;           /* its event format is ours */
    int unsent;                /* errno: the descriptor could not be sent; else 0 */
};

/* For HELLO the answer is ignored. For FETCH: a descriptor to be sent, which the server then
 * closes, or -1 for no. If it cannot be sent, the handler is called once more, with `unsent` and
 * without a pidfd; what it answers then is ignored. */
typedef int hello_handler(void *context, const struct hello_said *said);

int hello_server_open(struct hello_server **out); /* a base_err */
/* Under a name and a key that an armed program has in its environment already, without a door.
 * ERR_BUSY: somebody else listens there. */
#define HELLO_SERVER_NAME 64
#define HELLO_SERVER_PREFIX "tidemark-"
int hello_server_open_as(struct hello_server **out, const char *name, const char *key);
/* A new name for HELLO_ENV, a new key for HELLO_KEY_ENV. */
int hello_server_think_up(char name[HELLO_SERVER_NAME], char key[HELLO_SERVER_NAME]);
void hello_server_close(struct hello_server *server);
const char *hello_server_name(const struct hello_server *server); /* for HELLO_ENV */
const char *hello_server_door(const struct hello_server *server); /* for HELLO_DOOR_ENV; or "" */
const char *hello_server_key(const struct hello_server *server);  /* for HELLO_KEY_ENV */
int hello_server_fd(const struct hello_server *server);           /* to be polled for reading */
/* Hears all that has arrived, oldest connection first; of a flood, one turn. False: a descriptor
 * could not be had, try again after a pause. */
bool hello_server_handle(struct hello_server *server, hello_handler *handler, void *context);

struct hello_server_stats {
    uint64_t heard;
    uint64_t strangers; /* other users, or outside of our pid namespace */
    uint64_t refused;   /* where we are root: processes among them that could have been ours */
    bool refused_more;  /* at least so many: more are not told apart */
    uint64_t looks;     /* for other users' ancestors: each takes several files of /proc */
    uint64_t malformed;
    uint64_t silent; /* connected and said nothing in time */
    uint64_t failed; /* could not be heard for a trouble of ours, or of the socket */
    bool deaf;       /* connections cannot be accepted, as of the last try */
    int why;         /* errno of the last of these */
};
const struct hello_server_stats *hello_server_stats(const struct hello_server *server);

#endif
