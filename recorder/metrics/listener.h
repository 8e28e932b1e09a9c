/*
 * listener.h - the socket that clients of the metrics connect to.
 *
 * A Unix socket is its owner's alone (mode 0600). The name of one whose recorder was killed is
 * taken over; one that somebody answers at, and what is no socket, stays.
 */
#ifndef TIDEMARK_RECORDER_LISTENER_H
#define TIDEMARK_RECORDER_LISTENER_H

#include <sys/types.h>

#include "place.h"

struct listener {
    int fd; /* -1: none */
    struct place place;
    dev_t device; /* of the name of a Unix socket: it is removed only while it is ours */
    ino_t inode;
};

/* A base_err; *why says it. place.port becomes the one that was taken. */
int listener_open(struct listener *listener, const struct place *place, struct buf *why);
void listener_close(struct listener *listener);
/* A connection that does not block, and that no program inherits; or -1 with errno. */
int listener_accept(const struct listener *listener);

#endif
