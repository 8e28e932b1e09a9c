/* Starting programs, and trying the guest. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "hello.h"
#include "launch.h"
#include "test.h"

#ifdef TEST_GUEST
static const char guest_path[] = TEST_GUEST, bad_guest_path[] = TEST_BAD_GUEST;
#else /* a build with sanitizers has none */
static const char guest_path[] = "", bad_guest_path[] = "";
#endif

static int run(const char *const *argv, const char *guest, int *exec_errno)
{
    struct launch_origin origin;
    struct launched launched;
    int status = 0, signal_fd = launch_take_signals(&origin);
    REQUIRE(signal_fd >= 0);
    struct launch launch = {argv, {.guest = guest, .socket = "a-name"}, &origin};
    int err = launch_start(&launch, &launched);
    *exec_errno = launched.exec_errno;
    if (err == BASE_OK)
        REQUIRE(waitpid(launched.pid, &status, 0) == launched.pid);
    close(signal_fd);
    launch_give_back_signals(&origin);
    return err == BASE_OK ? status : err;
}

TEST(a_program_is_run)
{
    const char *const argv[] = {"sh", "-c", "exit 5", NULL};
    int number;
    int status = run(argv, NULL, &number);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 5);
    CHECK_INT(number, 0);
}

TEST(two_words_are_put_into_its_environment)
{
    const char *const argv[] = {
        "sh", "-c", "test \"$LD_PRELOAD\" = /a/b.so && test \"$" HELLO_ENV "\" = a-name", NULL};
    int number;
    unsetenv("LD_PRELOAD");
    CHECK_INT(run(argv, "/a/b.so", &number), 0);
    setenv("LD_PRELOAD", "", 1);
    CHECK_INT(run(argv, "/a/b.so", &number), 0);
}

TEST(an_older_preload_comes_second)
{
    const char *const argv[] = {"sh", "-c", "test \"$LD_PRELOAD\" = /a/b.so:/old.so", NULL};
    int number;
    setenv("LD_PRELOAD", "/old.so", 1);
    setenv(HELLO_ENV, "of another recorder", 1);
    CHECK_INT(run(argv, "/a/b.so", &number), 0);
}

TEST(a_missing_program_is_an_error)
{
    const char *const argv[] = {"/no/such/program", NULL};
    int number;
    CHECK_INT(run(argv, NULL, &number), ERR_NOTFOUND);
    CHECK_INT(number, ENOENT);
    CHECK_INT(launch_exit_code(number), 127);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST(a_file_that_is_no_program_is_an_error)
{
    const char *const argv[] = {test_path("plain"), NULL};
    int number;
    close(open(test_path("plain"), O_CREAT | O_WRONLY, 0600));
    CHECK_INT(run(argv, NULL, &number), ERR_DENIED);
    CHECK_INT(launch_exit_code(number), 126);
}

TEST(signals_are_as_they_were)
{
    struct launch_origin origin;
    struct sigaction before[3], after[3];
    sigset_t mask_before, mask_after;
    static const int numbers[] = {SIGPIPE, SIGXFSZ, SIGCHLD};
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 3; i++)
        sigaction(numbers[i], NULL, &before[i]);
    sigprocmask(SIG_BLOCK, NULL, &mask_before);
    int fd = launch_take_signals(&origin);
    sigaction(SIGCHLD, NULL, &after[2]);
    CHECK(after[2].sa_handler == SIG_DFL); /* else nobody could be waited for */
    close(fd);
    launch_give_back_signals(&origin);
    sigprocmask(SIG_BLOCK, NULL, &mask_after);
    for (int i = 0; i < 3; i++) {
        sigaction(numbers[i], NULL, &after[i]);
        CHECK(before[i].sa_handler == after[i].sa_handler);
    }
    for (int number = 1; number < NSIG; number++)
        CHECK_INT(sigismember(&mask_after, number), sigismember(&mask_before, number));
}

static uint64_t patience_ns = LAUNCH_PATIENCE_NS;

static bool try_guest(const char *guest, struct buf *why)
{
    struct launch_origin origin;
    int fd = launch_take_signals(&origin);
    bool good = launch_try_guest(guest, &origin, patience_ns, why);
    close(fd);
    launch_give_back_signals(&origin);
    return good;
}

static void check_bad_guest(const char *guest, const char *part)
{
    struct buf why = {0};
    CHECK(!try_guest(guest, &why));
    if (!test_check(strstr(buf_string(&why), part) != NULL, __FILE__, __LINE__, part))
        printf("     said: %s\n", buf_string(&why));
    buf_clear(&why);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0);
}

TEST(a_guest_that_is_none_is_refused)
{
    check_bad_guest(test_path("missing.so"), "No such file");
    close(open(test_path("empty.so"), O_CREAT | O_WRONLY, 0700));
    check_bad_guest(test_path("empty.so"), "empty.so cannot be loaded: file too short");
    close(open(test_path("with space.so"), O_CREAT | O_WRONLY, 0700));
    check_bad_guest(test_path("with space.so"), "a space or a colon");
}

static void write_elf(const char *path, unsigned char class, unsigned char machine)
{
    unsigned char header[64] = {0x7f, 'E', 'L', 'F', class, 1, 1};
    FILE *file = fopen(path, "w");
    header[18] = machine;
    REQUIRE(file && fwrite(header, sizeof header, 1, file) == 1 && fclose(file) == 0);
}

TEST(a_library_of_another_machine_is_named_as_such)
{
    write_elf(test_path("elf32.so"), 1, 3);
    check_bad_guest(test_path("elf32.so"), "another kind of machine; install Tidemark again");
    write_elf(test_path("other.so"), 2, 8); /* MIPS */
    check_bad_guest(test_path("other.so"), "another kind of machine");
}

static bool try_stand_in(const char *library, struct buf *why)
{
    struct launch_origin origin;
    int fd = launch_take_signals(&origin);
    bool good = launch_try_stand_in(library, &origin, patience_ns, why);
    close(fd);
    launch_give_back_signals(&origin);
    return good;
}

/* It says no hello, and the loader's complaint is all that one hears of it. */
TEST(a_stand_in_that_the_loader_leaves_out_is_refused)
{
    struct buf why = {0};
    close(open(test_path("empty.so"), O_CREAT | O_WRONLY, 0700));
    CHECK(!try_stand_in(test_path("empty.so"), &why));
    CHECK(strstr(buf_string(&why), "empty.so cannot be loaded: file too short; install"));
    buf_clear(&why);
    CHECK(!try_stand_in(test_path("missing.so"), &why));
    CHECK(strstr(buf_string(&why), "No such file"));
    buf_clear(&why);
    if (!guest_path[0])
        SKIP("this build has no library to load");
    CHECK(!try_stand_in(bad_guest_path, &why));
    CHECK(strstr(buf_string(&why), "exit status 3"));
    buf_clear(&why);
    CHECK(try_stand_in(guest_path, &why)); /* any that loads */
    CHECK_STR(buf_string(&why), "");
}

TEST(the_guest_is_taken)
{
    if (!guest_path[0])
        SKIP("this build has no guest");
    struct buf why = {0};
    CHECK(try_guest(guest_path, &why));
    CHECK_STR(buf_string(&why), "");
}

TEST(a_guest_that_breaks_programs_is_refused)
{
    if (!guest_path[0])
        SKIP("this build has no guest");
    check_bad_guest(bad_guest_path, "exit status 3");
    setenv("BAD_GUEST", "kill", 1);
    check_bad_guest(bad_guest_path, "libbad_guest.so loaded: ");
}

TEST(a_guest_that_fails_has_a_second_trial)
{
    if (!guest_path[0])
        SKIP("this build has no guest");
    struct stat about;
    setenv("BAD_GUEST_COUNT", test_path("trials"), 1);
    check_bad_guest(bad_guest_path, "exit status 3");
    REQUIRE(stat(test_path("trials"), &about) == 0);
    CHECK_INT(about.st_size, 2);
}

TEST(a_guest_that_never_ends_is_refused)
{
    if (!guest_path[0])
        SKIP("this build has no guest");
    setenv("BAD_GUEST", "hang", 1);
    patience_ns = NS_PER_S;
    check_bad_guest(bad_guest_path, "did not end");
}

TEST_MAIN(TEST_CASE(a_program_is_run), TEST_CASE(two_words_are_put_into_its_environment),
          TEST_CASE(an_older_preload_comes_second), TEST_CASE(a_missing_program_is_an_error),
          TEST_CASE(a_file_that_is_no_program_is_an_error), TEST_CASE(signals_are_as_they_were),
          TEST_CASE(a_library_of_another_machine_is_named_as_such),
          TEST_CASE(a_stand_in_that_the_loader_leaves_out_is_refused),
          TEST_CASE(the_guest_is_taken), TEST_CASE(a_guest_that_breaks_programs_is_refused),
          TEST_CASE(a_guest_that_fails_has_a_second_trial),
          TEST_CASE(a_guest_that_never_ends_is_refused), TEST_CASE(a_guest_that_is_none_is_refused))
