/* Ranks that wait for each other: two or three processes, each with the stand-in of its own. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks.h"

static void collect(void *communicator, void *stream)
{
    SAME(CALL(int, ncclAllReduce, (const void *, void *, size_t, int, int, void *, void *),
              (NULL, NULL, 0, 7, 0, communicator, stream)),
         0);
}

static int query(void *stream)
{
    return CALL(int, cudaStreamQuery, (void *), (stream));
}

/* Rank 0 puts its part in and looks; rank 1 does so when it is told. */
static void two_at_a_barrier(struct rank *self, int number, struct unique_id id)
{
    void *communicator = join(2, id, number), *stream = new_stream(), *other = new_stream(), *event;
    REQUIRE(CALL(int, cudaEventCreate, (void **), (&event)) == 0);
    say(self->say, 'j');
    REQUIRE(hear(self->told) == 'g');
    collect(communicator, stream);
    SAME(CALL(int, cudaEventRecord, (void *, void *), (event, stream)), 0);
    SAME(query(other), 0);
    SAME(CALL(int, cudaStreamWaitEvent, (void *, void *, unsigned), (other, event, 0)), 0);
    if (number == 0) {
        SAME(query(stream), NOT_READY);
        SAME(query(other), NOT_READY);
        SAME(CALL(int, cudaEventQuery, (void *), (event)), NOT_READY);
        say(self->say, 'w');
    }
    SAME(CALL(int, cudaStreamSynchronize, (void *), (other)), 0);
    SAME(CALL(int, cudaEventSynchronize, (void *), (event)), 0);
    SAME(CALL(int, cudaDeviceSynchronize, (void), ()), 0);
    SAME(query(stream), 0);
    say(self->say, 'd');
}

TEST(who_waits_for_a_stream_waits_for_the_others)
{
    struct rank ranks[2];
    start(ranks, 2, two_at_a_barrier);
    SAME(hear(ranks[0].hear), 'j');
    SAME(hear(ranks[1].hear), 'j');
    say(ranks[0].tell, 'g');
    SAME(hear(ranks[0].hear), 'w'); /* it waits, and is not done: rank 1 stands still */
    say(ranks[1].tell, 'g');
    SAME(hear(ranks[0].hear), 'd');
    SAME(hear(ranks[1].hear), 'd');
    end(ranks, 2);
}

/* Rank 1 is killed before its part. */
static void one_is_killed(struct rank *self, int number, struct unique_id id)
{
    void *communicator = join(2, id, number), *stream = new_stream();
    say(self->say, 'j');
    if (number == 1)
        for (;;)
            pause();
    collect(communicator, stream);
    SAME(CALL(int, cudaStreamSynchronize, (void *), (stream)), 0);
}

TEST(nobody_waits_for_the_dead)
{
    struct rank ranks[2];
    int status;
    start(ranks, 2, one_is_killed);
    SAME(hear(ranks[0].hear), 'j');
    SAME(hear(ranks[1].hear), 'j');
    REQUIRE(kill(ranks[1].pid, SIGKILL) == 0);
    REQUIRE(waitpid(ranks[1].pid, &status, 0) == ranks[1].pid);
    end(ranks, 1);
}

static void one_leaves(struct rank *self, int number, struct unique_id id)
{
    void *communicator = join(2, id, number), *stream = new_stream();
    if (number == 1) {
        SAME(CALL(int, ncclCommDestroy, (void *), (communicator)), 0);
        say(self->say, 'l');
        REQUIRE(hear(self->told) == 'g');
        return;
    }
    collect(communicator, stream);
    SAME(CALL(int, cudaStreamSynchronize, (void *), (stream)), 0);
}

TEST(nobody_waits_for_one_that_left)
{
    struct rank ranks[2];
    start(ranks, 2, one_leaves);
    SAME(hear(ranks[1].hear), 'l');
    end(ranks, 1);
    say(ranks[1].tell, 'g');
    end(ranks + 1, 1);
}

static void split(void *from, int color, int key, void **made, int *size, int *rank)
{
    SAME(CALL(int, ncclCommSplit, (void *, int, int, void **, void *),
              (from, color, key, made, NULL)),
         0);
    if (!*made)
        return;
    SAME(CALL(int, ncclCommCount, (void *, int *), (*made, size)), 0);
    SAME(CALL(int, ncclCommUserRank, (void *, int *), (*made, rank)), 0);
}

/* 0 and 2 go together, in the order of their keys; 1 is alone; then 1 takes no part. */
static void three_split(struct rank *self, int number, struct unique_id id)
{
    void *all = join(RANKS, id, number), *some, *stream = new_stream();
    int size = 0, rank = -1;
    split(all, number == 1, -number, &some, &size, &rank);
    SAME(size, number == 1 ? 1 : 2);
    SAME(rank, number == 0);
    if (number == 1)
        collect(some, stream);
    SAME(query(stream), 0);
    split(all, number == 1 ? -1 : 5, 0, &some, &size, &rank);
    SAME(some == NULL, number == 1);
    if (number == 1)
        return;
    SAME(rank, number == 2);
    if (number == 2)
        REQUIRE(hear(self->told) == 'g');
    collect(some, stream);
    if (number == 0) {
        SAME(query(stream), NOT_READY);
        say(self->say, 'w');
    }
    SAME(CALL(int, cudaStreamSynchronize, (void *), (stream)), 0);
}

TEST(a_split_has_those_of_one_color)
{
    struct rank ranks[RANKS];
    start(ranks, RANKS, three_split);
    SAME(hear(ranks[0].hear), 'w');
    say(ranks[2].tell, 'g');
    end(ranks, RANKS);
}

/* A stream keeps what four meetings have of it, and lets go of what is done. */
static void many_groups(struct rank *self, int number, struct unique_id id)
{
    void *all = join(2, id, number), *made, *stream = new_stream();
    int size, rank;
    for (int i = 0; i < 20; i++) {
        split(all, 0, number, &made, &size, &rank);
        collect(made, stream);
        SAME(CALL(int, cudaStreamSynchronize, (void *), (stream)), 0);
    }
    say(self->say, 'd');
}

TEST(many_groups_come_and_go)
{
    struct rank ranks[2];
    start(ranks, 2, many_groups);
    SAME(hear(ranks[0].hear), 'd');
    end(ranks, 2);
}

TEST(one_that_cannot_meet_waits_for_nobody)
{
    struct unique_id id = {{0}};
    open_library();
    void *communicator = join(2, id, 0), *stream = new_stream();
    collect(communicator, stream);
    SAME(CALL(int, cudaStreamSynchronize, (void *), (stream)), 0);
    int size = 0, rank = -1;
    void *made;
    split(communicator, 0, 0, &made, &size, &rank);
    SAME(size, 2);
}

TEST(all_ranks_in_one_process)
{
    void *communicators[RANKS], *stream;
    int rank = -1, devices[RANKS] = {2, 1, 0}, device = -1;
    open_library();
    stream = new_stream();
    SAME(CALL(int, ncclCommInitAll, (void **, int, const int *), (communicators, RANKS, devices)),
         0);
    SAME(CALL(int, ncclCommUserRank, (void *, int *), (communicators[2], &rank)), 0);
    SAME(rank, 2);
    SAME(CALL(int, ncclCommCuDevice, (void *, int *), (communicators[2], &device)), 0);
    SAME(device, 0);
    collect(communicators[0], stream);
    SAME(query(stream), NOT_READY);
    collect(communicators[1], new_stream());
    collect(communicators[2], new_stream());
    SAME(query(stream), 0);
}

/* More of them than there are places, one after the other. */
TEST(a_place_is_used_again)
{
    void *communicators[2], *stream;
    open_library();
    stream = new_stream();
    for (int i = 0; i < 400; i++) {
        SAME(CALL(int, ncclCommInitAll, (void **, int, const int *), (communicators, 2, NULL)), 0);
        collect(communicators[0], stream);
        SAME(query(stream), NOT_READY); /* there is a meeting */
        for (int k = 0; k < 2; k++)
            SAME(CALL(int, ncclCommDestroy, (void *), (communicators[k])), 0);
        SAME(query(stream), 0);
    }
}

/* Rank 1 has ended, and its parent has not asked for its status. */
TEST(nobody_waits_for_the_dead_that_nobody_buried)
{
    struct rank ranks[2];
    int status;
    start(ranks, 2, one_is_killed);
    SAME(hear(ranks[0].hear), 'j');
    SAME(hear(ranks[1].hear), 'j');
    REQUIRE(kill(ranks[1].pid, SIGKILL) == 0);
    end(ranks, 1);
    REQUIRE(waitpid(ranks[1].pid, &status, 0) == ranks[1].pid);
}

TEST_MAIN(TEST_CASE(who_waits_for_a_stream_waits_for_the_others),
          TEST_CASE(nobody_waits_for_the_dead), TEST_CASE(nobody_waits_for_one_that_left),
          TEST_CASE(a_split_has_those_of_one_color), TEST_CASE(many_groups_come_and_go),
          TEST_CASE(one_that_cannot_meet_waits_for_nobody), TEST_CASE(all_ranks_in_one_process),
          TEST_CASE(a_place_is_used_again), TEST_CASE(nobody_waits_for_the_dead_that_nobody_buried))
