/*
 * What recorded programs say on the recorder's socket: packets of any bytes from any number of
 * connections, some of them closed before they are heard. The server goes on, takes each packet for
 * what it is, and the arguments that a packet names become one line of text.
 *
 * One byte for each operation: a connection is made, closed, heard; or says something: a packet out
 * of the input, or a right one that the input changes.
 */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "error.h"
#include "event.h"
#include "fuzz.h"
#include "hello_server.h"
#include "process.h"

#define CONNECTIONS 8u
#define MOST_OPERATIONS 200

struct run {
    struct fuzz_input input;
    struct hello_server *server;
    int connections[CONNECTIONS]; /* -1 = none */
    unsigned now_at;
    uint64_t heard, said;
};

static int hear_one(void *context, const struct hello_said *said)
{
    struct run *run = context;
    struct buf line = {0};
    struct process process = {.pid = said->pid};
    const struct hello *hello = said->hello;
    run->heard += !said->unsent;
    MUST(said->pid == getpid());
    MUST(hello->magic == HELLO_MAGIC && hello->argv_bytes <= sizeof hello->text);
    MUST(said->understood == (hello->format == EVENT_FORMAT));
    if (said->pidfd >= 0)
        close(said->pidfd);
    argv_text(&line, hello->text, hello->argv_bytes, hello->argv_total);
    MUST(!line.broken && strlen(buf_string(&line)) == line.count);
    buf_clear(&line);
    process_said(&process, hello->text, hello->argv_bytes);
    for (size_t i = 0; i < 2; i++)
        MUST(memchr(process.said[i], '\0', sizeof process.said[i]));
    bool gives = hello->what == HELLO_FETCH && hello->rank & 1 && !said->unsent;
    return gives ? dup(STDERR_FILENO) : -1;
}

static void dial(struct run *run)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = hello_server_name(run->server);
    int *fd = &run->connections[run->now_at];
    if (*fd >= 0)
        return;
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    MUST(*fd >= 0 && connect(*fd, (struct sockaddr *)&address, bytes) == 0);
}

static void hang_up(struct run *run)
{
    int *fd = &run->connections[run->now_at];
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void choose(struct run *run)
{
    run->now_at = fuzz_byte(&run->input) % CONNECTIONS;
}

static void send_packet(struct run *run, const void *bytes, size_t count)
{
    dial(run);
    if (send(run->connections[run->now_at], bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        run->said++;
}

static void say_anything(struct run *run)
{
    size_t count = (size_t)fuzz_number(&run->input, 2);
    const uint8_t *bytes = fuzz_bytes(&run->input, &count);
    send_packet(run, bytes, count);
}

static void say_hello(struct run *run)
{
    static struct hello hello;
    uint8_t shape = fuzz_byte(&run->input);
    size_t text = fuzz_byte(&run->input);
    const uint8_t *from = fuzz_bytes(&run->input, &text);
    memset(&hello, 0, sizeof hello);
    hello.magic = HELLO_MAGIC;
    hello.format = shape & 1 ? EVENT_FORMAT : fuzz_byte(&run->input);
    hello.what = shape & 2 ? HELLO_HELLO : shape & 4 ? HELLO_FETCH : fuzz_byte(&run->input);
    hello.how = shape & 8 ? HELLO_BY_EXEC : fuzz_byte(&run->input);
    hello.rank = (int32_t)(int8_t)fuzz_byte(&run->input);
    hello.argv_bytes = shape & 16 ? (uint32_t)fuzz_number(&run->input, 4) : (uint32_t)text;
    hello.argv_total = shape & 32 ? fuzz_number(&run->input, 8) : text;
    memcpy(hello.text, from, text);
    send_packet(run, &hello, offsetof(struct hello, text) + text);
}

static void hear(struct run *run)
{
    MUST(hello_server_handle(run->server, hear_one, run));
}

static void (*const operations[])(struct run *run) = {
    dial, hang_up, choose, say_anything, say_hello, hear, say_hello, choose,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct run run = {.input = {bytes, count}};
    MUST(hello_server_open(&run.server) == BASE_OK);
    for (size_t i = 0; i < CONNECTIONS; i++)
        run.connections[i] = -1;
    for (int i = 0; run.input.left && i < MOST_OPERATIONS; i++)
        operations[fuzz_byte(&run.input) % (sizeof operations / sizeof *operations)](&run);
    hear(&run);
    for (run.now_at = 0; run.now_at < CONNECTIONS; run.now_at++)
        hang_up(&run);
    hear(&run);
    const struct hello_server_stats *stats = hello_server_stats(run.server);
    MUST(stats->heard == run.heard && stats->heard <= run.said && stats->strangers == 0);
    hello_server_close(run.server);
    return 0;
}
