/*
 * process_proc.c - asking the kernel about processes: /proc, pidfds.
 *
 * How a process ended that is not our child is known from two places. While it is a zombie, its
 * stat file has the wait status. After its parent has reaped it, a pidfd that we hold still answers
 * PIDFD_GET_INFO (Linux 6.15 and later). The headers of the build machine may be older than the
 * kernel, so the numbers and the struct are written down here.
 */
#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mem.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

struct pidfd_information { /* version 0 of the kernel's struct pidfd_info */
    uint64_t mask;         /* wanted; then known */
    uint64_t cgroup;
    uint32_t pid, tgid, ppid;
    uint32_t ids[8];   /* user and group, of four kinds */
    int32_t exit_code; /* a wait status */
};
_Static_assert(sizeof(struct pidfd_information) == 64, "the number of the ioctl carries its size");
#define PIDFD_INFORMATION _IOWR(0xff, 11, struct pidfd_information)
#define PIDFD_INFORMATION_EXIT (1ull << 3)

#define ENVIRON_MAX (1u << 20)
#define SCANS 5
#define ANCESTORS 256

static ssize_t read_file(const char *path, char *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = 0;
    if (fd < 0)
        return -1;
    while (used < room && (n = read(fd, out + used, room - used)) > 0)
        used += (size_t)n;
    close(fd);
    return n < 0 ? -1 : (ssize_t)used;
}

/* Fields count from 1 as in proc(5): 3 is behind the last parenthesis. */
bool proc_stat_parse(struct proc_stat *out, const char *text)
{
    const char *at = strrchr(text, ')');
    *out = (struct proc_stat){0};
    if (!at || at[1] != ' ' || at[2] == '\0')
        return false;
    out->state = at[2];
    at += 3;
    for (int field = 4; field <= 52; field++) {
        char *end;
        unsigned long long value = strtoull(at, &end, 10);
        if (end == at)
            return field > 22; /* old kernels have fewer */
        at = end;
        if (field == 4)
            out->ppid = (pid_t)value;
        else if (field == 22)
            out->start_time = value;
        else if (field == 52)
            out->wait_status = (int)value;
    }
    return true;
}

bool proc_stat_read(struct proc_stat *out, pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    ssize_t n = read_file(path, text, sizeof text - 1);
    if (n > 0) {
        text[n] = '\0';
        return proc_stat_parse(out, text);
    }
    *out = (struct proc_stat){.state = '?'};
    return kill(pid, 0) == 0 || errno == EPERM; /* without /proc, this much is known */
}

void proc_name_read(char name[PROC_NAME], pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    ssize_t n = read_file(path, name, PROC_NAME);
    name[n > 0 ? n - 1 : 0] = '\0'; /* a newline */
}

uint64_t proc_image_read(pid_t pid, char *path, size_t room)
{
    char link[64];
    struct stat about;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    if (stat(link, &about) != 0)
        return 0;
    ssize_t n = room > 0 ? readlink(link, path, room - 1) : -1;
    if (room > 0)
        path[n > 0 ? n : 0] = '\0';
    return (uint64_t)about.st_ino * 31 + (uint64_t)about.st_dev + 1;
}

bool proc_thread_exists(pid_t pid, uint32_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%u", (int)pid, (unsigned)thread);
    return access(path, F_OK) == 0;
}

int proc_environ_get(pid_t pid, const char *name, char *value, size_t room)
{
    char path[64];
    size_t bytes = strlen(name);
    char *text = mem_alloc(1, ENVIRON_MAX + 1);
    if (!text)
        return ENOMEM;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    ssize_t n = read_file(path, text, ENVIRON_MAX);
    int found = n < 0 ? errno : ENOENT;
    for (ssize_t at = 0; at < n && found; at += (ssize_t)strlen(text + at) + 1) {
        const char *entry = text + at;
        if (strncmp(entry, name, bytes) != 0 || entry[bytes] != '=' ||
            strlen(entry + bytes + 1) >= room)
            continue;
        snprintf(value, room, "%s", entry + bytes + 1);
        found = 0;
    }
    mem_free(text);
    return found;
}

bool proc_environ_has(pid_t pid, const char *name, const char *value)
{
    char found[256];
    return proc_environ_get(pid, name, found, sizeof found) == 0 && strcmp(found, value) == 0;
}

static bool is_candidate(DIR *proc, const char *entry, pid_t *pid)
{
    char *end;
    struct stat about;
    long number = strtol(entry, &end, 10);
    if (*end || number <= 0 || number == getpid())
        return false;
    *pid = (pid_t)number;
    if (geteuid() == 0)
        return true;
    return fstatat(dirfd(proc), entry, &about, 0) == 0 && about.st_uid == geteuid();
}

/* The last pid that was given out, -1 if that is not told. */
static long last_pid(void)
{
    char text[128];
    ssize_t n = read_file("/proc/loadavg", text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    const char *space = strrchr(text, ' ');
    return space ? strtol(space + 1, NULL, 10) : -1;
}

static size_t scan(DIR *proc, const char *name, const char *value, pid_t *pids, size_t max)
{
    size_t count = 0;
    struct dirent *entry;
    while (count < max && (entry = readdir(proc))) {
        pid_t pid;
        if (is_candidate(proc, entry->d_name, &pid) && proc_environ_has(pid, name, value))
            pids[count++] = pid;
    }
    return count;
}

/* A process that forks and ends while we look could be missed with its child: nobody was there only
 * if nobody was born meanwhile. */
size_t proc_find_by_environ(const char *name, const char *value, pid_t *pids, size_t max)
{
    size_t count = 0;
    long before = -1, after = last_pid();
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    for (int i = 0; i < SCANS && count == 0 && (i == 0 || before != after); i++) {
        before = after;
        rewinddir(proc);
        count = scan(proc, name, value, pids, max);
        after = last_pid();
    }
    closedir(proc);
    return count;
}

uint64_t proc_written(pid_t pid)
{
    static uint64_t unknown;
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    ssize_t n = read_file(path, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, "wchar: ");
    return at ? strtoull(at + strlen("wchar: "), NULL, 10) : ++unknown;
}

bool proc_is_descendant(pid_t pid)
{
    struct proc_stat stat;
    for (int i = 0; i < ANCESTORS && pid > 1; i++) {
        if (!proc_stat_read(&stat, pid))
            return false;
        if (stat.ppid == getpid())
            return true;
        pid = stat.ppid;
    }
    return false;
}

int proc_open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
}

int proc_peer_pidfd(int socket)
{
    int fd = -1;
    socklen_t bytes = sizeof fd;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &bytes) != 0)
        return -1;
    return fd;
}

struct process_end process_end_of_status(int status)
{
    struct process_end end = {"unknown", PROCESS_NOT_KNOWN, PROCESS_NOT_KNOWN};
    if (WIFEXITED(status)) {
        end.ended = "exit";
        end.exit_code = WEXITSTATUS(status);
    } else if (WIFSIGNALED(status)) {
        end.ended = "signal";
        end.signal = WTERMSIG(status);
    }
    return end;
}

static bool ask_pidfd(int pidfd, int *status)
{
    struct pidfd_information info = {.mask = PIDFD_INFORMATION_EXIT};
    if (pidfd < 0 || ioctl(pidfd, PIDFD_INFORMATION, &info) != 0)
        return false;
    *status = info.exit_code;
    return (info.mask & PIDFD_INFORMATION_EXIT) != 0;
}

static bool ask_zombie(const struct process *process, int *status)
{
    struct proc_stat stat;
    if (!proc_stat_read(&stat, process->pid) || stat.state != 'Z')
        return false;
    if (process->start_time != 0 && stat.start_time != process->start_time)
        return false;
    *status = stat.wait_status;
    return true;
}

struct process_end process_how_it_ended(const struct process *process)
{
    int status;
    if (ask_pidfd(process->pidfd, &status) || ask_zombie(process, &status) ||
        ask_pidfd(process->pidfd, &status))
        return process_end_of_status(status);
    return (struct process_end){"unknown", PROCESS_NOT_KNOWN, PROCESS_NOT_KNOWN};
}
