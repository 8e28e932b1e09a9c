/* door.c - see door.h. */
#include "door.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const struct door no_door = {.listener = -1, .file = -1};

/* Of what is bound there, a descriptor; the file goes at once. -1: something else is there. */
static int take_file(const char *path)
{
    struct stat status;
    int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    unlink(path);
    if (file >= 0 && (fstat(file, &status) != 0 || !S_ISSOCK(status.st_mode))) {
        close(file);
        file = -1;
    }
    return file;
}

static bool open_in(struct door *door, const char *folder, const char *name, int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int bytes = snprintf(address.sun_path, sizeof address.sun_path, "%s/.%s", folder, name);
    if (*folder != '/' || bytes >= (int)sizeof address.sun_path)
        return false;
    *door = no_door;
    door->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (door->listener >= 0 &&
        bind(door->listener, (struct sockaddr *)&address, sizeof address) == 0)
        door->file = take_file(address.sun_path);
    if (door->file < 0 || listen(door->listener, backlog) != 0) {
        door_close(door);
        return false;
    }
    snprintf(door->path, sizeof door->path, "/proc/%d/fd/%d", (int)getpid(), door->file);
    return true;
}

void door_open(struct door *door, const char *name, int backlog)
{
    const char *folders[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    *door = no_door;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i] && open_in(door, folders[i], name, backlog))
            return;
}

void door_close(struct door *door)
{
    if (door->listener >= 0)
        close(door->listener);
    if (door->file >= 0)
        close(door->file);
    *door = no_door;
}
