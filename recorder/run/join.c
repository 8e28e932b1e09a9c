#include "join.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "become.h"
#include "db.h"
#include "error.h"
#include "query.h"

#define NAME "@tidemark-"
#define SOCKETS 64
#define LISTENS 0x10000u /* of the flags in /proc/net/unix */

_Static_assert(JOIN_NAME == 64, "as sscanf has it");

/* What a recorder has open. */
struct opened {
    unsigned long sockets[SOCKETS]; /* inodes */
    size_t count;
    bool database;
};

static bool say_no(struct buf *why, const char *database, const char *text)
{
    buf_print(why, "no recorder runs on %s%s", database, text);
    return false;
}

/* 0 or an error. */
static int read_meta(const char *path, int64_t *finished, int64_t *recorder)
{
    struct db *db = NULL;
    int err = db_open(&db, path);
    if (err < 0)
        return err;
    err =
        query_read(db,
                   "SELECT max(CASE key WHEN 'finished' THEN value END) AS finished,"
                   "       max(CASE key WHEN 'recorder_pid' THEN value END) AS recorder FROM meta",
                   Q_NOTHING, Q_OUT(Q_INT(*finished), Q_INT(*recorder)));
    db_close(db);
    return err < 0 ? err : 0;
}

static void see_one(const struct join *join, int folder, const char *name, struct opened *out)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(folder, name, target, sizeof target - 1);
    if (n <= 0)
        return;
    target[n] = '\0';
    out->database = out->database || strcmp(target, join->database) == 0;
    if (out->count < SOCKETS && sscanf(target, "socket:[%lu]", &out->sockets[out->count]) == 1)
        out->count++;
}

static void see_opened(const struct join *join, struct opened *out)
{
    char path[64];
    struct dirent *entry;
    *out = (struct opened){.count = 0};
    snprintf(path, sizeof path, "/proc/%d/fd", (int)join->recorder);
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder)))
        see_one(join, dirfd(folder), entry->d_name, out);
    if (folder)
        closedir(folder);
}

static bool has(const struct opened *opened, unsigned long inode)
{
    for (size_t i = 0; i < opened->count; i++)
        if (opened->sockets[i] == inode)
            return true;
    return false;
}

/* The abstract name under which it listens. */
static bool find_name(struct join *join, const struct opened *opened)
{
    char line[512], name[JOIN_NAME + 2];
    unsigned flags;
    unsigned long inode;
    bool found = false;
    FILE *list = fopen("/proc/net/unix", "re");
    while (list && !found && fgets(line, sizeof line, list)) {
        if (sscanf(line, "%*s %*s %*s %x %*s %*s %lu %65s", &flags, &inode, name) != 3 ||
            !(flags & LISTENS) || strncmp(name, NAME, strlen(NAME)) != 0 || !has(opened, inode) ||
            strlen(name) > JOIN_NAME)
            continue;
        memcpy(join->socket, name + 1, strlen(name));
        found = true;
    }
    if (list)
        fclose(list);
    return found;
}

bool join_find(struct join *out, const char *database, struct buf *why)
{
    int64_t finished = 0, recorder = 0;
    struct opened opened;
    if (!realpath(database, out->database)) {
        buf_print(why, "%s: %s", database, strerror(errno));
        return false;
    }
    int err = read_meta(out->database, &finished, &recorder);
    if (err == ERR_NOTOURS)
        return say_no(why, database, ": it is no recording");
    if (err < 0)
        return say_no(why, database, ": it cannot be read");
    if (finished)
        return say_no(why, database, ": it is finished");
    out->recorder = recorder > 0 && recorder <= INT32_MAX ? (pid_t)recorder : 0;
    see_opened(out, &opened);
    if (!out->recorder || !opened.database)
        return say_no(why, database, "");
    if (!find_name(out, &opened))
        return say_no(why, database, " in this network namespace");
    return true;
}

int join_become(const struct record_options *options, const struct join *join, struct buf *why)
{
    const struct launch_words words = {.socket = join->socket, .recording = join->database};
    return become(options, &words, NULL, why);
}
