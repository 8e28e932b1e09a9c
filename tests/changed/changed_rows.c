/* changed_rows.c - see changed.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changed.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

uint32_t changed_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* ---- a recording ---- */

static void must_do(struct db *db, const char *sql)
{
    int err = db_exec(db, sql);
    if (err < 0)
        fprintf(stderr, "%s\n  in: %.200s\n", db_message(db), sql);
    MUST(err == 0);
}

struct db *changed_begin(const char *path, const char *sql)
{
    struct db *db = NULL;
    unlink(path);
    MUST(db_create(&db, path) == 0);
    must_do(db,
            "CREATE TEMP TABLE was AS SELECT name AS n, sql AS text FROM main.sqlite_master"
            " WHERE type='table';"
            "PRAGMA writable_schema=ON;"
            "UPDATE main.sqlite_master SET sql=replace(sql, ' NOT NULL', '') WHERE type='table';"
            "PRAGMA writable_schema=RESET; BEGIN");
    must_do(db, sql);
    return db;
}

void changed_end(struct db *db, bool strict)
{
    must_do(db, "COMMIT");
    if (strict)
        must_do(db, "PRAGMA writable_schema=ON; UPDATE main.sqlite_master SET sql="
                    "(SELECT text FROM temp.was WHERE n=name) WHERE type='table';"
                    "PRAGMA writable_schema=RESET");
    MUST(db_checkpoint(db, true) == 0);
    MUST(db_single_file(db) == 0);
    db_close(db);
}

static int64_t number_of(struct db *db, const char *sql)
{
    struct db_stmt *stmt = NULL;
    MUST(db_prepare(db, &stmt, sql) == 0 && db_step(stmt) == DB_ROW);
    int64_t value = db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}

/* ---- one column ---- */

static const char *const column_values[] = {"'x'", "9e999", "1<<62", "-(1<<62)", "NULL"};

struct column {
    char table[32], name[32];
    int64_t rows;
};

/* The tables that have rows, with their columns, in the order of the schema. */
static size_t list_columns(struct db *db, struct column *columns, size_t most)
{
    struct db_stmt *stmt = NULL;
    size_t count = 0;
    MUST(db_prepare(db, &stmt,
                    "SELECT m.name, x.name FROM main.sqlite_master m, pragma_table_info(m.name) x"
                    " WHERE m.type='table' AND m.name NOT GLOB 'sqlite_*'"
                    " ORDER BY m.rowid, x.cid") == 0);
    while (db_step(stmt) == DB_ROW) {
        struct column *column = &columns[count];
        char sql[96];
        MUST(count < most);
        snprintf(column->table, sizeof column->table, "%s", db_column_text(stmt, 0));
        snprintf(column->name, sizeof column->name, "%s", db_column_text(stmt, 1));
        snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", column->table);
        column->rows = number_of(db, sql);
        count += column->rows > 0;
    }
    db_finalize(stmt);
    return count;
}

#define COLUMNS_MOST 512

size_t changed_columns(const char *sql, const char *path)
{
    struct column columns[COLUMNS_MOST];
    struct db *db = changed_begin(path, sql);
    size_t count = list_columns(db, columns, COLUMNS_MOST);
    changed_end(db, true);
    return count * 2 * COUNT(column_values);
}

bool changed_column(const char *path, const char *sql, size_t number, char *what)
{
    struct column columns[COLUMNS_MOST];
    struct db *db = changed_begin(path, sql);
    size_t count = list_columns(db, columns, COLUMNS_MOST);
    const char *value = column_values[number % COUNT(column_values)];
    bool all = number / COUNT(column_values) % 2;
    size_t at = number / COUNT(column_values) / 2;
    char update[512], which[256] = "";
    MUST(at < count);
    const struct column *column = &columns[at];
    if (!all)
        snprintf(which, sizeof which,
                 " WHERE \"%s\" IS (SELECT \"%s\" FROM \"%s\" LIMIT 1 OFFSET %" PRId64 ")",
                 column->name, column->name, column->table, column->rows / 2);
    snprintf(update, sizeof update, "UPDATE OR REPLACE \"%s\" SET \"%s\"=%s%s", column->table,
             column->name, value, which);
    bool taken = db_exec(db, update) == 0;
    snprintf(what, CHANGED_TEXT, "%s.%s = %s in %s", column->table, column->name, value,
             all ? "all rows" : "one row");
    changed_end(db, number % 3 == 0);
    return taken;
}

void changed_with(const char *path, const char *sql, const char *statements)
{
    struct db *db = changed_begin(path, sql);
    must_do(db, statements);
    changed_end(db, true);
}

/* ---- anything ---- */

static const char *const any_values[] = {
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "7",
    "2147483647",
    "-2147483648",
    "2147483648",
    "1<<32",
    "1<<40",
    "1<<46",
    "(1<<46)+1",
    "-(1<<46)",
    "1<<53",
    "1<<62",
    "9223372036854775807",
    "(-9223372036854775807-1)",
    "1e300",
    "-1e300",
    "9e999",
    "0.5",
    "''",
    "'text'",
    "char(27)||'[31mESC'||char(7)",
    "'a'||char(10)||'b'",
    "''''",
    "x'00ff'",
    "printf('%.20000c', 'x')",
    "char(155)||'2J'",
    "'9999999999999999999'",
    "'forward'",
    "'backward'",
    "'cuda'",
    "'user'",
    "'process'",
    "'thread'",
    "'range'",
};

/* One statement that changes something; *sql is of CHANGED_TEXT. */
static void any_statement(const struct column *columns, size_t count, uint64_t *seed, char *sql)
{
    const struct column *one = &columns[changed_random(seed) % count], *other = one;
    const char *value = any_values[changed_random(seed) % COUNT(any_values)];
    for (int i = 0; i < 40 && (other == one || strcmp(other->table, one->table) != 0); i++)
        other = &columns[changed_random(seed) % count];
    if (strcmp(other->table, one->table) != 0)
        other = one;
    int64_t row = (int64_t)(changed_random(seed) % (uint64_t)one->rows);
    switch (changed_random(seed) % 12) {
    case 0:
    case 1:
        snprintf(sql, CHANGED_TEXT, "UPDATE OR IGNORE %s SET %s=%s", one->table, one->name, value);
        break;
    case 2:
        snprintf(sql, CHANGED_TEXT, "UPDATE OR IGNORE %s SET %s=%s", one->table, one->name,
                 other->name);
        break;
    case 3:
        snprintf(sql, CHANGED_TEXT, "UPDATE OR IGNORE %s SET %s=-%s", one->table, one->name,
                 one->name);
        break;
    case 4:
        snprintf(sql, CHANGED_TEXT,
                 "DELETE FROM %s WHERE length(hex(%s)) %% 2 = %d OR %s %% 2 = %d", one->table,
                 one->name, (int)(changed_random(seed) % 2), one->name,
                 (int)(changed_random(seed) % 2));
        break;
    case 5:
        snprintf(sql, CHANGED_TEXT, "DELETE FROM %s", one->table);
        break;
    case 6:
        snprintf(sql, CHANGED_TEXT, "UPDATE phase SET parent=id");
        break;
    case 7:
        snprintf(sql, CHANGED_TEXT, "UPDATE OR IGNORE %s SET %s=%s*1000003", one->table, one->name,
                 one->name);
        break;
    default:
        snprintf(sql, CHANGED_TEXT,
                 "UPDATE OR IGNORE %s SET %s=%s WHERE %s IS"
                 " (SELECT %s FROM %s LIMIT 1 OFFSET %" PRId64 ")",
                 one->table, one->name, value, other->name, other->name, one->table, row);
    }
}

/* Bytes of pages behind the first, which says that it is a recording. */
static void change_bytes(const char *path, uint64_t *seed, char *what)
{
    enum { PAGE = 4096 };
    struct stat info;
    int file = open(path, O_RDWR | O_CLOEXEC);
    MUST(file >= 0 && fstat(file, &info) == 0 && info.st_size > 2 * PAGE);
    for (uint32_t n = 1 + changed_random(seed) % 4; n > 0; n--) {
        unsigned char bytes[8];
        size_t count = 1 + changed_random(seed) % sizeof bytes;
        /* Most is empty: rows stand at the end of their page, headers at its begin. */
        uint32_t place = changed_random(seed) % 4 ? PAGE - 1 - changed_random(seed) % 400
                                                  : changed_random(seed) % 40;
        off_t page = 1 + (off_t)changed_random(seed) % (info.st_size / PAGE - 1);
        for (size_t i = 0; i < count; i++)
            bytes[i] = (unsigned char)changed_random(seed);
        off_t at = page * PAGE + place;
        if (at + (off_t)count > info.st_size)
            at = info.st_size - (off_t)count;
        MUST(pwrite(file, bytes, count, at) == (ssize_t)count);
        size_t used = strlen(what);
        snprintf(what + used, CHANGED_TEXT - used, "%zu bytes at %lld; ", count, (long long)at);
    }
    close(file);
}

void changed_any(const char *path, const char *sql, uint64_t seed, char *what)
{
    static const unsigned char changes[] = {1, 1, 2, 3, 6};
    struct column columns[COLUMNS_MOST];
    struct db *db = changed_begin(path, sql);
    size_t count = list_columns(db, columns, COLUMNS_MOST);
    *what = '\0';
    for (int i = changes[changed_random(&seed) % COUNT(changes)]; i > 0; i--) {
        char statement[CHANGED_TEXT];
        any_statement(columns, count, &seed, statement);
        size_t used = strlen(what);
        if (db_exec(db, statement) == 0)
            snprintf(what + used, CHANGED_TEXT - used, "%s; ", statement);
    }
    changed_end(db, changed_random(&seed) % 2);
    if (changed_random(&seed) % 5 == 0)
        change_bytes(path, &seed, what);
}
