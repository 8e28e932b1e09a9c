#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diff.h"
#include "diff_phases.h"
#include "commands.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

static const struct diff_moment peaks = {NULL, INT64_MIN, INT64_MAX};

/* Rank 0: process 1 of `before`, 2 of `after`; the devices have the same number. */
static void open_ranks(struct diff_side sides[DIFF_SIDES], int64_t rank)
{
    sides[DIFF_A] = (struct diff_side){recording("before"), 1 + rank, 1 + rank, 0};
    sides[DIFF_B] = (struct diff_side){recording("after"), 2 - rank, 1 + rank, 0};
}

static void close_both(struct diff_side sides[DIFF_SIDES])
{
    db_close(sides[DIFF_A].db);
    db_close(sides[DIFF_B].db);
}

static void compare(struct diff_side sides[DIFF_SIDES], const struct diff_moment *moment,
                    struct diff *diff)
{
    struct instant moments[DIFF_SIDES];
    for (int i = 0; i < DIFF_SIDES; i++)
        REQUIRE(diff_find_moment(&sides[i], moment, &moments[i]) == 0);
    CHECK_INT(diff_read(sides, moments, diff), 0);
    CHECK(diff_is_valid(diff));
}

static const struct diff_group *find_group(const struct diff *diff, enum purpose purpose,
                                           const char *text)
{
    for (size_t i = 0; i < diff->group_count; i++) {
        const struct diff_group *group = &diff->groups[i];
        if (group->purpose == purpose &&
            (text ? group->text && strcmp(group->text, text) == 0 : !group->text))
            return group;
    }
    return NULL;
}

static const struct diff_phase *find_phase(const struct diff_phases *phases, const char *name)
{
    for (size_t i = 0; i < phases->count; i++)
        if (strcmp(phases->rows[i].name, name) == 0)
            return &phases->rows[i];
    return NULL;
}

TEST(an_edited_program_still_matches)
{
    struct diff_side sides[DIFF_SIDES];
    struct diff diff;
    open_ranks(sides, 0);
    compare(sides, &peaks, &diff);
    CHECK_STR(diff.moments[DIFF_A].label, "peak of step 1, backward");
    CHECK_STR(diff.moments[DIFF_B].label, "peak of step 1, forward > metrics");
    CHECK_INT(diff.allocated[DIFF_B] - diff.allocated[DIFF_A], MIB(35));
    const struct diff_group *group =
        find_group(&diff, PURPOSE_ACTIVATION, "decode (train.py) > linear (functional.py)");
    REQUIRE(group != NULL);
    CHECK(group == &diff.groups[0]);
    CHECK_INT(diff_change(group), MIB(32));
    CHECK_STR(group->shown[DIFF_A], "decode (train.py:55) > linear (functional.py:1848)");
    CHECK_STR(diff_group_shown(group), "decode (train.py:61) > linear (functional.py:1916)");
    /* Two lines of one function on one side are one group, without a line. */
    group = find_group(&diff, PURPOSE_GRADIENT, "backward (train.py)");
    REQUIRE(group != NULL);
    CHECK_INT(diff_change(group), 0);
    CHECK_INT(group->blocks[DIFF_A], 1);
    CHECK_INT(group->blocks[DIFF_B], 2);
    CHECK(!group->several[DIFF_A] && group->several[DIFF_B]);
    CHECK_INT(group->site[DIFF_B], 4); /* the larger one */
    CHECK_STR(diff_group_shown(group), "backward (train.py)");
    /* Only in one, and without a stack. */
    group = find_group(&diff, PURPOSE_WORKSPACE, "accuracy (train.py)");
    REQUIRE(group != NULL);
    CHECK_INT(group->bytes[DIFF_A], 0);
    CHECK(group->shown[DIFF_A] == NULL && group->site[DIFF_A] == GROUP_NONE);
    group = find_group(&diff, PURPOSE_WORKSPACE, NULL);
    REQUIRE(group != NULL);
    CHECK_INT(diff_change(group), -MIB(1));
    CHECK(diff_group_shown(group) == NULL);
    CHECK(find_group(&diff, DIFF_UNATTRIBUTED, NULL) == NULL);
    diff_clear(&diff);
    close_both(sides);
}

/* Rank 0 of both, B changed by `sql`. */
static void compare_changed(const char *sql, struct diff *diff)
{
    struct diff_side sides[DIFF_SIDES];
    open_ranks(sides, 0);
    REQUIRE(db_exec(sides[DIFF_B].db, sql) == 0);
    compare(sides, &peaks, diff);
    close_both(sides);
}

TEST(a_renamed_script_still_matches)
{
    struct diff diff;
    compare_changed("UPDATE process SET argv = 'python3 -u new/train_v2.py --lr 1';"
                    "UPDATE string SET text = 'new/train_v2.py' WHERE id = 2",
                    &diff);
    CHECK_STR(diff.renamed[DIFF_A], "train.py");
    CHECK_STR(diff.renamed[DIFF_B], "train_v2.py");
    const struct diff_group *group =
        find_group(&diff, PURPOSE_ACTIVATION, "decode (train.py) > linear (functional.py)");
    REQUIRE(group != NULL);
    CHECK_INT(diff_change(group), MIB(32));
    CHECK_STR(group->shown[DIFF_A], "decode (train.py:55) > linear (functional.py:1848)");
    CHECK_STR(group->shown[DIFF_B], "decode (train_v2.py:61) > linear (functional.py:1916)");
    diff_clear(&diff);
}

/* B's script calls A's: these are two programs with a part in common. */
TEST(two_scripts_are_not_one)
{
    struct diff diff;
    compare_changed("UPDATE process SET argv = 'python3 sweep.py';"
                    "INSERT INTO string VALUES(90, 'sweep.py');"
                    "INSERT INTO frame VALUES(90, 1, 90, 3)",
                    &diff);
    CHECK(diff.renamed[DIFF_A] == NULL && diff.renamed[DIFF_B] == NULL);
    CHECK(find_group(&diff, PURPOSE_ACTIVATION, "decode (train.py) > linear (functional.py)"));
    diff_clear(&diff);
    compare_changed("UPDATE process SET argv = './train_v2'", &diff); /* no script is named */
    CHECK(diff.renamed[DIFF_A] == NULL);
    diff_clear(&diff);
    compare_changed("UPDATE process SET argv = 'python3 infer.py';" /* most functions are others */
                    "UPDATE string SET text = 'infer.py' WHERE id = 2;"
                    "UPDATE string SET text = text || '_all' WHERE id IN (1, 3, 4, 7)",
                    &diff);
    CHECK(diff.renamed[DIFF_A] == NULL);
    diff_clear(&diff);
}

/* torch/nn/modules/rnn.py is no part of the program. */
TEST(a_librarys_file_of_the_scripts_name)
{
    struct diff diff;
    compare_changed("UPDATE process SET argv = 'python3 rnn.py';"
                    "UPDATE string SET text = 'rnn.py' WHERE id = 2;"
                    "INSERT INTO string VALUES(90, '/lib/torch/nn/modules/rnn.py');"
                    "INSERT INTO frame VALUES(90, 1, 90, 3)",
                    &diff);
    CHECK(diff.renamed[DIFF_A] == NULL && diff.renamed[DIFF_B] == NULL);
    diff_clear(&diff);
}

TEST(any_moment)
{
    struct diff_moment moment = {"0/forward", INT64_MIN, INT64_MAX};
    struct instant instant;
    struct diff_side sides[DIFF_SIDES];
    struct diff diff;
    open_ranks(sides, 1);
    compare(sides, &moment, &diff);
    CHECK_INT(diff.allocated[DIFF_A], MIB(114));
    CHECK_INT(diff.allocated[DIFF_B], MIB(146));
    diff_clear(&diff);
    moment.name = "end";
    compare(sides, &moment, &diff);
    CHECK_INT(diff.allocated[DIFF_A], diff.allocated[DIFF_B]);
    diff_clear(&diff);
    moment.name = "3/forward"; /* only in B */
    CHECK_INT(diff_find_moment(&sides[DIFF_A], &moment, &instant), ERR_NOTFOUND);
    CHECK_STR(instant.label, "step 3, end of forward");
    CHECK_INT(sides[DIFF_A].err, 0);
    CHECK_INT(diff_find_moment(&sides[DIFF_B], &moment, &instant), 0);
    moment = (struct diff_moment){NULL, 0, 0};
    compare(sides, &moment, &diff);
    CHECK_STR(diff.moments[DIFF_A].label, "peak of step 0, optimizer");
    CHECK_INT(diff.allocated[DIFF_B] - diff.allocated[DIFF_A], -MIB(16));
    diff_clear(&diff);
    moment.first_step = moment.last_step = 9;
    CHECK_INT(diff_find_moment(&sides[DIFF_B], &moment, &instant), ERR_NOTFOUND);
    close_both(sides);
}

/* What a source's total counts and no block explains has a group of its own. */
TEST(bytes_that_nobody_showed)
{
    struct diff_side sides[DIFF_SIDES];
    struct diff diff;
    open_ranks(sides, 0);
    REQUIRE(db_exec(sides[DIFF_B].db, "UPDATE phase_device SET peak_allocated = peak_allocated + 5"
                                      " WHERE peak_seq IS NOT NULL") == 0);
    compare(sides, &peaks, &diff);
    const struct diff_group *group = find_group(&diff, DIFF_UNATTRIBUTED, NULL);
    REQUIRE(group != NULL);
    CHECK_INT(diff_change(group), 5);
    CHECK_INT(diff.allocated[DIFF_B], diff.living[DIFF_B] + 5);
    CHECK_INT(diff.allocated[DIFF_B] - diff.allocated[DIFF_A], MIB(35) + 5);
    diff.groups[0].bytes[DIFF_B]++;
    CHECK(!diff_is_valid(&diff));
    diff_clear(&diff);
    close_both(sides);
}

TEST(phases_of_the_steps_that_both_have)
{
    struct diff_side sides[DIFF_SIDES];
    struct diff_phases phases;
    open_ranks(sides, 0);
    CHECK_INT(diff_phases_read(sides, INT64_MIN, INT64_MAX, true, &phases), 0);
    CHECK(diff_phases_is_valid(&phases));
    CHECK_INT(phases.common_steps, 3);
    CHECK_INT(phases.own_steps[DIFF_A], 0);
    CHECK_INT(phases.own_steps[DIFF_B], 1);
    CHECK_INT(phases.own_first[DIFF_B], 3);
    CHECK_INT(phases.own_last[DIFF_B], 3);
    CHECK_STR(phases.rows[0].name, "forward");
    CHECK_INT(phases.rows[0].peak[DIFF_B] - phases.rows[0].peak[DIFF_A], MIB(36));
    CHECK_INT(phases.rows[0].pairs, 3);
    CHECK_INT(phases.rows[0].step, 0);
    const struct diff_phase *row = find_phase(&phases, "metrics");
    REQUIRE(row != NULL);
    CHECK(row->pairs == 0 && row->peak[DIFF_A] == GROUP_NONE);
    CHECK_INT(row->alone[DIFF_B], 3); /* that of step 3 does not count */
    CHECK_INT(row->step, 1);          /* where it was highest, the first of those */
    CHECK_INT(row->peak[DIFF_B], MIB(340));
    diff_phases_clear(&phases);
    CHECK_INT(diff_phases_read(sides, 1, 2, false, &phases), 0);
    CHECK(diff_phases_is_valid(&phases));
    CHECK_INT(phases.common_steps, 2);
    CHECK_INT(phases.count, 8);
    CHECK_STR(phases.rows[0].name, "forward");
    CHECK_STR(phases.rows[7].name, "optimizer");
    CHECK_INT(phases.rows[7].step, 2);
    diff_phases_clear(&phases);
    close_both(sides);
}

/* The row of a name is the step where the change was largest, wherever that is. */
TEST(a_folded_row_is_the_largest_change)
{
    struct diff_side sides[DIFF_SIDES];
    struct diff_phases phases;
    open_ranks(sides, 0);
    REQUIRE(db_exec(sides[DIFF_A].db,
                    "UPDATE phase_device SET peak_allocated = peak_allocated + 1073741824"
                    " WHERE phase = (SELECT id FROM phase WHERE process = 1 AND step = 2"
                    " AND name = 'backward')") == 0);
    REQUIRE(db_exec(sides[DIFF_B].db,
                    "UPDATE phase SET ordinal = 1 WHERE name = 'optimizer' AND step = 1") == 0);
    CHECK_INT(diff_phases_read(sides, INT64_MIN, INT64_MAX, true, &phases), 0);
    CHECK(diff_phases_is_valid(&phases));
    CHECK_STR(phases.rows[0].name, "backward");
    CHECK_INT(phases.rows[0].step, 2);
    CHECK_INT(phases.rows[0].peak[DIFF_B] - phases.rows[0].peak[DIFF_A], MIB(32 - 1024));
    const struct diff_phase *row = find_phase(&phases, "optimizer");
    REQUIRE(row != NULL);
    CHECK_INT(row->pairs, 2);
    CHECK_INT(row->alone[DIFF_A], 1);
    CHECK_INT(row->alone[DIFF_B], 1);
    diff_phases_clear(&phases);
    close_both(sides);
}

TEST(backwards_is_the_opposite)
{
    struct diff_side sides[DIFF_SIDES], turned[DIFF_SIDES];
    struct diff_phases there_phases, back_phases;
    struct diff there, back;
    open_ranks(sides, 0);
    turned[DIFF_A] = sides[DIFF_B];
    turned[DIFF_B] = sides[DIFF_A];
    compare(sides, &peaks, &there);
    compare(turned, &peaks, &back);
    CHECK_INT(there.group_count, back.group_count);
    for (size_t i = 0; i < there.group_count; i++) {
        const struct diff_group *group = &there.groups[i];
        const struct diff_group *same = find_group(&back, group->purpose, group->text);
        CHECK(same && diff_change(same) == -diff_change(group));
    }
    diff_clear(&there);
    diff_clear(&back);
    CHECK_INT(diff_phases_read(sides, INT64_MIN, INT64_MAX, false, &there_phases), 0);
    CHECK_INT(diff_phases_read(turned, INT64_MIN, INT64_MAX, false, &back_phases), 0);
    CHECK_INT(there_phases.count, back_phases.count);
    for (size_t i = 0; i < there_phases.count && i < back_phases.count; i++) {
        CHECK_STR(there_phases.rows[i].name, back_phases.rows[i].name);
        CHECK_INT(there_phases.rows[i].peak[DIFF_A], back_phases.rows[i].peak[DIFF_B]);
    }
    diff_phases_clear(&there_phases);
    diff_phases_clear(&back_phases);
    close_both(sides);
}

/* ---- random pairs ---- */

/* Blocks at random on seven sites, or none, whose lines differ from run to run; two of the sites
 * are one function. `peak_allocated` is that of the highest point plus `hidden` bytes. */
static struct db *random_recording(uint64_t *seed, int64_t hidden)
{
    struct db *db = recording("train");
    char sql[640];
    REQUIRE(db_exec(db, "DELETE FROM allocation; DELETE FROM keyframe; BEGIN") == 0);
    for (int i = 1; i <= 100; i++) {
        bool lives = test_random(seed) % 4 == 0;
        int64_t end = i + 1 + (int64_t)(test_random(seed) % 60);
        int site = (int)(test_random(seed) % 8);
        char text[16] = "NULL";
        if (site)
            snprintf(text, sizeof text, "%d", site);
        snprintf(sql, sizeof sql,
                 "INSERT INTO "
                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
                 "segment) VALUES(%d,1,%d,%d,NULL,%d,%" PRId64 ",%" PRId64 ",%s,NULL,NULL)",
                 i, i * 4096, (int)(test_random(seed) % 100000), i * 10,
                 lives ? -(INT64_C(1) << 46) : (end - i) * 10, lives ? -(INT64_C(1) << 31) : end,
                 text);
        REQUIRE(db_exec(db, sql) == 0);
    }
    snprintf(sql, sizeof sql,
             "UPDATE frame SET line = line + %d;"
             "UPDATE frame SET function = 3 WHERE id = 3;"
             "UPDATE phase_device SET peak_seq = 70, peak_allocated = %" PRId64 " +"
             " (SELECT sum(size) FROM allocation WHERE seq <= 70 AND"
             "  (free_seq < 0 OR free_seq > 70)) WHERE phase = 9;"
             "UPDATE phase_device SET peak_allocated = 0, peak_seq = NULL WHERE phase <> 9; COMMIT",
             (int)(test_random(seed) % 50), hidden);
    REQUIRE(db_exec(db, sql) == 0);
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

static int64_t of_function(const struct diff *diff, const char *text, int side)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < diff->group_count; i++) {
        const struct diff_group *group = &diff->groups[i];
        if (group->purpose != DIFF_UNATTRIBUTED &&
            (text ? group->text && strcmp(group->text, text) == 0 : !group->text))
            bytes += group->bytes[side];
    }
    return bytes;
}

/* Beside plain scans of the tables. */
static void check_pair(struct diff_side sides[DIFF_SIDES], const int64_t hidden[DIFF_SIDES])
{
#define LIVES " FROM allocation WHERE seq <= ?1 AND (free_seq < 0 OR free_seq > ?1)"
    static const char all[] = "SELECT coalesce(sum(size), 0)" LIVES;
    static const char nobody[] = "SELECT coalesce(sum(size), 0)" LIVES " AND site IS NULL";
    static const char both[] = "SELECT coalesce(sum(size), 0)" LIVES " AND site IN (2, 3)";
    struct diff diff;
    compare(sides, &peaks, &diff);
    for (int i = 0; i < DIFF_SIDES; i++) {
        CHECK_INT(diff.living[i], scan(sides[i].db, all, 70));
        CHECK_INT(diff.allocated[i], diff.living[i] + hidden[i]);
        CHECK_INT(of_function(&diff, NULL, i), scan(sides[i].db, nobody, 70));
        CHECK_INT(of_function(&diff, "encode (train.py)", i), scan(sides[i].db, both, 70));
    }
    CHECK((find_group(&diff, DIFF_UNATTRIBUTED, NULL) != NULL) == (hidden[0] || hidden[1]));
    diff_clear(&diff);
}

TEST(random_pairs_add_up)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t random = seed;
        const int64_t hidden[DIFF_SIDES] = {(int64_t)(seed % 3) * 1000, (int64_t)(seed % 2) * 77};
        struct diff_side sides[DIFF_SIDES];
        for (int i = 0; i < DIFF_SIDES; i++)
            sides[i] = (struct diff_side){random_recording(&random, hidden[i]), 1, 1, 0};
        check_pair(sides, hidden);
        close_both(sides);
    }
}

/* ---- who belongs together ---- */

#define COUNT(array) (sizeof(array) / sizeof *(array))

TEST(ranks_come_before_order)
{
    static const struct diff_place a[] = {
        {1, GROUP_NONE, "cpu"}, {2, 0, "cpu"}, {2, 0, "cuda:0"}, {3, 1, "cuda:1"}};
    static const struct diff_place b[] = {
        {4, 1, "cuda:1"}, {5, 0, "cuda:0"}, {6, GROUP_NONE, "cpu"}};
    size_t mates[COUNT(a)];
    CHECK_INT(diff_pair(a, COUNT(a), b, COUNT(b), mates), 0);
    CHECK_INT(mates[0], 2);
    CHECK(mates[1] == DIFF_ALONE);
    CHECK_INT(mates[2], 1);
    CHECK_INT(mates[3], 0);
}

TEST(order_where_there_is_no_rank)
{
    static const struct diff_place a[] = {{2, GROUP_NONE, "cpu"}, {5, GROUP_NONE, "cpu"}};
    static const struct diff_place b[] = {{1, GROUP_NONE, "cpu"}, {3, 0, "cpu"}, {4, 1, "cpu"}};
    size_t mates[3];
    CHECK_INT(diff_pair(a, 2, b, 3, mates), 0);
    CHECK_INT(mates[0], 0);
    CHECK_INT(mates[1], 1); /* alone before, with ranks now */
    CHECK_INT(diff_pair(b, 3, a, 2, mates), 0);
    CHECK_INT(mates[0], 0);
    CHECK_INT(mates[1], 1);
    CHECK(mates[2] == DIFF_ALONE);
    static const struct diff_place two[] = {{1, 2, "cpu"}, {2, 3, "cpu"}};
    CHECK_INT(diff_pair(b + 1, 2, two, 2, mates), 0); /* other ranks are other processes */
    CHECK(mates[0] == DIFF_ALONE && mates[1] == DIFF_ALONE);
    CHECK_INT(diff_pair(a, 0, b, 0, mates), 0);
}

TEST(the_only_device_left)
{
    static const struct diff_place a[] = {{1, 0, "cpu"}, {1, 0, "cuda:0"}};
    static const struct diff_place b[] = {{1, 0, "cuda:3"}, {1, 0, "cpu"}};
    static const struct diff_place c[] = {{1, 0, "cuda:3"}, {1, 0, "cuda:4"}};
    size_t mates[2];
    CHECK_INT(diff_pair(a, 2, b, 2, mates), 0);
    CHECK_INT(mates[0], 1);
    CHECK_INT(mates[1], 0);
    CHECK_INT(diff_pair(a, 2, c, 2, mates), 0); /* which is which? */
    CHECK(mates[0] == DIFF_ALONE && mates[1] == DIFF_ALONE);
}

/* ---- the command ---- */

static int run(const char *name, const char *a, const char *b, const char *format, long n)
{
    const char *near;
    char words[3][512];
    snprintf(words[0], sizeof words[0], "%s", a);
    snprintf(words[1], sizeof words[1], "%s", b);
    snprintf(words[2], sizeof words[2], "%s", format);
    char *argv[] = {words[0], words[1], words[2], NULL};
    const struct command *command = command_find(name, &near);
    REQUIRE(command != NULL);
    mem_fail_after(n);
    int code = command->run(&(struct command_call){command, 3, argv});
    mem_fail_after(0);
    return code;
}

TEST(memory_may_run_out)
{
    static const char *const formats[] = {"--format=table", "--format=csv", "--format=json"};
    struct diff_side sides[DIFF_SIDES];
    char before[512], after[512];
    REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
    REQUIRE(freopen("/dev/null", "w", stderr) != NULL);
    open_ranks(sides, 0);
    close_both(sides);
    snprintf(before, sizeof before, "%s", test_path("before"));
    snprintf(after, sizeof after, "%s", test_path("after"));
    for (size_t i = 0; i < COUNT(formats); i++) {
        long n = 1;
        int code;
        while ((code = run("diff", before, after, formats[i], n)) != EXIT_FINE) {
            CHECK_INT(code, EXIT_INTERNAL);
            n = test_next_failure(n);
            REQUIRE(n < 4000);
        }
        CHECK(n > 50);
    }
}

TEST_MAIN(TEST_CASE(an_edited_program_still_matches), TEST_CASE(a_renamed_script_still_matches),
          TEST_CASE(a_librarys_file_of_the_scripts_name), TEST_CASE(two_scripts_are_not_one),
          TEST_CASE(any_moment), TEST_CASE(bytes_that_nobody_showed),
          TEST_CASE(phases_of_the_steps_that_both_have),
          TEST_CASE(a_folded_row_is_the_largest_change), TEST_CASE(backwards_is_the_opposite),
          TEST_CASE(random_pairs_add_up), TEST_CASE(ranks_come_before_order),
          TEST_CASE(order_where_there_is_no_rank), TEST_CASE(the_only_device_left),
          TEST_CASE(memory_may_run_out))
