/* While the driver was not heard. */
#include "test.h"

#include "unheard.h"
#include "db.h"
#include "error.h"
#include "recording.h"

TEST(a_moment_in_a_gap)
{
    struct db *db = recording("unheard");
    struct unheard unheard;
    static const struct {
        int64_t seq, count, first;
    } moments[] = {{1, 0, 0},   {12, 0, 0}, {13, 1, 13}, {15, 1, 13}, {16, 1, 13},       {17, 0, 0},
                   {22, 1, 22}, {24, 0, 0}, {25, 1, 25}, {30, 1, 25}, {INT64_MAX, 1, 25}};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        CHECK_INT(unheard_read(db, 1, moments[i].seq, moments[i].seq, &unheard), 0);
        CHECK_INT(unheard.count, moments[i].count);
        CHECK_INT(unheard.first_seq, moments[i].first);
    }
    CHECK_INT(unheard_read(db, 1, 15, 15, &unheard), 0);
    CHECK_INT(unheard.begin_ns, 13000000);
    CHECK_INT(unheard.end_ns, 16000000);
    CHECK_INT(unheard.why, UNHEARD_TOOL);
    CHECK_STR(unheard.name, "torch.profiler");
    CHECK_INT(unheard_read(db, 2, 15, 15, &unheard), 0); /* another process's */
    CHECK_INT(unheard.count, 0);
    db_close(db);
}

TEST(a_stretch_with_several)
{
    struct db *db = recording("unheard");
    struct unheard unheard;
    CHECK_INT(unheard_read(db, 1, 14, 24, &unheard), 0);
    CHECK_INT(unheard.count, 2);
    CHECK_INT(unheard.begin_ns, 13000000);
    CHECK_INT(unheard.end_ns, 23000000);
    CHECK_INT(unheard_read(db, 1, 0, INT64_MAX, &unheard), 0);
    CHECK_INT(unheard.count, 3);
    CHECK_INT(unheard.first_seq, 13);
    CHECK(unheard.end_ns == UNHEARD_OPEN);
    CHECK_INT(unheard_read(db, 1, 17, 21, &unheard), 0);
    CHECK_INT(unheard.count, 0);
    db_close(db);
}

/* The word is the guest's; whoever stands there else is a tool. */
TEST(an_error_is_no_tool)
{
    struct db *db = recording("unheard");
    struct unheard unheard;
    CHECK_INT(db_exec(db, "UPDATE gap SET why = 'a fatal error of CUDA''s'"), 0);
    CHECK_INT(unheard_read(db, 1, 15, 15, &unheard), 0);
    CHECK_INT(unheard.why, UNHEARD_FATAL);
    CHECK_INT(db_exec(db, "UPDATE gap SET why = 'an error finder'"), 0);
    CHECK_INT(unheard_read(db, 1, 15, 15, &unheard), 0);
    CHECK_INT(unheard.why, UNHEARD_TOOL);
    CHECK_INT(db_exec(db, "UPDATE gap SET why = NULL"), 0);
    CHECK_INT(unheard_read(db, 1, 15, 15, &unheard), 0);
    CHECK_INT(unheard.why, UNHEARD_NOT_KNOWN);
    db_close(db);
}

TEST(a_database_that_has_no_such_table)
{
    struct db *db = recording("unheard");
    struct unheard unheard;
    CHECK_INT(db_exec(db, "DROP TABLE gap"), 0);
    CHECK(unheard_read(db, 1, 0, 1, &unheard) < 0);
    CHECK_INT(unheard.count, 0);
    db_close(db);
}

TEST_MAIN(TEST_CASE(a_moment_in_a_gap), TEST_CASE(a_stretch_with_several),
          TEST_CASE(an_error_is_no_tool), TEST_CASE(a_database_that_has_no_such_table))
