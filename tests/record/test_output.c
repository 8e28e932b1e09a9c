/* Where the recording goes, what is said at the end, and why a program may be silent. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch.h"
#include "error.h"
#include "launch.h"
#include "record_output.h"
#include "summary.h"
#include "test.h"

static void write_file(const char *path, const char *text, size_t bytes, mode_t mode)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    REQUIRE(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes && fchmod(fd, mode) == 0);
    close(fd);
}

TEST(an_existing_file_is_refused)
{
    struct record_output output;
    struct buf why = {0};
    write_file(test_path("there.db"), "precious", 8, 0600);
    CHECK_INT(record_output_choose(&output, test_path("there.db"), false, &why), ERR_EXISTS);
    CHECK(strstr(buf_string(&why), "exists already") != NULL);
    struct stat about;
    CHECK(stat(test_path("there.db"), &about) == 0 && about.st_size == 8);
    buf_clear(&why);
}

TEST(what_cannot_be_created_is_refused)
{
    struct record_output output;
    struct buf why = {0};
    CHECK_INT(record_output_choose(&output, test_path("no/such/folder.db"), false, &why),
              ERR_NOTFOUND);
    CHECK(strstr(buf_string(&why), "cannot create") != NULL);
    buf_clear(&why);
    CHECK_INT(record_output_choose(&output, "", false, &why), ERR_ARG);
    buf_clear(&why);
    char name[PATH_MAX + 16];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_INT(record_output_choose(&output, name, false, &why), ERR_ARG);
    buf_clear(&why);
}

TEST(choosing_leaves_nothing_behind)
{
    struct record_output output;
    struct buf why = {0};
    CHECK_INT(record_output_choose(&output, test_path("new.db"), false, &why), BASE_OK);
    CHECK_STR(output.work, test_path("new.db"));
    CHECK(access(output.work, F_OK) != 0);
    CHECK_INT(why.count, 0);
}

TEST(a_default_name_has_the_time_and_the_pid)
{
    struct record_output output;
    struct buf why = {0};
    char pid[32];
    REQUIRE(chdir(test_folder()) == 0);
    CHECK_INT(record_output_choose(&output, NULL, false, &why), BASE_OK);
    snprintf(pid, sizeof pid, "-%d.db", (int)getpid());
    CHECK_INT(strncmp(output.work, "tidemark.20", 11), 0);
    CHECK(strstr(output.work, pid) != NULL);
}

TEST(a_staged_file_is_moved)
{
    struct record_output output;
    struct buf why = {0};
    struct stat about;
    REQUIRE(setenv("TMPDIR", test_folder(), 1) == 0);
    CHECK_INT(record_output_choose(&output, test_path("far.db"), true, &why), BASE_OK);
    CHECK(strcmp(output.work, output.wanted) != 0);
    write_file(output.work, "rows", 4, 0600);
    CHECK_INT(record_output_move(&output, &why), BASE_OK);
    CHECK(stat(test_path("far.db"), &about) == 0 && about.st_size == 4);
    CHECK(access(output.work, F_OK) != 0);
    CHECK(access(test_path("far.db.part"), F_OK) != 0);
}

TEST(a_name_taken_meanwhile_is_left_alone)
{
    struct record_output output;
    struct buf why = {0};
    struct stat about;
    REQUIRE(setenv("TMPDIR", test_folder(), 1) == 0);
    CHECK_INT(record_output_choose(&output, test_path("far.db"), true, &why), BASE_OK);
    write_file(output.work, "rows", 4, 0600);
    write_file(test_path("far.db"), "precious", 8, 0600);
    CHECK(record_output_move(&output, &why) < 0);
    CHECK(strstr(buf_string(&why), output.work) != NULL);
    CHECK(stat(output.work, &about) == 0 && about.st_size == 4);
    CHECK(stat(test_path("far.db"), &about) == 0 && about.st_size == 8);
    CHECK(access(test_path("far.db.part"), F_OK) != 0);
    buf_clear(&why);
}

TEST(network_file_systems_are_known)
{
    CHECK(record_output_is_remote(0x6969));
    CHECK(record_output_is_remote(0xff534d42));
    CHECK(record_output_is_remote(0x65735546));
    CHECK(!record_output_is_remote(0xef53));     /* ext4 */
    CHECK(!record_output_is_remote(0x01021994)); /* tmpfs */
    CHECK(!record_output_is_remote(0x794c7630)); /* overlay */
}

/* ---- why a program is silent ---- */

static void check_why(const char *program, const char *part)
{
    struct buf why = {0};
    launch_why_silent(program, &why);
    if (!test_check(strstr(buf_string(&why), part) != NULL, __FILE__, __LINE__, part))
        printf("     said: %s\n", buf_string(&why));
    buf_clear(&why);
}

static void write_elf(const char *path, unsigned char class, unsigned char machine)
{
    char head[64] = "\177ELF";
    head[4] = (char)class;
    head[5] = 1;
    head[16] = 2;
    head[18] = (char)machine;
    write_file(path, head, sizeof head, 0700);
}

TEST(a_program_without_interpreter_is_static)
{
    write_elf(test_path("static"), 2, 62);
#if defined(__x86_64__)
    check_why(test_path("static"), "linked statically");
#endif
    write_elf(test_path("foreign"), 1, 3);
    check_why(test_path("foreign"), "another kind of machine");
}

TEST(a_script_is_judged_by_its_interpreter)
{
    char text[512];
#if !defined(__x86_64__)
    SKIP("the program of this test is for x86-64");
#endif
    write_elf(test_path("static"), 2, 62);
    int n = snprintf(text, sizeof text, "#! %s -x\n", test_path("static"));
    write_file(test_path("script"), text, (size_t)n, 0700);
    check_why(test_path("script"), "linked statically");
    n = snprintf(text, sizeof text, "#!%s", test_path("itself"));
    write_file(test_path("itself"), text, (size_t)n, 0700);
    check_why(test_path("itself"), "environment was cleared");
}

TEST(a_setuid_program_is_named)
{
    if (geteuid() != 0)
        SKIP("needs root to give a file away");
    write_file(test_path("suid"), "#!/bin/sh\n", 10, 0700);
    REQUIRE(chown(test_path("suid"), 12345, 12345) == 0 && chmod(test_path("suid"), 04755) == 0);
    check_why(test_path("suid"), "setuid");
}

TEST(a_usual_program_gives_no_reason_in_its_file)
{
    check_why("sh", "environment was cleared");
    check_why("no-such-program-at-all", "environment was cleared");
}

/* ---- the closing lines ---- */

TEST(the_closing_lines_are_five)
{
    struct summary summary = {.file_bytes = 2048, .run_ns = 1500000000, .processes = 1};
    struct buf out = {0};
    buf_text(&summary.file, "my run.db");
    summary.totals.events = 1001;
    summary.totals.allocs = 1;
    summary.totals.peak_allocated = 1024;
    summary.totals.peak_step = 1;
    summary.totals.peak_rank = BATCH_NULL;
    snprintf(summary.totals.peak_phase, sizeof summary.totals.peak_phase, "backward");
    snprintf(summary.totals.peak_device_name, sizeof summary.totals.peak_device_name, "cpu");
    summary_text(&summary, &out);
    CHECK_STR(buf_string(&out), "tidemark: recorded into my run.db (2.0 KiB)\n"
                                "tidemark: 1,001 events (1 block) of 1 process in 1.5 s\n"
                                "tidemark: nothing was lost\n"
                                "tidemark: peak 1.0 KiB allocated on cpu, step 1, backward\n"
                                "tidemark: next: tidemark peak 'my run.db'\n");
    buf_clear(&out);
    summary.may_miss = true;
    summary_text(&summary, &out);
    CHECK(strstr(buf_string(&out), "processes may be missing; the others lost no event\n") != NULL);
    CHECK(strstr(buf_string(&out), "nothing was lost") == NULL);
    buf_clear(&out);
    summary.missing = 2;
    summary_text(&summary, &out);
    CHECK(
        strstr(buf_string(&out), "2 processes could not be recorded; the others lost no event\n"));
    buf_clear(&out);
    summary.missing = 0;
    summary.may_miss = false;
    summary.totals.lost = 3;
    summary.totals.torn = 1;
    buf_text(&summary.silent, "it is linked statically");
    summary_hint(&summary, "left running: %d", 7);
    summary_text(&summary, &out);
    CHECK(strstr(buf_string(&out), "3 events were lost") != NULL);
    CHECK(strstr(buf_string(&out), "1 event was begun and never finished") != NULL);
    CHECK(strstr(buf_string(&out), "take part: it is linked statically\n") != NULL);
    CHECK(strstr(buf_string(&out), "\ntidemark: left running: 7\n") != NULL);
    buf_clear(&out);
    summary_clear(&summary);
}

TEST(the_closing_lines_of_a_program_without_a_framework)
{
    struct summary summary = {.file_bytes = 2048, .run_ns = 1500000000, .processes = 1};
    struct buf out = {0};
    buf_text(&summary.file, "run.db");
    summary.totals.events = 7;
    summary.totals.peak_given = 3072;
    snprintf(summary.totals.given_device_name, sizeof summary.totals.given_device_name, "cuda:1");
    summary_text(&summary, &out);
    CHECK(strstr(buf_string(&out),
                 "tidemark: no framework's block was reported; CUDA's driver allocated "
                 "3.0 KiB at the peak, on cuda:1\n"
                 "tidemark: next: tidemark peak run.db\n") != NULL);
    buf_clear(&out);
    summary.totals.peak_given = 0;
    summary_text(&summary, &out);
    CHECK(strstr(buf_string(&out), "uses neither PyTorch nor tidemark.h") != NULL);
    buf_clear(&out);
    summary.totals.unseen = true; /* PyTorch's, and its blocks are nobody's */
    summary_text(&summary, &out);
    CHECK(strstr(buf_string(&out), "tidemark: backend:cudaMallocAsync reports no CUDA block to "
                                   "PyTorch's hooks: take it out of PYTORCH_CUDA_ALLOC_CONF or "
                                   "PYTORCH_ALLOC_CONF to record blocks\n") != NULL);
    buf_clear(&out);
    summary.totals.peak_given = 3072;
    summary_text(&summary, &out);
    CHECK(strstr(buf_string(&out), "to record blocks; driver bytes are recorded: "
                                   "tidemark ladder\n") != NULL);
    buf_clear(&out);
    summary.totals.peak_given = 0;
    summary.totals.unseen = false;
    summary.totals.has_source = true; /* it does use one of them, and had no block */
    summary_text(&summary, &out);
    CHECK(strstr(buf_string(&out), "tidemark: no block was reported\n") != NULL);
    CHECK(strstr(buf_string(&out), "next: tidemark info run.db") != NULL);
    buf_clear(&out);
    summary_clear(&summary);
}

/* With a source and without: PyTorch may have been imported before. */
TEST(a_program_that_failed_early_is_its_own_reason)
{
    struct summary summary = {.file_bytes = 2048, .run_ns = 1500000000, .processes = 1};
    struct buf out = {0};
    buf_text(&summary.file, "run.db");
    for (int source = 0; source < 2; source++) {
        const char *end = source ? " before its first block\n"
                                 : " before its first block, or what ran uses neither PyTorch nor "
                                   "tidemark.h, its LD_PRELOAD was replaced, or it ran in another "
                                   "network namespace or where no socket may be opened\n";
        struct buf want = {0};
        summary.totals.has_source = source;
        for (int died = 0; died < 2; died++) {
            summary.exit_code = 1;
            summary.signal = died ? 11 : 0;
            buf_print(&want, "tidemark: no block was reported: the program %s%s",
                      died ? "was killed by signal 11" : "ended with status 1", end);
            summary_text(&summary, &out);
            CHECK(strstr(buf_string(&out), buf_string(&want)) != NULL);
            buf_clear(&want);
            buf_clear(&out);
        }
    }
    buf_text(&summary.silent, "it is linked statically");
    summary.totals.events = 1;
    summary_text(&summary, &out);
    CHECK(strstr(buf_string(&out), "tidemark: no block was reported\n") != NULL);
    buf_clear(&out);
    summary_clear(&summary);
}

TEST_MAIN(TEST_CASE(an_existing_file_is_refused), TEST_CASE(what_cannot_be_created_is_refused),
          TEST_CASE(choosing_leaves_nothing_behind),
          TEST_CASE(a_default_name_has_the_time_and_the_pid), TEST_CASE(a_staged_file_is_moved),
          TEST_CASE(a_name_taken_meanwhile_is_left_alone),
          TEST_CASE(network_file_systems_are_known),
          TEST_CASE(a_program_without_interpreter_is_static),
          TEST_CASE(a_script_is_judged_by_its_interpreter), TEST_CASE(a_setuid_program_is_named),
          TEST_CASE(a_usual_program_gives_no_reason_in_its_file),
          TEST_CASE(the_closing_lines_are_five),
          TEST_CASE(the_closing_lines_of_a_program_without_a_framework),
          TEST_CASE(a_program_that_failed_early_is_its_own_reason))
