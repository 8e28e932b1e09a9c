#include "clients.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "mem.h"

struct answer *answer_new(void)
{
    struct answer *answer = mem_alloc(1, sizeof *answer);
    if (answer)
        answer->users = 1;
    return answer;
}

void answer_leave(struct answer *answer)
{
    assert(!answer || answer->users > 0);
    if (!answer || --answer->users > 0)
        return;
    buf_clear(&answer->text);
    mem_free(answer);
}

/* ---- the list ---- */

static void drop(struct clients *clients, size_t at)
{
    struct client *client = clients->list[at];
    assert(at < clients->count);
    close(client->fd);
    answer_leave(client->answer);
    mem_free(client);
    clients->count--;
    memmove(&clients->list[at], &clients->list[at + 1],
            (clients->count - at) * sizeof clients->list[0]);
}

void clients_add(struct clients *clients, int fd, uint64_t now_ns)
{
    struct client *client = mem_alloc(1, sizeof *client);
    if (!client) {
        close(fd);
        return;
    }
    if (clients->count == CLIENTS_MAX)
        drop(clients, 0);
    client->fd = fd;
    client->since_ns = now_ns;
    clients->list[clients->count++] = client;
    assert(clients_are_valid(clients));
}

void clients_clear(struct clients *clients)
{
    while (clients->count > 0)
        drop(clients, clients->count - 1);
}

bool clients_are_valid(const struct clients *clients)
{
    for (size_t i = 0; i < clients->count; i++) {
        const struct client *client = clients->list[i];
        size_t body = client->answer && !client->no_body ? client->answer->text.count : 0;
        if (client->fd < 0 || (i > 0 && client->since_ns < clients->list[i - 1]->since_ns) ||
            (client->answer != NULL) != (client->state == CLIENT_WRITING) ||
            (client->answer && client->sent > client->head_bytes + body) ||
            (client->state == CLIENT_READING && client->got > REQUEST_MAX))
            return false;
    }
    return clients->count <= CLIENTS_MAX;
}

/* ---- one client: false, and it is to go ---- */

static bool again(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static bool throw_away(struct client *client)
{
    char rest[4096];
    ssize_t bytes = recv(client->fd, rest, sizeof rest, 0);
    if (bytes > 0)
        client->got += (size_t)bytes;
    return bytes > 0 ? client->got < CLIENT_CLOSING_MAX : bytes < 0 && again();
}

static struct answer *refusal(int status)
{
    struct answer *answer = answer_new();
    if (answer)
        buf_text(&answer->text, request_refusal(status));
    return answer;
}

static bool answer_it(const struct clients *clients, struct client *client,
                      const struct request *request)
{
    client->answer = request->status == 200 ? clients->page(clients->context, request->form)
                                            : refusal(request->status);
    if (!client->answer)
        return false;
    client->state = CLIENT_WRITING;
    client->no_body = request->head;
    client->head_bytes = request_answer(request, client->answer->text.count, client->head);
    return !client->answer->text.broken;
}

static bool read_more(const struct clients *clients, struct client *client)
{
    struct request request;
    ssize_t bytes = recv(client->fd, client->in + client->got, REQUEST_MAX - client->got, 0);
    if (bytes <= 0)
        return bytes < 0 && again();
    client->got += (size_t)bytes;
    return !request_read(client->in, client->got, &request) || answer_it(clients, client, &request);
}

/* What is left to be sent next; 0 bytes: nothing. */
static const char *rest_of(const struct client *client, size_t *bytes)
{
    const struct buf *text = &client->answer->text;
    size_t body = client->sent - client->head_bytes;
    *bytes = client->head_bytes - client->sent;
    if (client->sent < client->head_bytes)
        return client->head + client->sent;
    *bytes = client->no_body ? 0 : text->count - body;
    return *bytes ? text->data + body : NULL;
}

static bool write_more(struct clients *clients, struct client *client)
{
    const char *at;
    size_t left;
    while ((at = rest_of(client, &left)) != NULL) {
        ssize_t bytes = send(client->fd, at, left, MSG_NOSIGNAL);
        if (bytes < 0)
            return again();
        client->sent += (size_t)bytes;
    }
    answer_leave(client->answer);
    client->answer = NULL;
    client->state = CLIENT_CLOSING;
    client->got = 0;
    clients->served++;
    return shutdown(client->fd, SHUT_WR) == 0;
}

static bool turn(struct clients *clients, struct client *client, short events)
{
    if (events & (POLLERR | POLLNVAL))
        return false;
    if (client->state == CLIENT_CLOSING)
        return throw_away(client);
    if (client->state == CLIENT_READING && !read_more(clients, client))
        return false;
    return client->state != CLIENT_WRITING || write_more(clients, client);
}

/* ---- all of them ---- */

void clients_poll(const struct clients *clients, struct pollfd *out)
{
    for (size_t i = 0; i < clients->count; i++)
        out[i] = (struct pollfd){
            .fd = clients->list[i]->fd,
            .events = clients->list[i]->state == CLIENT_WRITING ? POLLOUT : POLLIN,
        };
}

void clients_turn(struct clients *clients, const struct pollfd *polled, size_t count,
                  uint64_t now_ns)
{
    for (size_t i = count; i-- > 0;) {
        struct client *client = clients->list[i];
        bool stays = !polled[i].revents || turn(clients, client, polled[i].revents);
        if (!stays || now_ns - client->since_ns >= CLIENT_NS)
            drop(clients, i);
    }
    assert(clients_are_valid(clients));
}

int clients_wait_ms(const struct clients *clients, uint64_t now_ns)
{
    if (clients->count == 0)
        return -1;
    uint64_t age = now_ns - clients->list[0]->since_ns;
    return age >= CLIENT_NS ? 0 : (int)((CLIENT_NS - age) / NS_PER_MS) + 1;
}
