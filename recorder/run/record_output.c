#include "record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "db.h"
#include "error.h"
#include "mem.h"

#define COPY_BYTES (1u << 20)

bool record_output_is_remote(unsigned long type)
{
    static const unsigned long remote[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x01021997, /* 9p */
        0x65735546, /* FUSE: sshfs, gcsfuse, ... */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x00c36400, /* CephFS */
        0x5346414f, /* AFS */
        0x6b414653, /* kAFS */
        0x19830326, /* BeeGFS */
        0x7461636f, /* OCFS2 */
        0x01161970, /* GFS2 */
        0xaad7aaea, /* PanFS */
        0x73757245, /* Coda */
    };
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if (remote[i] == (type & 0xffffffff))
            return true;
    return false;
}

static void folder_of(const char *path, char *folder, size_t room)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(folder, room, ".");
    else
        snprintf(folder, room, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* A file that can be made and is removed again: so a wrong name is known before anything starts. */
static int try_to_create(const char *path, struct buf *why)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        buf_print(why, "%s exists already: choose another name with -o", path);
        return ERR_EXISTS;
    }
    if (fd < 0) {
        int number = errno;
        buf_print(why, "cannot create %s: %s", path, strerror(number));
        return base_err_from_errno(number);
    }
    close(fd);
    unlink(path);
    return BASE_OK;
}

static int stage(struct record_output *output, struct buf *why)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    int n = snprintf(output->work, sizeof output->work, "%s/tidemark-recording-%ld.db", folder,
                     (long)getpid());
    output->staged = true;
    if (n < 0 || (size_t)n >= sizeof output->work) {
        buf_text(why, "TMPDIR is too long");
        return ERR_LIMIT;
    }
    return try_to_create(output->work, why);
}

int record_output_choose(struct record_output *output, const char *name, bool stage_it,
                         struct buf *why)
{
    char stamp[64], folder[PATH_MAX];
    struct statfs about;
    time_t now = time(NULL);
    struct tm local;
    *output = (struct record_output){0};
    if (!name) {
        localtime_r(&now, &local);
        size_t n = strftime(stamp, sizeof stamp, "tidemark.%Y%m%d-%H%M%S-", &local);
        snprintf(stamp + n, sizeof stamp - n, "%ld.db", (long)getpid());
        name = stamp;
    }
    if (!*name || strlen(name) + sizeof "-journal" > sizeof output->wanted) {
        buf_text(why,
                 *name ? "the name of the output file is too long" : "the output file has no name");
        return ERR_ARG;
    }
    snprintf(output->wanted, sizeof output->wanted, "%s", name);
    int err = try_to_create(output->wanted, why);
    if (err)
        return err;
    folder_of(output->wanted, folder, sizeof folder);
    bool remote =
        statfs(folder, &about) == 0 && record_output_is_remote((unsigned long)about.f_type);
    if (stage_it || remote)
        return stage(output, why);
    snprintf(output->work, sizeof output->work, "%s", output->wanted);
    return BASE_OK;
}

static int write_all(int fd, const char *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t wrote = write(fd, bytes + done, count - done);
        if (wrote < 0 && errno != EINTR)
            return -1;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

static int copy_file(const char *from, const char *to)
{
    char *room = mem_alloc(1, COPY_BYTES);
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = in < 0 ? -1 : open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    ssize_t n = -1;
    if (out >= 0)
        (void)!fchmod(out, 0600); /* whatever the umask is */
    if (out >= 0 && room)
        while ((n = read(in, room, COPY_BYTES)) > 0)
            if (write_all(out, room, (size_t)n) != 0)
                break;
    int failed = n != 0 || fsync(out) != 0;
    int number = errno;
    if (out >= 0 && close(out) != 0 && !failed) {
        failed = 1;
        number = errno;
    }
    if (in >= 0)
        close(in);
    if (out >= 0 && failed)
        unlink(to);
    mem_free(room);
    errno = number;
    return failed ? -1 : 0;
}

/* link() refuses a name that somebody took meanwhile; rename() is for file systems without it. What
 * lies beside the name belongs to a former file: it would be read with this one. */
static int put_in_place(const char *part, const char *wanted)
{
    bool linked = link(part, wanted) == 0;
    if (!linked && (errno == EEXIST || access(wanted, F_OK) == 0)) {
        errno = EEXIST;
        return -1;
    }
    if (!linked && rename(part, wanted) != 0)
        return -1;
    db_remove_beside(wanted);
    return linked ? unlink(part) : 0;
}

int record_output_move(const struct record_output *output, struct buf *why)
{
    char part[PATH_MAX + 8];
    if (!output->staged)
        return BASE_OK;
    snprintf(part, sizeof part, "%s.part", output->wanted);
    if (copy_file(output->work, part) == 0 && put_in_place(part, output->wanted) == 0) {
        unlink(output->work);
        return BASE_OK;
    }
    int number = errno;
    unlink(part);
    buf_print(why, "could not move the recording to %s (%s): it is in %s", output->wanted,
              strerror(number), output->work);
    return base_err_from_errno(number);
}

void record_output_discard(const struct record_output *output)
{
    unlink(output->work);
    db_remove_beside(output->work);
}
