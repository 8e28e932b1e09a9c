#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "loss.h"
#include "peak.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "private.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

static int64_t ask(struct db *db, const char *sql)
{
    struct db_stmt *stmt;
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    REQUIRE(db_step(stmt) == DB_ROW);
    int64_t value = db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}

static const struct group *find(const struct groups *groups, const char *name)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i].name && strcmp(groups->groups[i].name, name) == 0)
            return &groups->groups[i];
    return NULL;
}

static const struct peak_category *called(const struct peak *peak, const char *name)
{
    for (size_t i = 0; i < peak->category_count; i++)
        if (strcmp(purpose_name(peak->categories[i].purpose), name) == 0)
            return &peak->categories[i];
    return NULL;
}

TEST(the_peak_of_a_training_run)
{
    struct db *db = recording("train");
    struct peak peak;
    CHECK_INT(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &peak), 0);
    CHECK(peak.found && peak_is_valid(&peak));
    CHECK_INT(peak.step, 1);
    CHECK_STR(peak.phase_name, "backward");
    CHECK_STR(peak.phase_path, "backward");
    CHECK_INT(peak.allocated, MIB(4322));
    CHECK_INT(peak.bytes, peak.allocated);
    CHECK_INT(peak.phase_begin_allocated, MIB(3406));
    CHECK_INT(peak.before_bytes, MIB(3406)); /* nothing of it was freed before the peak */
    CHECK_INT(peak.added_bytes, MIB(916));   /* two gradients of the size of the logits */
    CHECK_INT(peak.added_blocks, 2);
    CHECK_INT(peak.requested, ask(db, "SELECT sum(requested) FROM live_at_peak"));
    CHECK_INT(peak_category(&peak, PURPOSE_GRADIENT).bytes, MIB(280));
    CHECK_INT(peak_category(&peak, PURPOSE_OPTIMIZER_STATE).bytes, MIB(560));
    CHECK_INT(peak_category(&peak, PURPOSE_HELD).bytes, MIB(458));
    CHECK_STR(peak.sites.groups[0].name,
              "backward (/usr/lib/python3/dist-packages/torch/_tensor.py:487)");
    CHECK_STR(peak.sites.groups[0].shown, "main (train.py:80) > backward (_tensor.py:487)");
    CHECK_INT(peak.last_bytes, MIB(458));
    CHECK_STR(peak.last_shown, peak.sites.groups[0].shown);
    CHECK_STR(peak_category(&peak, PURPOSE_HELD).rule, "allocated in forward, live after backward");
    CHECK_STR(peak_category(&peak, PURPOSE_WORKSPACE).rule, "allocated and freed inside one phase");
    peak_clear(&peak);
    db_close(db);
}

/* An import writes what it rebuilt in the midst of the first phase; it was there before all the
 * same. */
TEST(what_was_rebuilt_counts_as_before)
{
    struct db *db = recording("train");
    struct peak peak;
    char sql[160];
    CHECK_INT(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &peak), 0);
    int64_t born = ask(db, "SELECT min(allocation) FROM live_at_peak WHERE allocation > "
                           "(SELECT begin_seq FROM phase WHERE name = 'backward' AND step = 1)");
    CHECK(born > peak.phase_begin_seq);
    CHECK_INT(peak.rebuilt_until, 0);
    int64_t before = peak.before_blocks, added = peak.added_blocks;
    peak_clear(&peak);
    snprintf(sql, sizeof sql, "INSERT INTO setting VALUES(1, NULL, 'rebuilt_until', '%lld')",
             (long long)born);
    REQUIRE(db_exec(db, sql) == 0);
    CHECK_INT(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &peak), 0);
    CHECK(peak_is_valid(&peak));
    CHECK_INT(peak.rebuilt_until, born);
    CHECK_INT(peak.before_blocks, before + 1);
    CHECK_INT(peak.added_blocks, added - 1);
    peak_clear(&peak);
    db_close(db);
}

TEST(an_evaluation_is_after_a_step)
{
    struct db *db = recording("train");
    char remark[PEAK_REMARK];
    struct peak peak;
    REQUIRE(db_exec(db, "UPDATE phase SET kind = 'eval', step = NULL"
                        " WHERE name = 'backward' AND step = 1") == 0);
    CHECK_INT(peak_find(db, 1, 1, INT64_MIN, INT64_MAX, &peak), 0);
    CHECK(peak.step == PEAK_NONE);
    CHECK_INT(peak.after_step, 1); /* its loss */
    CHECK_STR(peak_remark(remark, &peak), " after step 1");
    peak_clear(&peak);
    REQUIRE(db_exec(db, "UPDATE phase SET step = NULL") == 0);
    CHECK_INT(peak_find(db, 1, 1, INT64_MIN, INT64_MAX, &peak), 0);
    CHECK_STR(peak_remark(remark, &peak), "");
    peak_clear(&peak);
    db_close(db);
}

TEST(the_instant_alone_is_the_same)
{
    static const char *const names[] = {"train", "ranks", "torch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct db *db = recording(names[i]);
        for (int64_t process = 1; process <= 3; process++) {
            struct peak whole, alone;
            CHECK_INT(peak_read(db, process, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &whole), 0);
            CHECK_INT(peak_find(db, process, 1, INT64_MIN, INT64_MAX, &alone), 0);
            CHECK_INT(alone.found, whole.found);
            CHECK_INT(alone.seq, whole.seq);
            CHECK_INT(alone.allocated, whole.allocated);
            CHECK_INT(alone.step, whole.step);
            if (whole.found)
                CHECK_STR(alone.phase_path, whole.phase_path);
            CHECK_INT(alone.blocks, 0);
            peak_clear(&whole);
            peak_clear(&alone);
        }
        db_close(db);
    }
}

TEST(a_birth_has_the_phases_around_it)
{
    struct db *db = recording("torch");
    struct peak peak;
    CHECK_INT(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &peak), 0);
    CHECK(peak_is_valid(&peak));
    const char *path = "forward > encoder.layers.0 > self_attn.scaled_dot_product_attention";
    CHECK_STR(peak.phase_path, path);
    CHECK_STR(find(&peak.births, "self_attn.scaled_dot_product_attention")->shown, path);
    CHECK_STR(find(&peak.births, "backward")->shown, "backward");
    peak_clear(&peak);
    db_close(db);
}

/* As `record --private` would have written it. */
static void make_private(struct db *db)
{
    struct db_stmt *read, *write;
    REQUIRE(db_prepare(db, &read, "SELECT id, text FROM string") == 0);
    REQUIRE(db_prepare(db, &write, "UPDATE string SET text = ?2 WHERE id = ?1") == 0);
    while (db_step(read) == DB_ROW) {
        char text[512];
        size_t bytes = (size_t)db_column_bytes(read, 1);
        REQUIRE(bytes < sizeof text);
        memcpy(text, db_column_text(read, 1), bytes);
        db_bind_int(write, 0, db_column_int(read, 0));
        db_bind_text(write, 1, text, (int)private_shorten(text, bytes));
        REQUIRE(db_step(write) == DB_DONE);
        db_reset(write);
    }
    db_finalize(read);
    db_finalize(write);
}

TEST(a_private_recording_has_the_same_sites)
{
    static const char *const names[] = {"train", "torch", "after"};
    static const char sql[] = "SELECT group_concat(site || text || coalesce(own_depth, '-'), '\n')"
                              " FROM (SELECT * FROM site_short ORDER BY site)";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char want[4096];
        struct db *db = recording(names[i]);
        struct db_stmt *stmt;
        CHECK(ask(db, "SELECT count(*) FROM string WHERE text LIKE '/%'") > 0);
        REQUIRE(db_prepare(db, &stmt, sql) == 0 && db_step(stmt) == DB_ROW);
        CHECK(snprintf(want, sizeof want, "%s", db_column_text(stmt, 0)) > 0);
        db_finalize(stmt);
        make_private(db);
        CHECK_INT(ask(db, "SELECT count(*) FROM string WHERE text LIKE '/%'"), 0);
        REQUIRE(db_prepare(db, &stmt, sql) == 0 && db_step(stmt) == DB_ROW);
        CHECK_STR(db_column_text(stmt, 0), want);
        db_finalize(stmt);
        db_close(db);
    }
}

TEST(a_site_is_called_after_the_programs_own_frame)
{
    static const struct {
        const char *text;
        int64_t own_depth; /* -1 = NULL */
    } sites[] = {
        {"step (train.py:11) > _single_tensor_adam (adam.py:410)", 2},
        {"encode (attention.py:31) > forward (linear.py:125)", 2},
        {"_single_tensor_adam (adam.py:410)", -1}, /* nothing but libraries */
        {"main (train.py:80)", 0},
        {"run (pool.py:7) > forward (linear.py:125)", 1}, /* lib/python3_utils is the program's */
        {"step", 0},                                      /* of no file */
        {"step > forward (linear.py:125)", 2},            /* what is frozen is Python's */
    };
    struct db *db = recording("torch");
    struct db_stmt *stmt;
    size_t at = 0;
    CHECK_INT(db_prepare(db, &stmt, "SELECT site, text, own_depth FROM site_short ORDER BY 1"), 0);
    for (; db_step(stmt) == DB_ROW && at < sizeof sites / sizeof *sites; at++) {
        CHECK_INT(db_column_int(stmt, 0), (int64_t)at + 1);
        CHECK_STR(db_column_text(stmt, 1), sites[at].text);
        bool none = db_column_type(stmt, 2) == DB_NULL;
        CHECK_INT(none ? -1 : db_column_int(stmt, 2), sites[at].own_depth);
    }
    CHECK_INT(at, sizeof sites / sizeof *sites);
    db_finalize(stmt);
    CHECK_INT(ask(db, "SELECT count(*) FROM peak_by_site p JOIN site_short s ON s.site = p.site_id"
                      " WHERE p.site_short = s.text"),
              ask(db, "SELECT count(*) FROM peak_by_site"));
    db_close(db);
}

/* Code that torch.compile wrote lies in its cache, under names made of a hash. */
TEST(compiled_code_is_called_after_what_was_compiled)
{
    static const struct {
        const char *file, *text;
    } files[] = {
        {"/tmp/torchinductor_me/fi/cfia64eudltmbxgjqcd5fk6ad23qb3y36ou3r26kqw7nwwkjhra4.py",
         "main (train.py:80) > compiled function (torch.compile:83)"},
        /* in a folder of one's own, or cut by record --private */
        {"cfia64eudltmbxgjqcd5fk6ad23qb3y36ou3r26kqw7nwwkjhra4.py",
         "main (train.py:80) > compiled function (torch.compile:83)"},
        /* a program's own long name has other letters */
        {"/srv/convolutional_network_for_images_of_many_sizes_and_m.py",
         "Runner.call (convolutional_network_for_images_of_many_sizes_and_m.py:83)"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct db *db = recording("torch");
        struct db_stmt *stmt;
        char sql[800];
        snprintf(sql, sizeof sql,
                 "INSERT INTO string VALUES(900, 'Runner.call'), (901, '%s'), (902, 'main'),"
                 " (903, '/srv/train.py');"
                 "INSERT INTO frame VALUES(900, 900, 901, 83), (901, 902, 903, 80);"
                 "INSERT INTO site VALUES(900, 0, 900), (900, 1, 901)",
                 files[i].file);
        REQUIRE(db_exec(db, sql) == 0);
        CHECK_INT(db_prepare(db, &stmt, "SELECT text FROM site_short WHERE site = 900"), 0);
        REQUIRE(db_step(stmt) == DB_ROW);
        CHECK_STR(db_column_text(stmt, 0), files[i].text);
        db_finalize(stmt);
        db_close(db);
    }
}

TEST(groups_agree_with_the_views)
{
    struct db *db = recording("train");
    struct db_stmt *stmt;
    struct peak peak;
    size_t rows = 0;
    CHECK_INT(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &peak), 0);
    CHECK_INT(peak.seq, ask(db, "SELECT seq FROM peak"));
    CHECK_INT(peak.at_ns, ask(db, "SELECT at_ns FROM peak"));
    CHECK_INT(peak.phase, ask(db, "SELECT phase_id FROM peak"));
    CHECK_INT(peak.reserved, ask(db, "SELECT reserved FROM peak"));
    CHECK_INT(peak.blocks, ask(db, "SELECT count(*) FROM live_at_peak"));
    CHECK_INT(db_prepare(db, &stmt, "SELECT category, bytes, blocks FROM peak_by_category"), 0);
    for (; db_step(stmt) == DB_ROW; rows++) {
        const struct peak_category *category = called(&peak, db_column_text(stmt, 0));
        REQUIRE(category != NULL);
        CHECK_INT(category->bytes, db_column_int(stmt, 1));
        CHECK_INT(category->blocks, db_column_int(stmt, 2));
    }
    db_finalize(stmt);
    CHECK_INT(rows, peak.category_count);
    peak_clear(&peak);
    db_close(db);
}

TEST(steps_narrow_the_search)
{
    struct db *db = recording("train");
    struct peak peak;
    CHECK_INT(peak_read(db, 1, 1, 0, 0, SIZE_MAX, &peak), 0);
    CHECK_INT(peak.step, 0);
    CHECK_INT(peak.allocated, MIB(3482));
    CHECK(peak_is_valid(&peak));
    CHECK(peak_category(&peak, PURPOSE_OPTIMIZER_STATE).blocks == 0); /* there is none yet */
    peak_clear(&peak);
    CHECK_INT(peak_read(db, 1, 1, 7, 9, SIZE_MAX, &peak), 0);
    CHECK(!peak.found);
    peak_clear(&peak);
    CHECK_INT(peak_read(db, 2, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &peak), 0);
    CHECK(!peak.found);
    peak_clear(&peak);
    db_close(db);
}

/* Keyframes make it quick; they may not change what comes out. */
TEST(keyframes_change_nothing)
{
    struct db *db = recording("train");
    struct peak with, without;
    CHECK_INT(ask(db, "SELECT count(*) > 0 FROM keyframe"), 1);
    CHECK_INT(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &with), 0);
    CHECK_INT(db_exec(db, "DELETE FROM keyframe"), 0);
    CHECK_INT(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &without), 0);
    CHECK_INT(with.bytes, without.bytes);
    CHECK_INT(with.blocks, without.blocks);
    CHECK_INT(with.sites.count, without.sites.count);
    peak_clear(&with);
    peak_clear(&without);
    db_close(db);
}

TEST(a_threads_own_phase_counts_for_its_blocks)
{
    struct db *db = recording("ranks");
    struct peak peak;
    CHECK_INT(peak_read(db, 2, 2, INT64_MIN, INT64_MAX, SIZE_MAX, &peak), 0);
    CHECK(peak_is_valid(&peak));
    CHECK_INT(peak.requested, PEAK_NONE);
    CHECK_INT(peak.reserved, PEAK_NONE);
    CHECK_INT(find(&peak.births, "attention of the second decoder layer, by hand")->bytes,
              INT64_C(12) << 30);
    CHECK(strncmp(peak.phase_path, "forward > ", 10) == 0);
    peak_clear(&peak);
    db_close(db);
}

TEST(memory_may_run_out_anywhere)
{
    struct db *db = recording("train");
    long n = 1;
    for (;; n++) {
        struct peak peak;
        mem_fail_after(n);
        int err = peak_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, &peak);
        mem_fail_after(0);
        peak_clear(&peak);
        if (err == 0)
            break;
        CHECK_INT(err, ERR_NOMEM);
        REQUIRE(n < 1000);
    }
    CHECK(n > 10);
    db_close(db);
}

TEST(losses_are_summed_for_the_processes_asked_for)
{
    struct db *db = recording("ranks");
    struct loss loss;
    const struct loss_span both[] = {{2, INT64_MAX}, {3, INT64_MAX}}, last[] = {{3, INT64_MAX}};
    const struct loss_span none[] = {{1, INT64_MAX}};
    CHECK_INT(loss_read(db, both, 2, &loss), 0);
    CHECK(loss_is_valid(&loss));
    CHECK_INT(loss.events, 1043);
    CHECK_INT(loss.first_seq, 17);
    CHECK_INT(loss.kind_count, 3);
    CHECK_STR(loss.kinds[0].name, "block_free");
    CHECK_INT(loss_read(db, last, 1, &loss), 0);
    CHECK_INT(loss.events, 1);
    CHECK_INT(loss.first_seq, 30);
    CHECK_INT(loss_read(db, none, 1, &loss), 0);
    CHECK_INT(loss.events, 0);
    CHECK(loss_is_valid(&loss));
    db_close(db);
}

TEST(a_loss_behind_what_is_looked_at_does_not_count)
{
    struct db *db = recording("torch");
    struct loss_span span = {1, INT64_MAX};
    struct loss loss;
    CHECK_INT(loss_read(db, &span, 1, &loss), 0);
    CHECK_INT(loss.events, 12);
    span.last_seq = 45; /* the last event that came through */
    CHECK_INT(loss_read(db, &span, 1, &loss), 0);
    CHECK_INT(loss.events, 0);
    span.last_seq = 46;
    CHECK_INT(loss_read(db, &span, 1, &loss), 0);
    CHECK_INT(loss.events, 12);
    span.last_seq = 0;
    CHECK_INT(db_exec(db, "UPDATE lost SET process = 0"), 0); /* it can be anybody's */
    CHECK_INT(loss_read(db, &span, 1, &loss), 0);
    CHECK_INT(loss.events, 0);
    CHECK_INT(loss_read(db, NULL, 0, &loss), 0);
    CHECK_INT(loss.events, 12);
    db_close(db);
}

/* Of a gap in the table of blocks no number is known, only where the keys on both sides are. */
TEST(gaps_of_damaged_pages_are_not_counted_as_events)
{
    struct db *db = recording("train");
    const struct loss_span one[] = {{1, INT64_MAX}}, before[] = {{1, 5}};
    struct loss loss;
    CHECK_INT(loss_read(db, one, 1, &loss), 0);
    CHECK(loss_is_valid(&loss) && !loss.damage.any && loss.damage.most == 0);
    CHECK_INT(db_exec(db, "INSERT INTO lost VALUES(0, 10, 30, 100, 300, '" LOSS_DAMAGED "', 0),"
                          " (0, 40, 45, 400, 450, '" LOSS_DAMAGED "', 0)"),
              0);
    CHECK_INT(loss_read(db, one, 1, &loss), 0);
    CHECK(loss_is_valid(&loss));
    CHECK_INT(loss.events, 0);
    CHECK_INT(loss.kind_count, 0);
    CHECK(loss.damage.any);
    CHECK_INT(loss.damage.most, 25);
    CHECK_INT(loss.damage.first_seq, 10);
    CHECK_INT(loss.damage.first_ns, 100);
    CHECK_INT(loss_read(db, before, 1, &loss), 0);
    CHECK(!loss.damage.any);
    /* An older repair said 1 of each; here the end of one is not known. */
    CHECK_INT(db_exec(db,
                      "INSERT INTO lost VALUES(0, 50, 9223372036854775807, 500, 500, '" LOSS_DAMAGED
                      "', 1), (1, 60, 61, 600, 610, 'late', 3)"),
              0);
    CHECK_INT(loss_read(db, one, 1, &loss), 0);
    CHECK(loss_is_valid(&loss));
    CHECK_INT(loss.damage.most, -1);
    CHECK_INT(loss.events, 3);
    CHECK_INT(loss.first_seq, 60);
    db_close(db);
}

TEST(gaps_that_cannot_be_added_up)
{
    struct db *db = recording("train");
    struct loss loss;
    CHECK_INT(db_exec(db, "INSERT INTO lost VALUES(0, 9, 3, 0, 0, '" LOSS_DAMAGED "', 0)"), 0);
    CHECK_INT(loss_read(db, NULL, 0, &loss), 0);
    CHECK(loss_is_valid(&loss) && loss.damage.most == -1);
    CHECK_INT(db_exec(db, "UPDATE lost SET first_seq = -5, last_seq = 9223372036854775806"), 0);
    CHECK_INT(loss_read(db, NULL, 0, &loss), 0);
    CHECK(loss_is_valid(&loss) && loss.damage.most == -1);
    CHECK_INT(db_exec(db, "UPDATE lost SET first_seq = 1"), 0);
    CHECK_INT(db_exec(db, "INSERT INTO lost SELECT * FROM lost"), 0);
    CHECK_INT(loss_read(db, NULL, 0, &loss), 0);
    CHECK(loss_is_valid(&loss) && loss.damage.most == -1);
    db_close(db);
}

TEST(steps_end_with_their_last_phase)
{
    struct db *db = recording("torch");
    struct loss_span span = {1, 7};
    CHECK_INT(loss_end_of_steps(db, 0, 0, &span), 0);
    CHECK_INT(span.last_seq, 35);
    CHECK_INT(loss_end_of_steps(db, INT64_MIN, 1, &span), 0);
    CHECK_INT(span.last_seq, 46);
    CHECK_INT(loss_end_of_steps(db, 99, 100, &span), 0); /* lost with all that it had, perhaps */
    CHECK(span.last_seq == INT64_MAX);
    CHECK_INT(db_exec(db, "UPDATE phase SET end_seq = NULL WHERE id = 11"), 0);
    CHECK_INT(loss_end_of_steps(db, 1, 1, &span), 0);
    CHECK(span.last_seq == INT64_MAX);
    db_close(db);
}

TEST(more_kinds_than_fit_are_still_counted)
{
    struct db *db = recording("silent");
    struct loss loss;
    const struct loss_span one[] = {{1, INT64_MAX}};
    CHECK_INT(db_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                          " WHERE i < 50) INSERT INTO lost SELECT 1, 5, 6, 7, 8, 'kind ' || i, i"
                          " FROM n"),
              0);
    CHECK_INT(loss_read(db, one, 1, &loss), 0);
    CHECK(loss_is_valid(&loss));
    CHECK_INT(loss.events, 1275);
    CHECK_INT(loss.kind_count, LOSS_KINDS);
    db_close(db);
}

TEST(a_recording_says_whether_it_was_finished)
{
    bool finished;
    int64_t last_ns;
    struct db *db = recording("train");
    CHECK_INT(loss_read_finished(db, &finished, &last_ns), 0);
    CHECK(finished);
    db_close(db);
    db = recording("ranks");
    CHECK_INT(loss_read_finished(db, &finished, &last_ns), 0);
    CHECK(!finished);
    CHECK_INT(last_ns, INT64_C(70000000000));
    CHECK_INT(db_exec(db, "DELETE FROM meta"), 0);
    CHECK_INT(loss_read_finished(db, &finished, &last_ns), 0);
    CHECK(!finished);
    db_close(db);
}

TEST_MAIN(TEST_CASE(the_peak_of_a_training_run), TEST_CASE(what_was_rebuilt_counts_as_before),
          TEST_CASE(an_evaluation_is_after_a_step), TEST_CASE(the_instant_alone_is_the_same),
          TEST_CASE(a_birth_has_the_phases_around_it),
          TEST_CASE(a_private_recording_has_the_same_sites),
          TEST_CASE(a_site_is_called_after_the_programs_own_frame),
          TEST_CASE(compiled_code_is_called_after_what_was_compiled),
          TEST_CASE(groups_agree_with_the_views), TEST_CASE(steps_narrow_the_search),
          TEST_CASE(keyframes_change_nothing), TEST_CASE(a_threads_own_phase_counts_for_its_blocks),
          TEST_CASE(memory_may_run_out_anywhere),
          TEST_CASE(losses_are_summed_for_the_processes_asked_for),
          TEST_CASE(a_loss_behind_what_is_looked_at_does_not_count),
          TEST_CASE(gaps_of_damaged_pages_are_not_counted_as_events),
          TEST_CASE(gaps_that_cannot_be_added_up), TEST_CASE(steps_end_with_their_last_phase),
          TEST_CASE(more_kinds_than_fit_are_still_counted),
          TEST_CASE(a_recording_says_whether_it_was_finished))
