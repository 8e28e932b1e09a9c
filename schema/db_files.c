#include "db_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "db_internal.h"
#include "error.h"
#include "held.h"
#include "mem.h"

#define LOG_HEADER_BYTES 32
#define INDEX_HEADER_BYTES 96 /* twice the same: zeros, and the index is made anew */

static const char *const ends[] = {"-wal", "-shm"};
enum { LOG, INDEX };

void db_files_init(struct db_files *files)
{
    *files =
        (struct db_files){.file = -1, .log = -1, .index = -1, .index_writable = -1, .guard = -1};
}

static void let_go(int *held)
{
    if (*held >= 0)
        close(*held);
    *held = -1;
}

void db_files_close(struct db_files *files)
{
    db_guard_let_go(files->guard);
    files->guard = -1;
    let_go(&files->index_writable);
    let_go(&files->index);
    let_go(&files->log);
    let_go(&files->file);
    mem_free(files->path);
    files->path = NULL;
}

/* ---- holding ---- */

static bool beside(char name[PATH_MAX], const char *path, const char *end)
{
    int bytes = snprintf(name, PATH_MAX, "%s%s", path, end);
    return bytes > 0 && bytes < PATH_MAX;
}

/* Nobody locks the log: a descriptor that reads it may be closed. */
int db_files_hold(struct db *db)
{
    struct db_files *files = &db->files;
    char log[PATH_MAX], index[PATH_MAX];
    const char *path = sqlite3_db_filename(db->handle, "main");
    files->path = path && *path ? mem_copy(path, strlen(path)) : NULL;
    if (!files->path)
        return ERR_NOMEM;
    if (!beside(log, files->path, ends[LOG]) || !beside(index, files->path, ends[INDEX]))
        return ERR_LIMIT;
    files->file = held_open(files->path);
    files->log = files->file < 0 ? -1 : open(log, O_RDONLY | O_CLOEXEC);
    files->index = files->log < 0 ? -1 : held_open(index);
    if (files->index < 0) {
        int number = errno;
        db_files_close(files);
        db_say(db, ERR_DENIED, strerror(number));
        return base_err_from_errno(number);
    }
    files->guard = db_guard_index(files->index);
    db_files_measure(db);
    return 0;
}

void db_files_measure(struct db *db)
{
    struct db_files *files = &db->files;
    if (files->file < 0)
        return;
    int64_t file = held_bytes(files->file), log = held_bytes(files->log);
    files->file_least = file > files->file_least ? file : files->file_least;
    files->log_least = log;
    files->log_used = log >= LOG_HEADER_BYTES;
    db_guard_length(files->guard, held_bytes(files->index));
}

void db_files_forget_log(struct db *db)
{
    db->files.log_used = false;
}

/* ---- cut short ---- */

static bool has_log_header(int log)
{
    static const unsigned char magic[] = {0x37, 0x7f, 0x06};
    unsigned char head[4];
    return pread(log, head, sizeof head, 0) == (ssize_t)sizeof head &&
           memcmp(head, magic, sizeof magic) == 0;
}

static int say_cut(struct db *db, enum db_cut cut, int err)
{
    static const char *const words[] = {
        [DB_CUT_FILE] = "%s was cut short by another program",
        [DB_CUT_LOG] = "the log %s-wal was cut short by another program",
        [DB_CUT_INDEX] = "the log's index %s-shm was cut short by another program"};
    char text[sizeof db->message];
    db->files.cut = cut;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, words[cut], db->path);
#pragma GCC diagnostic pop
    db_say(db, err, text);
    return err;
}

bool db_index_was_cut(struct db *db)
{
    db->files.index_cut |= db_guard_was_cut(db->files.guard);
    return db->files.index_cut;
}

/* After the log or its index was found cut, outside of a transaction: the next statement reads the
 * log anew. */
static void make_index_anew(struct db *db)
{
    static const char zeros[INDEX_HEADER_BYTES];
    struct db_files *files = &db->files;
    char name[64];
    if (files->index_writable < 0) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", files->index);
        files->index_writable = open(name, O_RDWR | O_CLOEXEC);
    }
    if (files->index_writable >= 0 &&
        pwrite(files->index_writable, zeros, sizeof zeros, 0) == (ssize_t)sizeof zeros)
        files->index_cut = false;
}

int db_files_check(struct db *db)
{
    struct db_files *files = &db->files;
    if (files->file < 0)
        return 0;
    if (files->cut == DB_CUT_FILE || held_bytes(files->file) < files->file_least)
        return say_cut(db, DB_CUT_FILE, ERR_CORRUPT);
    if (files->log_used &&
        (held_bytes(files->log) < files->log_least || !has_log_header(files->log)))
        return say_cut(db, DB_CUT_LOG, ERR_CORRUPT);
    if (db_index_was_cut(db) && !db_in_transaction(db))
        make_index_anew(db);
    return files->index_cut ? say_cut(db, DB_CUT_INDEX, ERR_BUSY) : 0;
}

enum db_cut db_cut(struct db *db)
{
    (void)db_files_check(db);
    return db->files.cut;
}

void db_salvage_log(struct db *db)
{
    if (db->files.cut != DB_CUT_LOG)
        return;
    db->files.cut = DB_CUT_NONE;
    make_index_anew(db);
    db_files_forget_log(db);
    db->log_bytes = 0;
}

/* ---- names that changed hands ---- */

/* What a held file is called now; it was made as `path` with this end. */
static bool find_name(int held, const char *path, const char *end, struct buf *now)
{
    char old[PATH_MAX];
    if (!beside(old, path, end))
        return false;
    held_fate(held, old, now);
    return now->count > 0 && !now->broken;
}

static void remove_held(int held, const char *path, const char *end)
{
    struct buf now = {0};
    if (find_name(held, path, end, &now))
        unlink(buf_string(&now));
    buf_clear(&now);
}

static void free_name(const char *to, const char *end, int unless)
{
    char name[PATH_MAX];
    if (beside(name, to, end) && !held_is_at(unless, name))
        unlink(name);
}

static bool put_beside(int held, const char *path, const char *end, const char *to)
{
    struct buf now = {0};
    char name[PATH_MAX];
    bool there = beside(name, to, end) &&
                 (held_is_at(held, name) ||
                  (find_name(held, path, end, &now) && rename(buf_string(&now), name) == 0));
    buf_clear(&now);
    return there;
}

/* The file is at `to`. What lies beside it and is not ours belongs to a file that had the name
 * before, which somebody may still write, or was made by a reader that came by the new name. SQLite
 * would join it to ours: it goes, also where ours cannot take its place. The index names what is in
 * our log: without that it stays where it is. */
static void take_along(const struct db_files *files, const char *path, const char *to)
{
    char log[PATH_MAX];
    if (!beside(log, to, ends[LOG]))
        return;
    if (!held_is_at(files->log, log)) {
        free_name(to, ends[INDEX], files->index);
        free_name(to, ends[LOG], files->log);
        free_name(to, "-journal", -1);
    }
    if (put_beside(files->log, path, ends[LOG], to))
        (void)put_beside(files->index, path, ends[INDEX], to);
}

bool db_files_in_place(const struct db_files *files)
{
    return files->file < 0 || held_is_at(files->file, files->path);
}

void db_files_follow(const struct db_files *files)
{
    struct buf now = {0};
    if (!db_files_in_place(files) && held_fate(files->file, files->path, &now) == HELD_MOVED &&
        now.count > 0 && !now.broken)
        take_along(files, files->path, buf_string(&now));
    buf_clear(&now);
}

/* What lay beside the old name is gone: whatever lies beside this one is not ours. */
static bool end_log_at(const char *path)
{
    struct db *db = NULL;
    db_remove_beside(path);
    int err = db_connect(&db, path, SQLITE_OPEN_READWRITE, false);
    if (err == 0)
        err = db_exec(db, "PRAGMA synchronous=FULL");
    if (err == 0)
        err = db_single_file(db);
    db_close(db);
    return err == 0;
}

bool db_end_elsewhere(const struct db_files *files)
{
    struct buf now = {0};
    const char *path = files->path;
    bool whole = files->elsewhere;
    enum held_fate fate = held_fate(files->file, path, &now);
    bool named = now.count > 0 && !now.broken;
    if (fate == HELD_REMOVED || whole) {
        remove_held(files->log, path, ends[LOG]);
        remove_held(files->index, path, ends[INDEX]);
    } else if (named) {
        take_along(files, path, buf_string(&now));
    }
    if (fate == HELD_MOVED && whole && named)
        whole = end_log_at(buf_string(&now));
    buf_clear(&now);
    return whole && fate != HELD_REMOVED;
}
