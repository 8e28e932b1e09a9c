/*
 * db_internal.h - what the files behind db.h share. They include sqlite3.h, and nobody else does.
 */
#ifndef TIDEMARK_SCHEMA_DB_INTERNAL_H
#define TIDEMARK_SCHEMA_DB_INTERNAL_H

#include "db.h"
#include "db_files.h"

/* Waiting for another connection: a report may wait for a recorder's start or end, a recorder for
 * nobody but the one reader that is recovering the log. */
#define DB_BUSY_MS 5000

struct sqlite3;
struct sqlite3_stmt;

/* One for each `drop`; the things of three kinds are all that readers keep. */
enum { DB_KEPT = 3 };
struct db_kept {
    void *thing; /* NULL = nothing */
    void (*drop)(void *thing);
};

struct db {
    struct sqlite3 *handle;
    char *path;
    unsigned version; /* of the file; 0 = this connection created it */
    char *log_name;   /* opened for reading, and its header says that it has a log; or NULL */
    struct db_stmt *statements; /* those not yet finalized */
    struct db_stmt *idle;       /* those that were, and may be asked for again; newest first */
    size_t idle_count, idle_most;
    uint64_t log_bytes;           /* in the log after the last commit of this connection */
    unsigned page_bytes;          /* 0 = opened for reading */
    struct db_files files;        /* of the file that this connection created */
    bool own;                     /* asked by us alone, through views of this build (db_own.c) */
    bool odd;                     /* a number was read that cannot be: told by what is asked next */
    struct db_kept kept[DB_KEPT]; /* by db_keep, read in the transaction that is open */
    char denied[80];              /* what db_guard refused last */
    char message[512];
};

/* Invariant: linked in db->statements until db_finalize; then gone, or in db->idle, reset and
 * without values. */
struct db_stmt {
    struct sqlite3_stmt *handle;
    struct db *db;
    struct db_stmt *next, **link;
    char *text;      /* what it was made of; NULL: it is not kept */
    int bind_failed; /* the first SQLite error of a bind since the last reset */
};

/* A number that was read, which is as large as `end` in no file of ours: 0, and the next question
 * fails. */
static inline int64_t db_below(struct db *db, int64_t number, int64_t end)
{
    if ((number < end && number > -end) || !db->own)
        return number;
    db->odd = true;
    return 0;
}

struct query_place;
/* The row of a statement that has one: 0, or an error, and then no copy is left. `at`: the columns
 * of the places. */
int db_take_row(struct db_stmt *stmt, const unsigned char *at, const struct query_place *out);

/* A connection and nothing more. *out is set even where opening failed, so that its message can be
 * read; NULL without memory. */
int db_connect(struct db **out, const char *path, int flags, bool immutable);
/* Returns err, with the path and the reason kept for db_open_message. */
int db_refuse(const char *path, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int db_refuse_foreign(const char *path, const char *what);
/* Of an opening that is tried now: no reason yet. */
void db_refuse_nothing(void);
int db_refuse_headless(const char *path, const char *what);
/* The header: is it a whole recording of a version that is read here? Refuses it else. */
int db_check_head(struct db *db);
/* Is there nothing in the log, so that the file alone is the whole recording? */
bool db_log_is_empty(const char *path);
/* Forgets the statements that were kept. */
void db_drop_idle(struct db *db);
/* Frees what db_keep keeps. */
void db_drop_kept(struct db *db);
/* An SQLite result code as base_err. */
int db_map_code(struct sqlite3 *handle, int code);
/* The same, and the message kept: every call of SQLite that can fail ends here. */
int db_result(struct db *db, int code);
/* Views of this build, seen before those of the file; refuses tables that are none. */
int db_own(struct db *db);
/* After a step that failed for what a value is: the message names the value, if one stands out. */
void db_blame(struct db *db);
/* From now on statements of this connection reach no other file and set nothing. */
int db_guard(struct db *db);
/* Keeps a message for `err` with the errno behind it, where one is known. */
void db_say(struct db *db, int err, const char *detail);
/* Why the last reading or writing of a file failed; 0 = not known. */
int db_last_errno(struct sqlite3 *handle);

#endif
