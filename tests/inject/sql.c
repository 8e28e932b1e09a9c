/*
 * sql.c - the steps of SQLite that can be made to fail. They fail before they did anything: what
 * SQLite itself does when a read, a write, a lock or memory fails comes from the calls below it
 * (calls.c).
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inject.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static _Thread_local int inside; /* sqlite3_exec, so many times */

#define STEP(name, parameters, arguments)                                                          \
    int __real_sqlite3_##name parameters;                                                          \
    int __wrap_sqlite3_##name parameters                                                           \
    {                                                                                              \
        int code;                                                                                  \
        if (!inside && inject_now("sqlite3_" #name, __builtin_return_address(0), &code))           \
            return code;                                                                           \
        return __real_sqlite3_##name arguments;                                                    \
    }

STEP(prepare_v3,
     (sqlite3 * db, const char *sql, int bytes, unsigned flags, sqlite3_stmt **out,
      const char **rest),
     (db, sql, bytes, flags, out, rest))
STEP(step, (sqlite3_stmt * stmt), (stmt))
/* It prepares and steps by itself, and takes an error from what it closes at the end. */
int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
                        void *with, char **message);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
                        void *with, char **message)
{
    int code;
    if (!inside && inject_now("sqlite3_exec", __builtin_return_address(0), &code))
        return code;
    inside++;
    code = __real_sqlite3_exec(db, sql, row, with, message);
    inside--;
    return code;
}
STEP(bind_int64, (sqlite3_stmt * stmt, int at, sqlite3_int64 value), (stmt, at, value))
STEP(bind_null, (sqlite3_stmt * stmt, int at), (stmt, at))
STEP(bind_text, (sqlite3_stmt * stmt, int at, const char *text, int bytes, void (*done)(void *)),
     (stmt, at, text, bytes, done))
STEP(wal_checkpoint_v2, (sqlite3 * db, const char *name, int how, int *pages, int *moved),
     (db, name, how, pages, moved))

/* ---- what a recorder writes while a report follows it ---- */

enum { ROUNDS_BYTES = 16384 };

/* The text of the next round, into `text`; false: that was all. */
static bool next_round(const char *path, char *text)
{
    static long done;
    char line[1024];
    size_t used = 0;
    FILE *file = fopen(path, "r");
    bool whole = false;
    if (!file || fseek(file, done, SEEK_SET) != 0)
        abort();
    while (!whole && fgets(line, sizeof line, file)) {
        size_t bytes = strlen(line);
        whole = strcmp(line, "--\n") == 0;
        if (used + bytes >= ROUNDS_BYTES)
            abort();
        memcpy(text + used, line, bytes + 1);
        used += bytes;
    }
    done = ftell(file);
    fclose(file);
    return whole;
}

/* It keeps the database open, as a recorder does. */
static void write_round(const char *sql)
{
    static sqlite3 *db;
    if (!db && sqlite3_open_v2("live.db", &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        abort();
    if (__real_sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "inject: %s\n", sqlite3_errmsg(db));
        abort();
    }
}

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    char sql[ROUNDS_BYTES];
    const char *path = getenv("INJECT_ROUNDS");
    bool any = false;
    inject_apart++;
    if (path && (any = next_round(path, sql)))
        write_round(sql);
    inject_apart--;
    return any ? 0 : __real_nanosleep(time, left);
}
