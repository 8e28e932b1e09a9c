#include "test.h"

#include <stdio.h>
#include <string.h>

#include "ladder.h"
#include "peak.h"
#include "db.h"
#include "error.h"
#include "frag_model.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

static struct ladder_facts facts_of(const int64_t bytes[LADDER_STEPS], int64_t living)
{
    struct ladder_facts facts = {.living = living, .sampled_ns = LADDER_NONE};
    memcpy(facts.bytes, bytes, sizeof facts.bytes);
    return facts;
}

TEST(every_rung_is_known)
{
    const int64_t bytes[] = {90, 100, 110, 150, 190, 250};
    static const char *const gaps[] = {"",
                                       "rounding",
                                       "awaiting free",
                                       "cached and fragmented",
                                       "outside the allocator",
                                       "other processes"};
    const int64_t wanted[] = {LADDER_NONE, 10, 10, 40, 40, 60};
    struct ladder_facts facts = facts_of(bytes, 100);
    struct ladder ladder;
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(ladder.known, LADDER_STEPS);
    for (size_t i = 0; i < LADDER_STEPS; i++) {
        CHECK_INT(ladder.rungs[i].bytes, bytes[i]);
        CHECK_INT(ladder.rungs[i].gap, wanted[i]);
        CHECK_STR(ladder.rungs[i].what, gaps[i]);
        CHECK(ladder_step_text((enum ladder_step)i)[0] != '\0');
    }
    CHECK_INT(ladder.unattributed, 0);
}

TEST(a_gap_over_unknown_rungs_has_all_names)
{
    const int64_t some[] = {90, 100, LADDER_NONE, 150, LADDER_NONE, 250};
    const int64_t ends[] = {90, LADDER_NONE, LADDER_NONE, LADDER_NONE, LADDER_NONE, 250};
    const int64_t one[] = {LADDER_NONE, 100, LADDER_NONE, LADDER_NONE, LADDER_NONE, LADDER_NONE};
    struct ladder_facts facts = facts_of(some, 100);
    struct ladder ladder;
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_STR(ladder.rungs[LADDER_RESERVED].what, "awaiting free, cached and fragmented");
    CHECK_INT(ladder.rungs[LADDER_RESERVED].gap, 50);
    CHECK_STR(ladder.rungs[LADDER_DEVICE].what, "outside the allocator, other processes");
    facts = facts_of(ends, 100);
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(ladder.rungs[LADDER_DEVICE].gap, 160);
    CHECK_STR(ladder.rungs[LADDER_DEVICE].what,
              "rounding, awaiting free, cached and fragmented, outside the allocator, "
              "other processes");
    CHECK_INT(ladder.unattributed, 0); /* rounding is not on its own */
    facts = facts_of(one, 60);
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(ladder.known, 1);
    CHECK_INT(ladder.rungs[LADDER_ALLOCATED].gap, LADDER_NONE);
}

TEST(what_no_block_was_seen_of)
{
    const int64_t bytes[] = {90, 130, LADDER_NONE, 150, LADDER_NONE, LADDER_NONE};
    struct ladder_facts facts = facts_of(bytes, 100);
    struct ladder ladder;
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(ladder.rungs[LADDER_ALLOCATED].gap, 10); /* rounding is that of the blocks */
    CHECK_INT(ladder.unattributed, 30);
    facts.living = 140; /* more than the source counts */
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(ladder.rungs[LADDER_ALLOCATED].gap, 50);
    CHECK_INT(ladder.unattributed, -10);
    ladder.unattributed++;
    CHECK(!ladder_is_valid(&ladder));
}

TEST(whatever_is_known_adds_up)
{
    uint64_t seed = 11;
    for (int round = 0; round < 2000; round++) {
        int64_t bytes[LADDER_STEPS], sum = 0, lowest = LADDER_NONE, highest = 0;
        struct ladder ladder;
        for (size_t i = 0; i < LADDER_STEPS; i++)
            bytes[i] =
                test_random(&seed) % 3 ? (int64_t)(test_random(&seed) % 100000) : LADDER_NONE;
        int64_t living =
            test_random(&seed) % 4 ? (int64_t)(test_random(&seed) % 100000) : LADDER_NONE;
        struct ladder_facts facts = facts_of(bytes, living);
        ladder_make(&facts, &ladder);
        CHECK(ladder_is_valid(&ladder));
        for (size_t i = 0; i < LADDER_STEPS; i++) {
            if (bytes[i] == LADDER_NONE)
                continue;
            lowest = lowest == LADDER_NONE ? bytes[i] : lowest;
            highest = bytes[i];
            sum += ladder.rungs[i].gap == LADDER_NONE ? 0 : ladder.rungs[i].gap;
        }
        CHECK_INT(sum + ladder.unattributed, lowest == LADDER_NONE ? 0 : highest - lowest);
    }
}

/* RSS may be less than allocated, and the group's use less than RSS: gaps that say so. */
TEST(on_the_cpu_the_rungs_are_the_kernels)
{
    const int64_t bytes[] = {LADDER_NONE, 100, LADDER_NONE, LADDER_NONE, 300, 220};
    struct ladder_facts facts = facts_of(bytes, 100);
    struct ladder ladder;
    facts.is_host = true;
    facts.host =
        (struct host){.group_used = 220, .group_limit = 250, .available = 9, .machine = 999};
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_INT(ladder.rungs[LADDER_PROCESS].gap, 200);
    CHECK_STR(ladder.rungs[LADDER_PROCESS].what,
              "the rest of the process: Python, libraries, freed memory kept by malloc");
    CHECK_INT(ladder.rungs[LADDER_DEVICE].gap, -80);
    CHECK_STR(ladder.rungs[LADDER_DEVICE].what,
              "pages of files that are charged to another cgroup");
    CHECK_STR(ladder.limit_text, "cgroup limit");
    CHECK_INT(ladder.limit.gap, 30);
    CHECK_STR(ladder_rung_text(&ladder, LADDER_PROCESS), "RSS");
    CHECK(!ladder_rung_text(&ladder, LADDER_RESERVED));
    facts.host.group_limit = HOST_NONE;
    facts.bytes[LADDER_PROCESS] = 60;
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    CHECK_STR(ladder.rungs[LADDER_PROCESS].what, "allocated, but never touched");
    CHECK_STR(ladder.limit_text, "machine memory");
    CHECK_INT(ladder.limit.gap, 9);
}

TEST(what_refuses_on_the_cpu)
{
    struct host host = {.rss = 10,
                        .address_space = 80,
                        .limit_address_space = 100,
                        .data = 50,
                        .limit_data = HOST_NONE,
                        .group_used = 70,
                        .group_limit = 90,
                        .available = 40,
                        .machine = 100};
    CHECK_INT(host_wall_of(&host, 21), HOST_WALL_ADDRESS_SPACE);
    host.limit_address_space = HOST_NONE;
    CHECK_INT(host_wall_of(&host, 21), HOST_WALL_GROUP);
    CHECK_INT(host_wall_of(&host, 20), HOST_WALL_UNKNOWN);
    host.group_limit = HOST_NONE;
    CHECK_INT(host_wall_of(&host, 41), HOST_WALL_MACHINE);
    host.limit_data = 60;
    CHECK_INT(host_wall_of(&host, 11), HOST_WALL_DATA);
}

/* The nearest reading, and a limit as of that time. */
TEST(what_the_kernel_said_around_a_time)
{
    struct db *db = recording("frag");
    struct host host;
    struct host_kill kill;
    REQUIRE(db_exec(db, "INSERT INTO sample VALUES(100, 1, NULL, 'RSS', 7),"
                        "(100, 1, NULL, 'cgroup limit', 50), (200, 1, NULL, 'RSS', 9),"
                        "(300, 1, NULL, 'cgroup limit', 0), (300, 1, NULL, 'RSS', 8)") == 0);
    CHECK_INT(host_read(db, 1, 190, &host), 0);
    CHECK_INT(host.rss, 9);
    CHECK_INT(host.at_ns, 200);
    CHECK_INT(host.group_limit, 50);
    CHECK_INT(host.limit_data, HOST_NONE);
    CHECK_INT(host_read(db, 1, 999, &host), 0);
    CHECK_INT(host.group_limit, HOST_NONE);
    CHECK_INT(host_kill_read(db, 1, &kill), 0);
    CHECK(!kill.killed);
    REQUIRE(db_exec(db, "INSERT INTO sample VALUES(310, 1, NULL, 'killed for memory', 1)") == 0);
    CHECK_INT(host_kill_read(db, 1, &kill), 0);
    CHECK(kill.killed && kill.host.rss == 8);
    db_close(db);
}

TEST(of_a_recording)
{
    struct db *db = recording("frag");
    struct instant instant;
    struct ladder_facts facts;
    REQUIRE(instant_find(db, 1, 1, "1/backward", &instant) == 0);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.living, MIB(29) + 512 + 256 * 1024);
    CHECK_INT(facts.bytes[LADDER_ALLOCATED], facts.living);
    CHECK_INT(facts.bytes[LADDER_REQUESTED], facts.living - 512 - 508 - 100 - 300 - 100);
    CHECK_INT(facts.bytes[LADDER_ACTIVE], facts.living + MIB(4));
    CHECK_INT(facts.bytes[LADDER_RESERVED], MIB(176));
    CHECK_INT(facts.bytes[LADDER_PROCESS], 230000000);
    CHECK_INT(facts.bytes[LADDER_DEVICE], 250000000);
    CHECK_INT(facts.sampled_ns, 24000000);
    REQUIRE(instant_find(db, 1, 1, "0", &instant) == 0);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.bytes[LADDER_DEVICE], 150000000); /* not the one that came later */
    db_close(db);
}

TEST(what_a_source_does_not_tell)
{
    struct db *db = recording("frag");
    struct instant instant;
    struct ladder_facts facts;
    REQUIRE(instant_find(db, 1, 2, "peak", &instant) == 0);
    CHECK_INT(ladder_read(db, 1, 2, &instant, &facts), 0);
    CHECK_INT(facts.bytes[LADDER_ALLOCATED], 4096);
    CHECK_INT(facts.bytes[LADDER_ACTIVE], LADDER_NONE);
    CHECK_INT(facts.bytes[LADDER_RESERVED], LADDER_NONE);
    CHECK_INT(facts.bytes[LADDER_DEVICE], LADDER_NONE);
    REQUIRE(instant_find(db, 1, 1, "@0.0355s", &instant) == 0); /* no row says what was reserved */
    CHECK_INT(instant.reserved, INSTANT_NONE);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.bytes[LADDER_RESERVED], MIB(196));
    CHECK_INT(facts.bytes[LADDER_REQUESTED], LADDER_NONE); /* one block's is not known */
    REQUIRE(db_exec(db, "DELETE FROM idle") == 0); /* then phases still say that blocks wait */
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.bytes[LADDER_ACTIVE], facts.bytes[LADDER_ALLOCATED]);
    REQUIRE(db_exec(db, "UPDATE phase_device SET active = NULL") == 0);
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.bytes[LADDER_ACTIVE], LADDER_NONE);
    db_close(db);
}

/* What frag says waits is what is active above allocated. */
TEST(as_a_bitmap_says)
{
    static struct model model;
    static struct model_cell cells[MODEL_CELLS];
    for (uint64_t seed = 1; seed <= 6; seed++) {
        model_run(&model, seed * 15485863, 500);
        struct db *db = model_store(&model, "model");
        for (int64_t seq = 90; seq <= model.seq; seq += 101) {
            const struct instant instant = {
                .seq = seq, .allocated = INSTANT_NONE, .reserved = INSTANT_NONE};
            struct ladder_facts facts;
            struct model_sums sums;
            struct ladder ladder;
            model_fill(&model, seq, cells);
            model_sum(&model, cells, &sums);
            CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
            ladder_make(&facts, &ladder);
            CHECK(ladder_is_valid(&ladder));
            int64_t live =
                sums.causes[FRAG_REQUESTED] + sums.causes[FRAG_ROUNDING] + sums.causes[FRAG_LIVE];
            CHECK_INT(facts.bytes[LADDER_ALLOCATED], live);
            CHECK_INT(facts.bytes[LADDER_ACTIVE], live + sums.causes[FRAG_WAITING]);
            CHECK_INT(facts.bytes[LADDER_RESERVED], sums.reserved);
            if (sums.causes[FRAG_LIVE] == 0 && sums.blocks)
                CHECK_INT(facts.bytes[LADDER_REQUESTED], sums.causes[FRAG_REQUESTED]);
        }
        db_close(db);
    }
}

TEST_MAIN(TEST_CASE(every_rung_is_known), TEST_CASE(a_gap_over_unknown_rungs_has_all_names),
          TEST_CASE(what_no_block_was_seen_of), TEST_CASE(whatever_is_known_adds_up),
          TEST_CASE(on_the_cpu_the_rungs_are_the_kernels), TEST_CASE(what_refuses_on_the_cpu),
          TEST_CASE(what_the_kernel_said_around_a_time), TEST_CASE(of_a_recording),
          TEST_CASE(what_a_source_does_not_tell), TEST_CASE(as_a_bitmap_says))
