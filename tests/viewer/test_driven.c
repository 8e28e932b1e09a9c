/* Devices that only the driver told of: what it gave over time, its moments, and who held it. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "course.h"
#include "driven.h"
#include "db.h"
#include "error.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

static struct driven read_of(struct db *db, int64_t device)
{
    struct driven driven;
    REQUIRE(driven_read(db, 1, device, &driven) == 0);
    CHECK(driven_is_valid(&driven));
    return driven;
}

/* ---- of a recording: the numbers stand at the top of plain.sql ---- */

TEST(which_devices_they_are)
{
    struct db *db = recording("plain"), *gpu = recording("gpu"), *cpu = recording("train");
    bool is;
    CHECK_INT(driven_is(db, 1, 1, &is), 0);
    CHECK(is);
    CHECK_INT(driven_is(db, 1, 2, &is), 0);
    CHECK(is);
    CHECK_INT(driven_is(db, 2, 1, &is), 0); /* no such process */
    CHECK(!is);
    CHECK_INT(driven_is(gpu, 1, 1, &is), 0); /* blocks were there */
    CHECK(!is);
    CHECK_INT(driven_is(cpu, 1, 1, &is), 0);
    CHECK(!is);
    REQUIRE(db_exec(db,
                    "INSERT INTO phase_device VALUES(2,1,0,8,8,8,8,0,8,14,8,8,14,14000000,8,1,0,"
                    "8)") == 0);
    CHECK_INT(driven_is(db, 1, 1, &is), 0);
    CHECK(!is);
    struct driven driven = read_of(db, 1);
    CHECK(!driven.found && !driven.count);
    driven_clear(&driven);
    db_close(db);
    db_close(gpu);
    db_close(cpu);
}

TEST(what_the_driver_gave)
{
    struct db *db = recording("plain");
    struct driven driven = read_of(db, 1);
    static const int64_t want[][3] = {
        /* seq, us, MiB */
        {3, 3000, 64},    {5, 5000, 80},    {8, 8000, 88},   {8, 12000, 112}, {14, 14000, 120},
        {17, 17000, 112}, {17, 18000, 120}, {20, 20000, 56}, {20, 25000, 48},
    };
    REQUIRE(driven.count == sizeof want / sizeof *want);
    for (size_t i = 0; i < driven.count; i++) {
        CHECK_INT(driven.points[i].seq, want[i][0]);
        CHECK_INT(driven.points[i].ns / 1000, want[i][1]);
        CHECK_INT(driven.points[i].bytes, MIB(want[i][2]));
    }
    CHECK(driven.points[3].sampled && !driven.points[4].sampled);
    CHECK_INT(driven.points[4].pools, MIB(40));
    CHECK_INT(driven.managed, MIB(128)); /* and in no point */
    CHECK_INT(driven_at(&driven, 4, 4000000).bytes, MIB(64));
    CHECK_INT(driven_at(&driven, 2, 2999999).bytes, 0);
    CHECK_INT(driven_at(&driven, INT64_MAX, INT64_MAX).bytes, MIB(48));
    CHECK_INT(driven_at(&driven, 13, 14000000).bytes, MIB(112)); /* of one time, but before it */
    driven_clear(&driven);
    db_close(db);
}

/* Samples come by the thousand, and most say what the one before said. */
TEST(samples_that_repeat_are_no_points)
{
    struct db *db = recording("plain");
    struct driven before = read_of(db, 1);
    REQUIRE(db_exec(db, "INSERT INTO sample(process, device, at_ns, what, value)"
                        " SELECT process, device, at_ns + 1000, what, value FROM sample"
                        " WHERE process = 1 AND device = 1 AND what = 'pool reserved'") == 0);
    struct driven driven = read_of(db, 1);
    CHECK_INT(driven.count, before.count);
    for (size_t i = 0; i < driven.count && i < before.count; i++) {
        CHECK_INT(driven.points[i].ns, before.points[i].ns);
        CHECK_INT(driven.points[i].bytes, before.points[i].bytes);
    }
    driven_clear(&before);
    driven_clear(&driven);
    db_close(db);
}

TEST(the_highest_of_a_stretch)
{
    struct db *db = recording("plain");
    struct driven driven = read_of(db, 1);
    struct driven_point point = driven_highest(&driven, -1, 0, INT64_MAX, INT64_MAX);
    CHECK_INT(point.seq, 14); /* the first of two */
    CHECK_INT(point.bytes, MIB(120));
    point = driven_highest(&driven, 17, 19000000, 25, 25000000);
    CHECK_INT(point.bytes, MIB(120)); /* as it began */
    CHECK(point.sampled && point.ns == 19000000);
    point = driven_highest(&driven, 20, 21000000, 30, 30000000);
    CHECK_INT(point.bytes, MIB(56));
    point = driven_highest(&driven, -1, 0, 2, 2000000);
    CHECK_INT(point.bytes, 0);
    driven_clear(&driven);
    db_close(db);
}

static const struct {
    const char *name, *label;
    int64_t seq, ns, bytes;
} moments[] = {
    {NULL, "peak of step 0, solve > inner", 14, 14000000, 120},
    {"peak", "peak of step 0, solve > inner", 14, 14000000, 120},
    {"1", "peak of step 1, solve", 18, 19000000, 120},
    {"0/solve", "step 0, end of solve", 18, 18000000, 112},
    {"0/inner#0", "step 0, end of inner #0", 15, 15000000, 120},
    {"1/user", "step 1, end of user", 25, 25000000, 56},
    {"@6ms", "6ms after the start", 5, 6000000, 80},
    {"end", "the end", 30, 30000000, 48},
};

TEST(moments_by_their_names)
{
    struct db *db = recording("plain");
    struct driven driven = read_of(db, 1);
    struct instant instant;
    struct driven_point point;
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        REQUIRE(driven_find(db, &driven, moments[i].name, INT64_MIN, INT64_MAX, &instant, &point) ==
                0);
        CHECK_STR(instant.label, moments[i].label);
        CHECK_INT(instant.seq, moments[i].seq);
        CHECK_INT(instant.at_ns, moments[i].ns);
        CHECK_INT(point.bytes, MIB(moments[i].bytes));
        CHECK(instant.driven && instant.allocated == INSTANT_NONE);
    }
    static const char *const missing[] = {"7", "7/solve", "0/solve#9", "0/nothing", "@1ms"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        CHECK_INT(driven_find(db, &driven, missing[i], INT64_MIN, INT64_MAX, &instant, &point),
                  ERR_NOTFOUND);
        CHECK(instant.label[0]);
    }
    CHECK_INT(driven_find(db, &driven, "no name", INT64_MIN, INT64_MAX, &instant, &point), ERR_ARG);
    CHECK_INT(driven_find(db, &driven, NULL, 1, 1, &instant, &point), 0);
    CHECK_INT(instant.step, 1);
    driven_clear(&driven);
    db_close(db);
}

TEST(a_recording_that_goes_on)
{
    struct db *db = recording("plain");
    struct instant instant;
    struct driven_point point;
    REQUIRE(db_exec(db, "UPDATE process SET last_seq = NULL, end_ns = NULL") == 0);
    REQUIRE(db_exec(db, "UPDATE phase SET end_seq = NULL, end_ns = NULL WHERE id >= 4") == 0);
    struct driven driven = read_of(db, 1);
    CHECK_INT(driven_find(db, &driven, "end", 0, 0, &instant, &point), 0);
    CHECK_INT(instant.seq, 20);
    CHECK_INT(instant.at_ns, 25000100);
    CHECK_INT(driven_find(db, &driven, "1/solve", 0, 0, &instant, &point), 0);
    CHECK_INT(point.bytes, MIB(48));
    CHECK_INT(driven_find(db, &driven, "1", 0, 0, &instant, &point), 0);
    CHECK_INT(point.bytes, MIB(120));
    driven_clear(&driven);
    db_close(db);
}

TEST(managed_memory_alone)
{
    struct db *db = recording("plain");
    struct instant instant;
    struct driven_point point;
    REQUIRE(db_exec(db, "DELETE FROM driver_memory WHERE kind <> 'managed'") == 0);
    REQUIRE(db_exec(db, "DELETE FROM sample") == 0);
    struct driven driven = read_of(db, 1);
    CHECK(driven.found && !driven.count);
    CHECK_INT(driven.managed, MIB(128));
    CHECK_INT(driven_find(db, &driven, NULL, INT64_MIN, INT64_MAX, &instant, &point), ERR_NOTFOUND);
    CHECK_INT(driven_find(db, &driven, "end", INT64_MIN, INT64_MAX, &instant, &point), 0);
    CHECK_INT(point.bytes, 0);
    driven_clear(&driven);
    db_close(db);
}

/* ---- who held it ---- */

static struct driven_moment moment_of(struct db *db, const struct driven *driven, const char *name)
{
    struct driven_moment moment;
    struct instant instant;
    REQUIRE(driven_find(db, driven, name, INT64_MIN, INT64_MAX, &instant, &moment.point) == 0);
    moment.seq = instant.seq;
    return moment;
}

TEST(who_held_it)
{
    struct db *db = recording("plain");
    struct driven driven = read_of(db, 1);
    struct driven_moment peak = moment_of(db, &driven, "peak"), end = moment_of(db, &driven, "end");
    struct driven_held held;
    CHECK_INT(driven_held_read(db, &driven, NULL, &peak, &held), 0);
    CHECK(driven_held_is_valid(&held));
    CHECK_INT(held.bytes, MIB(120));
    CHECK_INT(held.count, 3); /* all of the pool is handed out */
    CHECK_STR(held.groups[0].library, "the program");
    CHECK_STR(held.groups[0].call, "cudaMalloc");
    CHECK_INT(held.groups[0].bytes, MIB(64));
    CHECK_INT(held.groups[1].kind, DRIVEN_ASYNC);
    CHECK_INT(held.groups[1].pieces, 2);
    CHECK_STR(held.groups[2].library, "cuFFT");
    driven_held_clear(&held);
    CHECK_INT(driven_held_read(db, &driven, NULL, &end, &held), 0);
    CHECK(driven_held_is_valid(&held));
    CHECK_INT(held.bytes, MIB(48));
    CHECK_INT(held.groups[0].kind, DRIVEN_POOL); /* 24 that it keeps for itself */
    CHECK_INT(held.groups[0].bytes, MIB(24));
    CHECK(!held.groups[0].library && !held.groups[0].pieces);
    driven_held_clear(&held);
    driven_clear(&driven);
    db_close(db);
}

TEST(what_changed)
{
    struct db *db = recording("plain");
    struct driven driven = read_of(db, 1);
    struct driven_moment first = moment_of(db, &driven, "@6ms"),
                         last = moment_of(db, &driven, "end");
    struct driven_held held;
    CHECK_INT(driven_held_read(db, &driven, &first, &last, &held), 0);
    CHECK(driven_held_is_valid(&held));
    CHECK_INT(held.before_bytes, MIB(80));
    CHECK_INT(held.bytes, MIB(48));
    CHECK_INT(held.count, 4);
    CHECK_INT(driven_change(&held.groups[0]), MIB(-64));
    CHECK_INT(driven_change(&held.groups[1]), MIB(24));
    CHECK_INT(driven_change(&held.groups[2]), MIB(8));
    CHECK_INT(driven_change(&held.groups[3]), 0);
    driven_held_clear(&held);
    driven_clear(&driven);
    db_close(db);
}

/* ---- many events, against a loop over all of them ---- */

enum { MANY = 3000 };

static struct piece {
    int64_t seq, ns, end, size;
    int pool;
} pieces[MANY];

static unsigned any(uint32_t *seed, unsigned below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

/* One event for each number: something comes, something goes, or a pool is looked at. */
static size_t make(struct db *db, uint32_t seed, int64_t samples[MANY])
{
    char sql[256];
    size_t count = 0;
    for (int64_t seq = 1; seq < MANY; seq++) {
        size_t at = count ? any(&seed, (unsigned)count) : 0;
        samples[seq] = -1;
        if (seq % 50 == 0) {
            samples[seq] = any(&seed, 400);
            snprintf(sql, sizeof sql,
                     "INSERT INTO sample VALUES(%lld, 1, 1, 'pool reserved', %lld)",
                     (long long)seq * 10, (long long)samples[seq]);
        } else if (count && any(&seed, 2) && pieces[at].end == INT64_MAX) {
            pieces[at].end = seq;
            snprintf(sql, sizeof sql,
                     "UPDATE driver_memory SET life_ns = %lld, free_seq = %lld WHERE seq = %lld",
                     (long long)(seq - pieces[at].seq) * 10, (long long)seq,
                     (long long)pieces[at].seq);
        } else {
            pieces[count] =
                (struct piece){seq, seq * 10, INT64_MAX, 1 + any(&seed, 100), any(&seed, 4) == 0};
            snprintf(sql, sizeof sql,
                     "INSERT INTO driver_memory VALUES(%lld, 1, 1, '%s', %lld, %lld, NULL, NULL,"
                     " NULL, %lld, NULL, NULL, NULL, NULL, 0)",
                     (long long)seq, pieces[count].pool ? "async" : "device", (long long)seq,
                     (long long)pieces[count].size, (long long)seq * 10);
            count++;
        }
        REQUIRE(db_exec(db, sql) == 0);
    }
    return count;
}

static int64_t slow_at(size_t count, const int64_t samples[MANY], int64_t seq)
{
    int64_t memory = 0, parts = 0, pool = 0;
    for (size_t i = 0; i < count; i++)
        if (pieces[i].seq <= seq && pieces[i].end > seq)
            *(pieces[i].pool ? &parts : &memory) += pieces[i].size;
    for (int64_t s = 1; s <= seq; s++)
        pool = samples[s] >= 0 ? samples[s] : pool;
    return memory + (pool > parts ? pool : parts);
}

TEST(as_a_loop_over_all_memory_says)
{
    static int64_t samples[MANY], values[MANY];
    struct db *db = recording("plain");
    REQUIRE(db_exec(db, "DELETE FROM driver_memory") == 0 &&
            db_exec(db, "DELETE FROM sample") == 0);
    REQUIRE(db_begin(db) == 0);
    size_t count = make(db, 7, samples);
    REQUIRE(db_commit(db) == 0);
    struct driven driven = read_of(db, 1);
    for (int64_t seq = 0; seq < MANY; seq += 7) {
        values[seq] = slow_at(count, samples, seq);
        CHECK_INT(driven_at(&driven, INT64_MAX, seq * 10).bytes, values[seq]);
    }
    uint32_t seed = 3;
    for (int i = 0; i < 40; i++) {
        int64_t from = 7 * any(&seed, MANY / 7 - 1), until = from + 7 * any(&seed, 60), most = 0;
        until = until < MANY ? until : MANY - 1;
        for (int64_t seq = from; seq <= until; seq++) {
            int64_t value = slow_at(count, samples, seq);
            most = value > most ? value : most;
        }
        struct driven_point point =
            driven_highest(&driven, INT64_MAX, from * 10, INT64_MAX, until * 10);
        CHECK_INT(point.bytes, most);
    }
    struct driven_held held;
    for (int64_t seq = 100; seq < MANY; seq += 290) {
        struct driven_moment moment = {seq, driven_at(&driven, seq, seq * 10)};
        CHECK_INT(driven_held_read(db, &driven, NULL, &moment, &held), 0);
        CHECK(driven_held_is_valid(&held));
        CHECK_INT(held.bytes, moment.point.bytes);
        driven_held_clear(&held);
    }
    driven_clear(&driven);
    db_close(db);
}

/* ---- over time ---- */

TEST(a_course_of_it)
{
    struct db *db = recording("plain");
    struct course course;
    struct course_request request = {
        .process = 1, .device = 1, .first_step = INT64_MIN, .last_step = INT64_MAX, .columns = 60};
    CHECK_INT(course_read(db, &request, &course), 0);
    CHECK(course_is_valid(&course) && course.driven && course.count == 60);
    CHECK_INT(course.peak, MIB(120));
    CHECK_INT(course.peak_ns, 14000000);
    CHECK_INT(course.peak_step, 0);
    CHECK_STR(course.peak_path, "solve > inner");
    CHECK_INT(course.columns[59].last, MIB(48));
    course_clear(&course);
    request.first_step = request.last_step = 1;
    CHECK_INT(course_read(db, &request, &course), 0);
    CHECK(course_is_valid(&course) && course.count == 60);
    CHECK_INT(course.columns[0].first, MIB(120));
    course_clear(&course);
    request.categories = true; /* it is for nothing that is known */
    CHECK_INT(course_read(db, &request, &course), 0);
    CHECK_INT(course.count, 0);
    course_clear(&course);
    request.categories = false;
    request.by_events = true;
    request.first_step = INT64_MIN;
    request.last_step = INT64_MAX;
    CHECK_INT(course_read(db, &request, &course), 0);
    CHECK(course_is_valid(&course) && course.count == 60);
    course_clear(&course);
    db_close(db);
}

TEST_MAIN(TEST_CASE(which_devices_they_are), TEST_CASE(what_the_driver_gave),
          TEST_CASE(samples_that_repeat_are_no_points), TEST_CASE(the_highest_of_a_stretch),
          TEST_CASE(moments_by_their_names), TEST_CASE(a_recording_that_goes_on),
          TEST_CASE(managed_memory_alone), TEST_CASE(who_held_it), TEST_CASE(what_changed),
          TEST_CASE(as_a_loop_over_all_memory_says), TEST_CASE(a_course_of_it))
