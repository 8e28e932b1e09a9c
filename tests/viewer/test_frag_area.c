#include "test.h"

#include <string.h>

#include "frag_area.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

static struct area part(uint64_t address, int64_t size, int64_t heap)
{
    return (struct area){.address = address, .size = size, .heap = heap, .mapped = true};
}

static bool map(struct areas *pages, uint64_t address, int64_t size, int64_t heap)
{
    struct area area = part(address, size, heap);
    return areas_map(pages, &area);
}

static bool unmap(struct areas *pages, uint64_t address, int64_t size)
{
    struct area area = part(address, size, 0);
    return areas_unmap(pages, &area);
}

TEST(pages_that_touch_are_one)
{
    struct areas pages = {0};
    CHECK(map(&pages, 100, 10, 1) && map(&pages, 120, 10, 1));
    CHECK_INT(pages.count, 2);
    CHECK(map(&pages, 110, 10, 1));
    CHECK_INT(pages.count, 1);
    CHECK_INT(pages.areas[0].size, 30);
    CHECK(map(&pages, 130, 10, 2)); /* another heap's */
    CHECK_INT(pages.count, 2);
    CHECK(areas_is_valid(&pages));
    areas_clear(&pages);
}

TEST(a_part_that_is_taken_out)
{
    struct areas pages = {0};
    CHECK(map(&pages, 100, 100, 1));
    CHECK(unmap(&pages, 140, 20));
    CHECK_INT(pages.count, 2);
    CHECK_INT(pages.areas[0].size, 40);
    CHECK_INT(pages.areas[1].address, 160);
    CHECK_INT(pages.areas[1].size, 40);
    CHECK(unmap(&pages, 90, 20)); /* begins before it */
    CHECK_INT(pages.areas[0].address, 110);
    CHECK_INT(pages.areas[0].size, 30);
    CHECK(unmap(&pages, 190, 100)); /* ends behind it */
    CHECK_INT(pages.areas[1].size, 30);
    CHECK(unmap(&pages, 0, 1000));
    CHECK_INT(pages.count, 0);
    CHECK(unmap(&pages, 0, 1000)); /* nothing is there */
    areas_clear(&pages);
}

TEST(what_is_mapped_twice)
{
    struct areas pages = {0};
    CHECK(map(&pages, 100, 50, 1) && map(&pages, 120, 50, 1));
    CHECK_INT(pages.count, 1);
    CHECK_INT(pages.areas[0].size, 70);
    CHECK(map(&pages, 130, 10, 2)); /* the last word counts */
    CHECK_INT(pages.count, 3);
    CHECK_INT(pages.areas[1].heap, 2);
    CHECK(areas_is_valid(&pages));
    CHECK(map(&pages, 0, 0, 1)); /* nothing */
    CHECK_INT(pages.count, 3);
    areas_clear(&pages);
}

/* Beside an array with the heap of each byte. */
TEST(as_bytes_say)
{
    enum { BYTES = 200 };
    int bytes[BYTES] = {0};
    uint64_t seed = 5;
    struct areas pages = {0};
    for (int round = 0; round < 3000; round++) {
        int first = (int)(test_random(&seed) % BYTES), heap = (int)(test_random(&seed) % 3);
        int count = (int)(test_random(&seed) % 30) + 1;
        count = first + count > BYTES ? BYTES - first : count;
        if (heap)
            CHECK(map(&pages, (uint64_t)first, count, heap));
        else
            CHECK(unmap(&pages, (uint64_t)first, count));
        for (int i = first; i < first + count; i++)
            bytes[i] = heap;
        REQUIRE(areas_is_valid(&pages));
        size_t at = 0;
        for (int i = 0; i < BYTES; i++) {
            if (bytes[i] == 0 || (i && bytes[i] == bytes[i - 1]))
                continue;
            int end = i;
            while (end < BYTES && bytes[end] == bytes[i])
                end++;
            REQUIRE(at < pages.count);
            CHECK_INT(pages.areas[at].address, i);
            CHECK_INT(pages.areas[at].size, end - i);
            CHECK_INT(pages.areas[at++].heap, bytes[i]);
        }
        CHECK_INT(pages.count, at);
    }
    areas_clear(&pages);
}

TEST(what_was_there_at_an_instant)
{
    struct db *db = recording("frag");
    static const struct {
        int64_t seq, segments, pages, bytes;
    } wanted[] = {
        {0, 0, 0, 0},    {1, 1, 0, 20},   {19, 7, 0, 166}, {20, 7, 1, 186}, {24, 7, 1, 206},
        {28, 7, 1, 196}, {37, 7, 1, 196}, {38, 6, 1, 176}, {99, 6, 1, 176},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct areas areas;
        int64_t pages = 0, bytes = 0;
        CHECK_INT(areas_read(db, 1, 1, wanted[i].seq, &areas), 0);
        CHECK(areas.known && areas_is_valid(&areas));
        for (size_t k = 0; k < areas.count; k++) {
            pages += areas.areas[k].mapped;
            bytes += areas.areas[k].size;
        }
        CHECK_INT((int64_t)areas.count - pages, wanted[i].segments);
        CHECK_INT(pages, wanted[i].pages);
        CHECK_INT(bytes, MIB(wanted[i].bytes));
        areas_clear(&areas);
    }
    db_close(db);
}

TEST(of_another_process_and_device)
{
    struct db *db = recording("frag");
    struct areas areas;
    CHECK_INT(areas_read(db, 1, 2, 99, &areas), 0);
    CHECK(!areas.known && areas.count == 0);
    areas_clear(&areas);
    CHECK_INT(areas_read(db, 2, 1, 99, &areas), 0);
    CHECK(!areas.known && areas.count == 0);
    areas_clear(&areas);
    db_close(db);
}

/* Rows that no recorder writes. */
TEST(odd_rows)
{
    struct db *db = recording("frag");
    struct areas areas;
    REQUIRE(db_exec(db, "DELETE FROM segment; DELETE FROM mapping;"
                        "INSERT INTO segment VALUES(1,1,4096,0,0,NULL,NULL,NULL),"
                        "(2,1,4096,-5,0,NULL,NULL,NULL),(3,1,-10,100,0,NULL,NULL,NULL);"
                        "INSERT INTO mapping VALUES(4,1,8192,-1,0,1),(5,1,-20,50,0,1)") == 0);
    CHECK_INT(areas_read(db, 1, 1, 99, &areas), 0);
    CHECK(areas.known && areas_is_valid(&areas));
    CHECK_INT(areas.count, 2); /* both end with the last address */
    CHECK_INT(areas.areas[0].size, 19);
    CHECK_INT(areas.areas[1].size, 9);
    areas_clear(&areas);
    db_close(db);
}

TEST(no_memory)
{
    struct db *db = recording("frag");
    long n = 1;
    for (;; n++) {
        struct areas areas;
        mem_fail_after(n);
        int err = areas_read(db, 1, 1, 99, &areas);
        mem_fail_after(0);
        areas_clear(&areas);
        if (err == 0)
            break;
        CHECK_INT(err, ERR_NOMEM);
        REQUIRE(n < 100);
    }
    CHECK(n > 2);
    db_close(db);
}

TEST_MAIN(TEST_CASE(pages_that_touch_are_one), TEST_CASE(a_part_that_is_taken_out),
          TEST_CASE(what_is_mapped_twice), TEST_CASE(as_bytes_say),
          TEST_CASE(what_was_there_at_an_instant), TEST_CASE(of_another_process_and_device),
          TEST_CASE(odd_rows), TEST_CASE(no_memory))
