/* attach_site.c - see attach_site.h. */
#include "attach_site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

#define PREFIX "tidemark-attach-"
#define SUFFIX_BYTES 7 /* of mkdtemp, with the dash */

/* In a folder; the second is what the script writes before it renames it. */
static const char *const files[] = {"attach.py", "answer.new", "answer"};

struct identity {
    pid_t pid;
    uint64_t start_time;
};

struct owner {
    uint64_t namespace;
    struct identity command, program;
};

static uint64_t pid_namespace(void)
{
    struct stat about;
    return stat("/proc/self/ns/pid", &about) == 0 ? (uint64_t)about.st_ino : 0;
}

static bool lives(const struct identity *process)
{
    struct proc_stat stat;
    return proc_stat_read(&stat, process->pid) && !strchr("ZX", stat.state) &&
           stat.start_time == process->start_time;
}

bool attach_site_make(struct attach_site *site, const struct armed *program)
{
    struct proc_stat own;
    if (!proc_stat_read(&own, getpid()))
        return false;
    snprintf(site->folder, sizeof site->folder,
             "/tmp/" PREFIX "%" PRIu64 ".%d.%" PRIu64 ".%d.%" PRIu64 "-XXXXXX", pid_namespace(),
             (int)getpid(), own.start_time, (int)program->pid, program->start_time);
    if (!mkdtemp(site->folder))
        return false;
    snprintf(site->script, sizeof site->script, "%s/%s", site->folder, files[0]);
    snprintf(site->answer, sizeof site->answer, "%s/%s", site->folder, files[2]);
    return true;
}

bool attach_site_write(const struct attach_site *site, const char *text, size_t bytes)
{
    int fd = open(site->script, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes;
    if (fd >= 0)
        written = close(fd) == 0 && written;
    return written;
}

bool attach_site_answer(const struct attach_site *site, char text[ATTACH_ANSWER])
{
    int fd = open(site->answer, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, ATTACH_ANSWER - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

void attach_site_empty(const struct attach_site *site)
{
    int fd = open(site->script, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0)
        close(fd);
}

/* ---- removing ---- */

static void remove_folder(int parent, const char *name, int folder)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlinkat(folder, files[i], 0);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void attach_site_remove(const struct attach_site *site)
{
    int folder = open(site->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    remove_folder(AT_FDCWD, site->folder, folder);
    close(folder);
}

static bool read_owner(const char *name, struct owner *out)
{
    int end = 0;
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
           sscanf(name + strlen(PREFIX), "%" SCNu64 ".%d.%" SCNu64 ".%d.%" SCNu64 "%n",
                  &out->namespace, &out->command.pid, &out->command.start_time, &out->program.pid,
                  &out->program.start_time, &end) == 5 &&
           strlen(name) == strlen(PREFIX) + (size_t)end + SUFFIX_BYTES;
}

static bool is_over(const struct owner *owner, const struct armed *program, int folder)
{
    bool answered = faccessat(folder, files[2], F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    bool later = program && program->pid == owner->program.pid &&
                 program->start_time == owner->program.start_time;
    return !lives(&owner->command) && (answered || later || !lives(&owner->program));
}

static void look_at(int parent, const char *name, const struct armed *program)
{
    struct owner owner;
    struct stat about;
    if (!read_owner(name, &owner) || owner.namespace != pid_namespace())
        return;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    if (fstat(folder, &about) == 0 && about.st_uid == geteuid() && is_over(&owner, program, folder))
        remove_folder(parent, name, folder);
    close(folder);
}

void attach_site_sweep(const struct armed *program)
{
    DIR *folder = opendir("/tmp");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        look_at(dirfd(folder), entry->d_name, program);
    if (folder)
        closedir(folder);
}
