/*
 * What lived at many moments, beside what living.h reads of each: random blocks of two processes
 * and two devices, as a whole and with limits so low that moments and classes are given up.
 */
#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "db.h"
#include "living.h"
#include "mem.h"
#include "moments.h"
#include "recording.h"
#include "test.h"

enum { BLOCKS = 600, LAST = 1400, SITES = 9 };

static uint64_t seed;

static int below(int bound)
{
    return (int)(test_random(&seed) % (uint64_t)bound);
}

static struct db *random_blocks(uint64_t number)
{
    struct buf sql = {0};
    struct db *db;
    seed = number;
    buf_text(&sql, "BEGIN;"
                   "INSERT INTO process(id, pid, origin, start_ns, first_seq, last_seq)"
                   " VALUES(1,1,'root',0,1,2400),(2,2,'fork',0,1,2400);"
                   "INSERT INTO device VALUES(1,'cuda',0,NULL,NULL),(2,'cuda',1,NULL,NULL);"
                   "INSERT INTO heap VALUES(1,1,1,0,0,NULL),(2,1,1,7,0,NULL),(3,1,2,0,0,NULL),"
                   "(4,2,1,0,0,NULL);"
                   "INSERT INTO module VALUES(1,'','Net'),(2,'a','Linear'),(3,'b','Linear');"
                   "INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq,"
                   " begin_ns, end_ns, scope) VALUES"
                   "(1,1,0,'forward','forward',0,1,600,0,6000,'process'),"
                   "(2,1,0,'backward','backward',0,601,1400,6010,14000,'process');"
                   "INSERT INTO phase_device(phase,device,begin_allocated,allocated,max_allocated,"
                   " peak_allocated,peak_seq,peak_ns,allocs,frees,alloc_bytes)"
                   " VALUES(1,1,0,0,0,500,333,3330,0,0,0),(2,1,0,0,0,900,777,7770,0,0,0);"
                   "INSERT INTO stretch VALUES(1,1,1),(1,601,2);");
    for (int i = 0; i < BLOCKS; i++) {
        int seq = 1 + below(LAST), life = 1 + below(below(4) ? 30 : 900);
        bool lives = below(6) == 0;
        buf_print(&sql,
                  "INSERT OR IGNORE INTO "
                  "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                  "module) VALUES(%d,%d,%d,%d,NULL,%d,%lld,%lld,%d,%d);",
                  seq, 1 + seq % 4, 4096 * i, below(5000), seq * 10,
                  lives ? (long long)-70368744177664 : life * 10LL,
                  lives ? (long long)DB_LIVING_SEQ : seq + life, 1 + below(SITES), 1 + below(3));
    }
    buf_text(&sql, "COMMIT;");
    remove(test_path("random"));
    REQUIRE(db_create(&db, test_path("random")) == 0);
    REQUIRE(db_exec(db, buf_string(&sql)) == 0);
    buf_clear(&sql);
    return db;
}

/* ---- beside living.h ---- */

struct held {
    int64_t bytes, blocks;
    int64_t purposes[PURPOSES], sites[SITES + 1], modules[4];
    int64_t largest[MOMENTS_TOP]; /* sizes, largest first */
};

static void keep_largest(struct held *held, int64_t size)
{
    for (unsigned i = 0; i < MOMENTS_TOP; i++) {
        if (held->largest[i] >= size)
            continue;
        int64_t moved = held->largest[i];
        held->largest[i] = size;
        size = moved;
    }
}

struct asking {
    struct held held;
    struct module_tree *tree;
};

static bool see(void *self, const struct living_block *block)
{
    struct asking *asking = self;
    asking->held.bytes += block->size;
    asking->held.blocks++;
    asking->held.purposes[block->purpose] += block->size;
    asking->held.sites[block->site] += block->size;
    asking->held.modules[module_tree_node(asking->tree, block->module, block->tag, block->site)] +=
        block->size;
    keep_largest(&asking->held, block->size);
    return true;
}

static struct held living(struct db *db, int64_t process, int64_t device, int64_t seq)
{
    struct modules modules;
    struct asking asking = {0};
    REQUIRE(module_tree_load(db, &modules, &asking.tree) == 0);
    REQUIRE(living_read(db, process, device, seq, see, &asking) == 0);
    module_tree_free(asking.tree);
    modules_clear(&modules);
    return asking.held;
}

static void add(struct held *held, const struct moments_class *class, int64_t bytes, int64_t blocks)
{
    held->bytes += bytes;
    held->blocks += blocks;
    held->purposes[class->purpose] += bytes;
    if (class->site != MOMENTS_NONE)
        held->sites[class->site] += bytes;
    held->modules[class->module] += bytes;
}

static struct held drawn(const struct moments *moments, size_t at)
{
    struct held held = {0};
    int64_t seq = moments->moments[at].seq;
    for (size_t i = 0; i < moments->change_count && moments->changes[i].moment <= at; i++)
        add(&held, &moments->classes[moments->changes[i].class], moments->changes[i].bytes,
            moments->changes[i].blocks);
    for (size_t i = 0; i < moments->block_count; i++) {
        const struct moments_block *block = &moments->blocks[i];
        if (block->seq > seq || (block->free_seq != MOMENTS_NONE && block->free_seq <= seq))
            continue;
        keep_largest(&held, block->size);
        if (moments->exact)
            add(&held, &moments->classes[block->class], block->size, 1);
    }
    return held;
}

static void compare(struct db *db, int64_t process, int64_t device,
                    const struct moments_limits *limits, bool exact)
{
    struct moments moments;
    REQUIRE(moments_read(db, process, device, limits, &moments) == 0);
    CHECK(moments_is_valid(&moments));
    CHECK_INT(moments.exact, exact);
    CHECK(exact || moments.change_count <= limits->changes || moments.count <= 4);
    for (size_t i = 0; i < moments.count; i++) {
        struct held is = living(db, process, device, moments.moments[i].seq);
        struct held got = drawn(&moments, i);
        CHECK_INT(got.bytes, is.bytes);
        CHECK_INT(got.blocks, is.blocks);
        CHECK_INT(moments.moments[i].bytes, is.bytes);
        CHECK_INT(moments.moments[i].blocks, is.blocks);
        for (int k = 0; k < PURPOSES; k++)
            CHECK_INT(got.purposes[k], is.purposes[k]);
        for (int k = 1; k <= SITES && !moments.folded; k++)
            CHECK_INT(got.sites[k], is.sites[k]);
        for (int k = 0; k < 4 && !moments.folded; k++)
            CHECK_INT(got.modules[k], is.modules[k]);
        for (unsigned k = 0; k < limits->top; k++)
            CHECK_INT(got.largest[k], is.largest[k]);
    }
    moments_clear(&moments);
}

TEST(every_birth_and_free_of_a_small_recording)
{
    const struct moments_limits limits = {1000, 100, 10000, 1000, 5};
    for (uint64_t number = 1; number <= 4; number++) {
        struct db *db = random_blocks(number);
        compare(db, 1, 1, &limits, true);
        compare(db, 1, 2, &limits, true);
        compare(db, 2, 1, &limits, true);
        compare(db, 9, 1, &limits, true); /* nobody */
        db_close(db);
    }
}

TEST(chosen_moments_of_a_larger_one)
{
    const struct moments_limits limits = {10, 60, 10000, 1000, 7};
    for (uint64_t number = 1; number <= 6; number++) {
        struct db *db = random_blocks(number);
        compare(db, 1, 1, &limits, false);
        compare(db, 1, 2, &limits, false);
        db_close(db);
    }
}

TEST(too_many_changes_give_up_moments)
{
    const struct moments_limits limits = {10, 200, 150, 1000, 3};
    struct db *db = random_blocks(3);
    compare(db, 1, 1, &limits, false);
    db_close(db);
}

TEST(too_many_classes_give_up_call_sites)
{
    const struct moments_limits limits = {10, 60, 10000, 8, 3};
    struct moments moments;
    struct db *db = random_blocks(3);
    compare(db, 1, 1, &limits, false);
    REQUIRE(moments_read(db, 1, 1, &limits, &moments) == 0);
    CHECK(moments.folded > 0);
    moments_clear(&moments);
    db_close(db);
}

/* The highest points and the ends of phases are moments, and the highest of all stays. */
TEST(moments_of_phases_are_there)
{
    static const int64_t wanted[] = {333, 600, 777, 1400};
    const struct moments_limits limits = {10, 60, 10000, 1000, 3}, low = {10, 200, 20, 1000, 3};
    struct moments moments;
    struct db *db = random_blocks(1);
    REQUIRE(moments_read(db, 1, 1, &limits, &moments) == 0);
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        bool found = false;
        for (size_t i = 0; i < moments.count; i++)
            found = found || moments.moments[i].seq == wanted[k];
        CHECK(found);
    }
    moments_clear(&moments);
    REQUIRE(moments_read(db, 1, 1, &low, &moments) == 0);
    bool found = false;
    for (size_t i = 0; i < moments.count; i++)
        found = found || moments.moments[i].seq == 777;
    CHECK(found);
    CHECK(moments.count < 60);
    moments_clear(&moments);
    db_close(db);
}

TEST(no_memory_at_any_point)
{
    const struct moments_limits limits[] = {{1000, 100, 10000, 1000, 5}, {10, 30, 100, 8, 3}};
    struct db *db = random_blocks(2);
    for (size_t k = 0; k < 2; k++) {
        int err = 1;
        for (long n = 1; err != 0 && n < 100000; n += 1 + n / 8) {
            struct moments moments;
            mem_fail_after(n);
            err = moments_read(db, 1, 1, &limits[k], &moments);
            mem_fail_after(0);
            moments_clear(&moments);
        }
        CHECK_INT(err, 0);
    }
    db_close(db);
}

TEST_MAIN(TEST_CASE(every_birth_and_free_of_a_small_recording),
          TEST_CASE(chosen_moments_of_a_larger_one), TEST_CASE(too_many_changes_give_up_moments),
          TEST_CASE(too_many_classes_give_up_call_sites), TEST_CASE(moments_of_phases_are_there),
          TEST_CASE(no_memory_at_any_point))
