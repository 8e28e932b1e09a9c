/*
 * drain_mail.h - what supervisor and drain tell each other: messages in, in order; rings out, in
 * any order. Unbounded both ways, so that neither thread waits for the other.
 */
#ifndef TIDEMARK_RECORDER_DRAIN_MAIL_H
#define TIDEMARK_RECORDER_DRAIN_MAIL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "drain.h"
#include "drain_ring.h"

enum message_kind { MESSAGE_BEGIN, MESSAGE_RING, MESSAGE_REFUSED, MESSAGE_END };

struct message {
    struct message *next;
    enum message_kind kind;
    uint64_t key;
    struct drain_hello hello;   /* BEGIN; of REFUSED, why_not alone; texts are owned */
    struct drain_source source; /* RING */
    struct process_end end;     /* END */
    uint64_t at_ns;
    bool lives;
};

struct drain_mail {
    pthread_mutex_t lock; /* of everything here */
    pthread_cond_t wake;
    struct message *first, **last;
    bool stop_asked; /* no message comes after that */
    struct ring_shared **returned;
    size_t returned_count, returned_cap;
    int wake_fd; /* tells the supervisor */
};

int mail_init(struct drain_mail *mail, int wake_fd); /* a base_err */
void mail_clear(struct drain_mail *mail);

/* ---- the supervisor's side; false: no memory, nothing was sent ---- */

bool mail_begin(struct drain_mail *mail, const struct drain_hello *hello);
bool mail_ring(struct drain_mail *mail, uint64_t key, struct ring_shared *ring);
bool mail_refused(struct drain_mail *mail, uint64_t key, const char *why_not);
bool mail_end(struct drain_mail *mail, uint64_t key, const struct process_end *end, uint64_t at_ns,
              bool lives);
void mail_stop(struct drain_mail *mail);
struct ring_shared *mail_returned(struct drain_mail *mail); /* NULL: none at the moment */

/* ---- the drain's side ---- */

/* All that has come, oldest first, each to be freed; *stop: it was the last. */
struct message *mail_take(struct drain_mail *mail, bool *stop);
void message_free(struct message *message);
/* Sleeps until something comes, or so long; `stopping`: a stop is no news. */
void mail_wait(struct drain_mail *mail, uint64_t ns, bool stopping);
void mail_tell(struct drain_mail *mail); /* makes the supervisor look */
/* Closes the ring and gives it back to whoever made it. */
void mail_return(struct drain_mail *mail, struct ring_shared *ring);

#endif
