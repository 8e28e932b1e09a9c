/*
 * Phases and steps below a timeline, beside a scan of each column, and what a recording of several
 * processes, threads and devices must not mix up. Memory that runs out is said, and nothing stays.
 */
#include "course.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "test.h"

enum { COLUMNS = 50, MOST = 64 };

/* A phase of process 1; `ns` is 1000 times the number of the event. */
struct stretch {
    const char *kind;
    int64_t from, until; /* events: from <= seq < until */
    int parent;          /* id, 0 */
    int step;            /* -1 = none */
    const char *scope;
};

static struct db *record(const struct stretch *phases, int count, int64_t last)
{
    struct db *db;
    struct buf sql = {0};
    buf_print(&sql,
              "BEGIN; INSERT INTO meta VALUES('finished',1);"
              "INSERT INTO device VALUES(1,'cuda',0,NULL,NULL);"
              "INSERT INTO heap VALUES(1,1,1,0,0,NULL);"
              "INSERT INTO process VALUES(1,9,NULL,'root',0,%" PRId64 ",NULL,NULL,NULL,NULL,NULL,"
              "NULL,NULL,'exit',0,NULL,1,%" PRId64 ",%" PRId64 ");"
              "INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 2 FROM t"
              " WHERE i + 2 < %" PRId64 ") SELECT i,1,4096*i,1000+i,NULL,i*1000,1000,i+1,NULL,NULL,"
              "NULL FROM t;",
              last * 1000, last, last, last);
    for (int i = 0; i < count; i++) {
        const struct stretch *at = &phases[i];
        char parent[16] = "NULL", step[16] = "NULL";
        if (at->parent)
            snprintf(parent, sizeof parent, "%d", at->parent);
        if (at->step >= 0)
            snprintf(step, sizeof step, "%d", at->step);
        buf_print(&sql,
                  "INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,"
                  "begin_seq,end_seq,begin_ns,end_ns,scope,ended) "
                  "VALUES(%d,1,7,%s,0,'%s','%s',%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                  ",'%s','end');",
                  i + 1, parent, at->kind, at->kind, step, at->from, at->until - 1, at->from * 1000,
                  at->until * 1000, at->scope ? at->scope : "process");
    }
    buf_text(&sql, "COMMIT");
    unlink(test_path("phases.db"));
    REQUIRE(db_create(&db, test_path("phases.db")) == 0);
    REQUIRE(!sql.broken);
    CHECK_INT(db_exec(db, buf_string(&sql)), 0);
    buf_clear(&sql);
    return db;
}

static void read_course(struct db *db, bool by_events, struct course *course)
{
    const struct course_request request = {.process = 1,
                                           .device = 1,
                                           .first_step = INT64_MIN,
                                           .last_step = INT64_MAX,
                                           .columns = COLUMNS,
                                           .by_events = by_events};
    REQUIRE(course_read(db, &request, course) == 0);
    REQUIRE(course->count == COLUMNS);
    CHECK(course_is_valid(course));
}

/* A letter for each column. */
static const char *band(const struct course *course)
{
    static char text[COLUMNS + 1];
    static const char letters[COURSE_KINDS + 1] = " .uzflbaoern";
    for (unsigned i = 0; i < course->count; i++)
        text[i] = letters[course->columns[i].kind];
    text[course->count] = '\0';
    return text;
}

/* ---- what a column counts as ---- */

TEST(long_phases_are_as_wide_as_they_are)
{
    static const struct stretch phases[] = {
        {"other", 1, 101, 0, -1, NULL},       {"zero_grad", 101, 201, 0, 0, NULL},
        {"forward", 201, 401, 0, 0, NULL},    {"loss", 401, 501, 0, 0, NULL},
        {"backward", 501, 801, 0, 0, NULL},   {"after_backward", 801, 901, 0, 0, NULL},
        {"optimizer", 901, 1001, 0, 0, NULL},
    };
    struct db *db = record(phases, 7, 1000);
    for (int by_events = 0; by_events < 2; by_events++) {
        struct course course;
        read_course(db, by_events, &course);
        CHECK_STR(band(&course), ".....zzzzzfffffffffflllllbbbbbbbbbbbbbbbaaaaaooooo");
        CHECK_INT(course.steps, 1);
        course_clear(&course);
    }
    db_close(db);
}

TEST(short_phases_have_a_column_all_the_same)
{
    static const struct stretch phases[] = {
        {"forward", 1, 500, 0, 0, NULL},    {"loss", 500, 503, 0, 0, NULL},
        {"backward", 503, 990, 0, 0, NULL}, {"optimizer", 990, 995, 0, 0, NULL},
        {"other", 995, 1001, 0, 0, NULL},
    };
    struct db *db = record(phases, 5, 1000);
    struct course course;
    read_course(db, false, &course);
    const char *text = band(&course);
    CHECK(strchr(text, 'l') != NULL);
    CHECK(strchr(text, 'o') != NULL);
    CHECK(strspn(text, "f") >= 22);
    CHECK(course.kinds[COURSE_LOSS] && course.kinds[COURSE_OPTIMIZER]);
    course_clear(&course);
    db_close(db);
}

TEST(what_is_inside_takes_from_what_is_around)
{
    static const struct stretch phases[] = {
        {"forward", 1, 501, 0, 0, NULL},     {"user", 101, 201, 1, 0, NULL}, /* part of forward */
        {"backward", 501, 1001, 0, 0, NULL}, {"recompute", 601, 801, 3, 0, NULL},
        {"forward", 641, 761, 4, 0, NULL},
    };
    struct db *db = record(phases, 5, 1000);
    struct course course;
    read_course(db, false, &course);
    CHECK_STR(band(&course), "fffffffffffffffffffffffffbbbbbrrffffffrrbbbbbbbbbb");
    course_clear(&course);
    db_close(db);
}

TEST(a_programs_own_phase_shows_what_is_inside_it)
{
    static const struct stretch phases[] = {
        {"user", 1, 1001, 0, -1, NULL},
        {"forward", 201, 401, 1, 0, NULL},
        {"backward", 401, 801, 1, 0, NULL},
    };
    struct db *db = record(phases, 3, 1000);
    struct course course;
    read_course(db, false, &course);
    CHECK_STR(band(&course), "uuuuuuuuuuffffffffffbbbbbbbbbbbbbbbbbbbbuuuuuuuuuu");
    course_clear(&course);
    db_close(db);
}

TEST(threads_of_their_own_are_not_the_process)
{
    static const struct stretch phases[] = {
        {"forward", 1, 1001, 0, 0, NULL},
        {"backward", 1, 1001, 0, -1, "thread"},
    };
    struct db *db = record(phases, 2, 1000);
    struct course course;
    read_course(db, true, &course);
    CHECK(!course.kinds[COURSE_BACKWARD]);
    CHECK_INT(strspn(band(&course), "f"), COLUMNS);
    course_clear(&course);
    db_close(db);
}

/* ---- steps ---- */

TEST(steps_stand_where_they_begin)
{
    struct stretch phases[MOST];
    for (int steps = 1; steps <= 10; steps++) {
        struct course course;
        int64_t last = 1000;
        for (int i = 0; i < steps; i++)
            phases[i] = (struct stretch){
                "forward", 1 + last * i / steps, 1 + last * (i + 1) / steps, 0, i + 5, NULL};
        struct db *db = record(phases, steps, last);
        read_course(db, true, &course);
        CHECK_INT(course.steps, steps);
        int seen = 0;
        for (unsigned i = 0; i < course.count; i++) {
            if (course.columns[i].step == COURSE_NONE)
                continue;
            CHECK_INT(course.columns[i].step, 5 + seen);
            CHECK(course.columns[i].parted);
            int64_t begin = phases[seen].from;
            CHECK(1 + last * i / COLUMNS <= begin && begin < 2 + last * (i + 1) / COLUMNS);
            seen++;
        }
        CHECK_INT(seen, steps);
        course_clear(&course);
        db_close(db);
    }
}

TEST(with_many_steps_phases_are_said_to_be_mixed)
{
    struct stretch phases[MOST];
    struct course course;
    for (int i = 0; i < MOST; i++)
        phases[i] = (struct stretch){
            i % 2 ? "backward" : "forward", 1 + i * 15, 16 + i * 15, 0, i / 2, NULL};
    struct db *db = record(phases, MOST, MOST * 15);
    read_course(db, false, &course);
    CHECK_INT(course.steps, MOST / 2);
    for (unsigned i = 0; i < course.count; i++)
        CHECK(course.columns[i].mixed);
    course_clear(&course);
    db_close(db);
}

/* ---- others in the same recording ---- */

TEST(other_processes_and_devices_are_not_in_it)
{
    static const struct stretch phases[] = {{"forward", 1, 1001, 0, 0, NULL}};
    struct db *db = record(phases, 1, 1000);
    struct course alone, beside;
    read_course(db, false, &alone);
    CHECK_INT(db_exec(db,
                      "INSERT INTO device VALUES(2,'cuda',1,NULL,NULL);"
                      "INSERT INTO heap VALUES(2,1,2,0,0,NULL),(3,2,1,0,0,NULL);"
                      "INSERT INTO process VALUES(2,10,1,'fork',0,NULL,NULL,NULL,NULL,NULL,NULL,"
                      "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);"
                      "INSERT INTO "
                      "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                      "tag,segment) SELECT seq + 1, 2 + seq / 2 % 2, 1, 1 << 40, NULL,"
                      " alloc_ns, -70368744177664, -2147483648, NULL, NULL, NULL"
                      " FROM allocation;"
                      "INSERT INTO segment VALUES(2, 3, 0, 1 << 41, 2000, NULL, NULL, NULL);"
                      "INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,"
                      "begin_seq,end_seq,begin_ns,end_ns,scope,ended) "
                      "VALUES(9,2,7,NULL,0,'backward','backward',3,1,1000,1000,"
                      "1000000,'process','end')"),
              0);
    read_course(db, false, &beside);
    CHECK_INT(beside.peak, alone.peak);
    CHECK(!beside.reserved_known);
    for (unsigned i = 0; i < COLUMNS; i++) {
        CHECK_INT(beside.columns[i].max, alone.columns[i].max);
        CHECK_INT(beside.columns[i].kind, alone.columns[i].kind);
    }
    course_clear(&alone);
    course_clear(&beside);
    db_close(db);
}

/* ---- names ---- */

TEST(names_are_there_and_differ)
{
    for (unsigned i = 0; i < COURSE_KINDS; i++)
        for (unsigned k = 0; k < i; k++)
            CHECK(strcmp(course_kind_name((enum course_kind)i),
                         course_kind_name((enum course_kind)k)) != 0);
    for (unsigned i = 0; i < PURPOSES; i++)
        for (unsigned k = 0; k < i; k++)
            CHECK(strcmp(purpose_name((enum purpose)i), purpose_name((enum purpose)k)) != 0);
}

/* ---- no memory ---- */

static void starve(struct db *db, bool by_events, bool categories)
{
    int err = ERR_NOMEM;
    for (long n = 1; err != 0; n++) {
        struct course course;
        const struct course_request request = {.process = 1,
                                               .device = 1,
                                               .first_step = INT64_MIN,
                                               .last_step = INT64_MAX,
                                               .columns = COLUMNS,
                                               .by_events = by_events,
                                               .categories = categories};
        mem_fail_after(n);
        err = course_read(db, &request, &course);
        mem_fail_after(0);
        CHECK(err == 0 || err == ERR_NOMEM);
        course_clear(&course);
        REQUIRE(n < 5000);
    }
}

TEST(memory_may_run_out)
{
    static const struct stretch phases[] = {
        {"forward", 1, 501, 0, 0, NULL},
        {"backward", 501, 1001, 0, 0, NULL},
    };
    struct db *db = record(phases, 2, 1000);
    starve(db, false, false);
    starve(db, true, true);
    CHECK_INT(db_exec(db, "INSERT INTO thinned VALUES(1,1,1000,'allocations',1);"
                          "INSERT INTO curve VALUES(1,'allocated',20,0,0,0,5000,5000)"),
              0);
    starve(db, false, false);
    starve(db, true, true);
    db_close(db);
}

/* Steps 0, 1 and 9 of ten are kept. */
TEST(what_was_thinned_out_is_marked)
{
    static const struct stretch phases[] = {
        {"forward", 1, 100, 0, 0, NULL},     {"backward", 100, 200, 0, 0, NULL},
        {"forward", 200, 300, 0, 1, NULL},   {"backward", 300, 399, 0, 1, NULL},
        {"forward", 1800, 1900, 0, 9, NULL}, {"backward", 1900, 2000, 0, 9, NULL}};
    static const char thinned[] = "INSERT INTO thinned VALUES(1,400,1799,'phases',16)";
    for (int turn = 0; turn < 2; turn++) {
        struct db *db = record(phases, 6, 2000);
        struct course course;
        struct course_request request = {1, 1, INT64_MIN, INT64_MAX, COLUMNS, false, false};
        if (turn)
            CHECK_INT(db_exec(db, thinned), 0);
        REQUIRE(course_read(db, &request, &course) == 0);
        CHECK(course_is_valid(&course));
        CHECK_INT(course.steps, 3);
        CHECK_INT(course.all_steps, turn ? 10 : 3);
        CHECK_INT(course.full_steps, 3);
        CHECK_INT(course.thinned, turn);
        unsigned marked = 0;
        for (unsigned i = 0; i < course.count; i++) {
            CHECK(!course.columns[i].thinned || course.columns[i].kind == COURSE_NOTHING);
            marked += course.columns[i].thinned;
        }
        CHECK(turn ? marked > COLUMNS / 2 && marked < COLUMNS * 3 / 4 : marked == 0);
        if (turn)
            CHECK_INT(course.last_step, 9);
        course_clear(&course);
        db_close(db);
    }
}

/* The same, and one phase of step 4, which a block that is kept was born in. Those that are asked
 * for count, wherever the first and the last that are kept may be. */
TEST(steps_asked_for_are_counted)
{
    static const struct stretch phases[] = {
        {"forward", 1, 100, 0, 0, NULL},     {"backward", 100, 200, 0, 0, NULL},
        {"forward", 200, 300, 0, 1, NULL},   {"backward", 300, 399, 0, 1, NULL},
        {"forward", 800, 900, 0, 4, NULL},   {"backward", 1700, 1799, 0, 8, NULL},
        {"forward", 1800, 1900, 0, 9, NULL}, {"backward", 1900, 2000, 0, 9, NULL}};
    static const struct {
        int64_t first, last;
        uint64_t steps, all, full;
    } cases[] = {{INT64_MIN, INT64_MAX, 5, 10, 3},
                 {1, 3, 1, 3, 1},
                 {1, 7, 2, 7, 1},
                 {0, 1, 2, 2, 2},
                 {9, 9, 1, 1, 1},
                 {4, 4, 1, 1, 0},
                 {4, 5, 1, 2, 0},
                 {3, 200, 3, 7, 1},
                 {INT64_MIN, 6, 3, 7, 2},
                 {-9, 4, 3, 5, 2}};
    struct db *db = record(phases, 8, 2000);
    CHECK_INT(db_exec(db, "INSERT INTO thinned VALUES(1,400,1799,'phases',16)"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct course course;
        struct course_request request = {1,       1,     cases[i].first, cases[i].last,
                                         COLUMNS, false, false};
        REQUIRE(course_read(db, &request, &course) == 0);
        CHECK(course_is_valid(&course));
        CHECK_INT(course.steps, cases[i].steps);
        CHECK_INT(course.all_steps, cases[i].all);
        CHECK_INT(course.full_steps, cases[i].full);
        CHECK_INT(course.thinned, cases[i].all > cases[i].full);
        course_clear(&course);
    }
    db_close(db);
}

TEST_MAIN(TEST_CASE(long_phases_are_as_wide_as_they_are),
          TEST_CASE(short_phases_have_a_column_all_the_same),
          TEST_CASE(what_is_inside_takes_from_what_is_around),
          TEST_CASE(a_programs_own_phase_shows_what_is_inside_it),
          TEST_CASE(threads_of_their_own_are_not_the_process),
          TEST_CASE(steps_stand_where_they_begin),
          TEST_CASE(with_many_steps_phases_are_said_to_be_mixed),
          TEST_CASE(other_processes_and_devices_are_not_in_it),
          TEST_CASE(what_was_thinned_out_is_marked), TEST_CASE(steps_asked_for_are_counted),
          TEST_CASE(names_are_there_and_differ), TEST_CASE(memory_may_run_out))
