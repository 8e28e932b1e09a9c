/*
 * schema/README.md is held to what it says: every SQL block is run on small_run.sql and gives the
 * text block behind it; every table and view is named, the promised columns as they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "test.h"

/* Cuts the next block that opens with `fence` out of the text, from *at on; NULL if there is none.
 */
static char *next_block(const char **at, const char *fence)
{
    const char *begin = strstr(*at, fence);
    if (!begin)
        return NULL;
    begin += strlen(fence);
    const char *end = strstr(begin, "```");
    REQUIRE(end != NULL);
    *at = end + 3;
    return strndup(begin, (size_t)(end - begin));
}

TEST(every_question_has_the_answer_that_the_page_shows)
{
    struct db *db = fixture_small_run();
    const char *page = fixture_read(README_PATH);
    int questions = 0;
    for (char *sql; (sql = next_block(&page, "```sql\n")) != NULL; questions++) {
        char *answer = next_block(&page, "```text\n");
        REQUIRE(answer != NULL);
        CHECK(strlen(answer) > 0);
        CHECK_STR(fixture_query(db, sql, true), answer);
        free(answer);
        free(sql);
    }
    CHECK(questions >= 10);
    db_close(db);
}

TEST(every_answer_belongs_to_a_question)
{
    const char *page = fixture_read(README_PATH);
    int questions = 0, answers = 0;
    for (const char *at = page; (at = strstr(at, "```sql\n")) != NULL; at++)
        questions++;
    for (const char *at = page; (at = strstr(at, "```text\n")) != NULL; at++)
        answers++;
    CHECK_INT(answers, questions);
}

static bool is_name_byte(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool names(const char *page, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = page; (at = strstr(at, word)) != NULL; at++)
        if ((at == page || !is_name_byte(at[-1])) && !is_name_byte(at[length]))
            return true;
    return false;
}

TEST(every_table_and_view_is_named)
{
    struct db *db = fixture_empty();
    struct db_stmt *stmt = NULL;
    const char *page = fixture_read(README_PATH);
    int count = 0;
    REQUIRE(db_prepare(db, &stmt,
                       "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                       "AND name NOT LIKE 'sqlite_%'") == 0);
    for (; db_step(stmt) == DB_ROW; count++)
        if (!names(page, db_column_text(stmt, 0)))
            CHECK_STR(db_column_text(stmt, 0), "named in README.md");
    CHECK(count > 30);
    db_finalize(stmt);
    db_close(db);
}

/* "| `view` | a, b, c | ..." has the first columns of the view. */
static void check_promise(struct db *db, const char *line)
{
    char view[64], columns[512], sql[128];
    REQUIRE(sscanf(line, "| `%63[a-z_]` | %511[a-z_, ] |", view, columns) == 2);
    snprintf(sql, sizeof sql, "SELECT * FROM %s", view);
    struct db_stmt *stmt = NULL;
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    int at = 0;
    for (char *name = strtok(columns, ", "); name; name = strtok(NULL, ", "), at++)
        CHECK_STR(db_column_name(stmt, at), name);
    CHECK(at >= 3);
    db_finalize(stmt);
}

TEST(the_promised_columns_are_those_of_the_views)
{
    struct db *db = fixture_empty();
    int promises = 0;
    const char *page = fixture_read(README_PATH), *end = strstr(page, "Keys of `meta`");
    REQUIRE(end != NULL);
    for (const char *at = page; (at = strstr(at, "\n| `")) != NULL && at < end; at++) {
        check_promise(db, at + 1);
        promises++;
    }
    CHECK_INT(promises, 17);
    db_close(db);
}

/* Every key that the recorder writes stands in the page, in backquotes. */
TEST(every_key_of_meta_is_named)
{
    const char *page = fixture_read(README_PATH);
    int keys = 0;
    for (const char *at = fixture_read(RECORDER_META); (at = strstr(at, "(batch, \"")) != NULL;) {
        char word[64] = "`";
        at += strlen("(batch, \"");
        size_t length = strcspn(at, "\"");
        REQUIRE(length > 0 && length < sizeof word - 3);
        memcpy(word + 1, at, length);
        word[length + 1] = '`';
        if (strchr(word, ' ') || strncmp(at + length, "\", cost->", 9) == 0)
            continue; /* of table overhead */
        keys++;
        if (!strstr(page, word))
            CHECK_STR(word, "named in README.md");
    }
    CHECK(keys >= 15);
}

TEST_MAIN(TEST_CASE(every_question_has_the_answer_that_the_page_shows),
          TEST_CASE(every_answer_belongs_to_a_question), TEST_CASE(every_key_of_meta_is_named),
          TEST_CASE(every_table_and_view_is_named),
          TEST_CASE(the_promised_columns_are_those_of_the_views))
