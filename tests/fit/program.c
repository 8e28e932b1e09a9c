#include "program.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "map.h"
#include "mem.h"
#include "test.h"

/* ---- the device ---- */

enum { SPOTS = 4096, RANGES = 64, EVENTS = 1 << 16 };
#define SPOT (UINT64_C(1) << 33) /* a segment has room in one */

struct device {
    struct alloc_device seam;
    uint64_t seed;
    bool ascending;
    uint64_t given;
    bool used[SPOTS];
    bool reserved[RANGES];
    uint64_t memory, held;
    uint64_t events, now;
    uint64_t reached_at[EVENTS];
};

static bool is_full(const struct device *device, uint64_t bytes)
{
    return device->memory && device->held + bytes > device->memory;
}

static int take(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct device *device = self;
    size_t at = test_random(&device->seed) % SPOTS;
    (void)stream;
    if (device->ascending)
        at = device->given++ % SPOTS;
    while (device->used[at])
        at = (at + 1) % SPOTS;
    REQUIRE(bytes < SPOT);
    if (is_full(device, bytes))
        return ERR_NOMEM;
    device->held += bytes;
    device->used[at] = true;
    *address = (at + 1) * SPOT;
    return BASE_OK;
}

static int give(void *self, uint64_t address, uint64_t bytes)
{
    struct device *device = self;
    device->held -= bytes;
    REQUIRE(address % SPOT == 0 && device->used[address / SPOT - 1]);
    device->used[address / SPOT - 1] = false;
    return BASE_OK;
}

/* The highest place that nobody has: a range that was given back is the next one's, whoever asks.
 */
static uint64_t range_at(size_t at)
{
    return (UINT64_C(1) << 47) - (at + 1) * SPOT * 64;
}

static int reserve(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct device *device = self;
    size_t at = 0;
    (void)stream;
    REQUIRE(bytes < SPOT * 64);
    while (at < RANGES && device->reserved[at])
        at++;
    REQUIRE(at < RANGES);
    device->reserved[at] = true;
    *address = range_at(at);
    return BASE_OK;
}

static int unreserve(void *self, uint64_t address, uint64_t bytes)
{
    struct device *device = self;
    size_t at = 0;
    (void)bytes;
    while (at < RANGES && range_at(at) != address)
        at++;
    REQUIRE(at < RANGES && device->reserved[at]);
    device->reserved[at] = false;
    return BASE_OK;
}

static int map(void *self, uint64_t address, uint64_t bytes)
{
    struct device *device = self;
    (void)address;
    if (is_full(device, bytes))
        return ERR_NOMEM;
    device->held += bytes;
    return BASE_OK;
}

static int unmap(void *self, uint64_t address, uint64_t bytes)
{
    struct device *device = self;
    (void)address;
    device->held -= bytes;
    return BASE_OK;
}

static int event_record(void *self, uint64_t stream, uint64_t *event)
{
    struct device *device = self;
    (void)stream;
    REQUIRE(device->events < EVENTS);
    device->reached_at[device->events] = device->now + test_random(&device->seed) % 200;
    *event = device->events++;
    return BASE_OK;
}

static int event_query(void *self, uint64_t event)
{
    struct device *device = self;
    return device->reached_at[event] <= device->now ? BASE_OK : ERR_BUSY;
}

static int event_wait(void *self, uint64_t event)
{
    (void)self;
    (void)event;
    return BASE_OK;
}

static void event_forget(void *self, uint64_t event)
{
    (void)self;
    (void)event;
}

static int memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const struct device *device = self;
    *total_bytes = device->memory ? device->memory : UINT64_C(24) << 30;
    *free_bytes = *total_bytes - device->held;
    return BASE_OK;
}

static void device_make(struct device *device, uint64_t seed)
{
    *device = (struct device){
        .seed = seed * 77 + 5,
        .seam = {.self = device,
                 .name = "spots",
                 .take = take,
                 .give = give,
                 .reserve = reserve,
                 .unreserve = unreserve,
                 .map = map,
                 .unmap = unmap,
                 .event_record = event_record,
                 .event_query = event_query,
                 .event_wait = event_wait,
                 .event_forget = event_forget,
                 .stream_wait = event_wait,
                 .memory = memory},
    };
}

/* ---- the record ---- */

struct record {
    struct db *db;
    struct db_stmt *rows[SCH_STATEMENT_COUNT];
    struct map living;   /* address to allocation.seq */
    struct map waiting;  /* likewise, given back */
    struct map segments; /* address to segment.seq */
    int64_t seq;
    bool on; /* false: before the record began */
    bool no_requests;
};

static struct db_stmt *row(struct record *record, enum sch_statement which)
{
    if (!record->rows[which])
        REQUIRE(db_prepare_known(record->db, &record->rows[which], which) == 0);
    return record->rows[which];
}

/* Up to nine integers; INT64_MIN is NULL. */
static void put(struct record *record, enum sch_statement which, const int64_t *cells)
{
    struct db_stmt *stmt = row(record, which);
    for (int i = 0; i < (int)sch_statement_cells(which); i++) {
        if (cells[i] == INT64_MIN)
            db_bind_null(stmt, i);
        else
            db_bind_int(stmt, i, cells[i]);
    }
    REQUIRE(db_run(stmt) == 0);
}

static int64_t heap_of(uint64_t stream)
{
    return (int64_t)stream + 1;
}

static void put_block(struct record *record, int64_t seq, uint64_t address, uint64_t size,
                      uint64_t requested, uint64_t stream)
{
    put(record, SCH_ALLOCATION,
        (int64_t[]){seq, heap_of(stream), (int64_t)address, (int64_t)size,
                    record->no_requests ? INT64_MIN : (int64_t)requested, seq * 1000, DB_LIVING_NS,
                    DB_LIVING_SEQ, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN});
    CHECK(map_put(&record->living, address, (uint64_t)seq, NULL));
}

static void put_segment(struct record *record, uint64_t address, uint64_t size, uint64_t stream)
{
    put(record, SCH_SEGMENT,
        (int64_t[]){record->seq, heap_of(stream), (int64_t)address, (int64_t)size,
                    record->seq * 1000, INT64_MIN, INT64_MIN, INT64_MIN});
    CHECK(map_put(&record->segments, address, (uint64_t)record->seq, NULL));
}

static void put_end(struct record *record, const struct alloc_event *event)
{
    int64_t seq = (int64_t)map_remove(&record->living, event->address);
    put(record, SCH_ALLOCATION_END, (int64_t[]){seq, 1, record->seq});
    if (event->waits)
        CHECK(map_put(&record->waiting, event->address, (uint64_t)seq, NULL));
}

static void put_mapping(struct record *record, const struct alloc_event *event, bool mapped)
{
    put(record, SCH_MAPPING,
        (int64_t[]){record->seq, heap_of(event->stream), (int64_t)event->address,
                    (int64_t)event->size, record->seq * 1000, mapped});
}

static void see(void *self, const struct alloc_event *event)
{
    struct record *record = self;
    uint64_t seq;
    if (!record->on)
        return;
    record->seq++;
    switch (event->kind) {
    case ALLOC_EVENT_ALLOC:
        put_block(record, record->seq, event->address, event->size, event->requested,
                  event->stream);
        break;
    case ALLOC_EVENT_FREE:
        put_end(record, event);
        break;
    case ALLOC_EVENT_IDLE:
        seq = map_remove(&record->waiting, event->address);
        if (seq != MAP_NONE)
            put(record, SCH_IDLE, (int64_t[]){(int64_t)seq, record->seq, record->seq * 1000});
        break;
    case ALLOC_EVENT_SEGMENT_ALLOC:
        put_segment(record, event->address, event->size, event->stream);
        break;
    case ALLOC_EVENT_SEGMENT_FREE:
        seq = map_remove(&record->segments, event->address);
        put(record, SCH_SEGMENT_END, (int64_t[]){(int64_t)seq, 1, record->seq});
        break;
    case ALLOC_EVENT_MAP:
        put_mapping(record, event, true);
        break;
    case ALLOC_EVENT_UNMAP:
        put_mapping(record, event, false);
        break;
    case ALLOC_EVENT_OOM:
        put(record, SCH_OOM,
            (int64_t[]){record->seq, 1, 1, 1, record->seq * 1000, (int64_t)event->size, INT64_MIN,
                        INT64_MIN, INT64_MIN});
        break;
    }
}

/* What is mapped of a range, in pieces that do not touch. */
static void put_pieces(struct record *record, const struct alloc_segment_view *segment)
{
    uint64_t size = 0;
    for (size_t i = 0; i < segment->block_count; i++) {
        const struct alloc_block_view *block = &segment->blocks[i];
        bool mapped = block->state != ALLOC_UNMAPPED;
        size += mapped ? block->size : 0;
        if (size && (!mapped || i + 1 == segment->block_count)) {
            uint64_t end = mapped ? block->address + block->size : block->address;
            put(record, SCH_MAPPING,
                (int64_t[]){record->seq, heap_of(segment->stream), (int64_t)(end - size),
                            (int64_t)size, 0, 1});
            size = 0;
        }
    }
}

/* The state as a snapshot has it: segments, and the blocks in them in the order of addresses. */
static bool see_state(void *self, const struct alloc_segment_view *segment)
{
    struct record *record = self;
    record->seq++;
    if (segment->expandable)
        put_pieces(record, segment);
    else
        put_segment(record, segment->address, segment->size, segment->stream);
    for (size_t i = 0; i < segment->block_count; i++) {
        const struct alloc_block_view *block = &segment->blocks[i];
        if (block->state != ALLOC_LIVING && block->state != ALLOC_AWAITING)
            continue;
        put_block(record, ++record->seq, block->address, block->size, block->requested,
                  segment->stream);
        if (block->state == ALLOC_AWAITING) {
            const struct alloc_event event = {.address = block->address, .waits = true};
            record->seq++;
            put_end(record, &event);
        }
    }
    return true;
}

static void put_setting(struct record *record, const char *key, const char *value)
{
    char sql[256];
    snprintf(sql, sizeof sql, "INSERT INTO setting VALUES(1,1,'%s','%s')", key, value);
    REQUIRE(db_exec(record->db, sql) == 0);
}

static void begin_record(struct record *record, struct alloc *alloc)
{
    char until[32];
    record->on = true;
    REQUIRE(alloc_walk(alloc, see_state, record) == 0);
    snprintf(until, sizeof until, "%lld", (long long)record->seq);
    put_setting(record, "rebuilt_until", until);
}

static void end_record(struct record *record)
{
    for (size_t i = 0; i < SCH_STATEMENT_COUNT; i++)
        db_finalize(record->rows[i]);
    map_clear(&record->living);
    map_clear(&record->waiting);
    map_clear(&record->segments);
    REQUIRE(db_commit(record->db) == 0);
}

struct db *program_database(const char *name, const char *kind)
{
    struct db *db;
    char sql[512];
    REQUIRE(db_create(&db, test_path(name)) == 0);
    snprintf(sql, sizeof sql,
             "INSERT INTO meta VALUES('finished',1);"
             "INSERT INTO process VALUES(1,4711,NULL,'root',0,1,NULL,NULL,NULL,'box','x','','',"
             "'exit',0,NULL,NULL,NULL,1);"
             "INSERT INTO device VALUES(1,'%s',0,'x',25769803776);"
             "INSERT INTO heap VALUES(1,1,1,0,0,NULL),(2,1,1,1,0,NULL),(3,1,1,2,0,NULL),"
             "(4,1,1,3,0,NULL)",
             kind);
    REQUIRE(db_exec(db, sql) == 0);
    return db;
}

/* ---- the program ---- */

struct runner {
    const struct program *program;
    struct device device;
    struct alloc *alloc;
    uint64_t seed;
    uint64_t blocks[4096];
    int count;
    int64_t refused;
};

/* Small and large ones, as a training run has them, and now and then the same again. */
static uint64_t some_size(struct runner *runner)
{
    uint64_t random = test_random(&runner->seed);
    uint64_t largest = runner->program->largest;
    switch (random % 8) {
    case 0:
    case 1:
    case 2:
        return 1 + (random >> 8) % 4096;
    case 3:
    case 4:
        return 1 + (random >> 8) % (UINT64_C(2) << 20);
    case 5:
        return ((random >> 8) % 8 + 1) * (largest / 8);
    default:
        return 1 + (random >> 8) % largest;
    }
}

static void call(struct runner *runner)
{
    const struct program *program = runner->program;
    uint64_t random = test_random(&runner->seed);
    bool more = (int)(random % (uint64_t)(2 * program->living)) >= runner->count;
    runner->device.now++;
    if (more && runner->count < 4096) {
        uint64_t address, stream = (random >> 32) % (uint64_t)program->streams;
        int err = alloc_malloc(runner->alloc, some_size(runner), stream, &address, NULL);
        REQUIRE(err == 0 || err == ERR_NOMEM);
        runner->refused += err == ERR_NOMEM;
        if (err == 0)
            runner->blocks[runner->count++] = address;
    } else if (runner->count) {
        int at = (int)((random >> 16) % (uint64_t)runner->count);
        if (program->waits && (random >> 40) % 2 == 0)
            REQUIRE(alloc_record_stream(runner->alloc, runner->blocks[at], 3) == 0);
        REQUIRE(alloc_give(runner->alloc, runner->blocks[at]) == 0);
        runner->blocks[at] = runner->blocks[--runner->count];
    }
}

static void run_calls(struct runner *runner, struct record *record)
{
    const struct program *program = runner->program;
    for (int i = 0; i < program->calls; i++) {
        if (i == program->rebuilt && program->rebuilt)
            begin_record(record, runner->alloc);
        call(runner);
        if (program->empties && i % program->empties == program->empties - 1)
            REQUIRE(alloc_empty_cache(runner->alloc) == 0);
    }
    /* No row says that a block waits, but for the one that says until when: so none waits at the
     * end. */
    uint64_t address;
    runner->device.now += 1000;
    REQUIRE(alloc_malloc(runner->alloc, 1, 0, &address, NULL) == 0);
}

static int64_t count_allocations(struct db *db)
{
    struct db_stmt *stmt;
    REQUIRE(db_prepare(db, &stmt, "SELECT count(*) FROM allocation") == 0);
    REQUIRE(db_step(stmt) == DB_ROW);
    int64_t count = db_column_int(stmt, 0);
    db_finalize(stmt);
    return count;
}

struct db *program_record(const char *name, const struct program *program,
                          struct program_result *result)
{
    static struct runner runner;
    struct alloc_config config;
    struct record record = {.db = program_database(name, "cuda"),
                            .on = !program->rebuilt,
                            .no_requests = program->no_requests};
    const struct alloc_observer observer = {&record, see};
    char limit[32];
    REQUIRE(db_begin(record.db) == 0);
    alloc_config_default(&config);
    if (program->conf) {
        REQUIRE(alloc_config_parse(&config, program->conf, NULL, 0) == 0);
        put_setting(&record, "alloc_conf", program->conf);
    }
    if (program->limit) {
        snprintf(limit, sizeof limit, "%llu", (unsigned long long)program->limit);
        put_setting(&record, "limit", limit);
    }
    runner = (struct runner){.program = program, .seed = program->seed};
    device_make(&runner.device, program->seed);
    runner.device.ascending = program->ascending;
    runner.device.memory = program->memory;
    const struct alloc_options options = {.device = &runner.device.seam,
                                          .config = &config,
                                          .observer = &observer,
                                          .limit = program->limit};
    REQUIRE(alloc_new(&runner.alloc, &options) == 0);
    run_calls(&runner, &record);
    alloc_stats(runner.alloc, &result->stats);
    result->refused = runner.refused;
    record.on = false;
    alloc_delete(runner.alloc);
    end_record(&record);
    result->allocations = count_allocations(record.db);
    return record.db;
}
