/* What is asked, in HTTP and on the command line. */
#include <string.h>

#include "error.h"
#include "place.h"
#include "request.h"
#include "test.h"

#define PROMETHEUS                                                                                 \
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"       \
    "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

static int status_of(const char *text)
{
    struct request request;
    return request_read(text, strlen(text), &request) ? request.status : 0;
}

TEST(requests)
{
    CHECK_INT(status_of("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
    CHECK_INT(status_of("GET /metrics HTTP/1.0\n\n"), 200);
    CHECK_INT(status_of("HEAD /metrics?a=b HTTP/1.1\r\n\r\n"), 200);
    CHECK_INT(status_of("GET / HTTP/1.1\r\n\r\n"), 404);
    CHECK_INT(status_of("GET /metrics/ HTTP/1.1\r\n\r\n"), 404);
    CHECK_INT(status_of("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), 405);
    CHECK_INT(status_of("get /metrics HTTP/1.1\r\n\r\n"), 405);
    CHECK_INT(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
    CHECK_INT(status_of("\r\n\r\n"), 400);
    CHECK_INT(status_of("GET /metrics\r\n\r\n"), 400);
    CHECK_INT(status_of("\x16\x03\x01\x02\n\n"), 400); /* TLS */
    CHECK_INT(status_of("GET /metrics HTTP/1.1\r\nHost: a\r\n"), 0);
    CHECK_INT(status_of(""), 0);
}

TEST(a_request_of_any_cut)
{
    const char *text = "GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: " PROMETHEUS "\r\n\r\n";
    struct request request;
    for (size_t i = 0; i < strlen(text); i++)
        CHECK(!request_read(text, i, &request));
    CHECK(request_read(text, strlen(text), &request));
    CHECK_INT(request.form, EXPOSITION_OPENMETRICS);
}

TEST(a_request_without_end)
{
    static char text[REQUEST_MAX];
    struct request request;
    memset(text, 'a', sizeof text);
    CHECK(!request_read(text, REQUEST_MAX - 1, &request));
    CHECK(request_read(text, REQUEST_MAX, &request));
    CHECK_INT(request.status, 431);
    memcpy(text, "GET /metrics HTTP/1.1\0\n\n", 24);
    CHECK(request_read(text, REQUEST_MAX, &request));
    CHECK_INT(request.status, 400);
}

/* Any bytes: an answer, or none yet. */
TEST(bytes_of_chance)
{
    static const char some[] = "GET /metrics HTTP/1.1\r\n:;,=Acceptq. */\0\n\n";
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        struct request request;
        size_t count = (size_t)(test_random(&seed) % sizeof text);
        for (size_t i = 0; i < count; i++)
            text[i] = some[test_random(&seed) % sizeof some];
        if (request_read(text, count, &request))
            CHECK(request.status >= 200 && request.status <= 505);
    }
}

static void accepts(const char *accept, enum exposition want)
{
    bool same = request_accepts(accept, strlen(accept)) == want;
    CHECK_STR(same ? "" : accept, "");
}

TEST(what_is_accepted)
{
    accepts("", EXPOSITION_TEXT);
    accepts("*/*", EXPOSITION_TEXT); /* curl */
    accepts(PROMETHEUS, EXPOSITION_OPENMETRICS);
    accepts("application/openmetrics-text", EXPOSITION_OPENMETRICS);
    accepts("Application/OpenMetrics-Text ; Version=1.0.0", EXPOSITION_OPENMETRICS);
    accepts("application/openmetrics-text; version=2.0.0", EXPOSITION_TEXT);
    accepts("application/openmetrics-text;q=0", EXPOSITION_TEXT);
    accepts("application/openmetrics-text;q=0.2,text/plain;q=0.9", EXPOSITION_TEXT);
    accepts("text/plain;q=0.3 , application/openmetrics-text;q=0.5", EXPOSITION_OPENMETRICS);
    accepts("text/html,application/xhtml+xml,*/*;q=0.8", EXPOSITION_TEXT);
    accepts(";,;=,q=,,", EXPOSITION_TEXT);
}

static void place(const char *text, enum place_kind kind, const char *path, unsigned port)
{
    struct place place;
    struct buf why = {0};
    CHECK_INT(place_read(&place, text, &why), BASE_OK);
    CHECK_STR(buf_string(&why), "");
    CHECK_INT(place.kind, kind);
    CHECK_STR(place.path, path);
    CHECK_INT(place.port, port);
    buf_clear(&why);
}

TEST(places)
{
    place("a.prom", PLACE_FILE, "a.prom", 0);
    place("/x/a:9", PLACE_FILE, "/x/a:9", 0);
    place("unix:/run/a", PLACE_UNIX, "/run/a", 0);
    place("127.0.0.1:9400", PLACE_PORT, "", 9400);
    place("localhost:0", PLACE_PORT, "", 0);
    place("[::1]:65535", PLACE_PORT, "", 65535);
}

static void refused(const char *text, const char *want)
{
    struct place place;
    struct buf why = {0};
    CHECK_INT(place_read(&place, text, &why), ERR_ARG);
    CHECK_STR(strstr(buf_string(&why), want) ? want : buf_string(&why), want);
    buf_clear(&why);
}

TEST(places_that_are_none)
{
    char longest[200];
    memset(longest, 'a', sizeof longest - 1);
    memcpy(longest, "unix:", 5);
    longest[sizeof longest - 1] = 0;
    refused("0.0.0.0:9400", "this machine only: 127.0.0.1:9400");
    refused(":9400", "this machine only");
    refused("host.example:9400", "this machine only");
    refused("[::]:9400", "this machine only");
    refused("127.0.0.1:65536", "up to 65535");
    refused("127.0.0.1:99999999999", "up to 65535");
    refused("9400", "127.0.0.1:PORT");
    refused("http://127.0.0.1:9400/metrics", "127.0.0.1:PORT");
    refused("", "unix:PATH");
    refused("unix:", "missing");
    refused(longest, "107 bytes");
}

TEST(answers)
{
    struct request request = {.status = 200, .form = EXPOSITION_OPENMETRICS};
    char head[REQUEST_HEAD_MAX];
    size_t bytes = request_answer(&request, 12, head);
    CHECK_INT(bytes, strlen(head));
    CHECK(strstr(head, "HTTP/1.1 200 OK\r\n") == head);
    CHECK(strstr(head, "\r\nContent-Type: application/openmetrics-text; version=1.0.0; "
                       "charset=utf-8\r\nContent-Length: 12\r\n") != NULL);
    request.form = EXPOSITION_TEXT;
    request_answer(&request, 0, head);
    CHECK(strstr(head, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n") != NULL);
    request.status = 405;
    request_answer(&request, 0, head);
    CHECK(strstr(head, "\r\nAllow: GET, HEAD\r\n") != NULL);
}

TEST_MAIN(TEST_CASE(requests), TEST_CASE(a_request_of_any_cut), TEST_CASE(a_request_without_end),
          TEST_CASE(bytes_of_chance), TEST_CASE(what_is_accepted), TEST_CASE(places),
          TEST_CASE(places_that_are_none), TEST_CASE(answers))
