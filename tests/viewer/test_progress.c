/*
 * How the line of `record` gives way on narrow terminals: whole fields, the least important first.
 */
#include "progress.h"

#include <string.h>

#include "test.h"

static const char *line_at(const struct record_progress *now, unsigned width)
{
    static char text[256];
    struct buf line = {0};
    progress_line(&line, now, width);
    REQUIRE(!line.broken && line.count < sizeof text);
    CHECK(line.count < width);
    CHECK_INT(strlen(buf_string(&line)), line.count);
    strcpy(text, buf_string(&line));
    buf_clear(&line);
    return text;
}

static struct record_progress busy(uint64_t lost)
{
    return (struct record_progress){.run_ns = 754300000000,
                                    .totals = {.allocated = (uint64_t)23 << 29,
                                               .peak_allocated = (uint64_t)25 << 29,
                                               .allocs = 4567890,
                                               .events = 9876543,
                                               .lost = lost}};
}

TEST(losses_come_before_counts)
{
    struct record_progress now = busy(1234567);
    const char *whole = line_at(&now, 200);
    CHECK(strstr(whole, "  1,234,567 lost  4,567,890 blocks  9,876,543 events"));
    const char *usual = line_at(&now, 80);
    CHECK(strstr(usual, "  allocated 11.5 GiB  peak 12.5 GiB  1,234,567 lost"));
    CHECK(!strstr(usual, "events"));
}

TEST(nothing_lost_is_not_said)
{
    struct record_progress now = busy(0);
    CHECK(!strstr(line_at(&now, 200), "lost"));
    CHECK(strstr(line_at(&now, 200), " events"));
}

TEST(a_narrow_terminal_has_fewer_fields)
{
    struct record_progress now = busy(1234567);
    const char *line = line_at(&now, 40);
    CHECK(strstr(line, "  allocated 11.5 GiB"));
    CHECK(!strstr(line, "peak"));
}

/* Of each width, what is there is what the whole line begins with, up to the end of a field. */
TEST(only_whole_fields)
{
    struct record_progress now = busy(1234567);
    char whole[256];
    strcpy(whole, line_at(&now, 200));
    for (unsigned width = 1; width < 120; width++) {
        const char *line = line_at(&now, width);
        size_t bytes = strlen(line);
        CHECK(strncmp(line, whole, bytes) == 0);
        CHECK(bytes == 0 || whole[bytes] == '\0' || strncmp(whole + bytes, "  ", 2) == 0);
    }
}

/* Where stdout is the same terminal: line after line among the program's own would be too many. */
TEST(silences_have_to_grow)
{
    struct progress progress = {.patient = true, .silence_ns = 5000000000};
    struct record_progress now = {0};
    int begun = 0;
    for (int second = 0; second < 3600; second++) {
        now.run_ns = (uint64_t)second * 1000000000;
        now.written = (uint64_t)second / 60; /* it says something once a minute */
        if (progress_is_due(&progress, &now) && !progress.shown) {
            progress_drew(&progress, &now);
            begun++;
        }
    }
    CHECK_INT(begun, 4); /* after 5, 10, 20 and 40 seconds of silence */
}

TEST(a_line_stays_until_somebody_writes)
{
    struct progress progress = {.silence_ns = 2000000000};
    struct record_progress now = {.run_ns = 1900000000};
    CHECK(!progress_is_due(&progress, &now));
    now.run_ns = 2000000000;
    CHECK(progress_is_due(&progress, &now));
    progress_drew(&progress, &now);
    now.run_ns += 1;
    CHECK(progress_is_due(&progress, &now));
    CHECK(progress.shown);
    now.written++;
    now.run_ns += 1;
    CHECK(!progress_is_due(&progress, &now));
    CHECK(!progress.shown);
    now.run_ns += 2000000000;
    CHECK(progress_is_due(&progress, &now));
    CHECK_INT(progress.silence_ns, 2000000000);
}

/* A program that writes each second: `always` has a line each ten, `auto` none at all. */
static int lines_beside_a_talker(struct progress *progress, int seconds)
{
    struct record_progress now = {0};
    int begun = 0;
    for (int tenth = 0; tenth < seconds * 10; tenth++) {
        now.run_ns = (uint64_t)tenth * 100000000;
        now.written = (uint64_t)tenth / 10;
        if (!progress_is_due(progress, &now))
            continue;
        begun += !progress->shown;
        progress_drew(progress, &now);
    }
    return begun;
}

TEST(who_never_falls_silent)
{
    struct progress always = {.silence_ns = 2000000000, .stale_ns = 10000000000};
    struct progress usual = {.silence_ns = 2000000000};
    CHECK_INT(lines_beside_a_talker(&usual, 100), 0);
    /* The first at 10 s; it stays up to date until the program writes, 0.9 s later. */
    CHECK_INT(lines_beside_a_talker(&always, 100), 9);
}

/* A line that was replaced for long is not old when the program writes at last. */
TEST(what_was_replaced_is_not_stale)
{
    struct progress progress = {.silence_ns = 2000000000, .stale_ns = 10000000000};
    struct record_progress now = {0};
    for (int second = 2; second <= 60; second++) {
        now.run_ns = (uint64_t)second * 1000000000;
        CHECK(progress_is_due(&progress, &now));
        progress_drew(&progress, &now);
    }
    now.written++;
    for (int second = 61; second <= 69; second++) {
        now.run_ns = (uint64_t)second * 1000000000;
        now.written++;
        CHECK(!progress_is_due(&progress, &now));
    }
    now.run_ns = 70000000000;
    now.written++;
    CHECK(progress_is_due(&progress, &now));
    CHECK(!progress.shown);
}

TEST_MAIN(TEST_CASE(silences_have_to_grow), TEST_CASE(who_never_falls_silent),
          TEST_CASE(what_was_replaced_is_not_stale), TEST_CASE(a_line_stays_until_somebody_writes),
          TEST_CASE(losses_come_before_counts), TEST_CASE(nothing_lost_is_not_said),
          TEST_CASE(a_narrow_terminal_has_fewer_fields), TEST_CASE(only_whole_fields))
