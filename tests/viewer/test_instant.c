#include "test.h"

#include <stdio.h>
#include <string.h>

#include "group.h"
#include "instant.h"
#include "living.h"
#include "db.h"
#include "error.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

static int64_t ask(struct db *db, const char *sql, int64_t value)
{
    struct db_stmt *stmt;
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    db_bind_int(stmt, 0, value);
    REQUIRE(db_step(stmt) == DB_ROW);
    value = db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}

static bool add_size(void *self, const struct living_block *block)
{
    *(int64_t *)self += block->size;
    return true;
}

/* What lives then is what the phase wrote down. */
static void check_lives(struct db *db, const struct instant *at)
{
    int64_t sum = 0;
    CHECK_INT(living_read(db, 1, 1, at->seq, add_size, &sum), 0);
    CHECK_INT(sum, at->allocated);
}

TEST(moments_by_name)
{
    struct db *db = recording("train");
    struct instant at;
    CHECK_INT(instant_find(db, 1, 1, "1", &at), 0);
    CHECK_INT(at.allocated, MIB(4322));
    CHECK_INT(at.step, 1);
    CHECK_STR(at.label, "peak of step 1, backward");
    check_lives(db, &at);
    CHECK_INT(instant_find(db, 1, 1, "peak", &at), 0);
    CHECK_INT(at.allocated, MIB(4322));
    CHECK_INT(instant_find(db, 1, 1, "0", &at), 0);
    CHECK_INT(at.allocated, 3651141632);
    check_lives(db, &at);
    CHECK_INT(instant_find(db, 1, 1, "0/forward", &at), 0);
    CHECK_INT(at.allocated, 2210398208);
    CHECK_STR(at.label, "step 0, end of forward");
    check_lives(db, &at);
    CHECK_INT(instant_find(db, 1, 1, "0/encoder", &at), 0); /* a phase of the program's own */
    CHECK_INT(at.allocated, 868220928);
    CHECK_INT(instant_find(db, 1, 1, "0/user", &at), 0); /* or by its kind */
    CHECK_INT(at.allocated, 868220928);
    CHECK_INT(instant_find(db, 1, 1, "0/other#3", &at), 0);
    CHECK_INT(at.allocated, 1067450368);
    CHECK_STR(at.label, "step 0, end of other #3");
    CHECK_INT(instant_find(db, 1, 1, "end", &at), 0);
    CHECK_INT(at.seq, ask(db, "SELECT last_seq FROM process WHERE id = ?", 1));
    db_close(db);
}

TEST(moments_that_are_not_there)
{
    static const char *const wrong[] = {"",   "x",   "1x",   "1/",   "-1",        "@",
                                        "@x", "@1y", "@-1s", "@nan", "1 /forward"};
    static const char *const absent[] = {"7", "1/encode", "0/other#9", "@0ns", "1/for#ward"};
    struct db *db = recording("train");
    struct instant at;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(instant_find(db, 1, 1, wrong[i], &at), ERR_ARG);
        CHECK(!instant_is_name(wrong[i]));
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        CHECK_INT(instant_find(db, 1, 1, absent[i], &at), ERR_NOTFOUND);
        CHECK(at.label[0]);
        CHECK(instant_is_name(absent[i]));
    }
    CHECK_INT(instant_find(db, 9, 1, "peak", &at), ERR_NOTFOUND);
    CHECK_INT(instant_find(db, 9, 1, "end", &at), ERR_NOTFOUND);
    db_close(db);
}

/* Every time between the first birth and the end, beside a scan of all births. */
TEST(moments_by_time)
{
    struct db *db = recording("train");
    struct instant at;
    char text[64];
    int64_t first = ask(db, "SELECT min(alloc_ns) FROM allocation WHERE ? = 0", 0);
    int64_t last = ask(db, "SELECT max(alloc_ns) FROM allocation WHERE ? = 0", 0);
    for (int64_t ns = first; ns < last + 100000; ns += 97000) {
        snprintf(text, sizeof text, "@%lldns", (long long)ns);
        CHECK_INT(instant_find(db, 1, 1, text, &at), 0);
        CHECK_INT(at.seq, ask(db, "SELECT max(seq) FROM allocation WHERE alloc_ns <= ?", ns));
    }
    CHECK_INT(instant_find(db, 1, 1, "@1.5s", &at), 0);
    CHECK_INT(at.seq, ask(db, "SELECT max(seq) FROM allocation WHERE ? = 0", 0));
    CHECK_STR(at.label, "1.5s after the start");
    db_close(db);
}

/* Each half millisecond; in the short form the first, and from 1.5 ms on every seventh, which comes
 * by all places of a step, and by both of the short times that are `settled`. */
static int64_t next_try(int64_t us)
{
    if (test_is_long())
        return us + 500;
    return us < 1000 ? 1500 : us + 3500;
}

/* One block of 8 MiB in each step of 10 ms, from 1 to 7 ms; see thinned.sql for which are kept. */
TEST(times_that_were_thinned_out)
{
    struct db *db = recording("thinned");
    for (int64_t us = 500; us < 7200000; us = next_try(us)) {
        struct instant at;
        char text[64];
        bool out = (us >= 300000 && us < 2990000) || (us >= 3020000 && us < 6900000);
        bool settled = (us >= 2990000 && us < 2991000) || (us >= 6900000 && us < 6901000);
        int64_t sum = 0;
        snprintf(text, sizeof text, "@%lldus", (long long)us);
        int err = instant_find(db, 1, 1, text, &at);
        CHECK_INT(err, out || us < 1000 ? ERR_NOTFOUND : 0);
        CHECK_INT(at.thinned.is, out);
        if (out) {
            CHECK_INT(at.thinned.from_ns, us < 3000000 ? 300000000 : 3020000000);
            CHECK_INT(at.thinned.until_ns, us < 3000000 ? 2990000000 : 6900000000);
            CHECK_INT(at.thinned.step_before, us < 3000000 ? 29 : 301);
            CHECK_INT(at.thinned.step_behind, us < 3000000 ? 299 : 690);
        }
        if (err)
            continue;
        /* what lives is what lived after the last birth, that of a step which is there or not */
        CHECK(at.at_ns <= us * 1000);
        CHECK_INT(living_read(db, 1, 1, at.seq, add_size, &sum), 0);
        CHECK_INT(sum, settled ? 0 : MIB(8));
        CHECK(settled || us * 1000 - at.at_ns < 10000000 || us > 6999000);
    }
    db_close(db);
}

TEST(pairs)
{
    char first[32], second[32];
    CHECK(instant_pair("0..1", first, second));
    CHECK_STR(first, "0");
    CHECK_STR(second, "1");
    CHECK(instant_pair("@1.5s..2/back", first, second));
    CHECK_STR(first, "@1.5s");
    CHECK_STR(second, "2/back");
    CHECK(!instant_pair("1", first, second));
    CHECK(!instant_pair("..1", first, second));
    CHECK(!instant_pair("1..", first, second));
}

TEST(the_last_two_steps)
{
    struct db *db = recording("train");
    struct instant before, after;
    CHECK_INT(instant_last_steps(db, 1, 1, INT64_MIN, INT64_MAX, &before, &after), 0);
    CHECK_INT(before.step, 0);
    CHECK_INT(after.step, 1);
    CHECK_INT(after.allocated - before.allocated, MIB(4322) - 3651141632);
    CHECK_INT(instant_last_steps(db, 2, 1, INT64_MIN, INT64_MAX, &before, &after), ERR_NOTFOUND);
    CHECK_INT(instant_last_steps(db, 1, 1, 0, 1, &before, &after), 0);
    CHECK_INT(before.step, 0);
    CHECK_INT(after.step, 1);
    CHECK_INT(instant_last_steps(db, 1, 1, 1, INT64_MAX, &before, &after), ERR_NOTFOUND);
    db_close(db);
}

/* Step 2 of `train`, as far as its forward. */
static const char validation[] =
    "CREATE TEMP TABLE one AS SELECT * FROM phase WHERE id = 15;"
    "CREATE TEMP TABLE two AS SELECT * FROM phase_device WHERE phase = (SELECT id FROM one);"
    "UPDATE one SET id = 1000, step = 2, ended = 'end', begin_seq = 143, end_seq = 144;"
    "UPDATE two SET phase = 1000, peak_seq = 143, peak_ns = 75200000;"
    "INSERT INTO stretch VALUES(1, 143, 1000);"
    "INSERT INTO phase SELECT * FROM one; INSERT INTO phase_device SELECT * FROM two;";

static int64_t last_step(struct db *db)
{
    struct instant before, after;
    CHECK_INT(instant_last_steps(db, 1, 1, INT64_MIN, INT64_MAX, &before, &after), 0);
    CHECK_INT(after.step, before.step + 1);
    return after.step;
}

TEST(what_validates_behind_the_last_step_is_none)
{
    struct db *db = recording("train");
    struct instant before, after;
    REQUIRE(db_exec(db, validation) == 0);
    CHECK_INT(last_step(db), 1);
    CHECK_INT(instant_last_steps(db, 1, 1, 1, INT64_MAX, &before, &after), 0); /* asked for */
    CHECK_INT(after.step, 2);
    REQUIRE(db_exec(db, "UPDATE phase SET ended = 'exception' WHERE id = 1000") == 0);
    CHECK_INT(last_step(db), 2);
    REQUIRE(db_exec(db, "UPDATE phase SET ended = 'end' WHERE id = 1000;"
                        "INSERT INTO oom VALUES(144, 1, 1, 1, 0, 9, NULL, NULL, NULL)") == 0);
    CHECK_INT(last_step(db), 2);
    REQUIRE(db_exec(db, "DELETE FROM oom; UPDATE phase SET kind = 'other'"
                        " WHERE kind IN ('backward', 'optimizer')") == 0);
    CHECK_INT(last_step(db), 2); /* no step trains */
    db_close(db);
}

TEST(groups_of_ids)
{
    struct groups groups = {0};
    struct db *db = recording("train");
    for (int64_t id = 1; id <= 5; id++) {
        CHECK(groups_of(&groups, id % 4) != NULL);
        groups_of(&groups, id % 4)->bytes += id * 10;
        CHECK(groups_is_valid(&groups));
    }
    CHECK_INT(groups.count, 4);
    groups_sort(&groups);
    CHECK(groups_is_valid(&groups));
    CHECK_INT(groups.groups[0].id, 1); /* 10 + 50 */
    CHECK_INT(groups.groups[3].id, 2);
    CHECK_INT(groups_name_sites(db, &groups, 2), 0);
    CHECK(groups.groups[0].name != NULL && groups.groups[2].name == NULL);
    groups.groups[3].bytes = 1000;
    CHECK(!groups_is_valid(&groups));
    groups_clear(&groups);
    db_close(db);
}

TEST_MAIN(TEST_CASE(moments_by_name), TEST_CASE(moments_that_are_not_there),
          TEST_CASE(moments_by_time), TEST_CASE(times_that_were_thinned_out), TEST_CASE(pairs),
          TEST_CASE(the_last_two_steps), TEST_CASE(what_validates_behind_the_last_step_is_none),
          TEST_CASE(groups_of_ids))
