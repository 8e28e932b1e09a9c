/*
 * db_create.c - a new recording: the file, its schema and its log.
 */
#include "db_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "error.h"

/* Knows how long the log is without asking the file system; SQLite's own automatic checkpoint is
 * this same hook, so it is off: the writer chooses the moment. */
static int after_commit(void *context, sqlite3 *handle, const char *name, int pages)
{
    struct db *db = context;
    (void)handle;
    (void)name;
    db->log_bytes = (uint64_t)pages * db->page_bytes;
    return SQLITE_OK;
}

/* Pages of 4 KiB: an UPDATE of an old row writes its whole page to the log, and larger pages save
 * less than a byte a row. synchronous=OFF: a commit survives the death of every process, not of the
 * machine; waiting for the disk would, when it is slow, cost the recorded program events. What is
 * finished is synced (db_single_file). secure_delete: Debian's SQLite overwrites what is deleted
 * unless told otherwise. journal_size_limit: after a reader held the log for long, it shrinks
 * again. */
static const char settings_before[] = "PRAGMA page_size=4096;"
                                      "PRAGMA secure_delete=OFF;"
                                      "PRAGMA synchronous=OFF;"
                                      "PRAGMA temp_store=MEMORY;"
                                      "PRAGMA cache_size=-16384;"
                                      "PRAGMA journal_size_limit=67108864;"
                                      "PRAGMA recursive_triggers=OFF;";

/* The schema and the two numbers that make the file ours appear in one transaction, before the log
 * is turned on: whoever opens the file sees either an empty one or a whole recording. */
static int write_schema(struct db *db)
{
    char numbers[96];
    snprintf(numbers, sizeof numbers, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
             DB_APPLICATION_ID, DB_VERSION);
    int err = db_exec(db, settings_before);
    if (err == 0)
        err = db_begin(db);
    if (err == 0)
        err = db_exec(db, numbers);
    if (err == 0)
        err = db_exec(db, sch_text());
    if (err == 0)
        err = db_commit(db);
    if (err == 0)
        err = db_exec(db, "PRAGMA journal_mode=WAL;");
    return err;
}

static int read_page_bytes(struct db *db)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, "PRAGMA page_size");
    if (err == 0)
        err = db_step(stmt);
    if (err == DB_ROW)
        db->page_bytes = (unsigned)db_column_int(stmt, 0);
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

void db_remove_beside(const char *path)
{
    static const char *const ends[] = {"-journal", "-wal", "-shm"};
    char name[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

/* A file that was not finished, and what SQLite may have left beside it. */
static void remove_file(const char *path)
{
    unlink(path);
    db_remove_beside(path);
}

/* What lies beside a name that was free belongs to a file that had it before: SQLite would take it
 * for ours. Whoever still writes or reads that file has it open, and needs no name. A umask does
 * not take the file from its owner. */
static int create_file(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || fchmod(file, 0600) != 0) {
        int number = errno;
        if (file >= 0) {
            close(file);
            unlink(path);
        }
        return db_refuse(path, base_err_from_errno(number), ": %s", strerror(number));
    }
    close(file);
    db_remove_beside(path);
    return 0;
}

int db_create(struct db **out, const char *path)
{
    struct db *db = NULL;
    *out = NULL;
    int err = create_file(path);
    if (err < 0)
        return err;
    err = db_connect(&db, path, SQLITE_OPEN_READWRITE, false);
    if (err == 0)
        err = write_schema(db);
    if (err == 0)
        err = read_page_bytes(db);
    if (err == 0)
        err = db_exec(db, "PRAGMA schema_version"); /* which opens the log and its index */
    if (err == 0)
        err = db_files_hold(db);
    if (err < 0) {
        db_refuse(path, err, ": %s", db ? db_message(db) : base_err_text(err));
        db_close(db);
        remove_file(path); /* ours: O_EXCL made it */
        return err;
    }
    sqlite3_wal_hook(db->handle, after_commit, db);
    *out = db;
    return 0;
}
