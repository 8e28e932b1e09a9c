/* A guest that is armed: it sleeps until a recorder listens, and goes from one ring to the next. */
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_recorder.h"
#include "guest_program.h"
#include "guest_support.h"
#include "intern.h"
#include "ring_fast.h"

/* ---- nobody listens yet ---- */

static int woken;

static void count_wake(void)
{
    woken++;
}

static void mark_until(const struct tidemark_api *api, enum guest_state state)
{
    while (atomic_load(&guest.page->state) != state) {
        api->mark("until", 0);
        usleep(1000);
    }
}

/* The parent comes and goes twice; a line through the pipe says that the program is at it. */
static void be_armed(void)
{
    const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
    REQUIRE(api != NULL && guest.armed);
    guest_at_wake(count_wake);
    for (int i = 1; i <= 2; i++) {
        api->mark("nobody", 1);
        REQUIRE(atomic_load(&guest.page->state) == GUEST_LATER);
        REQUIRE(write(STDOUT_FILENO, "+", 1) == 1);
        mark_until(api, GUEST_ON);
        CHECK_INT(woken, i);
        api->mark("recorded", i);
        mark_until(api, GUEST_LATER);
    }
    CHECK_INT(atomic_load(&guest.missed), 0); /* nobody lost anything */
}

static pid_t start_armed(const char *name, int *said)
{
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        exec_self(name);
    }
    close(ends[1]);
    *said = ends[0];
    return child;
}

static void wait_until_asleep(int said)
{
    char plus;
    REQUIRE(read(said, &plus, 1) == 1);
}

static void check_recording(struct fake_recorder *fake, int64_t number)
{
    struct event out[64];
    struct ring_torn torn[1];
    size_t torn_n;
    fake_wait(fake, 2);
    CHECK_INT(fake->said[0].hello.what, HELLO_HELLO);
    CHECK_INT(fake->said[0].hello.how, HELLO_BY_EXEC);
    CHECK_INT(fake->said[1].hello.what, HELLO_FETCH);
    CHECK_INT(fake->said[1].hello.from_key, 0);
    for (bool found = false; !found;) {
        size_t n = ring_reader_take(&fake->said[1].reader, out, 64, clock_now_ns(), false, torn, 1,
                                    &torn_n);
        ring_reader_release(&fake->said[1].reader);
        for (size_t i = 0; i < n; i++)
            found |= strcmp(string_of(fake->said[1].ring, out[i].name), "recorded") == 0 &&
                     (int64_t)out[i].a == number;
    }
    ring_close(fake->said[1].ring);
}

TEST(an_armed_program_sleeps_until_somebody_listens)
{
    static struct fake_recorder first, second;
    const char *name = "an_armed_program_sleeps_until_somebody_listens";
    int said, status = -1;
    if (in_the_program()) {
        be_armed();
        return;
    }
    char text[64];
    snprintf(text, sizeof text, "tidemark-test-armed-%d", (int)getpid()); /* as fake_start has it */
    setenv(HELLO_ENV, text, 1);
    setenv(HELLO_ARMED_ENV, "1", 1);
    pid_t child = start_armed(name, &said);
    wait_until_asleep(said);
    fake_start(&first, "armed");
    check_recording(&first, 1);
    fake_stop(&first);
    wait_until_asleep(said);
    fake_start(&second, "armed");
    check_recording(&second, 2);
    fake_stop(&second);
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
}

/* ---- from one ring to the next ---- */

static void *mark_until_on(void *api)
{
    mark_until(api, GUEST_ON);
    return NULL;
}

static _Atomic uint32_t late;

static void *define_late(void *unused)
{
    (void)unused;
    while (!atomic_load(&late)) /* 0: the lock was not had in time */
        atomic_store(&late, intern_string("late"));
    return NULL;
}

static void wait_while_fetching_or_on(enum guest_state other)
{
    while (atomic_load(&guest.page->state) == other)
        usleep(100);
}

/* One thread is in the middle of a definition when another one gets the next ring: the first has
 * the old arena's lock, as if it was copying. */
static void define_across(const struct tidemark_api *api)
{
    pthread_t fetches, defines;
    struct arena_hold hold;
    struct ring *old = guest.ring;
    union {
        const struct tidemark_api *api;
        void *argument;
    } pass = {api};
    while (!arena_lock(&old->arena, &hold))
        ;
    REQUIRE(pthread_create(&fetches, NULL, mark_until_on, pass.argument) == 0);
    wait_while_fetching_or_on(GUEST_LATER);
    REQUIRE(pthread_create(&defines, NULL, define_late, NULL) == 0);
    for (int i = 0; i < 20 && atomic_load(&guest.page->state) != GUEST_ON; i++)
        usleep(1000);
    CHECK(atomic_load(&guest.page->state) != GUEST_ON); /* not before it is done */
    arena_append(&old->arena, ARENA_STRING, "early", 5, NULL);
    arena_unlock(&old->arena, &hold);
    pthread_join(fetches, NULL);
    pthread_join(defines, NULL);
    CHECK(guest.ring != old);
    CHECK_INT(atomic_load(&old->arena.lock), 0);
    CHECK_INT(atomic_load(&guest.ring->arena.lock), 0);
    CHECK_INT(arena_count(&old->arena) <= arena_count(&guest.ring->arena), true);
    CHECK(arena_is_valid(&guest.ring->arena));
}

static void be_between(void)
{
    const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
    REQUIRE(write(STDOUT_FILENO, "+", 1) == 1);
    mark_until(api, GUEST_ON);
    api->mark("recorded", 1);
    mark_until(api, GUEST_LATER);
    REQUIRE(write(STDOUT_FILENO, "+", 1) == 1);
    define_across(api);
    struct event event = {.kind = EVENT_MARK, .name = atomic_load(&late), .a = 7};
    guest_emit(&event);
    api->mark("recorded", 2);
    mark_until(api, GUEST_LATER);
}

/* Runs a case of an armed program with two recordings. */
static void record_twice(const char *name, struct fake_recorder *first,
                         struct fake_recorder *second)
{
    char text[64];
    int said, status = -1;
    snprintf(text, sizeof text, "tidemark-test-armed-%d", (int)getpid());
    setenv(HELLO_ENV, text, 1);
    setenv(HELLO_ARMED_ENV, "1", 1);
    pid_t child = start_armed(name, &said);
    wait_until_asleep(said);
    fake_start(first, "armed");
    check_recording(first, 1);
    fake_stop(first);
    wait_until_asleep(said);
    fake_start(second, "armed");
    check_recording(second, 2);
    fake_stop(second);
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
}

TEST(a_definition_is_in_one_ring_and_in_the_next)
{
    static struct fake_recorder first, second;
    if (in_the_program()) {
        be_between();
        return;
    }
    record_twice("a_definition_is_in_one_ring_and_in_the_next", &first, &second);
    struct ring_shared *ring = second.said[1].ring;
    uint32_t count = 0, early = 0;
    for (uint32_t number = 1; number <= 16; number++) {
        count += strcmp(string_of(ring, number), "late") == 0;
        early += strcmp(string_of(ring, number), "early") == 0;
    }
    CHECK_INT(count, 1);
    CHECK_INT(early, 1);
}

/* What of a mapping lies in memory, whoever brought it there. */
static size_t pages_of(const void *from, size_t bytes)
{
    static unsigned char in[1 << 16];
    size_t count = 0, pages = (bytes + 4095) / 4096;
    union {
        const void *from;
        void *address;
    } at = {from};
    REQUIRE(pages <= sizeof in && mincore(at.address, bytes, in) == 0);
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1;
    return count;
}

static void fill_the_ring(const struct tidemark_api *api)
{
    char text[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "a name that takes some room in the arena %d", i);
        api->mark(text, i);
    }
}

static void be_recorded_twice(bool forks)
{
    const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
    REQUIRE(write(STDOUT_FILENO, "+", 1) == 1);
    mark_until(api, GUEST_ON);
    const struct ring *old = guest.ring;
    size_t events = (old->mask + 1) * sizeof *old->slots;
    fill_the_ring(api);
    if (forks && fork() == 0)
        _exit(0);
    CHECK(pages_of(old->slots, events) > 8 && pages_of(old->arena.base, old->arena.bytes) > 8);
    api->mark("recorded", 1);
    mark_until(api, GUEST_LATER);
    for (; pages_of(old->slots, events); usleep(1000)) /* once the recorder is gone */
        api->mark("asleep", 0);
    CHECK(pages_of(old->arena.base, old->arena.bytes) > 8);
    REQUIRE(write(STDOUT_FILENO, "+", 1) == 1);
    mark_until(api, GUEST_ON);
    CHECK(guest.ring != old);
    CHECK_INT(pages_of(old->arena.base, old->arena.bytes) == 0, !forks);
    CHECK(intern_known_string("recorded", 8) != 0);
    struct event event = {.kind = EVENT_MARK};
    CHECK_INT(ring_push(old, &event), RING_OFF); /* by a thread that was in the middle of it */
    api->mark("recorded", 2);
    mark_until(api, GUEST_LATER);
}

TEST(the_memory_of_a_ring_is_given_back)
{
    static struct fake_recorder first, second;
    if (in_the_program()) {
        be_recorded_twice(false);
        return;
    }
    record_twice("the_memory_of_a_ring_is_given_back", &first, &second);
}

/* Which has the same memory, and has copied nothing yet. */
TEST(definitions_stay_for_a_child)
{
    static struct fake_recorder first, second;
    if (in_the_program()) {
        be_recorded_twice(true);
        return;
    }
    record_twice("definitions_stay_for_a_child", &first, &second);
}

/* ---- a name that nobody serves ---- */

/* The recorder's socket of an armed program is anybody's. Here it is one that nobody serves, and
 * whose queue is full: connect() would wait. */
static _Atomic int waiting_connects;

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    long of[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        of[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_connect && !(fcntl((int)of[0], F_GETFL) & O_NONBLOCK))
        waiting_connects++;
    return __real_syscall(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}

TEST(an_armed_program_does_not_wait_at_the_name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = "an_armed_program_does_not_wait_at_the_name";
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        for (int i = 0; i < 3; i++) {
            api->mark("somebody", 1);
            CHECK_INT(atomic_load(&guest.page->state), GUEST_LATER);
            atomic_store(&guest.page->retry_ns, 1);
        }
        CHECK_INT(atomic_load(&waiting_connects), 0);
        return;
    }
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tidemark-test-deaf-%d",
             (int)getpid());
    setenv(HELLO_ENV, address.sun_path + 1, 1);
    setenv(HELLO_ARMED_ENV, "1", 1);
    socklen_t size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 0) == 0);
    int filler = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    REQUIRE(connect(filler, (struct sockaddr *)&address, size) == 0);
    CHECK_INT(run_program(name), 0);
}

TEST_MAIN(TEST_CASE(an_armed_program_sleeps_until_somebody_listens),
          TEST_CASE(a_definition_is_in_one_ring_and_in_the_next),
          TEST_CASE(the_memory_of_a_ring_is_given_back), TEST_CASE(definitions_stay_for_a_child),
          TEST_CASE(an_armed_program_does_not_wait_at_the_name))
