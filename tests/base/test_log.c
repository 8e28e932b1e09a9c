/*
 * What is said to people: one write for a line, cut where it is too long, levels, and what happens
 * where nobody listens. And the words for errors.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "human.h"
#include "test.h"

/* stderr becomes a socket that keeps the borders of writes; gives the other end. */
static int listen_to_stderr(int *saved)
{
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    *saved = dup(STDERR_FILENO);
    REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return ends[0];
}

static void stop_listening(int listener, int saved)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(listener);
}

/* The next write, or "" when there was none. */
static const char *heard(int listener)
{
    static char text[8192];
    ssize_t got = read(listener, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

TEST(a_line_is_one_write)
{
    int saved, listener = listen_to_stderr(&saved);
    char lines[4][8192];
    log_say(LOG_NOTE, "%s is %d", "it", 7);
    log_say(LOG_WARNING, "careful");
    log_say(LOG_ERROR, "%s", "");
    for (int i = 0; i < 4; i++)
        strcpy(lines[i], heard(listener));
    stop_listening(listener, saved);
    CHECK_STR(lines[0], "tidemark: it is 7\n");
    CHECK_STR(lines[1], "tidemark: warning: careful\n");
    CHECK_STR(lines[2], "tidemark: \n");
    CHECK_STR(lines[3], "");
}

/* At every length around the end of the line's room: one line, one newline, nothing beyond. */
TEST(a_long_line_is_cut)
{
    static char text[5000], got[8192];
    for (size_t length = 2000; length < 2100; length++) {
        int saved, listener = listen_to_stderr(&saved);
        memset(text, 'x', length);
        text[length] = '\0';
        log_say(LOG_NOTE, "%s", text);
        strcpy(got, heard(listener));
        bool more = *heard(listener) != '\0';
        stop_listening(listener, saved);
        size_t said = strlen(got), prefix = strlen("tidemark: ");
        CHECK(!more);
        CHECK(said <= 2048);
        CHECK_INT(got[said - 1], '\n');
        CHECK_INT(strcspn(got, "\n"), said - 1);
        CHECK(said == prefix + length + 1 || said >= 2047); /* no earlier than it must */
        CHECK_INT(strspn(got + prefix, "x"), said - prefix - 1);
    }
}

TEST(nothing_is_said_that_a_terminal_obeys)
{
    static const char *const said[][2] = {
        {"a\033[31mb\r\n\tc\177", "a?[31mb???c?"},
        {"caf\303\251 \302\233m \302\240", "caf\303\251 ??m \302\240"},
        {"\342\200\256x\342\201\246 \342\200\246", "???x??? \342\200\246"},
        {"\377\302", "\377\302"}, /* no UTF-8, and cut: obeyed by nobody */
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char wanted[64], line[8192];
        int saved, listener = listen_to_stderr(&saved);
        log_say(LOG_NOTE, "%s", said[i][0]);
        strcpy(line, heard(listener));
        stop_listening(listener, saved);
        snprintf(wanted, sizeof wanted, "tidemark: %s\n", said[i][1]);
        CHECK_STR(line, wanted);
    }
}

TEST(levels)
{
    static const char *const words[] = {"error", "warning", "note", "debug"};
    for (int shown = LOG_ERROR; shown <= LOG_DEBUG; shown++) {
        int saved, listener = listen_to_stderr(&saved);
        char got[4][128];
        log_set_level((enum log_level)shown);
        for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
            log_say((enum log_level)level, "%s", words[level]);
            snprintf(got[level], sizeof got[level], "%.100s", heard(listener));
        }
        stop_listening(listener, saved);
        for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
            CHECK((got[level][0] != '\0') == (level <= shown));
            CHECK(level > shown || strstr(got[level], words[level]) != NULL);
        }
    }
}

/* Nobody reads, or there is no stderr at all: said to nobody, and the program goes on. */
TEST(nobody_listens)
{
    int ends[2], saved = dup(STDERR_FILENO);
    signal(SIGPIPE, SIG_IGN);
    REQUIRE(pipe(ends) == 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    log_say(LOG_ERROR, "to a closed pipe");
    close(STDERR_FILENO);
    log_say(LOG_ERROR, "to nothing");
    int full = open("/dev/full", O_WRONLY);
    REQUIRE(full == STDERR_FILENO);
    log_say(LOG_ERROR, "to a full disk");
    dup2(saved, STDERR_FILENO);
    CHECK(true);
}

/* Many processes on one terminal: their lines are whole. */
TEST(lines_of_several_processes_do_not_mix)
{
    enum { WRITERS = 6, LINES = 200 };
    int saved = dup(STDERR_FILENO),
        file = open(test_path("log"), O_CREAT | O_RDWR | O_APPEND, 0600);
    static char line[4096];
    int count[WRITERS] = {0};
    REQUIRE(file >= 0);
    dup2(file, STDERR_FILENO);
    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            for (int k = 0; k < LINES; k++)
                log_say(LOG_NOTE, "writer %d line %d %0*d", i, k, 20 + k, i);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        continue;
    dup2(saved, STDERR_FILENO);
    FILE *in = fopen(test_path("log"), "r");
    REQUIRE(in != NULL);
    while (fgets(line, sizeof line, in)) {
        char want[4096];
        int i, k;
        REQUIRE(sscanf(line, "tidemark: writer %d line %d", &i, &k) == 2);
        REQUIRE(i >= 0 && i < WRITERS);
        CHECK_INT(k, count[i]);
        count[i]++;
        snprintf(want, sizeof want, "tidemark: writer %d line %d %0*d\n", i, k, 20 + k, i);
        CHECK_STR(line, want);
    }
    fclose(in);
    for (int i = 0; i < WRITERS; i++)
        CHECK_INT(count[i], LINES);
}

/* ---- errors ---- */

TEST(every_error_has_a_text_of_its_own)
{
    for (int a = 0; a >= ERR_LAST; a--) {
        REQUIRE(base_err_text(a) != NULL && *base_err_text(a));
        CHECK(strcmp(base_err_text(a), "unknown error") != 0);
        for (int b = 0; b > a; b--)
            CHECK(strcmp(base_err_text(a), base_err_text(b)) != 0);
    }
    CHECK_STR(base_err_text(7), base_err_text(0)); /* positive is success */
    CHECK_STR(base_err_text(ERR_LAST - 1), "unknown error");
    CHECK_STR(base_err_text(-2147483647 - 1), "unknown error");
}

TEST(every_errno_is_an_error)
{
    CHECK_INT(base_err_from_errno(0), BASE_OK);
    for (int number = 1; number < 200; number++) {
        int err = base_err_from_errno(number);
        CHECK(err < 0 && err >= ERR_LAST);
        CHECK(err != ERR_CORRUPT && err != ERR_NOTOURS && err != ERR_NEWER); /* not the kernel's */
    }
    CHECK_INT(base_err_from_errno(ENOMEM), ERR_NOMEM);
    CHECK_INT(base_err_from_errno(ENOSPC), ERR_FULL);
    CHECK_INT(base_err_from_errno(EFBIG), ERR_FULL);
    CHECK_INT(base_err_from_errno(EDQUOT), ERR_FULL);
    CHECK_INT(base_err_from_errno(EROFS), ERR_DENIED);
    CHECK_INT(base_err_from_errno(ENOTDIR), ERR_NOTFOUND);
    CHECK_INT(base_err_from_errno(EEXIST), ERR_EXISTS);
    CHECK_INT(base_err_from_errno(EIO), ERR_IO);
}

/* ---- the clock ---- */

TEST(the_clock_is_monotonic_and_counts_nanoseconds)
{
    struct timespec at;
    uint64_t before = clock_now_ns();
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t after = clock_now_ns();
    uint64_t between = (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
    CHECK(before <= between && between <= after);
    for (int i = 0; i < 1000; i++, before = after) {
        after = clock_now_ns();
        CHECK(after >= before);
    }
}

/* ---- numbers for people, at every power and around it ---- */

/* Reads the text back; within half of its last digit of what went in. */
static void check_bytes(int64_t bytes)
{
    static const struct {
        const char *name;
        double size;
    } units[] = {{"B", 1},
                 {"KiB", 1024.0},
                 {"MiB", 1048576.0},
                 {"GiB", 1073741824.0},
                 {"TiB", 1099511627776.0}};
    char text[HUMAN_MAX], name[8] = "";
    double value = 0;
    human_bytes(text, bytes);
    REQUIRE(strlen(text) < HUMAN_MAX && sscanf(text, "%lf %7s", &value, name) == 2);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].name, name) != 0)
            continue;
        const char *point = strchr(text, '.');
        double step = i == 0 ? 0 : point ? 0.05001 : 0.50001;
        double off = value - (double)bytes / units[i].size;
        CHECK(off <= step && -off <= step);
        CHECK(i == 0 || (point != NULL) == (value < 100 && value > -100));
        return;
    }
    test_check(false, __FILE__, __LINE__, text);
}

TEST(bytes_at_every_power_of_two)
{
    for (int bit = 0; bit < 63; bit++) {
        int64_t power = INT64_C(1) << bit;
        for (int64_t around = -2; around <= 2; around++) {
            check_bytes(power + around);
            check_bytes(-power - around);
        }
        check_bytes(power + power / 2);
    }
    check_bytes(INT64_MAX);
    check_bytes(INT64_MIN);
}

TEST(counts_with_commas_read_back)
{
    uint64_t seed = 5;
    for (int i = 0; i < 2000; i++) {
        int64_t n = (int64_t)(test_random(&seed) >> (test_random(&seed) % 64));
        char text[HUMAN_MAX], plain[HUMAN_MAX], want[HUMAN_MAX];
        if (test_random(&seed) % 2)
            n = i == 0 ? INT64_MIN : n < 0 ? n : -n;
        human_count(text, n);
        size_t digits = 0, length = strlen(text), at = 0;
        for (size_t k = 0; k < length; k++) {
            if (text[k] != ',')
                plain[at++] = text[k];
            CHECK((text[length - 1 - k] == ',') ==
                  (k % 4 == 3 && k + 1 < length && text[length - 1 - k] != '-'));
            digits += text[k] >= '0' && text[k] <= '9';
        }
        plain[at] = '\0';
        snprintf(want, sizeof want, "%lld", (long long)n);
        CHECK_STR(plain, want);
        CHECK(digits > 0 && text[0] != ',');
    }
}

TEST_MAIN(TEST_CASE(nothing_is_said_that_a_terminal_obeys), TEST_CASE(a_line_is_one_write),
          TEST_CASE(a_long_line_is_cut), TEST_CASE(levels), TEST_CASE(nobody_listens),
          TEST_CASE(lines_of_several_processes_do_not_mix),
          TEST_CASE(every_error_has_a_text_of_its_own), TEST_CASE(every_errno_is_an_error),
          TEST_CASE(the_clock_is_monotonic_and_counts_nanoseconds),
          TEST_CASE(bytes_at_every_power_of_two), TEST_CASE(counts_with_commas_read_back))
