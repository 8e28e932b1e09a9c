/*
 * The promised views on small_run.sql. Every expected value is worked out from the table at the top
 * of that file.
 */
#include "fixture.h"
#include "test.h"

TEST(phase_table_has_values_at_the_end_of_each_phase)
{
    struct db *db = fixture_small_run();
    CHECK_STR(fixture_query(db,
                            "SELECT process, device, step, phase, allocated >> 20, "
                            "max_allocated >> 20, reserved >> 20, max_reserved >> 20, "
                            "round(fragmentation, 3), phase_peak >> 20 FROM phase_table",
                            false),
              "1|cuda:0||other|450|480|2000|2000|0.25|480\n"
              "1|cuda:0|0|forward|760|760|2000|2000|0.25|760\n"
              "1|cuda:0|0|attention|750|750|2000|2000|0.25|750\n"
              "1|cuda:0|0|loss|880|880|2000|2000|0.25|880\n"
              "1|cuda:0|0|backward|980|1280|2000|2000|0.25|1280\n"
              "1|cuda:0|0|optimizer|1780|1820|2000|2000|0.11|1820\n"
              "1|cuda:0|1|zero_grad|1380|1820|2000|2000|0.31|1780\n"
              "1|cuda:0|1|forward|1590|1820|2000|2000|0.205|1590\n"
              "1|cuda:0|1|loss|1590|1820|2000|2000|0.205|1710\n"
              "1|cuda:0|1|backward|1790|1990|3000|3000|0.2|1990\n"
              "1|cuda:0|1|optimizer|1790|1990|3000|3000|0.2|1830\n"
              "1|cuda:0|2|forward|1680|1990|3000|3000|0.2|1800\n"
              "1|cuda:0|3|forward|1640|1990|3000|3000|0.2|1690\n"
              "2|cpu||other|5000|5000||||5000\n");
    CHECK_STR(fixture_query(db,
                            "SELECT begin_ns, end_ns, begin_allocated >> 20, allocs, frees, "
                            "alloc_bytes >> 20 FROM phase_table WHERE phase = 'backward'",
                            false),
              "30000000|39000000|880|1|2|400\n70000000|79000000|1590|1|1|400\n");
    db_close(db);
}

TEST(peak_is_one_row_for_each_process_and_device)
{
    struct db *db = fixture_small_run();
    CHECK_STR(fixture_query(db,
                            "SELECT process, device, step, phase, at_ns, allocated >> 20, "
                            "reserved >> 20, kind, seq FROM peak",
                            false),
              "1|cuda:0|1|backward|71000000|1990|3000|backward|71\n"
              "2|cpu||other|107000000|5000||other|107\n");
    db_close(db);
}

static const char live[] = "SELECT allocation, size >> 20, category, step, phase, site "
                           "FROM live_at_peak WHERE process = 1 ORDER BY allocation";
static const char live_answer[] =
    "2|400|parameter||other|build (model.py:10)\n"
    "3|50|input||other|loss_of (train.py:52)\n"
    "18|10|activation, held by the program|0|forward|remember (train.py:77)\n"
    "41|800|optimizer state|0|optimizer|step (adam.py:99)\n"
    "56|200|activation|1|forward|forward (model.py:31)\n"
    "57|10|activation, held by the program|1|forward|remember (train.py:77)\n"
    "61|120|activation, held by the program|1|loss|loss_of (train.py:52)\n"
    "71|400|gradient|1|backward|backward\n";

TEST(live_at_peak_from_a_keyframe)
{
    struct db *db = fixture_small_run();
    CHECK_STR(fixture_query(db, live, false), live_answer);
    CHECK_INT(fixture_int(db, "SELECT sum(size) >> 20 FROM live_at_peak WHERE process = 1"), 1990);
    db_close(db);
}

TEST(live_at_peak_without_a_keyframe)
{
    struct db *db = fixture_small_run();
    fixture_exec(db, "DELETE FROM keyframe");
    CHECK_STR(fixture_query(db, live, false), live_answer);
    db_close(db);
}

TEST(live_at_peak_reads_the_keyframe_and_not_the_rows_before_it)
{
    struct db *db = fixture_small_run();
    fixture_exec(db, "DELETE FROM keyframe WHERE seq = 50 AND allocation = 41");
    CHECK_INT(fixture_int(db, "SELECT sum(size) >> 20 FROM live_at_peak WHERE process = 1"),
              1990 - 800);
    db_close(db);
}

TEST(a_keyframe_at_the_peak_itself_is_used)
{
    struct db *db = fixture_small_run();
    fixture_exec(db, "INSERT INTO keyframe VALUES (71,2),(71,3),(71,18),(71,41),(71,56),(71,57),"
                     "(71,61),(71,71)");
    CHECK_STR(fixture_query(db, live, false), live_answer);
    db_close(db);
}

TEST(each_block_has_a_category_and_the_rule_that_says_so)
{
    struct db *db = fixture_small_run();
    CHECK_STR(
        fixture_query(db, "SELECT allocation, category, rule FROM allocation_category", false),
        "2|parameter|live before the first step and to the end\n"
        "3|input|tag\n"
        "4|other|allocated before the first step, freed before the end\n"
        "11|activation|allocated in forward, freed in backward\n"
        "12|workspace|allocated and freed inside one phase\n"
        "15|activation|allocated in forward, freed in backward\n"
        "18|activation, held by the program|allocated in forward, live after backward\n"
        "21|activation, held by the program|allocated in loss, live after backward\n"
        "31|gradient|allocated in backward, freed by zero_grad\n"
        "41|optimizer state|allocated in the first optimizer phase, still live\n"
        "42|workspace|allocated and freed inside one phase\n"
        "56|activation|allocated in forward, freed in backward\n"
        "57|activation, held by the program|allocated in forward, live after backward\n"
        "61|activation, held by the program|allocated in loss, live after backward\n"
        "71|gradient|allocated in backward, live at the end of the step\n"
        "81|workspace|allocated and freed inside one phase\n"
        "91|other|allocated in forward, live at the end\n"
        "96|activation|allocated in forward, live when the recording ended\n"
        "107|other|no step was seen\n");
    db_close(db);
}

TEST(the_peak_by_category_and_by_site_add_up_to_it)
{
    struct db *db = fixture_small_run();
    CHECK_STR(fixture_query(db,
                            "SELECT category, bytes >> 20, blocks, round(share, 3) "
                            "FROM peak_by_category WHERE process = 1 ORDER BY bytes DESC, category",
                            false),
              "optimizer state|800|1|0.402\n"
              "gradient|400|1|0.201\n"
              "parameter|400|1|0.201\n"
              "activation|200|1|0.101\n"
              "activation, held by the program|140|3|0.07\n"
              "input|50|1|0.025\n");
    CHECK_STR(fixture_query(db,
                            "SELECT site, bytes >> 20, blocks, round(share, 3) FROM peak_by_site "
                            "ORDER BY process, bytes DESC, site",
                            false),
              "step (adam.py:99)|800|1|0.402\n"
              "backward|400|1|0.201\n"
              "build (model.py:10)|400|1|0.201\n"
              "forward (model.py:31)|200|1|0.101\n"
              "loss_of (train.py:52)|170|2|0.085\n"
              "remember (train.py:77)|20|2|0.01\n"
              "|5000|1|1.0\n");
    db_close(db);
}

TEST(allocations_show_null_for_what_is_not_known)
{
    struct db *db = fixture_small_run();
    static const char query[] =
        "SELECT process, device, allocation, size >> 20, requested >> 20, step, phase, freed_step, "
        "freed_phase, site, tag, alloc_ns, life_ns, free_ns, free_seq, heap, segment "
        "FROM allocations WHERE allocation IN (2, 3, 15, 21, 107)";
    CHECK_STR(fixture_query(db, query, false),
              "1|cuda:0|2|400|||other|||build (model.py:10)||2000000||||1|1\n"
              "1|cuda:0|3|50|||other|3|forward|loss_of (train.py:52)|batch|3000000|95000000|"
              "98000000|98|1|1\n"
              "1|cuda:0|15|100||0|attention|0|backward|forward (model.py:31)||15000000|17000000|"
              "32000000|32|1|1\n"
              "1|cuda:0|21|120||0|loss|1|loss|loss_of (train.py:52)||21000000|41000000|62000000|"
              "62|1|1\n"
              "2|cpu|107|5000|5000||other|||||107000000||||2|\n");
    db_close(db);
}

TEST(timeline_is_exact_at_the_end_of_each_bucket)
{
    struct db *db = fixture_small_run();
    CHECK_STR(fixture_query(db,
                            "SELECT process, device, at_ns, allocated >> 20, reserved >> 20, "
                            "from_ns, max_allocated >> 20, max_reserved >> 20 FROM timeline",
                            false),
              "1|cuda:0|33554432|980|2000|0|1280|2000\n"
              "1|cuda:0|67108864|1590|2000|33554432|1820|2000\n"
              "1|cuda:0|100663296|1640|3000|67108864|1990|3000\n"
              "2|cpu|134217728|5000||100663296|5000|\n");
    db_close(db);
}

TEST(fragmentation_only_where_segments_are_known)
{
    struct db *db = fixture_small_run();
    CHECK_STR(fixture_query(db,
                            "SELECT process, device, step, phase, allocated >> 20, active >> 20, "
                            "reserved >> 20, inactive_split >> 20, cached >> 20, fragmentation "
                            "FROM fragmentation WHERE phase = 'optimizer'",
                            false),
              "1|cuda:0|0|optimizer|1780|1780|2000|220|0|0.11\n"
              "1|cuda:0|1|optimizer|1790|1790|3000|600|610|0.2\n");
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM fragmentation WHERE process = 2"), 0);
    db_close(db);
}

TEST(leak_wants_more_than_one_step_and_two_steps_of_age)
{
    struct db *db = fixture_small_run();
    /* Optimizer state outlives the run too, but comes from one step only; the blocks of steps 2 and
     * 3 are too young to tell. */
    CHECK_STR(fixture_query(db,
                            "SELECT process, device, site, steps, blocks, bytes >> 20, "
                            "bytes_per_step / 1048576, first_step, last_step FROM leak",
                            false),
              "1|cuda:0|remember (train.py:77)|2|2|20|10.0|0|1\n");
    db_close(db);
}

TEST_MAIN(TEST_CASE(phase_table_has_values_at_the_end_of_each_phase),
          TEST_CASE(peak_is_one_row_for_each_process_and_device),
          TEST_CASE(live_at_peak_from_a_keyframe), TEST_CASE(live_at_peak_without_a_keyframe),
          TEST_CASE(live_at_peak_reads_the_keyframe_and_not_the_rows_before_it),
          TEST_CASE(a_keyframe_at_the_peak_itself_is_used),
          TEST_CASE(each_block_has_a_category_and_the_rule_that_says_so),
          TEST_CASE(the_peak_by_category_and_by_site_add_up_to_it),
          TEST_CASE(allocations_show_null_for_what_is_not_known),
          TEST_CASE(timeline_is_exact_at_the_end_of_each_bucket),
          TEST_CASE(fragmentation_only_where_segments_are_known),
          TEST_CASE(leak_wants_more_than_one_step_and_two_steps_of_age))
