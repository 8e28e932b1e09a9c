#include "newest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "query.h"

static const char prefix[] = "tidemark.", suffix[] = ".db";

static bool has_our_name(const char *name)
{
    size_t n = strlen(name), least = sizeof prefix - 1 + sizeof suffix - 1;
    return n > least && strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           strcmp(name + n - (sizeof suffix - 1), suffix) == 0;
}

static bool has_any_name(const char *name)
{
    size_t n = strlen(name);
    return *name != '.' && n > sizeof suffix - 1 &&
           strcmp(name + n - (sizeof suffix - 1), suffix) == 0;
}

/* When the recording began, on the calendar. */
static int read_start(const char *path, int64_t *real_ns)
{
    struct db *db = NULL;
    int err = db_open(&db, path);
    if (err < 0)
        return err;
    err = query_first(db, "SELECT real_ns - run_ns AS real_ns FROM clock ORDER BY run_ns LIMIT 1",
                      Q_NOTHING, Q_OUT(Q_INT(*real_ns)));
    db_close(db);
    return err == DB_DONE ? ERR_NOTFOUND : err;
}

static int64_t read_mtime(const char *path)
{
    struct statx info;
    if (statx(AT_FDCWD, path, 0, STATX_MTIME, &info) < 0)
        return INT64_MIN;
    return info.stx_mtime.tv_sec * INT64_C(1000000000) + info.stx_mtime.tv_nsec;
}

struct best {
    char *path; /* NULL = none yet */
    int64_t at_ns;
    size_t count; /* of those that it was chosen from */
};

static int consider(struct best *best, const char *folder, const char *name)
{
    struct buf path = {0};
    int64_t at_ns = INT64_MIN;
    if (strcmp(folder, ".") != 0)
        buf_print(&path, "%s/", folder);
    buf_text(&path, name);
    if (path.broken)
        return ERR_NOMEM;
    int err = read_start(path.data, &at_ns);
    if (err == ERR_NOTOURS || err == ERR_NOMEM) {
        buf_clear(&path);
        return err == ERR_NOMEM ? err : 0;
    }
    if (err < 0)
        at_ns = read_mtime(path.data);
    best->count++;
    /* Of two that began at once, the name decides, so that the answer is always the same. */
    bool later = !best->path || at_ns > best->at_ns ||
                 (at_ns == best->at_ns && strcmp(path.data, best->path) > 0);
    if (later) {
        mem_free(best->path);
        best->path = path.data;
        best->at_ns = at_ns;
    } else {
        buf_clear(&path);
    }
    return 0;
}

static int find(const char *folder, bool (*is_wanted)(const char *name), char **path, size_t *count)
{
    struct best best = {0};
    struct dirent *entry;
    int err = 0;
    *path = NULL;
    *count = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return base_err_from_errno(errno);
    while (err == 0 && (entry = readdir(dir)))
        if (is_wanted(entry->d_name))
            err = consider(&best, folder, entry->d_name);
    closedir(dir);
    if (err < 0) {
        mem_free(best.path);
        return err;
    }
    *path = best.path;
    *count = best.count;
    return best.path ? 0 : ERR_NOTFOUND;
}

int newest_recording(const char *folder, char **path)
{
    size_t count;
    return find(folder, has_our_name, path, &count);
}

int newest_of_any_name(const char *folder, char **path, size_t *count)
{
    return find(folder, has_any_name, path, count);
}
