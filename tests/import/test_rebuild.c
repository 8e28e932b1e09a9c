/*
 * The heap of the moment against a slow model, rounding, and the whole way with too little memory.
 * What is rebuilt is compared with what happened in test_round_trip.py.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "db.h"
#include "error.h"
#include "feed.h"
#include "import.h"
#include "mem.h"
#include "pick.h"
#include "rebuild.h"
#include "test.h"

/* ---- rounding ---- */

TEST(requests_are_rounded)
{
    struct alloc_config config;
    alloc_config_default(&config);
    CHECK_INT(rebuild_rounded(&config, 0), 512);
    CHECK_INT(rebuild_rounded(&config, 1), 512);
    CHECK_INT(rebuild_rounded(&config, 512), 512);
    CHECK_INT(rebuild_rounded(&config, 513), 1024);
    CHECK_INT(rebuild_rounded(&config, 1048577), 1049088);
    CHECK_INT(rebuild_rounded(&config, UINT64_C(1) << 40), INT64_C(1) << 40);
    for (size_t i = 0; i < ALLOC_ROUNDUP_SLOTS; i++)
        config.roundup[i] = 4;
    CHECK_INT(rebuild_rounded(&config, 1200), 1536); /* not larger than 4 * 512 */
    CHECK_INT(rebuild_rounded(&config, 4096), 4096);
    CHECK_INT(rebuild_rounded(&config, 4097), 5120);
    CHECK_INT(rebuild_rounded(&config, 5 << 20), 5 << 20);
    CHECK_INT(rebuild_rounded(&config, (5 << 20) + 1), 6 << 20);
    /* Slots: below 2 MiB the first, from 32 GiB the last. */
    memset(config.roundup, 0, sizeof config.roundup);
    config.roundup[15] = 2;
    CHECK_INT(rebuild_rounded(&config, (UINT64_C(32) << 30) - 1), INT64_C(32) << 30);
    CHECK_INT(rebuild_rounded(&config, (UINT64_C(32) << 30) + 1), INT64_C(48) << 30);
    CHECK_INT(rebuild_rounded(&config, (UINT64_C(65) << 30)), INT64_C(96) << 30);
}

/* ---- mapped ranges against one byte for each page ---- */

#define PAGES 64u
#define BASE UINT64_C(0x100000)

static bool all_are(const char *pages, uint64_t from, uint64_t n, char what)
{
    for (uint64_t i = 0; i < n; i++)
        if (pages[from + i] != what)
            return false;
    return true;
}

static void check_pages(const struct rebuild *rebuild, const char *pages)
{
    for (uint64_t i = 0; i < PAGES; i++) {
        const struct rebuild_segment *segment = rebuild_segment_of(rebuild, BASE + i * 512);
        CHECK((segment != NULL) == (pages[i] == 1));
        /* Neighbours are one range. */
        if (segment && i && pages[i - 1])
            CHECK(segment->address <= BASE + (i - 1) * 512);
        if (segment)
            CHECK_INT(segment->place, 7);
    }
    CHECK(rebuild_is_valid(rebuild));
}

TEST(mapped_ranges_are_those_of_a_model)
{
    struct rebuild rebuild = {0};
    char pages[PAGES] = {0};
    uint64_t seed = 3;
    for (int i = 0; i < 5000; i++) {
        uint64_t from = test_random(&seed) % PAGES, n = 1 + test_random(&seed) % 9;
        if (n > PAGES - from)
            n = PAGES - from;
        struct rebuild_segment range = {.address = BASE + from * 512, .size = n * 512, .place = 7};
        if (test_random(&seed) % 2) {
            bool room = all_are(pages, from, n, 0);
            CHECK_INT(rebuild_map(&rebuild, &range), room ? BASE_OK : ERR_EXISTS);
            if (room)
                memset(pages + from, 1, n);
        } else {
            bool there = all_are(pages, from, n, 1);
            CHECK_INT(rebuild_unmap(&rebuild, range.address, range.size),
                      there ? BASE_OK : ERR_NOTFOUND);
            if (there)
                memset(pages + from, 0, n);
        }
        check_pages(&rebuild, pages);
    }
    CHECK(rebuild.segment_count <= PAGES); /* records are used again */
    rebuild_clear(&rebuild);
}

/* Ranges of two streams can touch, where one was reserved right behind the other. */
TEST(ranges_of_two_streams_stay_two)
{
    struct rebuild rebuild = {0};
    struct snapshot snapshot = {.budget = {.limit = 1 << 20}};
    uint32_t one = snapshot_place(&snapshot, 0, 0, 0), other = snapshot_place(&snapshot, 0, 7, 0);
    struct rebuild_segment low = {.address = BASE, .size = 4096, .place = one};
    struct rebuild_segment high = {.address = BASE + 4096, .size = 4096, .place = other};
    struct rebuild_segment more = {.address = BASE + 8192, .size = 4096, .place = other};
    REQUIRE(one && other && one != other);
    rebuild.snapshot = &snapshot;
    CHECK_INT(rebuild_map(&rebuild, &low), BASE_OK);
    CHECK_INT(rebuild_map(&rebuild, &more), BASE_OK);
    CHECK_INT(rebuild_map(&rebuild, &high), BASE_OK);
    CHECK_INT(rebuild_segment_of(&rebuild, BASE)->place, one);
    CHECK_INT(rebuild_segment_of(&rebuild, BASE)->size, 4096);
    CHECK_INT(rebuild_segment_of(&rebuild, BASE + 4096)->place, other);
    CHECK_INT(rebuild_segment_of(&rebuild, BASE + 4096)->size, 8192);
    CHECK_INT(rebuild_unmap(&rebuild, BASE, 8192), ERR_NOTFOUND); /* of two */
    CHECK(rebuild_is_valid(&rebuild));
    rebuild_clear(&rebuild);
    snapshot_clear(&snapshot);
}

TEST(segments_do_not_overlap)
{
    struct rebuild rebuild = {0};
    struct rebuild_segment segment = {.address = 4096, .size = 4096};
    CHECK_INT(rebuild_add_segment(&rebuild, &segment), BASE_OK);
    CHECK_INT(rebuild_add_segment(&rebuild, &segment), ERR_EXISTS);
    segment.address = 8191;
    CHECK_INT(rebuild_add_segment(&rebuild, &segment), ERR_EXISTS);
    segment.address = 1;
    CHECK_INT(rebuild_add_segment(&rebuild, &segment), ERR_EXISTS);
    segment.size = 4095;
    CHECK_INT(rebuild_add_segment(&rebuild, &segment), BASE_OK);
    segment.address = 8192;
    CHECK_INT(rebuild_map(&rebuild, &segment), BASE_OK); /* beside one that cannot grow */
    CHECK_INT(rebuild_segment_of(&rebuild, 8192)->address, 8192);
    CHECK_INT(rebuild_unmap(&rebuild, 4096, 512), ERR_NOTFOUND);
    CHECK_INT(rebuild_drop_segment(&rebuild, 4097), ERR_NOTFOUND);
    CHECK_INT(rebuild_drop_segment(&rebuild, 4096), BASE_OK);
    CHECK(rebuild_segment_of(&rebuild, 4096) == NULL);
    CHECK(rebuild_is_valid(&rebuild));
    rebuild_clear(&rebuild);
}

/* ---- annotations ---- */

static uint64_t number_of(const char *name, enum feed_note_kind kind)
{
    uint64_t number = 0;
    CHECK_INT(feed_note_kind(name, &number), kind);
    return number;
}

TEST(names_of_annotations)
{
    CHECK_INT(number_of("ProfilerStep#0", NOTE_IS_STEP), 0);
    CHECK_INT(number_of("ProfilerStep#1234", NOTE_IS_STEP), 1234);
    number_of("ProfilerStep#", NOTE_IS_PHASE);
    number_of("ProfilerStep#-1", NOTE_IS_PHASE);
    number_of("ProfilerStep#1x", NOTE_IS_PHASE);
    number_of("ProfilerStep#99999999999999999999", NOTE_IS_PHASE);
    number_of("enumerate(DataLoader)#_Iter.__next__", NOTE_IS_PHASE);
    number_of("", NOTE_IS_PHASE);
    uint64_t step = number_of("Optimizer.step#AdamW.step", NOTE_IS_OPTIMIZER);
    CHECK(step == number_of("Optimizer.zero_grad#AdamW.zero_grad", NOTE_IS_ZERO_GRAD));
    CHECK(step != number_of("Optimizer.step#SGD.step", NOTE_IS_OPTIMIZER));
}

/* ---- the whole way ---- */

static int64_t ask(const char *path, const char *sql)
{
    struct db *db = NULL;
    struct db_stmt *stmt = NULL;
    REQUIRE(db_open(&db, path) == 0);
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    REQUIRE(db_step(stmt) == DB_ROW);
    int64_t got = db_column_int(stmt, 0);
    db_finalize(stmt);
    db_close(db);
    return got;
}

TEST(a_recording_comes_out)
{
    struct pick pick = {0};
    struct import_result result;
    struct import_options options = {.output = test_path("a.db"), .source = "a.pickle"};
    pick_snapshot(&pick, 4, 500);
    CHECK_INT(import_bytes(pick.out.data, pick.out.count, &options, &result), BASE_OK);
    CHECK_STR(result.message, "");
    CHECK_INT(result.events, 2 + 3 * 500);
    CHECK_INT(result.blocks, 501);
    CHECK_INT(result.blocks_before, 1);
    CHECK_INT(result.sizes_checked, 1);
    CHECK_INT(result.sizes_differ + result.misplaced + result.frees_lost, 0);
    CHECK_INT(ask(options.output, "SELECT count(*) FROM allocation"), 502);
    CHECK_INT(ask(options.output, "SELECT count(*) FROM anomaly"), 0);
    CHECK_INT(ask(options.output, "SELECT sum(size) FROM allocation WHERE free_seq < 0"), 2048);
    CHECK_INT(ask(options.output, "SELECT value FROM meta WHERE key = 'finished'"), 1);
    CHECK_INT(access(test_path("a.db-wal"), F_OK), -1);
    buf_clear(&pick.out);
}

/* A recorder without memory counts what it cannot store and goes on: so does an import. */
TEST(without_memory)
{
    struct pick pick = {0};
    struct import_result result;
    struct import_options options = {.output = test_path("b.db"), .source = "b.pickle"};
    int err = ERR_NOMEM;
    pick_snapshot(&pick, 4, 3);
    for (long n = 1; n < 100000 && (err != BASE_OK || n < 300); n += n < 400 ? 7 : 41) {
        unlink(options.output);
        mem_fail_after(n);
        err = import_bytes(pick.out.data, pick.out.count, &options, &result);
        mem_fail_after(0);
        CHECK((err == BASE_OK) == (result.message[0] == '\0'));
    }
    CHECK_INT(err, BASE_OK);
    buf_clear(&pick.out);
}

static void write_snapshot(const char *path, size_t events)
{
    struct pick pick = {.file = fopen(path, "wb")};
    REQUIRE(pick.file != NULL);
    pick_snapshot(&pick, 4, events);
    REQUIRE(fwrite(pick.out.data, 1, pick.out.count, pick.file) == pick.out.count);
    REQUIRE(fclose(pick.file) == 0);
    buf_clear(&pick.out);
}

/* In a process of its own, as every case: the file is not in memory, and the records are smaller.
 */
TEST(memory_is_less_than_the_file)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("sanitizers have memory of their own");
#endif
    struct import_result result;
    struct rusage usage;
    struct import_options options = {.output = test_path("c.db"), .source = "c.pickle"};
    write_snapshot(test_path("c.pickle"), 100000);
    REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
    long before = usage.ru_maxrss;
    CHECK_INT(import_file(test_path("c.pickle"), &options, &result), BASE_OK);
    REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
    CHECK(result.bytes_read > 30u << 20);
    CHECK(result.records_bytes < result.bytes_read); /* arrays grow by doubling */
    /* The promise: 300 MB within 256 MiB. */
    CHECK((uint64_t)(usage.ru_maxrss - before) * 1024 < result.bytes_read * 85 / 100 + (16 << 20));
}

TEST(files_that_cannot_be_read)
{
    struct import_result result;
    struct import_options options = {.output = test_path("d.db"), .source = "d.pickle"};
    CHECK_INT(import_file(test_path("nowhere"), &options, &result), ERR_NOTFOUND);
    CHECK_STR(result.message, "No such file or directory");
    CHECK_INT(import_file(test_folder(), &options, &result), ERR_IO);
    CHECK_INT(access(options.output, F_OK), -1);
    write_snapshot(test_path("d.pickle"), 3);
    options.output = test_path("no/such/folder.db");
    CHECK(import_file(test_path("d.pickle"), &options, &result) < 0);
    CHECK(result.wrote);
    CHECK(result.message[0] != '\0');
}

TEST_MAIN(TEST_CASE(requests_are_rounded), TEST_CASE(mapped_ranges_are_those_of_a_model),
          TEST_CASE(ranges_of_two_streams_stay_two), TEST_CASE(segments_do_not_overlap),
          TEST_CASE(names_of_annotations), TEST_CASE(a_recording_comes_out),
          TEST_CASE(without_memory), TEST_CASE(memory_is_less_than_the_file),
          TEST_CASE(files_that_cannot_be_read))
