/*
 * Rows of databases without SQLite: names of columns out of all ways to write a CREATE TABLE; files
 * are test_nsys.py's.
 */
#include <string.h>

#include "rows_names.h"
#include "test.h"

static const char *const asked[] = {"id", "value", NULL};

static struct rows_table read(const char *sql)
{
    struct rows_table table = {0};
    REQUIRE(rows_names_read(sql, strlen(sql), asked, &table));
    return table;
}

static void check(const char *sql, int columns, int id, int value, int key)
{
    struct rows_table table = read(sql);
    CHECK_INT(table.columns, columns);
    CHECK_INT(table.at[0], id);
    CHECK_INT(table.at[1], value);
    CHECK_INT(table.key, key);
}

TEST(columns)
{
    check("CREATE TABLE t(id INTEGER PRIMARY KEY, value TEXT)", 2, 0, 1, 0);
    check("CREATE TABLE t (a, id, value)", 3, 1, 2, -1);
    check("create table \"t (x\"(\"id\" INT, [value] TEXT, `c` BLOB)", 3, 0, 1, -1);
    check("CREATE TABLE t(value TEXT)", 1, -1, 0, -1);
    check("CREATE TABLE t(ID TEXT, Value TEXT, id TEXT)", 3, 0, 1, -1);
}

TEST(comments)
{
    check("CREATE TABLE t (\n  -- id, value (\n  id INTEGER NOT NULL PRIMARY KEY, -- a, b)\n"
          "  value TEXT /* , x ) */\n)",
          2, 0, 1, 0);
    check("CREATE TABLE t(a, -- value\n id)", 2, 1, -1, -1);
}

TEST(parentheses_and_constraints)
{
    check("CREATE TABLE t(a DECIMAL(10, 2), id INT CHECK (id IN (1, 2)), value DEFAULT (1),"
          " PRIMARY KEY (a, id))",
          3, 1, 2, -1);
    check("CREATE TABLE t(id INT REFERENCES x(y), CONSTRAINT c UNIQUE (id))", 1, 0, -1, -1);
    check("CREATE TABLE t(a TEXT DEFAULT 'x, ''value, ', id)", 2, 1, -1, -1);
}

TEST(the_key_of_rows)
{
    check("CREATE TABLE t(value, id INTEGER NOT NULL PRIMARY KEY)", 2, 1, 0, 1);
    check("CREATE TABLE t(id INT PRIMARY KEY)", 1, 0, -1, -1);
    check("CREATE TABLE t(id INTEGER UNSIGNED PRIMARY KEY)", 1, 0, -1, -1);
    check("CREATE TABLE t(id INTEGER PRIMARY KEY DESC)", 1, 0, -1, -1);
    check("CREATE TABLE t(id INTEGER)", 1, 0, -1, -1);
}

TEST(what_is_not_read)
{
    static const char *const texts[] = {
        "",
        "CREATE VIRTUAL TABLE t USING x(id)",
        "CREATE VIEW t(id) AS SELECT 1",
        "CREATE TABLE t",
        "CREATE TABLE t(",
        "CREATE TABLE t(id",
        "CREATE TABLE t(id,",
        "CREATE TABLE t()",
        "CREATE TABLE t(id, a GENERATED ALWAYS AS (id + 1), b)",
        "CREATE TABLE t(id, a AS (id + 1))",
        "CREATE TABLE t(\"id)",
        "CREATE TABLE t(id /* )",
        "SELECT 1",
        "CREATE TABLE t AS SELECT 1",
    };
    struct rows_table table;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(!rows_names_read(texts[i], strlen(texts[i]), asked, &table));
}

TEST(too_many_columns)
{
    char sql[4096] = "CREATE TABLE t(a";
    struct rows_table table;
    for (int i = 1; i < ROWS_COLUMNS; i++)
        strcat(sql, ",a");
    strcat(sql, ")");
    CHECK(rows_names_read(sql, strlen(sql), asked, &table) && table.columns == ROWS_COLUMNS);
    sql[strlen(sql) - 1] = '\0';
    strcat(sql, ",a)");
    CHECK(!rows_names_read(sql, strlen(sql), asked, &table));
}

TEST_MAIN(TEST_CASE(columns), TEST_CASE(comments), TEST_CASE(parentheses_and_constraints),
          TEST_CASE(the_key_of_rows), TEST_CASE(what_is_not_read), TEST_CASE(too_many_columns))
