/*
 * db.c - SQLite behind db.h: statements, transactions, the log.
 */
#include "db_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include <sqlite3.h>

#include "error.h"
#include "mem.h"

/* Ending the log must not hold up the end of a run: callers try again as long as they like. */
#define BUSY_END_MS 100

const char *db_sqlite_version(void)
{
    return sqlite3_libversion();
}

const char *db_message(const struct db *db)
{
    return db->message;
}

const char *db_path(const struct db *db)
{
    return db->path;
}

/* ---- what a reader keeps ---- */

void db_drop_kept(struct db *db)
{
    for (int i = 0; i < DB_KEPT; i++) {
        struct db_kept kept = db->kept[i];
        db->kept[i].thing = NULL;
        if (kept.thing)
            kept.drop(kept.thing);
    }
}

static struct db_kept *kept_of(struct db *db, void (*drop)(void *thing))
{
    struct db_kept *free = NULL;
    for (int i = 0; i < DB_KEPT; i++) {
        if (db->kept[i].thing && db->kept[i].drop == drop)
            return &db->kept[i];
        if (!db->kept[i].thing)
            free = &db->kept[i];
    }
    return free;
}

bool db_keep(struct db *db, void *thing, void (*drop)(void *thing))
{
    if (db->page_bytes || !db_in_transaction(db))
        return false;
    struct db_kept *kept = kept_of(db, drop);
    if (!kept)
        return false;
    void *before = kept->thing;
    *kept = (struct db_kept){thing, drop};
    if (before)
        drop(before);
    return true;
}

void *db_kept(struct db *db, void (*drop)(void *thing))
{
    if (!db_in_transaction(db))
        db_drop_kept(db);
    struct db_kept *kept = kept_of(db, drop);
    return kept ? kept->thing : NULL;
}

/* ---- statements ---- */

/* What was read in vain since the last question. */
static int odd_error(struct db *db)
{
    if (!db->odd)
        return 0;
    db->odd = false;
    db_damaged(db, "a number is too large");
    db_blame(db);
    return ERR_CORRUPT;
}

int db_exec(struct db *db, const char *sql)
{
    int err = odd_error(db);
    if (err == 0)
        err = db_result(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
    if (!db_in_transaction(db))
        db_drop_kept(db);
    return err;
}

static void link_stmt(struct db_stmt *stmt, struct db_stmt **list)
{
    stmt->next = *list;
    stmt->link = list;
    if (stmt->next)
        stmt->next->link = &stmt->next;
    *list = stmt;
}

static void unlink_stmt(struct db_stmt *stmt)
{
    *stmt->link = stmt->next;
    if (stmt->next)
        stmt->next->link = stmt->link;
}

static _Thread_local uint64_t work;

uint64_t db_work(void)
{
    return work;
}

static void free_stmt(struct db_stmt *stmt)
{
    sqlite3_finalize(stmt->handle);
    mem_free(stmt->text);
    mem_free(stmt);
}

int db_prepare_next(struct db *db, struct db_stmt **out, const char *sql, const char **rest)
{
    *out = NULL;
    struct db_stmt *stmt = mem_alloc(1, sizeof *stmt);
    if (!stmt) {
        db_say(db, ERR_NOMEM, base_err_text(ERR_NOMEM));
        return ERR_NOMEM;
    }
    int err = db_result(db, sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                               &stmt->handle, rest));
    if (err == ERR_ARG && db->own && strncmp(db_message(db), "no such ", 8) == 0)
        err = ERR_CORRUPT; /* the file's tables are not those of its version */
    if (err < 0 || !stmt->handle) {
        mem_free(stmt);
        return err;
    }
    stmt->db = db;
    link_stmt(stmt, &db->statements);
    *out = stmt;
    return 0;
}

/* A report asks the same questions for each of thousands of processes; to make a statement of its
 * text takes as long as to answer it. */
static struct db_stmt *take_idle(struct db *db, const char *sql)
{
    struct db_stmt *stmt = db->idle;
    while (stmt && strcmp(stmt->text, sql) != 0)
        stmt = stmt->next;
    if (!stmt)
        return NULL;
    unlink_stmt(stmt);
    db->idle_count--;
    link_stmt(stmt, &db->statements);
    return stmt;
}

void db_drop_idle(struct db *db)
{
    while (db->idle) {
        struct db_stmt *stmt = db->idle;
        unlink_stmt(stmt);
        free_stmt(stmt);
    }
    db->idle_count = 0;
}

int db_prepare(struct db *db, struct db_stmt **out, const char *sql)
{
    const char *rest = NULL;
    *out = take_idle(db, sql);
    if (*out)
        return 0;
    int err = db_prepare_next(db, out, sql, &rest);
    if (err == 0 && !*out) {
        db_say(db, ERR_ARG, "no statement in the text");
        err = ERR_ARG;
    }
    if (err == 0 && db->idle_most) /* without memory it is not kept */
        (*out)->text = mem_copy(sql, strlen(sql));
    return err;
}

int db_prepare_known(struct db *db, struct db_stmt **out, enum sch_statement which)
{
    char sql[SCH_TEXT_BYTES];
    sch_statement_text(which, sql);
    int err = db_prepare(db, out, sql);
    assert(err < 0 || db_params(*out) == (int)sch_statement_cells(which));
    return err;
}

void db_finalize(struct db_stmt *stmt)
{
    if (!stmt)
        return;
    struct db *db = stmt->db;
    /* A count of 32 bits that wraps. */
    work += (unsigned)sqlite3_stmt_status(stmt->handle, SQLITE_STMTSTATUS_VM_STEP, 1);
    unlink_stmt(stmt);
    if (!stmt->text || db->idle_count >= db->idle_most) {
        free_stmt(stmt);
        return;
    }
    db_reset(stmt);
    sqlite3_clear_bindings(stmt->handle);
    link_stmt(stmt, &db->idle);
    db->idle_count++;
}

static void note_bind(struct db_stmt *stmt, int code)
{
    if (code != SQLITE_OK && stmt->bind_failed == SQLITE_OK)
        stmt->bind_failed = code;
}

void db_bind_int(struct db_stmt *stmt, int at, int64_t value)
{
    assert(at >= 0);
    note_bind(stmt, sqlite3_bind_int64(stmt->handle, at + 1, value));
}

void db_bind_null(struct db_stmt *stmt, int at)
{
    assert(at >= 0);
    note_bind(stmt, sqlite3_bind_null(stmt->handle, at + 1));
}

void db_bind_text(struct db_stmt *stmt, int at, const char *text, int n)
{
    assert(at >= 0 && n >= -1);
    note_bind(stmt, sqlite3_bind_text(stmt->handle, at + 1, text, n, SQLITE_TRANSIENT));
}

int db_params(struct db_stmt *stmt)
{
    return sqlite3_bind_parameter_count(stmt->handle);
}

int db_step(struct db_stmt *stmt)
{
    if (stmt->bind_failed != SQLITE_OK) {
        int err = db_map_code(stmt->db->handle, stmt->bind_failed);
        db_say(stmt->db, err, sqlite3_errstr(stmt->bind_failed));
        return err;
    }
    if (stmt->db->odd)
        return odd_error(stmt->db);
    int code = sqlite3_step(stmt->handle);
    if (code == SQLITE_ROW)
        return DB_ROW;
    if (code == SQLITE_DONE)
        return DB_DONE;
    int err = db_result(stmt->db, code);
    if (!stmt->db->own || (err != ERR_ARG && err != ERR_LIMIT))
        return err;
    db_blame(stmt->db); /* it was prepared: the statement is right, and a value is not */
    return ERR_CORRUPT;
}

int db_step_behind(struct db_stmt *stmt, int64_t after, int64_t *next)
{
    int row = db_step(stmt);
    if (row != DB_ROW || db_column_type(stmt, 0) == DB_NULL)
        return row < 0 ? row : DB_DONE;
    *next = db_column_int(stmt, 0);
    if (db_column_type(stmt, 0) == DB_INT && *next > after)
        return DB_ROW;
    return db_damaged(stmt->db, "what follows %" PRId64 " is '%.40s'", after,
                      db_column_text(stmt, 0));
}

int db_run(struct db_stmt *stmt)
{
    int row;
    do
        row = db_step(stmt);
    while (row == DB_ROW);
    db_reset(stmt);
    return row;
}

void db_reset(struct db_stmt *stmt)
{
    sqlite3_reset(stmt->handle);
    stmt->bind_failed = SQLITE_OK;
}

int db_columns(struct db_stmt *stmt)
{
    return sqlite3_column_count(stmt->handle);
}

const char *db_column_name(struct db_stmt *stmt, int at)
{
    const char *name = sqlite3_column_name(stmt->handle, at);
    assert(at >= 0 && at < sqlite3_column_count(stmt->handle));
    return name ? name : "";
}

enum db_type db_column_type(struct db_stmt *stmt, int at)
{
    assert(at >= 0 && at < sqlite3_column_count(stmt->handle));
    switch (sqlite3_column_type(stmt->handle, at)) {
    case SQLITE_INTEGER:
        return DB_INT;
    case SQLITE_FLOAT:
        return DB_REAL;
    case SQLITE_TEXT:
        return DB_TEXT;
    case SQLITE_BLOB:
        return DB_BLOB;
    default:
        return DB_NULL;
    }
}

int64_t db_column_any(struct db_stmt *stmt, int at)
{
    assert(at >= 0 && at < sqlite3_column_count(stmt->handle));
    return sqlite3_column_int64(stmt->handle, at);
}

static int64_t column_below(struct db_stmt *stmt, int at, int64_t end)
{
    assert(at >= 0 && at < sqlite3_column_count(stmt->handle));
    return db_below(stmt->db, sqlite3_column_int64(stmt->handle, at), end);
}

int64_t db_column_int(struct db_stmt *stmt, int at)
{
    return column_below(stmt, at, DB_LARGEST);
}

int64_t db_column_size(struct db_stmt *stmt, int at)
{
    return column_below(stmt, at, DB_LARGEST_SIZE + 1);
}

double db_column_real(struct db_stmt *stmt, int at)
{
    assert(at >= 0 && at < sqlite3_column_count(stmt->handle));
    return sqlite3_column_double(stmt->handle, at);
}

const char *db_column_text(struct db_stmt *stmt, int at)
{
    const unsigned char *text = sqlite3_column_text(stmt->handle, at);
    assert(at >= 0 && at < sqlite3_column_count(stmt->handle));
    return text ? (const char *)text : "";
}

int db_column_bytes(struct db_stmt *stmt, int at)
{
    return sqlite3_column_bytes(stmt->handle, at);
}

/* ---- transactions and the log ---- */

int db_begin(struct db *db)
{
    int err = db_files_check(db);
    if (err == 0)
        err = db_exec(db, "BEGIN IMMEDIATE");
    if (err < 0 || !db_index_was_cut(db))
        return err;
    err = db_rollback(db); /* nothing was read or written yet */
    if (err == 0)
        err = db_files_check(db);
    return err < 0 ? err : db_exec(db, "BEGIN IMMEDIATE");
}

int db_commit(struct db *db)
{
    int err = db_files_check(db);
    if (err == 0)
        err = db_exec(db, "COMMIT");
    if (err == 0) {
        db_files_measure(db);
        db_files_follow(&db->files);
    }
    return err;
}

int db_rollback(struct db *db)
{
    /* SQLite rolls back by itself after a full disk: then there is nothing left to do. */
    return db_in_transaction(db) ? db_exec(db, "ROLLBACK") : 0;
}

bool db_in_transaction(const struct db *db)
{
    return !sqlite3_get_autocommit(db->handle);
}

uint64_t db_log_bytes(const struct db *db)
{
    return db->log_bytes;
}

static int checkpoint(struct db *db, bool whole)
{
    int pages = 0, moved = 0;
    sqlite3_busy_timeout(db->handle, whole ? BUSY_END_MS : DB_BUSY_MS);
    int code = sqlite3_wal_checkpoint_v2(
        db->handle, "main", whole ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, &pages,
        &moved);
    int err = db_result(db, code);
    sqlite3_busy_timeout(db->handle, DB_BUSY_MS);
    if (err == 0 && pages >= 0 && moved == pages)
        db->log_bytes = 0;
    return err;
}

/* An index that is cut meanwhile does not name what is to be moved: it is done again, which it can
 * be as long as nothing is cut from the log. */
int db_checkpoint(struct db *db, bool whole)
{
    int err = db_files_check(db);
    if (err == 0)
        err = checkpoint(db, false);
    if (db_index_was_cut(db)) {
        err = db_files_check(db);
        if (err == 0)
            err = checkpoint(db, false);
    }
    if (err == 0 && whole) {
        db_files_forget_log(db);
        err = checkpoint(db, true);
    }
    if (err == 0)
        db_files_measure(db);
    return err;
}

/* The log is moved, which may take its time, before the file is asked whether it has its name: what
 * SQLite then does by name takes none. */
static int move_all(struct db *db)
{
    struct db_files *files = &db->files;
    if (files->file < 0)
        return 0;
    int err = db_checkpoint(db, true);
    if (err == 0)
        files->elsewhere = !db_files_in_place(files);
    return err;
}

int db_single_file(struct db *db)
{
    struct db_stmt *stmt = NULL;
    sqlite3_busy_timeout(db->handle, BUSY_END_MS);
    int err = db_exec(db, "PRAGMA synchronous=FULL"); /* what is finished is on the disk */
    /* A try that failed half-way: SQLite believes that the log is off, until it looks. */
    if (err == 0 && db_files_in_place(&db->files))
        err = db_exec(db, "PRAGMA schema_version");
    if (err == 0)
        err = move_all(db);
    if (err < 0 || db->files.elsewhere)
        goto out;
    sqlite3_busy_timeout(db->handle, BUSY_END_MS);
    err = db_prepare(db, &stmt, "PRAGMA journal_mode=DELETE");
    if (err == 0)
        err = db_step(stmt);
    if (err == DB_ROW && strcmp(db_column_text(stmt, 0), "delete") != 0) {
        db_say(db, ERR_BUSY, "another program reads it");
        err = ERR_BUSY;
    }
    if (err == DB_ROW) /* it says so first, and does it when the statement ends */
        err = db_step(stmt);
    db_finalize(stmt);
    if (err >= 0)
        db_files_forget_log(db);
out:
    sqlite3_busy_timeout(db->handle, DB_BUSY_MS);
    return err < 0 ? err : 0;
}

/* Where SQLite had no memory for a page it calls that page damaged, and names its own code. */
static bool lacked_memory(const char *complaint)
{
    static const char code[] = "error code=7"; /* SQLITE_NOMEM */
    size_t bytes = strlen(complaint), end = sizeof code - 1;
    return bytes >= end && strcmp(complaint + bytes - end, code) == 0;
}

int db_check(struct db *db)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, "PRAGMA integrity_check(1)");
    if (err == 0)
        err = db_step(stmt);
    if (err == DB_ROW && strcmp(db_column_text(stmt, 0), "ok") != 0) {
        err = lacked_memory(db_column_text(stmt, 0)) ? ERR_NOMEM : ERR_CORRUPT;
        db_say(db, err, db_column_text(stmt, 0));
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}
