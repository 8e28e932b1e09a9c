/* Questions: each column arrives in the place of its name, or nothing does. */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "fixture.h"
#include "mem.h"
#include "query.h"
#include "test.h"

struct found {
    int64_t number, maybe;
    uint64_t address;
    double ratio;
    bool yes;
    const char *text, *other;
    char *copy;
    char chars[8];
};

static struct db *one_row(const char *values)
{
    char sql[400];
    struct db *db = fixture_empty();
    fixture_exec(db, "CREATE TEMP TABLE t(number, maybe, address, ratio, yes, text, other, copy,"
                     " chars)");
    snprintf(sql, sizeof sql, "INSERT INTO t VALUES(%s)", values);
    fixture_exec(db, sql);
    return db;
}

TEST(each_type)
{
    struct db *db = one_row("-3, 4, -1, 0.5, 7, 'it''s', 'o', 'mine', 'longer than that'");
    struct found found = {0};
    const struct query_place out[] = {
        Q_INT(found.number),  Q_OPT(found.maybe), Q_ANY(found.address), Q_REAL(found.ratio),
        Q_INT(found.yes),     Q_TEXT(found.text), Q_NTEXT(found.other), Q_COPY(found.copy),
        Q_CHARS(found.chars), {.type = QUERY_END}};
    struct query query = query_ask(db, "SELECT * FROM t", Q_NOTHING, out);
    REQUIRE(query_next(&query));
    CHECK_INT(found.number, -3);
    CHECK_INT(found.maybe, 4);
    CHECK(found.address == UINT64_MAX && found.yes && found.ratio == 0.5);
    CHECK_STR(found.text, "it's");
    CHECK_STR(found.other, "o");
    CHECK_STR(found.copy, "mine");
    CHECK_STR(found.chars, "longer ");
    CHECK(!query_next(&query));
    CHECK_INT(query_end(&query), 0);
    mem_free(found.copy);
    db_close(db);
}

TEST(what_is_null)
{
    char mine[] = "mine";
    struct db *db = one_row("NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL");
    struct found found = {.number = 9, .yes = true, .copy = mine, .chars = "x"};
    const struct query_place out[] = {
        Q_INT(found.number),  Q_OPT(found.maybe), Q_INT(found.yes),     Q_TEXT(found.text),
        Q_NTEXT(found.other), Q_COPY(found.copy), Q_CHARS(found.chars), Q_REST};
    struct query query = query_ask(db, "SELECT * FROM t", Q_NOTHING, out);
    REQUIRE(query_next(&query));
    CHECK(found.number == 0 && found.maybe == QUERY_NONE && !found.yes);
    CHECK(found.other == NULL && found.copy == NULL);
    CHECK_STR(found.text, "");
    CHECK_STR(found.chars, "");
    CHECK_INT(query_end(&query), 0);
    db_close(db);
}

TEST(a_blob_is_copied_with_its_zeroes)
{
    struct db *db = fixture_empty();
    char *copy = NULL;
    REQUIRE(query_first(db, "SELECT x'61006200' AS copy", Q_NOTHING, Q_OUT(Q_COPY(copy))) ==
            DB_ROW);
    CHECK(memcmp(copy, "a\0b\0", 5) == 0);
    mem_free(copy);
    db_close(db);
}

TEST(names_and_not_places_decide)
{
    struct db *db = fixture_empty();
    struct {
        struct {
            int64_t first;
        } of;
        int64_t second;
    } row = {{0}, 0}, *at = &row;
    CHECK_INT(query_read(db, "SELECT 2 AS second, 1 AS first", Q_NOTHING,
                         Q_OUT(Q_INT(at->of.first), Q_INT((*at).second))),
              0);
    CHECK(row.of.first == 1 && row.second == 2);
    db_close(db);
}

static void check_mistake(struct db *db, int err, const char *why)
{
    CHECK_INT(err, ERR_INTERNAL);
    CHECK(strstr(db_message(db), why) != NULL);
}

TEST(a_question_that_is_not_what_its_reader_believes)
{
    struct db *db = fixture_empty();
    int64_t id = 5, other = 6;
    const char *text = "as before";
    check_mistake(db, query_read(db, "SELECT 1 AS ids", Q_NOTHING, Q_OUT(Q_INT(id))),
                  "no column 'id'");
    check_mistake(db, query_read(db, "SELECT 1 AS id", Q_NOTHING, Q_OUT(Q_INT(id), Q_INT(other))),
                  "no column 'other'");
    check_mistake(db, query_read(db, "SELECT 1 AS id, 2", Q_NOTHING, Q_OUT(Q_INT(id))),
                  "2 columns, and 1");
    check_mistake(db, query_read(db, "SELECT ?1 + ?2 AS id", Q_IN(id), Q_OUT(Q_INT(id))),
                  "2 parameters, and 1");
    check_mistake(db, query_read(db, "SELECT ?1 AS id", Q_IN(id, id), Q_OUT(Q_INT(id))),
                  "1 parameters, and 2");
    check_mistake(db, query_read(db, "SELECT 'x' AS text", Q_NOTHING, Q_OUT(Q_TEXT(text))),
                  "would be gone");
    CHECK(id == 5 && other == 6);
    CHECK_STR(text, "as before");
    CHECK(query_read(db, "SELECT nothing", Q_NOTHING, Q_OUT(Q_INT(id))) < 0);
    db_close(db);
}

TEST(values_of_each_kind)
{
    struct db *db = fixture_empty();
    char own[] = "own", all[64] = "";
    int64_t number = -7;
    REQUIRE(query_first(db,
                        "SELECT ?1 || ?2 || ?3 || coalesce(?4, '-') || ?5 || coalesce(?6, '-')"
                        " || coalesce(?7, '-') AS \"all\"",
                        Q_IN(number, own, "text", query_opt(QUERY_NONE), query_part("part", 2),
                             query_if(false, 1), query_if(true, INT64_MIN)),
                        Q_OUT(Q_CHARS(all))) == DB_ROW);
    CHECK_STR(all, "-7owntext-pa--9223372036854775808");
    db_close(db);
}

TEST(no_row_leaves_the_places)
{
    struct db *db = fixture_empty();
    int64_t id = 5;
    CHECK_INT(query_first(db, "SELECT id FROM heap", Q_NOTHING, Q_OUT(Q_INT(id))), DB_DONE);
    CHECK_INT(query_read(db, "SELECT id FROM heap", Q_NOTHING, Q_OUT(Q_INT(id))), 0);
    CHECK_INT(id, 5);
    db_close(db);
}

#define NUMBERS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"

TEST(an_error_in_the_midst_ends_the_rows)
{
    struct db *db = fixture_empty();
    int64_t i, sum = 0;
    struct query query =
        query_ask(db,
                  NUMBERS " SELECT CASE i WHEN 4 THEN abs(-9223372036854775807 - 1) ELSE i END AS i"
                          " FROM n",
                  Q_IN(9), Q_OUT(Q_INT(i)));
    while (query_next(&query))
        sum += i;
    CHECK_INT(sum, 1 + 2 + 3);
    CHECK(!query_next(&query));
    CHECK(query_end(&query) < 0);
    CHECK(strstr(db_message(db), "overflow") != NULL);
    db_close(db);
}

TEST(what_a_row_came_to_ends_them_too)
{
    struct db *db = fixture_empty();
    int64_t i, seen = 0;
    struct query query = query_ask(db, NUMBERS " SELECT i FROM n", Q_IN(9), Q_OUT(Q_INT(i)));
    while (query_next(&query)) {
        seen++;
        query_fail(&query, i == 3 ? ERR_LIMIT : 0);
        query_fail(&query, i == 3 ? ERR_NOMEM : DB_ROW); /* the first stays */
    }
    CHECK_INT(seen, 3);
    CHECK_INT(query_end(&query), ERR_LIMIT);
    CHECK_INT(fixture_int(db, "SELECT 1"), 1); /* nothing is held */
    db_close(db);
}

TEST(asked_again_with_other_values)
{
    struct db *db = fixture_empty();
    int64_t i;
    struct query query = query_ask(db, "SELECT ?1 + 1 AS i", Q_IN(1), Q_OUT(Q_INT(i)));
    for (int64_t from = 1; from < 5; from++) {
        query_again(&query, Q_IN(from));
        REQUIRE(query_next(&query));
        CHECK_INT(i, from + 1);
    }
    query_again(&query, Q_IN(1, 2));
    CHECK(!query_next(&query));
    check_mistake(db, query_end(&query), "1 parameters, and 2");
    db_close(db);
}

TEST(ended_before_the_last_row)
{
    struct db *db = fixture_empty();
    int64_t i;
    struct query query = query_ask(db, NUMBERS " SELECT i FROM n", Q_IN(9), Q_OUT(Q_INT(i)));
    CHECK(query_next(&query));
    CHECK_INT(query_end(&query), 0);
    CHECK_INT(query_end(&query), 0);
    db_close(db);
}

TEST(without_memory_no_copy_is_left)
{
    struct db *db = one_row("1, 1, 1, 1, 1, 'a', 'b', 'c', 'd'");
    int done = DB_DONE;
    for (long n = 1; done != DB_ROW; n++) {
        char *text = NULL, *copy = NULL;
        REQUIRE(n < 50);
        mem_fail_after(n);
        done = query_first(db, "SELECT text, copy FROM t", Q_NOTHING,
                           Q_OUT(Q_COPY(text), Q_COPY(copy)));
        mem_fail_after(0);
        CHECK(done == DB_ROW || done == ERR_NOMEM);
        CHECK((done == DB_ROW) == (text && copy));
        CHECK(done == DB_ROW || (!text && !copy));
        mem_free(text);
        mem_free(copy);
    }
    db_close(db);
}

TEST_MAIN(TEST_CASE(each_type), TEST_CASE(what_is_null),
          TEST_CASE(a_blob_is_copied_with_its_zeroes), TEST_CASE(names_and_not_places_decide),
          TEST_CASE(a_question_that_is_not_what_its_reader_believes),
          TEST_CASE(values_of_each_kind), TEST_CASE(no_row_leaves_the_places),
          TEST_CASE(an_error_in_the_midst_ends_the_rows),
          TEST_CASE(what_a_row_came_to_ends_them_too), TEST_CASE(asked_again_with_other_values),
          TEST_CASE(ended_before_the_last_row), TEST_CASE(without_memory_no_copy_is_left))
