/*
 * db_error.c - SQLite's result codes as base_err, and the text for a person.
 */
#include "db_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "error.h"

static int errno_of_file(sqlite3 *handle, int which)
{
    sqlite3_file *file = NULL;
    int number = 0;
    if (sqlite3_file_control(handle, "main", which, &file) != SQLITE_OK || !file ||
        !file->pMethods ||
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number) != SQLITE_OK)
        return 0;
    return number;
}

/* sqlite3_system_errno knows why a file could not be opened, but not why a step could not write:
 * for that the file itself and its log or journal are asked. 0 = not known. */
int db_last_errno(sqlite3 *handle)
{
    int number = sqlite3_system_errno(handle);
    if (number == 0)
        number = errno_of_file(handle, SQLITE_FCNTL_JOURNAL_POINTER);
    if (number == 0)
        number = errno_of_file(handle, SQLITE_FCNTL_FILE_POINTER);
    return number;
}

static int map_io_error(sqlite3 *handle)
{
    int number = db_last_errno(handle);
    if (number == EFBIG || number == ENOSPC || number == EDQUOT)
        return ERR_FULL;
    if (sqlite3_extended_errcode(handle) == SQLITE_IOERR_NOMEM)
        return ERR_NOMEM;
    return ERR_IO;
}

static int map_cannot_open(sqlite3 *handle)
{
    int err = base_err_from_errno(sqlite3_system_errno(handle));
    return err == BASE_OK ? ERR_IO : err;
}

int db_map_code(sqlite3 *handle, int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return BASE_OK;
    case SQLITE_NOMEM:
        return ERR_NOMEM;
    case SQLITE_FULL:
        return ERR_FULL;
    case SQLITE_IOERR:
        return map_io_error(handle);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
        return ERR_CORRUPT;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
        return ERR_DENIED;
    case SQLITE_CANTOPEN:
        return map_cannot_open(handle);
    case SQLITE_TOOBIG:
        return ERR_LIMIT;
    case SQLITE_INTERRUPT:
        return ERR_CLOSED;
    case SQLITE_ERROR:
    case SQLITE_RANGE:
    case SQLITE_MISUSE:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return ERR_ARG;
    default:
        return ERR_INTERNAL;
    }
}

void db_say(struct db *db, int err, const char *detail)
{
    int number = 0;
    if (err == ERR_IO)
        number = db_last_errno(db->handle);
    else if (err < 0 && (sqlite3_errcode(db->handle) & 0xff) == SQLITE_CANTOPEN)
        number = sqlite3_system_errno(db->handle);
    if (err == ERR_FULL)
        snprintf(db->message, sizeof db->message, "no space left on the device");
    else if (number != 0)
        snprintf(db->message, sizeof db->message, "%s (%s)", detail, strerror(number));
    else
        snprintf(db->message, sizeof db->message, "%s", detail);
}

int db_damaged(struct db *db, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(db->message, sizeof db->message, format, args);
    va_end(args);
    return ERR_CORRUPT;
}

int db_result(struct db *db, int code)
{
    int err = db_map_code(db->handle, code);
    if ((code & 0xff) == SQLITE_AUTH && db->denied[0]) {
        db_say(db, err, db->denied);
        db->denied[0] = '\0';
    } else if (err < 0) {
        db_say(db, err, sqlite3_errmsg(db->handle));
    }
    return err;
}
