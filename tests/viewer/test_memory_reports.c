/*
 * The sections that several reports share - the ladder, the fragmentation of an instant, failures -
 * as the text that comes out.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ladder.h"
#include "db.h"
#include "emit.h"
#include "error.h"
#include "frag_picture.h"
#include "frag_report.h"
#include "ladder_report.h"
#include "mem.h"
#include "oom_report.h"
#include "recording.h"

static const struct report_scope scope = {
    .process = {.id = 1, .pid = 4711}, .device = 1, .device_text = "cuda:0"};

static const char *finish(struct emit *emit)
{
    static char text[1 << 18];
    FILE *file = tmpfile();
    REQUIRE(file != NULL);
    CHECK_INT(emit_finish(emit, file), 0);
    rewind(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static struct ladder ladder_of(int64_t requested, int64_t allocated, int64_t living,
                               int64_t reserved)
{
    struct ladder_facts facts = {.living = living};
    struct ladder ladder;
    for (size_t i = 0; i < LADDER_STEPS; i++)
        facts.bytes[i] = LADDER_NONE;
    facts.bytes[LADDER_REQUESTED] = requested;
    facts.bytes[LADDER_ALLOCATED] = allocated;
    facts.bytes[LADDER_RESERVED] = reserved;
    ladder_make(&facts, &ladder);
    return ladder;
}

static const char *put_ladder(enum emit_format format, const struct ladder *ladder, bool whole)
{
    struct emit emit;
    emit_begin(&emit, format, true, "test", NULL);
    ladder_put(&emit, &scope, ladder, "The ladder", whole);
    return finish(&emit);
}

TEST(a_ladder_for_people)
{
    struct ladder ladder = ladder_of(1000, 1024, 1024, 4096);
    CHECK_STR(put_ladder(EMIT_TABLE, &ladder, false),
              "The ladder\n"
              "quantity     bytes  difference  gap\n"
              "requested   1000 B\n"
              "allocated  1.0 KiB       +24 B  rounding\n"
              "reserved   4.0 KiB    +3.0 KiB  awaiting free, cached and fragmented\n"
              "not known from this source: active, this process on the device, device used\n");
}

TEST(what_is_unattributed_is_always_said)
{
    struct ladder ladder = ladder_of(1000, 1536, 1024, LADDER_NONE);
    const char *text = put_ladder(EMIT_TABLE, &ladder, false);
    CHECK(strstr(text, "unattributed") != NULL);
    CHECK(strstr(text, "+512 B  allocated, but in no reported block") != NULL);
    CHECK(strstr(text, "+24 B  rounding") != NULL);
    ladder = ladder_of(1000, 1024, 1024, LADDER_NONE);
    CHECK(strstr(put_ladder(EMIT_TABLE, &ladder, false), "unattributed") == NULL);
    CHECK(strstr(put_ladder(EMIT_TABLE, &ladder, true), "unattributed") != NULL);
}

TEST(a_ladder_of_one_rung)
{
    struct ladder ladder = ladder_of(LADDER_NONE, 1024, 1024, LADDER_NONE);
    CHECK_STR(
        put_ladder(EMIT_TABLE, &ladder, false),
        "not known from this source: requested, active, reserved, this process on the device, "
        "device used\n");
    const char *text = put_ladder(EMIT_CSV, &ladder, false); /* programs get all of them */
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    CHECK_INT(lines, 1 + LADDER_STEPS);
}

/* ---- fragmentation ---- */

static void put_sections(struct db *db, struct emit *emit, int64_t seq, int64_t top)
{
    const struct instant instant = {.seq = seq,
                                    .allocated = INSTANT_NONE,
                                    .reserved = INSTANT_NONE,
                                    .step = INSTANT_NONE,
                                    .label = "now"};
    struct frag frag;
    REQUIRE(frag_read(db, 1, 1, &instant, (size_t)top, &frag) == 0);
    size_t *order = frag_order(&frag, false);
    REQUIRE(order != NULL);
    const struct frag_part part = {emit, &scope, &instant, &frag, order, top, false};
    for (size_t s = 0; s < FRAG_SECTIONS; s++) {
        frag_sections[s].put(&part);
        CHECK(emit_is_valid(emit));
    }
    mem_free(order);
    frag_clear(&frag);
}

TEST(nothing_is_reserved_yet)
{
    struct db *db = recording("frag");
    struct emit emit;
    emit_begin(&emit, EMIT_TABLE, true, "test", NULL);
    put_sections(db, &emit, 0, 5);
    const char *text = finish(&emit);
    CHECK(strstr(text, "nothing is free") != NULL);
    CHECK(strstr(text, "Pinned by") == NULL && strstr(text, "Blocks that pin memory") == NULL);
    db_close(db);
}

/* A terminal of any width: no line is longer, and the legend is there. */
TEST(pictures_fit_the_terminal)
{
    struct db *db = recording("frag");
    setenv("LC_ALL", "C", 1);
    for (unsigned width = 80; width <= 200; width += 7) {
        struct emit emit;
        emit_begin(&emit, EMIT_TABLE, true, "test", NULL);
        emit.width = width;
        put_sections(db, &emit, 40, 20);
        const char *text = finish(&emit);
        CHECK(strstr(text, frag_picture_legend(false)) != NULL);
        CHECK(strstr(text, "wwww") != NULL);
        for (size_t n; *text; text += n + (text[n] == '\n')) {
            n = strcspn(text, "\n");
            CHECK(n <= width);
        }
    }
    db_close(db);
}

TEST(a_pipe_gets_no_picture)
{
    struct db *db = recording("frag");
    struct emit emit;
    emit_begin(&emit, EMIT_TABLE, true, "test", NULL);
    put_sections(db, &emit, 40, 20);
    const char *text = finish(&emit);
    CHECK(strstr(text, "####") == NULL && strstr(text, "from its begin") == NULL);
    db_close(db);
}

/* ---- failures ---- */

TEST(failures_for_people_and_programs)
{
    struct db *db = recording("frag");
    struct ooms ooms;
    struct emit emit;
    REQUIRE(oom_read(db, 1, 1, INT64_MIN, INT64_MAX, 1, 2, &ooms) == 0);
    const struct oom_part part = {.emit = &emit, .scope = &scope, .ooms = &ooms, .top = 2};
    emit_begin(&emit, EMIT_TABLE, true, "test", NULL);
    oom_put_people(&part);
    const char *text = finish(&emit);
    CHECK(strstr(text, "enough is free, but no hole is large enough") != NULL);
    CHECK(strstr(text, "140 MiB in holes, the largest 32.0 MiB") != NULL);
    CHECK(strstr(text, "and 1 more failed later") != NULL);
    emit_begin(&emit, EMIT_CSV, true, "test", NULL);
    oom_put_programs(&emit, &part, 1);
    text = finish(&emit);
    CHECK(strstr(text, "# oom\n") && strstr(text, "# oom_heaps\n") &&
          strstr(text, "# oom_sites\n"));
    CHECK(strstr(text, "1,cuda:0,48,48000000,2,forward,62914560,") != NULL);
    ooms_clear(&ooms);
    db_close(db);
}

TEST(no_failure_for_programs)
{
    struct ooms none = {0};
    struct emit emit;
    const struct oom_part part = {.emit = &emit, .scope = &scope, .ooms = &none, .top = 2};
    emit_begin(&emit, EMIT_JSON, true, "test", NULL);
    oom_put_programs(&emit, &part, 1);
    const char *text = finish(&emit);
    CHECK(strstr(text, "\"oom\": []") != NULL);
    CHECK(strstr(text, "\"oom_sites\": []") != NULL);
}

TEST_MAIN(TEST_CASE(a_ladder_for_people), TEST_CASE(what_is_unattributed_is_always_said),
          TEST_CASE(a_ladder_of_one_rung), TEST_CASE(nothing_is_reserved_yet),
          TEST_CASE(pictures_fit_the_terminal), TEST_CASE(a_pipe_gets_no_picture),
          TEST_CASE(failures_for_people_and_programs), TEST_CASE(no_failure_for_programs))
