#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "check_limits.h"
#include "buf.h"
#include "commands.h"
#include "db.h"
#include "error.h"
#include "junit.h"
#include "mem.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- what is measured ---- */

static struct check_scope all_of(struct db *db)
{
    return (struct check_scope){db, 1, 1, INT64_MIN, INT64_MAX};
}

static struct check_finding limit(int64_t bytes)
{
    return (struct check_finding){.check = "a check", .limit = bytes};
}

/* Measures and judges. */
static void judge(int (*measure)(const struct check_scope *, struct check_finding *),
                  const struct check_scope *scope, struct check_finding *finding,
                  enum check_result wanted)
{
    const char *missing;
    CHECK_INT(measure(scope, finding), 0);
    CHECK_INT(check_missing(scope, &missing), 0);
    check_judge(finding, missing);
    CHECK(check_is_valid(finding));
    CHECK_INT(finding->result, wanted);
}

TEST(the_peak_and_who_made_it)
{
    struct db *db = recording("train");
    struct check_scope scope = all_of(db);
    struct check_finding finding = limit(4531945472);
    judge(check_peak, &scope, &finding, CHECK_PASSED);
    CHECK_INT(finding.value, 4531945472);
    CHECK_INT(finding.step, 1);
    CHECK_STR(finding.phase, "backward");
    CHECK_STR(finding.site, "main (train.py:80) > backward (_tensor.py:487)");
    check_clear(&finding);
    finding = limit(4531945471); /* one byte less */
    judge(check_peak, &scope, &finding, CHECK_FAILED);
    check_clear(&finding);
    scope.first_step = scope.last_step = 0;
    finding = limit(4531945471);
    judge(check_peak, &scope, &finding, CHECK_PASSED);
    CHECK_INT(finding.step, 0);
    check_clear(&finding);
    scope.first_step = scope.last_step = 7;
    finding = limit(1);
    judge(check_peak, &scope, &finding, CHECK_UNKNOWN);
    CHECK(!finding.known);
    check_clear(&finding);
    db_close(db);
}

TEST(reserved_and_fragmentation)
{
    struct db *db = recording("train");
    struct check_scope scope = all_of(db);
    struct check_finding finding = limit(MIB(4000));
    judge(check_reserved, &scope, &finding, CHECK_FAILED);
    CHECK_INT(finding.value, MIB(4340));
    CHECK_STR(finding.phase, "backward"); /* where it got there, not where it stayed */
    CHECK_INT(finding.step, 1);
    check_clear(&finding);
    scope.last_step = scope.first_step = 0;
    finding = limit(MIB(4000));
    judge(check_reserved, &scope, &finding, CHECK_PASSED);
    CHECK_INT(finding.value, MIB(3500));
    check_clear(&finding);
    finding = limit(0); /* the first step does not count */
    judge(check_fragmentation, &scope, &finding, CHECK_UNKNOWN);
    check_clear(&finding);
    scope = all_of(db);
    finding = limit(0);
    finding.limit_ratio = 0.0028;
    judge(check_fragmentation, &scope, &finding, CHECK_FAILED);
    CHECK(finding.ratio > 10485760.0 / 3670016000 - 1e-9);
    CHECK_INT(finding.step, 1);
    check_clear(&finding);
    REQUIRE(db_exec(db, "UPDATE phase_device SET inactive_split = NULL, max_reserved = NULL") == 0);
    finding = limit(MIB(4000));
    judge(check_fragmentation, &scope, &finding, CHECK_UNKNOWN);
    judge(check_reserved, &scope, &finding, CHECK_UNKNOWN);
    CHECK(finding.phase == NULL && !finding.known);
    db_close(db);
}

TEST(growth)
{
    struct db *db = recording("leaks");
    struct check_scope scope = all_of(db);
    struct check_finding finding = limit(MIB(1) + 569);
    judge(check_left, &scope, &finding, CHECK_PASSED); /* 1 MiB and 5 KiB in 9 steps */
    CHECK_INT(finding.value, MIB(1) + 569);
    CHECK_STR(finding.site, "remember (leak.py:10)");
    check_clear(&finding);
    scope.first_step = 8; /* two steps that count */
    finding = limit(MIB(100));
    judge(check_left, &scope, &finding, CHECK_UNKNOWN);
    check_clear(&finding);
    scope = all_of(db);
    scope.first_step = 9;
    finding = limit(MIB(100));
    judge(check_slope, &scope, &finding, CHECK_PASSED);
    check_clear(&finding);
    scope.first_step = 10;
    finding = limit(MIB(100));
    judge(check_slope, &scope, &finding, CHECK_UNKNOWN);
    check_clear(&finding);
    REQUIRE(db_exec(db, "UPDATE allocation SET site = 4, size = 8388608 WHERE site IS NULL") == 0);
    scope = all_of(db);
    finding = limit(MIB(100));
    judge(check_left, &scope, &finding, CHECK_PASSED);
    CHECK_STR(finding.site, "step (leak.py:40)"); /* likely, and most of it */
    check_clear(&finding);
    db_close(db);
}

/* A straight line has its own slope, whatever the first step was, and an open step does not count.
 */
TEST(the_slope_of_a_line)
{
    struct db *db = recording("leaks");
    struct check_scope scope = all_of(db);
    struct check_finding finding = limit(MIB(3));
    REQUIRE(db_exec(db, "UPDATE phase_device SET peak_allocated = 1000000000 + 3145728 *"
                        " (SELECT step FROM phase WHERE id = phase);"
                        "UPDATE phase_device SET peak_allocated = 9000000000 WHERE phase = 1;"
                        "UPDATE phase_device SET peak_allocated = 0 WHERE phase = 23;"
                        "UPDATE phase_device SET peak_allocated = 7 WHERE phase = 24;"
                        "UPDATE phase SET end_seq = NULL WHERE id = 24") == 0);
    judge(check_slope, &scope, &finding, CHECK_PASSED);
    CHECK_INT(finding.value, MIB(3));
    CHECK(strncmp(finding.note, "peaks of steps 1 to 10: ", 24) == 0);
    finding = limit(MIB(3) - 1);
    judge(check_slope, &scope, &finding, CHECK_FAILED);
    REQUIRE(db_exec(db, "UPDATE phase_device SET peak_allocated = 1000000000 - 1048576 *"
                        " (SELECT step FROM phase WHERE id = phase)") == 0);
    finding = limit(0);
    judge(check_slope, &scope, &finding, CHECK_PASSED);
    CHECK_INT(finding.value, -MIB(1));
    db_close(db);
}

TEST(what_must_not_happen)
{
    struct db *db = recording("ranks");
    struct check_scope scope = {db, 2, 2, INT64_MIN, INT64_MAX};
    struct check_finding finding = limit(0);
    judge(check_oom, &scope, &finding, CHECK_FAILED);
    CHECK_INT(finding.value, 1);
    CHECK_STR(finding.phase, "other");
    CHECK_STR(finding.note, "2048 MiB was refused on cuda:1");
    check_clear(&finding);
    finding = limit(0);
    judge(check_lost, &scope, &finding, CHECK_FAILED);
    CHECK_INT(finding.value, 1042);
    CHECK_STR(finding.note, "block_free 1030, block_alloc 12");
    scope.process = 3; /* nothing failed, but who knows: it was cut off */
    finding = limit(0);
    judge(check_oom, &scope, &finding, CHECK_UNKNOWN);
    CHECK(finding.known && finding.why_not);
    check_clear(&finding);
    db_close(db);
}

/* Above the limit is above it, whatever is missing; below it is not known then. */
TEST(what_is_missing_may_matter)
{
    struct db *db = recording("train");
    struct check_scope scope = all_of(db);
    struct check_finding finding = limit(MIB(5000));
    REQUIRE(db_exec(db, "INSERT INTO lost VALUES(1, 100, 110, 1, 2, 'block_alloc', 3)") == 0);
    judge(check_peak, &scope, &finding, CHECK_UNKNOWN);
    CHECK_STR(finding.why_not, "events were lost");
    CHECK_INT(finding.value, 4531945472);
    check_clear(&finding);
    finding = limit(MIB(10));
    judge(check_peak, &scope, &finding, CHECK_FAILED);
    check_clear(&finding);
    scope.first_step = scope.last_step = 0; /* which was over before */
    finding = limit(MIB(5000));
    judge(check_peak, &scope, &finding, CHECK_PASSED);
    check_clear(&finding);
    REQUIRE(db_exec(db, "UPDATE meta SET value = 0 WHERE key = 'finished'") == 0);
    finding = limit(MIB(5000));
    judge(check_peak, &scope, &finding, CHECK_UNKNOWN);
    check_clear(&finding);
    db_close(db);
}

static enum check_result against(const struct check_increase *more, struct check_finding *finding)
{
    struct diff_side sides[DIFF_SIDES] = {{recording("before"), 1, 1, 0},
                                          {recording("after"), 2, 1, 0}};
    *finding = limit(0);
    CHECK_INT(check_against(sides, more, INT64_MIN, INT64_MAX, finding), 0);
    check_judge(finding, NULL);
    CHECK(check_is_valid(finding));
    db_close(sides[DIFF_A].db);
    db_close(sides[DIFF_B].db);
    return finding->result;
}

/* 305 MiB before, 340 MiB after. */
TEST(more_than_the_baseline)
{
    struct check_finding finding;
    CHECK_INT(against(&(struct check_increase){false, MIB(35), 0}, &finding), CHECK_PASSED);
    CHECK_INT(finding.limit, MIB(340));
    CHECK(finding.site == NULL);
    check_clear(&finding);
    CHECK_INT(against(&(struct check_increase){false, MIB(35) - 1, 0}, &finding), CHECK_FAILED);
    CHECK_STR(finding.site, "decode (train.py:61) > linear (functional.py:1916)");
    CHECK_STR(finding.phase, "forward > metrics");
    CHECK_STR(finding.note, "baseline 305 MiB at the peak of step 1, backward");
    check_clear(&finding);
    CHECK_INT(against(&(struct check_increase){true, 0, 0.10}, &finding), CHECK_FAILED);
    CHECK_INT(finding.limit, (int64_t)(1.1 * 305 * 1048576));
    check_clear(&finding);
    CHECK_INT(against(&(struct check_increase){true, 0, 0.12}, &finding), CHECK_PASSED);
    check_clear(&finding);
    CHECK_INT(against(&(struct check_increase){true, 0, 1e300}, &finding), CHECK_PASSED);
    check_clear(&finding);
}

/* ---- the limits ---- */

static int read_limits(const char *text, struct check_limits *limits, struct check_file *file,
                       char message[640])
{
    *limits = (struct check_limits)CHECK_LIMITS;
    *message = '\0';
    return check_file_read("ci/limits.txt", text, strlen(text), limits, file, message, 640);
}

TEST(a_file_of_limits)
{
    struct check_limits limits;
    struct check_file file;
    char message[640];
    CHECK_INT(read_limits("# for the card\n\n  max-peak = 20GiB # all of it\r\n"
                          "max-reserved=1.5g\nmax-fragmentation = 12.5 %\nno-oom = yes\n"
                          "no-lost = no\nmax-growth = 0\n\tbaseline = good run#1.db\n"
                          "max-increase = 5%",
                          &limits, &file, message),
              0);
    CHECK_STR(message, "");
    CHECK_INT(limits.max_peak, MIB(20480));
    CHECK_INT(limits.max_reserved, MIB(1536));
    CHECK(limits.max_fragmentation > 0.1249 && limits.max_fragmentation < 0.1251);
    CHECK(limits.no_oom && !limits.no_lost && !limits.allow_unknown);
    CHECK_INT(limits.max_growth, 0);
    CHECK_STR(limits.baseline, "ci/good run#1.db");
    CHECK(limits.max_increase.is_share && limits.max_increase.share > 0.0499);
    CHECK(check_limits_any(&limits));
    check_file_clear(&file);
    CHECK_INT(read_limits("baseline = /run/good.db\nbaseline=/x.db\n", &limits, &file, message), 0);
    CHECK_STR(limits.baseline, "/x.db");
    check_file_clear(&file);
    CHECK_INT(read_limits("", &limits, &file, message), 0);
    CHECK(!check_limits_any(&limits));
    check_file_clear(&file);
}

TEST(bad_lines_have_a_number)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"max-peak = 1G\nmax-peek = 1G\n",
         "ci/limits.txt:2: unknown limit 'max-peek'; did you mean 'max-peak'?"},
        {"colour = red", "ci/limits.txt:1: unknown limit 'colour'"},
        {"steps = 1..2", "ci/limits.txt:1: unknown limit 'steps'"},
        {"\n\nmax-peak\n", "ci/limits.txt:3: a line is 'name = value', not 'max-peak'"},
        {"max-peak =\n", "ci/limits.txt:1: max-peak has no value"},
        {"max-peak = # 1G\n", "ci/limits.txt:1: max-peak has no value"},
        {"= 5\n", "ci/limits.txt:1: unknown limit ''"},
        {"max-peak = much\n",
         "ci/limits.txt:1: max-peak needs a size such as 24GiB or 512M, not 'much'"},
        {"max-peak = -1\n",
         "ci/limits.txt:1: max-peak needs a size such as 24GiB or 512M, not '-1'"},
        {"no-oom = maybe\n", "ci/limits.txt:1: no-oom is yes or no, not 'maybe'"},
        {"max-fragmentation = 101%\n",
         "ci/limits.txt:1: max-fragmentation needs a percentage from 0 to 100, not '101%'"},
        {"max-fragmentation = 1 % 2\n",
         "ci/limits.txt:1: max-fragmentation needs a percentage from 0 to 100, not '1 % 2'"},
        {"max-increase = 5\n", "ci/limits.txt:1: max-increase needs a percentage such as 5% or a "
                               "size such as 200MiB, not '5'"},
        {"max-increase = -5%\n", "ci/limits.txt:1: max-increase needs a percentage such as 5% or "
                                 "a size such as 200MiB, not '-5%'"},
    };
    struct check_limits limits;
    struct check_file file;
    char message[640];
    for (size_t i = 0; i < COUNT(cases); i++) {
        CHECK_INT(read_limits(cases[i].text, &limits, &file, message), ERR_ARG);
        CHECK_STR(message, cases[i].says);
        check_file_clear(&file);
    }
    limits = (struct check_limits)CHECK_LIMITS;
    CHECK_INT(check_file_read("l", "no-oom = yes\nno-\0lost", 21, &limits, &file, message, 640),
              ERR_ARG);
    CHECK_STR(message, "l:2: this is not text: it has a zero byte");
    check_file_clear(&file);
}

/* Whatever is in the file: it is taken, or it is refused with a line. */
TEST(any_bytes_at_all)
{
    static const char *const words[] = {"max-peak", "=",    " ",        "\n",     "#",
                                        "20GiB",    "5%",   "\r\n",     "no-oom", "yes",
                                        "\xff\xfe", "\x01", "baseline", "/",      "max-increase"};
    struct check_limits limits;
    struct check_file file;
    char message[640], prefix[] = "ci/limits.txt:";
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t random = seed;
        struct buf text = {0};
        for (int i = 0; i < 12; i++)
            buf_text(&text, words[test_random(&random) % COUNT(words)]);
        int err = read_limits(buf_string(&text), &limits, &file, message);
        CHECK(err == 0 || (err == ERR_ARG && strncmp(message, prefix, strlen(prefix)) == 0 &&
                           atoi(message + strlen(prefix)) > 0));
        check_file_clear(&file);
        buf_clear(&text);
    }
}

TEST(limits_that_make_sense_together)
{
    struct check_limits limits = CHECK_LIMITS;
    char message[320];
    CHECK(!check_limits_fit(&limits, message, sizeof message));
    limits.allow_unknown = true; /* is no limit */
    CHECK(!check_limits_fit(&limits, message, sizeof message));
    limits.no_lost = true;
    CHECK(check_limits_fit(&limits, message, sizeof message));
    limits.baseline = "x.db";
    CHECK(!check_limits_fit(&limits, message, sizeof message));
    limits.increase = "1GiB";
    CHECK(check_limits_fit(&limits, message, sizeof message));
    CHECK(check_limits_settle(&limits, message, sizeof message));
    CHECK(!limits.max_increase.is_share);
    CHECK_INT(limits.max_increase.bytes, MIB(1024));
    limits.increase = "0";
    CHECK(check_limits_settle(&limits, message, sizeof message));
    CHECK_INT(limits.max_increase.bytes, 0);
    limits.baseline = NULL;
    CHECK(!check_limits_fit(&limits, message, sizeof message));
}

/* ---- JUnit ---- */

/* What Python makes of it, as its repr() has it. */
static void check_xml(const char *xml, const char *program, const char *wanted)
{
    char command[1024], got[1024] = "";
    FILE *file = fopen(test_path("out.xml"), "wb");
    REQUIRE(file != NULL);
    fputs(xml, file);
    fclose(file);
    snprintf(command, sizeof command,
             "python3 -c 'import sys, xml.etree.ElementTree as e\nr = e.parse(sys.argv[1])"
             ".getroot()\n%s' '%s'",
             program, test_path("out.xml"));
    FILE *pipe = popen(command, "r");
    REQUIRE(pipe != NULL);
    got[fread(got, 1, sizeof got - 1, pipe)] = '\0';
    CHECK_INT(pclose(pipe), 0);
    CHECK_STR(got, wanted);
}

TEST(junit_with_names_that_bite)
{
    static const struct junit_case cases[] = {
        {"<&>\"'", "]]>", JUNIT_PASSED, "a < b && c ]]> d\n\te"},
        {"\x01\x1b[31m", "\xff\xc0\x80", JUNIT_FAILED, "<!-- \xed\xa0\x80 \xef\xbf\xbe -->"},
        {"gr\xc3\xb6\xc3\x9f"
         "e \xf0\x9f\x98\x80",
         "", JUNIT_SKIPPED, NULL},
    };
    struct buf out = {0};
    junit_put(&out, "a \"suite\" & more", cases, COUNT(cases));
    CHECK(!out.broken);
    check_xml(buf_string(&out), "s = r[0]\nprint(r.tag, s.tag, ascii(s.attrib))",
              "testsuites testsuite {'name': 'a \"suite\" & more', 'tests': '3', 'failures': '1', "
              "'errors': '0', 'skipped': '1'}\n");
    check_xml(buf_string(&out), "for c in r[0]: print(ascii(c.attrib))",
              "{'classname': '<&>\"\\'', 'name': ']]>'}\n"
              "{'classname': '\\ufffd\\ufffd[31m', 'name': '\\ufffd\\ufffd\\ufffd'}\n"
              "{'classname': 'gr\\xf6\\xdfe \\U0001f600', 'name': ''}\n");
    check_xml(buf_string(&out),
              "for c in r[0]: print(c[0].tag, ascii(c[0].text), ascii(c[0].attrib))",
              "system-out 'a < b && c ]]> d\\n\\te' {}\n"
              "failure None {'message': '<!-- \\ufffd\\ufffd\\ufffd \\ufffd -->'}\n"
              "skipped None {'message': ''}\n");
    buf_clear(&out);
}

TEST(junit_with_any_bytes)
{
    struct junit_case cases[40];
    static char texts[40][40];
    struct buf out = {0};
    uint64_t seed = 7;
    for (size_t i = 0; i < 40; i++) {
        for (size_t j = 0; j + 1 < sizeof texts[i]; j++)
            texts[i][j] = (char)(test_random(&seed) % 255 + 1);
        cases[i] =
            (struct junit_case){texts[i], texts[i] + 5, (enum junit_result)(i % 3), texts[i] + 9};
    }
    junit_put(&out, "any", cases, 40);
    check_xml(buf_string(&out), "print(len(r[0]))", "40\n");
    buf_clear(&out);
    junit_put(&out, "none", cases, 0);
    check_xml(buf_string(&out), "print(len(r[0]))", "0\n");
    buf_clear(&out);
}

/* ---- the command ---- */

static int run(char *words[], int count, long n)
{
    const char *near;
    const struct command *command = command_find("check", &near);
    REQUIRE(command != NULL);
    mem_fail_after(n);
    int code = command->run(&(struct command_call){command, count, words});
    mem_fail_after(0);
    return code;
}

TEST(memory_may_run_out)
{
    static const char *const formats[] = {"--format=table", "--format=csv", "--format=json"};
    char before[512], after[600], xml[600], limits[512], file[600];
    REQUIRE(freopen("/dev/null", "w", stdout) != NULL);
    db_close(recording("before"));
    db_close(recording("after"));
    snprintf(before, sizeof before, "%s", test_path("before"));
    snprintf(after, sizeof after, "--baseline=%s", test_path("after"));
    snprintf(xml, sizeof xml, "--junit=%s", test_path("x.xml"));
    snprintf(limits, sizeof limits, "%s", test_path("limits"));
    snprintf(file, sizeof file, "--limits=%s", limits);
    FILE *out = fopen(limits, "w");
    REQUIRE(out != NULL);
    fputs("max-peak = 1G\nmax-reserved = 1G\nmax-increase = 1%\nmax-fragmentation = 50%\n"
          "max-growth = 1G\nno-oom = yes\nno-lost = yes\nallow-unknown = yes\n",
          out);
    fclose(out);
    for (size_t i = 0; i < COUNT(formats); i++) {
        char format[32];
        long n = 1;
        int code;
        snprintf(format, sizeof format, "%s", formats[i]);
        char *words[] = {before, after, xml, file, format, NULL};
        while ((code = run(words, 5, n)) != EXIT_FINE) {
            CHECK_INT(code, EXIT_INTERNAL);
            n = test_next_failure(n);
            REQUIRE(n < 5000);
        }
        CHECK(n > 50);
    }
}

TEST_MAIN(TEST_CASE(the_peak_and_who_made_it), TEST_CASE(reserved_and_fragmentation),
          TEST_CASE(growth), TEST_CASE(the_slope_of_a_line), TEST_CASE(what_must_not_happen),
          TEST_CASE(what_is_missing_may_matter), TEST_CASE(more_than_the_baseline),
          TEST_CASE(a_file_of_limits), TEST_CASE(bad_lines_have_a_number),
          TEST_CASE(any_bytes_at_all), TEST_CASE(limits_that_make_sense_together),
          TEST_CASE(junit_with_names_that_bite), TEST_CASE(junit_with_any_bytes),
          TEST_CASE(memory_may_run_out))
