/*
 * What a refused request is beside the steps before it, and a limit that the program gave itself.
 */
#include "test.h"

#include <stdio.h>

#include "db.h"
#include "oom.h"
#include "script.h"
#include "script_sites.h"

static void explain(struct db *db, struct ooms *ooms)
{
    CHECK_INT(oom_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, SIZE_MAX, ooms), 0);
    CHECK(ooms_is_valid(ooms));
}

static const int64_t of_steps[] = {4, 4, 8, 16}; /* MiB of the inputs, and of the second layer */

/* Two layers of one call site in each step, the first of them small; in step 3 the second is
 * refused. */
static struct db *record_growth(const int64_t *sizes)
{
    struct script script = {0};
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(&script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    for (int step = 0; step < 4; step++) {
        int64_t begin = 1000 + 100 * step;
        script_phase(&script, "other", step, begin, begin + 9);
        script_phase(&script, "forward", step, begin + 10, begin + 90);
        script_tagged(&script, begin + 5, begin + 95, MIB(sizes[step]), DECODE, 5);
        script_block(&script, begin + 20, begin + 91, MIB(1), ENCODE);
        if (step < 3)
            script_block(&script, begin + 21, begin + 92, MIB(sizes[step]), ENCODE);
    }
    struct db *db = script_record(&script);
    REQUIRE(db_exec(db, "UPDATE device SET kind = 'cpu';"
                        "INSERT INTO oom(seq, at_ns, thread, process, device, asked, site)"
                        " VALUES(1321, 1321, 1, 1, 1, 16 * 1048576, 2)") == 0);
    return db;
}

TEST(the_call_that_grew)
{
    static const int64_t as_large[] = {16, 16, 16, 16};
    struct db *db = record_growth(of_steps);
    struct ooms ooms;
    explain(db, &ooms);
    REQUIRE(ooms.shown == 1);
    const struct oom_growth *growth = &ooms.failures[0].growth;
    CHECK(growth->found);
    CHECK_INT(growth->since, 1);
    CHECK_INT(growth->before, MIB(8));
    CHECK_INT(growth->input, MIB(16));
    CHECK_INT(growth->input_before, MIB(8));
    ooms_clear(&ooms);
    db_close(db);

    db = record_growth(as_large);
    explain(db, &ooms);
    CHECK(!ooms.failures[0].growth.found);
    ooms_clear(&ooms);
    db_close(db);
}

/* What ulimit sets is there when the process begins. */
TEST(a_limit_of_the_program)
{
    static const char limited[] =
        "INSERT INTO sample VALUES(100, 1, NULL, 'RSS', 5), (900, 1, NULL, 'RSS', 5),"
        "(900, 1, NULL, 'address space', 1000), (%d, 1, NULL, 'limit of address space', 1001)";
    struct ooms ooms;
    char sql[300];
    for (int at = 100; at <= 900; at += 800) {
        struct db *db = record_growth(of_steps);
        snprintf(sql, sizeof sql, limited, at);
        REQUIRE(db_exec(db, sql) == 0);
        explain(db, &ooms);
        CHECK_INT(ooms.failures[0].wall, HOST_WALL_ADDRESS_SPACE);
        CHECK_INT(ooms.failures[0].wall_ns, at == 900 ? 900 : OOM_NONE);
        ooms_clear(&ooms);
        db_close(db);
    }
}

TEST_MAIN(TEST_CASE(the_call_that_grew), TEST_CASE(a_limit_of_the_program))
