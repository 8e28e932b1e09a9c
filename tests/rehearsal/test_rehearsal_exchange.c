/* What ranks bring each other: two or three processes, each with numbers of its own. */
#include <sys/resource.h>
#include <string.h>

#include "ranks.h"

enum { INT32 = 2, INT64 = 4, FLOAT32 = 7 };
enum { SUM, PRODUCT, MOST, LEAST, AVERAGE };

static char *on_device; /* 1 MiB */

static void copy(void *to, const void *from, size_t bytes)
{
    SAME(CALL(int, cudaMemcpyAsync, (void *, const void *, size_t, int, void *),
              (to, from, bytes, 4, NULL)),
         0);
}

static void *begin(int size, struct unique_id id, int number)
{
    void *p, *communicator = join(size, id, number);
    REQUIRE(CALL(int, cudaMalloc, (void **, size_t), (&p, 1 << 20)) == 0);
    on_device = p;
    return communicator;
}

static int64_t read_number(size_t index)
{
    int64_t value = -1;
    copy(&value, on_device + 8 * index, sizeof value);
    return value;
}

static void write_number(size_t index, int64_t value)
{
    copy(on_device + 8 * index, &value, sizeof value);
}

#define PLACE(index) (on_device + 8 * (index))
#define TYPES_REDUCE (const void *, void *, size_t, int, int, void *, void *)

static int64_t reduced(void *communicator, int operation, int64_t value)
{
    write_number(0, value);
    SAME(CALL(int, ncclAllReduce, TYPES_REDUCE,
              (PLACE(0), PLACE(1), 1, INT64, operation, communicator, NULL)),
         0);
    return read_number(1);
}

/* ---- what all make together ---- */

static void three_reduce(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(RANKS, id, number);
    const float halves[] = {0.5F, 0.25F, 0.125F};
    float sum = 0;
    (void)self;
    SAME(reduced(communicator, SUM, number + 1), 6);
    SAME(reduced(communicator, PRODUCT, number + 2), 24);
    SAME(reduced(communicator, MOST, -number), 0);
    SAME(reduced(communicator, LEAST, -number), -2);
    SAME(reduced(communicator, AVERAGE, 3 * number), 3);
    copy(on_device, &halves[number], sizeof *halves);
    SAME(CALL(int, ncclAllReduce, TYPES_REDUCE,
              (PLACE(0), PLACE(0), 1, FLOAT32, SUM, communicator, NULL)),
         0);
    copy(&sum, on_device, sizeof sum);
    REQUIRE(sum == 0.875F);
    write_number(0, number);
    write_number(1, 10 * number);
    write_number(2, 100 * number);
    SAME(CALL(int, ncclReduceScatter, TYPES_REDUCE,
              (PLACE(0), PLACE(8), 1, INT64, SUM, communicator, NULL)),
         0);
    SAME(read_number(8), number == 0 ? 3 : number == 1 ? 30 : 300);
}

TEST(each_rank_brings_a_number_of_its_own)
{
    struct rank ranks[RANKS];
    start(ranks, RANKS, three_reduce);
    end(ranks, RANKS);
}

/* ---- what is passed on ---- */

static void three_gather(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(RANKS, id, number);
    (void)self;
    write_number((size_t)number, 5 + number); /* in place */
    SAME(CALL(int, ncclAllGather, (const void *, void *, size_t, int, void *, void *),
              (PLACE(number), PLACE(0), 1, INT64, communicator, NULL)),
         0);
    for (size_t i = 0; i < RANKS; i++)
        SAME(read_number(i), 5 + (int64_t)i);
    for (size_t i = 0; i < RANKS; i++)
        write_number(i, 10 * number + (int64_t)i);
    SAME(CALL(int, ncclAlltoAll, (const void *, void *, size_t, int, void *, void *),
              (PLACE(0), PLACE(4), 1, INT64, communicator, NULL)),
         0);
    for (size_t i = 0; i < RANKS; i++)
        SAME(read_number(4 + i), 10 * (int64_t)i + number);
    write_number(0, number == 1 ? 77 : 3);
    SAME(CALL(int, ncclBroadcast, (const void *, void *, size_t, int, int, void *, void *),
              (PLACE(0), PLACE(0), 1, INT64, 1, communicator, NULL)),
         0);
    SAME(read_number(0), 77);
}

TEST(what_a_rank_has_comes_to_the_others)
{
    struct rank ranks[RANKS];
    start(ranks, RANKS, three_gather);
    end(ranks, RANKS);
}

/* Rank 0 sends before anybody waits, more than there is room for at once. */
static void two_send(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(2, id, number);
    (void)self;
    for (int i = 0; i < 40; i++) {
        if (number == 0) {
            write_number(0, i);
            SAME(CALL(int, ncclSend, (const void *, size_t, int, int, void *, void *),
                      (PLACE(0), 1, INT64, 1, communicator, NULL)),
                 0);
            continue;
        }
        SAME(CALL(int, ncclRecv, (void *, size_t, int, int, void *, void *),
                  (PLACE(0), 1, INT64, 0, communicator, NULL)),
             0);
        SAME(read_number(0), i);
    }
}

TEST(messages_come_in_their_order)
{
    struct rank ranks[2];
    start(ranks, 2, two_send);
    end(ranks, 2);
}

/* ---- what is not known ---- */

/* Rank 1 does not know what it brings: nobody knows the sum, and of the parts that one alone. */
static void one_does_not_know(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(2, id, number);
    (void)self;
    write_number(4, 9);
    if (number == 0)
        write_number(0, 5);
    SAME(CALL(int, ncclAllReduce, TYPES_REDUCE,
              (PLACE(0), PLACE(4), 1, INT64, SUM, communicator, NULL)),
         0);
    SAME(read_number(4), 0);
    SAME(CALL(int, ncclAllGather, (const void *, void *, size_t, int, void *, void *),
              (PLACE(0), PLACE(8), 1, INT64, communicator, NULL)),
         0);
    SAME(read_number(8), 5);
    SAME(read_number(9), 0);
}

TEST(what_one_does_not_know_nobody_knows)
{
    struct rank ranks[2];
    start(ranks, 2, one_does_not_know);
    end(ranks, 2);
}

/* What is written over before it came stays. */
static void one_writes_over(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(2, id, number);
    write_number(0, 5);
    if (number == 1)
        REQUIRE(hear(self->told) == 'g');
    SAME(CALL(int, ncclAllReduce, TYPES_REDUCE,
              (PLACE(0), PLACE(0), 1, INT64, SUM, communicator, NULL)),
         0);
    if (number == 0) {
        write_number(0, 6);
        SAME(read_number(0), 6); /* rank 1 has not come, and nobody waits for it */
        say(self->say, 'w');
    }
    SAME(CALL(int, cudaDeviceSynchronize, (void), ()), 0);
    SAME(read_number(0), number == 0 ? 6 : 10);
}

TEST(what_is_written_over_does_not_come)
{
    struct rank ranks[2];
    start(ranks, 2, one_writes_over);
    SAME(hear(ranks[0].hear), 'w');
    say(ranks[1].tell, 'g');
    end(ranks, 2);
}

/* Rank 1 ends before it brought anything. */
static void one_ends(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(2, id, number);
    (void)self;
    if (number == 1)
        return;
    write_number(0, 5);
    SAME(CALL(int, ncclAllReduce, TYPES_REDUCE,
              (PLACE(0), PLACE(0), 1, INT64, SUM, communicator, NULL)),
         0);
    SAME(read_number(0), 0);
}

TEST(what_the_dead_would_have_brought_is_not_known)
{
    struct rank ranks[2];
    start(ranks, 2, one_ends);
    end(ranks, 2);
}

/* Many works before anybody reads: none is lost. */
static void one_is_ahead(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(2, id, number), *stream = new_stream();
    (void)self;
    for (size_t i = 0; i < 100; i++) {
        write_number(i, number + (int64_t)i);
        SAME(CALL(int, ncclAllReduce, TYPES_REDUCE,
                  (PLACE(i), PLACE(1000 + i), 1, INT64, SUM, communicator, stream)),
             0);
    }
    for (size_t i = 0; i < 100; i++)
        SAME(read_number(1000 + i), 1 + 2 * (int64_t)i);
}

TEST(who_is_ahead_loses_nothing)
{
    struct rank ranks[2];
    start(ranks, 2, one_is_ahead);
    end(ranks, 2);
}

#define UNDER_WAY 300
#define ON_STREAM (const void *, size_t, int, int, void *, void *)

static void send_number(void *communicator, size_t i, int64_t value, int to)
{
    write_number(i, value);
    SAME(CALL(int, ncclSend, ON_STREAM, (PLACE(i), 1, INT64, to, communicator, NULL)), 0);
}

static void receive_numbers(void *communicator, int64_t first, int from)
{
    for (size_t i = 0; i < UNDER_WAY; i++)
        SAME(CALL(int, ncclRecv, (void *, size_t, int, int, void *, void *),
                  (PLACE(1000 + i), 1, INT64, from, communicator, NULL)),
             0);
    for (size_t i = 0; i < UNDER_WAY; i++)
        SAME(read_number(1000 + i), first + (int64_t)i);
}

/* How often this process gave its core away: a wait for room is 10,000 naps, on a machine however
 * busy. */
static long naps(void)
{
    struct rusage usage;
    REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_nvcsw;
}
#define NAPS_FEW 5000

/* Both send all before they take any: neither waits for the other, and nothing is lost. */
static void two_send_first(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(2, id, number);
    long before = naps();
    for (size_t i = 0; i < UNDER_WAY; i++)
        send_number(communicator, i, 1000 * number + (int64_t)i + 1, 1 - number);
    REQUIRE(naps() - before < NAPS_FEW);
    say(self->say, 's');
    REQUIRE(hear(self->told) == 'g');
    receive_numbers(communicator, 1000 * (1 - number) + 1, 1 - number);
}

/* Rank 0 collects while rank 1 stands still. */
static void one_stands_still(struct rank *self, int number, struct unique_id id)
{
    void *communicator = begin(2, id, number);
    if (number == 1)
        REQUIRE(hear(self->told) == 'g');
    long before = naps();
    for (size_t i = 0; i < UNDER_WAY; i++) {
        write_number(i, number + (int64_t)i);
        SAME(CALL(int, ncclAllReduce, TYPES_REDUCE,
                  (PLACE(i), PLACE(1000 + i), 1, INT64, SUM, communicator, NULL)),
             0);
    }
    REQUIRE(number == 1 || naps() - before < NAPS_FEW);
    say(self->say, 's');
    for (size_t i = 0; i < UNDER_WAY; i++)
        SAME(read_number(1000 + i), 1 + 2 * (int64_t)i);
}

TEST(nobody_waits_for_room)
{
    struct rank ranks[2];
    start(ranks, 2, two_send_first);
    for (int i = 0; i < 2; i++)
        SAME(hear(ranks[i].hear), 's');
    for (int i = 0; i < 2; i++)
        say(ranks[i].tell, 'g');
    end(ranks, 2);
}

TEST(nobody_waits_for_one_that_stands_still)
{
    struct rank ranks[2];
    start(ranks, 2, one_stands_still);
    SAME(hear(ranks[0].hear), 's');
    say(ranks[1].tell, 'g');
    end(ranks, 2);
}

TEST_MAIN(TEST_CASE(each_rank_brings_a_number_of_its_own),
          TEST_CASE(what_a_rank_has_comes_to_the_others), TEST_CASE(messages_come_in_their_order),
          TEST_CASE(what_one_does_not_know_nobody_knows),
          TEST_CASE(what_is_written_over_does_not_come),
          TEST_CASE(what_the_dead_would_have_brought_is_not_known),
          TEST_CASE(who_is_ahead_loses_nothing), TEST_CASE(nobody_waits_for_room),
          TEST_CASE(nobody_waits_for_one_that_stands_still))
