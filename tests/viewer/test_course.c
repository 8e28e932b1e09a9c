/*
 * The columns of a timeline beside a pass over all events: random recordings, with the curve that a
 * scan makes of them, read one by one and from the curve.
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
#include "recording.h"
#include "test.h"

enum { MOST = 3000, HEAPS = 3, STEPS = 6, LEVELS = 24 };

struct change { /* of one heap, by one event; its number is its place + 1 */
    int64_t ns, change;
    int heap;      /* 0 to HEAPS - 1 */
    bool reserved; /* of a segment */
};

struct model {
    struct change list[MOST];
    int count, heaps;
    struct buf sql;
};

static uint64_t random_state;

static uint64_t any(uint64_t below)
{
    return test_random(&random_state) % below;
}

/* ---- a random recording ---- */

static void add_row(struct model *model, int born, int freed)
{
    const struct change *at = &model->list[born];
    bool lives = freed < 0;
    if (at->reserved) {
        buf_print(&model->sql, "INSERT INTO segment VALUES(%d,%d,0,%" PRId64 ",%" PRId64, born + 1,
                  at->heap + 1, at->change, at->ns);
        if (lives)
            buf_text(&model->sql, ",NULL,NULL,NULL);\n");
        else
            buf_print(&model->sql, ",%" PRId64 ",%d,NULL);\n", model->list[freed].ns - at->ns,
                      freed + 1);
        return;
    }
    buf_print(&model->sql, "INSERT INTO allocation VALUES(%d,%d,%d,%" PRId64 ",NULL,%" PRId64,
              born + 1, at->heap + 1, born * 4096, at->change, at->ns);
    buf_print(&model->sql, ",%" PRId64 ",%" PRId64 ",NULL,NULL,NULL);\n",
              lives ? (int64_t)DB_LIVING_NS : model->list[freed].ns - at->ns,
              lives ? (int64_t)DB_LIVING_SEQ : (int64_t)freed + 1);
}

/* Births, and the ends of those that end: each event is one of the two. */
static void make_events(struct model *model, int count, int64_t pause_ns)
{
    int open[MOST], opened = 0;
    int64_t now = 5000000 + (int64_t)any(1000);
    for (model->count = 0; model->count < count; model->count++) {
        struct change *at = &model->list[model->count];
        now += (int64_t)any(3000000) * (any(4) == 0) + (int64_t)any(3);
        if (model->count == count * 5 / 8)
            now += pause_ns;
        at->ns = now;
        if (opened > 0 && any(100) < 45) {
            int which = (int)any((uint64_t)opened), born = open[which];
            *at = model->list[born];
            at->ns = now;
            at->change = -at->change;
            open[which] = open[--opened];
            add_row(model, born, model->count);
            continue;
        }
        at->heap = (int)any((uint64_t)model->heaps);
        at->reserved = any(10) == 0;
        at->change = (int64_t)(1 + any(1u << (4 + any(20))));
        open[opened++] = model->count;
    }
    for (int i = 0; i < opened; i++)
        add_row(model, open[i], -1);
}

static int64_t value_at(const struct model *model, int heap, bool reserved, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++)
        if ((heap < 0 || model->list[i].heap == heap) && model->list[i].reserved == reserved)
            sum += model->list[i].change;
    return sum;
}

/* The buckets of one heap, as schema/050_derived.sql says. */
static void add_level(struct model *model, int heap, bool reserved, int level)
{
    int64_t value = 0, bucket = -1, first = 0, low = 0, high = 0;
    for (int i = 0; i <= model->count; i++) {
        const struct change *at = i < model->count ? &model->list[i] : NULL;
        if (at && (at->heap != heap || at->reserved != reserved))
            continue;
        if (bucket >= 0 && (!at || at->ns >> level != bucket))
            buf_print(&model->sql,
                      "INSERT INTO curve VALUES(%d,'%s',%d,%" PRId64 ",%" PRId64 ",%" PRId64
                      ",%" PRId64 ",%" PRId64 ");\n",
                      heap + 1, reserved ? "reserved" : "allocated", level, bucket, first, low,
                      high, value);
        if (!at)
            break;
        if (at->ns >> level != bucket) {
            bucket = at->ns >> level;
            first = low = high = value;
        }
        value += at->change;
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
}

static void add_curve(struct model *model)
{
    for (int heap = 0; heap < model->heaps; heap++)
        for (int level = 20; level < 20 + LEVELS; level++) {
            add_level(model, heap, false, level);
            add_level(model, heap, true, level);
        }
}

/* Highest of the allocated bytes after the events [from, until], as the phase begins included. */
static int64_t highest(const struct model *model, int from, int until, int *where)
{
    int64_t value = value_at(model, -1, false, from), best = value;
    *where = -1;
    for (int i = from; i < until; i++) {
        if (!model->list[i].reserved)
            value += model->list[i].change;
        if (value > best) {
            best = value;
            *where = i;
        }
    }
    return best;
}

static void add_phase(struct model *model, int id, int from, int until, const char *kind)
{
    int where;
    int64_t peak = highest(model, from, until, &where);
    int64_t begin = model->list[from].ns, end = model->list[until - 1].ns;
    buf_print(&model->sql,
              "INSERT INTO phase(id,process,thread,parent,ordinal,kind,name,step,"
              "begin_seq,end_seq,begin_ns,end_ns,scope,ended) "
              "VALUES(%d,1,7,NULL,0,'%s','%s',%d,%d,%d,%" PRId64 ",%" PRId64 ",'process','end');\n",
              id, kind, kind, (id - 1) / 2, from + 1, until, begin, end);
    buf_print(&model->sql,
              "INSERT INTO phase_device VALUES(%d,1,%" PRId64 ",%" PRId64
              ",NULL,NULL,NULL,NULL,0,NULL,NULL,%" PRId64,
              id, value_at(model, -1, false, from), value_at(model, -1, false, until), peak);
    if (where >= 0)
        buf_print(&model->sql, ",%d,%" PRId64 ",NULL,0,0,0);\n", where + 1, model->list[where].ns);
    else
        buf_text(&model->sql, ",NULL,NULL,NULL,0,0,0);\n");
}

static void add_phases(struct model *model)
{
    static const char *const kinds[] = {"forward", "backward"};
    for (int i = 0; i < STEPS * 2; i++) {
        int from = model->count * i / (STEPS * 2), until = model->count * (i + 1) / (STEPS * 2);
        add_phase(model, i + 1, from, until, kinds[i % 2]);
        buf_print(&model->sql, "INSERT INTO stretch VALUES(1,%d,%d);\n", from + 1, i + 1);
    }
}

static struct db *make_recording(struct model *model, uint64_t seed, int count, int heaps,
                                 int64_t pause_ns, bool thinned)
{
    struct db *db;
    random_state = seed;
    *model = (struct model){.heaps = heaps};
    buf_text(&model->sql, "BEGIN; INSERT INTO meta VALUES('finished', 1);"
                          "INSERT INTO device VALUES(1,'cuda',0,NULL,NULL);");
    for (int i = 0; i < heaps; i++)
        buf_print(&model->sql, "INSERT INTO heap VALUES(%d,1,1,%d,0,NULL);", i + 1, i);
    if (thinned)
        buf_print(&model->sql, "INSERT INTO thinned VALUES(1,1,%d,'allocations',1);", count);
    make_events(model, count, pause_ns);
    add_curve(model);
    add_phases(model);
    buf_print(&model->sql,
              "INSERT INTO process VALUES(1,9,NULL,'root',0,%" PRId64 ",NULL,NULL,NULL,NULL,NULL,"
              "NULL,NULL,'exit',0,NULL,1,%d,%d); COMMIT",
              model->list[count - 1].ns, count, count);
    REQUIRE(db_create(&db, test_path("random.db")) == 0);
    REQUIRE(!model->sql.broken);
    CHECK_INT(db_exec(db, buf_string(&model->sql)), 0);
    return db;
}

static void end_recording(struct model *model, struct db *db)
{
    buf_clear(&model->sql);
    db_close(db);
    unlink(test_path("random.db"));
}

/* ---- the brute force ---- */

struct truth {
    int64_t first, min, max, last;
    int64_t reserved_min, reserved_max;
};

static struct truth truth_of(const struct model *model, const struct course *course, unsigned at)
{
    const struct course_column *column = &course->columns[at];
    struct truth truth = {0};
    int64_t value = 0, reserved = 0;
    int64_t seqs = course->last_seq - course->first_seq + 1;
    bool begun = false;
    for (int i = 0; i <= model->count; i++) {
        int64_t ns = i < model->count ? model->list[i].ns : INT64_MAX, seq = i + 1;
        int64_t from = course->first_seq + (int64_t)((double)seqs * at / course->count);
        int64_t until = course->first_seq + (int64_t)((double)seqs * (at + 1) / course->count);
        bool before = course->by_events ? seq < from : ns < column->from_ns;
        bool behind = course->by_events ? seq >= until : ns >= column->until_ns;
        if (at == 0)
            before = before && seq < course->first_seq;
        if (at + 1 == course->count)
            behind = seq > course->last_seq;
        if (!before && !begun) {
            truth = (struct truth){value, value, value, value, reserved, reserved};
            begun = true;
        }
        if (!before && behind)
            break;
        if (i < model->count)
            *(model->list[i].reserved ? &reserved : &value) += model->list[i].change;
        if (before)
            continue;
        truth.last = value;
        truth.min = value < truth.min ? value : truth.min;
        truth.max = value > truth.max ? value : truth.max;
        truth.reserved_min = reserved < truth.reserved_min ? reserved : truth.reserved_min;
        truth.reserved_max = reserved > truth.reserved_max ? reserved : truth.reserved_max;
    }
    return truth;
}

static void check_exact(const struct model *model, const struct course *course)
{
    for (unsigned i = 0; i < course->count; i++) {
        const struct course_column *column = &course->columns[i];
        struct truth truth = truth_of(model, course, i);
        CHECK_INT(column->first, truth.first);
        CHECK_INT(column->min, truth.min);
        CHECK_INT(column->max, truth.max);
        CHECK_INT(column->last, truth.last);
        if (course->reserved_known) {
            CHECK_INT(column->reserved_min, truth.reserved_min);
            CHECK_INT(column->reserved_max, truth.reserved_max);
        }
    }
}

/* What the curve says is never narrower than what was, and what is above a column is beside it: a
 * bucket is as long as some columns at most. */
static void check_bounds(const struct model *model, const struct course *course, int reach)
{
    for (unsigned i = 0; i < course->count; i++) {
        const struct course_column *column = &course->columns[i];
        struct truth truth = truth_of(model, course, i);
        int64_t around = 0;
        CHECK(column->max >= truth.max);
        CHECK(column->min <= truth.min);
        if (model->heaps > 1)
            continue;
        for (int k = -reach; k <= reach; k++)
            if ((int)i + k >= 0 && (int)i + k < (int)course->count) {
                struct truth near = truth_of(model, course, (unsigned)((int)i + k));
                around = near.max > around ? near.max : around;
            }
        CHECK(column->max <= around);
    }
}

static struct course_request request_of(unsigned columns)
{
    return (struct course_request){.process = 1,
                                   .device = 1,
                                   .first_step = INT64_MIN,
                                   .last_step = INT64_MAX,
                                   .columns = columns};
}

static void check_peak(const struct model *model, const struct course *course)
{
    int where;
    int64_t peak = highest(model, 0, model->count, &where), most = 0;
    for (unsigned i = 0; i < course->count; i++)
        most = course->columns[i].max > most ? course->columns[i].max : most;
    CHECK_INT(course->peak, peak);
    CHECK_INT(most, peak);
    CHECK_INT(course->columns[course->peak_at].max, peak);
    CHECK(course_is_valid(course));
}

TEST(exact_columns_are_those_of_a_scan)
{
    static struct model model;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        int count = 20 + (int)any(400);
        struct db *db = make_recording(&model, seed, count, 1 + (int)(seed % HEAPS),
                                       seed % 4 == 0 ? 20000000000 : 0, false);
        for (unsigned columns = 1; columns <= 151; columns += 50) {
            struct course course;
            struct course_request request = request_of(columns);
            request.by_events = seed % 2 == 0;
            request.categories = seed % 3 == 0;
            REQUIRE(course_read(db, &request, &course) == 0);
            REQUIRE(course.count == columns);
            CHECK(course.exact);
            check_exact(&model, &course);
            check_peak(&model, &course);
            course_clear(&course);
        }
        end_recording(&model, db);
    }
}

TEST(steps_begin_with_what_lived_before)
{
    static struct model model;
    struct db *db = make_recording(&model, 77, 600, 2, 0, false);
    for (int step = 0; step < STEPS; step++) {
        struct course course;
        struct course_request request = request_of(60);
        int where;
        request.first_step = request.last_step = step;
        REQUIRE(course_read(db, &request, &course) == 0);
        REQUIRE(course.count == 60);
        CHECK_INT(course.columns[0].first, value_at(&model, -1, false, 100 * step));
        CHECK_INT(course.columns[59].last, value_at(&model, -1, false, 100 * (step + 1)));
        CHECK_INT(course.peak, highest(&model, 100 * step, 100 * (step + 1), &where));
        CHECK_INT(course.peak_step, step);
        CHECK_INT(course.steps, 1);
        check_exact(&model, &course);
        CHECK(course_is_valid(&course));
        course_clear(&course);
    }
    end_recording(&model, db);
}

TEST(the_curve_bounds_a_scan)
{
    static struct model model;
    for (uint64_t seed = 101; seed <= 116; seed++) {
        struct db *db = make_recording(&model, seed, 900, 1 + (int)(seed % HEAPS),
                                       seed % 4 == 0 ? 20000000000 : 0, true);
        for (unsigned columns = 30; columns <= 150; columns += 60) {
            struct course course;
            struct course_request request = request_of(columns);
            request.categories = seed % 2 == 0;
            REQUIRE(course_read(db, &request, &course) == 0);
            REQUIRE(course.count == columns);
            CHECK(!course.exact);
            check_bounds(&model, &course, 2);
            check_peak(&model, &course);
            course_clear(&course);
        }
        end_recording(&model, db);
    }
}

/* Categories of a thinned run are counted at one moment of each column: they are within its values,
 * and at the peak they are all of it. */
TEST(stacks_of_a_long_run_lie_within_the_column)
{
    static struct model model;
    struct db *db = make_recording(&model, 9, 1500, 1, 0, true);
    struct course_request request = request_of(80);
    struct course course;
    request.categories = true;
    REQUIRE(course_read(db, &request, &course) == 0);
    for (unsigned i = 0; i < course.count; i++) {
        int64_t sum = 0;
        for (unsigned k = 0; k < PURPOSES; k++) {
            CHECK(course.columns[i].bytes[k] >= 0);
            sum += course.columns[i].bytes[k];
        }
        CHECK(sum <= course.columns[i].max);
        if (i == course.peak_at)
            CHECK_INT(sum, course.peak);
    }
    course_clear(&course);
    end_recording(&model, db);
}

static int64_t ask(struct db *db, const char *sql)
{
    struct db_stmt *row;
    REQUIRE(db_prepare(db, &row, sql) == 0);
    REQUIRE(db_step(row) == DB_ROW);
    int64_t value = db_column_int(row, 0);
    db_finalize(row);
    return value;
}

/* Each category is what the view says, a copy of the parameters too: only the first parameter keeps
 * its tag here, so that what is as large and came after it is a copy. */
TEST(categories_at_the_peak_are_those_of_the_view)
{
    struct db *db = recording("train");
    const struct course_request request = {.process = 1,
                                           .device = 1,
                                           .first_step = INT64_MIN,
                                           .last_step = INT64_MAX,
                                           .columns = 100,
                                           .categories = true};
    struct course course;
    char sql[200];
    REQUIRE(db_exec(db, "UPDATE allocation SET tag = NULL WHERE seq > (SELECT min(allocation)"
                        "  FROM allocation_category WHERE category = 'parameter')") == 0);
    REQUIRE(course_read(db, &request, &course) == 0);
    REQUIRE(course.exact);
    for (int i = 0; i < PURPOSES; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT coalesce(sum(bytes), 0) FROM peak_by_category WHERE process = 1"
                 "   AND category = '%s'",
                 purpose_name((enum purpose)i));
        CHECK_INT(course.columns[course.peak_at].bytes[i], ask(db, sql));
    }
    CHECK(course.columns[course.peak_at].bytes[PURPOSE_COPY] > 0);
    course_clear(&course);
    db_close(db);
}

TEST(long_pauses_do_not_squash_the_steps)
{
    static struct model model;
    struct db *db = make_recording(&model, 5, 800, 1, 600000000000, false);
    struct course_request request = request_of(100);
    struct course course;
    /* A pause inside of a phase that works is work: it stays as long as it is. */
    REQUIRE(course_read(db, &request, &course) == 0);
    CHECK_INT(course.pauses, 0);
    course_clear(&course);
    REQUIRE(db_exec(db, "UPDATE phase SET kind = 'other'") == 0);
    REQUIRE(course_read(db, &request, &course) == 0);
    CHECK_INT(course.pauses, 1);
    unsigned pause = 0;
    for (unsigned i = 0; i < course.count; i++) {
        pause += course.columns[i].pause;
        if (!course.columns[i].pause)
            CHECK(course.columns[i].until_ns - course.columns[i].from_ns < 1000000000);
    }
    CHECK_INT(pause, 2);
    CHECK(course.pause_ns >= 600000000000);
    check_exact(&model, &course);
    course_clear(&course);
    end_recording(&model, db);
}

static void add_block(struct db *db, int seq, int ms)
{
    char row[160];
    snprintf(row, sizeof row,
             "INSERT INTO allocation VALUES(%d, 1, %d, 512, NULL, %d000000, %" PRId64 ", %" PRId64
             ", NULL, NULL, NULL)",
             seq, seq * 512, ms, (int64_t)DB_LIVING_NS, (int64_t)DB_LIVING_SEQ);
    REQUIRE(db_exec(db, row) == 0);
}

/* One block that lies outside of the step that has it: the pauses do not. */
TEST(times_of_a_damaged_file_stay_on_the_plot)
{
    struct db *db = recording("silent");
    struct course_request request = request_of(100);
    struct course course;
    int seq = 1;
    REQUIRE(
        db_exec(db,
                "INSERT INTO device VALUES(1, 'cuda', 0, NULL, NULL);"
                "INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);"
                "INSERT INTO phase VALUES(1, 1, 7, NULL, 0, 'other', 'other', 0, 1, 99, 1000000,"
                " 100000000, 'process', 'end', NULL, 1)") == 0);
    add_block(db, seq++, 2);
    for (int ms = 50; ms < 95; ms += 3)
        add_block(db, seq++, ms);
    add_block(db, seq++, 110);
    add_block(db, seq++, 95);
    request.first_step = request.last_step = 0;
    REQUIRE(course_read(db, &request, &course) == 0);
    CHECK(course_is_valid(&course));
    CHECK_INT(course.count, 100);
    CHECK_INT(course.pauses, 2);
    CHECK_INT(course.pause_ns, 48000000 + 8000000); /* to 50, and from 92 to the end */
    course_clear(&course);
    db_close(db);
}

TEST(each_phase_is_seen)
{
    struct db *db = recording("train");
    struct course_request request = request_of(69);
    struct course course;
    REQUIRE(course_read(db, &request, &course) == 0);
    static const enum course_kind seen[] = {COURSE_ZERO_GRAD, COURSE_FORWARD, COURSE_LOSS,
                                            COURSE_BACKWARD, COURSE_OPTIMIZER};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        CHECK(course.kinds[seen[i]]);
        CHECK(strlen(course_kind_name(seen[i])) > 0);
    }
    CHECK_INT(course.steps, 2);
    CHECK_INT(course.peak_step, 1);
    CHECK_STR(course.peak_path, "backward");
    CHECK(course.reserved_known);
    CHECK(course.reserved_peak >= course.peak);
    CHECK(course_is_valid(&course));
    course_clear(&course);
    db_close(db);
}

TEST(nothing_is_nothing)
{
    struct db *db = recording("silent");
    struct course_request request = request_of(69);
    struct course course;
    CHECK_INT(course_read(db, &request, &course), 0);
    CHECK_INT(course.count, 0);
    CHECK(course_is_valid(&course));
    course_clear(&course);
    request.columns = 0;
    CHECK_INT(course_read(db, &request, &course), ERR_ARG);
    course_clear(&course);
    request.columns = COURSE_COLUMNS_MAX + 1;
    CHECK_INT(course_read(db, &request, &course), ERR_ARG);
    course_clear(&course);
    db_close(db);
}

TEST_MAIN(TEST_CASE(exact_columns_are_those_of_a_scan),
          TEST_CASE(steps_begin_with_what_lived_before), TEST_CASE(the_curve_bounds_a_scan),
          TEST_CASE(stacks_of_a_long_run_lie_within_the_column),
          TEST_CASE(categories_at_the_peak_are_those_of_the_view),
          TEST_CASE(long_pauses_do_not_squash_the_steps),
          TEST_CASE(times_of_a_damaged_file_stay_on_the_plot), TEST_CASE(each_phase_is_seen),
          TEST_CASE(nothing_is_nothing))
