/* The hello server against clients that know the protocol, and against some that do not. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error.h"
#include "event.h"
#include "hello_server.h"
#include "process.h"
#include "test.h"

struct heard {
    unsigned ranks; /* in the order in which they were heard, as decimal digits */
    int count;
    struct hello last;
    pid_t pid;
    bool had_pidfd;
    bool understood;
    int unsent;
    int give; /* the answer to a FETCH */
    char order[64];
};

static int handler(void *context, const struct hello_said *said)
{
    struct heard *heard = context;
    heard->order[heard->count++ % 63] = said->hello->what == HELLO_HELLO ? 'H' : 'F';
    heard->last = *said->hello;
    heard->ranks = heard->ranks * 10 + (unsigned)said->hello->rank;
    heard->pid = said->pid;
    heard->understood = said->understood;
    heard->unsent = said->unsent;
    heard->had_pidfd = said->pidfd >= 0;
    if (said->pidfd >= 0)
        close(said->pidfd);
    return said->hello->what == HELLO_FETCH ? heard->give : -1;
}

static int knock(const struct hello_server *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    strcpy(address.sun_path, hello_server_door(server));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static int dial(const struct hello_server *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = hello_server_name(server);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&address, bytes) == 0);
    return fd;
}

static struct hello greeting(enum hello_what what)
{
    struct hello hello = {.magic = HELLO_MAGIC, .format = EVENT_FORMAT, .what = (uint16_t)what};
    hello.how = HELLO_BY_EXEC;
    hello.pid = getpid();
    hello.rank = 3;
    memcpy(hello.text, "python3\0train.py", 17);
    hello.argv_bytes = 17;
    hello.argv_total = 17;
    return hello;
}

static size_t whole(const struct hello *hello)
{
    return offsetof(struct hello, text) + hello->argv_bytes;
}

static void say(int fd, const void *bytes, size_t count)
{
    REQUIRE(send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count);
}

static bool is_awake(const struct hello_server *server)
{
    struct pollfd wake = {.fd = hello_server_fd(server), .events = POLLIN};
    return poll(&wake, 1, 0) == 1;
}

TEST(a_hello_is_heard)
{
    struct hello_server *server;
    struct heard heard = {.give = -1};
    REQUIRE(hello_server_open(&server) == BASE_OK);
    CHECK(!is_awake(server));
    int fd = dial(server);
    struct hello hello = greeting(HELLO_HELLO);
    say(fd, &hello, whole(&hello));
    close(fd);
    CHECK(is_awake(server));
    CHECK(hello_server_handle(server, handler, &heard));
    CHECK_INT(heard.count, 1);
    CHECK_INT(heard.pid, getpid());
    CHECK_INT(heard.last.rank, 3);
    CHECK_STR(heard.last.text + 8, "train.py");
    CHECK(heard.understood);
    CHECK(!is_awake(server));
    hello_server_close(server);
}

/* The descriptor in the answer, -1 without one, -2 without an answer. */
static int hear_answer(int fd, char *word)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {word, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room};
    int got;
    message.msg_controllen = sizeof control.room;
    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
        return -2;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header)
        return -1;
    memcpy(&got, CMSG_DATA(header), sizeof got);
    return got;
}

TEST(a_fetch_gets_the_descriptor)
{
    struct hello_server *server;
    struct heard heard = {.give = memfd_create("given", MFD_CLOEXEC)};
    char word = 0;
    REQUIRE(hello_server_open(&server) == BASE_OK);
    REQUIRE(write(heard.give, "ring", 4) == 4);
    int fd = dial(server);
    struct hello hello = greeting(HELLO_FETCH);
    say(fd, &hello, whole(&hello));
    CHECK(hello_server_handle(server, handler, &heard));
    int got = hear_answer(fd, &word);
    CHECK_INT(word, HELLO_YES);
    REQUIRE(got >= 0);
    char text[5] = "";
    CHECK_INT(pread(got, text, 4, 0), 4);
    CHECK_STR(text, "ring");
    if (got != heard.give) /* the server has closed its own */
        CHECK(write(heard.give, "x", 1) < 0);
    hello_server_close(server);
}

TEST(a_refusal_is_an_answer_too)
{
    struct hello_server *server;
    struct heard heard = {.give = -1};
    char word = 0;
    REQUIRE(hello_server_open(&server) == BASE_OK);
    int fd = dial(server);
    struct hello hello = greeting(HELLO_FETCH);
    hello.format = EVENT_FORMAT + 1;
    say(fd, &hello, whole(&hello));
    hello_server_handle(server, handler, &heard);
    CHECK(!heard.understood);
    CHECK_INT(hear_answer(fd, &word), -1);
    CHECK_INT(word, HELLO_NO);
    hello_server_close(server);
}

TEST(an_answer_that_nobody_takes_is_told)
{
    struct hello_server *server;
    struct heard heard = {.give = memfd_create("given", MFD_CLOEXEC)};
    REQUIRE(hello_server_open(&server) == BASE_OK);
    int fd = dial(server);
    struct hello hello = greeting(HELLO_FETCH);
    say(fd, &hello, whole(&hello));
    close(fd);
    CHECK(hello_server_handle(server, handler, &heard));
    CHECK_INT(heard.count, 2);
    CHECK_INT(heard.unsent, EPIPE);
    CHECK_INT(heard.pid, getpid());
    CHECK(!heard.had_pidfd);
    hello_server_close(server);
}

static void check_refused(const void *bytes, size_t count)
{
    struct hello_server *server;
    struct heard heard = {.give = -1};
    REQUIRE(hello_server_open(&server) == BASE_OK);
    int fd = dial(server);
    say(fd, bytes, count);
    CHECK(hello_server_handle(server, handler, &heard));
    CHECK_INT(heard.count, 0);
    CHECK_INT(hello_server_stats(server)->malformed, 1);
    close(fd);
    hello_server_close(server);
}

TEST(lengths_are_not_believed)
{
    struct hello hello = greeting(HELLO_HELLO);
    char long_one[sizeof hello + 64] = {0};
    check_refused(&hello, 7);
    check_refused(&hello, offsetof(struct hello, text) - 1);
    check_refused(&hello, whole(&hello) - 1); /* cut */
    memcpy(long_one, &hello, sizeof hello);
    check_refused(long_one, sizeof long_one);
    hello.argv_bytes = UINT32_MAX;
    check_refused(&hello, sizeof hello);
    hello.argv_bytes = HELLO_TEXT_BYTES + 1;
    check_refused(&hello, sizeof hello);
}

TEST(words_that_are_none_are_refused)
{
    struct hello hello = greeting(HELLO_HELLO);
    hello.what = 3;
    check_refused(&hello, whole(&hello));
    hello = greeting(HELLO_HELLO);
    hello.how = 0;
    check_refused(&hello, whole(&hello));
    hello = greeting(HELLO_HELLO);
    hello.magic++;
    check_refused(&hello, whole(&hello));
}

TEST(garbage_is_refused)
{
    struct hello_server *server;
    struct heard heard = {.give = -1};
    uint64_t seed = 11;
    REQUIRE(hello_server_open(&server) == BASE_OK);
    for (int i = 0; i < 300; i++) {
        struct hello hello = greeting(HELLO_HELLO);
        unsigned char *bytes = (unsigned char *)&hello;
        size_t count = 1 + test_random(&seed) % sizeof hello;
        for (int j = 0; j < 8; j++)
            bytes[test_random(&seed) % 48] = (unsigned char)test_random(&seed);
        int fd = dial(server);
        say(fd, &hello, count);
        close(fd);
        CHECK(hello_server_handle(server, handler, &heard));
    }
    const struct hello_server_stats *stats = hello_server_stats(server);
    CHECK_INT(stats->malformed + stats->heard, 300);
    CHECK_INT(stats->heard, heard.count);
    hello_server_close(server);
}

TEST(who_says_nothing_holds_up_nobody)
{
    struct hello_server *server;
    struct heard heard = {.give = -1};
    REQUIRE(hello_server_open(&server) == BASE_OK);
    int silent[HELLO_SERVER_PENDING + 10];
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        silent[i] = dial(server);
    int fd = dial(server);
    struct hello hello = greeting(HELLO_HELLO);
    say(fd, &hello, whole(&hello));
    CHECK(hello_server_handle(server, handler, &heard));
    CHECK_INT(heard.count, 1);
    CHECK(hello_server_stats(server)->silent >= 10);
    CHECK(!is_awake(server));
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        close(silent[i]);
    CHECK(hello_server_handle(server, handler, &heard));
    CHECK(!is_awake(server));
    hello_server_close(server);
}

/* Accepted while it had said nothing yet: it is older all the same. */
TEST(an_older_hello_comes_before_a_fetch)
{
    struct hello_server *server;
    struct heard heard = {.give = -1};
    REQUIRE(hello_server_open(&server) == BASE_OK);
    int first = dial(server);
    CHECK(hello_server_handle(server, handler, &heard));
    int second = dial(server);
    struct hello hello = greeting(HELLO_HELLO);
    say(first, &hello, whole(&hello));
    hello = greeting(HELLO_FETCH);
    say(second, &hello, whole(&hello));
    CHECK(hello_server_handle(server, handler, &heard));
    CHECK_STR(heard.order, "HF");
    hello_server_close(server);
}

TEST(a_child_is_known_by_its_own_pid)
{
    struct hello_server *server;
    struct heard heard = {.give = -1};
    REQUIRE(hello_server_open(&server) == BASE_OK);
    pid_t pid = fork();
    if (pid == 0) {
        struct hello hello = greeting(HELLO_HELLO);
        int fd = dial(server);
        hello.pid = 1; /* a lie */
        say(fd, &hello, whole(&hello));
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    CHECK(hello_server_handle(server, handler, &heard));
    CHECK_INT(heard.count, 1);
    CHECK_INT(heard.pid, pid);
    hello_server_close(server);
}

struct endless {
    struct hello_server *server;
    int heard;
};

/* Each hello that is heard brings the next one. */
static int say_again(void *context, const struct hello_said *said)
{
    struct endless *endless = context;
    struct hello hello = greeting(HELLO_HELLO);
    int fd = dial(endless->server);
    say(fd, &hello, whole(&hello));
    close(fd);
    endless->heard++;
    if (said->pidfd >= 0)
        close(said->pidfd);
    return -1;
}

TEST(a_turn_has_an_end)
{
    struct endless endless = {0};
    REQUIRE(hello_server_open(&endless.server) == BASE_OK);
    struct hello hello = greeting(HELLO_HELLO);
    int fd = dial(endless.server);
    say(fd, &hello, whole(&hello));
    close(fd);
    CHECK(hello_server_handle(endless.server, say_again, &endless));
    CHECK_INT(endless.heard, HELLO_SERVER_TURN);
    CHECK(is_awake(endless.server)); /* the next turn is asked for at once */
    hello_server_close(endless.server);
}

/* Of this thread alone: libc's would change them all. */
static void become_effective(unsigned user)
{
    REQUIRE(syscall(SYS_setresuid, -1, user, -1) == 0);
}

/* Of another user, and not one of our descendants: this process is none of its own. */
TEST(a_flood_of_strangers_is_looked_up_once)
{
    enum { FLOOD = 1000 };
    struct hello_server *server;
    struct heard heard = {.give = -1};
    static int strangers[FLOOD];
    if (geteuid() != 0)
        SKIP("only root can connect as another user");
    REQUIRE(hello_server_open(&server) == BASE_OK);
    become_effective(54321);
    for (int i = 0; i < FLOOD; i++)
        strangers[i] = dial(server);
    become_effective(0);
    int fd = dial(server);
    struct hello hello = greeting(HELLO_HELLO);
    say(fd, &hello, whole(&hello));
    CHECK(hello_server_handle(server, handler, &heard));
    const struct hello_server_stats *stats = hello_server_stats(server);
    CHECK_INT(stats->strangers, FLOOD);
    CHECK(stats->looks > 0 && stats->looks < FLOOD / 10);
    CHECK_INT(stats->refused, 1); /* one process */
    CHECK_INT(heard.count, 1);
    for (int i = 0; i < FLOOD; i++)
        close(strangers[i]);
    hello_server_close(server);
}

/* However many wait by the name. */
TEST(who_is_at_the_door_comes_first)
{
    struct hello_server *server;
    struct heard heard = {.give = -1};
    int fds[4];
    REQUIRE(hello_server_open(&server) == BASE_OK);
    for (int i = 0; i < 4; i++) {
        struct hello hello = greeting(HELLO_HELLO);
        hello.rank = i + 1;
        fds[i] = i == 3 ? knock(server) : dial(server);
        REQUIRE(fds[i] >= 0);
        say(fds[i], &hello, whole(&hello));
    }
    CHECK(hello_server_handle(server, handler, &heard));
    CHECK_INT(heard.ranks, 4123);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    hello_server_close(server);
}

/* Of root, and of nobody else: not even of who was root when it was opened. */
TEST(the_door_is_closed_to_others)
{
    struct hello_server *server;
    char path[64];
    if (geteuid() != 0)
        SKIP("only root can connect as another user");
    REQUIRE(hello_server_open(&server) == BASE_OK);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        become_effective(54321);
        _exit(knock(server) == -1 ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    int fd = knock(server);
    CHECK(fd >= 0);
    close(fd);
    strcpy(path, hello_server_door(server));
    hello_server_close(server);
    CHECK(access(path, F_OK) != 0 && errno == ENOENT);
}

/* One after the other, each of another user and gone by then: no flood makes the count grow. */
TEST(many_strangers_are_at_least_so_many)
{
    enum { MANY = 40 };
    struct hello_server *server;
    struct heard heard = {.give = -1};
    if (geteuid() != 0)
        SKIP("only root can connect as another user");
    REQUIRE(hello_server_open(&server) == BASE_OK);
    const struct hello_server_stats *stats = hello_server_stats(server);
    for (int i = 0; i < MANY; i++) {
        pid_t child = fork();
        int status = -1;
        REQUIRE(child >= 0);
        if (child == 0) {
            become_effective(54321);
            _exit(dial(server) >= 0 ? 0 : 1);
        }
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        CHECK(hello_server_handle(server, handler, &heard));
        CHECK_INT(stats->refused, i < 16 ? i + 1 : 16);
        CHECK(stats->refused_more == (i >= 16));
    }
    CHECK_INT(stats->strangers, MANY);
    CHECK_INT(heard.count, 0);
    hello_server_close(server);
}

TEST_MAIN(TEST_CASE(a_hello_is_heard), TEST_CASE(a_fetch_gets_the_descriptor),
          TEST_CASE(a_refusal_is_an_answer_too), TEST_CASE(an_answer_that_nobody_takes_is_told),
          TEST_CASE(lengths_are_not_believed), TEST_CASE(words_that_are_none_are_refused),
          TEST_CASE(garbage_is_refused), TEST_CASE(who_says_nothing_holds_up_nobody),
          TEST_CASE(an_older_hello_comes_before_a_fetch),
          TEST_CASE(a_child_is_known_by_its_own_pid), TEST_CASE(a_turn_has_an_end),
          TEST_CASE(a_flood_of_strangers_is_looked_up_once),
          TEST_CASE(who_is_at_the_door_comes_first), TEST_CASE(the_door_is_closed_to_others),
          TEST_CASE(many_strangers_are_at_least_so_many))
