/*
 * db_shrink.c - the file without the pages that hold nothing: its rows are written into another
 * file, which then takes its name. Whenever this ends half-way, the old file is as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db_internal.h"
#include "error.h"

static int failed(struct db *db, int number)
{
    int err = base_err_from_errno(number);
    db_say(db, err, strerror(number));
    return err;
}

/* A log that could not be removed belongs to the old file: beside another one it would be read,
 * too. */
static bool has_log(const struct db *db)
{
    static const char *const ends[] = {"-wal", "-journal"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(path, sizeof path, "%s%s", db->path, ends[i]);
        if (access(path, F_OK) == 0 || errno != ENOENT)
            return true;
    }
    return false;
}

/* SQLite takes an empty file for a new one: so it has our mode. */
static int create_beside(struct db *db, const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int number = errno;
    if (file < 0)
        return failed(db, number);
    (void)!fchmod(file, 0600); /* whatever the umask is */
    close(file);
    return 0;
}

static int write_into(struct db *db, const char *path)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, "VACUUM INTO ?1");
    if (err < 0)
        return err;
    db_bind_text(stmt, 0, path, -1);
    err = db_run(stmt);
    db_finalize(stmt);
    return err;
}

int db_shrink(struct db *db)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s-shrunk", db->path) >= sizeof path)
        return failed(db, ENAMETOOLONG);
    if (has_log(db) || db->files.elsewhere)
        return failed(db, EBUSY);
    int err = create_beside(db, path);
    if (err < 0)
        return err;
    err = write_into(db, path);
    if (err == 0 && !db_files_in_place(&db->files))
        err = failed(db, ENOENT); /* the name is another file's by now */
    if (err == 0 && rename(path, db->path) != 0)
        err = failed(db, errno);
    if (err < 0)
        unlink(path);
    else
        db_files_close(&db->files); /* the name is given to the new one by ourselves */
    return err;
}
