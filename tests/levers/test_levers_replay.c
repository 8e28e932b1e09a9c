/*
 * Levers that need the allocator done again: settings, each against a replay of its own; and what
 * changed lives take off reserved, against a recording in which the rows themselves were changed.
 */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "levers.h"
#include "levers_work.h"
#include "mem.h"
#include "program.h"

#define MIB (UINT64_C(1) << 20)

static struct program usual(uint64_t seed, const char *conf)
{
    return (struct program){.seed = seed,
                            .calls = 2500,
                            .living = 120,
                            .streams = 2,
                            .largest = 48 * MIB,
                            .conf = conf};
}

/* A test may want several of one name. */
static struct db *record(const struct program *program, struct program_result *was)
{
    remove(test_path("program.db"));
    return program_record("program.db", program, was);
}

static struct peak peak_of(const struct program_result *was)
{
    return (struct peak){.found = true,
                         .process = 1,
                         .device = 1,
                         .step = PEAK_NONE,
                         .allocated = was->stats.allocated_bytes[ALLOC_ALL].peak,
                         .reserved = was->stats.reserved_bytes[ALLOC_ALL].peak};
}

static int64_t reserved_of(struct levers *levers, enum lever_kind kind)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].kind == kind)
            return levers->levers[i].reserved;
    return -1;
}

static int64_t replayed(struct db *db, const char *conf)
{
    struct fit fit;
    struct replay_outcome outcome;
    struct alloc_config config;
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    alloc_config_default(&config);
    REQUIRE(alloc_config_parse(&config, conf, NULL, 0) == 0);
    const struct replay_setup setup = fit_setup(&fit, &config, 0);
    REQUIRE(replay_run(&fit.trace, &setup, &fit.scratch, NULL, &outcome) == 0);
    fit_clear(&fit);
    return outcome.peak_reserved;
}

/* What is worth nothing, or less, is not there. */
static int64_t worth(int64_t now, int64_t then)
{
    return now - then >= now / 100 ? now - then : -1;
}

TEST(settings_are_worth_what_their_replay_says)
{
    int seen = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct program program = usual(seed, NULL);
        struct program_result was;
        struct levers levers;
        struct db *db = record(&program, &was);
        const struct peak peak = peak_of(&was);
        CHECK(peak.reserved - peak.allocated > peak.reserved / 20);
        CHECK_INT(levers_read(db, &peak, false, &levers), 0);
        CHECK(levers_is_valid(&levers));
        int64_t now = replayed(db, ""), small = replayed(db, "max_split_size_mb:128"),
                large = replayed(db, "max_split_size_mb:512");
        CHECK_INT(reserved_of(&levers, LEVER_EXPANDABLE_SEGMENTS),
                  worth(now, replayed(db, "expandable_segments:True")));
        CHECK_INT(reserved_of(&levers, LEVER_MAX_SPLIT_SIZE),
                  worth(now, small < large ? small : large));
        seen += levers.count > 0;
        levers_clear(&levers);
        db_close(db);
    }
    CHECK(seen > 0);
}

/* Phases at some of the program's events; operations are done again as the lever says. */
static const char phases[] =
    "INSERT INTO phase(id, process, thread, ordinal, kind, name, step, begin_seq, end_seq, "
    "begin_ns,"
    " end_ns, scope) SELECT 900 + n, 1, 1, n, 'optimizer', 'optimizer', n, 700 * n, 700 * n + 9,"
    " 0, 0, 'process' FROM (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4)";

static int64_t replayed_with_empty(struct db *db)
{
    struct fit fit;
    struct replay_outcome outcome;
    struct replay_op *ops;
    size_t count = 0;
    int64_t next = 700;
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    ops = mem_alloc(fit.trace.op_count + 4, sizeof *ops);
    for (size_t i = 0; i < fit.trace.op_count; i++) {
        const struct replay_op *op = &fit.trace.ops[i];
        if (op->kind == REPLAY_ALLOC && next <= 2800 && fit.trace.blocks[op->block].seq >= next) {
            ops[count++] = (struct replay_op){.kind = REPLAY_EMPTY, .block = op->block};
            next += 700;
        }
        ops[count++] = *op;
    }
    struct replay_trace changed = fit.trace;
    changed.ops = ops;
    changed.op_count = count;
    const struct replay_setup setup = fit_setup(&fit, &fit.recorded, 0);
    REQUIRE(replay_run(&changed, &setup, &fit.scratch, NULL, &outcome) == 0);
    mem_free(ops);
    fit_clear(&fit);
    return outcome.peak_reserved;
}

TEST(the_cache_can_be_emptied_before_a_phase)
{
    int seen = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct program program = usual(seed, NULL);
        struct program_result was;
        struct levers levers;
        struct db *db = record(&program, &was);
        const struct peak peak = peak_of(&was);
        CHECK_INT(levers_read(db, &peak, false, &levers), 0);
        CHECK_INT(reserved_of(&levers, LEVER_EMPTY_CACHE), -1); /* no phase is known */
        levers_clear(&levers);
        REQUIRE(db_exec(db, phases) == 0);
        CHECK_INT(levers_read(db, &peak, false, &levers), 0);
        CHECK(levers_is_valid(&levers));
        int64_t saved = worth(replayed(db, ""), replayed_with_empty(db));
        CHECK_INT(reserved_of(&levers, LEVER_EMPTY_CACHE), saved);
        seen += saved > 0;
        levers_clear(&levers);
        db_close(db);
    }
    CHECK(seen > 0);
}

TEST(what_is_on_is_not_advised)
{
    static const struct {
        const char *conf;
        enum lever_kind kind;
    } cases[] = {{"expandable_segments:True", LEVER_EXPANDABLE_SEGMENTS},
                 {"max_split_size_mb:256", LEVER_MAX_SPLIT_SIZE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program program = usual(1, cases[i].conf);
        struct program_result was;
        struct levers levers;
        struct db *db = record(&program, &was);
        const struct peak peak = peak_of(&was);
        CHECK_INT(levers_read(db, &peak, false, &levers), 0);
        CHECK_INT(reserved_of(&levers, cases[i].kind), -1);
        levers_clear(&levers);
        db_close(db);
    }
}

/* Too little is reserved without being allocated; or nobody knows what is reserved. */
TEST(without_a_gap_no_settings)
{
    struct program program = usual(1, NULL);
    struct program_result was;
    struct db *db = record(&program, &was);
    const int64_t reserved[] = {was.stats.allocated_bytes[ALLOC_ALL].peak / 97 * 100, PEAK_NONE};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        struct levers levers;
        struct peak peak = peak_of(&was);
        peak.reserved = reserved[i];
        CHECK_INT(levers_read(db, &peak, false, &levers), 0);
        CHECK_INT(levers.count, 0);
        levers_clear(&levers);
    }
    db_close(db);
}

/* A heap that no rule of this allocator explains. */
TEST(without_a_licence_no_settings)
{
    struct program program = usual(1, NULL);
    struct program_result was;
    struct levers levers;
    struct db *db = record(&program, &was);
    const struct peak peak = peak_of(&was);
    REQUIRE(db_exec(db, "UPDATE allocation SET address = address + 512 * (seq % 7)") == 0);
    CHECK_INT(levers_read(db, &peak, false, &levers), 0);
    CHECK_INT(levers.count, 0);
    levers_clear(&levers);
    db_close(db);
}

/* ---- reserved with changed lives ---- */

/* Numbers of events are doubled, so that there is room between them; a step is laid over most. */
static const char make_room[] =
    "UPDATE allocation SET seq = -seq;"
    "UPDATE allocation SET seq = -2 * seq, segment = 2 * segment,"
    "  free_seq = CASE WHEN free_seq < 0 THEN free_seq ELSE 2 * free_seq END;"
    "UPDATE segment SET seq = -seq;"
    "UPDATE segment SET seq = -2 * seq, free_seq = 2 * free_seq;"
    "UPDATE process SET first_seq = 1, last_seq = 6000;"
    "INSERT INTO "
    "phase(id,process,thread,parent,ordinal,kind,name,step,begin_seq,end_seq,begin_ns,end_ns,scope,"
    "ended) VALUES(1,1,1,NULL,0,'forward','forward',0,801,4400,1,2,'process','end');"
    "INSERT INTO phase_device VALUES(1,1,0,0,NULL,NULL,NULL,NULL,0,NULL,NULL,1,4000,1,NULL,0,0,0);";

static void change_row(struct db *db, const struct levers_block *block, int64_t from, int64_t to)
{
    char sql[160];
    if (from <= block->seq)
        snprintf(sql, sizeof sql, "DELETE FROM allocation WHERE seq = %" PRId64, block->seq);
    else
        snprintf(sql, sizeof sql,
                 "UPDATE allocation SET free_seq = %" PRId64 ", life_ns = 1 WHERE seq = %" PRId64,
                 to ? to : from, block->seq);
    REQUIRE(db_exec(db, sql) == 0);
}

/* The same changes to lives in `edit` and in the rows. */
static void change_some(struct db *db, const struct levers_step *step, struct levers_edit *edit,
                        uint64_t seed)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        int64_t begin = block->seq > step->begin ? block->seq : step->begin;
        int64_t end = block->end < step->end ? block->end : step->end;
        int64_t inside = begin + (int64_t)(test_random(&seed) % 400) * 2 + 1;
        switch (test_random(&seed) % 5) {
        case 0:
            if (inside < end) {
                REQUIRE(levers_cut(edit, i, inside, LEVERS_NEVER));
                change_row(db, block, inside, 0);
            }
            break;
        case 1:
            if (i >= step->older) {
                REQUIRE(levers_cut(edit, i, INT64_MIN, LEVERS_NEVER));
                change_row(db, block, block->seq, 0);
            }
            break;
        case 2:
            if (block->end < step->end) {
                REQUIRE(levers_lengthen(edit, i, block->end + 101));
                change_row(db, block, INT64_MAX, block->end + 101);
            }
            break;
        default:
            break;
        }
    }
}

static int64_t reserved_until(struct db *db, int64_t end)
{
    char sql[256];
    struct fit fit;
    struct replay_outcome outcome;
    snprintf(sql, sizeof sql,
             "DELETE FROM allocation WHERE seq > %" PRId64 ";"
             "UPDATE allocation SET free_seq = -2147483648, life_ns = -70368744177664"
             " WHERE free_seq > %" PRId64,
             end, end);
    REQUIRE(db_exec(db, sql) == 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    const struct replay_setup setup = fit_setup(&fit, &fit.recorded, 0);
    REQUIRE(replay_run(&fit.trace, &setup, &fit.scratch, NULL, &outcome) == 0);
    fit_clear(&fit);
    return outcome.peak_reserved;
}

/* What it came to. */
static int64_t check_reserved(uint64_t seed)
{
    struct program program = usual(seed, NULL);
    struct program_result was;
    struct levers levers = {0};
    struct fit fit;
    struct lever lever = {.kind = LEVER_HELD, .reserved = LEVERS_NONE};
    struct peak peak;
    struct levers_work work = {.seen = {.peak = &peak}, .out = &levers};
    struct levers_kept kept = {0};
    struct db *db = record(&program, &was);
    REQUIRE(db_exec(db, make_room) == 0);
    peak = peak_of(&was);
    peak.step = 0;
    peak.seq = peak.living_seq = 4000;
    REQUIRE(levers_step_read(db, &peak, &work.seen.step) == 0);
    REQUIRE(fit_begin(db, 1, 1, &fit) == 0);
    change_some(db, &work.seen.step, &kept.edit, seed);
    levers.levers = &lever;
    levers.count = work.kept_count = 1;
    work.kept = &kept;
    CHECK_INT(levers_reserved(&work, &fit), 0);
    int64_t then = reserved_until(db, work.seen.step.end);
    fit_clear(&fit);
    db_close(db);
    db = record(&program, &was);
    REQUIRE(db_exec(db, make_room) == 0);
    CHECK_INT(lever.reserved, reserved_until(db, work.seen.step.end) - then);
    levers_edit_clear(&kept.edit);
    levers_step_clear(&work.seen.step);
    db_close(db);
    return lever.reserved;
}

TEST(reserved_is_that_of_a_recording_with_the_change)
{
    int changed = 0;
    for (uint64_t seed = 1; seed <= 6; seed++)
        changed += check_reserved(seed) != 0;
    CHECK(changed >= 3);
}

TEST_MAIN(TEST_CASE(settings_are_worth_what_their_replay_says),
          TEST_CASE(the_cache_can_be_emptied_before_a_phase), TEST_CASE(what_is_on_is_not_advised),
          TEST_CASE(without_a_gap_no_settings), TEST_CASE(without_a_licence_no_settings),
          TEST_CASE(reserved_is_that_of_a_recording_with_the_change))
