/*
 * nccl_collect.c - NCCL's collectives. Each rank brings its small known values (values.h), and has
 * of the others what they bring, once they have: a result is on its way until then (pending.h), and
 * only who reads it waits. What is large, or not known to one of the ranks, is not known to those
 * who would have had it.
 *
 * Where ranks cannot meet, none knows what the others bring. Of one rank alone all is known.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "nccl.h"
#include "nccl_reduce.h"
#include "pending.h"
#include "stream.h"
#include "stub.h"
#include "values.h"

/* What a rank brings to a collective; larger is no setting, and not looked at. */
#define BYTES_MAX CHANNEL_BYTES

/* Where a rank's bytes are the same for all who look, or a part of them for each. */
enum { RANK_OF_ALL = -1 };

/* A piece that is on its way: of one rank, or reduced of all. */
struct arriving {
    uint32_t meeting;
    uint64_t work;                 /* or message */
    int from;                      /* RANK_OF_ALL: reduced */
    bool sent;                     /* from rank to rank */
    size_t brought, offset, bytes; /* by each rank; the part of it that goes here */
    struct reduction reduction;
};

static uint64_t number(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static const void *offset(const void *at, size_t bytes)
{
    return (const void *)((uintptr_t)at + bytes);
}

/* ---- what comes ---- */

static enum pending_news read_one(const struct arriving *it, int rank, void *bytes)
{
    char *all = malloc(it->brought + 1);
    enum channel_state state = CHANNEL_UNKNOWN;
    if (all && it->sent)
        state = meeting_read_sent(it->meeting, it->work, rank, all, it->brought);
    else if (all)
        state = meeting_read(it->meeting, it->work, rank, all, it->brought);
    if (state == CHANNEL_HERE)
        memcpy(bytes, all + it->offset, it->bytes);
    free(all);
    return state == CHANNEL_NOT_YET ? PENDING_NOT_YET
           : state == CHANNEL_HERE  ? PENDING_HERE
                                    : PENDING_UNKNOWN;
}

/* All ranks' parts behind each other. It waits for all, also if one is unknown: an answer must not
 * depend on who is early. */
static enum pending_news read_all(const struct arriving *it, void *bytes)
{
    int ranks = it->reduction.ranks;
    char *parts = malloc((size_t)ranks * it->bytes + 1);
    enum pending_news news = parts ? PENDING_HERE : PENDING_UNKNOWN;
    for (int i = 0; parts && i < ranks && news != PENDING_NOT_YET; i++) {
        enum pending_news one = read_one(it, i, parts + (size_t)i * it->bytes);
        news = one == PENDING_HERE ? news : one;
    }
    if (news == PENDING_HERE && !reduction_run(&it->reduction, parts, bytes))
        news = PENDING_UNKNOWN;
    free(parts);
    return news;
}

static enum pending_news look(void *context, void *bytes)
{
    const struct arriving *it = context;
    return it->from == RANK_OF_ALL ? read_all(it, bytes) : read_one(it, it->from, bytes);
}

static void end(void *context)
{
    const struct arriving *it = context;
    if (it->sent)
        meeting_release_sent(it->meeting, it->work, it->from);
    else
        meeting_release(it->meeting, it->work);
    free(context);
}

static void expect(const void *at, const struct arriving *what)
{
    struct arriving *context = malloc(sizeof *context);
    if (context) {
        *context = *what;
        pending_add(number(at), what->bytes, &(struct pending_source){look, end, context});
        return;
    }
    values_forget(number(at), what->bytes);
    if (what->sent)
        meeting_release_sent(what->meeting, what->work, what->from);
    else
        meeting_release(what->meeting, what->work);
}

/* ---- one collective ---- */

struct call {
    const struct communicator *communicator;
    void *stream;
    const void *from; /* NULL: this rank brings nothing */
    const void *to;
    size_t brought;             /* bytes of what each rank brings */
    size_t part;                /* that this rank takes of each, or of the sum */
    size_t part_offset;         /* where it begins */
    bool parts;                 /* takes all ranks' parts, one behind the other */
    int root;                   /* takes the part of this rank alone; RANK_OF_ALL: as above */
    struct reduction reduction; /* ranks 0: nothing is added up */
};

static bool own(const struct call *call, char *values)
{
    return call->from && call->brought <= BYTES_MAX &&
           values_get(number(call->from), values, call->brought);
}

static void bring(const void *at, const void *values, size_t bytes)
{
    if (values)
        values_put(number(at), values, bytes);
    else
        values_forget(number(at), bytes);
}

static void act_alone(const struct call *call, const char *values)
{
    const struct reduction *reduction = &call->reduction;
    const char *part = values;
    char *sum = reduction->ranks && part ? malloc(call->part + 1) : NULL;
    if (reduction->ranks)
        part = sum && reduction_run(reduction, values, sum) ? sum : NULL;
    bring(call->to, part, call->part);
    free(sum);
}

/* The root of a broadcast has what it brings. */
static void act_without_others(const struct call *call, const char *values, size_t all)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const struct communicator *communicator = call->communicator;
    bool is_own = !call->reduction.ranks && !call->parts && call->root == communicator->rank;
    bring(call->to, is_own && values ? values + call->part_offset : NULL, all);
    if (!atomic_flag_test_and_set(&said))
        fprintf(stderr,
                "tidemark: rank %d of %d cannot meet the others: it waits for none of them, and "
                "what they bring is not known\n",
                communicator->rank, communicator->size);
}

static void expect_parts(const struct call *call, uint64_t work)
{
    struct arriving it = {.meeting = call->communicator->meeting,
                          .work = work,
                          .from = call->root,
                          .brought = call->brought,
                          .offset = call->part_offset,
                          .bytes = call->part,
                          .reduction = call->reduction};
    for (int i = 0; i < (call->parts ? call->communicator->size : 1); i++) {
        if (call->parts)
            it.from = i;
        expect(offset(call->to, (size_t)i * call->part), &it);
    }
}

/* Puts it into its stream. In a graph that is captured it does not run. */
static int run(const struct call *call)
{
    char values[BYTES_MAX];
    const struct communicator *communicator = call->communicator;
    size_t all = call->to ? call->part * (call->parts ? (size_t)communicator->size : 1) : 0;
    if (stream_put_writing(call->stream, call->to, all))
        return NCCL_FINE;
    bool told = own(call, values);
    bool fits = call->brought <= BYTES_MAX && call->part > 0;
    if (!communicator->meeting) {
        if (call->to && communicator->size > 1)
            act_without_others(call, told ? values : NULL, all);
        else if (call->to)
            act_alone(call, told ? values : NULL);
        return NCCL_FINE;
    }
    pending_look();
    unsigned holds = call->to && fits ? (call->parts ? (unsigned)communicator->size : 1) : 0;
    uint64_t work = meeting_put(communicator->meeting, told ? values : NULL, call->brought, holds,
                                &stream_of(call->stream)->works);
    if (holds && work)
        expect_parts(call, work);
    else if (call->to)
        values_forget(number(call->to), all);
    return NCCL_FINE;
}

static struct reduction reduction(size_t count, int type, int operation, int ranks)
{
    return (struct reduction){.count = count, .type = type, .operation = operation, .ranks = ranks};
}

API(int, ncclAllReduce, const void *from, void *to, size_t count, int type, int operation,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * reduction_width(type);
    return run(&(struct call){.communicator = communicator,
                              .stream = stream,
                              .from = from,
                              .to = to,
                              .brought = bytes,
                              .part = bytes,
                              .root = RANK_OF_ALL,
                              .reduction = reduction(count, type, operation, communicator->size)});
}

API(int, ncclReduce, const void *from, void *to, size_t count, int type, int operation, int root,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * reduction_width(type);
    return run(&(struct call){.communicator = communicator,
                              .stream = stream,
                              .from = from,
                              .to = communicator->rank == root ? to : NULL,
                              .brought = bytes,
                              .part = bytes,
                              .root = RANK_OF_ALL,
                              .reduction = reduction(count, type, operation, communicator->size)});
}

API(int, ncclReduceScatter, const void *from, void *to, size_t count, int type, int operation,
    const struct communicator *communicator, void *stream)
{
    size_t part = count * reduction_width(type);
    return run(&(struct call){.communicator = communicator,
                              .stream = stream,
                              .from = from,
                              .to = to,
                              .brought = part * (size_t)communicator->size,
                              .part = part,
                              .part_offset = part * (size_t)communicator->rank,
                              .root = RANK_OF_ALL,
                              .reduction = reduction(count, type, operation, communicator->size)});
}

API(int, ncclAllGather, const void *from, void *to, size_t count, int type,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * reduction_width(type);
    return run(&(struct call){.communicator = communicator,
                              .stream = stream,
                              .from = from,
                              .to = to,
                              .brought = bytes,
                              .part = bytes,
                              .parts = true});
}

API(int, ncclGather, const void *from, void *to, size_t count, int type, int root,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * reduction_width(type);
    return run(&(struct call){.communicator = communicator,
                              .stream = stream,
                              .from = from,
                              .to = communicator->rank == root ? to : NULL,
                              .brought = bytes,
                              .part = bytes,
                              .parts = true});
}

API(int, ncclScatter, const void *from, void *to, size_t count, int type, int root,
    const struct communicator *communicator, void *stream)
{
    size_t part = count * reduction_width(type);
    return run(&(struct call){.communicator = communicator,
                              .stream = stream,
                              .from = communicator->rank == root ? from : NULL,
                              .to = to,
                              .brought = part * (size_t)communicator->size,
                              .part = part,
                              .part_offset = part * (size_t)communicator->rank,
                              .root = root});
}

API(int, ncclAlltoAll, const void *from, void *to, size_t count, int type,
    const struct communicator *communicator, void *stream)
{
    size_t part = count * reduction_width(type);
    return run(&(struct call){.communicator = communicator,
                              .stream = stream,
                              .from = from,
                              .to = to,
                              .brought = part * (size_t)communicator->size,
                              .part = part,
                              .part_offset = part * (size_t)communicator->rank,
                              .parts = true});
}

/* The root has it already. */
API(int, ncclBroadcast, const void *from, void *to, size_t count, int type, int root,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * reduction_width(type);
    bool is_root = communicator->rank == root;
    return run(&(struct call){.communicator = communicator,
                              .stream = stream,
                              .from = is_root ? from : NULL,
                              .to = is_root && from == to ? NULL : to,
                              .brought = bytes,
                              .part = bytes,
                              .root = root});
}

API(int, ncclBcast, void *at, size_t count, int type, int root,
    const struct communicator *communicator, void *stream)
{
    return ncclBroadcast(at, at, count, type, root, communicator, stream);
}

/* ---- from one rank to another ---- */

API(int, ncclSend, const void *from, size_t count, int type, int peer,
    const struct communicator *communicator, void *stream)
{
    char values[BYTES_MAX];
    size_t bytes = count * reduction_width(type);
    if (stream_put(stream) || !communicator->meeting)
        return NCCL_FINE;
    bool told = bytes <= BYTES_MAX && values_get(number(from), values, bytes);
    pending_look();
    meeting_send(communicator->meeting, peer, told ? values : NULL, bytes);
    return NCCL_FINE;
}

API(int, ncclRecv, void *to, size_t count, int type, int peer,
    const struct communicator *communicator, void *stream)
{
    size_t bytes = count * reduction_width(type);
    if (stream_put_writing(stream, to, bytes))
        return NCCL_FINE;
    struct arriving it = {.meeting = communicator->meeting,
                          .from = peer,
                          .sent = true,
                          .brought = bytes,
                          .bytes = bytes};
    bool fits = bytes > 0 && bytes <= BYTES_MAX;
    if (it.meeting)
        it.work = meeting_receive(it.meeting, peer, fits, &stream_of(stream)->works);
    if (it.work && fits)
        expect(to, &it);
    else
        values_forget(number(to), bytes);
    return NCCL_FINE;
}
