/* Whom a guest takes for its recorder: by the user who listens, and by what a user namespace makes
 * of that one's number. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_recorder.h"
#include "greeting_peer.h"
#include "guest_program.h"
#include "guest_support.h"

#define OTHER_USER 54321u

/* Of this thread alone: libc's would change them all. */
static void become_effective(unsigned user)
{
    REQUIRE(syscall(SYS_setresuid, -1, user, -1) == 0);
}

static void fake_start_as(struct fake_recorder *fake, const char *name, unsigned user)
{
    become_effective(user);
    fake_start(fake, name);
    become_effective(0);
}

static int count_said(const struct fake_recorder *fake)
{
    int said = 0;
    for (int i = 0; i < fake->count; i++)
        said += fake->said[i].hello.what != 0;
    return said;
}

/* Whoever takes the name when the recorder is gone. */
TEST(a_listener_of_another_user_hears_nothing)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("one", 1);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
        return;
    }
    if (geteuid() != 0)
        SKIP("only root can listen as another user");
    static struct fake_recorder fake;
    fake_start_as(&fake, "usurper", OTHER_USER);
    CHECK_INT(run_program("a_listener_of_another_user_hears_nothing"), 0);
    fake_wait(&fake, 2); /* hello and fetch: it came, saw, and said nothing */
    CHECK_INT(count_said(&fake), 0);
    fake_stop(&fake);
}

/* As a service that drops its rights after its start. */
TEST(a_program_that_left_root_still_hears_root)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        REQUIRE(setresuid(OTHER_USER, OTHER_USER, OTHER_USER) == 0);
        api->mark("one", 1);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_ON);
        return;
    }
    if (geteuid() != 0)
        SKIP("only root can become another user");
    static struct fake_recorder fake;
    fake_start(&fake, "root");
    CHECK_INT(run_program("a_program_that_left_root_still_hears_root"), 0);
    fake_wait(&fake, 2);
    CHECK_INT(count_said(&fake), 2);
    fake_stop(&fake);
}

static void write_map(unsigned from)
{
    char text[64];
    int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    int bytes = snprintf(text, sizeof text, "0 %u 1", from);
    if (fd < 0 || write(fd, text, (size_t)bytes) != bytes)
        SKIP("no numbers can be given out in a user namespace here");
    close(fd);
}

/* Says hello outside of a user namespace, and has its first event inside. */
static void report_from_a_namespace(bool mapped, enum guest_state wanted)
{
    const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
    unsigned user = geteuid();
    if (unshare(CLONE_NEWUSER) != 0)
        SKIP("no user namespace can be made here");
    if (mapped)
        write_map(user);
    api->mark("one", 1);
    CHECK_INT(atomic_load(&guest.page->state), wanted);
}

static void run_in_a_namespace(const char *name, int said)
{
    static struct fake_recorder fake;
    fake_start(&fake, name);
    int status = run_program(name);
    fake_wait(&fake, 1);
    fake_stop(&fake);
    if (status == 77)
        SKIP("no user namespace can be made here");
    CHECK_INT(status, 0);
    CHECK_INT(count_said(&fake), said);
}

/* Nobody has a number in there: our own user's recorder looks like anybody's. */
TEST(who_has_no_number_is_nobody_we_know)
{
    if (in_the_program())
        report_from_a_namespace(false, GUEST_OFF);
    else
        run_in_a_namespace("who_has_no_number_is_nobody_we_know", 1);
}

TEST(our_user_is_known_by_its_number_in_a_namespace)
{
    if (in_the_program())
        report_from_a_namespace(true, GUEST_ON);
    else
        run_in_a_namespace("our_user_is_known_by_its_number_in_a_namespace", 2);
}

TEST(only_a_whole_map_gives_everybody_a_number)
{
    CHECK(greeting_maps_all("         0          0 4294967295\n"));
    CHECK(greeting_maps_all("0 0 1000\n1000 5000 4294966295\n"));
    CHECK(!greeting_maps_all(""));
    CHECK(!greeting_maps_all("         0       1000          1\n"));
    CHECK(!greeting_maps_all("0 1000 1\n1 100000 65536\n"));
    CHECK(!greeting_maps_all("0 0 4294967295x"));
    CHECK(!greeting_maps_all("0 0 99999999999999999999999\n1 1 1\n"));
}

TEST_MAIN(TEST_CASE(a_listener_of_another_user_hears_nothing),
          TEST_CASE(a_program_that_left_root_still_hears_root),
          TEST_CASE(who_has_no_number_is_nobody_we_know),
          TEST_CASE(our_user_is_known_by_its_number_in_a_namespace),
          TEST_CASE(only_a_whole_map_gives_everybody_a_number))
