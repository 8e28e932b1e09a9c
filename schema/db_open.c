/*
 * db_open.c - opening a recording without believing it.
 *
 * SQLite opens the file, and its header is looked at (db_head.c); then one query over the schema
 * makes SQLite look at the file's size, its log and its first page. Its views are not believed at
 * all (db_own.c).
 *
 * Reading beside a recorder needs the shared index (-shm) of the log. Where it cannot be made, in a
 * read-only directory, a file whose log is gone or empty is complete in itself and is opened as
 * immutable; a file that has a log cannot be read there, and the message says so.
 */
#include "db_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "buf.h"
#include "error.h"

#define MAKING_ROUNDS 100 /* of 10 ms */
#define IDLE_MOST 160     /* statements of a reader that are kept: all that a report has */

static int check_kind(const char *path)
{
    struct stat info;
    if (stat(path, &info) < 0) {
        int number = errno;
        return db_refuse(path, base_err_from_errno(number), ": %s", strerror(number));
    }
    if (S_ISDIR(info.st_mode))
        return db_refuse_foreign(path, "a directory");
    if (!S_ISREG(info.st_mode))
        return db_refuse_foreign(path, "not a regular file");
    return 0;
}

/* A recorder makes the file in one transaction (db_create.c), and finishes it in another:
 * milliseconds in which it is not yet what it will be. A journal that stays was left by a death. */
static void await_whole(const char *path)
{
    static const struct timespec round = {.tv_nsec = 10 * 1000000};
    struct buf journal = {0};
    buf_print(&journal, "%s-journal", path);
    for (int i = 0; !journal.broken && i < MAKING_ROUNDS; i++) {
        if (access(buf_string(&journal), F_OK) != 0)
            break;
        nanosleep(&round, NULL);
    }
    buf_clear(&journal);
}

/* What every report relies on; also the first query, which makes SQLite look at file and log. */
static int check_tables(struct db *db)
{
    static const char query[] =
        "SELECT count(*) FROM sqlite_master WHERE type='table' AND name IN "
        "('meta','process','device','heap','phase','phase_device','stretch','allocation',"
        "'keyframe','curve')";
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, query);
    if (err == 0)
        err = db_step(stmt);
    if (err == DB_ROW && db_column_int(stmt, 0) != 10) {
        db_say(db, ERR_CORRUPT, "tables of a recording are missing");
        err = ERR_CORRUPT;
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* A file may be damaged on purpose: it gets no functions with effects, and no benefit of doubt. */
static int harden(struct db *db)
{
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
#endif
    db->idle_most = IDLE_MOST;
    return db_exec(db, "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;"
                       "PRAGMA cache_size=-16384;");
}

static int close_doors(struct db *db)
{
    int err = db_exec(db, "PRAGMA query_only=ON");
    return err < 0 ? err : db_guard(db);
}

/* *out is set even if this fails, unless there is no memory. *no_log: the file itself is fine, but
 * the index of its log could not be made. */
static int open_as(struct db **out, const char *path, bool own, bool immutable, bool *no_log)
{
    *no_log = false;
    int err = db_connect(out, path, SQLITE_OPEN_READONLY, immutable);
    if (err < 0)
        return db_refuse(path, err, ": %s", *out ? db_message(*out) : base_err_text(err));
    err = db_check_head(*out);
    if (err < 0)
        return err;
    err = harden(*out);
    if (err == 0)
        err = check_tables(*out);
    if (err == 0 && own)
        err = db_own(*out);
    if (err == 0)
        err = close_doors(*out);
    /* This query only reads: "read-only" is said of the files beside the database. */
    int code = sqlite3_errcode((*out)->handle) & 0xff;
    *no_log = err < 0 && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY);
    if (err == ERR_CORRUPT || err == ERR_ARG) /* our own query is not wrong, so the schema is */
        return db_refuse(path, ERR_CORRUPT, " is damaged: %s", db_message(*out));
    return err < 0 ? db_refuse(path, err, ": %s", db_message(*out)) : 0;
}

static int open_reading(struct db **out, const char *path, bool own)
{
    struct db *db = NULL;
    bool no_log = false;
    *out = NULL;
    db_refuse_nothing();
    int err = check_kind(path);
    if (err < 0)
        return err;
    await_whole(path);
    err = open_as(&db, path, own, false, &no_log);
    if (err < 0 && no_log && db_log_is_empty(path)) {
        db_close(db);
        err = open_as(&db, path, own, true, &no_log);
    } else if (err < 0 && no_log) {
        err =
            db_refuse(path, ERR_DENIED,
                      ": its log, %s-wal, can only be read where files can be made beside it: copy "
                      "both to such a directory",
                      path);
    }
    if (err < 0) {
        db_close(db);
        return err;
    }
    *out = db;
    return 0;
}

int db_open(struct db **out, const char *path)
{
    return open_reading(out, path, true);
}

int db_open_as_it_is(struct db **out, const char *path)
{
    return open_reading(out, path, false);
}
