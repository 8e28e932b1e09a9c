/*
 * The processes of a device upon each other, beside a pass over the rows of the view timeline:
 * random curves of several processes, heaps and levels, with processes that end, and samples.
 */
#include "course_together.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "buf.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "query.h"
#include "test.h"

enum { PARTS = 4, HEAPS = 3, MOMENTS = 20000, LETTERS = 3 };

static uint64_t random_state;

static int64_t any(int64_t below)
{
    return (int64_t)(test_random(&random_state) % (uint64_t)below);
}

/* ---- a random recording ---- */

static void add_level(struct buf *sql, int heap, const char *quantity, int64_t level,
                      int64_t buckets)
{
    int64_t value = any(4) ? 0 : any(1000);
    for (int64_t bucket = any(9); bucket < buckets; bucket += 1 + any(4) * any(30)) {
        int64_t last = any(3) ? any(1000000) : value;
        buf_print(sql,
                  "INSERT INTO curve VALUES(%d,'%s',%" PRId64 ",%" PRId64 ",%" PRId64
                  ",0,0,%" PRId64 ");\n",
                  heap, quantity, level, bucket, value, last);
        value = last;
    }
}

static void add_heap(struct buf *sql, int process, int heap, int device)
{
    int64_t level = 20 + any(4);
    buf_print(sql, "INSERT INTO heap VALUES(%d,%d,%d,%d,0,NULL);\n", heap, process, device, heap);
    if (any(8))
        add_level(sql, heap, "allocated", level, 400 >> (level - 20));
    add_level(sql, heap, "allocated", 25, 12); /* a level that is not the finest */
    if (any(3) == 0)
        add_level(sql, heap, "reserved", 20 + any(6), 60);
}

static void add_process(struct buf *sql, int process)
{
    buf_print(sql, "INSERT INTO process(id, pid, origin, start_ns, end_ns) VALUES(%d,%d,'root',0,",
              process, 100 + process);
    if (any(3))
        buf_print(sql, "%" PRId64 ");\n", any(500) << 20);
    else
        buf_text(sql, "NULL);\n");
    for (int heap = 0; heap <= any(HEAPS); heap++)
        add_heap(sql, process, process * 10 + heap, any(5) ? 1 : 2);
}

static void add_samples(struct buf *sql)
{
    for (int64_t i = any(3) * any(200); i > 0; i--)
        buf_print(sql, "INSERT INTO sample VALUES(%" PRId64 ",1,%d,'%s',%" PRId64 ");\n",
                  any(450) << 20, any(6) ? 1 : 2, any(9) ? "device used" : "rss", any(9000000));
}

static struct db *make_recording(uint64_t seed)
{
    struct db *db;
    struct buf sql = {0};
    random_state = seed;
    buf_text(&sql,
             "BEGIN; INSERT INTO device VALUES(1,'cuda',0,NULL,NULL),(2,'cuda',1,NULL,NULL);");
    for (int process = 1; process <= PARTS; process++)
        add_process(&sql, process);
    add_samples(&sql);
    buf_text(&sql, "COMMIT");
    unlink(test_path("together.db"));
    REQUIRE(db_create(&db, test_path("together.db")) == 0);
    REQUIRE(!sql.broken);
    CHECK_INT(db_exec(db, buf_string(&sql)), 0);
    buf_clear(&sql);
    return db;
}

/* ---- what the view says ---- */

/* Process 0: the device itself. */
struct moment {
    int64_t process, at_ns, bytes, ends;
};

static struct moment moments[MOMENTS];
static size_t moment_count;

static const char moments_sql[] =
    "SELECT process, at_ns, bytes, ends FROM ("
    " SELECT t.process AS process, min(t.at_ns, coalesce(p.end_ns, t.at_ns)) AS at_ns,"
    "        t.allocated AS bytes, 0 AS ends, t.at_ns AS place"
    "   FROM timeline t JOIN process p ON p.id = t.process WHERE t.device = 'cuda:0'"
    " UNION ALL SELECT id, end_ns, 0, 1, 0 FROM process WHERE end_ns IS NOT NULL"
    " UNION ALL SELECT 0, at_ns, value, 0, rowid FROM sample"
    "           WHERE device = 1 AND what = 'device used')"
    " WHERE bytes IS NOT NULL ORDER BY at_ns, ends, process, place";

static void read_moments(struct db *db)
{
    struct moment at;
    struct query query =
        query_ask(db, moments_sql, Q_NOTHING,
                  Q_OUT(Q_INT(at.process), Q_INT(at.at_ns), Q_INT(at.bytes), Q_INT(at.ends)));
    for (moment_count = 0; query_next(&query); moment_count++) {
        REQUIRE(moment_count < MOMENTS);
        moments[moment_count] = at;
    }
    CHECK_INT(query_end(&query), 0);
}

struct truth {
    int64_t first, min, max, last, used;
};

struct now {
    int64_t bytes[PARTS + 1], used;
};

static int64_t sum_of(const struct now *now, const bool *asked)
{
    int64_t sum = 0;
    for (int i = 1; i <= PARTS; i++)
        sum += asked[i] ? now->bytes[i] : 0;
    return sum;
}

static void see(struct truth *truth, const struct now *now, const bool *asked)
{
    int64_t sum = sum_of(now, asked);
    truth->last = sum;
    truth->min = sum < truth->min ? sum : truth->min;
    truth->max = sum > truth->max ? sum : truth->max;
    truth->used = now->used > truth->used ? now->used : truth->used;
}

static struct truth truth_of(const struct course_column *column, bool is_last, const bool *asked)
{
    struct now now = {.used = COURSE_NONE};
    struct truth truth = {0};
    bool begun = false;
    for (size_t i = 0; i <= moment_count; i++) {
        const struct moment *at = i < moment_count ? &moments[i] : NULL;
        bool inside = at && at->at_ns >= column->from_ns;
        if ((inside || !at) && !begun) {
            int64_t sum = sum_of(&now, asked);
            truth = (struct truth){sum, sum, sum, sum, now.used};
            begun = true;
        }
        if (!at || (at->at_ns >= column->until_ns && !is_last))
            break;
        *(at->process ? &now.bytes[at->process] : &now.used) = at->bytes;
        bool whole = i + 1 == moment_count || moments[i + 1].at_ns != at->at_ns ||
                     moments[i + 1].ends != at->ends;
        if (inside && at->process == 0)
            truth.used = at->bytes > truth.used ? at->bytes : truth.used;
        if (inside && whole)
            see(&truth, &now, asked);
    }
    return truth;
}

static void check(const struct course *course, const bool *asked)
{
    int64_t peak = 0;
    for (unsigned i = 0; i < course->count; i++) {
        const struct course_column *column = &course->columns[i];
        struct truth truth = truth_of(column, i + 1 == course->count, asked);
        int64_t sum = 0;
        for (unsigned letter = 0; letter < PURPOSES; letter++)
            sum += column->bytes[letter];
        CHECK_INT(column->first, truth.first);
        CHECK_INT(column->min, truth.min);
        CHECK_INT(column->max, truth.max);
        CHECK_INT(column->last, truth.last);
        CHECK_INT(column->reserved_max, truth.used);
        CHECK_INT(sum, truth.max);
        peak = truth.max > peak ? truth.max : peak;
    }
    CHECK_INT(course->peak, peak);
    CHECK_INT(course->columns[course->peak_at].max, peak);
}

static struct together_part parts[PARTS];

static struct together_request ask(bool asked[PARTS + 1], unsigned columns)
{
    struct together_request request = {.device = 1, .columns = columns, .parts = parts};
    for (int i = 1; i <= PARTS; i++) {
        asked[i] = any(5) != 0;
        if (asked[i])
            parts[request.count++] = (struct together_part){i, (unsigned)any(LETTERS)};
    }
    return request;
}

TEST(columns_are_those_of_the_view)
{
    int drawn = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct db *db = make_recording(seed);
        bool asked[PARTS + 1];
        read_moments(db);
        for (unsigned columns = 1; columns <= 301; columns += 60) {
            struct course course;
            struct together_request request = ask(asked, columns);
            CHECK_INT(course_together(db, &request, &course), 0);
            if (course.count > 0)
                check(&course, asked);
            drawn += course.count > 0;
            course_clear(&course);
        }
        db_close(db);
    }
    CHECK(drawn > 250);
}

TEST(every_allocation_can_fail)
{
    struct db *db = make_recording(7);
    bool asked[PARTS + 1];
    struct together_request request = ask(asked, 70);
    struct course course;
    long n = 1;
    for (;; n++) {
        mem_fail_after(n);
        int err = course_together(db, &request, &course);
        mem_fail_after(0);
        course_clear(&course);
        if (err == 0)
            break;
        CHECK_INT(err, ERR_NOMEM);
    }
    CHECK(n > 5);
    db_close(db);
}

TEST(a_damaged_curve_is_an_error)
{
    static const char *const changes[] = {
        "UPDATE curve SET bucket = -1 - bucket",
        "UPDATE curve SET level = level + 60",
        "UPDATE curve SET level = level - 60",
        "UPDATE curve SET bucket = bucket + (1 << 60)",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct db *db = make_recording(7);
        bool asked[PARTS + 1];
        struct together_request request = ask(asked, 70);
        struct course course;
        CHECK_INT(db_exec(db, changes[i]), 0);
        CHECK_INT(course_together(db, &request, &course), ERR_CORRUPT);
        course_clear(&course);
        db_close(db);
    }
}

TEST_MAIN(TEST_CASE(columns_are_those_of_the_view), TEST_CASE(every_allocation_can_fail),
          TEST_CASE(a_damaged_curve_is_an_error))
