/* The table of known stacks: against a plain list, through growth, drops and its bound; and with
 * readers while it changes. The lock: a child takes over what a thread of its parent held. */
#include "pyframes_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork_lock.h"
#include "test.h"

/* A stack of `depth` frames whose codes come from a few; the words tell it from all others. */
struct made {
    struct pyframes_stack stack;
    const void *codes[ARENA_MAX_DEPTH];
};

static const void *code(uint64_t number)
{
    return (const void *)(uintptr_t)(0x10000 + number * 64);
}

static void make(struct made *made, uint64_t number, uint32_t depth, uint64_t codes)
{
    uint64_t seed = number * 77 + 1;
    made->stack.depth = depth;
    made->stack.count = depth;
    for (uint32_t i = 0; i < depth; i++) {
        made->codes[i] = code(test_random(&seed) % codes);
        made->stack.words[i] = (uint64_t)(uintptr_t)made->codes[i] + number;
    }
    made->stack.words[0] = number << 20;                                    /* no two are equal */
    made->stack.hash = number * 0x9e3779b97f4a7c15ull >> 7 & 0xfff0ffffull; /* many collide */
}

static uint32_t way_of(uint64_t site)
{
    return (uint32_t)site * 3 & 0xfffffff;
}

static void add(const struct pyframes_stack *stack, const void *const *codes, uint64_t site)
{
    pyframes_table_add(stack, codes, (struct pyframes_known){site, way_of(site)});
}

static uint64_t found(const struct made *made)
{
    struct pyframes_known known = {0};
    if (!pyframes_table_find(&made->stack, &known))
        return 0;
    CHECK_INT(known.way, way_of(known.site));
    return known.site;
}

static bool uses(const struct made *made, const void *which)
{
    for (uint32_t i = 0; i < made->stack.depth; i++)
        if (made->codes[i] == which)
            return true;
    return false;
}

TEST(what_was_added_is_found)
{
    enum { STACKS = 5000 };
    static struct made made;
    for (uint32_t i = 1; i <= STACKS; i++) {
        make(&made, i, 1 + i % 40, 500);
        CHECK_INT(found(&made), 0);
        add(&made.stack, made.codes, i);
        add(&made.stack, made.codes, i + 1); /* the first one stays */
    }
    for (uint32_t i = 1; i <= STACKS; i++) {
        make(&made, i, 1 + i % 40, 500);
        REQUIRE(found(&made) == i);
        made.stack.words[made.stack.count - 1] ^= 1;
        REQUIRE(found(&made) == 0);
    }
    CHECK_INT(pyframes_table_count(), STACKS);
    CHECK(pyframes_table_is_valid());
}

TEST(a_dropped_code_takes_its_stacks_along)
{
    enum { STACKS = 2000, CODES = 300 };
    static struct made made[STACKS];
    static bool there[STACKS];
    uint64_t seed = 3;
    for (int round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < STACKS; i++) {
            if (there[i])
                continue;
            make(&made[i], i + 1, 1 + i % 12, CODES);
            add(&made[i].stack, made[i].codes, i + 1);
            there[i] = true;
        }
        for (int drops = 0; drops < 9; drops++) {
            const void *dead = code(test_random(&seed) % CODES);
            pyframes_table_drop(dead);
            for (uint32_t i = 0; i < STACKS; i++)
                there[i] = there[i] && !uses(&made[i], dead);
        }
        for (uint32_t i = 0; i < STACKS; i++)
            REQUIRE(found(&made[i]) == (there[i] ? i + 1 : 0));
        REQUIRE(pyframes_table_is_valid());
    }
}

TEST(a_stack_of_one_code_many_times)
{
    static struct made made;
    make(&made, 1, ARENA_MAX_DEPTH, 1);
    add(&made.stack, made.codes, 5);
    CHECK_INT(found(&made), 5);
    CHECK(pyframes_table_is_valid());
    pyframes_table_drop(code(7));
    CHECK_INT(found(&made), 5);
    pyframes_table_drop(code(0));
    CHECK_INT(found(&made), 0);
    CHECK_INT(pyframes_table_count(), 0);
}

TEST(memory_is_bounded)
{
    static struct made made;
    const uint32_t frame = 32; /* bytes of a frame in a record */
    const uint32_t stacks = PYFRAMES_TABLE_BYTES / (ARENA_MAX_DEPTH * frame) * 3;
    for (uint32_t i = 1; i <= stacks; i++) {
        make(&made, i, ARENA_MAX_DEPTH - i % 9, 5000);
        add(&made.stack, made.codes, i);
        REQUIRE(found(&made) == i);
    }
    CHECK(pyframes_table_count() < stacks / 2);
    CHECK(pyframes_table_is_valid());
    make(&made, 1, ARENA_MAX_DEPTH - 1, 5000);
    CHECK_INT(found(&made), 0); /* it had to go */
}

TEST(a_forgotten_table_is_empty)
{
    static struct made made;
    for (uint32_t i = 1; i <= 1000; i++) {
        make(&made, i, 20, 50);
        add(&made.stack, made.codes, i);
    }
    atomic_store(&pyframes_table_stale, true);
    REQUIRE(pyframes_lock());
    pyframes_table_empty();
    pyframes_unlock();
    CHECK(!atomic_load(&pyframes_table_stale));
    CHECK_INT(found(&made), 0);
    CHECK_INT(pyframes_table_count(), 0);
    add(&made.stack, made.codes, 9);
    CHECK_INT(found(&made), 9);
    CHECK(pyframes_table_is_valid());
}

/* ---- threads ---- */

enum { SHARED = 400, SHARED_CODES = 60, READERS = 2 };
static _Atomic bool done;
static _Atomic uint32_t mistakes;
static _Atomic uint32_t hits;

static void *look_up(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument;
    struct made made;
    while (!atomic_load(&done)) {
        uint32_t number = 1 + (uint32_t)(test_random(&seed) % SHARED);
        make(&made, number, 4 + number % 8, SHARED_CODES);
        uint64_t site = found(&made);
        atomic_fetch_add(&mistakes, site != 0 && site != number);
        atomic_fetch_add(&hits, site != 0);
    }
    return NULL;
}

/* Records are freed and filled again with others all the time: a reader sees the right number or
 * none. */
TEST(readers_see_whole_records)
{
    pthread_t readers[READERS];
    struct made made;
    uint64_t seed = 5;
    for (uintptr_t i = 0; i < READERS; i++)
        REQUIRE(pthread_create(&readers[i], NULL, look_up, (void *)(i + 1)) == 0);
    for (int i = 0; i < 60000 || (i < 3000000 && atomic_load(&hits) < 100); i++) {
        uint32_t number = 1 + (uint32_t)(test_random(&seed) % SHARED);
        make(&made, number, 4 + number % 8, SHARED_CODES);
        add(&made.stack, made.codes, number);
        if (i % 8 == 0)
            pyframes_table_drop(code(test_random(&seed) % SHARED_CODES));
    }
    atomic_store(&done, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    CHECK_INT(atomic_load(&mistakes), 0);
    CHECK(atomic_load(&hits) > 0);
    CHECK(pyframes_table_is_valid());
}

/* ---- the lock ---- */

TEST(a_child_takes_over_what_its_parent_held)
{
    static _Atomic uint32_t lock;
    static struct made made;
    make(&made, 1, 3, 5);
    add(&made.stack, made.codes, 8);
    REQUIRE(fork_lock_take(&lock) == FORK_LOCK_HELD);
    REQUIRE(pyframes_lock());
    pid_t child = fork();
    if (child == 0) {
        bool right = fork_lock_take(&lock) == FORK_LOCK_INHERITED;
        right = right && pyframes_table_is_valid() && pyframes_table_count() == 0;
        add(&made.stack, made.codes, 9);
        _exit(right && found(&made) == 9 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    pyframes_unlock();
    fork_lock_give(&lock);
    CHECK_INT(found(&made), 8);
}

TEST(a_wait_for_the_lock_is_bounded)
{
    static struct made made;
    make(&made, 1, 3, 5);
    add(&made.stack, made.codes, 8);
    REQUIRE(pyframes_lock());
    CHECK(!pyframes_lock());
    CHECK(!atomic_load(&pyframes_table_stale));
    pyframes_table_drop(made.codes[0]); /* cannot: so the whole table may not be asked any more */
    CHECK(atomic_load(&pyframes_table_stale));
    pyframes_unlock();
    CHECK_INT(found(&made), 8);
    REQUIRE(pyframes_lock());
    pyframes_table_empty();
    pyframes_unlock();
    CHECK_INT(found(&made), 0);
}

TEST_MAIN(TEST_CASE(what_was_added_is_found), TEST_CASE(a_dropped_code_takes_its_stacks_along),
          TEST_CASE(a_stack_of_one_code_many_times), TEST_CASE(memory_is_bounded),
          TEST_CASE(a_forgotten_table_is_empty), TEST_CASE(readers_see_whole_records),
          TEST_CASE(a_child_takes_over_what_its_parent_held),
          TEST_CASE(a_wait_for_the_lock_is_bounded))
