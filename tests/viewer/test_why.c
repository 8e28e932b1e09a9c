#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "why.h"
#include "db.h"
#include "error.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

static void between(struct db *db, const char *first, const char *second, struct why *why)
{
    struct instant before, after;
    REQUIRE(instant_find(db, 1, 1, first, &before) == 0);
    REQUIRE(instant_find(db, 1, 1, second, &after) == 0);
    CHECK_INT(why_read(db, 1, 1, &before, &after, SIZE_MAX, why), 0);
    CHECK(why_is_valid(why));
}

TEST(the_second_step_is_higher_by_what_the_first_left)
{
    struct db *db = recording("train");
    struct why why;
    between(db, "0", "1", &why);
    CHECK_INT(why.after_bytes - why.before_bytes, MIB(840));
    CHECK_INT(why_change_of(&why, PURPOSE_GRADIENT), MIB(280));
    CHECK_INT(why_change_of(&why, PURPOSE_OPTIMIZER_STATE), MIB(560));
    CHECK_INT(why_change_of(&why, PURPOSE_ACTIVATION), 0);
    CHECK_STR(why.groups[0].shown, "step (optim.py:101)");
    CHECK_INT(why.groups[0].purpose, PURPOSE_OPTIMIZER_STATE);
    CHECK_INT(why.groups[0].before_blocks, 0);
    CHECK_INT(why.groups[0].after_blocks, 8);
    CHECK(why.segments_known);
    CHECK_INT(why.after_reserved - why.before_reserved, MIB(840));
    why_clear(&why);
    db_close(db);
}

TEST(backwards_is_the_opposite)
{
    struct db *db = recording("train");
    struct why there, back;
    between(db, "0/forward", "1/backward", &there);
    between(db, "1/backward", "0/forward", &back);
    CHECK_INT(there.group_count, back.group_count);
    for (size_t i = 0; i < there.category_count; i++) {
        const struct why_group *one = &there.categories[i];
        CHECK_INT(why_change_of(&back, one->purpose), -why_change(one));
    }
    CHECK_INT(there.after_reserved - there.before_reserved,
              back.before_reserved - back.after_reserved);
    why_clear(&there);
    why_clear(&back);
    between(db, "1/loss", "1/loss", &there);
    CHECK_INT(why_change(&there.groups[0]), 0);
    CHECK_INT(there.segment_count, 0);
    why_clear(&there);
    db_close(db);
}

/* Blocks, segments and pages at random; what lived is asked of the tables by one plain scan. */
static struct db *random_recording(uint64_t seed, int blocks)
{
    struct db *db = recording("train");
    char sql[512];
    REQUIRE(db_exec(db, "DELETE FROM allocation; DELETE FROM keyframe; DELETE FROM segment") == 0);
    REQUIRE(db_exec(db, "BEGIN") == 0);
    for (int i = 1; i <= blocks; i++) {
        bool lives = test_random(&seed) % 4 == 0;
        int64_t end = i + 1 + (int64_t)(test_random(&seed) % 60);
        snprintf(sql, sizeof sql,
                 "INSERT INTO "
                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
                 "segment) VALUES(%d,1,%d,%d,NULL,%d,%" PRId64 ",%" PRId64 ",%d,NULL,NULL)",
                 i, i * 4096, (int)(test_random(&seed) % 100000), i * 10,
                 lives ? -(INT64_C(1) << 46) : (end - i) * 10, lives ? -(INT64_C(1) << 31) : end,
                 (int)(test_random(&seed) % 9 + 1));
        REQUIRE(db_exec(db, sql) == 0);
        if (test_random(&seed) % 8 == 0) {
            snprintf(sql, sizeof sql, "INSERT INTO segment VALUES(%d,1,%d,%d,%d,NULL,%s,NULL)", i,
                     i * 65536, (int)(test_random(&seed) % 5 + 1) * 2097152, i * 10,
                     test_random(&seed) % 2 ? "NULL" : "90");
            REQUIRE(db_exec(db, sql) == 0);
        }
        if (test_random(&seed) % 8 == 0) {
            snprintf(sql, sizeof sql, "INSERT INTO mapping VALUES(%d,1,%d,2097152,%d,1)", i,
                     i * 65536, i * 10);
            REQUIRE(db_exec(db, sql) == 0);
        }
    }
    REQUIRE(db_exec(db, "COMMIT") == 0);
    return db;
}

static int64_t scan(struct db *db, const char *sql, int64_t seq)
{
    struct db_stmt *stmt;
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    db_bind_int(stmt, 0, seq);
    REQUIRE(db_step(stmt) == DB_ROW);
    int64_t value = db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}

static void check_sums(struct db *db, int64_t first, int64_t second)
{
    static const char blocks[] = "SELECT coalesce(sum(size), 0) FROM allocation"
                                 " WHERE seq <= ?1 AND (free_seq < 0 OR free_seq > ?1)";
    static const char segments[] =
        "SELECT (SELECT coalesce(sum(size), 0) FROM segment"
        "         WHERE seq <= ?1 AND (free_seq IS NULL OR free_seq > ?1)) +"
        "       (SELECT coalesce(sum(size), 0) FROM mapping WHERE seq <= ?1)";
    struct instant before = {.seq = first}, after = {.seq = second};
    struct why why;
    CHECK_INT(why_read(db, 1, 1, &before, &after, 3, &why), 0);
    CHECK(why_is_valid(&why));
    CHECK_INT(why.before_bytes, scan(db, blocks, first));
    CHECK_INT(why.after_bytes, scan(db, blocks, second));
    CHECK_INT(why.before_reserved, scan(db, segments, first));
    CHECK_INT(why.after_reserved, scan(db, segments, second));
    why_clear(&why);
}

/* Each group that changed, once more without what lives at both. */
static void check_changes(struct db *db, int64_t first, int64_t second)
{
    struct instant before = {.seq = first}, after = {.seq = second};
    struct why whole, changes;
    CHECK_INT(why_read(db, 1, 1, &before, &after, 3, &whole), 0);
    CHECK_INT(why_read_changes(db, 1, 1, &before, &after, 3, &changes), 0);
    CHECK_INT(changes.after_bytes - changes.before_bytes, whole.after_bytes - whole.before_bytes);
    for (size_t i = 0; i < whole.group_count && i < changes.group_count; i++) {
        const struct why_group *one = &whole.groups[i], *other = &changes.groups[i];
        CHECK_INT(why_change(one), why_change(other));
        CHECK_INT(one->after_blocks - one->before_blocks,
                  other->after_blocks - other->before_blocks);
    }
    for (size_t i = changes.group_count; i < whole.group_count; i++)
        CHECK_INT(why_change(&whole.groups[i]), 0);
    for (int i = 0; i < PURPOSES; i++)
        CHECK_INT(why_change_of(&whole, (enum purpose)i), why_change_of(&changes, (enum purpose)i));
    why_clear(&whole);
    why_clear(&changes);
}

TEST(what_lives_at_both_is_no_change)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct db *db = random_recording(seed, 120);
        for (int64_t first = 0; first <= 130; first += 13)
            for (int64_t second = 0; second <= 180; second += 9)
                check_changes(db, first, second);
        db_close(db);
    }
}

TEST(random_recordings_add_up)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct db *db = random_recording(seed, 120);
        for (int64_t first = 0; first <= 130; first += 13)
            for (int64_t second = 5; second <= 180; second += 35)
                check_sums(db, first, second);
        db_close(db);
    }
}

TEST(what_does_not_add_up_is_noticed)
{
    struct db *db = recording("train");
    struct why why;
    between(db, "0", "1", &why);
    why.groups[0].after_bytes++;
    CHECK(!why_is_valid(&why));
    why.groups[0].after_bytes--;
    why.segments[0].after++;
    CHECK(!why_is_valid(&why));
    why_clear(&why);
    db_close(db);
}

TEST_MAIN(TEST_CASE(the_second_step_is_higher_by_what_the_first_left),
          TEST_CASE(backwards_is_the_opposite), TEST_CASE(what_lives_at_both_is_no_change),
          TEST_CASE(random_recordings_add_up), TEST_CASE(what_does_not_add_up_is_noticed))
