/*
 * db_guard.c - what a statement on a recording that is opened for reading may not do.
 *
 * The file itself is opened read-only, and SQLite refuses to write to it. But a statement can reach
 * past it: ATTACH and VACUUM INTO make other files, and a pragma can undo query_only, or change the
 * journal of the recording. So files beside the recording are refused altogether, and of the
 * pragmas those are let through that tell something.
 */
#include "db_internal.h"

#include <stdio.h>
#include <strings.h>

#include <sqlite3.h>

/* With or without an argument, which names what is asked about. */
static const char *const questions[] = {
    "collation_list",   "compile_options", "database_list", "foreign_key_check",
    "foreign_key_list", "function_list",   "index_info",    "index_list",
    "index_xinfo",      "integrity_check", "module_list",   "pragma_list",
    "quick_check",      "table_info",      "table_list",    "table_xinfo",
};

/* An argument would set them. */
static const char *const settings[] = {
    "application_id", "auto_vacuum",    "busy_timeout",   "cache_size",   "data_version",
    "encoding",       "foreign_keys",   "freelist_count", "journal_mode", "journal_size_limit",
    "locking_mode",   "max_page_count", "mmap_size",      "page_count",   "page_size",
    "query_only",     "schema_version", "synchronous",    "temp_store",   "user_version",
};

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, list[i]) == 0)
            return true;
    return false;
}
#define IS_ONE_OF(name, list) is_one_of((name), (list), sizeof(list) / sizeof *(list))

static int deny_pragma(struct db *db, const char *name, bool sets)
{
    if (sets)
        snprintf(db->denied, sizeof db->denied, "PRAGMA %.40s cannot be set", name);
    else
        snprintf(db->denied, sizeof db->denied, "PRAGMA %.40s is not allowed", name);
    return SQLITE_DENY;
}

static int authorize(void *context, int action, const char *one, const char *two,
                     const char *database, const char *trigger)
{
    struct db *db = context;
    (void)database;
    (void)trigger;
    switch (action) {
    case SQLITE_ATTACH: /* which is also how VACUUM makes its file */
        snprintf(db->denied, sizeof db->denied, "ATTACH and VACUUM are not allowed");
        return SQLITE_DENY;
    case SQLITE_DETACH:
        snprintf(db->denied, sizeof db->denied, "DETACH is not allowed");
        return SQLITE_DENY;
    case SQLITE_FUNCTION: /* SQLite's message names it */
        return strcasecmp(two, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
        if (IS_ONE_OF(one, questions))
            return SQLITE_OK;
        if (IS_ONE_OF(one, settings))
            return two ? deny_pragma(db, one, true) : SQLITE_OK;
        return deny_pragma(db, one, false);
    default:
        return SQLITE_OK;
    }
}

int db_guard(struct db *db)
{
    return db_result(db, sqlite3_set_authorizer(db->handle, authorize, db));
}
