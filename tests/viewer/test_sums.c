/*
 * Every report adds up, over random recordings: what lives at the peak by category, by site and by
 * phase is the total; what differs between two peaks is the sum of its groups; the ladder comes to
 * its top with one unattributed line; what reserved is made of is reserved. Beside them is one
 * plain scan of the tables.
 */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frag.h"
#include "ladder.h"
#include "peak.h"
#include "why.h"
#include "buf.h"
#include "db.h"
#include "frag_model.h"

enum { SEEDS = 10, EVENTS = 500, PHASE_EVENTS = 50 };

static int64_t scan(struct db *db, const char *what, int64_t seq)
{
    struct db_stmt *stmt;
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT coalesce(sum(%s), 0) FROM allocation"
             " WHERE seq <= ?1 AND (free_seq < 0 OR free_seq > ?1)",
             what);
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    db_bind_int(stmt, 0, seq);
    REQUIRE(db_step(stmt) == DB_ROW);
    int64_t value = db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}

/* Phases of all kinds, five to a step after one of none; tags on some blocks; a highest point of
 * each phase somewhere in it, where the source counts `hidden` bytes more than it shows. */
static void add_story(struct db *db, const struct model *model, uint64_t *seed, int64_t hidden)
{
    static const char *const kinds[] = {"zero_grad", "forward", "loss", "backward", "optimizer"};
    struct buf sql = {0};
    int64_t count = (model->seq + PHASE_EVENTS - 1) / PHASE_EVENTS, highest = 0;
    buf_text(&sql, "BEGIN; INSERT INTO tag VALUES(1,1,'w'),(2,2,'g'),(3,6,NULL);"
                   "UPDATE allocation SET tag = seq % 7 WHERE seq % 7 BETWEEN 1 AND 3;");
    for (int64_t i = 0; i < count; i++) {
        int64_t begin = i * PHASE_EVENTS + 1;
        int64_t at = begin + (int64_t)(test_random(seed) % PHASE_EVENTS);
        int64_t peak = scan(db, "size", at) + hidden;
        highest = peak > highest ? peak : highest;
        const char *kind = i ? kinds[(i - 1) % 5] : "other";
        char step[24] = "NULL";
        if (i)
            snprintf(step, sizeof step, "%" PRId64, (i - 1) / 5);
        buf_print(&sql,
                  "UPDATE phase SET kind = '%s', name = '%s', step = %s WHERE id = %" PRId64 ";"
                  "INSERT INTO phase_device VALUES(%" PRId64 ",1,0,0,NULL,NULL,NULL,NULL,%" PRId64
                  ",NULL,NULL,%" PRId64 ",%" PRId64 ",%" PRId64 ",NULL,1,1,1);",
                  kind, kind, step, i + 1, i + 1, highest, peak, at, at * 10);
    }
    buf_text(&sql, "COMMIT");
    REQUIRE(db_exec(db, buf_string(&sql)) == 0);
    buf_clear(&sql);
}

static int64_t sum_of(const struct groups *groups)
{
    int64_t sum = 0;
    for (size_t i = 0; i < groups->count; i++)
        sum += groups->groups[i].bytes;
    return sum;
}

static void check_ladder(struct db *db, const struct instant *instant, int64_t living,
                         int64_t hidden)
{
    struct ladder_facts facts;
    struct ladder ladder;
    int64_t lowest = LADDER_NONE, highest = 0, sum = 0;
    CHECK_INT(ladder_read(db, 1, 1, instant, &facts), 0);
    CHECK_INT(facts.living, living);
    ladder_make(&facts, &ladder);
    CHECK(ladder_is_valid(&ladder));
    for (size_t i = 0; i < LADDER_STEPS; i++) {
        if (ladder.rungs[i].bytes == LADDER_NONE)
            continue;
        lowest = lowest == LADDER_NONE ? ladder.rungs[i].bytes : lowest;
        highest = ladder.rungs[i].bytes;
        sum += ladder.rungs[i].gap == LADDER_NONE ? 0 : ladder.rungs[i].gap;
    }
    CHECK_INT(sum + ladder.unattributed, highest - lowest);
    if (facts.bytes[LADDER_REQUESTED] != LADDER_NONE)
        CHECK_INT(ladder.unattributed, hidden);
}

static void check_frag(struct db *db, const struct instant *instant)
{
    struct frag frag;
    int64_t sum = 0;
    CHECK_INT(frag_read(db, 1, 1, instant, 3, &frag), 0);
    for (int cause = 0; cause < FRAG_CAUSES; cause++)
        sum += frag.causes[cause];
    CHECK_INT(sum, frag.known ? frag.reserved : 0);
    frag_clear(&frag);
}

/* Of one step, or of everything. */
static bool check_peak(struct db *db, int64_t first, int64_t last, int64_t hidden,
                       struct instant *out)
{
    struct peak peak;
    CHECK_INT(peak_read(db, 1, 1, first, last, 3, &peak), 0);
    bool found = peak.found;
    if (found) {
        CHECK(peak_is_valid(&peak));
        CHECK_INT(peak.bytes, scan(db, "size", peak.living_seq));
        CHECK_INT(peak.blocks, scan(db, "1", peak.living_seq));
        CHECK_INT(peak.allocated, peak.bytes + hidden);
        int64_t categories = 0;
        for (size_t i = 0; i < peak.category_count; i++)
            categories += peak.categories[i].bytes;
        CHECK_INT(categories, peak.bytes);
        CHECK_INT(sum_of(&peak.sites), peak.bytes);
        CHECK_INT(sum_of(&peak.births), peak.bytes);
        CHECK_INT(peak.before_bytes + peak.added_bytes, peak.bytes);
        CHECK_INT(peak.before_bytes, scan(db,
                                          "CASE WHEN seq < (SELECT max(begin_seq) FROM phase"
                                          " WHERE begin_seq <= ?1) THEN size END",
                                          peak.living_seq));
        *out = (struct instant){.seq = peak.living_seq,
                                .at_ns = peak.at_ns,
                                .allocated = peak.allocated,
                                .reserved = INSTANT_NONE,
                                .phase = peak.phase,
                                .step = peak.step};
        check_ladder(db, out, peak.bytes, hidden);
        check_frag(db, out);
    }
    peak_clear(&peak);
    return found;
}

static void check_change(struct db *db, const struct instant *before, const struct instant *after)
{
    struct why why;
    int64_t groups = 0, categories = 0;
    CHECK_INT(why_read(db, 1, 1, before, after, 3, &why), 0);
    CHECK(why_is_valid(&why));
    for (size_t i = 0; i < why.group_count; i++)
        groups += why_change(&why.groups[i]);
    for (size_t i = 0; i < why.category_count; i++)
        categories += why_change(&why.categories[i]);
    CHECK_INT(groups, after->allocated - before->allocated);
    CHECK_INT(categories, after->allocated - before->allocated);
    why_clear(&why);
}

TEST(reports_of_random_recordings_add_up)
{
    static struct model model;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t random = seed * 104729;
        int64_t hidden = seed % 3 ? 0 : (int64_t)seed * 1000, steps = 0;
        struct instant whole, last, now;
        model_run(&model, random, EVENTS);
        struct db *db = model_store(&model, "sums");
        add_story(db, &model, &random, hidden);
        CHECK(check_peak(db, INT64_MIN, INT64_MAX, hidden, &whole));
        for (int64_t step = 0; check_peak(db, step, step, hidden, &now); step++) {
            if (steps++)
                check_change(db, &last, &now);
            check_change(db, &whole, &now);
            last = now;
        }
        CHECK(steps >= 1);
        db_close(db);
    }
}

/* The recordings have what could go wrong: each sum has more than one term. */
TEST(the_recordings_are_no_trifles)
{
    static struct model model;
    uint64_t random = 104729;
    struct peak peak;
    model_run(&model, random, EVENTS);
    struct db *db = model_store(&model, "sums");
    add_story(db, &model, &random, 0);
    CHECK_INT(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 3, &peak), 0);
    CHECK(peak.category_count > 3);
    CHECK(peak.sites.count > 3);
    CHECK(peak.births.count > 3);
    CHECK(peak.blocks > 10);
    peak.categories[0].bytes++;
    CHECK(!peak_is_valid(&peak));
    peak_clear(&peak);
    db_close(db);
}

TEST_MAIN(TEST_CASE(reports_of_random_recordings_add_up), TEST_CASE(the_recordings_are_no_trifles))
