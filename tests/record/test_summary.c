/* The closing lines, when every name in them wants to be obeyed by a terminal. */
#include "summary.h"

#include <string.h>

#include "batch.h"
#include "test.h"

static const char evil[] =
    "a\033[2J\ntidemark: all is well\r\x7f\xc2\x9b" /* CSI */ "b\xe2\x80\xae";
static const char shown[] = "a\\x1b[2J\\ntidemark: all is well\\x0d\\x7f\\u009bb\\u202e";

/* Each line begins as ours do, and nothing in it is obeyed. */
static void check_lines(const char *text, unsigned lines)
{
    unsigned count = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1, count++)
        CHECK(strncmp(at, "tidemark: ", 10) == 0);
    for (const char *at = text; *at; at++)
        CHECK((*at >= ' ' || *at == '\n') && *at != 0x7f);
    CHECK(!strstr(text, "\xc2\x9b") && !strstr(text, "\xe2\x80\xae"));
    CHECK_INT(count, lines);
}

static void check(struct summary *summary, unsigned lines, unsigned names)
{
    struct buf text = {0};
    summary_text(summary, &text);
    REQUIRE(!text.broken);
    check_lines(buf_string(&text), lines);
    unsigned found = 0;
    for (const char *at = buf_string(&text); (at = strstr(at, shown)); at++)
        found++;
    CHECK_INT(found, names);
    buf_clear(&text);
    summary_clear(summary);
}

TEST(names_of_what_ran)
{
    struct summary summary = {.processes = 1};
    summary.totals = (struct state_totals){.events = 1,
                                           .allocs = 1,
                                           .peak_allocated = 1,
                                           .peak_step = BATCH_NULL,
                                           .peak_rank = BATCH_NULL};
    strcpy(summary.totals.peak_phase, evil);
    strncpy(summary.totals.peak_device_name, "\033c\n", 4);
    buf_text(&summary.file, evil);
    buf_text(&summary.silent, evil);
    summary_hint(&summary, "%s", evil);
    check(&summary, 7, 4);
}

TEST(names_of_the_driver)
{
    struct summary summary = {.totals = {.peak_given = 1}};
    strncpy(summary.totals.given_device_name, "\033c\n", 4);
    buf_text(&summary.removed, evil);
    check(&summary, 4, 1);
}

/* Who took no part lost nothing, and that is not what matters. */
TEST(nothing_was_recorded)
{
    static const char *const before[] = {
        "nothing was recorded: libtidemark.so was not loaded into the program: ",
        "nothing was recorded: the program itself did not take part: ", "nothing was recorded: "};
    for (unsigned i = 0; i < 3; i++) {
        struct summary summary = {.processes = 1};
        struct buf text = {0}, want = {0};
        buf_text(&summary.strayed, shown);
        buf_text(i == 0   ? &summary.unloaded
                 : i == 1 ? &summary.silent
                          : &summary.strayed,
                 i < 2 ? shown : "");
        buf_print(&want, "tidemark: %s%s\n", before[i], shown);
        summary_text(&summary, &text);
        check_lines(buf_string(&text), i < 2 ? 3 : 4);
        CHECK(strstr(buf_string(&text), buf_string(&want)));
        CHECK(!strstr(buf_string(&text), "nothing was lost"));
        CHECK_INT(strstr(buf_string(&text), "what ran uses neither") != NULL, i == 2);
        buf_clear(&text);
        summary.totals.lost = 2; /* and none stored */
        summary_text(&summary, &text);
        CHECK(strstr(buf_string(&text), "2 events were lost"));
        summary.totals.lost = 0;
        summary.may_miss = true;
        buf_clear(&text);
        summary_text(&summary, &text);
        CHECK(strstr(buf_string(&text), "processes may be missing"));
        summary.may_miss = false;
        buf_clear(&text);
        summary.totals.events = 1; /* of a process that it started */
        summary_text(&summary, &text);
        CHECK(!strstr(buf_string(&text), "nothing was recorded"));
        CHECK(strstr(buf_string(&text), "nothing was lost"));
        buf_clear(&text);
        buf_clear(&want);
        summary_clear(&summary);
    }
}

TEST(reasons)
{
    struct summary summary = {0};
    buf_text(&summary.stopped, evil);
    check(&summary, 4, 1);
    buf_text(&summary.failure, evil);
    check(&summary, 1, 1);
    struct summary moved = {0};
    buf_text(&moved.moved, evil);
    check(&moved, 4, 1);
}

/* It lives: what ended is the recording. */
TEST(a_program_that_was_left_running_was_not_killed)
{
    for (unsigned blocks = 0; blocks < 2; blocks++) {
        struct summary summary = {.let_go = 15};
        struct buf text = {0};
        summary.totals = (struct state_totals){.allocs = blocks,
                                               .peak_allocated = blocks,
                                               .peak_step = BATCH_NULL,
                                               .peak_rank = BATCH_NULL,
                                               .has_source = true};
        buf_text(&summary.file, "x.db");
        summary_text(&summary, &text);
        CHECK(strstr(buf_string(&text), "signal 15 to the recorder"));
        CHECK(!strstr(buf_string(&text), "killed"));
        buf_clear(&text);
        summary_clear(&summary);
    }
}

/* A rank is what its program goes by; a process's number only where there is none. */
TEST(the_peak_is_of_a_rank)
{
    const struct {
        int64_t rank;
        uint64_t processes;
        const char *end;
    } cases[] = {{17, 33, ", step 3, rank 17\n"},
                 {0, 1, ", step 3, rank 0\n"},
                 {BATCH_NULL, 3, ", step 3, process 2\n"},
                 {BATCH_NULL, 1, ", step 3\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summary summary = {.processes = cases[i].processes};
        struct buf text = {0};
        summary.totals = (struct state_totals){.allocs = 1,
                                               .peak_allocated = 1,
                                               .peak_step = 3,
                                               .peak_process = 2,
                                               .peak_rank = cases[i].rank};
        summary_text(&summary, &text);
        CHECK(strstr(buf_string(&text), cases[i].end));
        buf_clear(&text);
        summary_clear(&summary);
    }
}

TEST_MAIN(TEST_CASE(the_peak_is_of_a_rank), TEST_CASE(names_of_what_ran),
          TEST_CASE(names_of_the_driver), TEST_CASE(nothing_was_recorded), TEST_CASE(reasons),
          TEST_CASE(a_program_that_was_left_running_was_not_killed))
