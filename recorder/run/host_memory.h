/*
 * host_memory.h - what the kernel says about the memory of a process: /proc and its control group.
 * Nothing is asked of the process itself.
 *
 * A control group's limit is the lowest of it and of those around it; `used` is that of the group
 * whose limit it is, for that is who is refused or killed. Of version 1 the controller `memory` is
 * read, of version 2 the files memory.*.
 *
 * Invariants: a value that is not known, and a limit that is none, is HOST_UNKNOWN; levels <=
 * HOST_LEVELS; dir is "" where no group was found.
 */
#ifndef TIDEMARK_RECORDER_HOST_MEMORY_H
#define TIDEMARK_RECORDER_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOST_UNKNOWN INT64_MIN
enum { HOST_LEVELS = 32, HOST_PATH = 1024 };

struct host_group {
    char dir[HOST_PATH];
    size_t mount; /* bytes of dir that are the mount point: no group is above */
    bool first;   /* version 1 */
};

enum host_value {
    HOST_RSS,
    HOST_MOST_RSS,
    HOST_ADDRESS_SPACE,
    HOST_MOST_ADDRESS_SPACE,
    HOST_DATA,
    HOST_LIMIT_ADDRESS_SPACE, /* RLIMIT_AS */
    HOST_LIMIT_DATA,          /* RLIMIT_DATA */
    HOST_GROUP_USED,
    HOST_GROUP_LIMIT,
    HOST_AVAILABLE, /* of the machine */
    HOST_MACHINE,   /* all of it */
    HOST_VALUES
};

struct host_memory {
    int64_t values[HOST_VALUES];
    int64_t kills; /* that the group's memory.events (v2) or memory.oom_control (v1) counts */
};

const char *host_value_text(enum host_value value); /* as sample.what has it */

/* `groups` is the text of /proc/PID/cgroup, `mounts` that of /proc/self/mountinfo. False: no group
 * with a memory controller can be seen. */
bool host_group_find(struct host_group *out, const char *groups, const char *mounts);
bool host_group_of(struct host_group *out, pid_t pid);
/* What the files in `group` and above say, into used, limit, kills. */
void host_group_read(const struct host_group *group, struct host_memory *out);
/* The lines of /proc/PID/status. */
void host_status_read(const char *text, struct host_memory *out);

/* All of it, of a process in that group. False: the process is gone, nothing is known of it. */
bool host_memory_read(struct host_memory *out, pid_t pid, const struct host_group *group);

#endif
