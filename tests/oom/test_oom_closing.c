/*
 * The lines that `tidemark record` adds where an allocation failed.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "mem.h"
#include "oom_closing.h"
#include "program.h"
#include "test.h"

#define MIB (INT64_C(1) << 20)

/* 18 MiB live in a segment of 20, and so many bytes are refused under a limit of 40 MiB. */
static const char *closing(int64_t asked, const char *more)
{
    static struct buf text;
    static char copy[4096];
    char sql[2048];
    remove(test_path("closing.db"));
    struct db *db = program_database("closing.db", "cuda");
    snprintf(sql, sizeof sql,
             "INSERT INTO segment VALUES(1,1,33554432,20971520,100,NULL,NULL,NULL);"
             "INSERT INTO "
             "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
             "segment) VALUES(2,1,33554432,8388608,8388608,100,-70368744177664,"
             "-2147483648,NULL,NULL,1);"
             "INSERT INTO setting VALUES(1,1,'limit','41943040');"
             "INSERT INTO oom VALUES(3,1,1,9,200,%lld,8388608,20971520,NULL);%s",
             (long long)asked, more);
    REQUIRE(db_exec(db, sql) == 0);
    db_close(db);
    oom_closing_text(test_path("closing.db"), &text);
    snprintf(copy, sizeof copy, "%s", buf_string(&text));
    buf_clear(&text);
    return copy;
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (const char *at = text; *at; lines++, at = strchr(at, '\n') + 1)
        if (strncmp(at, "tidemark: ", 10) != 0)
            return SIZE_MAX;
    return lines;
}

/* 12 MiB in holes and 20 not reserved are 32, and 8 live. */
TEST(more_than_there_is)
{
    const char *text = closing(36 * MIB, "");
    CHECK(strstr(text, "tidemark: out of memory: 36.0 MiB on cuda:0\n") != NULL);
    CHECK(
        strstr(text, "of 40.0 MiB: 8.0 MiB allocated, 12.0 MiB in holes, 20.0 MiB not reserved\n"));
    CHECK(strstr(text, "so 4.0 MiB too few, however it is arranged\n") != NULL);
    CHECK(strstr(
        text,
        "by replay, no setting lets it through; with 56.0 MiB for the allocator it gets past\n"));
    CHECK(strstr(text, "pinned") == NULL);
    CHECK(strstr(text, "why, and changes that lower the peak: tidemark peak ") != NULL);
    CHECK_INT(lines_of(text), 5);
}

TEST(enough_but_not_in_one_piece)
{
    const char *text = closing(30 * MIB, "");
    CHECK(strstr(text, "so enough is free, but the largest hole has 12.0 MiB\n") != NULL);
    CHECK(strstr(text, "pinned first of all by a call that is not known: 1 block, 8.0 MiB"));
    CHECK(strstr(text, "too few") == NULL);
    CHECK(lines_of(text) <= 8);
}

/* The replay gets it through: nothing is said about settings. */
TEST(a_hole_that_was_passed_by)
{
    const char *text = closing(4 * MIB, "");
    CHECK(strstr(text, "so a hole is large enough") != NULL);
    CHECK(strstr(text, "replay") == NULL);
    CHECK(lines_of(text) <= 8);
}

TEST(the_last_of_many)
{
    const char *text = closing(36 * MIB, "INSERT INTO oom VALUES(9,1,1,9,300,1073741824,NULL,NULL,"
                                         "NULL),(7,1,1,9,300,1,NULL,NULL,NULL)");
    CHECK(strstr(text, "out of memory: 1024 MiB on cuda:0\n") != NULL);
    CHECK(strstr(text, "2 more failed before it\n") != NULL);
}

TEST(after_many_events)
{
    char more[80];
    snprintf(more, sizeof more, "UPDATE oom SET seq = %d", OOM_CLOSING_EVENTS + 1);
    const char *text = closing(36 * MIB, more);
    CHECK(strstr(text, "too few") != NULL); /* what takes no replay is said */
    CHECK(strstr(text, "by replay") == NULL);
    CHECK(strstr(text, "tidemark frag --oom ") != NULL);
    snprintf(more, sizeof more, "UPDATE oom SET seq = %d", OOM_CLOSING_EVENTS);
    CHECK(strstr(closing(36 * MIB, more), "by replay") != NULL);
}

TEST(nothing_is_known)
{
    const char *text = closing(36 * MIB, "UPDATE oom SET allocated = NULL, reserved = NULL;"
                                         "DELETE FROM segment; DELETE FROM setting");
    CHECK(strstr(text, "out of memory: 36.0 MiB on cuda:0\n") != NULL);
    CHECK_INT(lines_of(text), 2);
}

/* Of two devices, and the failure names none. */
TEST(a_device_that_is_not_known)
{
    const char *text = closing(36 * MIB, "UPDATE oom SET device = NULL;"
                                         "INSERT INTO device VALUES(5,'cuda',1,'x',1000);"
                                         "INSERT INTO heap VALUES(9,1,5,0,0,NULL)");
    CHECK_STR(text, "tidemark: out of memory: 36.0 MiB on a device that is not known, process 1\n");
}

TEST(nothing_failed_or_nothing_can_be_read)
{
    struct buf text = {0};
    CHECK_STR(closing(1, "DELETE FROM oom"), "");
    oom_closing_text(test_path("not there.db"), &text);
    CHECK_INT(text.count, 0);
    FILE *file = fopen(test_path("text.db"), "w");
    REQUIRE(file != NULL);
    fputs("no database", file);
    fclose(file);
    oom_closing_text(test_path("text.db"), &text);
    CHECK_INT(text.count, 0);
    buf_clear(&text);
}

TEST(without_memory)
{
    closing(36 * MIB, "");
    for (long n = 1; n < 400; n++) {
        struct buf text = {0};
        mem_fail_after(n);
        oom_closing_text(test_path("closing.db"), &text);
        mem_fail_after(0);
        CHECK(text.broken || lines_of(buf_string(&text)) <= 5);
        buf_clear(&text);
    }
}

/* Names come from anybody's program. */
TEST(names_that_a_terminal_would_obey)
{
    static char evil[] = "a\033[2J\ntidemark: all is well\x7f\xc2\x9b";
    struct oom_place place = {.processes = 1, .device_text = "cuda\033c\n"};
    struct frag_site site = {.shown = evil, .purpose = PURPOSE_ACTIVATION};
    struct oom oom = {.asked = MIB, .step = OOM_NONE, .phase = evil, .shown = evil};
    struct oom_setting setting = {.text = evil, .through = OOM_PERHAPS};
    struct oom_fit fit = {.short_by = OOM_NONE, .state = OOM_FIT_DONE, .helping = 1, .count = 1};
    struct buf text = {0};
    oom.allocated = oom.reserved = OOM_NONE;
    oom.verdict = OOM_SCATTERED;
    oom.frag.sites = &site;
    oom.frag.site_count = 1;
    fit.settings[0] = setting;
    oom_closing_put(&place, &oom, &fit, evil, &text);
    REQUIRE(!text.broken);
    CHECK(lines_of(buf_string(&text)) != SIZE_MAX);
    for (const char *at = buf_string(&text); *at; at++)
        CHECK((*at >= ' ' || *at == '\n' || (*at & 0x80)) && *at != 0x7f);
    CHECK(!strstr(buf_string(&text), "\xc2\x9b"));
    size_t found = 0;
    for (const char *at = buf_string(&text);
         (at = strstr(at, "a\\x1b[2J\\ntidemark: all is well\\x7f\\u009b")); at++)
        found++;
    CHECK_INT(found, 4);
    buf_clear(&text);
}

TEST_MAIN(TEST_CASE(more_than_there_is), TEST_CASE(enough_but_not_in_one_piece),
          TEST_CASE(a_hole_that_was_passed_by), TEST_CASE(the_last_of_many),
          TEST_CASE(after_many_events), TEST_CASE(nothing_is_known),
          TEST_CASE(a_device_that_is_not_known), TEST_CASE(nothing_failed_or_nothing_can_be_read),
          TEST_CASE(without_memory), TEST_CASE(names_that_a_terminal_would_obey))
