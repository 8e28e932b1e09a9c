/*
 * db_head.c - what a file says of itself before any table is read: its first page's header.
 *
 * It is read through SQLite's own file object: a descriptor of our own would, when closed, drop the
 * locks that this process may hold on the same file. Only a header with our application_id is
 * believed.
 */
#include "db_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "buf.h"
#include "error.h"
#include "foreign.h"
#include "mem.h"
#include "older.h"
#include "pages.h"

/* Places in the header of an SQLite file, fixed by its format. */
enum {
    PAGE_BYTES = 4096, /* of recordings */
    HEADER_BYTES = 100,
    AT_PAGE_BYTES = 16,   /* two bytes; 1 means 65536 */
    AT_READ_VERSION = 19, /* 2: it has a log */
    AT_PAGE_COUNT = 28,
    AT_USER_VERSION = 60,
    AT_APPLICATION_ID = 68
};

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The first bytes of the file, read through SQLite. Returns how many, or an error. */
static int read_head(struct db *db, unsigned char *head, int64_t *file_bytes)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 bytes = 0;
    int code = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods)
        return ERR_IO;
    if (file->pMethods->xFileSize(file, &bytes) != SQLITE_OK)
        return ERR_IO;
    *file_bytes = bytes;
    int count = bytes < FOREIGN_HEAD_BYTES ? (int)bytes : FOREIGN_HEAD_BYTES;
    if (count > 0 && file->pMethods->xRead(file, head, count, 0) != SQLITE_OK)
        return ERR_IO;
    return count;
}

static bool has_table(struct db *db, const char *name)
{
    struct db_stmt *stmt = NULL;
    bool found = false;
    if (db_prepare(db, &stmt, "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?1") == 0) {
        db_bind_text(stmt, 0, name, -1);
        found = db_step(stmt) == DB_ROW;
    }
    db_finalize(stmt);
    return found;
}

static int refuse_database(struct db *db, const unsigned char *head)
{
    if (has_table(db, "StringIds") &&
        (has_table(db, "META_DATA_EXPORT") || has_table(db, "EXPORT_META_DATA") ||
         has_table(db, "TARGET_INFO_SYSTEM_ENV")))
        return db_refuse_foreign(db->path, "an SQLite export of Nsight Systems");
    return db_refuse_foreign(db->path, foreign_describe(head, 16));
}

static int refuse_headless(struct db *db, const unsigned char *head, size_t count,
                           int64_t file_bytes)
{
    const char *what = foreign_describe(head, count);
    if (file_bytes > 0 && file_bytes % PAGE_BYTES == 0 && foreign_is_nameless(head, count))
        return db_refuse_headless(db->path, what);
    return db_refuse_foreign(db->path, what);
}

static bool is_empty(const char *name)
{
    struct stat info;
    return stat(name, &info) < 0 ? errno == ENOENT : info.st_size == 0;
}

bool db_log_is_empty(const char *path)
{
    struct buf name = {0};
    pages_log_name(path, &name);
    bool empty = !name.broken && is_empty(buf_string(&name));
    buf_clear(&name);
    return empty;
}

const char *db_missing_log(const struct db *db)
{
    return db->log_name && is_empty(db->log_name) ? db->log_name : NULL;
}

static int keep_log_name(struct db *db, const unsigned char *head)
{
    struct buf name = {0};
    if (head[AT_READ_VERSION] != 2)
        return 0;
    pages_log_name(db->path, &name);
    db->log_name = name.broken ? NULL : name.data;
    if (name.broken)
        buf_clear(&name);
    return db->log_name ? 0 : ERR_NOMEM;
}

/* SQLite overlooks a cut inside the last page. While there is a log, a checkpoint may be half done
 * and the header ahead of the file. */
static int check_length(struct db *db, const unsigned char *head, int64_t file_bytes)
{
    int64_t page_bytes = (int64_t)head[AT_PAGE_BYTES] << 8 | head[AT_PAGE_BYTES + 1];
    int64_t want = (page_bytes == 1 ? 65536 : page_bytes) * big_endian(head + AT_PAGE_COUNT);
    if (file_bytes < want && db_log_is_empty(db->path))
        return db_refuse(
            db->path, ERR_CORRUPT, " is damaged: it has %" PRId64 " bytes of %" PRId64 "%s%s%s",
            file_bytes, want, db->log_name ? ", and its log, " : "",
            db->log_name ? db->log_name : "", db->log_name ? ", is missing or empty" : "");
    return 0;
}

int db_check_head(struct db *db)
{
    unsigned char head[FOREIGN_HEAD_BYTES] = {0};
    int64_t file_bytes = 0;
    int count = read_head(db, head, &file_bytes);
    if (count < 0)
        return db_refuse(db->path, count, ": cannot be read: %s",
                         strerror(db_last_errno(db->handle)));
    if (!foreign_is_sqlite(head, (size_t)count))
        return refuse_headless(db, head, (size_t)count, file_bytes);
    if (count < HEADER_BYTES)
        return db_refuse(db->path, ERR_CORRUPT, " is damaged: it ends inside its header");
    if (big_endian(head + AT_APPLICATION_ID) != DB_APPLICATION_ID)
        return refuse_database(db, head);
    uint32_t version = big_endian(head + AT_USER_VERSION);
    if (version > DB_VERSION)
        return db_refuse(db->path, ERR_NEWER,
                         " was made by a newer Tidemark: its format is %" PRIu32
                         ", this command knows formats up to %d",
                         version, DB_VERSION);
    if (version == 0)
        return db_refuse(db->path, ERR_CORRUPT, " is damaged: it has no format version");
    if (version < OLDER_FIRST)
        return db_refuse(db->path, ERR_NEWER,
                         " was made by a Tidemark before its first release: its format is %" PRIu32
                         ", this command reads formats from %d on",
                         version, OLDER_FIRST);
    db->version = version;
    int err = keep_log_name(db, head);
    if (err < 0)
        return db_refuse(db->path, err, ": %s", base_err_text(err));
    return check_length(db, head, file_bytes);
}
