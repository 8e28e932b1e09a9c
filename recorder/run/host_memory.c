#include "host_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "mem.h"

enum { TEXT = 1 << 16 };

const char *host_value_text(enum host_value value)
{
    static const char *const texts[HOST_VALUES] = {
        "RSS",
        "most RSS",
        "address space",
        "most address space",
        "data",
        "limit of address space",
        "limit of data",
        "cgroup used",
        "cgroup limit",
        "machine available",
        "machine memory",
    };
    return texts[value];
}

/* False: it cannot be read, or has more than there is room for. */
static bool read_text(const char *path, char *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = 0;
    if (fd < 0)
        return false;
    while (used + 1 < room && (n = read(fd, out + used, room - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    out[used] = '\0';
    return n >= 0 && used + 1 < room;
}

/* ---- which group ---- */

struct field {
    const char *at;
    size_t bytes;
};

static bool is_word(struct field field, const char *word)
{
    return strlen(word) == field.bytes && memcmp(field.at, word, field.bytes) == 0;
}

/* The next one up to `end` or a byte of `stops`; *at is behind it. */
static struct field take(const char **at, const char *stops)
{
    struct field field = {*at, strcspn(*at, stops)};
    *at += field.bytes;
    *at += **at && **at != '\n';
    return field;
}

static bool has_word(struct field list, const char *word)
{
    const char *at = list.at, *end = list.at + list.bytes;
    while (at < end) {
        struct field one = {at, strcspn(at, ",:\n ")};
        if (is_word(one, word))
            return true;
        at += one.bytes + 1;
    }
    return false;
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

/* "4:memory:/path", and of version 2 "0::/path". */
static bool find_path(const char *groups, bool first, struct field *path)
{
    for (const char *at = groups; *at; at = next_line(at)) {
        const char *here = at;
        struct field number = take(&here, ":\n"), controllers = take(&here, ":\n");
        *path = (struct field){here, strcspn(here, "\n")};
        if (first ? has_word(controllers, "memory") : is_word(number, "0") && !controllers.bytes)
            return path->bytes > 0 && path->at[0] == '/';
    }
    return false;
}

struct mount {
    struct field root, point;
};

/* "31 23 0:28 ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS" */
static bool read_mount(const char *line, bool first, struct mount *mount)
{
    const char *at = line;
    for (int i = 0; i < 3; i++)
        take(&at, " \n");
    mount->root = take(&at, " \n");
    mount->point = take(&at, " \n");
    for (struct field one = {0}; *at && *at != '\n' && !is_word(one, "-");)
        one = take(&at, " \n");
    struct field type = take(&at, " \n");
    take(&at, " \n");
    struct field options = {at, strcspn(at, "\n")};
    return is_word(type, first ? "cgroup" : "cgroup2") && (!first || has_word(options, "memory"));
}

/* A mount shows what is below its root: in a container the group's own folder. */
static bool put_dir(struct host_group *out, const struct mount *mount, struct field path)
{
    struct field root = mount->root;
    if (is_word(root, "/"))
        root.bytes = 0;
    if (path.bytes >= root.bytes && memcmp(path.at, root.at, root.bytes) == 0)
        path = (struct field){path.at + root.bytes, path.bytes - root.bytes};
    else
        path.bytes = 0;
    if (path.bytes == 1) /* "/" */
        path.bytes = 0;
    int n = snprintf(out->dir, sizeof out->dir, "%.*s%.*s", (int)mount->point.bytes,
                     mount->point.at, (int)path.bytes, path.at);
    out->mount = mount->point.bytes;
    return n > 0 && n < HOST_PATH;
}

static bool find_version(struct host_group *out, const char *groups, const char *mounts, bool first)
{
    struct field path;
    struct mount mount;
    if (!find_path(groups, first, &path))
        return false;
    for (const char *at = mounts; *at; at = next_line(at))
        if (read_mount(at, first, &mount) && put_dir(out, &mount, path)) {
            out->first = first;
            return true;
        }
    return false;
}

/* Both may be mounted: the controller is with one of them, and with version 1 if that has it. */
bool host_group_find(struct host_group *out, const char *groups, const char *mounts)
{
    bool found =
        find_version(out, groups, mounts, true) || find_version(out, groups, mounts, false);
    if (!found)
        *out = (struct host_group){0};
    return found;
}

bool host_group_of(struct host_group *out, pid_t pid)
{
    char path[64], groups[8192], *mounts = mem_alloc(TEXT, 1);
    *out = (struct host_group){0};
    snprintf(path, sizeof path, "/proc/%ld/cgroup", (long)pid);
    bool found = mounts && read_text(path, groups, sizeof groups) &&
                 read_text("/proc/self/mountinfo", mounts, TEXT) &&
                 host_group_find(out, groups, mounts);
    mem_free(mounts);
    return found;
}

/* ---- what it says ---- */

/* "max", and of version 1 nearly all of 64 bits: no limit. */
static int64_t read_bytes(const char *dir, const char *name)
{
    char path[HOST_PATH + 32], text[64], *end;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (!read_text(path, text, sizeof text))
        return HOST_UNKNOWN;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return end == text || errno || value < 0 || value > INT64_MAX / 2 ? HOST_UNKNOWN : value;
}

/* The number behind `name` at the beginning of a line. */
static int64_t number_of(const char *text, const char *name)
{
    size_t bytes = strlen(name);
    for (const char *at = text; *at; at = next_line(at))
        if (strncmp(at, name, bytes) == 0 && strchr(" \t", at[bytes]))
            return strtoll(at + bytes, NULL, 10);
    return HOST_UNKNOWN;
}

static int64_t read_kills(const struct host_group *group)
{
    char path[HOST_PATH + 32], text[1024];
    snprintf(path, sizeof path, "%s/%s", group->dir,
             group->first ? "memory.oom_control" : "memory.events");
    return read_text(path, text, sizeof text) ? number_of(text, "oom_kill") : HOST_UNKNOWN;
}

void host_group_read(const struct host_group *group, struct host_memory *out)
{
    const char *limit = group->first ? "memory.limit_in_bytes" : "memory.max";
    const char *used = group->first ? "memory.usage_in_bytes" : "memory.current";
    struct host_group at = *group;
    int64_t *lowest = &out->values[HOST_GROUP_LIMIT];
    *lowest = out->values[HOST_GROUP_USED] = out->kills = HOST_UNKNOWN;
    if (!group->dir[0])
        return;
    out->kills = read_kills(group);
    out->values[HOST_GROUP_USED] = read_bytes(at.dir, used);
    for (int i = 0; i < HOST_LEVELS; i++) {
        int64_t here = read_bytes(at.dir, limit);
        if (here != HOST_UNKNOWN && (*lowest == HOST_UNKNOWN || here < *lowest)) {
            *lowest = here;
            out->values[HOST_GROUP_USED] = read_bytes(at.dir, used);
        }
        char *slash = strrchr(at.dir, '/');
        if (!slash || (size_t)(slash - at.dir) < at.mount)
            break;
        *slash = '\0';
    }
}

static int64_t kib(int64_t value)
{
    return value == HOST_UNKNOWN || value < 0 || value > INT64_MAX >> 10 ? HOST_UNKNOWN
                                                                         : value << 10;
}

void host_status_read(const char *text, struct host_memory *out)
{
    static const struct {
        enum host_value value;
        const char *name;
    } lines[] = {
        {HOST_RSS, "VmRSS:"},
        {HOST_MOST_RSS, "VmHWM:"},
        {HOST_ADDRESS_SPACE, "VmSize:"},
        {HOST_MOST_ADDRESS_SPACE, "VmPeak:"},
        {HOST_DATA, "VmData:"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        out->values[lines[i].value] = kib(number_of(text, lines[i].name));
}

static int64_t read_limit(pid_t pid, __rlimit_resource_t resource)
{
    struct rlimit limit;
    if (prlimit(pid, resource, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > INT64_MAX)
        return HOST_UNKNOWN;
    return (int64_t)limit.rlim_cur;
}

static void read_machine(struct host_memory *out)
{
    char text[8192];
    bool known = read_text("/proc/meminfo", text, sizeof text);
    out->values[HOST_AVAILABLE] = known ? kib(number_of(text, "MemAvailable:")) : HOST_UNKNOWN;
    out->values[HOST_MACHINE] = known ? kib(number_of(text, "MemTotal:")) : HOST_UNKNOWN;
}

bool host_memory_read(struct host_memory *out, pid_t pid, const struct host_group *group)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    if (pid <= 0 || !read_text(path, text, sizeof text))
        return false;
    host_status_read(text, out);
    out->values[HOST_LIMIT_ADDRESS_SPACE] = read_limit(pid, RLIMIT_AS);
    out->values[HOST_LIMIT_DATA] = read_limit(pid, RLIMIT_DATA);
    host_group_read(group, out);
    read_machine(out);
    return out->values[HOST_RSS] != HOST_UNKNOWN; /* a zombie has none */
}
