/*
 * Views where the data are unusual: nothing at all, phases that are still open, ties, threads with
 * phases of their own, several heaps on one device; and how the views find their rows.
 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

#define LIVING "-2147483648" /* free_seq */
#define LIVING_NS "-70368744177664"

static const char *const promised[][2] = {
    {"phase_table", "process,device,step,phase,allocated,max_allocated,reserved,max_reserved,"
                    "fragmentation,phase_peak,begin_ns,end_ns"},
    {"peak", "process,device,step,phase,at_ns,allocated,reserved"},
    {"live_at_peak", "process,device,allocation,size,category,step,phase,site"},
    {"allocations", "process,device,allocation,size"},
    {"timeline", "process,device,at_ns,allocated,reserved"},
    {"peak_by_category", "process,device,category"},
    {"peak_by_site", "process,device,site"},
    {"fragmentation", "process,device"},
    {"leak", "process,device,site"},
};

/* The columns of a view as one text, each with a comma behind it. */
static void columns_of(struct db *db, const char *view, char *text, size_t size)
{
    char sql[64];
    struct db_stmt *stmt = NULL;
    size_t used = 0;
    snprintf(sql, sizeof sql, "SELECT * FROM %s", view);
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    for (int i = 0; i < db_columns(stmt); i++)
        used += (size_t)snprintf(text + used, size - used, "%s,", db_column_name(stmt, i));
    REQUIRE(used < size);
    CHECK_INT(db_step(stmt), DB_DONE); /* an empty recording has no rows */
    db_finalize(stmt);
}

TEST(promised_columns_come_first_and_an_empty_recording_is_no_error)
{
    struct db *db = fixture_empty();
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++) {
        char columns[1024];
        columns_of(db, promised[i][0], columns, sizeof columns);
        size_t length = strlen(promised[i][1]);
        if (strncmp(columns, promised[i][1], length) != 0 || columns[length] != ',')
            CHECK_STR(columns, promised[i][1]);
    }
    db_close(db);
}

/* One process, one device, one heap. */
static struct db *one_heap(void)
{
    struct db *db = fixture_empty();
    fixture_exec(db, "INSERT INTO process(id,pid,origin,start_ns) VALUES(1,1,'root',0);"
                     "INSERT INTO device VALUES(1,'cuda',1,NULL,NULL);"
                     "INSERT INTO heap VALUES(1,1,1,0,0,NULL);");
    return db;
}

/* id, parent, kind, name, step, begin, end ("NULL" = open): at seq nanoseconds */
static void add_phase(struct db *db, int id, const char *parent, const char *kind, const char *step,
                      int begin, const char *end)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "INSERT INTO "
             "phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_"
             "ns,scope,ended) VALUES(%d,1,1,%s,0,'%s','%s',%s,%d,%s,%d,%s,'process',NULL);"
             "INSERT INTO stretch VALUES(1,%d,%d)",
             id, parent, kind, kind, step, begin, end, begin, end, begin, id);
    fixture_exec(db, sql);
}

static void add_peak(struct db *db, int phase, int peak, const char *seq)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "INSERT INTO phase_device VALUES(%d,1,0,0,NULL,NULL,NULL,NULL,0,NULL,NULL,%d,%s,%s,"
             "NULL,0,0,0)",
             phase, peak, seq, seq);
    fixture_exec(db, sql);
}

static void add_block(struct db *db, int seq, const char *free_seq)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "INSERT INTO "
             "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
             "segment) VALUES(%d,1,4096,512,NULL,%d,%s,%s,NULL,NULL,NULL)",
             seq, seq, strcmp(free_seq, LIVING) == 0 ? LIVING_NS : "1", free_seq);
    fixture_exec(db, sql);
}

static const char *category_of(struct db *db, int allocation)
{
    char sql[128];
    snprintf(sql, sizeof sql,
             "SELECT category || ': ' || rule FROM allocation_category WHERE allocation = %d",
             allocation);
    return fixture_query(db, sql, false);
}

TEST(of_equal_peaks_the_first_counts)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "forward", "0", 1, "9");
    add_phase(db, 2, "NULL", "backward", "0", 10, "19");
    add_phase(db, 3, "NULL", "forward", "1", 20, "29");
    add_peak(db, 1, 100, "5");
    add_peak(db, 2, 300, "14");
    add_peak(db, 3, 300, "22");
    CHECK_STR(fixture_query(db, "SELECT step, phase, at_ns, allocated, seq FROM peak", false),
              "0|backward|14|300|14\n");
    db_close(db);
}

TEST(a_peak_inside_nested_phases_belongs_to_the_innermost)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "forward", "0", 1, "20");
    add_phase(db, 2, "1", "user", "0", 5, "10");
    fixture_exec(db, "INSERT INTO stretch VALUES(1,11,1)");
    add_peak(db, 1, 300, "7");
    add_peak(db, 2, 300, "7");
    CHECK_STR(fixture_query(db, "SELECT phase, seq FROM peak", false), "user|7\n");
    fixture_exec(db, "UPDATE phase_device SET peak_seq = 15 WHERE phase = 1;"
                     "UPDATE phase_device SET peak_allocated = 200 WHERE phase = 2");
    CHECK_STR(fixture_query(db, "SELECT phase, seq FROM peak", false), "forward|15\n");
    db_close(db);
}

TEST(a_phase_that_only_inherits_its_highest_value_began_with_it)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "forward", "0", 10, "20");
    add_peak(db, 1, 300, "NULL");
    CHECK_STR(fixture_query(db, "SELECT phase, at_ns, allocated, seq FROM peak", false),
              "forward|10|300|10\n");
    db_close(db);
}

TEST(a_thread_with_a_phase_of_its_own)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "forward", "0", 1, "20");
    fixture_exec(db,
                 "INSERT INTO "
                 "phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,"
                 "end_ns,scope,ended) VALUES(2,1,7,NULL,0,'user','loader',0,2,15,2,15,'thread',"
                 "'end'); INSERT INTO allocation_phase VALUES(5, 2)");
    add_block(db, 4, "6");
    add_block(db, 5, LIVING);
    add_peak(db, 1, 1024, "5");
    CHECK_STR(fixture_query(db, "SELECT allocation, phase, freed_phase FROM allocations", false),
              "4|forward|forward\n5|loader|\n");
    CHECK_STR(fixture_query(db, "SELECT phase FROM peak", false), "loader\n");
    db_close(db);
}

TEST(a_user_phase_counts_as_the_phase_around_it)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "forward", "0", 10, "29");
    add_phase(db, 2, "1", "user", "0", 12, "20");
    add_phase(db, 3, "2", "user", "0", 13, "19");
    add_phase(db, 4, "NULL", "backward", "0", 30, "39");
    add_phase(db, 5, "NULL", "user", "0", 40, "49");
    add_block(db, 14, "33");
    add_block(db, 41, "50");
    CHECK_STR(category_of(db, 14), "activation: allocated in forward, freed in backward\n");
    CHECK_STR(category_of(db, 41), "workspace: allocated and freed inside one phase\n");
    fixture_exec(db, "DELETE FROM stretch WHERE begin_seq = 40;"
                     "INSERT INTO stretch VALUES(1, 40, 5), (1, 50, 4)");
    CHECK_STR(category_of(db, 41), "other: allocated in user, freed in backward\n");
    db_close(db);
}

TEST(a_recording_that_ended_inside_a_step)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "other", "NULL", 1, "9");
    add_phase(db, 2, "NULL", "forward", "0", 10, "29");
    add_phase(db, 3, "NULL", "backward", "0", 30, "NULL");
    add_block(db, 2, LIVING);
    add_block(db, 3, "35");
    add_block(db, 11, LIVING);
    add_block(db, 12, "31");
    add_block(db, 31, LIVING);
    CHECK_STR(category_of(db, 2), "parameter: live before the first step and to the end\n");
    CHECK_STR(category_of(db, 3), "other: allocated before the first step, freed before the end\n");
    CHECK_STR(category_of(db, 11),
              "activation: allocated in forward, live when the recording ended\n");
    CHECK_STR(category_of(db, 12), "activation: allocated in forward, freed in backward\n");
    CHECK_STR(category_of(db, 31),
              "other: allocated in backward, live when the recording ended inside the step\n");
    CHECK_STR(fixture_query(db, "SELECT ended, end_ns FROM phase WHERE id = 3", false), "|\n");
    db_close(db);
}

/* What lives then says nothing of what the program would have held; and what goes with it, when an
 * exception is over, says no more. */
TEST(a_step_that_was_cut_short)
{
    static const char *const ways[] = {"exception", "process end"};
    for (size_t i = 0; i < 2; i++) {
        struct db *db = one_heap();
        char sql[120];
        add_phase(db, 1, "NULL", "other", "NULL", 1, "9");
        add_phase(db, 2, "NULL", "forward", "0", 10, "29");
        add_phase(db, 3, "NULL", "backward", "0", 30, "39");
        add_phase(db, 4, "NULL", "other", "0", 40, "49");
        snprintf(sql, sizeof sql, "UPDATE phase SET ended = '%s' WHERE id = 3", ways[i]);
        fixture_exec(db, sql);
        add_block(db, 11, LIVING);
        add_block(db, 12, "31");
        add_block(db, 13, "45");
        add_block(db, 31, LIVING);
        add_block(db, 32, "45");
        add_block(db, 41, LIVING);
        CHECK_STR(category_of(db, 11),
                  "activation: allocated in forward, live when the step was cut short\n");
        CHECK_STR(category_of(db, 12), "activation: allocated in forward, freed in backward\n");
        CHECK_STR(category_of(db, 13),
                  "activation: allocated in forward, live when the step was cut short\n");
        CHECK_STR(category_of(db, 31),
                  "other: allocated in backward, live when the step was cut short\n");
        CHECK_STR(category_of(db, 32),
                  "other: allocated in backward, live when the step was cut short\n");
        CHECK_STR(category_of(db, 41), "other: allocated in other, live at the end\n");
        CHECK_STR(
            fixture_query(db, "SELECT end_seq, backward_end_seq, cut_seq FROM step_bounds", false),
            "49||39\n");
        fixture_exec(db, "UPDATE phase SET ended = 'unbalanced' WHERE id = 3");
        CHECK_STR(category_of(db, 11),
                  "activation, held by the program: allocated in forward, live after backward\n");
        db_close(db);
    }
}

TEST(a_forward_that_was_cut_short)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "forward", "0", 10, "29");
    add_phase(db, 2, "NULL", "other", "0", 30, "49");
    fixture_exec(db, "UPDATE phase SET ended = 'exception' WHERE id = 1;"
                     "UPDATE phase SET ended = 'process end' WHERE id = 2");
    add_block(db, 11, "31");
    add_block(db, 12, LIVING);
    CHECK_STR(category_of(db, 11),
              "activation: allocated in forward, live when the step was cut short\n");
    CHECK_STR(category_of(db, 12),
              "activation: allocated in forward, live when the step was cut short\n");
    CHECK_STR(fixture_query(db, "SELECT cut_seq FROM step_bounds", false), "29\n");
    db_close(db);
}

TEST(a_block_outside_of_every_phase)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "forward", "0", 10, "29");
    add_block(db, 5, LIVING);
    CHECK_STR(fixture_query(db, "SELECT allocation, step, phase FROM allocations", false), "5||\n");
    db_close(db);
}

TEST(names_of_devices)
{
    struct db *db = fixture_empty();
    fixture_exec(db, "INSERT INTO device VALUES(1,'cpu',0,NULL,NULL),(2,'cuda',3,NULL,NULL),"
                     "(3,'cuda',-1,NULL,NULL),(4,'virtual',0,NULL,NULL),(5,'cpu',-1,NULL,NULL)");
    CHECK_STR(fixture_query(db, "SELECT device FROM device_text ORDER BY id", false),
              "cpu\ncuda:3\ncuda\nvirtual:0\ncpu\n");
    db_close(db);
}

/* A step with a checkpointed forward: 2 parameter; forward 10..19; backward 30..59 with a recompute
 * 35..44 and another 46..49 in it; optimizer 60..69. */
static struct db *checkpointed(void)
{
    struct db *db = one_heap();
    add_phase(db, 1, "NULL", "other", "NULL", 1, "9");
    add_phase(db, 2, "NULL", "forward", "0", 10, "19");
    add_phase(db, 3, "NULL", "loss", "0", 20, "29");
    add_phase(db, 4, "NULL", "backward", "0", 30, "59");
    add_phase(db, 5, "4", "recompute", "0", 35, "44");
    fixture_exec(db, "INSERT INTO stretch VALUES(1,45,4)");
    add_phase(db, 6, "4", "recompute", "0", 46, "49");
    fixture_exec(db, "INSERT INTO stretch VALUES(1,50,4)");
    add_phase(db, 7, "NULL", "optimizer", "0", 60, "69");
    add_block(db, 2, LIVING);
    return db;
}

TEST(what_is_computed_again_is_an_activation)
{
    struct db *db = checkpointed();
    add_block(db, 11, "47"); /* of the forward, let go as it is computed again */
    add_block(db, 36, "50");
    add_block(db, 37, "47"); /* by the other recompute */
    add_block(db, 38, "40");
    add_block(db, 39, "65");
    add_block(db, 48, LIVING);
    CHECK_STR(category_of(db, 11), "activation: allocated in forward, freed in recompute\n");
    CHECK_STR(category_of(db, 36), "activation: allocated in recompute, freed in backward\n");
    CHECK_STR(category_of(db, 37), "activation: allocated in recompute, freed in recompute\n");
    CHECK_STR(category_of(db, 38), "workspace: allocated and freed inside one phase\n");
    CHECK_STR(category_of(db, 39),
              "activation, held by the program: allocated in recompute, live after backward\n");
    CHECK_STR(category_of(db, 48),
              "activation, held by the program: allocated in recompute, live after backward\n");
    db_close(db);
}

TEST(a_recording_that_ended_while_it_was_computed_again)
{
    struct db *db = checkpointed();
    fixture_exec(db, "UPDATE phase SET end_seq = NULL, end_ns = NULL WHERE id IN (4, 5);"
                     "DELETE FROM phase WHERE id > 5; DELETE FROM stretch WHERE begin_seq > 35");
    add_block(db, 36, LIVING);
    CHECK_STR(category_of(db, 36),
              "activation: allocated in recompute, live when the recording ended\n");
    db_close(db);
}

/* Tags of the blocks at 3 (outside of the computation), 11, 21, 31 and 36 and what then decides. */
TEST(only_what_comes_from_outside_is_an_input)
{
    static const struct {
        int born;
        const char *freed, *as_input;
    } blocks[] = {
        {3, "12", "input: tag\n"},
        {11, "50", "activation: allocated in forward, freed in backward\n"},
        {12, "13", "workspace: allocated and freed inside one phase\n"},
        {13, LIVING,
         "activation, held by the program: allocated in forward, live after backward\n"},
        {21, "51", "activation: allocated in loss, freed in backward\n"},
        {31, LIVING, "gradient: allocated in backward, live at the end of the step\n"},
        {36, "52", "activation: allocated in recompute, freed in backward\n"},
        {61, LIVING, "input: tag\n"},
    };
    struct db *db = checkpointed();
    fixture_exec(db, "INSERT INTO tag VALUES(1,5,'input'),(2,2,'weight')");
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        add_block(db, blocks[i].born, blocks[i].freed);
    fixture_exec(db, "UPDATE allocation SET tag = 1 WHERE seq > 2");
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        CHECK_STR(category_of(db, blocks[i].born), blocks[i].as_input);
    fixture_exec(db, "UPDATE allocation SET tag = 2 WHERE seq > 2"); /* no other tag yields */
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        CHECK_STR(category_of(db, blocks[i].born), "gradient: tag\n");
    db_close(db);
}

TEST(names_of_threads_are_nobodys_own_frames)
{
    struct db *db = fixture_empty();
    fixture_exec(db, "INSERT INTO string VALUES(1,'autograd'),(2,'[thread pt_gloo]'),(3,'step'),"
                     "(4,'train.py'),(5,'thread pool');"
                     "INSERT INTO frame VALUES(1,1,NULL,NULL),(2,2,NULL,NULL),(3,3,4,7),"
                     "(4,5,NULL,NULL),(5,1,4,8);"
                     "INSERT INTO site VALUES(1,0,1),(1,1,3),(2,0,2),(3,0,4),(4,0,5),(5,0,1)");
    CHECK_STR(fixture_query(db, "SELECT site, text, own_depth FROM site_short ORDER BY 1", false),
              "1|step (train.py:7) > autograd|1\n2|[thread pt_gloo]|\n3|thread pool|0\n"
              "4|autograd (train.py:8)|0\n5|autograd|\n");
    db_close(db);
}

TEST(names_of_sites)
{
    struct db *db = fixture_empty();
    fixture_exec(db, "INSERT INTO string VALUES(1,'f'),(2,'a.py');"
                     "INSERT INTO frame VALUES(1,1,2,7),(2,1,2,NULL),(3,1,NULL,7),(4,NULL,2,7);"
                     "INSERT INTO site VALUES(1,0,1),(2,0,2),(2,1,1),(3,0,3),(4,0,4)");
    CHECK_STR(fixture_query(db, "SELECT site, text FROM site_text ORDER BY site", false),
              "1|f (a.py:7)\n2|f (a.py)\n3|f\n4|? (a.py:7)\n");
    CHECK_STR(
        fixture_query(db, "SELECT depth, frame FROM stack WHERE site = 2 ORDER BY depth", false),
        "0|f (a.py)\n1|f (a.py:7)\n");
    db_close(db);
}

TEST(timeline_adds_heaps_whose_levels_differ)
{
    struct db *db = one_heap();
    /* Heap 1 in buckets of 16 ns, heap 2 in buckets of 32 ns: the answer has buckets of 32 ns. */
    fixture_exec(db, "INSERT INTO heap VALUES(2,1,1,7,0,NULL);"
                     "INSERT INTO curve VALUES(1,'allocated',4,0,0,0,50,40),"
                     "(1,'allocated',4,1,40,10,60,30),(1,'allocated',4,4,30,30,35,35),"
                     "(1,'allocated',5,0,0,0,60,30),(1,'allocated',5,2,30,30,35,35),"
                     "(2,'allocated',5,0,0,0,100,100),(2,'allocated',5,1,100,20,100,20)");
    CHECK_STR(fixture_query(db,
                            "SELECT at_ns, allocated, reserved, from_ns, max_allocated "
                            "FROM timeline",
                            false),
              "32|130||0|160\n"
              "64|50||32|130\n"
              "96|55||64|55\n");
    db_close(db);
}

/* "SEARCH a USING ..."; before SQLite 3.36 "SEARCH TABLE allocation AS a USING ...". */
static bool is_step(const char *step, const char *how)
{
    char now[32], before[64];
    snprintf(now, sizeof now, "%s a", how);
    snprintf(before, sizeof before, "%s TABLE allocation AS a", how);
    const char *start = strncmp(step, before, strlen(before)) == 0 ? before : now;
    size_t length = strlen(start);
    return strncmp(step, start, length) == 0 && (step[length] == '\0' || step[length] == ' ');
}

static void check_plan(struct db *db, const char *query)
{
    char sql[512];
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", query);
    struct db_stmt *stmt = NULL;
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    bool searched = false;
    while (db_step(stmt) == DB_ROW) {
        const char *step = db_column_text(stmt, 3);
        searched = searched || is_step(step, "SEARCH");
        if (is_step(step, "SCAN"))
            CHECK_STR(step, "no scan of the allocations");
    }
    CHECK(searched);
    db_finalize(stmt);
}

TEST(rows_of_allocations_are_looked_up_and_not_scanned)
{
    struct db *db = fixture_small_run();
    check_plan(db, "SELECT * FROM allocations WHERE allocation = 5");
    check_plan(db, "SELECT * FROM allocations WHERE allocation BETWEEN 5 AND 9");
    check_plan(db, "SELECT * FROM allocation_category WHERE allocation = 5");
    check_plan(db, "SELECT * FROM live_at_peak");
    check_plan(db, "SELECT * FROM peak_by_site");
    check_plan(db, "SELECT * FROM peak_by_category WHERE process = 1");
    db_close(db);
}

/* Bytes are integers, also where a sum of two of them would be none. */
TEST(a_timeline_of_the_largest_number)
{
    struct db *db = one_heap();
    fixture_exec(db, "INSERT INTO curve VALUES"
                     "(1,'allocated',4,0,0,0,5,5),"
                     "(1,'allocated',4,1,5,5,9223372036854775807,9223372036854775807),"
                     "(1,'allocated',4,2,9223372036854775807,7,9223372036854775807,7)");
    CHECK_STR(fixture_query(db,
                            "SELECT at_ns, allocated, max_allocated, typeof(max_allocated) "
                            "FROM timeline",
                            false),
              "16|5|5|integer\n"
              "32|9223372036854775807|9223372036854775807|integer\n"
              "48|7|9223372036854775807|integer\n");
    db_close(db);
}

TEST_MAIN(TEST_CASE(promised_columns_come_first_and_an_empty_recording_is_no_error),
          TEST_CASE(of_equal_peaks_the_first_counts),
          TEST_CASE(a_peak_inside_nested_phases_belongs_to_the_innermost),
          TEST_CASE(a_phase_that_only_inherits_its_highest_value_began_with_it),
          TEST_CASE(a_thread_with_a_phase_of_its_own),
          TEST_CASE(a_user_phase_counts_as_the_phase_around_it),
          TEST_CASE(a_recording_that_ended_inside_a_step), TEST_CASE(a_step_that_was_cut_short),
          TEST_CASE(a_forward_that_was_cut_short), TEST_CASE(a_block_outside_of_every_phase),
          TEST_CASE(names_of_devices), TEST_CASE(what_is_computed_again_is_an_activation),
          TEST_CASE(a_recording_that_ended_while_it_was_computed_again),
          TEST_CASE(only_what_comes_from_outside_is_an_input),
          TEST_CASE(names_of_threads_are_nobodys_own_frames), TEST_CASE(names_of_sites),
          TEST_CASE(timeline_adds_heaps_whose_levels_differ),
          TEST_CASE(a_timeline_of_the_largest_number),
          TEST_CASE(rows_of_allocations_are_looked_up_and_not_scanned))
