/*
 * sql.c - the steps of SQLite that can be made to fail. They fail before they did anything: what
 * SQLite itself does when a read, a write, a lock or memory fails comes from the calls below it
 * (calls.c).
 */
#include <sqlite3.h>

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
