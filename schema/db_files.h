/*
 * db_files.h - the files of a recording that is being written: itself, its log (-wal) and the log's
 * index (-shm), held by themselves while their names may change hands.
 *
 * SQLite finds the log and the index by name, and at the end removes both by name. While a
 * recording is written its name can be given to another file: it is moved, or removed and used
 * again. So before anything is done by name the file is asked whether it still has it; what does
 * not is ended without SQLite's removals (db_end_elsewhere).
 *
 * Somebody may also cut one of the three short (`: > run.db-wal`). SQLite trusts its own files
 * while it writes, so their lengths are looked at before each transaction and before the log is
 * moved:
 *
 *     the file    what it held is gone: nothing more is written
 *     the log     what was committed since it was moved last is gone: the file is as it was then
 *     the index   mapped memory without a file behind it, so SIGBUS: it gets its length back, and
 *                 is made anew from the log. Nothing is lost; the open transaction is done again.
 *
 * Invariants: the descriptors are all open or all -1 (a connection that did not create the file);
 * file_least and log_least are lengths that were seen, and never shrank by our own doing since.
 */
#ifndef TIDEMARK_SCHEMA_DB_FILES_H
#define TIDEMARK_SCHEMA_DB_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

struct db_files {
    char *path; /* by which SQLite knows the file: an absolute one */
    int file, log, index;
    int index_writable; /* -1 until it had to be made anew: see held.h for why not before */
    int guard;          /* of the index (db_guard_index), -1 = none */
    int64_t file_least, log_least;
    bool log_used;  /* log_least counts: SQLite wrote to it, and it was not cut back since */
    bool index_cut; /* it has its length back, and has not been made anew yet */
    /* The file is whole, and has lost its name: the rest is done by db_end_elsewhere. */
    bool elsewhere;
    enum db_cut cut;
};

void db_files_init(struct db_files *files);
/* After the log was turned on. A base_err. */
int db_files_hold(struct db *db);
/* After the connection was closed. */
void db_files_close(struct db_files *files);
/* The lengths as they are now are right. */
void db_files_measure(struct db *db);
/* The log has been ended, or cut back by ourselves. */
void db_files_forget_log(struct db *db);
/* 0, or ERR_CORRUPT, and db->files.cut; ERR_BUSY for the index, in a transaction. */
int db_files_check(struct db *db);
/* Where the file was moved: its log and index follow it, so that who opens it there reads all. They
 * take the place of a former file's. */
void db_files_follow(const struct db_files *files);
/* It was not created here, or has its name. */
bool db_files_in_place(const struct db_files *files);
/* After the connection was closed, where the file lost its name: what lay beside its old name
 * follows it or goes. True if it is one file now. */
bool db_end_elsewhere(const struct db_files *files);

/* ---- db_bus.c: the index's memory without a file behind it ---- */

/* From now on an index that was cut gets its length back. -1: there is no place for one more. */
int db_guard_index(int held);
void db_guard_let_go(int guard);
/* It is this long, and may grow. */
void db_guard_length(int guard, int64_t bytes);
/* Was it cut since the last question? */
bool db_guard_was_cut(int guard);

#endif
