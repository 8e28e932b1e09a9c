/* Answers that a reader keeps for its transaction. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "db.h"
#include "error.h"
#include "fixture.h"
#include "mem.h"
#include "query.h"

static const char once_sql[] =
    "SELECT count(*) AS found, count(*) = 1 AS one, max(id) AS highest FROM device";

static void add_device(struct db *db, int id)
{
    char sql[120];
    snprintf(sql, sizeof sql, "INSERT INTO device(id, kind, ordinal) VALUES(%d, 'virtual', %d)", id,
             id);
    fixture_exec(db, sql);
}

static int ask_once(struct db *db, int64_t *count, bool *one, int64_t *highest)
{
    int64_t found = -1;
    int err = query_once(db, once_sql, Q_OUT(Q_INT(found), Q_INT(*one), Q_OPT(*highest)));
    *count = found;
    return err;
}

/* A reader's transaction sees no other rows, so its second question costs no statement. */
TEST(asked_once_in_a_transaction)
{
    const char *path = test_path("once.db");
    struct db *db = NULL, *reader = NULL;
    int64_t count = 0, highest = 0;
    bool one = true;
    REQUIRE(db_create(&db, path) == 0);
    REQUIRE(db_open(&reader, path) == 0);
    CHECK_INT(db_exec(reader, "BEGIN"), 0);
    CHECK_INT(ask_once(reader, &count, &one, &highest), 0);
    CHECK(count == 0 && !one && highest == QUERY_NONE);
    uint64_t before = db_work();
    count = highest = 7;
    one = true;
    CHECK_INT(ask_once(reader, &count, &one, &highest), 0);
    CHECK(count == 0 && !one && highest == QUERY_NONE);
    CHECK(db_work() == before);
    CHECK_INT(query_once(reader, once_sql, Q_OUT(Q_INT(highest), Q_REST)), 0);
    CHECK_INT(highest, 0); /* another place is another question */
    CHECK_INT(db_exec(reader, "COMMIT"), 0);
    add_device(db, 4);
    CHECK_INT(ask_once(reader, &count, &one, &highest), 0); /* none is open: nothing is kept */
    CHECK(count == 1 && one && highest == 4);
    add_device(db, 5);
    CHECK_INT(ask_once(reader, &count, &one, &highest), 0);
    CHECK(count == 2 && !one && highest == 5);
    db_close(reader);
    db_close(db);
}

TEST(no_row_is_an_answer_too)
{
    static const char sql[] = "SELECT id FROM heap";
    const char *path = test_path("none.db");
    struct db *db = NULL;
    int64_t id = 5;
    REQUIRE(db_create(&db, path) == 0);
    db_close(db);
    REQUIRE(db_open(&db, path) == 0);
    CHECK_INT(db_exec(db, "BEGIN"), 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(query_once(db, sql, Q_OUT(Q_INT(id))), 0);
    CHECK_INT(id, 5);
    for (int i = 0; i < 2; i++) /* an error is none */
        CHECK(query_once(db, "SELECT nothing", Q_OUT(Q_INT(id))) < 0);
    db_close(db);
}

/* What cannot be kept is asked again. */
TEST(once_without_memory)
{
    const char *path = test_path("once_memory.db");
    struct db *db = NULL;
    int64_t two = 0;
    int err = ERR_NOMEM;
    REQUIRE(db_create(&db, path) == 0);
    db_close(db);
    for (long n = 1; n < 50; n++) {
        REQUIRE(db_open(&db, path) == 0);
        CHECK_INT(db_exec(db, "BEGIN"), 0);
        mem_fail_after(n);
        err = query_once(db, "SELECT 2 AS two", Q_OUT(Q_INT(two)));
        mem_fail_after(0);
        CHECK(err == ERR_NOMEM || (err == 0 && two == 2));
        CHECK_INT(query_once(db, "SELECT 2 AS two", Q_OUT(Q_INT(two))), 0);
        CHECK_INT(two, 2);
        db_close(db);
    }
    CHECK_INT(err, 0);
}

/* ---- which questions are kept ---- */

static struct db *open_in_transaction(const char *name)
{
    const char *path = test_path(name);
    struct db *db = NULL;
    REQUIRE(db_create(&db, path) == 0);
    db_close(db);
    REQUIRE(db_open(&db, path) == 0);
    CHECK_INT(db_exec(db, "BEGIN"), 0);
    return db;
}

/* How many statements' worth of work a question costs: none if its answer is kept. */
static bool costs_work(struct db *db, const char *sql, const struct query_place *out)
{
    uint64_t before = db_work();
    CHECK_INT(query_once(db, sql, out), 0);
    return db_work() != before;
}

TEST(there_is_room_for_sixteen_answers)
{
    enum { ROOM = 16 };
    static char texts[ROOM + 2][40];
    struct db *db = open_in_transaction("sixteen.db");
    int64_t number = -1;
    for (int i = 0; i < ROOM + 2; i++) {
        snprintf(texts[i], sizeof texts[i], "SELECT %d AS number", i);
        CHECK(costs_work(db, texts[i], Q_OUT(Q_INT(number))));
        CHECK_INT(number, i);
    }
    for (int i = 0; i < ROOM + 2; i++) {
        CHECK_INT(costs_work(db, texts[i], Q_OUT(Q_INT(number))), i >= ROOM);
        CHECK_INT(number, i);
    }
    db_close(db);
}

TEST(an_answer_has_four_numbers_at_most)
{
    static const char four[] = "SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d",
                      five[] = "SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS e";
    struct db *db = open_in_transaction("four.db");
    int64_t a = 0, b = 0, c = 0, d = 0, e = 0;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(costs_work(db, four, Q_OUT(Q_INT(a), Q_INT(b), Q_INT(c), Q_INT(d))), i == 0);
        CHECK_INT(1000 * a + 100 * b + 10 * c + d, 1234);
        a = b = c = d = 0;
    }
    for (int i = 0; i < 2; i++) {
        CHECK(costs_work(db, five, Q_OUT(Q_INT(a), Q_INT(b), Q_INT(c), Q_INT(d), Q_INT(e))));
        CHECK_INT(10000 * a + 1000 * b + 100 * c + 10 * d + e, 12345);
    }
    db_close(db);
}

TEST(a_text_is_not_kept)
{
    static const char sql[] = "SELECT 1 AS one, 'text' AS text";
    struct db *db = open_in_transaction("text.db");
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        int64_t one = 0;
        CHECK(costs_work(db, sql, Q_OUT(Q_INT(one), Q_COPY(text))));
        CHECK(one == 1 && text && strcmp(text, "text") == 0);
        mem_free(text);
    }
    db_close(db);
}

/* A question is its text, and what is read of it: how much, by which names, and as what. */
TEST(other_readers_ask_another_question)
{
    static const char sql[] = "SELECT 7 AS seven, 8 AS eight";
    struct db *db = open_in_transaction("readers.db");
    int64_t seven = 0, eight = 0;
    struct query_place swapped[3];
    const struct query_place *places = Q_OUT(Q_INT(seven), Q_INT(eight));
    swapped[0] = places[1];
    swapped[1] = places[0];
    swapped[2] = places[2];
    CHECK_INT(query_once(db, sql, places), 0);
    CHECK(seven == 7 && eight == 8);
    CHECK_INT(query_once(db, sql, swapped), 0);
    CHECK(seven == 7 && eight == 8);
    CHECK(query_once(db, sql, Q_OUT(Q_INT(seven))) < 0); /* there is more to read */
    db_close(db);
}

TEST(a_number_is_kept_as_what_it_was_read)
{
    static const char sql[] = "SELECT 7 AS seven";
    struct db *db = open_in_transaction("types.db");
    for (int i = 0; i < 2; i++) {
        bool seven = false;
        CHECK_INT(query_once(db, sql, Q_OUT(Q_INT(seven))), 0);
        CHECK(seven);
    }
    int64_t seven = 0;
    CHECK_INT(query_once(db, sql, Q_OUT(Q_INT(seven))), 0);
    CHECK_INT(seven, 7);
    db_close(db);
}

/* A bool is one byte, whatever stands behind it. */
TEST(a_bool_has_no_neighbours)
{
    static const char sql[] = "SELECT 0 AS \"places[0]\"";
    struct db *db = open_in_transaction("bool.db");
    union {
        bool places[16];
        unsigned char bytes[16];
    } all;
    bool *places = all.places;
    for (int i = 0; i < 2; i++) {
        memset(all.bytes, 0xff, sizeof all.bytes);
        CHECK_INT(costs_work(db, sql, Q_OUT(Q_INT(places[0]))), i == 0);
        CHECK_INT(all.bytes[0], 0);
        for (size_t at = 1; at < sizeof all.bytes; at++)
            CHECK_INT(all.bytes[at], 0xff);
    }
    db_close(db);
}

TEST_MAIN(TEST_CASE(asked_once_in_a_transaction), TEST_CASE(no_row_is_an_answer_too),
          TEST_CASE(once_without_memory), TEST_CASE(there_is_room_for_sixteen_answers),
          TEST_CASE(an_answer_has_four_numbers_at_most), TEST_CASE(a_text_is_not_kept),
          TEST_CASE(other_readers_ask_another_question),
          TEST_CASE(a_number_is_kept_as_what_it_was_read), TEST_CASE(a_bool_has_no_neighbours))
