/*
 * Levers of a program that calls a model and never trains.
 */
#include "test.h"

#include <string.h>

#include "db.h"
#include "levers.h"
#include "levers_model.h"
#include "script.h"
#include "script_sites.h"

#define FLOAT32 "INSERT INTO setting VALUES(1,NULL,'parameter_dtype','float32');"

/* 60 MiB of parameters, and 40 of what a call makes. */
static void call_model(struct script *script, const char *kind)
{
    script_tagged(script, 10, SCRIPT_LIVES, MIB(60), BUILD, TAG_PARAMETER);
    script_phase(script, kind, SCRIPT_OUTSIDE, 100, 300);
    script_block(script, 110, 290, MIB(30), ENCODE);
    script_block(script, 120, 200, MIB(10), DECODE);
}

static struct lever lever_of(const struct script *script, const char *sql, enum lever_kind kind)
{
    struct db *db = script_record(script);
    struct peak peak;
    REQUIRE(db_exec(db, sql) == 0);
    struct levers levers = read_levers(db, &peak);
    const struct lever *found = find(&levers, kind);
    struct lever lever = found ? *found : (struct lever){0};
    CHECK(levers_is_valid(&levers));
    lever.text = lever.site_text = lever.next_phase = NULL;
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return lever;
}

TEST(half_as_many_rows_are_half_of_what_calls_make)
{
    struct script script = {0};
    call_model(&script, "forward_no_grad");
    struct lever lever = lever_of(&script, "", LEVER_HALF_BATCH);
    CHECK_INT(lever.bytes, MIB(20));
    CHECK(lever.estimated && !lever.at_most && !lever.changes);
    CHECK_INT(lever_of(&script, "", LEVER_NO_GRAD).bytes, 0);
}

TEST(what_is_kept_for_no_backward_is_a_bound)
{
    struct script script = {0};
    call_model(&script, "forward");
    struct lever lever = lever_of(&script, "", LEVER_NO_GRAD);
    CHECK_INT(lever.bytes, MIB(40));
    CHECK(lever.at_most);
    CHECK_INT(lever_of(&script, "", LEVER_HALF_BATCH).bytes, 0);
}

/* As of a loop that sums up the outputs between its calls. */
TEST(the_peak_may_stand_between_two_calls)
{
    struct script script = {0};
    call_model(&script, "eval");
    script_block(&script, 130, 400, MIB(25), DECODE);
    script_phase(&script, "user", SCRIPT_OUTSIDE, 305, 390);
    script_block(&script, 310, 320, MIB(70), OTHER);
    CHECK_INT(lever_of(&script, "", LEVER_NO_GRAD).bytes, MIB(25));
}

TEST(sixteen_bits_are_half_of_a_model_in_32)
{
    struct script script = {0};
    call_model(&script, "forward_no_grad");
    struct lever lever = lever_of(&script, FLOAT32, LEVER_HALF_PRECISION);
    CHECK_INT(lever.bytes, MIB(50));
    CHECK(lever.estimated && !lever.at_most && lever.changes);
    CHECK_INT(lever_of(&script, "", LEVER_HALF_PRECISION).bytes, 0);
}

TEST(beside_other_memory_sixteen_bits_are_a_bound)
{
    struct script script = {0};
    call_model(&script, "forward_no_grad");
    script_block(&script, 20, SCRIPT_LIVES, MIB(60), OTHER);
    struct lever lever = lever_of(&script, FLOAT32, LEVER_HALF_PRECISION);
    CHECK_INT(lever.bytes, MIB(80));
    CHECK(lever.at_most && !lever.estimated);
}

TEST(a_program_that_trains_is_told_nothing_of_it)
{
    struct script script = {0};
    call_model(&script, "forward");
    script_phase(&script, "backward", SCRIPT_OUTSIDE, 300, 400);
    CHECK_INT(lever_of(&script, FLOAT32, LEVER_NO_GRAD).bytes, 0);
    CHECK_INT(lever_of(&script, FLOAT32, LEVER_HALF_PRECISION).bytes, 0);
}

TEST_MAIN(TEST_CASE(half_as_many_rows_are_half_of_what_calls_make),
          TEST_CASE(what_is_kept_for_no_backward_is_a_bound),
          TEST_CASE(the_peak_may_stand_between_two_calls),
          TEST_CASE(sixteen_bits_are_half_of_a_model_in_32),
          TEST_CASE(beside_other_memory_sixteen_bits_are_a_bound),
          TEST_CASE(a_program_that_trains_is_told_nothing_of_it))
