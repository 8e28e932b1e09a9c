/* drain_client.c - what messages say of processes, and what the kernel says of them. */
#include <signal.h>
#include <string.h>

#include "drain_types.h"
#include "ensure.h"
#include "error.h"
#include "mem.h"

struct drain_client *drain_find_client(const struct drain *drain, uint64_t key)
{
    for (size_t i = 0; i < drain->client_count; i++)
        if (drain->clients[i]->key == key)
            return drain->clients[i];
    return NULL;
}

static struct state_process *begin_row(struct drain *drain, const struct drain_hello *hello)
{
    uint64_t parent = hello->parent ? map_get(&drain->ids, hello->parent) : MAP_NONE;
    struct state_hello row = {
        .pid = hello->pid,
        .parent = parent == MAP_NONE ? BATCH_NULL : (int64_t)parent,
        .origin = hello->origin,
        .at_ns = hello->at_ns,
        .rank = hello->rank,
        .local_rank = hello->local_rank,
        .world_size = hello->world_size,
        .host = hello->host,
        .argv = hello->argv,
        .why_not = hello->why_not,
    };
    return state_process_begin(drain->options.state, &row);
}

/* Without memory the process stays unknown: its ring, should it ask for one, is closed. */
static bool begin_client(struct drain *drain, const struct drain_hello *hello)
{
    if (!MEM_GROW(drain->clients, drain->client_cap, drain->client_count + 1))
        return false;
    struct drain_client *client = mem_alloc(1, sizeof *client);
    if (!client)
        return false;
    client->process = begin_row(drain, hello);
    if (!client->process) {
        mem_free(client);
        return false;
    }
    client->key = hello->key;
    client->parent = hello->parent;
    client->id = state_process_id(client->process);
    client->pid = hello->pid;
    client->same_namespace = hello->same_namespace;
    client->begin_ns = hello->at_ns;
    drain->clients[drain->client_count++] = client;
    map_put(&drain->ids, client->key, (uint64_t)client->id, NULL);
    return true;
}

/* What the parent had at the fork is in its arena by now; its end is told to us after this ring. */
static void inherit(struct drain *drain, struct drain_client *client,
                    const struct drain_source *source)
{
    struct drain_client *parent = source->first ? drain_find_client(drain, source->from) : NULL;
    if (source->first == 0 || parent == client)
        return;
    if (parent && parent->ring)
        drain_ring_define(parent->ring);
    state_process_inherit(client->process, parent ? parent->process : NULL, source->first);
}

static void connect_ring(struct drain *drain, uint64_t key, const struct drain_source *source)
{
    struct drain_client *client = drain_find_client(drain, key);
    if (drain_failed(drain) || !client || client->ring)
        goto refuse;
    client->ring = mem_alloc(1, sizeof *client->ring);
    drain->stats.forgotten += !client->ring;
    if (!client->ring)
        goto refuse;
    inherit(drain, client, source);
    drain_ring_init(client->ring, client->process, source, drain->options.start_ns,
                    client->begin_ns);
    ticks_tell(&drain->ticks, &client->ring->reader.ring->clock);
    return;
refuse:
    mail_return(&drain->mail, source->reader.ring);
}

/* Somebody who has the ring all the same, and uses it, is believed. */
static void refuse(struct drain *drain, uint64_t key, const char *why_not)
{
    struct drain_client *client = drain_find_client(drain, key);
    if (!client || (client->ring && client->ring->live))
        return;
    if (client->ring) {
        mail_return(&drain->mail, client->ring->reader.ring);
        mem_free(client->ring);
        client->ring = NULL;
    }
    state_process_live(client->process, NULL, why_not);
}

/* ---- the thread: what the kernel says of processes ---- */

static struct drain_host_row host_row(const struct drain *drain, const struct drain_client *client)
{
    return (struct drain_host_row){.batch = state_batch(drain->options.state),
                                   .process = client->id,
                                   .pid = client->pid,
                                   .start_ns = drain->options.start_ns};
}

void drain_look_at_host(struct drain *drain, struct drain_client *client, bool events)
{
    const struct drain_host_row row = host_row(drain, client);
    struct drain_moments moments = {.events = events};
    if (client->ending || drain_failed(drain))
        return;
    state_moments(client->process, &moments.moments, &moments.refusals);
    drain_host_look(&client->host, &moments, &row, clock_now_ns());
}

static void see_killed(struct drain *drain, struct drain_client *client)
{
    const struct drain_host_row row = host_row(drain, client);
    if (client->end.signal != SIGKILL || drain_failed(drain) ||
        !drain_host_killed(&client->host, &row, clock_now_ns()))
        return;
    drain->stats.killed++;
    drain->stats.killed_limit = client->host.limit;
}

static void begin_end(struct drain_client *client, const struct process_end *end, uint64_t at_ns,
                      bool lives)
{
    client->ending = true;
    client->lives = lives;
    client->end = *end;
    client->end_ns = at_ns;
    client->ask_ns = clock_now_ns();
    if (lives && client->ring)
        ring_close(client->ring->reader.ring);
}

static void hear_one(struct drain *drain, const struct message *message)
{
    struct drain_client *client;
    if (message->kind == MESSAGE_BEGIN)
        drain->stats.forgotten += !begin_client(drain, &message->hello);
    else if (message->kind == MESSAGE_RING)
        connect_ring(drain, message->key, &message->source);
    else if (message->kind == MESSAGE_REFUSED)
        refuse(drain, message->key, message->hello.why_not);
    else if ((client = drain_find_client(drain, message->key)) != NULL) {
        begin_end(client, &message->end, message->at_ns, message->lives);
        see_killed(drain, client);
    }
}

/* Whoever has not ended when we stop: we were not told, for want of memory. */
static void begin_last_ends(struct drain *drain)
{
    const struct process_end unknown = {"unknown", PROCESS_NOT_KNOWN, PROCESS_NOT_KNOWN};
    for (size_t i = 0; i < drain->client_count; i++)
        if (!drain->clients[i]->ending)
            begin_end(drain->clients[i], &unknown, clock_now_ns(), true);
}

void drain_hear(struct drain *drain)
{
    bool stop;
    struct message *message = mail_take(&drain->mail, &stop);
    while (message) {
        struct message *next = message->next;
        drain->dirty = true;
        hear_one(drain, message);
        message_free(message);
        message = next;
    }
    if (stop && !drain->stopping) {
        drain->stopping = true;
        begin_last_ends(drain);
    }
}
