/*
 * The parts of a merge: what is known of the schema, the spool, clocks, and the order of events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "query.h"
#include "spool.h"
#include "tables.h"
#include "test.h"
#include "turns.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t dice(uint64_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % sides;
}

/* ---- tables ---- */

static const struct merge_table *find_table(const char *name)
{
    for (int i = 0; i < MERGE_TABLES; i++)
        if (strcmp(merge_tables[i].name, name) == 0)
            return &merge_tables[i];
    return NULL;
}

TEST(every_column_of_the_schema_is_known)
{
    struct db *db;
    char table[64], column[64];
    int64_t place, tables = 0;
    const struct merge_table *known = NULL;
    REQUIRE(db_create(&db, test_path("schema.db")) == 0);
    struct query query =
        query_ask(db,
                  "SELECT m.name AS \"table\", c.name AS \"column\", c.cid AS place"
                  "  FROM sqlite_master m JOIN pragma_table_info(m.name) c"
                  " WHERE m.type = 'table' AND m.name <> 'merged' ORDER BY m.name, c.cid",
                  Q_NOTHING, Q_OUT(Q_CHARS(table), Q_CHARS(column), Q_INT(place)));
    while (query_next(&query)) {
        known = find_table(table);
        if (!known)
            printf("no table %s\n", table);
        tables += place == 0;
        REQUIRE(known && (size_t)place < known->count);
        CHECK_STR(known->columns[place].name, column);
    }
    CHECK_INT(query_end(&query), 0);
    CHECK_INT(tables + 1, MERGE_TABLES);
    for (int i = 0; i < MERGE_TABLES; i++)
        CHECK(merge_tables[i].count <= MERGE_COLUMNS);
    db_close(db);
}

/* ---- the spool ---- */

enum { STREAMS = 5, NUMBERS = 20000 };

static int64_t number_of(size_t stream, size_t at)
{
    uint64_t value = (stream + 1) * 0x9e3779b97f4a7c15ull + at * 0xbf58476d1ce4e5b9ull;
    return (int64_t)(value >> at % 64);
}

TEST(streams_come_back_as_they_were)
{
    struct spool spool;
    struct spool_stream streams[STREAMS] = {{0}};
    uint64_t middle[STREAMS] = {0};
    REQUIRE(spool_open(&spool, test_path("out.db")) == 0);
    for (size_t at = 0; at < NUMBERS; at++)
        for (size_t i = 0; i < STREAMS; i++) {
            if (at == NUMBERS / 2)
                middle[i] = spool_place(&streams[i]);
            REQUIRE(spool_put_signed(&spool, &streams[i], number_of(i, at)) == 0);
        }
    for (size_t i = 0; i < STREAMS; i++) {
        struct spool_reader reader;
        int64_t number = 0;
        REQUIRE(spool_seal(&spool, &streams[i]) == 0);
        REQUIRE(spool_read(&reader, &spool, &streams[i]) == 0);
        for (size_t at = 0; at < NUMBERS; at++)
            REQUIRE(spool_get_signed(&reader, &number) == 1 && number == number_of(i, at));
        CHECK_INT(spool_get_signed(&reader, &number), 0);
        REQUIRE(spool_seek(&reader, middle[i]) == 0);
        REQUIRE(spool_get_signed(&reader, &number) == 1);
        CHECK(number == number_of(i, NUMBERS / 2));
        spool_reader_clear(&reader);
        spool_stream_clear(&streams[i]);
    }
    spool_close(&spool);
    CHECK(remove(test_path("out.db")) != 0); /* it has no name */
}

/* ---- clocks ---- */

enum { MEETINGS = 300 };

/* A recording whose zero is `offset` in the first one's time and whose clock is fast by `drift`. */
static void meet_all(struct clock_side *side, double offset, double drift, uint64_t late)
{
    side->run_ns = INT64_C(3600) * 1000000000;
    for (uint64_t i = 0; i < MEETINGS; i++) {
        double at = 10e9 + (double)i * 12e9;
        int64_t ns = (int64_t)((at - offset) * (1 + drift)) + (int64_t)dice(late);
        if (i % 10 == 3)
            ns += (int64_t)dice(1000000000); /* one in ten leaves much later */
        REQUIRE(clock_meet(&side->meetings[CLOCK_NAMED], i * 0x9e3779b97f4a7c15ull, ns));
    }
}

static void clear_sides(struct clock_side *sides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int kind = 0; kind < CLOCK_KINDS; kind++)
            clock_clear(&sides[i].meetings[kind]);
}

TEST(offset_and_drift_are_found)
{
    struct clock_side sides[3] = {{0}};
    meet_all(&sides[0], 0, 0, 1000);
    meet_all(&sides[1], 5e9, 50e-6, 50000);
    meet_all(&sides[2], -3e9, -20e-6, 50000);
    REQUIRE(clock_align(sides, 3) == 0);
    CHECK(clock_is_valid(sides, 3));
    for (size_t i = 1; i < 3; i++) {
        double offset = i == 1 ? 5e9 : -3e9, drift = i == 1 ? 50e-6 : -20e-6;
        CHECK_INT(sides[i].way, MERGE_WAY_COLLECTIVES);
        CHECK_INT(sides[i].count, MEETINGS);
        for (double at = 6e9; at < 3500e9; at += 500e9) {
            int64_t there = clock_ns(&sides[i], (int64_t)((at - offset) * (1 + drift)));
            int64_t here = clock_ns(&sides[0], (int64_t)at);
            CHECK(llabs(there - here) <= 60000);
            CHECK(llabs(there - here) <= sides[i].error_ns);
        }
    }
    /* Two in twenty are late by up to a second: 19 of 20 have to be within the error. */
    CHECK(sides[1].error_ns > 100000000 && sides[1].error_ns < 1100000000);
    clear_sides(sides, 3);
}

TEST(a_drift_that_cannot_be_told_is_none)
{
    struct clock_side sides[2] = {{0}};
    for (uint64_t i = 0; i < 6; i++) { /* half a second, to 2 ms */
        int64_t ns = (int64_t)i * 100000000;
        clock_meet(&sides[0].meetings[CLOCK_NAMED], i + 1, ns);
        clock_meet(&sides[1].meetings[CLOCK_NAMED], i + 1, ns + (int64_t)(i * 7 % 3) * 1000000);
    }
    sides[1].run_ns = sides[0].run_ns = 600000000;
    REQUIRE(clock_align(sides, 2) == 0);
    CHECK(sides[1].drift == 0);
    CHECK(sides[1].error_ns >= 1000000 && sides[1].error_ns <= 4500000);
    clear_sides(sides, 2);
}

TEST(many_meetings_keep_the_same_ones)
{
    struct clock_meetings a = {.mask = 0}, b = {.mask = 0};
    size_t common = 0, at = 0;
    const struct map_entry *entry;
    for (uint64_t i = 0; i < 50000; i++) {
        uint64_t hash = i * 0xbf58476d1ce4e5b9ull;
        hash = (hash ^ hash >> 31) * 0x94d049bb133111ebull;
        hash ^= hash >> 29;
        REQUIRE(clock_meet(&a, hash, (int64_t)i));
        REQUIRE(i % 3 == 0 || clock_meet(&b, hash, (int64_t)i));
    }
    CHECK(a.by_name.count <= CLOCK_MOST && b.by_name.count <= CLOCK_MOST);
    while ((entry = map_next(&b.by_name, &at)))
        common += map_get(&a.by_name, entry->key) != MAP_NONE;
    CHECK(common >= CLOCK_MOST / 4);
    clock_clear(&a);
    clock_clear(&b);
}

/* ---- the order ---- */

enum { INPUTS = 7, EVENTS = 9000, MOST_SEQ = EVENTS * 4 };

struct model {
    struct spool_stream events;
    struct turns_map map;
    struct clock_side side;
    int64_t seq[EVENTS], ns[EVENTS];
    size_t count;
};

static void fill(struct spool *spool, struct model *model, size_t count)
{
    int64_t seq = 0, ns = 0;
    model->count = count;
    model->side.offset = (int64_t)dice(100000);
    for (size_t i = 0; i < count; i++) {
        int64_t step = 1 + (int64_t)dice(3), later = (int64_t)dice(2000);
        seq += step;
        ns += later;
        model->seq[i] = seq;
        model->ns[i] = ns;
        REQUIRE(spool_put_number(spool, &model->events, (uint64_t)step) == 0);
        REQUIRE(spool_put_signed(spool, &model->events, later) == 0);
    }
    REQUIRE(spool_seal(spool, &model->events) == 0);
}

static int64_t find(struct model *model, struct spool *spool, int64_t old)
{
    int64_t now = 0;
    REQUIRE(turns_find(&model->map, spool, old, &now) == 0);
    return now;
}

static void check_numbers(struct model *models, struct spool *spool, uint64_t events)
{
    unsigned char *taken = mem_alloc(events + 1, 1);
    int64_t *at = mem_alloc(events + 1, sizeof *at), latest = INT64_MIN;
    REQUIRE(taken && at);
    for (uint64_t i = 0; i <= events; i++)
        at[i] = INT64_MIN;
    for (size_t i = 0; i < INPUTS; i++) {
        struct model *model = &models[i];
        for (int64_t old = 1, before = 0; old <= model->map.most; old++) {
            int64_t now = find(model, spool, old);
            REQUIRE(now > before && now <= (int64_t)events && !taken[now]);
            taken[now] = 1;
            before = now;
        }
        for (size_t e = 0; e < model->count; e++)
            at[find(model, spool, model->seq[e])] = clock_ns(&model->side, model->ns[e]);
    }
    for (uint64_t i = 1; i <= events; i++) {
        CHECK(taken[i]);
        REQUIRE(at[i] == INT64_MIN || at[i] >= latest); /* all in the order of time */
        latest = at[i] == INT64_MIN ? latest : at[i];
    }
    mem_free(taken);
    mem_free(at);
}

TEST(events_come_in_the_order_of_time)
{
    struct model *models = mem_alloc(INPUTS, sizeof *models);
    struct turns_input inputs[INPUTS];
    struct spool spool;
    uint64_t events = 0, numbers = 0;
    REQUIRE(models && spool_open(&spool, test_path("out.db")) == 0);
    for (size_t i = 0; i < INPUTS; i++) {
        fill(&spool, &models[i], i == 3 ? 0 : i == 4 ? 1 : EVENTS); /* one without events, too */
        int64_t last = i == 3 ? 5 : models[i].seq[models[i].count - 1] + (int64_t)dice(4);
        inputs[i] = (struct turns_input){&models[i].side, &models[i].events, last, &models[i].map};
        numbers += (uint64_t)last;
    }
    REQUIRE(turns_make(&spool, inputs, INPUTS, &events) == 0);
    CHECK_INT((int64_t)events, (int64_t)numbers);
    check_numbers(models, &spool, events);
    for (int i = 0; i < 20000; i++) { /* anywhere, not only onwards */
        struct model *model = &models[dice(INPUTS)];
        int64_t old = 1 + (int64_t)dice((uint64_t)model->map.most);
        CHECK(old == 1 || find(model, &spool, old) > find(model, &spool, old - 1));
    }
    CHECK_INT(find(&models[0], &spool, 0), 0);
    CHECK_INT(find(&models[0], &spool, -5), -5);
    CHECK_INT(find(&models[0], &spool, INT64_C(1) << 50),
              find(&models[0], &spool, models[0].map.most));
    for (size_t i = 0; i < INPUTS; i++) {
        turns_clear(&models[i].map);
        spool_stream_clear(&models[i].events);
    }
    mem_free(models);
    spool_close(&spool);
}

TEST_MAIN(TEST_CASE(every_column_of_the_schema_is_known), TEST_CASE(streams_come_back_as_they_were),
          TEST_CASE(offset_and_drift_are_found), TEST_CASE(a_drift_that_cannot_be_told_is_none),
          TEST_CASE(many_meetings_keep_the_same_ones), TEST_CASE(events_come_in_the_order_of_time))
