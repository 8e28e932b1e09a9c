/*
 * Damage at every page of a recording, in several ways: no row that was not there, and nothing lost
 * but what stood on the page or below it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "damage.h"
#include "fixture.h"
#include "salvage.h"
#include "test.h"

static const char whole_name[] = "whole.db", hurt_name[] = "hurt.db";

static const char *path_of(char *room, const char *name)
{
    snprintf(room, 512, "%s", test_path(name));
    return room;
}

enum way { ZEROS, NOISE, HALF_NOISE, FOREIGN };

/* The page becomes zeros, noise, half noise, or a copy of the page before it. */
static void hurt(unsigned char *bytes, const struct damage_file *file, uint32_t page, enum way way,
                 uint64_t *seed)
{
    size_t size = file->page_bytes;
    unsigned char *at = bytes + (page - 1) * size;
    if (way == ZEROS)
        memset(at, 0, size);
    else if (way == FOREIGN && page > 1)
        memcpy(at, file->bytes + (page - 2) * size, size);
    else
        for (size_t i = way == NOISE ? 0 : size / 2; i < size; i++)
            at[i] = (unsigned char)test_random(seed);
}

struct run {
    char whole[512], hurt[512];
    struct damage_file file;
    struct damage_bench bench;
    int64_t lost[DAMAGE_TABLES];
};

static struct run begin(uint64_t steps, uint32_t page_bytes)
{
    struct run run = {.file = {0}};
    path_of(run.whole, whole_name);
    path_of(run.hurt, hurt_name);
    damage_make(run.whole, steps, page_bytes);
    run.file = damage_read(run.whole);
    run.bench = damage_bench(run.whole);
    CHECK_INT(run.file.page_bytes, page_bytes ? page_bytes : 4096);
    return run;
}

static void end(struct run *run)
{
    db_close(run->bench.db);
    free(run->file.bytes);
}

/* In the short form one in three, each way its own: each page is hurt in one of them. */
static void every_page(struct run *run, enum way way, uint32_t step)
{
    unsigned char *bytes = malloc(run->file.count);
    uint64_t seed = 7;
    uint32_t first = test_is_long() || way == ZEROS ? 1 : way == FOREIGN ? 2 : 3;
    for (uint32_t page = first; page <= run->file.pages; page += test_is_long() ? step : 3) {
        /* The middle of a long text may be that of another one: nothing in the format tells. */
        if (way == FOREIGN && damage_is_text(&run->bench, page))
            continue;
        memcpy(bytes, run->file.bytes, run->file.count);
        hurt(bytes, &run->file, page, way, &seed);
        damage_write(run->hurt, bytes, run->file.count);
        int64_t lost = damage_salvage(&run->bench, run->hurt, run->lost);
        int64_t most = damage_below(&run->bench, page);
        if (lost > most)
            fprintf(stderr, "page %u of %s: %lld rows lost, %lld stood there\n", page,
                    damage_owner(&run->bench, page), (long long)lost, (long long)most);
        CHECK(lost <= most);
    }
    free(bytes);
}

TEST(whole_file)
{
    struct run run = begin(30, 0);
    CHECK_INT(damage_salvage(&run.bench, run.whole, run.lost), 0);
    for (size_t i = 0; i < run.bench.tables; i++) /* the test speaks of every table */
        CHECK(run.bench.whole[i] > 0 || !fprintf(stderr, "%s is empty\n", run.bench.name[i]));
    end(&run);
}

TEST(pages_of_zeros)
{
    struct run run = begin(30, 0);
    every_page(&run, ZEROS, 1);
    end(&run);
}

TEST(pages_of_noise)
{
    struct run run = begin(30, 0);
    every_page(&run, NOISE, 1);
    if (test_is_long())
        every_page(&run, HALF_NOISE, 3);
    end(&run);
}

TEST(pages_of_something_else)
{
    struct run run = begin(30, 0);
    every_page(&run, FOREIGN, 1);
    end(&run);
}

/* Small pages: trees of three and four levels, and long chains of overflow pages. The roots are not
 * where db_create puts them, so the list of tables is needed. */
TEST(deep_trees)
{
    struct run run = begin(30, 512);
    unsigned char *bytes = malloc(run.file.count);
    uint64_t seed = 3;
    CHECK_INT(damage_salvage(&run.bench, run.whole, run.lost), 0);
    CHECK(damage_int(run.bench.db, "SELECT count(*) FROM whole.allocation") > 400);
    for (uint32_t page = 2; page <= run.file.pages;
         page += (1 + page % 5) * (test_is_long() ? 1 : 2)) {
        const char *owner = damage_owner(&run.bench, page);
        if (strncmp(owner, "sqlite_", 7) == 0)
            continue;
        memcpy(bytes, run.file.bytes, run.file.count);
        hurt(bytes, &run.file, page, page % 2 ? ZEROS : NOISE, &seed);
        damage_write(run.hurt, bytes, run.file.count);
        int64_t lost = damage_salvage(&run.bench, run.hurt, run.lost);
        CHECK(lost <= damage_below(&run.bench, page));
    }
    free(bytes);
    end(&run);
}

/* An inner page of blocks holds no rows: all that was below it is found again. */
TEST(below_an_inner_page)
{
    struct run run = begin(120, 512);
    unsigned char *bytes = malloc(run.file.count);
    uint64_t seed = 5;
    unsigned tried = 0;
    for (uint32_t page = 2; page <= run.file.pages; page++) {
        unsigned kind = run.file.bytes[(page - 1) * run.file.page_bytes];
        if (kind != 5 || strcmp(damage_owner(&run.bench, page), "allocation") != 0)
            continue;
        memcpy(bytes, run.file.bytes, run.file.count);
        hurt(bytes, &run.file, page, ZEROS, &seed);
        damage_write(run.hurt, bytes, run.file.count);
        CHECK_INT(damage_salvage(&run.bench, run.hurt, run.lost), 0);
        tried++;
    }
    CHECK(tried > 1);
    free(bytes);
    end(&run);
}

static int64_t from_page_on(struct run *run, uint32_t page)
{
    int64_t most = 0;
    for (; page <= run->file.pages; page++)
        most += damage_below(&run->bench, page);
    return most;
}

TEST(cut_files)
{
    struct run run = begin(20, 0);
    for (uint32_t page = 1; page <= run.file.pages; page += 2) {
        size_t at = (size_t)(page - 1) * run.file.page_bytes;
        size_t ends[] = {at, at + 1, at + 2000, at + 4095};
        int64_t most = from_page_on(&run, page);
        for (size_t i = test_is_long() ? page % 4 > 1 : page / 2 % 4; i < 4;
             i += test_is_long() ? 2 : 4) {
            damage_write(run.hurt, run.file.bytes, ends[i]);
            CHECK(damage_salvage(&run.bench, run.hurt, run.lost) <= most);
        }
    }
    end(&run);
}

/* The first page is gone: its list of tables, and the header. */
TEST(no_header)
{
    struct run run = begin(30, 0);
    unsigned char *bytes = malloc(run.file.count);
    struct salvage *salvage = NULL;
    memcpy(bytes, run.file.bytes, run.file.count);
    memset(bytes, 0, 4096);
    damage_write(run.hurt, bytes, run.file.count);
    CHECK_INT(damage_salvage(&run.bench, run.hurt, run.lost), 0);
    REQUIRE(salvage_new(&salvage, run.hurt, run.bench.db, false) == 0);
    REQUIRE(salvage_run(salvage) == 0);
    CHECK(!salvage_file(salvage)->header);
    CHECK(!salvage_file(salvage)->list);
    salvage_free(salvage);
    free(bytes);
    end(&run);
}

/* Bytes that were changed one by one, anywhere. Numbers in a row may be wrong then, for the format
 * has no checksums; what is tested is that nothing else happens. */
TEST(single_bytes)
{
    struct run run = begin(6, 512);
    unsigned char *bytes = malloc(run.file.count);
    uint64_t seed = 11;
    for (unsigned round = 0; round < 400; round++) {
        struct salvage *salvage = NULL;
        memcpy(bytes, run.file.bytes, run.file.count);
        for (unsigned i = 0; i < 1 + round % 20; i++)
            bytes[test_random(&seed) % run.file.count] = (unsigned char)test_random(&seed);
        if (round % 4 == 0) /* where structure is */
            bytes[test_random(&seed) % 512] ^= (unsigned char)(1u << round / 4 % 8);
        damage_write(run.hurt, bytes, run.file.count);
        if (salvage_new(&salvage, run.hurt, run.bench.db, false) != 0)
            continue;
        CHECK_INT(salvage_run(salvage), 0);
        CHECK(salvage_is_valid(salvage));
        salvage_free(salvage);
    }
    free(bytes);
    end(&run);
}

/* What a gap says: where it is, and how many rows at most are in it. */
TEST(gaps_say_where)
{
    struct run run = begin(30, 0);
    unsigned char *bytes = malloc(run.file.count);
    struct salvage *salvage = NULL;
    uint32_t page =
        (uint32_t)damage_int(run.bench.db, "SELECT pageno FROM page WHERE name='allocation'"
                                           " AND pagetype='leaf' ORDER BY path LIMIT 1 OFFSET 1");
    memcpy(bytes, run.file.bytes, run.file.count);
    memset(bytes + (size_t)(page - 1) * 4096, 0xff, 4096);
    damage_write(run.hurt, bytes, run.file.count);
    damage_salvage(&run.bench, run.hurt, run.lost);
    int64_t lost = damage_int(run.bench.db, "SELECT count(*) FROM whole.allocation") -
                   damage_int(run.bench.db, "SELECT count(*) FROM main.allocation");
    REQUIRE(salvage_new(&salvage, run.hurt, run.bench.db, false) == 0);
    REQUIRE(salvage_run(salvage) == 0);
    REQUIRE(salvage_hole_count(salvage) == 1);
    const struct salvage_hole *hole = salvage_hole(salvage, 0);
    const struct salvage_table *table = salvage_table(salvage, hole->table);
    CHECK_STR(table->name, "allocation");
    CHECK_INT(hole->page, page);
    CHECK_INT(table->damaged, 1);
    CHECK(table->known && (int64_t)table->missing >= lost && lost > 10);
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM whole.allocation WHERE seq > %lld AND seq <= %lld",
             (long long)hole->after, (long long)hole->last);
    CHECK_INT(damage_int(run.bench.db, sql), lost);
    salvage_free(salvage);
    free(bytes);
    end(&run);
}

TEST_MAIN(TEST_CASE(whole_file), TEST_CASE(pages_of_zeros), TEST_CASE(pages_of_noise),
          TEST_CASE(pages_of_something_else), TEST_CASE(deep_trees), TEST_CASE(below_an_inner_page),
          TEST_CASE(cut_files), TEST_CASE(no_header), TEST_CASE(single_bytes),
          TEST_CASE(gaps_say_where))
