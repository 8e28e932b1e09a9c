/* statements.def against the tables that it writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "statements.h"
#include "test.h"

static enum sch_type type_of(const char *declared, bool required)
{
    if (strcmp(declared, "INTEGER") == 0)
        return required ? SCH_INT : SCH_OPT;
    if (strcmp(declared, "TEXT") == 0)
        return required ? SCH_TEXT : SCH_NTEXT;
    CHECK_STR(declared, "");
    return SCH_ANY;
}

static void ask_table(struct db *db, const char *table, struct db_stmt **out)
{
    REQUIRE(db_prepare(db, out,
                       "SELECT name, type, \"notnull\" OR pk > 0 FROM pragma_table_info(?1)"
                       " ORDER BY cid") == 0);
    db_bind_text(*out, 0, table, -1);
}

static void check_insert(struct db *db, enum sch_statement which)
{
    const struct sch_column *column = sch_statement_columns(which);
    const char *into = strstr(sch_statement_sql(which), " INTO ");
    struct db_stmt *stmt = NULL;
    unsigned count = 0;
    REQUIRE(into != NULL);
    ask_table(db, into + strlen(" INTO "), &stmt);
    for (; db_step(stmt) == DB_ROW; count++) {
        REQUIRE(count < sch_statement_cells(which));
        CHECK_STR(column[count].name, db_column_text(stmt, 0));
        CHECK_INT(column[count].type,
                  type_of(db_column_text(stmt, 1), db_column_int(stmt, 2) != 0));
    }
    db_finalize(stmt);
    CHECK_INT(count, sch_statement_cells(which));
}

static bool is_text(enum sch_type type)
{
    return type == SCH_TEXT || type == SCH_NTEXT;
}

/* The column of a table's; false where it has none of the name. */
static bool has_column(struct db *db, const char *table, const struct sch_column *column)
{
    struct db_stmt *stmt = NULL;
    bool found = false;
    ask_table(db, table, &stmt);
    while (db_step(stmt) == DB_ROW)
        found = found || (strcmp(db_column_text(stmt, 0), column->name) == 0 &&
                          (strcmp(db_column_text(stmt, 1), "TEXT") == 0) == is_text(column->type));
    db_finalize(stmt);
    return found;
}

/* "UPDATE table SET name=?2 ..." and "DELETE FROM table WHERE name=?1". */
static void check_other(struct db *db, enum sch_statement which)
{
    const char *sql = sch_statement_sql(which);
    const struct sch_column *columns = sch_statement_columns(which);
    unsigned seen = 0;
    char table[32];
    REQUIRE(sscanf(sql, "UPDATE %31s", table) == 1 || sscanf(sql, "DELETE FROM %31s", table) == 1);
    for (const char *mark = sql; (mark = strchr(mark, '?')); mark++) {
        const char *end = mark, *coalesce = "coalesce(";
        if (strncmp(end - strlen(coalesce), coalesce, strlen(coalesce)) == 0)
            end -= strlen(coalesce);
        REQUIRE(*--end == '=');
        end -= end[-1] == '>';
        const char *begin = end;
        while (strchr(" ,", begin[-1]) == NULL)
            begin--;
        unsigned at = (unsigned)atoi(mark + 1) - 1;
        REQUIRE(at < sch_statement_cells(which));
        CHECK_INT(strlen(columns[at].name), end - begin);
        CHECK(strncmp(columns[at].name, begin, (size_t)(end - begin)) == 0);
        CHECK(has_column(db, table, &columns[at]));
        seen |= 1u << at;
    }
    CHECK_INT(seen, (1u << sch_statement_cells(which)) - 1);
}

TEST(columns_are_those_of_the_tables)
{
    struct db *db = fixture_empty();
    for (enum sch_statement which = 0; which < SCH_STATEMENT_COUNT; which++) {
        if (strncmp(sch_statement_sql(which), "INSERT", 6) == 0)
            check_insert(db, which);
        else
            check_other(db, which);
    }
    db_close(db);
}

TEST(each_can_be_prepared_as_it_is_written)
{
    struct db *db = fixture_empty();
    for (enum sch_statement which = 0; which < SCH_STATEMENT_COUNT; which++) {
        struct db_stmt *stmt = NULL;
        CHECK_INT(db_prepare_known(db, &stmt, which), 0);
        CHECK_INT(db_params(stmt), sch_statement_cells(which));
        db_finalize(stmt);
    }
    db_close(db);
    char text[SCH_TEXT_BYTES];
    sch_statement_text(SCH_KEYFRAME, text);
    CHECK_STR(text, "INSERT OR IGNORE INTO keyframe(seq,allocation) VALUES(?,?)");
    sch_statement_text(SCH_DEVICE_TOTAL, text);
    CHECK_STR(text, "UPDATE device SET total_bytes=?2 WHERE id=?1");
}

TEST_MAIN(TEST_CASE(columns_are_those_of_the_tables),
          TEST_CASE(each_can_be_prepared_as_it_is_written))
