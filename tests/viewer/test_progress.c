/*
 * How the line of `record` gives way on narrow terminals: whole fields, the least important first.
 */
#include "progress.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

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

/* ---- on a terminal ---- */

/* Makes a terminal ours, or only our stderr; what is written to it is read from the result. */
static int open_terminal(bool control)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    if (control) { /* each case is a process of its own, but the leader of nothing */
        REQUIRE(setsid() > 0 && ioctl(slave, TIOCSCTTY, 0) == 0);
        REQUIRE(tcgetpgrp(slave) == getpgrp());
    }
    REQUIRE(dup2(slave, STDERR_FILENO) == STDERR_FILENO);
    close(slave);
    return master;
}

/* Whether a line that is due comes. What we write after it comes after it. */
static bool draws(int master, struct progress *progress)
{
    char text[1024] = "";
    size_t bytes = 0;
    struct record_progress now = busy(0);
    progress_show(progress, &now);
    REQUIRE(write(STDERR_FILENO, "<end>", 5) == 5);
    while (!strstr(text, "<end>")) {
        ssize_t n = read(master, text + bytes, sizeof text - 1 - bytes);
        REQUIRE(n > 0);
        bytes += (size_t)n;
        text[bytes] = '\0';
    }
    CHECK(strstr(text, "tidemark: ") || strcmp(text, "<end>") == 0);
    return strstr(text, "tidemark: ") != NULL;
}

static void set_mode(tcflag_t off)
{
    struct termios settings;
    REQUIRE(tcgetattr(STDERR_FILENO, &settings) == 0);
    settings.c_lflag |= ICANON | ECHO;
    settings.c_lflag &= ~off;
    REQUIRE(tcsetattr(STDERR_FILENO, TCSANOW, &settings) == 0);
}

TEST(not_while_somebody_edits_a_line)
{
    struct progress progress = {.silence_ns = 2000000000};
    int master = open_terminal(true);
    set_mode(ICANON | ECHO);
    CHECK(!draws(master, &progress));
    set_mode(0);
    CHECK(draws(master, &progress));
    CHECK(progress.shown);
    set_mode(ECHO);
    CHECK(!draws(master, &progress));
    CHECK(!progress.shown);
}

TEST(not_from_the_background)
{
    struct progress progress = {.silence_ns = 2000000000};
    int master = open_terminal(true);
    pid_t other = fork();
    if (other == 0) {
        pause();
        _exit(0);
    }
    REQUIRE(setpgid(other, other) == 0 && tcsetpgrp(STDERR_FILENO, other) == 0);
    signal(SIGTTOU, SIG_IGN); /* else we could not take the terminal back */
    CHECK(!draws(master, &progress));
    REQUIRE(tcsetpgrp(STDERR_FILENO, getpgrp()) == 0);
    CHECK(draws(master, &progress));
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

TEST(a_terminal_of_nobody)
{
    struct progress progress = {.silence_ns = 2000000000};
    int master = open_terminal(false);
    CHECK(draws(master, &progress));
    set_mode(ICANON);
    CHECK(!draws(master, &progress));
}

TEST_MAIN(TEST_CASE(silences_have_to_grow), TEST_CASE(who_never_falls_silent),
          TEST_CASE(what_was_replaced_is_not_stale), TEST_CASE(a_line_stays_until_somebody_writes),
          TEST_CASE(losses_come_before_counts), TEST_CASE(nothing_lost_is_not_said),
          TEST_CASE(a_narrow_terminal_has_fewer_fields), TEST_CASE(only_whole_fields),
          TEST_CASE(not_while_somebody_edits_a_line), TEST_CASE(not_from_the_background),
          TEST_CASE(a_terminal_of_nobody))
