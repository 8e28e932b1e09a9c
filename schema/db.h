/*
 * db.h - the only door to SQLite. Nothing outside schema/ includes sqlite3.h.
 *
 * A database is opened for writing by one recorder, or read-only by reports. Every function returns
 * a base_err; db_message() has the text for a person. A statement belongs to its database and is
 * finalized before it.
 *
 * A recording file: application_id DB_APPLICATION_ID, user_version up to DB_VERSION (older.h).
 * Anything else is refused with ERR_NOTOURS (db_message says what it seems to be), ERR_NEWER (a
 * later version), ERR_CORRUPT. Schema text is compiled in from schema/ *.sql, in the order of its
 * numbers.
 */
#ifndef TIDEMARK_SCHEMA_DB_H
#define TIDEMARK_SCHEMA_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "statements.h"

#define DB_APPLICATION_ID 0x54494445 /* "TIDE" */
#define DB_VERSION 5
/* Bytes, nanoseconds, events and steps are fewer, in whatever a recorder writes: the largest that
 * it does is 2^60 (recorder/ledger/ledger.h), and 2^61 ns are 73 years. */
#define DB_LARGEST ((int64_t)1 << 61)
/* A recorder cuts the size of a block at this, which is more than anybody has addresses for. */
#define DB_LARGEST_SIZE ((int64_t)1 << 46)

struct db;
struct db_stmt;

/* Creates a new file, mode 0600, WAL, with the whole schema. ERR_EXISTS if there is one. What lies
 * beside it of a former file of that name is removed. While the file is written its name may be
 * given away: it stays whole, and is ended where it is by then. */
int db_create(struct db **out, const char *path);
/* What lies beside `path` of a former file: only for who has just made the file of that name. */
void db_remove_beside(const char *path);
/* Read-only; never creates. Works while a recorder writes it. Its statements reach no other file
 * and change no setting: ERR_DENIED. Of the file only the tables are believed: the views are this
 * build's, whatever the file has under their names, and a statement that fails for what a value of
 * the file is, such as a sum beyond 2^63, is ERR_CORRUPT. */
int db_open(struct db **out, const char *path);
/* The same with the file's own views, for questions that somebody else asks: a statement that fails
 * is that question's fault, ERR_ARG or ERR_LIMIT. */
int db_open_as_it_is(struct db **out, const char *path);
void db_close(struct db *db);
/* The same, after db_single_file was tried: true if one file is left. */
bool db_close_single(struct db *db);
const char *db_message(const struct db *db); /* of the last error; never NULL */
const char *db_path(const struct db *db);
/* Of a recording that was opened while it says of itself that it has a log: the log's name, if it
 * is not there, or empty; else NULL. What stood only in it is missing, then: a recorder that ends
 * in good order leaves a file that has none. */
const char *db_missing_log(const struct db *db);

/* After db_create/db_open failed there is no db: the text of that failure, for this thread. */
const char *db_open_message(void);
/* Of a file that is ERR_NOTOURS: whole pages without a header, as a recording's after an
 * overwritten beginning. For this thread, too. */
bool db_open_lacks_header(void);

int db_exec(struct db *db, const char *sql);
int db_prepare(struct db *db, struct db_stmt **out, const char *sql);
/* For texts of several statements: *rest is what follows the first, or *out is NULL where nothing
 * but blanks and comments was left. */
int db_prepare_next(struct db *db, struct db_stmt **out, const char *sql, const char **rest);
int db_prepare_known(struct db *db, struct db_stmt **out, enum sch_statement which);
void db_finalize(struct db_stmt *stmt);

/* Parameters and columns count from 0. Text is copied by bind_text, borrowed until the next step by
 * column_text. n < 0: up to the NUL. */
void db_bind_int(struct db_stmt *stmt, int at, int64_t value);
void db_bind_null(struct db_stmt *stmt, int at);
void db_bind_text(struct db_stmt *stmt, int at, const char *text, int n);
int db_params(struct db_stmt *stmt); /* how many */

enum db_row { DB_DONE = 0, DB_ROW = 1 }; /* or a negative base_err */
int db_step(struct db_stmt *stmt);
int db_run(struct db_stmt *stmt); /* step to the end, reset; 0 or an error */
/* A step of a walk that asks for the least number behind `after`, in its one column, NULL for none.
 * DB_ROW with *next > after; DB_DONE; ERR_CORRUPT for what is no number, or not behind `after`: in
 * SQLite any text is, so that a walk would come back to where it was. */
int db_step_behind(struct db_stmt *stmt, int64_t after, int64_t *next);
void db_reset(struct db_stmt *stmt);

enum db_type { DB_NULL, DB_INT, DB_REAL, DB_TEXT, DB_BLOB };
int db_columns(struct db_stmt *stmt);
const char *db_column_name(struct db_stmt *stmt, int at);
enum db_type db_column_type(struct db_stmt *stmt, int at);
int64_t db_column_int(struct db_stmt *stmt, int at);
/* A column that may have any number: an address, a source's own name of a stream, an end that is
 * INT64_MAX where there is none. Of all others db_column_int takes none as large as DB_LARGEST from
 * a file that db_open opened: it is 0 then, and what is asked of the database next is ERR_CORRUPT.
 * So whoever adds a few numbers of a row needs not look at each. */
int64_t db_column_any(struct db_stmt *stmt, int at);
/* The size of a block or a segment: no more than DB_LARGEST_SIZE, as db_column_int takes no more
 * than it does. So whoever adds up those of a device needs not look at each either. */
int64_t db_column_size(struct db_stmt *stmt, int at);
double db_column_real(struct db_stmt *stmt, int at);
const char *db_column_text(struct db_stmt *stmt, int at); /* "" for NULL */
int db_column_bytes(struct db_stmt *stmt, int at);

int db_begin(struct db *db); /* BEGIN IMMEDIATE */
int db_commit(struct db *db);
int db_rollback(struct db *db);
bool db_in_transaction(const struct db *db);

/* Bytes in the log that no checkpoint has moved yet, after the last commit of this connection. No
 * checkpoint happens by itself: whoever writes calls db_checkpoint when this has grown. */
uint64_t db_log_bytes(const struct db *db);
/* Moves the log into the file. TRUNCATE when `whole`: ERR_BUSY if a reader holds it. */
int db_checkpoint(struct db *db, bool whole);
/* Somebody cut one of the three files short while this connection wrote it; each of the calls above
 * may find that, and fails then. What was committed is sound but where the file itself was cut. */
enum db_cut { DB_CUT_NONE, DB_CUT_FILE, DB_CUT_LOG, DB_CUT_INDEX };
enum db_cut db_cut(struct db *db); /* as of now */
/* Of the index alone: what failed since can be done again after a rollback. */
bool db_index_was_cut(struct db *db);
/* After a rollback: goes on with what the file and the rest of its log hold. */
void db_salvage_log(struct db *db);
/* Ends WAL mode, so that one file remains; ERR_BUSY if a reader holds it. */
int db_single_file(struct db *db);
/* After db_single_file: rewrites the file without pages that hold nothing. An error leaves it as it
 * was. The connection is to be closed then. */
int db_shrink(struct db *db);
/* Integrity check of a read or write handle; ERR_CORRUPT with the first complaint in db_message. */
int db_check(struct db *db);

/* The whole schema as SQL text, for `tidemark sql --schema` and the tests. */
const char *sch_text(void);

/* A thing that a reader made of what it read and will ask for again, one for each `drop`. The
 * connection owns it: `drop` frees it when the transaction that it was read in ends, when another
 * is kept with that `drop`, and when the connection closes. False, and it stays the caller's:
 * nothing is kept outside of a transaction, where the next statement may see other rows, nor by who
 * writes. */
bool db_keep(struct db *db, void *thing, void (*drop)(void *thing));
/* What was kept with this `drop`, which says what it is; NULL. */
void *db_kept(struct db *db, void (*drop)(void *thing));

/* ERR_CORRUPT, with a message that this was found in what was read. */
int db_damaged(struct db *db, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Instructions of SQLite's machine in statements that this thread has finalized: what a report
 * cost, whatever else the machine does. */
uint64_t db_work(void);

const char *db_sqlite_version(void);

#endif
