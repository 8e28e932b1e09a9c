/*
 * fixture.h - databases made by hand, and answers as text. Everything here ends the case if it
 * fails, and leaves its memory to the end of the case.
 */
#ifndef TIDEMARK_TESTS_FIXTURE_H
#define TIDEMARK_TESTS_FIXTURE_H

#include "db.h"

const char *fixture_read(const char *path); /* a whole file, NUL-terminated */
struct db *fixture_empty(void);             /* a new recording without facts, open for writing */
struct db *fixture_small_run(void);         /* and with those of small_run.sql */
void fixture_exec(struct db *db, const char *sql);

/* Rows as the sqlite3 shell's list mode shows them: a|b, one line each, NULL as nothing. With
 * `header`, the column names first. */
const char *fixture_query(struct db *db, const char *sql, bool header);
int64_t fixture_int(struct db *db, const char *sql); /* the first column of the first row */

#endif
