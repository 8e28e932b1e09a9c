#include <pthread.h>
#include <time.h>

#include "batch.h"
#include "clock.h"
#include "queue.h"
#include "test.h"

static struct batch *numbered(uint64_t number)
{
    struct batch *batch = batch_new(false);
    REQUIRE(batch != NULL);
    batch->event_count = number;
    return batch;
}

static struct batch *pop_now(struct queue *queue)
{
    bool closed;
    return queue_pop(queue, 0, &closed);
}

static void nap(void)
{
    const struct timespec pause = {.tv_nsec = 20 * (long)NS_PER_MS};
    nanosleep(&pause, NULL);
}

TEST(first_in_first_out_and_bytes_add_up)
{
    struct queue *queue = NULL;
    REQUIRE(queue_new(&queue, (size_t)1 << 20) == 0);
    size_t sum = 0;
    for (uint64_t i = 0; i < 5; i++) {
        struct batch *batch = numbered(i);
        REQUIRE(batch_add_end(batch, 1, 2, 3));
        sum += batch_bytes(batch);
        CHECK(queue_push(queue, batch));
        CHECK_INT(queue_bytes(queue), sum);
        CHECK(queue_is_valid(queue));
    }
    for (uint64_t i = 0; i < 5; i++) {
        struct batch *batch = pop_now(queue);
        REQUIRE(batch != NULL);
        CHECK_INT(batch->event_count, i);
        CHECK(batch->next == NULL);
        sum -= batch_bytes(batch);
        CHECK_INT(queue_bytes(queue), sum);
        CHECK(queue_is_valid(queue));
        batch_free(batch);
    }
    CHECK_INT(sum, 0);
    CHECK(pop_now(queue) == NULL);
    queue_free(queue);
}

TEST(an_empty_queue_times_out_and_says_whether_it_is_closed)
{
    struct queue *queue = NULL;
    bool closed = true;
    REQUIRE(queue_new(&queue, 1000) == 0);
    CHECK(queue_pop(queue, 1, &closed) == NULL);
    CHECK(!closed);
    CHECK(queue_push(queue, numbered(1)));
    queue_close(queue);
    CHECK(!queue_push(queue, numbered(2)));
    struct batch *batch = queue_pop(queue, 1000, &closed);
    REQUIRE(batch != NULL);
    CHECK_INT(batch->event_count, 1);
    batch_free(batch);
    CHECK(queue_pop(queue, 60000, &closed) == NULL); /* at once: nothing can come */
    CHECK(closed);
    queue_free(queue);
}

TEST(a_batch_larger_than_the_limit_passes_alone)
{
    struct queue *queue = NULL;
    REQUIRE(queue_new(&queue, 1) == 0);
    CHECK(queue_has_room(queue));
    CHECK(queue_push(queue, numbered(1)));
    CHECK(!queue_has_room(queue));
    batch_free(pop_now(queue));
    CHECK(queue_has_room(queue));
    CHECK(queue_push(queue, numbered(2)));
    queue_free(queue); /* with a batch in it */
}

struct pusher {
    struct queue *queue;
    uint64_t count;
    uint64_t refused;
};

static void *push_many(void *context)
{
    struct pusher *pusher = context;
    for (uint64_t i = 0; i < pusher->count; i++)
        if (!queue_push(pusher->queue, numbered(i)))
            pusher->refused++;
    return NULL;
}

TEST(a_full_queue_holds_its_producer_up_and_loses_nothing)
{
    struct pusher pusher = {.count = 5000};
    pthread_t thread;
    struct batch *one = numbered(0);
    REQUIRE(queue_new(&pusher.queue, 3 * batch_bytes(one)) == 0);
    size_t limit = 4 * batch_bytes(one);
    batch_free(one);
    REQUIRE(pthread_create(&thread, NULL, push_many, &pusher) == 0);
    nap();
    for (uint64_t i = 0; i < pusher.count; i++) {
        bool closed;
        CHECK(queue_bytes(pusher.queue) <= limit);
        CHECK(queue_is_valid(pusher.queue));
        struct batch *batch = queue_pop(pusher.queue, 10000, &closed);
        REQUIRE(batch != NULL);
        REQUIRE(batch->event_count == i);
        batch_free(batch);
    }
    pthread_join(thread, NULL);
    CHECK_INT(pusher.refused, 0);
    CHECK_INT(queue_bytes(pusher.queue), 0);
    queue_free(pusher.queue);
}

TEST(closing_wakes_a_waiting_producer)
{
    struct pusher pusher = {.count = 10};
    pthread_t thread;
    REQUIRE(queue_new(&pusher.queue, 1) == 0);
    REQUIRE(pthread_create(&thread, NULL, push_many, &pusher) == 0);
    while (queue_has_room(pusher.queue))
        nap();
    nap();
    queue_close(pusher.queue);
    pthread_join(thread, NULL);
    CHECK_INT(pusher.refused, 9);
    batch_free(pop_now(pusher.queue));
    CHECK(pop_now(pusher.queue) == NULL);
    queue_free(pusher.queue);
}

TEST_MAIN(TEST_CASE(first_in_first_out_and_bytes_add_up),
          TEST_CASE(an_empty_queue_times_out_and_says_whether_it_is_closed),
          TEST_CASE(a_batch_larger_than_the_limit_passes_alone),
          TEST_CASE(a_full_queue_holds_its_producer_up_and_loses_nothing),
          TEST_CASE(closing_wakes_a_waiting_producer))
