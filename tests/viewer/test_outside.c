/* What is outside of an allocator, by whom; the ladder with it; what ran at an instant. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "ladder.h"
#include "running.h"
#include "buf.h"
#include "db.h"
#include "error.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

/* ---- pools between two samples: plain.sql has one that grew behind its sample at 12 ms ---- */

static struct ladder ladder_at(struct db *db, int64_t seq, int64_t ns, int64_t reserved)
{
    struct ladder ladder;
    struct ladder_facts facts = {.living = LADDER_NONE};
    for (int i = 0; i < LADDER_STEPS; i++)
        facts.bytes[i] = LADDER_NONE;
    facts.bytes[LADDER_RESERVED] = reserved;
    facts.alone = reserved == LADDER_NONE;
    CHECK_INT(ladder_read_around(db, 1, 1, seq, ns, &facts), 0);
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    return ladder;
}

static int64_t pools_of(const struct ladder *ladder)
{
    for (size_t i = 0; i < ladder->part_count; i++)
        if (strstr(ladder->parts[i].what, "stream-ordered pools"))
            return ladder->parts[i].bytes;
    return 0;
}

/* Used and the pool are of one moment: what nobody told of is as at the sample, whatever came. */
TEST(a_pool_that_grew_behind_its_sample)
{
    struct db *db = recording("plain");
    struct ladder ladder = ladder_at(db, 13, 13000000, LADDER_NONE);
    CHECK_INT(pools_of(&ladder), MIB(32));
    CHECK_INT(ladder.unattributed, MIB(2));
    ladder = ladder_at(db, 14, 14000000, LADDER_NONE);
    CHECK_INT(pools_of(&ladder), MIB(40)); /* so much is handed out of it */
    CHECK_INT(ladder.rungs[LADDER_DEVICE].bytes, MIB(514 + 8));
    CHECK_INT(ladder.unattributed, MIB(2));
    CHECK_INT(ladder.sample_age, 2000000);
    ladder = ladder_at(db, 18, 18000050, LADDER_NONE); /* between the two halves of a sample */
    CHECK_INT(pools_of(&ladder), MIB(40));
    CHECK_INT(ladder.unattributed, MIB(2));
    ladder = ladder_at(db, 7, 7000000, LADDER_NONE); /* before any pool */
    CHECK_INT(pools_of(&ladder), 0);
    CHECK_INT(ladder.unattributed, 0);
    ladder = ladder_at(db, 8, 8000000, LADDER_NONE);
    CHECK_INT(pools_of(&ladder), MIB(8));
    CHECK_INT(ladder.unattributed, 0);
    db_close(db);
}

TEST(without_samples_of_a_pool)
{
    struct db *db = recording("plain");
    REQUIRE(db_exec(db, "DELETE FROM sample WHERE what LIKE 'pool%'") == 0);
    struct ladder before = ladder_at(db, 13, 13000000, LADDER_NONE);
    struct ladder ladder = ladder_at(db, 14, 14000000, LADDER_NONE);
    CHECK_INT(pools_of(&before), MIB(8));
    CHECK_INT(pools_of(&ladder), MIB(40));
    CHECK_INT(ladder.unattributed, before.unattributed);
    db_close(db);
}

/* An allocator whose blocks lie in the pool says what it has reserved at the moment itself. */
TEST(an_allocators_own_pool)
{
    struct db *db = recording("plain");
    REQUIRE(db_exec(db, "UPDATE driver_memory SET heap = 1, blocks = 1"
                        " WHERE kind = 'async' OR seq = 3") == 0);
    struct ladder at_sample = ladder_at(db, 13, 12000200, MIB(64 + 32));
    CHECK_INT(at_sample.unattributed, MIB(2));
    struct ladder ladder = ladder_at(db, 14, 14000000, MIB(64 + 48));
    CHECK_INT(pools_of(&ladder), 0);
    CHECK_INT(ladder.rungs[LADDER_DEVICE].bytes, MIB(514 + 16));
    CHECK_INT(ladder.unattributed, MIB(2));
    ladder = ladder_at(db, 17, 17000000, MIB(64 + 24)); /* it has shrunk */
    CHECK_INT(ladder.unattributed, MIB(2));
    db_close(db);
}

TEST(nobody_asked_the_device)
{
    struct db *db = recording("plain");
    struct ladder ladder;
    REQUIRE(db_exec(db, "DELETE FROM sample") == 0);
    ladder = ladder_at(db, 14, 14000000, LADDER_NONE);
    CHECK(ladder.alone && !ladder.measured);
    CHECK_INT(ladder.part_count, 3);
    CHECK_INT(ladder.unattributed, 0);
    CHECK_INT(ladder.known, 0);
    db_close(db);
}

TEST(libraries_are_called_as_people_call_them)
{
    static const char *const names[][2] = {
        {"libnccl.so.2", "NCCL"},
        {"/a/lib/b/libcublasLt.so.13", "cuBLAS"},
        {"libcudnn_adv.so.9", "cuDNN"},
        {"libcuda.so.1", "the CUDA driver"},
        {"libcudart.so.13", "the CUDA runtime"},
        {"/opt/libc10_cuda.so", "PyTorch"},
        {"libtorch_cuda.so", "PyTorch"},
        {"libtidemark_alloc.so.1", "Tidemark's allocator"},
        {"python3.12", "the program"},
        {"bin/train", "the program"},
        {"libmine.so", "libmine.so"},
        {"plugin.so.3", "plugin.so.3"},
        {"_C.cpython-311-x86_64-linux-gnu.so", "_C.cpython-311-x86_64-linux-gnu.so"},
        {"", "not known by whom"},
        {"/a/", "not known by whom"},
    };
    char own[LIBRARY_TEXT], wide[200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_STR(library_name(names[i][0], own), names[i][1]);
    CHECK_STR(library_name(NULL, own), "not known by whom");
    memset(wide, 'x', sizeof wide);
    strcpy(wide + 190, ".so");
    CHECK_INT(strlen(library_name(wide, own)), LIBRARY_TEXT - 1);
}

/* ---- of a recording: the numbers stand at the top of gpu.sql ---- */

TEST(parts_at_the_peak)
{
    struct db *db = recording("gpu");
    struct outside outside;
    CHECK_INT(outside_read(db, 1, 1, 15, 15000000, &outside), 0);
    CHECK(outside_is_valid(&outside) && outside.told);
    CHECK_INT(outside.count, 3);
    CHECK_STR(outside.parts[0].name, "NCCL");
    CHECK_INT(outside.parts[0].bytes, MIB(32));
    CHECK_INT(outside.parts[0].pieces, 2);
    CHECK_STR(outside.parts[1].name, "stream-ordered pools");
    CHECK_INT(outside.parts[1].bytes, MIB(32));
    CHECK_INT(outside.parts[1].pieces, 0);
    CHECK_STR(outside.parts[2].name, "cuBLAS");
    CHECK_INT(outside.parts[2].bytes, MIB(9));
    CHECK_INT(outside.managed, MIB(128));
    CHECK_INT(outside.blind_ns, 0);
    CHECK_INT(outside.device.bytes, MIB(500));
    CHECK_INT(outside.device.at_ns, 3000000);
    CHECK_INT(outside.process.bytes, OUTSIDE_NONE);
    db_close(db);
}

TEST(parts_come_and_go)
{
    struct db *db = recording("gpu");
    struct outside outside;
    CHECK_INT(outside_read(db, 1, 1, 2, 2000000, &outside), 0);
    CHECK_INT(outside.count, 0);
    CHECK_INT(outside.device.bytes, OUTSIDE_NONE); /* nobody had looked */
    CHECK_INT(outside_read(db, 1, 1, 6, 6000000, &outside), 0);
    CHECK_INT(outside.parts[0].bytes, MIB(9));
    CHECK_INT(outside_read(db, 1, 1, 18, 21000000, &outside), 0); /* Lt gave its back */
    CHECK_INT(outside.parts[2].bytes, MIB(8));
    CHECK_INT(outside.blind_ns, 1000000);
    CHECK_INT(outside_read(db, 2, 1, 18, 18000000, &outside), 0);
    CHECK(!outside.told);
    db_close(db);
}

TEST(pools_that_blocks_lie_in_are_the_allocators)
{
    struct db *db = recording("gpu");
    struct outside outside;
    REQUIRE(db_exec(db, "DELETE FROM sample WHERE what = 'pool reserved'") == 0);
    CHECK_INT(outside_read(db, 1, 1, 15, 15000000, &outside), 0);
    CHECK_INT(outside.parts[2].bytes, MIB(4)); /* what is handed out stands for it */
    CHECK_STR(outside.parts[2].name, "stream-ordered pools");
    REQUIRE(db_exec(db, "UPDATE driver_memory SET heap = 1, blocks = 1 WHERE kind = 'async'") == 0);
    CHECK_INT(outside_read(db, 1, 1, 15, 15000000, &outside), 0);
    CHECK_INT(outside.count, 2);
    REQUIRE(db_exec(db, "INSERT INTO sample VALUES(14000000, 1, 1, 'graph reserved', 77)") == 0);
    CHECK_INT(outside_read(db, 1, 1, 15, 15000000, &outside), 0);
    CHECK_STR(outside.parts[2].name, "memory of graphs");
    CHECK_INT(outside.parts[2].bytes, 77);
    db_close(db);
}

TEST(another_processs_sample_is_not_ours)
{
    struct db *db = recording("gpu");
    struct instant instant;
    struct ladder_facts facts;
    REQUIRE(db_exec(db, "UPDATE sample SET process = 2 WHERE at_ns > 4000000") == 0);
    REQUIRE(instant_find(db, 1, 1, "peak", &instant) == 0);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.bytes[LADDER_DEVICE],
              MIB(520 + 63 + 4)); /* what the driver gave since, and its pool */
    CHECK_INT(facts.sampled_ns, 3000000);
    REQUIRE(db_exec(db, "UPDATE sample SET process = NULL WHERE at_ns = 15000000") == 0);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.bytes[LADDER_DEVICE], MIB(622));
    db_close(db);
}

/* The sample that is left is of 13 ms: behind it the driver gave 20 MiB and took them back. */
TEST(a_sample_that_is_old)
{
    struct db *db = recording("gpu");
    struct instant instant;
    struct ladder_facts facts;
    struct ladder ladder;
    int64_t bytes;
    REQUIRE(db_exec(db, "DELETE FROM sample WHERE at_ns > 14000000") == 0);
    REQUIRE(instant_find(db, 1, 1, "peak", &instant) == 0);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.sampled_ns, 13000000);
    CHECK_INT(facts.bytes[LADDER_DEVICE], MIB(598 + 20));
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(ladder.unattributed, MIB(3)); /* as at 13 ms */
    CHECK_INT(outside_since(db, 1, 1, 13, 13000000, OUTSIDE_NONE, &bytes), 0);
    CHECK_INT(bytes, 0); /* parts of pools are no more than the pool */
    CHECK_INT(outside_since(db, 1, 1, 30, 13000000, OUTSIDE_NONE, &bytes), 0);
    CHECK_INT(bytes, MIB(-1)); /* 20 MiB came and went, one that was there went */
    CHECK_INT(outside_since(db, 1, 1, 18, 4000000, OUTSIDE_NONE, &bytes), 0);
    CHECK_INT(bytes, MIB(8 + 16 + 16 + 2 + 20 + 4)); /* another came and went, a pool came */
    CHECK_INT(outside_since(db, 1, 1, 18, 6000000, OUTSIDE_NONE, &bytes), 0);
    CHECK_INT(bytes, MIB(16 + 16 + 2 + 20 + 4 - 1));
    db_close(db);
}

static const struct ladder_part *part_of(const struct ladder *ladder, const char *quantity)
{
    for (size_t i = 0; i < ladder->part_count; i++)
        if (strcmp(ladder->parts[i].quantity, quantity) == 0)
            return &ladder->parts[i];
    return NULL;
}

TEST(a_ladder_with_parts)
{
    struct db *db = recording("gpu");
    struct instant instant;
    struct ladder_facts facts;
    struct ladder ladder;
    REQUIRE(instant_find(db, 1, 1, "peak", &instant) == 0);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(ladder.part_count, 4);
    CHECK_STR(ladder.parts[0].what, "NCCL, 2 pieces");
    CHECK_INT(part_of(&ladder, "context, other processes")->bytes, MIB(500));
    CHECK_INT(ladder.rungs[LADDER_DEVICE].gap, LADDER_NONE);
    CHECK_INT(ladder.unattributed, MIB(7));
    ladder.parts[1].bytes++;
    CHECK(!ladder_is_valid(&ladder));
    db_close(db);
}

TEST(with_the_process_asked_apart)
{
    struct db *db = recording("gpu");
    struct instant instant;
    struct ladder_facts facts;
    struct ladder ladder;
    REQUIRE(db_exec(db, "INSERT INTO sample VALUES(3000000, 1, 1, 'process used', 440401920),"
                        "(15000000, 1, 1, 'process used', 549453824)") == 0); /* 420, 524 MiB */
    REQUIRE(instant_find(db, 1, 1, "peak", &instant) == 0);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(part_of(&ladder, "context")->bytes, MIB(400));
    CHECK_INT(part_of(&ladder, "other processes")->bytes, MIB(98));
    CHECK(part_of(&ladder, "context, other processes") == NULL);
    CHECK_INT(ladder.unattributed, MIB(524 - 42 - 73 - 400));
    db_close(db);
}

/* ---- any numbers ---- */

static int64_t any(uint64_t *seed, int64_t below)
{
    return (int64_t)(test_random(seed) % (uint64_t)below);
}

static void fill(struct outside *outside, uint64_t *seed)
{
    *outside = (struct outside){.told = any(seed, 4) != 0,
                                .process = {LADDER_NONE, LADDER_NONE},
                                .device = {LADDER_NONE, LADDER_NONE}};
    if (!outside->told)
        return;
    if (any(seed, 2))
        outside->process = (struct outside_base){any(seed, 90000) - 1000, 1};
    if (any(seed, 3))
        outside->device = (struct outside_base){any(seed, 90000) - 1000, 1};
    outside->count = (size_t)any(seed, OUTSIDE_PARTS + 1);
    for (size_t i = 0; i < outside->count; i++) {
        outside->parts[i] = (struct outside_part){
            .bytes = 50000 - (int64_t)i * 1000 - any(seed, 900), .pieces = any(seed, 3)};
        snprintf(outside->parts[i].name, LIBRARY_TEXT, "lib%zu.so", i);
    }
    CHECK(outside_is_valid(outside));
}

TEST(whatever_is_known_adds_up)
{
    uint64_t seed = 5;
    int told = 0, measured = 0;
    for (int round = 0; round < 4000; round++) {
        struct ladder_facts facts = {.living = any(&seed, 4) ? any(&seed, 100000) : LADDER_NONE,
                                     .sampled_ns = LADDER_NONE};
        struct ladder ladder;
        int64_t lowest = LADDER_NONE, highest = 0, sum = 0;
        for (size_t i = 0; i < LADDER_STEPS; i++) {
            facts.bytes[i] = any(&seed, 3) ? any(&seed, 100000) : LADDER_NONE;
            if (facts.bytes[i] == LADDER_NONE)
                continue;
            lowest = lowest == LADDER_NONE ? facts.bytes[i] : lowest;
            highest = facts.bytes[i];
        }
        fill(&facts.outside, &seed);
        ladder_make(&facts, &ladder);
        CHECK(ladder_is_valid(&ladder));
        for (size_t i = 0; i < LADDER_STEPS; i++)
            sum += ladder.rungs[i].gap == LADDER_NONE ? 0 : ladder.rungs[i].gap;
        bool top =
            facts.bytes[LADDER_PROCESS] != LADDER_NONE || facts.bytes[LADDER_DEVICE] != LADDER_NONE;
        for (size_t i = 0; i < ladder.part_count; i++)
            sum += top ? ladder.parts[i].bytes : 0;
        CHECK_INT(sum + ladder.unattributed, lowest == LADDER_NONE ? 0 : highest - lowest);
        told += ladder.part_count > 0;
        measured += ladder.part_count > 0 && top;
    }
    CHECK(told > 1000 && measured > 500 && measured < told);
}

/* The memory of a run made up by chance, against a loop over all of it. */
struct piece {
    int library, kind;
    int64_t seq, size, free_seq; /* 0 = it lives */
    bool owned;
};

static int64_t sum_of(const struct piece *pieces, size_t count, int64_t seq, int library)
{
    static const bool counts[] = {true, true, true, false, false, false};
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (pieces[i].library == library && counts[pieces[i].kind] && !pieces[i].owned &&
            pieces[i].seq <= seq && (!pieces[i].free_seq || pieces[i].free_seq > seq))
            sum += pieces[i].size;
    return sum;
}

TEST(as_a_loop_over_all_memory_says)
{
    enum { PIECES = 300, LIBRARIES = 5 };
    static const char *const kinds[] = {"device",  "array",    "physical",
                                        "managed", "imported", "registered"};
    static const char *const names[LIBRARIES] = {"NCCL", "cuBLAS", "cuDNN", "libmine.so",
                                                 "the program"};
    struct piece pieces[PIECES];
    uint64_t seed = 99;
    struct db *db = recording("gpu");
    struct buf sql = {0};
    buf_text(&sql, "DELETE FROM driver_memory; DELETE FROM sample; DELETE FROM string;"
                   "INSERT INTO string VALUES(1, 'libnccl.so.2'), (2, 'libcublas.so'),"
                   "(3, '/x/libcudnn.so.9'), (4, 'libmine.so'), (5, 'a.out');");
    for (int i = 0; i < PIECES; i++) {
        struct piece *piece = &pieces[i];
        *piece = (struct piece){.library = (int)any(&seed, LIBRARIES),
                                .kind = (int)any(&seed, 6),
                                .seq = i + 1,
                                .size = any(&seed, 5000),
                                .owned = any(&seed, 3) == 0};
        piece->free_seq = any(&seed, 3) ? i + 2 + any(&seed, 100) : 0;
        buf_print(&sql,
                  "INSERT INTO driver_memory VALUES(%d,1,1,'%s',%d,%lld,NULL,%d,NULL,%d,%s,%lld,"
                  "NULL,%s,0);",
                  i + 1, kinds[piece->kind], i, (long long)piece->size, piece->library + 1, i,
                  piece->free_seq ? "1" : "NULL", (long long)piece->free_seq,
                  piece->owned ? "1" : "NULL");
    }
    buf_text(&sql, "UPDATE driver_memory SET free_seq = NULL WHERE free_seq = 0;");
    REQUIRE(db_exec(db, buf_string(&sql)) == 0);
    buf_clear(&sql);
    for (int64_t seq = 1; seq < PIECES + 100; seq += 13) {
        struct outside outside;
        size_t found = 0;
        CHECK_INT(outside_read(db, 1, 1, seq, seq, &outside), 0);
        CHECK(outside_is_valid(&outside));
        for (int library = 0; library < LIBRARIES; library++) {
            int64_t wanted = sum_of(pieces, PIECES, seq, library), got = 0;
            for (size_t i = 0; i < outside.count; i++)
                if (strcmp(outside.parts[i].name, names[library]) == 0)
                    got = outside.parts[i].bytes;
            CHECK_INT(got, wanted);
            found += wanted > 0;
        }
        CHECK_INT(outside.count, found);
    }
    db_close(db);
}

TEST(many_libraries_are_the_largest_and_the_rest)
{
    struct db *db = recording("gpu");
    struct buf sql = {0};
    struct outside outside;
    buf_text(&sql, "DELETE FROM driver_memory; DELETE FROM sample; DELETE FROM string;");
    for (int i = 1; i <= 30; i++)
        buf_print(&sql,
                  "INSERT INTO string VALUES(%d, 'lib%d.so');"
                  "INSERT INTO driver_memory VALUES(%d,1,1,'device',%d,%d,NULL,%d,NULL,0,NULL,NULL,"
                  "NULL,NULL,0);",
                  i, i, i, i, i * 100, i);
    REQUIRE(db_exec(db, buf_string(&sql)) == 0);
    buf_clear(&sql);
    CHECK_INT(outside_read(db, 1, 1, 100, 100, &outside), 0);
    CHECK(outside_is_valid(&outside));
    CHECK_INT(outside.count, OUTSIDE_PARTS);
    CHECK_STR(outside.parts[0].name, "lib30.so");
    CHECK_STR(outside.parts[OUTSIDE_PARTS - 1].name, "other libraries");
    CHECK_INT(outside.parts[OUTSIDE_PARTS - 1].pieces, 19);
    CHECK_INT(outside.parts[OUTSIDE_PARTS - 1].bytes, 100 * 19 * 20 / 2);
    db_close(db);
}

/* ---- what ran ---- */

TEST(what_ran_at_an_instant)
{
    struct db *db = recording("gpu");
    struct running running;
    CHECK_INT(running_read(db, 1, 1, 15000000, &running), 0);
    CHECK(running_is_valid(&running) && running.told);
    CHECK_INT(running.count, 2);
    CHECK_STR(running.items[0].kind, "kernel");
    CHECK_INT(running.items[0].stream, 7);
    CHECK_INT(running.items[0].begin_ns, 14500000);
    CHECK_INT(running.items[0].bytes, GROUP_NONE);
    CHECK(running.items[1].name == NULL);
    CHECK_INT(running.items[1].bytes, MIB(8));
    running.at_ns = 16000000;
    CHECK(!running_is_valid(&running));
    running_clear(&running);
    CHECK_INT(running_read(db, 1, 1, 16000000, &running), 0); /* it ended then */
    CHECK(running.told && running.count == 0);
    running_clear(&running);
    CHECK_INT(running_read(db, 2, 1, 15000000, &running), 0);
    CHECK(!running.told && running_is_valid(&running));
    running_clear(&running);
    db_close(db);
}

TEST_MAIN(TEST_CASE(a_pool_that_grew_behind_its_sample), TEST_CASE(without_samples_of_a_pool),
          TEST_CASE(an_allocators_own_pool), TEST_CASE(nobody_asked_the_device),
          TEST_CASE(libraries_are_called_as_people_call_them), TEST_CASE(parts_at_the_peak),
          TEST_CASE(parts_come_and_go), TEST_CASE(pools_that_blocks_lie_in_are_the_allocators),
          TEST_CASE(another_processs_sample_is_not_ours), TEST_CASE(a_sample_that_is_old),
          TEST_CASE(a_ladder_with_parts), TEST_CASE(with_the_process_asked_apart),
          TEST_CASE(whatever_is_known_adds_up), TEST_CASE(as_a_loop_over_all_memory_says),
          TEST_CASE(many_libraries_are_the_largest_and_the_rest), TEST_CASE(what_ran_at_an_instant))
