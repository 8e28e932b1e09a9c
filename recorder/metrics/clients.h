/*
 * clients.h - the connections of those who ask for the metrics: read a request, send an answer,
 * close. None of them can hold up anybody: no call blocks, a request has a bounded length, each has
 * CLIENT_NS for the whole, and where all places are taken the oldest makes way.
 *
 *     READING --a request--> WRITING --all is sent--> CLOSING --the other end closed, or time-->
 * gone
 *
 * CLOSING: what the client still sends is read and thrown away; a socket closed over unread bytes
 * would be reset, and the answer lost.
 *
 * Invariants (clients_are_valid): the clients [0, count) are in the order in which they came, each
 * with a descriptor; one has an answer if and only if it is WRITING; sent <= what there is to send.
 */
#ifndef TIDEMARK_RECORDER_CLIENTS_H
#define TIDEMARK_RECORDER_CLIENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "request.h"

#define CLIENTS_MAX ((size_t)16)
#define CLIENT_NS (UINT64_C(5) * 1000000000)
#define CLIENT_CLOSING_MAX ((size_t)1 << 20) /* bytes that are thrown away */

/* A text that several clients may be in the middle of. */
struct answer {
    unsigned users;
    struct buf text;
};
struct answer *answer_new(void); /* with one user; NULL without memory */
void answer_leave(struct answer *answer);

enum client_state { CLIENT_READING, CLIENT_WRITING, CLIENT_CLOSING };

struct client {
    int fd;
    enum client_state state;
    uint64_t since_ns; /* when it came */
    size_t got;        /* of `in`; CLOSING: thrown away */
    struct answer *answer;
    size_t head_bytes, sent; /* sent: of head and answer together */
    bool no_body;
    char head[REQUEST_HEAD_MAX];
    char in[REQUEST_MAX];
};

struct clients {
    struct client *list[CLIENTS_MAX];
    size_t count;
    uint64_t served; /* answers that were sent as a whole */
    /* The metrics in a form, with one user more; NULL: there are none. */
    struct answer *(*page)(void *context, enum exposition form);
    void *context;
};

/* Takes the descriptor over. */
void clients_add(struct clients *clients, int fd, uint64_t now_ns);
/* What to wait for, count of them. */
void clients_poll(const struct clients *clients, struct pollfd *out);
/* `polled`: of all that were there at clients_poll. Afterwards those whose time is over are gone.
 */
void clients_turn(struct clients *clients, const struct pollfd *polled, size_t count,
                  uint64_t now_ns);
/* Milliseconds until a time is over; -1: nobody is there. */
int clients_wait_ms(const struct clients *clients, uint64_t now_ns);
void clients_clear(struct clients *clients);
bool clients_are_valid(const struct clients *clients);

#endif
