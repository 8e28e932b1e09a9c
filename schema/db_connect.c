/*
 * db_connect.c - a connection, from SQLite's opening of the file to its end, and why a file was
 * refused.
 */
#include "db_internal.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "buf.h"
#include "error.h"
#include "mem.h"

static _Thread_local char open_message[PATH_MAX + 512];
static _Thread_local bool lacks_header; /* what open_message is about */

const char *db_open_message(void)
{
    return open_message;
}

bool db_open_lacks_header(void)
{
    return lacks_header;
}

void db_refuse_nothing(void)
{
    open_message[0] = '\0';
    lacks_header = false;
}

int db_refuse(const char *path, int err, const char *format, ...)
{
    int used = snprintf(open_message, sizeof open_message, "%.*s", PATH_MAX, path);
    va_list args;
    va_start(args, format);
    vsnprintf(open_message + used, sizeof open_message - (size_t)used, format, args);
    va_end(args);
    return err;
}

int db_refuse_foreign(const char *path, const char *what)
{
    return db_refuse(path, ERR_NOTOURS, " is not a Tidemark recording: it is %s", what);
}

int db_refuse_headless(const char *path, const char *what)
{
    lacks_header = true;
    return db_refuse_foreign(path, what);
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
