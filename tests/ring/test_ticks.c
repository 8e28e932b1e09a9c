/*
 * The counter as a clock: what a line predicts, when it is not believed, and that no reader sees
 * half of one.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test.h"
#include "ticks.h"

enum { GHZ = 3 }; /* of the counters that are made up here */
#define START_NS (7000 * NS_PER_S)
#define START_TICKS (1ull << 60)

/* The moment so long after the start, on a machine whose kernel adds `parts` in a million. */
static struct ticks_moment moment(uint64_t ns, int64_t parts)
{
    int64_t more = (int64_t)ns * parts / 1000000;
    return (struct ticks_moment){START_TICKS + ns * GHZ, START_NS + ns + (uint64_t)more};
}

static struct ticks look_for(uint64_t ns, int64_t parts)
{
    struct ticks ticks = {.works = true};
    for (uint64_t at = 0; at <= ns; at += TICKS_LOOK_NS)
        ticks_see(&ticks, moment(at, parts));
    CHECK(ticks_is_valid(&ticks));
    return ticks;
}

static struct ticks_line told(const struct ticks *ticks)
{
    struct ticks_line line = {0};
    ticks_tell(ticks, &line);
    CHECK_INT(line.version % 2, 0);
    return line;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

TEST(a_line_says_what_the_kernel_will_say)
{
    struct ticks ticks = look_for(NS_PER_S / 10, 0);
    struct ticks_line line = told(&ticks);
    for (uint64_t ns = NS_PER_S / 10; ns < NS_PER_S; ns += 1234567) {
        struct ticks_moment then = moment(ns, 0);
        uint64_t said = 0;
        CHECK(ticks_ns_at(&line, then.ticks, &said));
        CHECK(distance(said, then.ns) <= 2);
    }
}

TEST(one_look_is_not_enough)
{
    struct ticks ticks = {.works = true};
    ticks_see(&ticks, moment(0, 0));
    CHECK_INT(ticks.rate, 0);
    ticks_see(&ticks, moment(NS_PER_MS, 0)); /* what a reading is off would be too much of that */
    CHECK_INT(ticks.rate, 0);
    struct ticks_line line = told(&ticks);
    uint64_t ns;
    CHECK(!ticks_ns_at(&line, moment(NS_PER_MS, 0).ticks, &ns));
}

TEST(a_line_is_not_believed_for_ever)
{
    struct ticks ticks = look_for(NS_PER_S, 0);
    struct ticks_line line = told(&ticks);
    uint64_t ns;
    CHECK(ticks_ns_at(&line, moment(2 * NS_PER_S - NS_PER_MS, 0).ticks, &ns));
    CHECK(!ticks_ns_at(&line, moment(2 * NS_PER_S + NS_PER_MS, 0).ticks, &ns));
    CHECK(!ticks_ns_at(&line, moment(NS_PER_S - NS_PER_MS, 0).ticks, &ns)); /* nor before it */
    line.version++;
    CHECK(!ticks_ns_at(&line, moment(NS_PER_S, 0).ticks, &ns)); /* nor while it is written */
}

TEST(a_clock_that_is_set_right_slowly_is_followed)
{
    struct ticks ticks = look_for(5 * NS_PER_S, 400);
    struct ticks_line line = told(&ticks);
    struct ticks_moment then = moment(5 * NS_PER_S + NS_PER_S / 2, 400);
    uint64_t said = 0;
    CHECK(ticks.works && ticks_ns_at(&line, then.ticks, &said));
    CHECK(distance(said, then.ns) <= 10);
    /* From now on another way: seen within two seconds. */
    for (uint64_t ns = 5 * NS_PER_S + TICKS_LOOK_NS; ns < 8 * NS_PER_S; ns += TICKS_LOOK_NS) {
        struct ticks_moment now = moment(ns, -400);
        now.ns += 4 * NS_PER_MS; /* where the first five seconds had brought it */
        ticks_see(&ticks, now);
    }
    CHECK(ticks.works);
    uint64_t even = (1ull << 32) / GHZ, slow = even - even / 2500;
    CHECK(distance(ticks.rate, slow) <= slow / 1000000);
}

TEST(a_counter_that_jumps_is_given_up)
{
    const int64_t jumps[] = {50 * (int64_t)NS_PER_MS, -50 * (int64_t)NS_PER_MS};
    for (size_t i = 0; i < 2; i++) {
        struct ticks ticks = look_for(NS_PER_S, 0);
        struct ticks_line line = told(&ticks);
        struct ticks_moment now = moment(NS_PER_S + TICKS_LOOK_NS, 0);
        now.ticks += (uint64_t)(jumps[i] * GHZ);
        ticks_see(&ticks, now);
        CHECK(!ticks.works && ticks.rate == 0);
        ticks_tell(&ticks, &line);
        uint64_t ns;
        CHECK(!ticks_ns_at(&line, now.ticks, &ns));
        CHECK(!ticks_look(&ticks, now.ns + NS_PER_S)); /* for good */
    }
}

TEST(this_machine_tells_the_same_time_both_ways)
{
    struct ticks ticks;
    struct ticks_line line = {0};
    uint64_t begin = clock_now_ns(), by_counter = 0;
    ticks_begin(&ticks);
    while (clock_now_ns() - begin < 200 * NS_PER_MS) {
        if (ticks_look(&ticks, clock_now_ns()))
            ticks_tell(&ticks, &line);
        uint64_t before = clock_now_ns(), said = ticks_now_ns(&line), after = clock_now_ns();
        by_counter += line.rate != 0;
        REQUIRE(said + 20000 >= before && said <= after + 20000);
    }
    CHECK(!ticks.works || by_counter > 0);
}

/* Two lines that say something else at the same count: a reader sees the one or the other. */
static struct ticks_line shared;
static _Atomic int ended;

static void *write_lines(void *unused)
{
    struct ticks one = {.works = true, .last = {1000, 5000}, .rate = 1ull << 32};
    struct ticks other = {.works = true, .last = {2000, 90000}, .rate = 2ull << 32};
    (void)unused;
    while (!atomic_load(&ended)) {
        ticks_tell(&one, &shared);
        ticks_tell(&other, &shared);
    }
    return NULL;
}

TEST(nobody_sees_half_of_a_line)
{
    pthread_t writer;
    uint64_t seen[2] = {0, 0}, ns;
    REQUIRE(pthread_create(&writer, NULL, write_lines, NULL) == 0);
    for (uint64_t i = 0; i < 200000000 && (seen[0] < 1000 || seen[1] < 1000); i++) {
        if (!ticks_ns_at(&shared, 3000, &ns))
            continue;
        CHECK(ns == 7000 || ns == 92000);
        seen[ns == 92000]++;
    }
    atomic_store(&ended, 1);
    pthread_join(writer, NULL);
    CHECK(seen[0] >= 1000 && seen[1] >= 1000);
}

TEST_MAIN(TEST_CASE(a_line_says_what_the_kernel_will_say), TEST_CASE(one_look_is_not_enough),
          TEST_CASE(a_line_is_not_believed_for_ever),
          TEST_CASE(a_clock_that_is_set_right_slowly_is_followed),
          TEST_CASE(a_counter_that_jumps_is_given_up),
          TEST_CASE(this_machine_tells_the_same_time_both_ways),
          TEST_CASE(nobody_sees_half_of_a_line))
