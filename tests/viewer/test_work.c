/*
 * What reports read of a recording that is ten times as long, in instructions of SQLite's machine:
 * a look of --follow no more, and peak each phase once. No clock is asked.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../store/loop.h"
#include "category_rules.h"
#include "peak.h"
#include "commands.h"
#include "error.h"
#include "db.h"
#include "queue.h"
#include "retention.h"
#include "report.h"
#include "test.h"
#include "writer.h"

enum {
    SHORT = 300,
    LONG = 3000,
    PHASES_EACH = 13
}; /* steps; of a step, what is between included */

static bool push(void *self, struct batch *batch)
{
    return queue_push(self, batch);
}

/* Returns its path, which is good until the next but three. */
static const char *make(const char *name, const struct loop_options *loop, int64_t keep_steps)
{
    static char paths[4][512];
    static unsigned at;
    char *path = paths[at++ % 4];
    const struct retention_options retention = {.keep_steps = keep_steps};
    struct queue *queue;
    struct writer *writer;
    struct writer_stats stats;
    struct db *db;
    bool single;
    snprintf(path, sizeof paths[0], "%s", test_path(name));
    remove(path);
    REQUIRE(db_create(&db, path) == 0);
    REQUIRE(queue_new(&queue, (size_t)64 << 20) == 0);
    REQUIRE(retention_start_writer(&writer, db, queue, false, &retention) == 0);
    loop_run(loop, push, queue);
    queue_close(queue);
    REQUIRE(writer_finish(writer, &single, &stats) >= 0);
    queue_free(queue);
    return path;
}

static const char *make_steps(uint64_t steps)
{
    char name[32];
    snprintf(name, sizeof name, "steps-%" PRIu64, steps);
    const struct loop_options loop = {.steps = steps,
                                      .processes = 1,
                                      .small = true,
                                      .leak_every = 100,
                                      .grow_until = 200,
                                      .step_ns = 1000000};
    return make(name, &loop, 0);
}

static void *read_away(void *self)
{
    char text[4096];
    while (read(*(int *)self, text, sizeof text) > 0)
        ;
    return NULL;
}

/* A terminal of 80 by 24, where a finished recording is drawn once. */
static void become_terminal(void)
{
    static int master;
    pthread_t reader;
    master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    REQUIRE(pthread_create(&reader, NULL, read_away, &master) == 0);
    pthread_detach(reader);
    setenv("TERM", "xterm", 1);
    setenv("COLUMNS", "80", 1);
    setenv("LINES", "24", 1);
    fflush(stdout);
    REQUIRE(dup2(slave, STDOUT_FILENO) == STDOUT_FILENO);
}

static uint64_t work_of(const char *name, const char *path, const char *one, const char *other)
{
    const struct command *command;
    const char *near;
    char words[3][512];
    const char *const given[] = {path, one, other};
    char *argv[4] = {NULL};
    int argc = 0;
    for (; argc < 3 && given[argc]; argc++) {
        snprintf(words[argc], sizeof words[argc], "%s", given[argc]);
        argv[argc] = words[argc];
    }
    REQUIRE((command = command_find(name, &near)) != NULL);
    uint64_t before = db_work();
    int code = command->run(&(struct command_call){command, argc, argv});
    CHECK_INT(code, EXIT_FINE);
    return db_work() - before;
}

/* Instructions for each phase that one has more than the other. */
static int64_t for_each(uint64_t little, uint64_t much)
{
    return (int64_t)(much - little) / ((LONG - SHORT) * PHASES_EACH);
}

TEST(peak_reads_each_phase_once)
{
    REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
    uint64_t little = work_of("peak", make_steps(SHORT), NULL, NULL);
    uint64_t much = work_of("peak", make_steps(LONG), NULL, NULL);
    CHECK(for_each(little, much) >= 10); /* it does read them */
    /* Eleven columns, and where the phase begins; its place in the step once more, for the levers;
     * and its peak and its end, by steps, for the growth. And where blocks of many steps live, once
     * more for who holds them: 98 of them. */
    CHECK(for_each(little, much) <= 230);
}

TEST(a_look_of_phases_reads_the_last_rows)
{
    become_terminal();
    uint64_t little = work_of("phases", make_steps(SHORT), "--follow", NULL);
    uint64_t much = work_of("phases", make_steps(LONG), "--follow", NULL);
    CHECK(much < little + little / 10);
    little = work_of("phases", make_steps(SHORT), "--follow", "--all");
    much = work_of("phases", make_steps(LONG), "--follow", "--all");
    CHECK(much < little + little / 10);
}

TEST(a_look_of_timeline_reads_each_phase_once)
{
    become_terminal();
    uint64_t little = work_of("timeline", make_steps(SHORT), "--follow", NULL);
    uint64_t much = work_of("timeline", make_steps(LONG), "--follow", NULL);
    CHECK(for_each(little, much) <= 60); /* of a phase and its blocks */
}

/* ---- the same figures by the short way ---- */

static const char highest_sql[] =
    "SELECT process, device, bytes, at FROM (SELECT ph.process AS process, pd.device AS device,"
    "   pd.peak_allocated AS bytes, coalesce(pd.peak_seq, ph.begin_seq) AS at,"
    "   row_number() OVER (PARTITION BY ph.process, pd.device ORDER BY pd.peak_allocated DESC,"
    "                      coalesce(pd.peak_seq, ph.begin_seq)) AS place"
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id) WHERE place = 1";

static void compare_peaks(const char *path)
{
    struct db *db;
    struct db_stmt *row;
    struct peak peak;
    int count = 0;
    REQUIRE(db_open(&db, path) == 0);
    REQUIRE(db_prepare(db, &row, highest_sql) == 0);
    for (; db_step(row) == DB_ROW; count++) {
        uint64_t before = db_work();
        CHECK_INT(peak_find(db, db_column_int(row, 0), db_column_int(row, 1), INT64_MIN, INT64_MAX,
                            &peak),
                  0);
        CHECK(db_work() - before < 10000); /* not all phases were gone through */
        CHECK(peak.found);
        CHECK_INT(peak.allocated, db_column_int(row, 2));
        CHECK_INT(peak.seq, db_column_int(row, 3));
        peak_clear(&peak);
    }
    CHECK(count > 0);
    db_finalize(row);
    db_close(db);
}

TEST(the_highest_is_where_the_newest_phases_say)
{
    struct loop_options loop = {
        .steps = 1500, .processes = 2, .leak_every = 50, .grow_until = 1200, .step_ns = 1000};
    compare_peaks(make("two", &loop, 0));
    compare_peaks(make("thinned", &loop, 20));
    loop.aside = true;
    compare_peaks(make("aside", &loop, 0));
    loop.life = 100;
    compare_peaks(make("lives", &loop, 0));
}

TEST(what_is_kept_is_of_one_process_and_transaction)
{
    const struct loop_options loop = {.steps = 20, .processes = 2, .step_ns = 1000};
    struct category_rules *one, *again, *other;
    struct db *db;
    REQUIRE(db_open(&db, make("kept", &loop, 0)) == 0);
    REQUIRE(category_load(db, 1, &one) == 0);
    CHECK(category_kept(db, 1) == NULL); /* no transaction */
    category_free(one);
    CHECK_INT(db_exec(db, "BEGIN"), 0);
    REQUIRE(category_load(db, 1, &one) == 0);
    category_free(one);
    uint64_t before = db_work();
    REQUIRE(category_load(db, 1, &again) == 0);
    CHECK(again == one && category_kept(db, 1) == one);
    CHECK(db_work() == before);
    CHECK(category_is_valid(one));
    CHECK(category_step(one, 0) && category_step(one, 19) && !category_step(one, 20));
    REQUIRE(category_load(db, 2, &other) == 0);
    CHECK(category_kept(db, 1) == NULL && category_kept(db, 2) == other);
    CHECK_INT(db_exec(db, "COMMIT"), 0);
    CHECK(category_kept(db, 2) == NULL);
    db_close(db);
}

TEST_MAIN(TEST_CASE(peak_reads_each_phase_once),
          TEST_CASE(the_highest_is_where_the_newest_phases_say),
          TEST_CASE(what_is_kept_is_of_one_process_and_transaction),
          TEST_CASE(a_look_of_phases_reads_the_last_rows),
          TEST_CASE(a_look_of_timeline_reads_each_phase_once))
