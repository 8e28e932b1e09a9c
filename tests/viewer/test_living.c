/*
 * What lives at a moment, beside a plain question to the table of allocations: random blocks of two
 * processes and two devices, with and without keyframes before the moment.
 */
#include <stdio.h>

#include "living.h"
#include "buf.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "test.h"

enum { BLOCKS = 400, LAST = 1200 };

static uint64_t seed;

static int below(int bound)
{
    return (int)(test_random(&seed) % (uint64_t)bound);
}

/* Heaps 1 and 2 are of process 1 on device 1, 3 of process 1 on device 2, 4 of process 2. */
static struct db *random_blocks(uint64_t number, const char *keyframes)
{
    struct buf sql = {0};
    struct db *db;
    seed = number;
    buf_text(&sql, "BEGIN;"
                   "INSERT INTO process(id, pid, origin, start_ns) VALUES(1,1,'root',0),"
                   "(2,2,'fork',0);"
                   "INSERT INTO device VALUES(1,'cuda',0,NULL,NULL),(2,'cuda',1,NULL,NULL);"
                   "INSERT INTO heap VALUES(1,1,1,0,0,NULL),(2,1,1,7,0,NULL),(3,1,2,0,0,NULL),"
                   "(4,2,1,0,0,NULL);"
                   "INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq,"
                   " begin_ns, scope) VALUES(1,1,0,'forward','forward',0,1,600,0,'process'),"
                   "(2,1,0,'backward','backward',0,601,1400,0,'process');"
                   "INSERT INTO stretch VALUES(1,1,1),(1,601,2);");
    for (int i = 0; i < BLOCKS; i++) {
        int seq = 1 + below(LAST);
        buf_print(&sql,
                  "INSERT OR IGNORE INTO "
                  "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
                  "segment) VALUES(%d,%d,%d,%d,NULL,%d,0,%d,%s,NULL,NULL);",
                  seq, 1 + seq % 4, 4096 * i, 1 + below(5000), seq * 10,
                  below(5) ? seq + 1 + below(300) : (int)DB_LIVING_SEQ, below(3) ? "NULL" : "5");
    }
    buf_text(&sql, keyframes);
    buf_text(&sql, "COMMIT;");
    remove(test_path("random"));
    REQUIRE(db_create(&db, test_path("random")) == 0);
    REQUIRE(db_exec(db, buf_string(&sql)) == 0);
    buf_clear(&sql);
    return db;
}

/* Sums that two different sets of rows have in common by chance only. */
struct sums {
    int64_t blocks, seqs, squares, sizes, addresses, living, sites, born;
};

static bool add(void *self, const struct living_block *block)
{
    struct sums *sums = self;
    sums->blocks++;
    sums->seqs += block->seq;
    sums->squares += block->seq * block->seq;
    sums->sizes += block->size;
    sums->addresses += block->address;
    sums->living += block->free_seq == LIVING_NONE;
    sums->sites += block->site != LIVING_NONE;
    sums->born += block->phase == LIVING_NONE ? 0 : block->phase;
    CHECK_INT(block->requested, LIVING_NONE);
    CHECK_INT(block->alloc_ns, block->seq * 10);
    CHECK(block->purpose < PURPOSES && block->rule);
    return true;
}

static const char plain_sql[] =
    "SELECT count(*), coalesce(sum(a.seq), 0), coalesce(sum(a.seq * a.seq), 0),"
    " coalesce(sum(a.size), 0), coalesce(sum(a.address), 0), coalesce(sum(a.free_seq < 0), 0),"
    " count(a.site), coalesce(sum(v.phase_id), 0)"
    " FROM allocation a JOIN allocations v ON v.allocation = a.seq JOIN heap h ON h.id = a.heap"
    " WHERE h.process = ?1 AND h.device = ?2 AND a.seq <= ?3"
    "   AND (a.free_seq < 0 OR a.free_seq > ?3)";

static int (*reads)(struct db *db, int64_t process, int64_t device, int64_t seq,
                    bool (*see)(void *self, const struct living_block *block),
                    void *self) = living_read;

static void compare(struct db *db, int64_t process, int64_t device, int64_t seq)
{
    struct sums sums = {0};
    struct db_stmt *row;
    CHECK_INT(reads(db, process, device, seq, add, &sums), 0);
    REQUIRE(db_prepare(db, &row, plain_sql) == 0);
    db_bind_int(row, 0, process);
    db_bind_int(row, 1, device);
    db_bind_int(row, 2, seq);
    REQUIRE(db_step(row) == DB_ROW);
    const int64_t got[] = {sums.blocks,    sums.seqs,   sums.squares, sums.sizes,
                           sums.addresses, sums.living, sums.sites,   sums.born};
    for (int i = 0; i < 8; i++)
        CHECK_INT(got[i], db_column_int(row, i));
    db_finalize(row);
}

static void compare_moments(struct db *db)
{
    static const int64_t moments[] = {0, 1, 299, 300, 301, 699, 700, 701, 1200, 2000};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        compare(db, 1, 1, moments[i]);
        compare(db, 1, 2, moments[i]);
        compare(db, 2, 1, moments[i]);
    }
    for (int i = 0; i < 20; i++)
        compare(db, 1, 1, below(LAST + 100));
    compare(db, 9, 1, 600); /* nobody */
}

TEST(without_keyframes)
{
    for (uint64_t number = 1; number <= 5; number++) {
        struct db *db = random_blocks(number, "");
        compare_moments(db);
        db_close(db);
    }
}

TEST(from_keyframes)
{
    for (uint64_t number = 1; number <= 10; number++) {
        struct db *db = random_blocks(
            number, "WITH k(seq) AS (VALUES(300),(700)) INSERT INTO keyframe"
                    " SELECT k.seq, a.seq FROM k JOIN allocation a"
                    "  ON a.seq <= k.seq AND (a.free_seq < 0 OR a.free_seq > k.seq);");
        compare_moments(db);
        db_close(db);
    }
}

/* What lives at both moments is the same whichever of the two it is taken from. */
static void compare_unlike(struct db *db, int64_t one, int64_t other)
{
    struct sums first = {0}, second = {0}, only_first = {0}, only_second = {0};
    CHECK_INT(living_read(db, 1, 1, one, add, &first), 0);
    CHECK_INT(living_read(db, 1, 1, other, add, &second), 0);
    CHECK_INT(living_read_unlike(db, 1, 1, one, other, add, &only_first), 0);
    CHECK_INT(living_read_unlike(db, 1, 1, other, one, add, &only_second), 0);
    CHECK_INT((one < other ? only_first : only_second).living, 0);
    CHECK_INT(first.blocks - only_first.blocks, second.blocks - only_second.blocks);
    CHECK_INT(first.seqs - only_first.seqs, second.seqs - only_second.seqs);
    CHECK_INT(first.squares - only_first.squares, second.squares - only_second.squares);
    CHECK_INT(first.sizes - only_first.sizes, second.sizes - only_second.sizes);
    CHECK_INT(first.born - only_first.born, second.born - only_second.born);
    CHECK(one != other || (!only_first.blocks && !only_second.blocks));
}

TEST(what_lives_at_one_of_two)
{
    static const char keyframes[] =
        "WITH k(seq) AS (VALUES(300),(700)) INSERT INTO keyframe"
        " SELECT k.seq, a.seq FROM k JOIN allocation a"
        "  ON a.seq <= k.seq AND (a.free_seq < 0 OR a.free_seq > k.seq);";
    for (uint64_t number = 1; number <= 8; number++) {
        struct db *db = random_blocks(number, number % 2 ? keyframes : "");
        for (int i = 0; i < 20; i++) {
            int one = below(LAST);
            compare_unlike(db, one, below(LAST));
            compare_unlike(db, one, one);
        }
        compare_unlike(db, 300, 700);
        compare_unlike(db, LAST + 300, 0);
        db_close(db);
    }
}

/* The keyframe is believed, whatever else the rows say: an ended process is not in it. */
TEST(a_keyframe_counts)
{
    struct db *db = random_blocks(1, "INSERT INTO keyframe SELECT 600, seq FROM allocation"
                                     " WHERE seq <= 600 AND heap = 1 AND free_seq < 0;");
    struct sums sums = {0};
    CHECK_INT(living_read(db, 1, 2, 600, add, &sums), 0);
    CHECK_INT(sums.blocks, 0);
    CHECK_INT(living_read(db, 1, 1, 600, add, &sums), 0);
    CHECK(sums.blocks > 0 && sums.blocks == sums.living);
    db_close(db);
}

static bool refuse(void *self, const struct living_block *block)
{
    (void)block;
    *(int *)self += 1;
    return false;
}

TEST(who_has_no_memory_ends_it)
{
    int calls = 0;
    struct db *db = random_blocks(2, "");
    CHECK_INT(living_read(db, 1, 1, 600, refuse, &calls), ERR_NOMEM);
    CHECK_INT(calls, 1);
    for (long n = 1; n < 5; n++) {
        struct sums sums = {0};
        mem_fail_after(n);
        int err = living_read(db, 1, 1, 600, add, &sums);
        mem_fail_after(0);
        CHECK(err == 0 || err == ERR_NOMEM);
    }
    db_close(db);
}

/* Within a transaction rows are kept: the same again, in any order and where memory ends. */
TEST(what_is_kept_is_what_is_there)
{
    struct db *reader = NULL;
    struct db *db = random_blocks(3, "INSERT INTO keyframe SELECT 300, seq FROM allocation"
                                     " WHERE seq <= 300 AND (free_seq < 0 OR free_seq > 300);");
    reads = living_read_kept;
    REQUIRE(db_open(&reader, test_path("random")) == 0);
    REQUIRE(db_exec(reader, "BEGIN") == 0);
    for (int i = 0; i < 200; i++)
        compare(reader, 1 + below(2), 1 + below(2), 300 * (1 + below(3)));
    for (long n = 1; n < 40; n++) {
        struct sums sums = {0};
        mem_fail_after(n);
        living_read_kept(reader, 1, 1, 100 * n, add, &sums);
        mem_fail_after(0);
        compare(reader, 1, 1, 100 * n);
        compare(reader, 1, 1, 100 * n);
    }
    reads = living_read;
    compare(reader, 1, 1, 600);
    CHECK_INT(db_exec(reader, "COMMIT"), 0);
    compare(reader, 1, 1, 600);
    db_close(reader);
    db_close(db);
}

TEST_MAIN(TEST_CASE(what_is_kept_is_what_is_there), TEST_CASE(without_keyframes),
          TEST_CASE(from_keyframes), TEST_CASE(what_lives_at_one_of_two),
          TEST_CASE(a_keyframe_counts), TEST_CASE(who_has_no_memory_ends_it))
