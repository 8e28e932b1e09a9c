/*
 * Which steps and which times were thinned out, of what is kept around a stretch: phases, births,
 * the end of the process; and where nothing is.
 */
#include "test.h"

#include <stdio.h>

#include "thinned.h"
#include "db.h"

#define NONE THINNED_NONE

/* Process 1 from 100 ns on, with events 1 to 99, and heaps of two devices; process 2 beside it. */
static struct db *record(const char *sql)
{
    static const char base[] =
        "INSERT INTO process(id,pid,origin,start_ns,first_seq) VALUES(1,7,'root',100,1),"
        " (2,8,'spawn',0,1);"
        "INSERT INTO heap VALUES(1,1,1,0,0,NULL),(2,1,2,0,0,NULL),(3,2,1,0,0,NULL);";
    struct db *db;
    remove(test_path("thinned.db"));
    REQUIRE(db_create(&db, test_path("thinned.db")) == 0);
    REQUIRE(db_exec(db, base) == 0);
    REQUIRE(db_exec(db, sql) == 0);
    return db;
}

#define PHASES                                                                                     \
    "INSERT INTO "                                                                                 \
    "phase(id,process,ordinal,kind,name,scope,step,begin_seq,end_seq,begin_ns,end_ns) VALUES"
#define PHASE "'forward','forward','process'"
#define BIRTHS "INSERT INTO allocation(seq,heap,address,size,alloc_ns,life_ns,free_seq) VALUES"
#define OUT "INSERT INTO thinned VALUES"

static struct thinned_time at(struct db *db, struct thinned_births births, int64_t ns)
{
    struct thinned_time time;
    CHECK_INT(thinned_time_read(db, 1, &births, ns, &time), 0);
    CHECK(!time.is || (time.from_ns <= ns && ns < time.until_ns && time.seq == NONE));
    CHECK(time.is || time.seq == NONE || (births.seq < time.seq && time.ns <= ns));
    CHECK(time.is || time.seq == NONE || births.next_seq == NONE || time.seq < births.next_seq);
    return time;
}

static void check_out(struct db *db, struct thinned_births births, int64_t ns, int64_t from,
                      int64_t until)
{
    struct thinned_time time = at(db, births, ns);
    CHECK(time.is);
    CHECK_INT(time.from_ns, from);
    CHECK_INT(time.until_ns, until);
}

static void check_there(struct db *db, struct thinned_births births, int64_t ns, int64_t seq)
{
    struct thinned_time time = at(db, births, ns);
    CHECK(!time.is);
    CHECK_INT(time.seq, seq);
}

TEST(phases_bound_a_stretch)
{
    static const char sql[] =
        PHASES "(1,1,0," PHASE ",0,1,9,100,190),(2,1,0," PHASE ",3,50,59,500,590),"
               "(3,2,0," PHASE ",1,10,20,200,300),"               /* another process's */
               "(4,1,0,'user','user','range',NULL,5,70,400,410);" /* a range need not nest */
        OUT "(1,10,49,'blocks',7),(2,1,99,'blocks',7),(1,1,99,'marks',7)";
    struct db *db = record(sql);
    const struct thinned_births births = {5, 150, 52, 520}, ended = {5, 150, NONE, NONE};
    check_there(db, births, 150, NONE);
    check_there(db, births, 189, NONE); /* the last phase before it was not over */
    check_out(db, births, 190, 190, 500);
    check_out(db, births, 499, 190, 500);
    CHECK_INT(at(db, births, 300).step_before, 0);
    CHECK_INT(at(db, births, 300).step_behind, 3);
    check_there(db, births, 500, 50); /* the next birth is to come */
    check_there(db, births, 519, 50);
    check_there(db, (struct thinned_births){52, 520, 55, 550}, 530, NONE);
    check_there(db, (struct thinned_births){2, 110, 5, 150}, 120, NONE);
    check_out(db, ended, 499, 190, 500);
    check_there(db, ended, 10000, 50); /* none is to come */
    db_close(db);
}

/* Births inside of it are of blocks that lived longer: they are no bound. */
TEST(survivors_are_inside_of_it)
{
    struct db *db = record(OUT "(1,10,49,'blocks',7);" BIRTHS
                               "(5,1,0,8,150,9,60),(20,1,0,8,200,9,60),(30,1,0,8,300,9,60),"
                               "(55,1,0,8,550,9,60),(12,3,0,8,5,9,60),(53,3,0,8,530,9,60)");
    check_out(db, (struct thinned_births){20, 200, 30, 300}, 250, 150, 550);
    check_out(db, (struct thinned_births){5, 150, 20, 200}, 199, 150, 550);
    check_out(db, (struct thinned_births){30, 300, 55, 550}, 549, 150, 550);
    CHECK_INT(at(db, (struct thinned_births){20, 200, 30, 300}, 250).step_before, NONE);
    CHECK_INT(at(db, (struct thinned_births){20, 200, 30, 300}, 250).step_behind, NONE);
    check_there(db, (struct thinned_births){55, 550, NONE, NONE}, 560, NONE);
    db_close(db);
}

/* Where there is no phase: births of the process, also on its other device. */
TEST(births_bound_a_stretch)
{
    struct db *db = record(OUT "(1,10,49,'blocks',7);" BIRTHS
                               "(5,1,0,8,150,9,60),(7,2,0,8,170,9,60),(52,2,0,8,520,9,60),"
                               "(55,1,0,8,550,9,60)");
    const struct thinned_births births = {5, 150, 55, 550};
    check_there(db, births, 169, NONE);
    check_out(db, births, 170, 170, 520);
    check_there(db, births, 530, 52);
    db_close(db);
}

TEST(a_process_bounds_a_stretch)
{
    static const char sql[] = OUT "(1,1,49,'blocks',7);" BIRTHS "(60,1,0,8,600,9,60)";
    const struct thinned_births first = {NONE, NONE, 60, 600}, none = {NONE, NONE, NONE, NONE};
    struct db *db = record(sql);
    check_there(db, first, 99, NONE); /* it had not begun */
    check_out(db, first, 100, 100, 600);
    CHECK_INT(db_exec(db, "DELETE FROM allocation"), 0);
    check_out(db, none, 5000, 100, INT64_MAX); /* nobody knows until when */
    CHECK_INT(db_exec(db, "UPDATE process SET last_seq = 80, end_ns = 800"), 0);
    check_out(db, none, 799, 100, 800);
    check_there(db, none, 800, 80);
    CHECK_INT(db_exec(db, "UPDATE process SET last_seq = 49"), 0);
    check_out(db, none, 799, 100, 800);
    check_there(db, none, 800, 50); /* its last event was thinned out, too */
    db_close(db);
}

TEST(stretches_one_behind_the_other)
{
    static const char sql[] = PHASES
        "(1,1,0," PHASE ",0,1,9,100,190),(2,1,0," PHASE ",3,30,39,300,390),(3,1,0," PHASE
        ",6,60,69,600,690);" OUT "(1,40,59,'blocks',7),(1,10,29,'blocks',7),(1,70,79,'blocks',0)";
    const struct thinned_births births = {5, 150, 65, 650}; /* step 3 has none */
    struct db *db = record(sql);
    check_there(db, births, 150, NONE);
    check_out(db, births, 200, 190, 300);
    check_there(db, births, 350, 30);
    check_out(db, births, 400, 390, 600);
    CHECK_INT(at(db, births, 400).step_before, 3);
    CHECK_INT(at(db, births, 400).step_behind, 6);
    check_there(db, births, 640, 60);
    check_there(db, (struct thinned_births){65, 650, NONE, NONE}, 9000, NONE);
    db_close(db);
}

TEST(events_of_steps_that_went)
{
    static const char sql[] =
        PHASES "(1,1,0," PHASE ",0,1,9,100,190),(2,1,0," PHASE ",1,10,19,190,290),"
               "(3,1,0," PHASE ",6,60,69,600,690),(4,1,0," PHASE ",7,70,NULL,700,NULL),"
               "(5,2,0," PHASE ",3,20,30,0,0)";
    static const struct {
        int64_t first, last, first_seq, last_seq;
    } cases[] = {{INT64_MIN, INT64_MAX, 0, INT64_MAX},
                 {0, 1, 1, 19},
                 {1, 3, 10, 59},
                 {2, 3, 20, 59},
                 {3, 6, 20, 69},
                 {2, 100, 20, INT64_MAX},
                 {INT64_MIN, 4, 0, 59},
                 {8, 9, 71, INT64_MAX},
                 {6, INT64_MAX, 60, INT64_MAX}};
    struct db *db = record(sql);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t first, last;
        CHECK_INT(thinned_span_of_steps(db, 1, cases[i].first, cases[i].last, &first, &last), 0);
        CHECK_INT(first, cases[i].first_seq);
        CHECK_INT(last, cases[i].last_seq);
    }
    db_close(db);
}

TEST_MAIN(TEST_CASE(phases_bound_a_stretch), TEST_CASE(survivors_are_inside_of_it),
          TEST_CASE(births_bound_a_stretch), TEST_CASE(a_process_bounds_a_stretch),
          TEST_CASE(stretches_one_behind_the_other), TEST_CASE(events_of_steps_that_went))
