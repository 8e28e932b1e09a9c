#include "drain_mail.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "mem.h"

int mail_init(struct drain_mail *mail, int wake_fd)
{
    pthread_condattr_t attributes;
    *mail = (struct drain_mail){.wake_fd = wake_fd};
    mail->last = &mail->first;
    if (pthread_mutex_init(&mail->lock, NULL) != 0 || pthread_condattr_init(&attributes) != 0)
        return ERR_NOMEM;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&mail->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed ? ERR_NOMEM : BASE_OK;
}

void mail_clear(struct drain_mail *mail)
{
    mem_free(mail->returned);
    pthread_cond_destroy(&mail->wake);
    pthread_mutex_destroy(&mail->lock);
}

/* ---- messages ---- */

void message_free(struct message *message)
{
    union {
        const char *in;
        char *out;
    } text[3] = {{message->hello.host}, {message->hello.argv}, {message->hello.why_not}};
    for (int i = 0; i < 3; i++)
        mem_free(text[i].out);
    mem_free(message);
}

static void post(struct drain_mail *mail, struct message *message)
{
    assert(!message->next && message->key);
    pthread_mutex_lock(&mail->lock);
    *mail->last = message;
    mail->last = &message->next;
    pthread_cond_signal(&mail->wake);
    pthread_mutex_unlock(&mail->lock);
}

static struct message *new_message(enum message_kind kind, uint64_t key)
{
    struct message *message = mem_alloc(1, sizeof *message);
    if (message) {
        message->kind = kind;
        message->key = key;
    }
    return message;
}

/* Replaces a text by a copy; false without memory. */
static bool copy_text(const char **text)
{
    if (!*text)
        return true;
    *text = mem_copy(*text, strlen(*text));
    return *text != NULL;
}

bool mail_begin(struct drain_mail *mail, const struct drain_hello *hello)
{
    struct message *message = new_message(MESSAGE_BEGIN, hello->key);
    if (!message)
        return false;
    message->hello = *hello;
    bool host = copy_text(&message->hello.host);
    bool argv = copy_text(&message->hello.argv);
    bool why_not = copy_text(&message->hello.why_not);
    if (host && argv && why_not)
        post(mail, message);
    else
        message_free(message);
    return host && argv && why_not;
}

bool mail_ring(struct drain_mail *mail, uint64_t key, struct ring_shared *ring)
{
    struct message *message = new_message(MESSAGE_RING, key);
    if (!message)
        return false;
    drain_source_init(&message->source, ring);
    post(mail, message);
    return true;
}

bool mail_refused(struct drain_mail *mail, uint64_t key, const char *why_not)
{
    struct message *message = new_message(MESSAGE_REFUSED, key);
    if (!message)
        return false;
    message->hello.why_not = why_not;
    bool copied = copy_text(&message->hello.why_not);
    if (copied)
        post(mail, message);
    else
        message_free(message);
    return copied;
}

bool mail_end(struct drain_mail *mail, uint64_t key, const struct process_end *end, uint64_t at_ns,
              bool lives)
{
    struct message *message = new_message(MESSAGE_END, key);
    if (!message)
        return false;
    message->end = *end;
    message->at_ns = at_ns;
    message->lives = lives;
    post(mail, message);
    return true;
}

void mail_stop(struct drain_mail *mail)
{
    pthread_mutex_lock(&mail->lock);
    mail->stop_asked = true;
    pthread_cond_signal(&mail->wake);
    pthread_mutex_unlock(&mail->lock);
}

struct message *mail_take(struct drain_mail *mail, bool *stop)
{
    pthread_mutex_lock(&mail->lock);
    struct message *list = mail->first;
    *stop = mail->stop_asked;
    mail->first = NULL;
    mail->last = &mail->first;
    pthread_mutex_unlock(&mail->lock);
    return list;
}

void mail_wait(struct drain_mail *mail, uint64_t ns, bool stopping)
{
    uint64_t until = clock_now_ns() + ns;
    struct timespec at = {(time_t)(until / NS_PER_S), (long)(until % NS_PER_S)};
    pthread_mutex_lock(&mail->lock);
    if (!mail->first && (!mail->stop_asked || stopping))
        pthread_cond_timedwait(&mail->wake, &mail->lock, &at);
    pthread_mutex_unlock(&mail->lock);
}

/* ---- the way back ---- */

void mail_tell(struct drain_mail *mail)
{
    uint64_t one = 1;
    (void)!write(mail->wake_fd, &one, sizeof one);
}

/* Without memory for the list the ring does not come back: its mapping lasts as long as we do. */
void mail_return(struct drain_mail *mail, struct ring_shared *ring)
{
    ring_close(ring);
    pthread_mutex_lock(&mail->lock);
    if (MEM_GROW(mail->returned, mail->returned_cap, mail->returned_count + 1))
        mail->returned[mail->returned_count++] = ring;
    pthread_mutex_unlock(&mail->lock);
    mail_tell(mail);
}

struct ring_shared *mail_returned(struct drain_mail *mail)
{
    struct ring_shared *ring = NULL;
    pthread_mutex_lock(&mail->lock);
    if (mail->returned_count > 0)
        ring = mail->returned[--mail->returned_count];
    pthread_mutex_unlock(&mail->lock);
    return ring;
}
