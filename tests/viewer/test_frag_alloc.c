/*
 * What frag finds in a recording of an allocator beside that allocator's own counters. The
 * allocator runs on a virtual device; its events become rows as the recorder would write them.
 */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>

#include "alloc.h"
#include "frag.h"
#include "ladder.h"
#include "oom.h"
#include "buf.h"
#include "db.h"
#include "error.h"
#include "map.h"
#include "virtual.h"

#define MIB(n) ((uint64_t)(n) << 20)

enum { STREAMS = 3, LIVING = 600, LOOKS = 40 };

struct look { /* what the allocator said after the event `seq` */
    int64_t seq;
    struct alloc_stats stats;
};

struct run {
    struct virtual_device *device;
    struct alloc *alloc;
    struct buf sql;
    int64_t seq;
    struct map born;     /* address of a living block to its row's seq */
    struct map awaiting; /* likewise of one that waits */
    struct map segments; /* address to seq */
    uint64_t living[LIVING];
    int count;
    struct look looks[LOOKS];
    int look_count;
    int64_t oom_seq;
    struct alloc_refusal refusal;
    uint64_t seed;
    bool over;
};

/* ---- events to rows ---- */

static int heap_of(const struct alloc_event *event)
{
    return (int)event->stream + 1;
}

static int64_t taken(struct map *map, uint64_t address)
{
    uint64_t seq = map_remove(map, address);
    REQUIRE(seq != MAP_NONE);
    return (int64_t)seq;
}

static void put_block_event(struct run *run, const struct alloc_event *event)
{
    struct buf *sql = &run->sql;
    if (event->kind == ALLOC_EVENT_ALLOC) {
        REQUIRE(map_put(&run->born, event->address, (uint64_t)run->seq, NULL));
        buf_print(sql,
                  "INSERT INTO "
                  "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
                  "segment) VALUES(%" PRId64 ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64
                  ",0,%lld,%lld,NULL,NULL,NULL);",
                  run->seq, heap_of(event), event->address, event->size, event->requested,
                  DB_LIVING_NS, DB_LIVING_SEQ);
    } else if (event->kind == ALLOC_EVENT_FREE) {
        int64_t seq = taken(&run->born, event->address);
        buf_print(sql,
                  "UPDATE allocation SET free_seq = %" PRId64 ", life_ns = 1 WHERE seq = %" PRId64
                  ";",
                  run->seq, seq);
        if (event->waits)
            REQUIRE(map_put(&run->awaiting, event->address, (uint64_t)seq, NULL));
    } else {
        buf_print(sql, "INSERT INTO idle VALUES(%" PRId64 ",%" PRId64 ",0);",
                  taken(&run->awaiting, event->address), run->seq);
    }
}

static void put_segment_event(struct run *run, const struct alloc_event *event)
{
    struct buf *sql = &run->sql;
    if (event->kind == ALLOC_EVENT_SEGMENT_ALLOC) {
        REQUIRE(map_put(&run->segments, event->address, (uint64_t)run->seq, NULL));
        buf_print(sql,
                  "INSERT INTO segment VALUES(%" PRId64 ",%d,%" PRIu64 ",%" PRIu64
                  ",0,NULL,NULL,NULL);",
                  run->seq, heap_of(event), event->address, event->size);
    } else if (event->kind == ALLOC_EVENT_SEGMENT_FREE) {
        buf_print(sql,
                  "UPDATE segment SET free_seq = %" PRId64 ", life_ns = 1 WHERE seq = %" PRId64 ";",
                  run->seq, taken(&run->segments, event->address));
    } else {
        buf_print(sql, "INSERT INTO mapping VALUES(%" PRId64 ",%d,%" PRIu64 ",%" PRIu64 ",0,%d);",
                  run->seq, heap_of(event), event->address, event->size,
                  event->kind == ALLOC_EVENT_MAP);
    }
}

static void on_event(void *self, const struct alloc_event *event)
{
    struct run *run = self;
    if (run->over)
        return;
    run->seq++;
    switch (event->kind) {
    case ALLOC_EVENT_ALLOC:
    case ALLOC_EVENT_FREE:
    case ALLOC_EVENT_IDLE:
        put_block_event(run, event);
        break;
    case ALLOC_EVENT_SEGMENT_ALLOC:
    case ALLOC_EVENT_SEGMENT_FREE:
    case ALLOC_EVENT_MAP:
    case ALLOC_EVENT_UNMAP:
        put_segment_event(run, event);
        break;
    case ALLOC_EVENT_OOM:
        run->oom_seq = run->seq;
        buf_print(&run->sql,
                  "INSERT INTO oom VALUES(%" PRId64 ",1,1,7,0,%" PRIu64 ",NULL,NULL,NULL);",
                  run->seq, event->size);
    }
}

/* ---- a run ---- */

static void begin(struct run *run, uint64_t seed, const char *config, uint64_t capacity)
{
    const struct virtual_options device = {.capacity = capacity, .manual = true};
    const struct alloc_observer observer = {run, on_event};
    struct alloc_config settings;
    *run = (struct run){.seed = seed};
    alloc_config_default(&settings);
    REQUIRE(alloc_config_parse(&settings, config, NULL, 0) == 0);
    REQUIRE(virtual_new(&run->device, &device) == 0);
    const struct alloc_options options = {.device = virtual_seam(run->device),
                                          .config = &settings,
                                          .observer = &observer,
                                          .flags = ALLOC_ONE_THREAD};
    REQUIRE(alloc_new(&run->alloc, &options) == 0);
    buf_text(&run->sql, "BEGIN;INSERT INTO device VALUES(1,'virtual',0,NULL,NULL);"
                        "INSERT INTO heap VALUES(1,1,1,0,0,NULL),(2,1,1,1,0,NULL),"
                        "(3,1,1,2,0,NULL);"
                        "INSERT INTO process(id,pid,origin,start_ns) VALUES(1,7,'root',0);");
}

static uint64_t some_size(struct run *run)
{
    static const uint64_t most[] = {2000, 300 << 10, 6 << 20, 40 << 20};
    return 1 + test_random(&run->seed) % most[test_random(&run->seed) % 4];
}

static void act(struct run *run)
{
    uint64_t what = test_random(&run->seed) % 100, address;
    if ((what < 55 && run->count < LIVING) || run->count == 0) {
        if (alloc_malloc(run->alloc, some_size(run), test_random(&run->seed) % STREAMS, &address,
                         NULL) == 0)
            run->living[run->count++] = address;
        return;
    }
    int which = (int)(test_random(&run->seed) % (uint64_t)run->count);
    if (what < 92) {
        if (what < 65)
            CHECK_INT(alloc_record_stream(run->alloc, run->living[which],
                                          test_random(&run->seed) % STREAMS),
                      0);
        CHECK_INT(alloc_give(run->alloc, run->living[which]), 0);
        run->living[which] = run->living[--run->count];
    } else if (what < 98) {
        virtual_reach(run->device, test_random(&run->seed) % STREAMS, 2);
    } else {
        CHECK_INT(alloc_empty_cache(run->alloc), 0);
    }
}

static void take_look(struct run *run)
{
    struct look *look = &run->looks[run->look_count++];
    look->seq = run->seq;
    alloc_stats(run->alloc, &look->stats);
}

/* Whoever waits becomes idle, for what still waits when a recording ends left no trace. */
static struct db *end(struct run *run)
{
    struct db *db;
    CHECK_INT(alloc_empty_cache(run->alloc), 0);
    CHECK_INT(run->awaiting.count, 0);
    buf_text(&run->sql, "COMMIT");
    remove(test_path("run"));
    REQUIRE(db_create(&db, test_path("run")) == 0);
    REQUIRE(db_exec(db, buf_string(&run->sql)) == 0);
    buf_clear(&run->sql);
    map_clear(&run->born);
    map_clear(&run->awaiting);
    map_clear(&run->segments);
    return db;
}

/* The allocator gives its segments back as it goes: nobody looks at these events. */
static void clear_allocator(struct run *run)
{
    run->over = true;
    alloc_delete(run->alloc);
    virtual_delete(run->device);
}

static int64_t now(const struct alloc_stat stat[ALLOC_CLASSES])
{
    return stat[ALLOC_ALL].current;
}

static void compare(struct db *db, const struct look *look, bool expandable)
{
    const struct instant instant = {
        .seq = look->seq, .allocated = INSTANT_NONE, .reserved = INSTANT_NONE};
    const struct alloc_stats *stats = &look->stats;
    struct ladder_facts facts;
    struct frag frag;
    CHECK_INT(frag_read(db, 1, 1, &instant, 0, &frag), 0);
    CHECK(frag_is_valid(&frag));
    int64_t active = now(stats->active_bytes), live = now(stats->allocated_bytes);
    CHECK_INT(frag.strays, 0);
    CHECK_INT(frag.reserved, now(stats->reserved_bytes));
    CHECK_INT(frag.causes[FRAG_REQUESTED] + frag.causes[FRAG_ROUNDING], live);
    CHECK_INT(frag.causes[FRAG_WAITING], active - live);
    CHECK_INT(frag.free_bytes, frag.reserved - active);
    if (expandable)
        CHECK_INT(frag.causes[FRAG_PAGES], frag.reserved - active);
    else
        CHECK_INT(frag.causes[FRAG_SPLIT], now(stats->inactive_split_bytes));
    if (!expandable)
        CHECK_INT(frag.segment_count, now(stats->segment));
    CHECK_INT(ladder_read(db, 1, 1, &instant, &facts), 0);
    CHECK_INT(facts.bytes[LADDER_ALLOCATED], live);
    CHECK_INT(facts.bytes[LADDER_ACTIVE], active);
    CHECK_INT(facts.bytes[LADDER_RESERVED], frag.reserved);
    frag_clear(&frag);
}

static void run_and_compare(uint64_t seed, const char *config, bool expandable)
{
    static struct run run;
    int64_t waited = 0, split = 0;
    begin(&run, seed, config, MIB(64 << 10));
    for (int i = 0; i < LOOKS * 60; i++) {
        act(&run);
        if (i % 60 == 59)
            take_look(&run);
    }
    virtual_reach(run.device, 0, UINT64_MAX);
    virtual_reach(run.device, 1, UINT64_MAX);
    virtual_reach(run.device, 2, UINT64_MAX);
    struct db *db = end(&run);
    for (int i = 0; i < run.look_count; i++) {
        compare(db, &run.looks[i], expandable);
        waited += now(run.looks[i].stats.active_bytes) - now(run.looks[i].stats.allocated_bytes);
        split += now(run.looks[i].stats.inactive_split_bytes);
    }
    CHECK(waited > 0);
    CHECK(expandable || split > 0);
    db_close(db);
    clear_allocator(&run);
}

TEST(as_the_allocator_counts)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        run_and_compare(seed * 31, "", false);
}

TEST(with_settings)
{
    run_and_compare(5, "max_split_size_mb:21", false);
    run_and_compare(6, "roundup_power2_divisions:8,garbage_collection_threshold:0.8", false);
}

TEST(with_expandable_segments)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        run_and_compare(seed * 77, "expandable_segments:True", true);
}

/* Every third block of a full device dies; then something larger than any hole is asked for. */
TEST(a_request_that_is_refused)
{
    static struct run run;
    struct ooms ooms;
    uint64_t address, blocks[30];
    begin(&run, 1, "", MIB(600));
    CHECK_INT(alloc_malloc(run.alloc, MIB(600), 0, &address, NULL), 0);
    CHECK_INT(alloc_give(run.alloc, address), 0);
    for (int i = 0; i < 30; i++)
        REQUIRE(alloc_malloc(run.alloc, MIB(20), 0, &blocks[i], NULL) == 0);
    for (int i = 0; i < 30; i += 3)
        CHECK_INT(alloc_give(run.alloc, blocks[i]), 0);
    CHECK_INT(alloc_give(run.alloc, blocks[4]), 0); /* two together */
    CHECK_INT(alloc_malloc(run.alloc, MIB(41), 0, &address, &run.refusal), ERR_NOMEM);
    struct db *db = end(&run);
    CHECK_INT(oom_read(db, 1, 1, INT64_MIN, INT64_MAX, 9, 9, &ooms), 0);
    CHECK(ooms_is_valid(&ooms));
    CHECK_INT(ooms.count, 1);
    const struct oom *oom = &ooms.failures[0];
    CHECK_INT(oom->seq, run.oom_seq);
    CHECK_INT(oom->asked, run.refusal.rounded);
    CHECK_INT(oom->verdict, OOM_SCATTERED);
    CHECK_INT(oom->frag.heap_count, 1); /* so it is known whose holes count */
    CHECK_INT(oom->frag.heaps[0].largest, run.refusal.largest_free);
    CHECK_INT(oom->frag.free_bytes, MIB(220));
    CHECK_INT(oom->frag.reserved, run.refusal.reserved);
    CHECK_INT(oom->frag.pins[0].block->gives, MIB(80)); /* 20 in it, 20 and 40 beside it */
    ooms_clear(&ooms);
    db_close(db);
    clear_allocator(&run);
}

TEST_MAIN(TEST_CASE(as_the_allocator_counts), TEST_CASE(with_settings),
          TEST_CASE(with_expandable_segments), TEST_CASE(a_request_that_is_refused))
