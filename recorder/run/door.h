/*
 * door.h - a way to the recorder that is its own user's alone.
 *
 * An abstract name is in /proc/net/unix, and whoever reads it can stand in the queue. This socket
 * has a file, which is gone before anybody listens; what is left of it is a descriptor of the
 * recorder, and /proc/PID/fd/N leads to it. The kernel lets through only who may trace the
 * recorder: its user and root, in the same user namespace. That way leads out of a network
 * namespace too.
 *
 * Who finds no door (no /proc, another PID namespace, another user) goes by the name. A pid may be
 * another's by then: the door's file ended in the name, and whoever came through looks at that.
 *
 * Invariant: listener and file are both >= 0 and path is not empty, or there is no door.
 */
#ifndef TIDEMARK_RECORDER_DOOR_H
#define TIDEMARK_RECORDER_DOOR_H

struct door {
    int listener; /* to be accepted from, without waiting */
    int file;     /* O_PATH */
    char path[40];
};

/* No door where no folder can be written to. */
void door_open(struct door *door, const char *name, int backlog);
void door_close(struct door *door);

#endif
