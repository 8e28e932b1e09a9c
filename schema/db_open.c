/*
 * db_open.c - creating a recording, and opening one without believing it.
 *
 * How a file is opened. SQLite opens it, and the first page's header is read through SQLite's own
 * file object: a descriptor of our own would, when closed, drop the locks that this process may
 * hold on the same file. Only a header with our application_id is believed; then one query over the
 * schema makes SQLite look at the file's size, its log and its first page. Its views are not
 * believed at all (db_own.c).
 *
 * Reading beside a recorder needs the shared index (-shm) of the log. Where it cannot be made, in a
 * read-only directory, a file whose log is gone or empty is complete in itself and is opened as
 * immutable; a file that has a log cannot be read there, and the message says so.
 */
#include "db_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "buf.h"
#include "error.h"
#include "foreign.h"
#include "mem.h"
#include "older.h"
#include "pages.h"

#define IDLE_MOST 160 /* statements of a reader that are kept: all that a report has */

/* Places in the header of an SQLite file, fixed by its format. */
enum {
    HEADER_BYTES = 100,
    AT_PAGE_BYTES = 16,   /* two bytes; 1 means 65536 */
    AT_READ_VERSION = 19, /* 2: it has a log */
    AT_PAGE_COUNT = 28,
    AT_USER_VERSION = 60,
    AT_APPLICATION_ID = 68
};

static _Thread_local char open_message[PATH_MAX + 512];

const char *db_open_message(void)
{
    return open_message;
}

static int refuse(const char *path, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const char *path, int err, const char *format, ...)
{
    int used = snprintf(open_message, sizeof open_message, "%.*s", PATH_MAX, path);
    va_list args;
    va_start(args, format);
    vsnprintf(open_message + used, sizeof open_message - (size_t)used, format, args);
    va_end(args);
    return err;
}

static int refuse_foreign(const char *path, const char *what)
{
    return refuse(path, ERR_NOTOURS, " is not a Tidemark recording: it is %s", what);
}

/* ---- connections ---- */

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

/* A name that SQLite takes for a file, whatever it looks like; or a URI with every byte that means
 * something there escaped. */
static char *file_name(const char *path, bool immutable)
{
    struct buf name = {0};
    if (immutable)
        buf_text(&name, "file:");
    if (path[0] != '/')
        buf_text(&name, "./");
    for (const char *at = path; *at; at++) {
        if (immutable && (*at == '%' || *at == '?' || *at == '#'))
            buf_print(&name, "%%%02x", (unsigned)(unsigned char)*at);
        else
            buf_add(&name, at, 1);
    }
    if (immutable)
        buf_text(&name, "?immutable=1");
    if (name.broken)
        buf_clear(&name);
    return name.data;
}

/* A row costs SQLite two or three allocations of memory. Unless it is to count what is in use, it
 * takes no lock of the whole process at each. */
static void configure_once(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int db_connect(struct db **out, const char *path, int flags, bool immutable)
{
    struct db *db = mem_alloc(1, sizeof *db);
    char *name = file_name(path, immutable);
    *out = NULL;
    if (!db || !name || !(db->path = mem_copy(path, strlen(path)))) {
        mem_free(name);
        mem_free(db);
        return ERR_NOMEM;
    }
    db_files_init(&db->files);
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    pthread_once(&configured, configure_once);
    int code = sqlite3_open_v2(
        name, &db->handle, flags | SQLITE_OPEN_NOMUTEX | (immutable ? SQLITE_OPEN_URI : 0), NULL);
    mem_free(name);
    *out = db;
    if (!db->handle)
        return ERR_NOMEM;
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_timeout(db->handle, DB_BUSY_MS);
    return db_result(db, code);
}

bool db_close_single(struct db *db)
{
    struct db_files *files = &db->files;
    bool single = true;
    db_drop_kept(db);
    assert(!db->statements);
    db_drop_idle(db);
    sqlite3_close_v2(db->handle); /* removes nothing if the file lost its name */
    if (files->elsewhere || !db_files_in_place(files))
        single = db_end_elsewhere(files);
    db_files_close(files);
    mem_free(db->log_name);
    mem_free(db->path);
    mem_free(db);
    return single;
}

void db_close(struct db *db)
{
    if (db)
        (void)db_close_single(db);
}

/* ---- creating ---- */

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
        return refuse(path, base_err_from_errno(number), ": %s", strerror(number));
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
        refuse(path, err, ": %s", db ? db_message(db) : base_err_text(err));
        db_close(db);
        remove_file(path); /* ours: O_EXCL made it */
        return err;
    }
    sqlite3_wal_hook(db->handle, after_commit, db);
    *out = db;
    return 0;
}

/* ---- opening ---- */

static int check_kind(const char *path)
{
    struct stat info;
    if (stat(path, &info) < 0) {
        int number = errno;
        return refuse(path, base_err_from_errno(number), ": %s", strerror(number));
    }
    if (S_ISDIR(info.st_mode))
        return refuse_foreign(path, "a directory");
    if (!S_ISREG(info.st_mode))
        return refuse_foreign(path, "not a regular file");
    return 0;
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The first bytes of the file, read through SQLite (see the top). Returns how many, or an error. */
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
        return refuse_foreign(db->path, "an SQLite export of Nsight Systems");
    return refuse_foreign(db->path, foreign_describe(head, 16));
}

static bool is_empty(const char *name)
{
    struct stat info;
    return stat(name, &info) < 0 ? errno == ENOENT : info.st_size == 0;
}

/* Is there nothing in the log, so that the file alone is the whole recording? */
static bool log_is_empty(const char *path)
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
    if (file_bytes < want && log_is_empty(db->path))
        return refuse(db->path, ERR_CORRUPT,
                      " is damaged: it has %" PRId64 " bytes of %" PRId64 "%s%s%s", file_bytes,
                      want, db->log_name ? ", and its log, " : "", db->log_name ? db->log_name : "",
                      db->log_name ? ", is missing or empty" : "");
    return 0;
}

static int check_head(struct db *db)
{
    unsigned char head[FOREIGN_HEAD_BYTES] = {0};
    int64_t file_bytes = 0;
    int count = read_head(db, head, &file_bytes);
    if (count < 0)
        return refuse(db->path, count, ": cannot be read: %s", strerror(db_last_errno(db->handle)));
    if (!foreign_is_sqlite(head, (size_t)count))
        return refuse_foreign(db->path, foreign_describe(head, (size_t)count));
    if (count < HEADER_BYTES)
        return refuse(db->path, ERR_CORRUPT, " is damaged: it ends inside its header");
    if (big_endian(head + AT_APPLICATION_ID) != DB_APPLICATION_ID)
        return refuse_database(db, head);
    uint32_t version = big_endian(head + AT_USER_VERSION);
    if (version > DB_VERSION)
        return refuse(db->path, ERR_NEWER,
                      " was made by a newer Tidemark: its format is %" PRIu32
                      ", this command knows formats up to %d",
                      version, DB_VERSION);
    if (version == 0)
        return refuse(db->path, ERR_CORRUPT, " is damaged: it has no format version");
    if (version < OLDER_FIRST)
        return refuse(db->path, ERR_NEWER,
                      " was made by a Tidemark before its first release: its format is %" PRIu32
                      ", this command reads formats from %d on",
                      version, OLDER_FIRST);
    db->version = version;
    int err = keep_log_name(db, head);
    if (err < 0)
        return refuse(db->path, err, ": %s", base_err_text(err));
    return check_length(db, head, file_bytes);
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
        return refuse(path, err, ": %s", *out ? db_message(*out) : base_err_text(err));
    err = check_head(*out);
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
        return refuse(path, ERR_CORRUPT, " is damaged: %s", db_message(*out));
    return err < 0 ? refuse(path, err, ": %s", db_message(*out)) : 0;
}

static int open_reading(struct db **out, const char *path, bool own)
{
    struct db *db = NULL;
    bool no_log = false;
    *out = NULL;
    open_message[0] = '\0';
    int err = check_kind(path);
    if (err < 0)
        return err;
    err = open_as(&db, path, own, false, &no_log);
    if (err < 0 && no_log && log_is_empty(path)) {
        db_close(db);
        err = open_as(&db, path, own, true, &no_log);
    } else if (err < 0 && no_log) {
        err = refuse(path, ERR_DENIED,
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
