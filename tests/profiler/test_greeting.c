/* The guest's two ways to a recorder, and which of them it takes. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "greeting.h"
#include "hello.h"
#include "test.h"

static char name[64], folder[] = "/tmp/tidemark-greeting-XXXXXX";

static int listen_at(const struct sockaddr_un *address, socklen_t bytes)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && bind(fd, (const struct sockaddr *)address, bytes) == 0);
    REQUIRE(listen(fd, 8) == 0);
    return fd;
}

static int listen_by_name(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(name, sizeof name, "tidemark-test-greeting-%d", (int)getpid());
    memcpy(address.sun_path + 1, name, strlen(name));
    REQUIRE(setenv(HELLO_ENV, name, 1) == 0);
    return listen_at(&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
}

/* A file that ends in `end`, and is gone; a descriptor leads to it. */
static int listen_behind_a_door(const char *end, int *file)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[64];
    REQUIRE(snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, end) < 108);
    int fd = listen_at(&address, sizeof address);
    *file = open(address.sun_path, O_PATH | O_CLOEXEC);
    REQUIRE(*file >= 0 && unlink(address.sun_path) == 0);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), *file);
    REQUIRE(setenv(HELLO_DOOR_ENV, path, 1) == 0);
    return fd;
}

/* What the oldest connection brings; 0: nobody is there, or hung up without a word. */
static int next_word(int listener)
{
    struct hello hello = {0};
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return 0;
    long bytes = recv(fd, &hello, sizeof hello, 0);
    close(fd);
    return bytes > 0 ? hello.what : 0;
}

static void in_a_child(void (*what)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (!greeting_prepare(0, NULL))
            _exit(98);
        what();
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

static void make_folder(void)
{
    strcpy(strrchr(folder, '-'), "-XXXXXX");
    REQUIRE(mkdtemp(folder) != NULL);
}

TEST(the_door_comes_first)
{
    int file;
    make_folder();
    int by_name = listen_by_name(), door = listen_behind_a_door(name, &file);
    in_a_child(greeting_hello);
    CHECK_INT(next_word(door), HELLO_HELLO);
    CHECK(accept(by_name, NULL, NULL) < 0 && errno == EAGAIN);
    CHECK(rmdir(folder) == 0); /* nothing was left there */
}

/* A pid and a number that are somebody else's by now: nothing is said to him. */
TEST(a_door_of_somebody_else)
{
    int file;
    make_folder();
    int by_name = listen_by_name(), door = listen_behind_a_door("tidemark-of-another", &file);
    in_a_child(greeting_hello);
    CHECK_INT(next_word(door), 0);
    CHECK_INT(next_word(by_name), HELLO_HELLO);
    rmdir(folder);
}

TEST(a_door_that_leads_nowhere)
{
    int by_name = listen_by_name();
    static const char *const paths[] = {"/proc/self/fd/999", "/nowhere/fd/1", "/dev/null", "", "x"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        setenv(HELLO_DOOR_ENV, paths[i], 1);
        in_a_child(greeting_hello);
        CHECK_INT(next_word(by_name), HELLO_HELLO);
    }
}

/* Its answer would be waited for, for a second: it is -1 or no answer. */
static void lose_the_door_and_fetch(void)
{
    greeting_hello();
    REQUIRE(setresuid((uid_t)-1, 54321, (uid_t)-1) == 0);
    (void)greeting_fetch(0, 0);
}

/* Hello at the door, and the way is barred then: a FETCH by the name. A recorder looks at the door
 * first, and so hears them in order. */
TEST(a_door_that_is_barred_later)
{
    int file;
    if (geteuid() != 0)
        SKIP("only root can become another user");
    make_folder();
    int by_name = listen_by_name(), door = listen_behind_a_door(name, &file);
    in_a_child(lose_the_door_and_fetch);
    CHECK_INT(next_word(door), HELLO_HELLO);
    CHECK_INT(next_word(door), 0);
    CHECK_INT(next_word(by_name), HELLO_FETCH);
    rmdir(folder);
}

static void come_back_and_fetch(void)
{
    REQUIRE(setresuid((uid_t)-1, 54321, (uid_t)-1) == 0);
    greeting_hello();
    REQUIRE(setresuid((uid_t)-1, 0, (uid_t)-1) == 0);
    (void)greeting_fetch(0, 0);
}

/* Hello by the name, and the door is open then: the FETCH must not overtake it there. */
TEST(a_door_that_is_open_later)
{
    int file;
    if (geteuid() != 0)
        SKIP("only root can become another user");
    make_folder();
    int by_name = listen_by_name(), door = listen_behind_a_door(name, &file);
    in_a_child(come_back_and_fetch);
    CHECK_INT(next_word(door), 0);
    CHECK_INT(next_word(by_name), HELLO_HELLO);
    CHECK_INT(next_word(by_name), HELLO_FETCH);
    rmdir(folder);
}

TEST_MAIN(TEST_CASE(the_door_comes_first), TEST_CASE(a_door_of_somebody_else),
          TEST_CASE(a_door_that_leads_nowhere), TEST_CASE(a_door_that_is_barred_later),
          TEST_CASE(a_door_that_is_open_later))
