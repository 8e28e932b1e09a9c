/* The thread with its file and its sockets; clients that mean well, and others. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clients.h"
#include "error.h"
#include "listener.h"
#include "metrics.h"
#include "scan.h"
#include "test.h"

#define GET "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"

static _Atomic int64_t events;

static void look(void *context, struct meters *out)
{
    (void)context;
    out->run[METER_RUN_EVENTS] = events;
}

static char warned[256];

static void warn(void *context, const char *text)
{
    (void)context;
    snprintf(warned, sizeof warned, "%s", text);
}

/* NULL: it was refused, with these words in the reason. */
static struct metrics *open_at(const char *place, const char *refusal)
{
    struct metrics *metrics;
    struct buf why = {0};
    const struct metrics_options options = {
        .place = place, .run = "a.db", .version = "1", .look = look, .warn = warn};
    int err = metrics_open(&metrics, &options, &why);
    CHECK((err == BASE_OK) == !refusal && (metrics != NULL) == !refusal);
    CHECK_STR(refusal && strstr(buf_string(&why), refusal) ? refusal : buf_string(&why),
              refusal ? refusal : "");
    buf_clear(&why);
    return metrics;
}

static struct metrics *start_at(const char *place)
{
    struct metrics *metrics = open_at(place, NULL);
    REQUIRE(metrics && metrics_start(metrics) == BASE_OK);
    return metrics;
}

/* ---- clients ---- */

static int dial(const struct metrics *metrics)
{
    const char *colon = strrchr(metrics_address(metrics), ':');
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)atoi(colon + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static void say(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* To its end, which is closed; *out is the caller's. */
static void hear(int fd, struct buf *out)
{
    char bytes[4096];
    ssize_t count;
    buf_clear(out);
    while ((count = read(fd, bytes, sizeof bytes)) > 0)
        buf_add(out, bytes, (size_t)count);
    close(fd);
}

static void ask(const struct metrics *metrics, const char *request, struct buf *out)
{
    int fd = dial(metrics);
    say(fd, request);
    hear(fd, out);
}

static const char *body_of(const struct buf *answer)
{
    const char *end = strstr(buf_string(answer), "\r\n\r\n");
    return end ? end + 4 : "";
}

static void check_served(const struct metrics *metrics)
{
    struct buf answer = {0};
    ask(metrics, GET, &answer);
    CHECK(strncmp(buf_string(&answer), "HTTP/1.1 200 OK\r\n", 17) == 0);
    CHECK(scan_check(body_of(&answer), false) == NULL);
    CHECK(scan_value(body_of(&answer), "tidemark_up", "{run=\"a.db\"}") == 1);
    buf_clear(&answer);
}

TEST(a_port)
{
    struct metrics *metrics = start_at("127.0.0.1:0");
    struct buf answer = {0};
    check_served(metrics);
    ask(metrics, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n", &answer);
    CHECK(scan_check(body_of(&answer), true) == NULL);
    ask(metrics, "HEAD /metrics HTTP/1.1\r\n\r\n", &answer);
    CHECK(strstr(buf_string(&answer), "\r\nContent-Length: ") != NULL);
    CHECK_STR(body_of(&answer), "");
    ask(metrics, "GET /x HTTP/1.1\r\n\r\n", &answer);
    CHECK(strncmp(buf_string(&answer), "HTTP/1.1 404 ", 13) == 0);
    ask(metrics, "POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello and more", &answer);
    CHECK(strncmp(buf_string(&answer), "HTTP/1.1 405 ", 13) == 0);
    buf_clear(&answer);
    metrics_close(metrics);
}

/* A second later it has changed. */
TEST(values_are_looked_at_again)
{
    struct metrics *metrics = start_at("127.0.0.1:0");
    struct buf answer = {0};
    events = 42;
    do
        ask(metrics, GET, &answer);
    while (scan_value(body_of(&answer), "tidemark_events_total", "{run=\"a.db\"}") != 42);
    buf_clear(&answer);
    metrics_close(metrics);
}

TEST(a_port_that_is_taken)
{
    struct listener first;
    struct place place = {.kind = PLACE_PORT};
    struct buf why = {0};
    char text[32];
    REQUIRE(listener_open(&first, &place, &why) == BASE_OK);
    snprintf(text, sizeof text, "127.0.0.1:%u", first.place.port);
    CHECK(open_at(text, "another program listens at that port") == NULL);
    listener_close(&first);
    metrics_close(open_at(text, NULL)); /* at once: nobody waits for an old connection */
    buf_clear(&why);
}

/* ---- those who mean no well ---- */

TEST(half_open_clients_are_outlived)
{
    struct metrics *metrics = start_at("127.0.0.1:0");
    int silent[40];
    for (size_t i = 0; i < 40; i++) {
        silent[i] = dial(metrics);
        if (i % 3 == 0)
            say(silent[i], "GET /metr");
        if (i % 3 == 1)
            shutdown(silent[i], SHUT_WR);
    }
    check_served(metrics);
    for (size_t i = 0; i < 40; i++)
        close(silent[i]);
    check_served(metrics);
    metrics_close(metrics);
}

TEST(a_silent_client_is_shown_the_door)
{
    struct metrics *metrics = start_at("127.0.0.1:0");
    struct buf answer = {0};
    int fd = dial(metrics);
    say(fd, "GET /metrics HT");
    hear(fd, &answer); /* until the other end closes */
    CHECK_STR(buf_string(&answer), "");
    metrics_close(metrics);
}

TEST(a_request_without_end_is_refused)
{
    struct metrics *metrics = start_at("127.0.0.1:0");
    struct buf answer = {0};
    static char flood[100000];
    memset(flood, 'a', sizeof flood - 1);
    ask(metrics, flood, &answer);
    CHECK(answer.count == 0 || strncmp(buf_string(&answer), "HTTP/1.1 431 ", 13) == 0);
    check_served(metrics);
    buf_clear(&answer);
    metrics_close(metrics);
}

static struct answer *megabyte(void *context, enum exposition form)
{
    struct answer *answer = answer_new();
    (void)context;
    (void)form;
    for (int i = 0; i < 1 << 16; i++)
        buf_text(&answer->text, "sixteen bytes...");
    return answer;
}

static void turn(struct clients *clients, uint64_t now)
{
    struct pollfd polled[CLIENTS_MAX];
    size_t count = clients->count;
    clients_poll(clients, polled);
    REQUIRE(poll(polled, count, 0) >= 0);
    clients_turn(clients, polled, count, now);
    CHECK(clients_are_valid(clients));
}

/* The other ends of so many connections, each of which has asked. */
static void connect_all(struct clients *clients, int *others, size_t count)
{
    const int small = 8192;
    for (size_t i = 0; i < count; i++) {
        int pair[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
        setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        say(pair[0], GET);
        clients_add(clients, pair[1], 1);
        others[i] = pair[0];
    }
}

static size_t read_some(int fd, size_t most)
{
    static char bytes[1 << 16];
    ssize_t count = read(fd, bytes, most);
    return count > 0 ? (size_t)count : 0;
}

/* One reads all it can, one byte by byte, one nothing: the first has its megabyte all the same. */
TEST(who_reads_slowly_holds_up_nobody)
{
    struct clients clients = {.page = megabyte};
    int others[3];
    size_t got = 0, bytes = 0;
    connect_all(&clients, others, 3);
    for (turn(&clients, 1); clients.served == 0; turn(&clients, 2)) {
        got += read_some(others[0], 1 << 16);
        bytes += read_some(others[1], 1);
    }
    while ((bytes = read_some(others[0], 1 << 16)) > 0)
        got += bytes;
    CHECK(got > (1 << 20) && got < (1 << 20) + REQUEST_HEAD_MAX);
    CHECK_INT(clients.count, 3); /* of which the first may still close its end */
    CHECK(clients.list[1]->state == CLIENT_WRITING && clients.list[2]->state == CLIENT_WRITING);
    close(others[0]);
    turn(&clients, 3);
    CHECK_INT(clients.count, 2);
    CHECK(clients_wait_ms(&clients, 3) > 0);
    turn(&clients, CLIENT_NS);
    CHECK_INT(clients.count, 2);
    turn(&clients, CLIENT_NS + 1); /* their time is over */
    CHECK_INT(clients.count, 0);
    CHECK_INT(clients_wait_ms(&clients, CLIENT_NS), -1);
}

TEST(who_leaves_in_the_middle)
{
    struct clients clients = {.page = megabyte};
    int others[2];
    connect_all(&clients, others, 2);
    turn(&clients, 1);
    close(others[0]);
    turn(&clients, 2);
    CHECK_INT(clients.count, 1);
    close(others[1]);
    clients_clear(&clients);
    CHECK_INT(clients.count, 0);
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static bool all_close_on_exec(void)
{
    bool all = true;
    for (int fd = 3; fd < 64; fd++) {
        int flags = fcntl(fd, F_GETFD);
        all = all && (flags < 0 || (flags & FD_CLOEXEC));
    }
    return all;
}

TEST(no_descriptor_is_left_or_given_away)
{
    size_t before = open_files();
    for (int fd = 3; fd < 64; fd++) /* of the harness */
        if (fcntl(fd, F_GETFD) >= 0)
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    struct metrics *metrics = start_at("127.0.0.1:0");
    int fd = dial(metrics);
    check_served(metrics);
    CHECK(all_close_on_exec());
    metrics_close(metrics);
    close(fd);
    CHECK_INT(open_files(), before);
}

/* ---- a Unix socket ---- */

static void put_place(char *out, size_t room, const char *path)
{
    snprintf(out, room, "unix:%s", path);
}

TEST(a_unix_socket)
{
    struct stat about;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct buf answer = {0};
    char place[200];
    const char *path = test_path("m.sock");
    put_place(place, sizeof place, path);
    struct metrics *metrics = start_at(place);
    REQUIRE(lstat(path, &about) == 0);
    CHECK(S_ISSOCK(about.st_mode));
    CHECK_INT(about.st_mode & 0777, 0600);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    say(fd, GET);
    hear(fd, &answer);
    CHECK(scan_check(body_of(&answer), false) == NULL && answer.count > 100);
    CHECK(open_at(place, "another program listens at that socket") == NULL);
    CHECK(lstat(path, &about) == 0);
    metrics_close(metrics);
    CHECK(lstat(path, &about) != 0 && errno == ENOENT);
    buf_clear(&answer);
}

/* Of a recorder that was killed. */
TEST(a_name_that_was_left_is_taken_over)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char place[200];
    const char *path = test_path("m.sock");
    put_place(place, sizeof place, path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    close(fd);
    metrics_close(open_at(place, NULL));
    CHECK(access(path, F_OK) != 0);
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

TEST(names_of_others_stay)
{
    struct stat about;
    char place[200];
    const char *path = test_path("file");
    put_place(place, sizeof place, path);
    put_file(path, "mine");
    CHECK(open_at(place, "no socket") == NULL);
    CHECK(open_at(path, "holds no metrics of Tidemark") == NULL);
    CHECK(open_at(test_folder(), "no file") == NULL);
    CHECK(open_at("/nonexistent/a.prom", "No such file") == NULL);
    REQUIRE(stat(path, &about) == 0);
    CHECK_INT(about.st_size, 4);
    unlink(path);
    struct metrics *metrics = open_at(place, NULL);
    unlink(path);
    put_file(path, "mine"); /* the socket's name is somebody else's by now */
    metrics_close(metrics);
    CHECK(access(path, F_OK) == 0);
}

/* ---- a file ---- */

static void read_file(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "r");
    char bytes[4096];
    size_t count;
    buf_clear(out);
    while (file && (count = fread(bytes, 1, sizeof bytes, file)) > 0)
        buf_add(out, bytes, count);
    if (file)
        fclose(file);
}

static void check_file(const char *name, bool openmetrics)
{
    const char *path = test_path(name);
    struct buf text = {0};
    struct meters last = {0};
    struct metrics *metrics = start_at(path);
    read_file(path, &text);
    CHECK(scan_check(buf_string(&text), openmetrics) == NULL);
    CHECK(scan_value(buf_string(&text), "tidemark_up", "{run=\"a.db\"}") == 1);
    last.run[METER_RUN_EVENTS] = 77;
    metrics_stop(metrics);
    metrics_end(metrics, &last);
    metrics_close(metrics);
    read_file(path, &text);
    CHECK(scan_check(buf_string(&text), openmetrics) == NULL);
    CHECK(scan_value(buf_string(&text), "tidemark_up", "{run=\"a.db\"}") == 0);
    CHECK(scan_value(buf_string(&text), "tidemark_events_total", "{run=\"a.db\"}") == 77);
    buf_clear(&text);
}

TEST(a_file_in_both_forms)
{
    check_file("a.prom", false);
    check_file("a.txt", true);
    check_file("a.prom", false); /* ours: written over */
    struct dirent *entry;
    DIR *folder = opendir(test_folder());
    while ((entry = readdir(folder)))
        CHECK(entry->d_name[0] != '.' || entry->d_name[1] == 0 || entry->d_name[1] == '.');
    closedir(folder);
}

/* Never half of one: the name is of the old text or of the new. */
TEST(a_file_that_is_renamed)
{
    const char *path = test_path("a.prom");
    struct stat before, after;
    struct meters last = {0};
    struct metrics *metrics = start_at(path);
    REQUIRE(stat(path, &before) == 0);
    CHECK_INT(before.st_mode & 0777 & ~0644u, 0);
    int fd = open(path, O_RDONLY);
    metrics_stop(metrics);
    metrics_end(metrics, &last);
    metrics_close(metrics);
    REQUIRE(stat(path, &after) == 0);
    CHECK(after.st_ino != before.st_ino);
    close(fd);
}

TEST(a_folder_that_went_away_is_said_once)
{
    char path[300];
    struct meters last = {0};
    snprintf(path, sizeof path, "%s/sub", test_folder());
    REQUIRE(mkdir(path, 0700) == 0);
    strcat(path, "/a.prom");
    struct metrics *metrics = start_at(path);
    unlink(path);
    *strrchr(path, '/') = 0;
    REQUIRE(rmdir(path) == 0);
    metrics_stop(metrics);
    metrics_end(metrics, &last);
    CHECK(strstr(warned, "cannot write it: No such file") != NULL);
    warned[0] = 0;
    metrics_end(metrics, &last);
    CHECK_STR(warned, "");
    metrics_close(metrics);
}

TEST_MAIN(TEST_CASE(a_port), TEST_CASE(values_are_looked_at_again), TEST_CASE(a_port_that_is_taken),
          TEST_CASE(half_open_clients_are_outlived), TEST_CASE(a_silent_client_is_shown_the_door),
          TEST_CASE(a_request_without_end_is_refused), TEST_CASE(who_reads_slowly_holds_up_nobody),
          TEST_CASE(who_leaves_in_the_middle), TEST_CASE(no_descriptor_is_left_or_given_away),
          TEST_CASE(a_unix_socket), TEST_CASE(a_name_that_was_left_is_taken_over),
          TEST_CASE(names_of_others_stay), TEST_CASE(a_file_in_both_forms),
          TEST_CASE(a_file_that_is_renamed), TEST_CASE(a_folder_that_went_away_is_said_once))
