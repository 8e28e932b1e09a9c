/*
 * The writer on good days: every statement arrives, commits happen, one file remains.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "fixture.h"
#include "store.h"
#include "test.h"

static const char *text_of(int64_t number)
{
    static char texts[20][24]; /* of one row */
    static size_t at;
    char *text = texts[at++ % 20];
    snprintf(text, sizeof *texts, "%lld", (long long)number);
    return text;
}

#define OF_INT(n) (n)
#define OF_OPT(n) row_opt(n)
#define OF_TEXT(n) text_of(n)
#define OF_NTEXT(n) text_of(n)
#define OF_ANY(n) ((struct row_any){.number = row_opt(n)})

/* Each column another number, in the order of the columns. */
static void put_numbers(struct batch *batch, enum sch_statement which)
{
    int64_t number = 100 * (int64_t)which;
    switch (which) {
#define COLUMN(type, name) row.name = OF_##type(++number);
#define STATEMENT(NAME, name, sql, columns)                                                        \
    case SCH_##NAME: {                                                                             \
        struct row_##name row;                                                                     \
        columns REQUIRE(batch_put_##name(batch, &row));                                            \
        return;                                                                                    \
    }
#include "statements.def"
#undef STATEMENT
#undef COLUMN
    case SCH_STATEMENT_COUNT:
        break;
    }
    REQUIRE(false);
}

static void check_numbers(struct db *db, enum sch_statement which)
{
    char sql[100];
    struct db_stmt *stmt = NULL;
    snprintf(sql, sizeof sql, "SELECT * FROM %s", strstr(sch_statement_sql(which), " INTO ") + 6);
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    REQUIRE(db_step(stmt) == DB_ROW);
    CHECK_INT(db_columns(stmt), sch_statement_cells(which));
    for (int i = 0; i < db_columns(stmt); i++)
        CHECK_INT(db_column_int(stmt, i), 100 * (int64_t)which + i + 1);
    CHECK_INT(db_step(stmt), DB_DONE);
    db_finalize(stmt);
}

TEST(every_inserting_statement_stores_its_cells_in_order)
{
    const char *path = test_path("run.db");
    struct queue *queue = NULL;
    struct writer *writer = store_start(path, &queue);
    struct writer_stats stats;
    struct batch *batch = batch_new(false);
    bool single = false;
    uint64_t inserting = 0;
    for (int i = 0; i < SCH_STATEMENT_COUNT; i++) {
        if (strncmp(sch_statement_sql((enum sch_statement)i), "INSERT", 6) == 0) {
            put_numbers(batch, (enum sch_statement)i);
            inserting++;
        }
    }
    CHECK(queue_push(queue, batch));
    queue_close(queue);
    CHECK_INT(writer_finish(writer, &single, &stats), 0);
    CHECK(single);
    CHECK_INT(stats.rows_inserted, inserting);
    CHECK_INT(stats.rows_updated, 0);
    CHECK_STR(stats.message, "");
    queue_free(queue);
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    for (int i = 0; i < SCH_STATEMENT_COUNT; i++)
        if (strncmp(sch_statement_sql((enum sch_statement)i), "INSERT", 6) == 0)
            check_numbers(db, (enum sch_statement)i);
    CHECK_INT(db_check(db), 0);
    db_close(db);
}

/* Writes one batch with a sink of its own, in one transaction. */
static void sink(struct db *db, struct batch *batch)
{
    struct writer_sink *sink = NULL;
    REQUIRE(writer_sink_new(&sink, db) == 0);
    REQUIRE(db_begin(db) == 0);
    int err = writer_sink_write(sink, batch);
    if (err < 0)
        fprintf(stderr, "%s\n", db_message(db));
    REQUIRE(err == 0);
    REQUIRE(db_commit(db) == 0);
    writer_sink_free(sink);
    batch_free(batch);
}

TEST(text_null_and_integers)
{
    struct db *db = fixture_empty();
    struct batch *batch = batch_new(false);
    REQUIRE(batch_put_frame(
        batch, &(struct row_frame){.id = 1, .function = row_opt(2), .line = row_opt(4)}));
    REQUIRE(batch_put_string(batch,
                             &(struct row_string){.id = 1, .text = "it's; \"quoted\" \xc3\xa9"}));
    REQUIRE(batch_put_meta(batch, &(struct row_meta){.key = "empty", .value.text = ""}));
    REQUIRE(batch_put_meta(batch, &(struct row_meta){.key = "none"}));
    REQUIRE(batch_put_meta(batch, &(struct row_meta){.key = "zero", .value.number = row_opt(0)}));
    sink(db, batch);
    CHECK_STR(fixture_query(db, "SELECT * FROM frame", false), "1|2||4\n");
    CHECK_STR(fixture_query(db, "SELECT * FROM string", false), "1|it's; \"quoted\" \xc3\xa9\n");
    CHECK_STR(fixture_query(db, "SELECT key, typeof(value) FROM meta", false),
              "empty|text\nnone|null\nzero|integer\n");
    db_close(db);
}

TEST(blocks_that_end_in_a_later_batch)
{
    struct db *db = fixture_empty();
    struct batch *first = store_batch(1, 3, false);
    first->allocs[1].life_ns = DB_LIVING_NS;
    first->allocs[1].free_seq = DB_LIVING_SEQ;
    first->allocs[2].life_ns = DB_LIVING_NS;
    first->allocs[2].free_seq = DB_LIVING_SEQ;
    first->allocs[2].requested = 500;
    first->allocs[2].site = 3;
    first->allocs[2].tag = 4;
    first->allocs[2].segment = 5;
    first->allocs[2].module = 6;
    sink(db, first);
    CHECK_STR(fixture_query(db, "SELECT * FROM allocation", false),
              "1|1|139637976728064|513||1000|500|2||||\n"
              "2|1|139637976728576|514||2000|-70368744177664|-2147483648||||\n"
              "3|1|139637976729088|515|500|3000|-70368744177664|-2147483648|3|4|5|6\n");
    struct batch *second = batch_new(false);
    REQUIRE(batch_add_end(second, 2, 7000, 9));
    REQUIRE(batch_add_late_tag(second, 3, 6));
    struct row_curve bucket = {
        .heap = 1, .quantity = "allocated", .level = 20, .max = 5, .last = 5};
    struct row_curve_drop drop = {.heap = 1, .quantity = "allocated", .level = 20};
    struct row_segment segment = {
        .seq = 8, .heap = 1, .address = 4096, .size = 2048, .alloc_ns = 10};
    struct row_segment_end end = {.seq = 8, .life_ns = 90, .free_seq = 12};
    REQUIRE(batch_put_curve(second, &bucket));
    bucket.level = 21;
    REQUIRE(batch_put_curve(second, &bucket));
    REQUIRE(batch_put_curve_drop(second, &drop));
    REQUIRE(batch_put_segment(second, &segment));
    REQUIRE(batch_put_segment_end(second, &end));
    sink(db, second);
    CHECK_STR(fixture_query(db, "SELECT seq, life_ns, free_seq, tag FROM allocation", false),
              "1|500|2|\n2|7000|9|\n3|-70368744177664|-2147483648|6\n");
    CHECK_STR(fixture_query(db, "SELECT seq, life_ns, free_seq FROM segment", false), "8|90|12\n");
    CHECK_STR(fixture_query(db, "SELECT level FROM curve", false), "21\n");
    db_close(db);
}

/* Every kind of change from row to row: the same value, another one, none. */
TEST(columns_that_are_as_in_the_row_before)
{
    struct db *db = fixture_empty();
    struct batch *batch = store_batch(1, 5, false);
    static const int32_t heap[] = {1, 2, 2, 1, 1}, site[] = {7, 7, -1, -1, 8};
    static const int32_t tag[] = {-1, 4, 4, -1, 5}, segment[] = {3, -1, 3, 3, -1};
    static const int64_t requested[] = {0, -1, 0, 0, 9};
    for (int i = 0; i < 5; i++) {
        batch->allocs[i].heap = heap[i];
        batch->allocs[i].site = site[i];
        batch->allocs[i].tag = tag[i];
        batch->allocs[i].segment = segment[i];
        batch->allocs[i].requested = requested[i];
    }
    sink(db, batch);
    CHECK_STR(
        fixture_query(db, "SELECT seq, heap, site, tag, segment, requested FROM allocation", false),
        "1|1|7||3|0\n2|2|7|4||\n3|2||4|3|0\n4|1|||3|0\n5|1|8|5||9\n");
    db_close(db);
}

TEST(a_batch_that_begins_and_ends_a_block)
{
    struct db *db = fixture_empty();
    struct batch *batch = store_batch(1, 1, false);
    batch->allocs[0].life_ns = DB_LIVING_NS;
    batch->allocs[0].free_seq = DB_LIVING_SEQ;
    REQUIRE(batch_add_late_tag(batch, 1, 2));
    REQUIRE(batch_add_end(batch, 1, 40, 7));
    sink(db, batch);
    CHECK_STR(fixture_query(db, "SELECT life_ns, free_seq, tag FROM allocation", false),
              "40|7|2\n");
    db_close(db);
}

TEST(many_batches_share_a_transaction)
{
    struct db *db = NULL;
    struct queue *queue = NULL;
    struct writer *writer = NULL;
    struct writer_stats stats;
    bool single;
    REQUIRE(db_create(&db, test_path("run.db")) == 0);
    REQUIRE(queue_new(&queue, STORE_LIMIT) == 0);
    for (int i = 0; i < 200; i++)
        REQUIRE(queue_push(queue, store_batch(1 + i * 10, 10, false)));
    queue_close(queue);
    REQUIRE(writer_start(&writer, db, queue, false, NULL) == 0);
    CHECK_INT(writer_finish(writer, &single, &stats), 0);
    CHECK_INT(stats.batches, 200);
    CHECK_INT(stats.rows_inserted, 2000);
    CHECK(stats.commits >= 1 && stats.commits < 100);
    CHECK(stats.behind_ns > 0);
    CHECK(stats.cpu_ns > 0);
    queue_free(queue);
    REQUIRE(db_open(&db, test_path("run.db")) == 0);
    CHECK_INT(store_check_prefix(db), 2000);
    db_close(db);
}

TEST(what_was_pushed_is_committed_while_nothing_else_comes)
{
    const char *path = test_path("run.db");
    struct queue *queue = NULL;
    struct writer *writer = store_start(path, &queue);
    struct writer_stats stats;
    bool single;
    CHECK(queue_push(queue, store_batch(1, 10, false)));
    store_wait(path, "SELECT count(*) FROM allocation", 10);
    CHECK(!writer_failed(writer));
    CHECK_STR(writer_message(writer), "");
    CHECK(queue_push(queue, store_batch(11, 10, true)));
    store_wait(path, "SELECT count(*) FROM allocation", 20);
    queue_close(queue);
    CHECK_INT(writer_finish(writer, &single, &stats), 0);
    CHECK(single);
    CHECK_INT(stats.commits, 2);
    CHECK(access(test_path("run.db-wal"), F_OK) < 0);
    CHECK(access(test_path("run.db-shm"), F_OK) < 0);
    queue_free(queue);
}

TEST(a_run_without_any_batch)
{
    const char *path = test_path("run.db");
    struct queue *queue = NULL;
    struct writer *writer = store_start(path, &queue);
    struct writer_stats stats;
    bool single = false;
    queue_close(queue);
    CHECK_INT(writer_finish(writer, &single, &stats), 0);
    CHECK(single);
    CHECK_INT(stats.commits, 0);
    queue_free(queue);
    struct db *db = NULL;
    REQUIRE(db_open(&db, path) == 0);
    CHECK_INT(store_check_prefix(db), 0);
    db_close(db);
}

static int64_t file_bytes(const char *path)
{
    struct stat info;
    REQUIRE(stat(path, &info) == 0);
    return info.st_size;
}

TEST(the_log_stays_bounded)
{
    static char megabyte[(1 << 20) + 1];
    const char *path = test_path("run.db");
    struct queue *queue = NULL;
    struct writer *writer = store_start(path, &queue);
    bool single;
    memset(megabyte, 'x', sizeof megabyte - 1);
    for (int64_t i = 0; i < 150; i++) {
        struct batch *batch = batch_new(false);
        REQUIRE(batch_put_string(batch, &(struct row_string){.id = i, .text = megabyte}));
        batch->commit = true;
        REQUIRE(queue_push(queue, batch));
    }
    store_wait(path, "SELECT count(*) FROM string", 150);
    CHECK(file_bytes(test_path("run.db-wal")) < (int64_t)80 << 20);
    CHECK(file_bytes(path) > (int64_t)60 << 20);
    queue_close(queue);
    CHECK_INT(writer_finish(writer, &single, NULL), 0);
    CHECK(file_bytes(path) > (int64_t)150 << 20);
    queue_free(queue);
}

TEST_MAIN(TEST_CASE(every_inserting_statement_stores_its_cells_in_order),
          TEST_CASE(text_null_and_integers), TEST_CASE(blocks_that_end_in_a_later_batch),
          TEST_CASE(columns_that_are_as_in_the_row_before),
          TEST_CASE(a_batch_that_begins_and_ends_a_block),
          TEST_CASE(many_batches_share_a_transaction),
          TEST_CASE(what_was_pushed_is_committed_while_nothing_else_comes),
          TEST_CASE(a_run_without_any_batch), TEST_CASE(the_log_stays_bounded))
