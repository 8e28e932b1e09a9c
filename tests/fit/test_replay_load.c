/*
 * Traces from rows: what becomes an operation, and in which order.
 */
#include <stdio.h>
#include <string.h>

#include "replay.h"
#include "error.h"
#include "mem.h"
#include "program.h"
#include "test.h"

#define LIVES "0,-70368744177664,-2147483648,NULL,NULL,NULL"

/* A database with these rows, in the words of the schema. */
static struct db *make(const char *kind, const char *sql)
{
    struct db *db = program_database("rows.db", kind);
    int err = db_exec(db, sql);
    if (err < 0)
        printf("%s\n", db_message(db));
    REQUIRE(err == 0);
    return db;
}

/* Operations as text: "A0:512" asks for block 0, "F0" frees it, G gives it back, I is its idle; E
 * S and O are EMPTY, SHORT and FULL. */
static const char *ops_text(const struct replay_trace *trace)
{
    static char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < trace->op_count && used < sizeof text - 64; i++) {
        const struct replay_op *op = &trace->ops[i];
        const char *space = i ? " " : "";
        if (op->kind == REPLAY_ALLOC)
            used += (size_t)snprintf(text + used, sizeof text - used, "%sA%u:%llu", space,
                                     op->block, (unsigned long long)op->size);
        else if (op->kind <= REPLAY_IDLE)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%c%u", space,
                                     "AFGI"[op->kind], op -> block);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%c", space,
                                     "ESO"[op->kind - REPLAY_EMPTY]);
    }
    return text;
}

static void check_ops(const char *sql, const char *wanted)
{
    struct replay_trace trace;
    struct db *db = make("cuda", sql);
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    CHECK(replay_trace_is_valid(&trace));
    CHECK_STR(ops_text(&trace), wanted);
    replay_trace_clear(&trace);
    db_close(db);
    remove(test_path("rows.db"));
}

TEST(allocations_and_frees_in_the_order_of_the_record)
{
    check_ops("INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES"
              "(1,1,4096,512,100,0,9,6,NULL,NULL,NULL),"
              "(2,1,8192,1024,1000,0,9,3,NULL,NULL,NULL),"
              "(4,1,8192,512,NULL," LIVES "),"
              "(5,1,12288,512,7,0,9,9,NULL,NULL,NULL)",
              "A0:100 A1:1000 F1 A2:512 A3:7 F0 F3");
}

TEST(nothing_at_all)
{
    check_ops("INSERT INTO meta VALUES('x',1)", "");
}

TEST(other_processes_and_devices_are_not_in_it)
{
    struct replay_trace trace;
    struct db *db = make("cuda", "INSERT INTO device VALUES(2,'cpu',0,NULL,NULL);"
                                 "INSERT INTO heap VALUES(7,2,1,0,0,NULL),(8,1,2,0,0,NULL);"
                                 "INSERT INTO "
                                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_"
                                 "seq,site,tag,segment) VALUES"
                                 "(1,7,0,512,1," LIVES "),(2,8,0,512,2," LIVES "),"
                                 "(3,2,0,512,3," LIVES "),(4,99,0,512,4," LIVES ")");
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    CHECK_STR(ops_text(&trace), "A0:3");
    CHECK_INT(trace.heaps[trace.ops[0].heap].stream, 1);
    CHECK(!trace.cpu);
    replay_trace_clear(&trace);
    CHECK_INT(replay_load(db, 1, 2, &trace), 0);
    CHECK_STR(ops_text(&trace), "A0:2");
    CHECK(trace.cpu && !replay_has_addresses(&trace));
    replay_trace_clear(&trace);
    CHECK_INT(replay_load(db, 2, 1, &trace), 0);
    CHECK_STR(ops_text(&trace), "A0:1");
    replay_trace_clear(&trace);
    CHECK_INT(replay_load(db, 3, 1, &trace), 0);
    CHECK_INT(trace.block_count, 0);
    replay_trace_clear(&trace);
    db_close(db);
}

TEST(a_private_pool_is_a_stream_of_its_own)
{
    struct replay_trace trace;
    struct db *db = make("cuda", "INSERT INTO heap VALUES(9,1,1,0,5,'graph')");
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    CHECK_INT(trace.heap_count, 5);
    for (size_t i = 0; i < trace.heap_count; i++)
        for (size_t j = 0; j < i; j++)
            CHECK(trace.heaps[i].name != trace.heaps[j].name);
    CHECK_INT(trace.heaps[2].name, 2);
    replay_trace_clear(&trace);
    db_close(db);
}

TEST(blocks_that_wait)
{
    check_ops("INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES"
              "(1,1,4096,512,100,0,9,2,NULL,NULL,NULL)," /* idle at 5 */
              "(3,1,8192,512,200,0,9,4,NULL,NULL,NULL)," /* idle, it is not known when */
              "(5,1,4096,512,300,0,9,7,NULL,NULL,NULL)," /* idle before its free: nonsense */
              "(6,1,9999,512,400," LIVES ");"            /* an idle of a living block: likewise */
              "INSERT INTO idle VALUES(1,5,0),(5,6,0),(6,8,0),(77,9,0)",
              "A0:100 G0 A1:200 F1 I0 A2:300 A3:400 F2");
}

TEST(an_emptied_cache)
{
    check_ops("INSERT INTO segment VALUES"
              "(1,1,4096,2097152,0,9,5,NULL),(2,1,99999744,20971520,0,9,6,NULL),"
              "(9,1,4096,2097152,0,NULL,NULL,NULL);"
              "INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES"
              "(3,1,4096,512,100,0,9,4,NULL,NULL,NULL),"
              "(10,1,4096,512,300," LIVES ")",
              "A0:100 F0 E A1:300");
}

/* The device has 24 GiB: two segments of 12 cannot be had beside one of 12 that went. */
TEST(a_device_that_was_full)
{
    check_ops("INSERT INTO segment VALUES"
              "(1,1,4096,12884901888,0,9,5,NULL),(6,1,4096,12884901888,0,NULL,NULL,NULL);"
              "INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES"
              "(2,1,4096,12884901888,12884901888,0,9,4,NULL,NULL,NULL),"
              "(7,1,4096,12884901888,12884901888," LIVES ")",
              "A0:12884901888 F0 S A1:12884901888");
}

/* The same under a limit: it comes again by itself. */
TEST(a_limit_that_was_reached)
{
    check_ops("INSERT INTO setting VALUES(1,1,'limit','22000000');"
              "INSERT INTO segment VALUES"
              "(1,1,4096,20971520,0,9,5,NULL),(6,1,4096,2097152,0,NULL,NULL,NULL);"
              "INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES"
              "(2,1,4096,2097152,2097152,0,9,4,NULL,NULL,NULL),"
              "(7,1,4096,512,512," LIVES ")",
              "A0:2097152 F0 A1:512");
}

/* A history tells later: what has the seq of a block's event came before it. */
TEST(what_a_history_told)
{
    check_ops("INSERT INTO segment VALUES"
              "(2,1,4096,2097152,0,9,6,NULL),(7,1,8192,2097152,0,NULL,NULL,NULL);"
              "INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES"
              "(2,1,4096,512,100,0,9,4,NULL,NULL,2),"
              "(6,1,8192,512,300,0,9,8,NULL,NULL,7);"
              "INSERT INTO idle VALUES(2,6,0)",
              "A0:100 G0 I0 E A1:300 F1");
}

/* A segment that was told late was there for its first block. */
TEST(segments_in_the_order_of_their_use)
{
    struct replay_trace trace;
    struct db *db = make("cuda", "INSERT INTO segment VALUES"
                                 "(4,1,40960000,2097152,0,NULL,NULL,NULL),"
                                 "(8,1,80960000,2097152,0,NULL,NULL,NULL),"
                                 "(9,1,90960000,2097152,0,NULL,NULL,NULL);"
                                 "INSERT INTO "
                                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_"
                                 "seq,site,tag,segment) VALUES"
                                 "(1,1,90960000,512,100,0,9,2,NULL,NULL,9),"
                                 "(3,1,90960512,512,300,0,9,7,NULL,NULL,9),"
                                 "(5,1,90960000,512,300,0,9,6,NULL,NULL,77)");
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    REQUIRE(trace.segment_count == 3);
    CHECK_INT(trace.segments[0].seq, 9);
    CHECK_INT(trace.segments[0].first, 1);
    CHECK_INT(trace.segments[1].seq, 4);
    CHECK_INT(trace.segments[2].seq, 8);
    replay_trace_clear(&trace);
    db_close(db);
}

TEST(garbage_collection_under_a_limit_comes_by_itself)
{
    check_ops("INSERT INTO setting VALUES(1,NULL,'limit','99000000'),"
              "(1,1,'alloc_conf','garbage_collection_threshold:0.5');"
              "INSERT INTO segment VALUES"
              "(1,1,4096,20971520,0,9,5,NULL),(6,1,4096,2097152,0,NULL,NULL,NULL);"
              "INSERT INTO "
              "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
              "segment) VALUES"
              "(2,1,4096,2097152,2097152,0,9,4,NULL,NULL,NULL),"
              "(7,1,4096,512,512," LIVES ")",
              "A0:2097152 F0 A1:512");
}

TEST(a_request_that_was_refused)
{
    struct replay_trace trace;
    struct db *db =
        make("cuda", "INSERT INTO segment VALUES(1,1,4096,20971520,0,9,5,NULL);"
                     "INSERT INTO oom VALUES(6,1,1,1,0,99,0,0,NULL),(7,1,1,1,0,99,0,0,NULL),"
                     "(8,1,2,1,0,99,0,0,NULL),(10,1,1,1,0,99,0,0,NULL);"
                     "INSERT INTO "
                     "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                     "tag,segment) VALUES(2,1,4096,2097152,2097152,0,9,4,NULL,NULL,NULL),"
                     "(9,1,4096,512,512," LIVES ")");
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    CHECK_STR(ops_text(&trace), "A0:2097152 F0 O A1:512 O");
    CHECK_INT(trace.refusals, 3);
    replay_trace_clear(&trace);
    db_close(db);
}

/* A setting of the whole process and another one of its device are no change. */
TEST(settings_that_change)
{
    static const struct {
        const char *rows;
        bool changed;
    } cases[] = {
        {"(1,1,'alloc_conf',''),(1,1,'limit','0')", false},
        {"(1,NULL,'alloc_conf','a'),(1,1,'alloc_conf','b'),(1,1,'alloc_conf','b')", false},
        {"(1,1,'allocator','a'),(1,1,'allocator','b')", false},
        {"(1,1,'alloc_conf','a'),(1,1,'alloc_conf','b'),(1,1,'alloc_conf','b')", true},
        {"(1,1,'limit','5'),(1,1,'limit','0')", true},
        {"(2,1,'limit','5'),(1,1,'limit','0')", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replay_trace trace;
        char sql[256];
        snprintf(sql, sizeof sql, "INSERT INTO setting VALUES%s", cases[i].rows);
        struct db *db = make("cuda", sql);
        CHECK_INT(replay_load(db, 1, 1, &trace), 0);
        CHECK_INT(trace.settings_changed, cases[i].changed);
        replay_trace_clear(&trace);
        db_close(db);
        remove(test_path("rows.db"));
    }
}

TEST(settings_of_the_device_win)
{
    struct replay_trace trace;
    struct db *db = make("cuda", "INSERT INTO setting VALUES(1,1,'alloc_conf','mine'),"
                                 "(1,NULL,'alloc_conf','ours'),(1,9,'alloc_conf','other'),"
                                 "(2,1,'limit','5'),(1,NULL,'limit','77'),"
                                 "(1,1,'allocator','pytorch'),(1,1,'something','new')");
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    CHECK_STR(trace.conf, "mine");
    CHECK_STR(trace.allocator, "pytorch");
    CHECK_INT(trace.limit, 77);
    CHECK_INT(trace.total, INT64_C(24) << 30);
    replay_trace_clear(&trace);
    db_close(db);
}

TEST(what_lived_before_the_record)
{
    struct replay_trace trace;
    struct db *db =
        make("cuda", "INSERT INTO setting VALUES(1,1,'rebuilt_until','9');"
                     "INSERT INTO segment VALUES(1,1,4096,2097152,0,NULL,NULL,NULL),"
                     "(2,1,99999744,20971520,0,9,3,NULL),(11,1,8388608,2097152,0,NULL,NULL,NULL);"
                     "INSERT INTO "
                     "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                     "tag,segment) VALUES"
                     "(4,1,4096,512,100," LIVES "),"
                     "(5,1,4608,512,100,0,9,10,NULL,NULL,NULL),"
                     "(6,1,5120,512,100,0,9,8,NULL,NULL,NULL),"  /* waits as the record begins */
                     "(7,1,9728,512,NULL,0,9,9,NULL,NULL,NULL)," /* gone by then */
                     "(12,1,8388608,512,300," LIVES ");"
                     "INSERT INTO idle VALUES(6,11,0)");
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    CHECK(replay_trace_is_valid(&trace));
    CHECK_STR(ops_text(&trace), "F1 I2 A4:300");
    CHECK_INT(trace.adopted, 4);
    CHECK_INT(trace.living_adopted, 3);
    CHECK_INT(trace.living_adopted_bytes, 3 * 512);
    CHECK_INT(trace.adopted_segments, 2);
    CHECK_INT(trace.adopted_blocks[0].state, REPLAY_LIVING);
    CHECK_INT(trace.adopted_blocks[2].state, REPLAY_AWAITING);
    CHECK_INT(trace.adopted_blocks[3].state, REPLAY_DEAD);
    CHECK_INT(trace.adopted_blocks[3].requested, 512);
    replay_trace_clear(&trace);
    db_close(db);
}

TEST(ranges_of_expandable_segments)
{
    struct replay_trace trace;
    struct db *db = make("cuda", "INSERT INTO setting VALUES(1,1,'rebuilt_until','9');"
                                 "INSERT INTO mapping VALUES"
                                 "(1,1,1000000000,2097152,0,1),"   /* small, by its size */
                                 "(2,1,5000000000,20971520,0,1),"  /* large, by its size */
                                 "(3,1,5104857600,20971520,0,1),"  /* large, behind a hole */
                                 "(4,2,7000000000,20971520,0,1),"  /* small, by its block */
                                 "(11,1,5125829120,20971520,0,1)," /* goes on */
                                 "(12,1,5000000000,20971520,0,0)," /* taken out */
                                 "(13,1,5000000000,20971520,0,1)," /* and back */
                                 "(14,3,9000000000,20971520,0,1)," /* a new one */
                                 "(15,3,9020971520,20971520,0,1);"
                                 "INSERT INTO "
                                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_"
                                 "seq,site,tag,segment) VALUES(5,2,7000000000,512,1," LIVES ")");
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    REQUIRE(trace.range_count == 4);
    CHECK(trace.ranges[0].small && trace.ranges[0].adopted);
    CHECK(!trace.ranges[1].small && trace.ranges[1].adopted);
    CHECK_INT(trace.ranges[1].address, 5000000000);
    CHECK_INT(trace.ranges[1].end, 5125829120 + 20971520);
    CHECK(trace.ranges[2].small && trace.ranges[2].adopted);
    CHECK_INT(trace.ranges[3].address, 9000000000);
    CHECK_INT(trace.ranges[3].end, 9020971520 + 20971520);
    CHECK(!trace.ranges[3].adopted);
    replay_trace_clear(&trace);
    db_close(db);
}

TEST(sizes_are_requests_or_blocks_or_both)
{
    static const char *const values[] = {"7", "NULL"};
    static const enum replay_sizes wanted[2][2] = {{REPLAY_REQUESTED, REPLAY_BOTH},
                                                   {REPLAY_BOTH, REPLAY_BLOCK_SIZES}};
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            struct replay_trace trace;
            char sql[512];
            snprintf(sql, sizeof sql,
                     "INSERT INTO "
                     "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                     "tag,segment) VALUES(1,1,0,512,%s," LIVES "),(2,1,0,512,%s," LIVES ")",
                     values[i], values[j]);
            struct db *db = make("cuda", sql);
            CHECK_INT(replay_load(db, 1, 1, &trace), 0);
            CHECK_INT(replay_sizes(&trace), wanted[i][j]);
            replay_trace_clear(&trace);
            db_close(db);
            remove(test_path("rows.db"));
        }
    }
}

/* Rows that nobody of us writes make a trace that is valid all the same, and can be replayed. */
TEST(rows_that_cannot_be)
{
    struct replay_trace trace;
    struct replay_scratch scratch = {0};
    struct replay_outcome outcome;
    struct alloc_config config;
    struct db *db =
        make("cuda", "INSERT INTO setting VALUES(1,1,'rebuilt_until','6'),(1,1,'limit','-7');"
                     "INSERT INTO segment VALUES(1,1,-8192,16384,0,NULL,NULL,NULL),"
                     "(2,1,4096,2097152,0,NULL,-5,NULL),(3,1,8192,2097152,0,NULL,NULL,NULL),"
                     "(4,1,0,-1,0,NULL,NULL,NULL),(17,1,0,0,0,NULL,3,NULL);"
                     "INSERT INTO mapping VALUES(1,1,-4096,8192,0,1),(19,1,0,-4096,0,1),"
                     "(20,2,0,0,0,0);"
                     "INSERT INTO "
                     "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                     "tag,segment) VALUES"
                     "(5,1,4096,-512,1," LIVES "),(6,1,-4096,8192,1," LIVES "),"
                     "(7,1,8192,512,-9,0,0,7,NULL,NULL,NULL),"
                     "(8,1,8192,512,9,0,0,2,NULL,NULL,NULL),"
                     "(9,1,8192,512,9,0,0,9223372036854775807,NULL,NULL,NULL),"
                     "(10,1,8192,512,0,0,0,11,NULL,NULL,NULL),"
                     "(9223372036854775807,1,8192,512,9," LIVES ");"
                     "INSERT INTO idle VALUES(8,-9,0),(9,9223372036854775807,0),(-3,1,1)");
    CHECK_INT(replay_load(db, 1, 1, &trace), 0);
    CHECK(replay_trace_is_valid(&trace));
    alloc_config_default(&config);
    for (int recorded = 0; recorded < 2; recorded++) {
        for (int anew = 0; anew < 2; anew++) {
            const struct replay_setup setup = {
                .config = &config, .recorded = recorded, .addresses = recorded, .anew = anew};
            CHECK_INT(replay_run(&trace, &setup, &scratch, NULL, &outcome), 0);
        }
    }
    replay_trace_clear(&trace);
    replay_scratch_clear(&scratch);
    db_close(db);
}

TEST(a_database_without_the_tables)
{
    struct replay_trace trace;
    static const char *const tables[] = {"heap", "setting", "segment",   "mapping",
                                         "oom",  "idle",    "allocation"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "DROP TABLE %s", tables[i]);
        struct db *db = make("cuda", "INSERT INTO "
                                     "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,"
                                     "free_seq,site,tag,segment) VALUES(1,1,0,512,7," LIVES ")");
        REQUIRE(db_exec(db, sql) == 0);
        CHECK(replay_load(db, 1, 1, &trace) < 0);
        replay_trace_clear(&trace);
        db_close(db);
        remove(test_path("rows.db"));
    }
}

TEST(without_memory)
{
    struct replay_trace trace;
    struct db *db = make("cuda", "INSERT INTO setting VALUES(1,1,'rebuilt_until','3'),"
                                 "(1,1,'alloc_conf','x'),(1,1,'allocator','pytorch');"
                                 "INSERT INTO segment VALUES(1,1,4096,2097152,0,9,5,NULL);"
                                 "INSERT INTO mapping VALUES(2,1,1000000000,2097152,0,1),"
                                 "(4,1,2000000000,2097152,0,1);"
                                 "INSERT INTO "
                                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_"
                                 "seq,site,tag,segment) VALUES(3,1,4096,512,7," LIVES "),"
                                 "(6,1,4608,512,7,0,9,8,NULL,NULL,NULL);"
                                 "INSERT INTO idle VALUES(6,9,0)");
    long n = 1;
    for (int err = ERR_NOMEM; err < 0 && n < 1000; n++) {
        mem_fail_after(n);
        err = replay_load(db, 1, 1, &trace);
        mem_fail_after(0);
        CHECK(err == 0 || err == ERR_NOMEM);
        if (err == 0)
            CHECK_STR(ops_text(&trace), "E A1:7 G1 I1");
        replay_trace_clear(&trace);
    }
    CHECK(n > 10);
    db_close(db);
}

/* In a table of two rows, the number of the second: a byte before the length of its header, 13, and
 * the first column, which stands in that number. */
static void renumber(const char *path, unsigned char from, unsigned char to)
{
    const unsigned char row[] = {from, 13, 0};
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(path, "r+b");
    REQUIRE(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    const unsigned char *at = memmem(bytes, count, row, sizeof row);
    REQUIRE(at && count < sizeof bytes);
    REQUIRE(fseek(file, at - bytes, SEEK_SET) == 0 && fputc(to, file) == to);
    fclose(file);
}

TEST(rows_out_of_order_are_damage)
{
    struct replay_trace trace;
    struct db *db = make("cuda", "INSERT INTO "
                                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_"
                                 "seq,site,tag,segment) VALUES(100,1,4096,512,7," LIVES "),"
                                 "(101,1,8192,512,7," LIVES ")");
    REQUIRE(db_checkpoint(db, true) == 0 && db_single_file(db) == 0);
    db_close(db);
    renumber(test_path("rows.db"), 101, 5);
    REQUIRE(db_open(&db, test_path("rows.db")) == 0);
    CHECK_INT(replay_load(db, 1, 1, &trace), ERR_CORRUPT);
    replay_trace_clear(&trace);
    db_close(db);
}

TEST_MAIN(TEST_CASE(allocations_and_frees_in_the_order_of_the_record), TEST_CASE(nothing_at_all),
          TEST_CASE(other_processes_and_devices_are_not_in_it),
          TEST_CASE(a_private_pool_is_a_stream_of_its_own), TEST_CASE(blocks_that_wait),
          TEST_CASE(an_emptied_cache), TEST_CASE(a_device_that_was_full),
          TEST_CASE(a_limit_that_was_reached), TEST_CASE(what_a_history_told),
          TEST_CASE(segments_in_the_order_of_their_use),
          TEST_CASE(garbage_collection_under_a_limit_comes_by_itself),
          TEST_CASE(a_request_that_was_refused), TEST_CASE(settings_that_change),
          TEST_CASE(settings_of_the_device_win), TEST_CASE(what_lived_before_the_record),
          TEST_CASE(ranges_of_expandable_segments), TEST_CASE(sizes_are_requests_or_blocks_or_both),
          TEST_CASE(rows_that_cannot_be), TEST_CASE(rows_out_of_order_are_damage),
          TEST_CASE(a_database_without_the_tables), TEST_CASE(without_memory))
