/*
 * Derived tables made from the facts alone are what the recorder wrote beside them; where facts are
 * thinned or missing, the old rows are kept.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "damage.h"
#include "derive.h"
#include "error.h"
#include "fixture.h"
#include "loop.h"
#include "retention.h"
#include "state.h"
#include "test.h"
#include "writer.h"

/* ---- recordings of the loop, and of random events ---- */

struct store {
    struct db *db;
    struct writer_sink *sink;
    struct retention *retention;
};

static void put_batch(struct store *store, struct batch *batch)
{
    REQUIRE(db_begin(store->db) == 0);
    REQUIRE(writer_sink_write(store->sink, batch) == 0);
    retention_see(store->retention, batch);
    REQUIRE(retention_work(store->retention, 10000 + 4 * (int64_t)batch->alloc_count) == 0);
    batch_free(batch);
    REQUIRE(db_commit(store->db) == 0);
}

static bool store_batch(void *self, struct batch *batch)
{
    put_batch(self, batch);
    return true;
}

static struct store open_store(const struct retention_options *retention)
{
    struct store store = {.db = fixture_empty()};
    REQUIRE(writer_sink_new(&store.sink, store.db) == 0);
    REQUIRE(retention_new(&store.retention, store.db, retention) == 0);
    return store;
}

static struct db *close_store(struct store *store)
{
    retention_free(store->retention);
    writer_sink_free(store->sink);
    return store->db;
}

static struct db *loop(uint64_t steps, unsigned processes, const struct retention_options *keep)
{
    const struct loop_options options = {.steps = steps, .processes = processes, .leak_every = 5};
    struct store store = open_store(keep);
    loop_run(&options, store_batch, &store);
    return close_store(&store);
}

#define ADDRESSES 20

struct player {
    struct state *state;
    struct state_process *process[2];
    bool living[2][ADDRESSES];
    bool segment[2][ADDRESSES];
    uint64_t now, ticket;
};

static void define_heap(struct state_process *process, uint64_t pool)
{
    struct arena_heap heap = {
        .device_kind = DEVICE_CUDA, .device_index = 0, .stream = 0, .pool = pool};
    struct arena_record record = {.bytes = sizeof heap, .kind = ARENA_HEAP};
    state_define(process, &record, &heap);
}

/* Blocks of two heaps of two processes, addresses handed out twice now and then, segments. */
static void play_one(struct player *player, uint64_t *seed)
{
    unsigned who = test_random(seed) % 2, at = (unsigned)(test_random(seed) % ADDRESSES);
    uint64_t what = test_random(seed) % 100;
    struct event event = {.addr = 4096 + at * 65536,
                          .size = 512 + test_random(seed) % 60000,
                          .heap = 1 + at % 2,
                          .thread = 1};
    player->now += test_random(seed) % 2000000;
    event.time_ns = player->now;
    event.word = ++player->ticket;
    if (what < 8) {
        bool *there = &player->segment[who][at];
        event.kind = *there ? EVENT_SEGMENT_FREE : EVENT_SEGMENT_ALLOC;
        event.size = 65536;
        *there = !*there;
    } else {
        bool *there = &player->living[who][at];
        event.kind = *there && what != 8 ? EVENT_BLOCK_FREE : EVENT_BLOCK_ALLOC;
        *there = event.kind == EVENT_BLOCK_ALLOC;
    }
    state_event(player->process[who], &event);
}

static struct db *random_run(uint64_t seed, unsigned events)
{
    const struct state_options options = {.keyframe_events = 500, .flush_allocs = 200};
    const struct retention_options all = {0};
    struct store store = open_store(&all);
    struct player player = {.now = 1000};
    REQUIRE(state_new(&player.state, &options) == 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct state_hello hello = {.pid = 10 + i,
                                          .parent = BATCH_NULL,
                                          .origin = "root",
                                          .at_ns = 1000,
                                          .rank = BATCH_NULL,
                                          .local_rank = BATCH_NULL,
                                          .world_size = BATCH_NULL};
        player.process[i] = state_process_begin(player.state, &hello);
        define_heap(player.process[i], 0);
        define_heap(player.process[i], 1);
    }
    for (unsigned i = 0; i < events; i++) {
        play_one(&player, &seed);
        if (state_wants_flush(player.state) || i % 777 == 0)
            put_batch(&store, state_flush(player.state, player.now, i % 777 == 0));
    }
    put_batch(&store, state_flush(player.state, player.now, true));
    state_free(player.state);
    return close_store(&store);
}

/* ---- comparing ---- */

static void keep_old(struct db *db)
{
    fixture_exec(db, "CREATE TABLE old_curve AS SELECT * FROM curve;"
                     "CREATE TABLE old_timeline AS SELECT * FROM timeline;"
                     "CREATE TABLE old_peak AS SELECT * FROM peak_block");
}

static int64_t differ(struct db *db, const char *a, const char *b)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "SELECT (SELECT count(*) FROM (SELECT * FROM %s EXCEPT SELECT * FROM %s)) +"
             " (SELECT count(*) FROM (SELECT * FROM %s EXCEPT SELECT * FROM %s))",
             a, b, b, a);
    return damage_int(db, sql);
}

/* What lived at an instant, by keyframe and by all blocks. */
static void check_living(struct db *db, int64_t seq)
{
    char sql[1024];
    snprintf(
        sql, sizeof sql,
        "WITH f(at) AS (SELECT coalesce((SELECT max(seq) FROM keyframe WHERE seq <= %lld), -1)),"
        " k(seq) AS (SELECT a.seq FROM f JOIN keyframe k ON k.seq = f.at"
        "   JOIN allocation a ON a.seq = k.allocation"
        "   WHERE a.free_seq < 0 OR a.free_seq > %lld"
        "  UNION ALL SELECT a.seq FROM f JOIN allocation a ON a.seq > f.at AND a.seq <= %lld"
        "   WHERE a.free_seq < 0 OR a.free_seq > %lld),"
        " w(seq) AS (SELECT seq FROM allocation WHERE seq <= %lld"
        "   AND (free_seq < 0 OR free_seq > %lld))"
        "SELECT (SELECT count(*) FROM (SELECT * FROM k EXCEPT SELECT * FROM w)) +"
        " (SELECT count(*) FROM (SELECT * FROM w EXCEPT SELECT * FROM k)) +"
        " (SELECT count(*) FROM k) - (SELECT count(*) FROM w)",
        (long long)seq, (long long)seq, (long long)seq, (long long)seq, (long long)seq,
        (long long)seq);
    CHECK_INT(damage_int(db, sql), 0);
}

static struct derive_result rebuild(struct db *db, uint64_t keyframe_events)
{
    const struct derive_options options = {.facts = db,
                                           .out = db,
                                           .blocks_whole = true,
                                           .segments_whole = true,
                                           .curve_whole = true,
                                           .keyframe_events = keyframe_events};
    struct derive_result result;
    bool from_out;
    int err = derive_rebuild(&options, &result, &from_out);
    if (err < 0)
        fprintf(stderr, "%s\n", db_message(db));
    REQUIRE(err == 0);
    return result;
}

static void check_rebuilt(struct db *db, uint64_t seed)
{
    keep_old(db);
    int64_t last = damage_int(db, "SELECT max(max(seq), max(free_seq)) FROM allocation");
    fixture_exec(db, "DELETE FROM curve; DELETE FROM keyframe");
    struct derive_result result = rebuild(db, 300);
    CHECK_INT(result.blocks, damage_int(db, "SELECT count(*) FROM allocation"));
    CHECK(result.keyframes > 1);
    CHECK_INT(differ(db, "curve", "old_curve"), 0);
    CHECK_INT(differ(db, "timeline", "old_timeline"), 0);
    CHECK_INT(differ(db, "peak_block", "old_peak"), 0);
    for (unsigned i = 0; i < 30; i++)
        check_living(db, 1 + (int64_t)(test_random(&seed) % (uint64_t)(last + 10)));
    db_close(db);
}

TEST(loop_is_as_it_was)
{
    check_rebuilt(loop(100, 1, &(struct retention_options){0}), 1);
    check_rebuilt(loop(60, 2, &(struct retention_options){0}), 2);
}

TEST(random_runs_are_as_they_were)
{
    for (uint64_t seed = 1; seed <= 6; seed++)
        check_rebuilt(random_run(seed, 1500 + 500 * (unsigned)seed), seed);
}

/* Long enough for the finest levels of the curve to have been dropped. */
TEST(long_run)
{
    struct db *db = random_run(99, 60000);
    CHECK(damage_int(db, "SELECT min(level) FROM curve WHERE quantity = 'allocated'") > 20);
    check_rebuilt(db, 99);
}

static const char *compare(struct db *db)
{
    const char *what = NULL;
    bool from_scratch;
    struct db *scratch = fixture_empty();
    CHECK_INT(derive_compare(db, scratch, &what, &from_scratch), 0);
    db_close(scratch);
    return what;
}

TEST(compare_sees_what_is_wrong)
{
    static const char *const wrongs[] = {
        "UPDATE curve SET max = max + 1 WHERE bucket = (SELECT max(bucket) FROM curve)",
        "DELETE FROM curve WHERE quantity = 'allocated' AND bucket % 7 = 3",
        "DELETE FROM curve",
        "DELETE FROM keyframe WHERE allocation = (SELECT max(allocation) FROM keyframe)",
        "INSERT INTO keyframe SELECT max(seq), 1000000 FROM keyframe",
        "UPDATE allocation SET size = size + 1 WHERE seq = (SELECT max(seq) FROM allocation)",
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct db *db = random_run(i + 1, 3000);
        CHECK(compare(db) == NULL);
        fixture_exec(db, wrongs[i]);
        const char *want = strstr(wrongs[i], "keyframe") ? "keyframe" : "curve";
        const char *what = compare(db);
        CHECK_STR(what ? what : "nothing", want);
        db_close(db);
    }
}

/* What was thinned is in the old rows only. */
TEST(thinned_run)
{
    const struct retention_options keep = {.keep_steps = 5};
    struct db *db = loop(200, 1, &keep);
    CHECK(damage_int(db, "SELECT count(*) FROM thinned WHERE what = 'blocks'") > 0);
    CHECK(compare(db) == NULL);
    keep_old(db);
    struct derive_result result = rebuild(db, 300);
    CHECK_INT(result.allocated[DERIVE_KEPT], 1);
    CHECK_INT(differ(db, "curve", "old_curve"), 0);
    CHECK_INT(differ(db, "peak_block", "old_peak"), 0);
    db_close(db);
}

/* Old rows with a gap: a coarser level is whole; if none is, what the gap hides is behind it. */
TEST(gaps_in_old_rows)
{
    struct db *db = random_run(5, 8000);
    static const char end[] = "SELECT last FROM curve WHERE heap = 1 AND quantity = 'allocated'"
                              " ORDER BY level, bucket DESC LIMIT 1";
    static const char level[] =
        "SELECT min(level) FROM curve WHERE heap = 1 AND quantity = 'allocated'";
    fixture_exec(db, "INSERT INTO thinned SELECT id, 1, 2, 'blocks', 1 FROM process");
    int64_t last = damage_int(db, end);
    CHECK_INT(damage_int(db, level), 20);
    fixture_exec(db, "DELETE FROM curve WHERE heap = 1 AND quantity = 'allocated' AND level = 20"
                     " AND bucket = (SELECT bucket FROM curve WHERE heap = 1 AND level = 20"
                     " AND quantity = 'allocated' AND first <> last LIMIT 1 OFFSET 20)");
    CHECK_INT(rebuild(db, 300).allocated[DERIVE_KEPT], 4);
    CHECK_INT(damage_int(db, level), 21);
    CHECK_INT(damage_int(db, end), last);
    fixture_exec(db,
                 "DELETE FROM curve WHERE heap = 1 AND (level > 24 OR bucket BETWEEN 30 AND 60)");
    struct derive_result result = rebuild(db, 300);
    CHECK_INT(result.allocated[DERIVE_MENDED], 1);
    CHECK_INT(result.allocated[DERIVE_KEPT], 3);
    CHECK_INT(damage_int(db, "SELECT count(*) FROM (SELECT first - lag(last, 1, 0) OVER"
                             " (ORDER BY bucket) AS jump FROM curve WHERE heap = 1"
                             " AND quantity = 'allocated' AND level = 21) WHERE jump <> 0"),
              0);
    fixture_exec(db, "DELETE FROM curve");
    CHECK_INT(rebuild(db, 300).allocated[DERIVE_PART], 4);
    db_close(db);
}

/* A source that told its own sums: they are in no other table, but phases tell that they were. */
TEST(reserved_of_the_source)
{
    struct db *db = fixture_empty();
    fixture_exec(db, "INSERT INTO process(id, pid, origin, start_ns) VALUES(1, 5, 'root', 0);"
                     "INSERT INTO device(id, kind, ordinal) VALUES(1, 'cuda', 0);"
                     "INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);"
                     "INSERT INTO phase(id, process, ordinal, kind, name, begin_seq, end_seq,"
                     " begin_ns, end_ns, scope) VALUES(1, 1, 0, 'other', 'other', 1, 9, 0,"
                     " 90000000, 'process');"
                     "INSERT INTO phase_device(phase, device, begin_allocated, allocated, reserved,"
                     " max_allocated, peak_allocated, allocs, frees, alloc_bytes)"
                     " VALUES(1, 1, 0, 100, 4096, 100, 100, 1, 0, 100);"
                     "INSERT INTO "
                     "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                     "tag,segment) VALUES(1, 1, 64, 100, NULL, 5, -70368744177664,"
                     " -2147483648, NULL, NULL, NULL);"
                     "INSERT INTO curve VALUES(1, 'reserved', 20, 0, 2048, 2048, 2048, 2048),"
                     " (1, 'reserved', 20, 3, 2048, 2048, 4096, 4096),"
                     " (1, 'reserved', 22, 0, 2048, 2048, 4096, 4096)");
    struct derive_result result = rebuild(db, 0);
    CHECK_INT(result.reserved[DERIVE_KEPT], 1);
    CHECK_INT(damage_int(db, "SELECT count(*) FROM curve WHERE quantity = 'reserved'"
                             " AND level = 20 AND last IN (2048, 4096)"),
              2);
    fixture_exec(db, "DELETE FROM curve");
    CHECK_INT(rebuild(db, 0).reserved[DERIVE_LOST], 1);
    /* Segments that are not what the source said: nothing that is right can be made of them. */
    fixture_exec(db, "INSERT INTO segment VALUES(2, 1, 4096, 1000, 5, NULL, NULL, NULL)");
    CHECK_INT(rebuild(db, 0).reserved[DERIVE_PART], 1);
    fixture_exec(db, "UPDATE segment SET size = 4096");
    CHECK_INT(rebuild(db, 0).reserved[DERIVE_REBUILT], 1);
    db_close(db);
}

TEST(nothing_to_derive)
{
    struct db *db = fixture_empty();
    struct derive_result result = rebuild(db, 0);
    CHECK_INT(result.blocks + result.keyframes, 0);
    CHECK(compare(db) == NULL);
    db_close(db);
}

TEST_MAIN(TEST_CASE(loop_is_as_it_was), TEST_CASE(random_runs_are_as_they_were),
          TEST_CASE(long_run), TEST_CASE(compare_sees_what_is_wrong), TEST_CASE(thinned_run),
          TEST_CASE(gaps_in_old_rows), TEST_CASE(reserved_of_the_source),
          TEST_CASE(nothing_to_derive))
