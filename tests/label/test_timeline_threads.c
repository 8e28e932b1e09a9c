/* Marks of several threads: who makes the timeline, who is passed over, who is apart. */
#include <string.h>

#include "phases.h"
#include "state_process.h"
#include "test.h"

enum { FIRST = 100, SECOND = 101, THIRD = 102, THREADS = 3 };

struct threads {
    struct phases_feed feed;
    struct marks_sink sinks[THREADS]; /* of each what it has open */
};

static void begin(struct threads *threads, bool flushes)
{
    phases_begin(&threads->feed);
    threads->feed.flushes = flushes;
    for (int i = 0; i < THREADS; i++)
        threads->sinks[i] = threads->feed.sink;
}

static void on(struct threads *threads, int thread, const char *marks)
{
    threads->feed.feed.thread = (uint32_t)thread;
    marks_read(&threads->sinks[thread - FIRST], marks);
    REQUIRE(state_is_valid(threads->feed.feed.state));
}

/* A mark of a thread of the engine. */
static void engine(struct threads *threads, int thread, enum mark_kind kind, uint64_t identity)
{
    threads->feed.feed.thread = (uint32_t)thread;
    for (int i = 0; i < 2; i++) {
        feed_event(&threads->feed.feed, (struct event){.kind = i ? EVENT_EXIT : EVENT_ENTER,
                                                       .size = kind,
                                                       .a = identity,
                                                       .b = MARK_F_ENGINE | MARK_F_GRAD});
        threads->sinks[0].between(&threads->feed);
    }
}

static const char *of(struct threads *threads, int thread)
{
    return phases_of_thread(&threads->feed.rows, 1, thread);
}

/* The first phase of that name that is one of the process. */
static const struct row *of_process(struct threads *threads, const char *name)
{
    const struct row *row;
    size_t nth = 0;
    while ((row = rows_phase(&threads->feed.rows, name, nth++)))
        if (strcmp(row->text[PHASE_SCOPE], "process") == 0)
            return row;
    return NULL;
}

static size_t noted(struct threads *threads)
{
    return rows_anomalies(&threads->feed.rows, "marks of several threads");
}

static void end(struct threads *threads, size_t anomalies)
{
    phases_end(&threads->feed);
    CHECK_INT(noted(threads), anomalies);
    CHECK_INT(rows_lost(&threads->feed.rows, "fact"), 0);
}

#define EACH_WAY(threads)                                                                          \
    for (int way = 0; way < 2; way++, phases_clear(&(threads).feed))                               \
        if (begin(&(threads), way), true)

TEST(one_thread_after_the_other)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "Fn()");
        on(&threads, SECOND, "2{z f l b o}");
        on(&threads, FIRST, "z f l b o");
        end(&threads, 0);
        CHECK_STR(of(&threads, 0),
                  ". 0: n . z . f l b a o 1: . z . f l b a o 2: . z . f l b a o -: .");
    }
}

TEST(replicas_work_for_the_forward_that_called_them)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "z F(");
        on(&threads, SECOND, "F8(");
        on(&threads, THIRD, "F9() F9()");
        on(&threads, SECOND, ")");
        on(&threads, FIRST, ") l b o");
        end(&threads, 0);
        CHECK_STR(of(&threads, 0), ". 0: z . f l b a o -: .");
        CHECK_STR(of(&threads, SECOND), "");
    }
}

/* The module is shared: the exit of the other is not the end of this one's forward. */
TEST(replicas_may_be_the_same_module)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "z F(");
        on(&threads, SECOND, "F()");
        on(&threads, FIRST, "U()) l b o");
        end(&threads, 0);
        CHECK_STR(of(&threads, 0), ". 0: z . f( U ) l b a o -: .");
    }
}

TEST(the_engine_works_for_the_backward)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "z f l B(");
        engine(&threads, SECOND, MARK_FORWARD, 5);
        engine(&threads, THIRD, MARK_OPTIMIZER, 6);
        on(&threads, FIRST, ") o");
        end(&threads, 0);
        CHECK_STR(of(&threads, 0), ". 0: z . f l b( r o ) 1: a o -: .");
    }
}

TEST(of_two_that_train_the_second_is_apart)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "z f l b o z F(");
        on(&threads, SECOND, "z F(");
        on(&threads, FIRST, ") l B(");
        on(&threads, SECOND, ") l B(");
        on(&threads, FIRST, ") o z");
        on(&threads, SECOND, ")! O() U(Fn()) z");
        on(&threads, FIRST, "f l b o");
        end(&threads, 1);
        CHECK_STR(of(&threads, 0), ". 0: z . f l b a o 1: . z . f l b a o 2: . z . f l b a o -: .");
        CHECK_STR(of(&threads, SECOND), "z f l b! o U( n ) z");
        CHECK_STR(of(&threads, THIRD), "");
    }
}

/* A third thread is noticed, too; once for the process is enough to say so. */
TEST(a_third_thread)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "z B(");
        on(&threads, SECOND, "z O(");
        on(&threads, THIRD, "z f");
        on(&threads, SECOND, ")");
        on(&threads, FIRST, ") o");
        end(&threads, 1);
        CHECK_STR(of(&threads, 0), ". 0: z f b a o -: .");
        CHECK_STR(of(&threads, SECOND), "z o");
        CHECK_STR(of(&threads, THIRD), "z f");
    }
}

/* A thread that evaluates has begun its forward while the one that trains was between two marks. */
TEST(who_trains_stays)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "z f l b o");
        on(&threads, SECOND, "Fn9(");
        on(&threads, FIRST, "z f l b");
        on(&threads, SECOND, ") Fn9()");
        on(&threads, FIRST, "o");
        end(&threads, 1);
        CHECK_STR(of(&threads, 0), ". 0: z . f l b a o 1: . n z . f l b a o -: .");
        CHECK_STR(of(&threads, SECOND), "n");
        const struct row *row = rows_anomaly(&threads.feed.rows, "marks of several threads", 0);
        REQUIRE(row != NULL);
        CHECK(strstr(row->text[ANOMALY_DETAIL], "thread 101 beside thread 100") != NULL);
    }
}

/* It loses the timeline while a phase of its own is open, which stays one of the process. */
TEST(phases_of_the_program_below_it)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "z f l b o");
        on(&threads, SECOND, "Fn9() U( Fn9(");
        on(&threads, FIRST, "z f l b");
        on(&threads, SECOND, ") Fn9( U() ) Fn9( )");
        on(&threads, FIRST, "o");
        on(&threads, SECOND, ")");
        end(&threads, 1);
        const struct row *around = of_process(&threads, "mine");
        REQUIRE(around != NULL);
        CHECK_STR(phases_inside(&threads.feed.rows, SECOND, around->at[0]), "n( U ) n");
        CHECK_INT(rows_anomalies(&threads.feed.rows, "phase unbalanced"), 0);
    }
}

/* What is apart and begins inside of a phase of the process is inside of it. */
TEST(phases_of_the_program_around_it)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, SECOND, "U( F(");
        on(&threads, FIRST, "B(");
        on(&threads, SECOND, ") U() F( U() ) )");
        on(&threads, FIRST, ") o");
        on(&threads, SECOND, "U( b )");
        end(&threads, 1);
        const struct row *around = rows_phase(&threads.feed.rows, "mine", 0);
        REQUIRE(around != NULL);
        CHECK_STR(phases_inside(&threads.feed.rows, FIRST, around->at[0]), "b");
        CHECK_STR(of(&threads, FIRST), "o");
        CHECK_STR(of(&threads, SECOND), "");
    }
}

/* Blocks belong to the phase of their own thread, if it has one. */
TEST(blocks_of_a_thread_that_is_apart)
{
    static struct threads threads;
    begin(&threads, false);
    on(&threads, FIRST, "z f l B(");
    on(&threads, SECOND, "z B(");
    threads.feed.feed.thread = SECOND;
    int64_t own = feed_alloc(&threads.feed.feed, threads.feed.heap, 0x900000, 64);
    threads.feed.feed.thread = FIRST;
    int64_t first = feed_alloc(&threads.feed.feed, threads.feed.heap, 0x910000, 64);
    on(&threads, SECOND, ")");
    threads.feed.feed.thread = SECOND;
    int64_t between = feed_alloc(&threads.feed.feed, threads.feed.heap, 0x920000, 64);
    on(&threads, FIRST, ") o");
    end(&threads, 1);
    const struct row *phase = rows_phase(&threads.feed.rows, "backward", 1);
    const struct row *row = rows_find(&threads.feed.rows, SCH_ALLOCATION_PHASE, 1, &own);
    if (phase && strcmp(phase->text[PHASE_SCOPE], "thread") != 0)
        phase = rows_phase(&threads.feed.rows, "backward", 0);
    REQUIRE(phase != NULL && row != NULL);
    CHECK_INT(row->at[1], phase->at[0]);
    CHECK(rows_find(&threads.feed.rows, SCH_ALLOCATION_PHASE, 1, &first) == NULL);
    CHECK(rows_find(&threads.feed.rows, SCH_ALLOCATION_PHASE, 1, &between) == NULL);
    phases_clear(&threads.feed);
}

/* A thread that is gone leaves its number to another. */
TEST(threads_that_end)
{
    static struct threads threads;
    EACH_WAY(threads)
    {
        on(&threads, FIRST, "z B(");
        on(&threads, SECOND, "z F(");
        state_thread_end(threads.feed.feed.process, SECOND, threads.feed.feed.now);
        on(&threads, FIRST, ") o");
        threads.sinks[1] = threads.feed.sink;
        on(&threads, SECOND, "z f l b o");
        end(&threads, 1);
        CHECK_STR(of(&threads, 0), ". 0: z f b a o 1: . z . f l b a o -: .");
        CHECK_INT(rows_anomalies(&threads.feed.rows, "phase left open"), 1);
    }
}

static void go_on(struct threads *threads, uint64_t *seed, int thread, size_t *depth)
{
    static const char *const opens[] = {"F(", "Fn(", "Fl(", "B(", "Z(", "O(", "S(", "U("};
    static const char *const closes[] = {")", ")", ")1", ")!"};
    size_t *open = &depth[thread - FIRST];
    if (*open && (*open > 5 || test_random(seed) % 2)) {
        on(threads, thread, closes[test_random(seed) % 4]);
        --*open;
        return;
    }
    on(threads, thread, opens[test_random(seed) % 8]);
    ++*open;
}

/* Whatever comes in whatever order: the state is valid, and no block is without a phase. */
TEST(any_order)
{
    for (uint64_t run = 1; run <= 60; run++) {
        static struct threads threads;
        size_t depth[THREADS] = {0};
        uint64_t seed = run;
        begin(&threads, run % 4 == 0);
        for (int i = 0; i < 300; i++)
            go_on(&threads, &seed, FIRST + (int)(test_random(&seed) % THREADS), depth);
        phases_end(&threads.feed);
        CHECK(noted(&threads) <= 1);
        CHECK_INT(rows_lost(&threads.feed.rows, "fact"), 0);
        CHECK_INT(rows_anomalies(&threads.feed.rows, "mark end without begin"), 0);
        phases_clear(&threads.feed);
    }
}

TEST_MAIN(TEST_CASE(one_thread_after_the_other),
          TEST_CASE(replicas_work_for_the_forward_that_called_them),
          TEST_CASE(replicas_may_be_the_same_module), TEST_CASE(the_engine_works_for_the_backward),
          TEST_CASE(of_two_that_train_the_second_is_apart), TEST_CASE(a_third_thread),
          TEST_CASE(who_trains_stays), TEST_CASE(phases_of_the_program_around_it),
          TEST_CASE(phases_of_the_program_below_it), TEST_CASE(blocks_of_a_thread_that_is_apart),
          TEST_CASE(threads_that_end), TEST_CASE(any_order))
