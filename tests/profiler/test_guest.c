/*
 * The guest's life against a recorder: hello, the ring at the first event, forks, refusals, a
 * sandbox. The guest is linked here, so its constructor has found no recorder; each case starts it
 * in a child, by hand, after the socket is there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_recorder.h"
#include "greeting_peer.h"
#include "guest_support.h"
#include "intern.h"
#include "ring_fast.h"

/* guest_init has run in the constructor, without a recorder: a new image would begin anew. The test
 * gives it one by executing itself with the case's name. */
static bool in_the_program(void)
{
    return getenv(HELLO_ENV) != NULL;
}

static void exec_self(const char *name)
{
    execl("/proc/self/exe", "test_guest", "--no-fork", name, "an argument", name, (char *)NULL);
    _exit(99);
}

/* Runs `name` of this program as a recorded program; its exit status. */
static int run_program(const char *name)
{
    pid_t child = fork();
    if (child == 0)
        exec_self(name);
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static size_t events_of(struct fake_said *said, struct event *out, size_t max)
{
    struct ring_torn torn[1];
    size_t torn_n;
    REQUIRE(said->ring != NULL);
    return ring_reader_take(&said->reader, out, max, clock_now_ns(), true, torn, 1, &torn_n);
}

TEST(hello_first_ring_at_the_first_event)
{
    if (in_the_program()) {
        int before = open_descriptors();
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        REQUIRE(api != NULL);
        REQUIRE(guest.ring == NULL); /* nothing is fetched for nothing */
        api->mark("one", 1);
        api->mark("two", 2);
        REQUIRE(guest.ring != NULL);
        CHECK_INT(open_descriptors(), before);
        return;
    }
    static struct fake_recorder fake;
    setenv("RANK", "3", 1);
    setenv("LOCAL_RANK", "x", 1);
    fake_start(&fake, "first");
    CHECK_INT(run_program("hello_first_ring_at_the_first_event"), 0);
    fake_wait(&fake, 2);
    CHECK_INT(fake.count, 2);
    CHECK_INT(fake.said[0].hello.what, HELLO_HELLO);
    CHECK_INT(fake.said[0].hello.how, HELLO_BY_EXEC);
    CHECK_INT(fake.said[0].hello.pid, fake.said[0].peer);
    CHECK_INT(fake.said[0].hello.rank, 3);
    CHECK_INT(fake.said[0].hello.local_rank, HELLO_UNKNOWN);
    CHECK_STR(fake.said[0].hello.text, "test_guest");
    CHECK_STR(fake.said[0].hello.text + strlen("test_guest") + 1, "--no-fork");
    CHECK_INT(fake.said[1].hello.what, HELLO_FETCH);
    struct event out[8];
    REQUIRE(events_of(&fake.said[1], out, 8) == 2);
    CHECK_STR(string_of(fake.said[1].ring, out[0].name), "one");
    CHECK_STR(string_of(fake.said[1].ring, out[1].name), "two");
    fake_stop(&fake);
}

/* The child has a ring of its own, says who it is, and numbers given out before the fork still name
 * the same things; the parent goes on in its ring. */
TEST(a_forked_child_is_born_anew)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        struct tidemark_heap_desc desc = {.size = sizeof desc, .name = "heap of the parent"};
        tidemark_heap_t heap = api->heap_open(&desc);
        api->mark("parent", 1);
        pid_t child = fork();
        if (child == 0) {
            api->block_free(heap, (void *)0x10);
            api->mark("child", 2);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        api->mark("parent", 3);
        return;
    }
    static struct fake_recorder fake;
    fake_start(&fake, "fork");
    CHECK_INT(run_program("a_forked_child_is_born_anew"), 0);
    fake_wait(&fake, 4);
    CHECK_INT(fake.count, 4);
    struct fake_said *parent = &fake.said[1], *hello = &fake.said[2], *child = &fake.said[3];
    CHECK_INT(hello->hello.what, HELLO_HELLO);
    CHECK_INT(hello->hello.how, HELLO_BY_FORK);
    CHECK(hello->peer != parent->peer);
    CHECK_INT(hello->hello.ppid, parent->peer);
    CHECK_INT(child->peer, hello->peer);
    struct event out[8];
    REQUIRE(events_of(parent, out, 8) == 2);
    CHECK_INT(out[0].a, 1);
    CHECK_INT(out[1].a, 3);
    REQUIRE(events_of(child, out, 8) == 2);
    CHECK_INT(out[0].thread, child->peer); /* not the parent's cached thread id */
    struct arena_heap heap;
    size_t bytes;
    REQUIRE(definition(child->ring, out[0].heap, &heap, sizeof heap, &bytes) == ARENA_HEAP);
    CHECK_STR(string_of(child->ring, heap.name), "heap of the parent");
    CHECK_STR(string_of(child->ring, out[1].name), "child");
    fake_stop(&fake);
}

/* By reference: the child's own arena has what is new, with the numbers behind the parent's; its
 * own child goes on from there. */
TEST(a_child_goes_on_with_its_parents_numbers)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("old", 1);
        if (fork() == 0) {
            api->mark("old", 2);
            api->mark("new", 3);
            if (fork() == 0) {
                api->mark("old", 4);
                api->mark("new", 5);
                api->mark("newest", 6);
                CHECK_INT(atomic_load(&guest.page->state), GUEST_ON);
                _exit(0);
            }
            wait(NULL);
            _exit(0);
        }
        wait(NULL);
        return;
    }
    static struct fake_recorder fake = {.refer = true};
    struct event out[8];
    fake_start(&fake, "refer");
    CHECK_INT(run_program("a_child_goes_on_with_its_parents_numbers"), 0);
    fake_wait(&fake, 6);
    struct fake_said *parent = &fake.said[1], *child = &fake.said[3], *last = &fake.said[5];
    CHECK_INT(parent->hello.from_key, 0);
    CHECK_INT(child->hello.from_key, parent->ring->key);
    CHECK_INT(child->hello.from_count, 1);
    CHECK_INT(last->hello.from_key, child->ring->key);
    CHECK_INT(last->hello.from_count, 2);
    REQUIRE(events_of(child, out, 8) == 2);
    CHECK_INT(out[0].name, 1); /* the parent's */
    CHECK_INT(out[1].name, 2);
    CHECK_STR(string_of(child->ring, 1), "new"); /* alone in its own arena */
    CHECK_STR(string_of(child->ring, 2), "");
    REQUIRE(events_of(last, out, 8) == 3);
    CHECK_INT(out[0].name, 1);
    CHECK_INT(out[1].name, 2);
    CHECK_INT(out[2].name, 3);
    CHECK_STR(string_of(last->ring, 1), "newest");
    fake_stop(&fake);
}

/* Two meanings of one number would be worse than no recording. */
TEST(a_recorder_that_counts_otherwise_is_not_believed)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("old", 1);
        pid_t child = fork();
        if (child == 0) {
            api->mark("new", 2);
            _exit(atomic_load(&guest.page->state) == GUEST_OFF ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK_INT(status, 0);
        return;
    }
    static struct fake_recorder fake = {.refer = true, .too_many = 1};
    fake_start(&fake, "count");
    CHECK_INT(run_program("a_recorder_that_counts_otherwise_is_not_believed"), 0);
    fake_wait(&fake, 4);
    fake_stop(&fake);
}

TEST(a_child_of_a_parent_without_events_says_hello)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        pid_t child = fork();
        if (child == 0) {
            api->mark("child", 1);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        return;
    }
    static struct fake_recorder fake;
    fake_start(&fake, "quiet");
    CHECK_INT(run_program("a_child_of_a_parent_without_events_says_hello"), 0);
    fake_wait(&fake, 3);
    CHECK_INT(fake.count, 3);
    CHECK_INT(fake.said[1].hello.how, HELLO_BY_FORK);
    CHECK(fake.said[1].peer != fake.said[0].peer);
    CHECK_INT(fake.said[2].hello.what, HELLO_FETCH);
    fake_stop(&fake);
}

TEST(a_refusal_turns_it_off)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("one", 1);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
        api->mark("two", 2);
        return;
    }
    static struct fake_recorder fake = {.refuse = true};
    fake_start(&fake, "refuse");
    CHECK_INT(run_program("a_refusal_turns_it_off"), 0);
    fake_wait(&fake, 2);
    CHECK_INT(fake.count, 2); /* asked once */
    fake_stop(&fake);
}

TEST(without_a_recorder_it_is_off)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        REQUIRE(api != NULL);
        errno = 77;
        api->mark("one", 1);
        CHECK_INT(errno, 77);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
        return;
    }
    setenv(HELLO_ENV, "tidemark-test-nobody-listens", 1);
    CHECK_INT(run_program("without_a_recorder_it_is_off"), 0);
    unsetenv(HELLO_ENV);
    CHECK(tidemark_attach(TIDEMARK_API_VERSION) == NULL);
}

/* A sandbox in which socket() fails: off, and the program goes on. */
/* ---- armed: nobody listens yet ---- */

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

/* ---- armed: from one ring to the next ---- */

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

TEST(a_sandbox_without_sockets_turns_it_off)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        struct sock_filter rules[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {4, rules};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            SKIP("no seccomp filters here");
        api->mark("one", 1);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
        return;
    }
    static struct fake_recorder fake;
    fake_start(&fake, "seccomp");
    int status = run_program("a_sandbox_without_sockets_turns_it_off");
    fake_wait(&fake, 1);
    fake_stop(&fake);
    if (status == 77)
        SKIP("no seccomp filters here");
    CHECK_INT(status, 0);
    CHECK_INT(fake.count, 1);
}

static void *report_one(void *api)
{
    ((const struct tidemark_api *)api)->mark("thread", 1);
    return NULL;
}

/* Sixteen threads have their first event at once: one ring is fetched, no event is missed. */
TEST(threads_born_together_fetch_once)
{
    enum { THREADS = 16 };
    if (in_the_program()) {
        union {
            const struct tidemark_api *api;
            void *argument;
        } pass = {tidemark_attach(TIDEMARK_API_VERSION)};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            REQUIRE(pthread_create(&threads[i], NULL, report_one, pass.argument) == 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        CHECK_INT(atomic_load(&guest.missed), 0);
        return;
    }
    static struct fake_recorder fake;
    struct event out[32];
    fake_start(&fake, "threads");
    CHECK_INT(run_program("threads_born_together_fetch_once"), 0);
    fake_wait(&fake, 2);
    CHECK_INT(fake.count, 2);
    CHECK_INT(events_of(&fake.said[1], out, 32), THREADS);
    fake_stop(&fake);
}

/* A recorder that is late at the first event is asked again by a later one; what came in between is
 * counted as lost. */
TEST(a_late_recorder_is_asked_again)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("missed", 1);
        REQUIRE(atomic_load(&guest.page->state) == GUEST_LATER);
        api->mark("missed", 2); /* not yet time to ask again: no wait */
        if (clock_now_ns() < atomic_load(&guest.page->retry_ns))
            REQUIRE(atomic_load(&guest.page->state) == GUEST_LATER);
        while (atomic_load(&guest.page->state) == GUEST_LATER) {
            usleep(50000);
            api->mark("at last", 3);
        }
        CHECK_INT(atomic_load(&guest.page->state), GUEST_ON);
        return;
    }
    static struct fake_recorder fake = {.deaf = 1};
    struct event out[8];
    fake_start(&fake, "late");
    CHECK_INT(run_program("a_late_recorder_is_asked_again"), 0);
    fake_wait(&fake, 3);
    CHECK_INT(fake.count, 3);
    struct fake_said *second = &fake.said[2];
    REQUIRE(events_of(second, out, 8) == 1);
    CHECK_STR(string_of(second->ring, out[0].name), "at last");
    CHECK(atomic_load(&second->ring->dropped[EVENT_NONE]) >= 2);
    fake_stop(&fake);
}

static void *mark_cancelled(void *api)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        ((const struct tidemark_api *)api)->mark("cancelled", 1);
    return NULL;
}

/* A thread that is cancelled while it fetches the ring does so to the end. */
TEST(a_cancelled_thread_fetches_to_the_end)
{
#ifdef __SANITIZE_ADDRESS__
    SKIP("AddressSanitizer takes an asynchronous cancel for an overflow of the stack");
#endif
    if (in_the_program()) {
        union {
            const struct tidemark_api *api;
            void *argument;
        } pass = {tidemark_attach(TIDEMARK_API_VERSION)};
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, mark_cancelled, pass.argument) == 0);
        while (atomic_load(&guest.page->state) == GUEST_UNBORN)
            usleep(100);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_ON);
        pass.api->mark("main", 2);
        return;
    }
    static struct fake_recorder fake = {.slow_ms = 300};
    static struct event out[1024];
    fake_start(&fake, "cancel");
    CHECK_INT(run_program("a_cancelled_thread_fetches_to_the_end"), 0);
    fake_wait(&fake, 2);
    size_t n = events_of(&fake.said[1], out, 1024);
    REQUIRE(n > 0);
    CHECK_STR(string_of(fake.said[1].ring, out[n - 1].name), "main");
    fake_stop(&fake);
}

/* ---- who listens ---- */

#define OTHER_USER 54321u

/* Of this thread alone: libc's would change them all. */
static void become_effective(unsigned user)
{
    REQUIRE(syscall(SYS_setresuid, -1, user, -1) == 0);
}

static void fake_start_as(struct fake_recorder *fake, const char *name, unsigned user)
{
    become_effective(user);
    fake_start(fake, name);
    become_effective(0);
}

static int count_said(const struct fake_recorder *fake)
{
    int said = 0;
    for (int i = 0; i < fake->count; i++)
        said += fake->said[i].hello.what != 0;
    return said;
}

/* Whoever takes the name when the recorder is gone. */
TEST(a_listener_of_another_user_hears_nothing)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        api->mark("one", 1);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_OFF);
        return;
    }
    if (geteuid() != 0)
        SKIP("only root can listen as another user");
    static struct fake_recorder fake;
    fake_start_as(&fake, "usurper", OTHER_USER);
    CHECK_INT(run_program("a_listener_of_another_user_hears_nothing"), 0);
    fake_wait(&fake, 2); /* hello and fetch: it came, saw, and said nothing */
    CHECK_INT(count_said(&fake), 0);
    fake_stop(&fake);
}

/* As a service that drops its rights after its start. */
TEST(a_program_that_left_root_still_hears_root)
{
    if (in_the_program()) {
        const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
        REQUIRE(setresuid(OTHER_USER, OTHER_USER, OTHER_USER) == 0);
        api->mark("one", 1);
        CHECK_INT(atomic_load(&guest.page->state), GUEST_ON);
        return;
    }
    if (geteuid() != 0)
        SKIP("only root can become another user");
    static struct fake_recorder fake;
    fake_start(&fake, "root");
    CHECK_INT(run_program("a_program_that_left_root_still_hears_root"), 0);
    fake_wait(&fake, 2);
    CHECK_INT(count_said(&fake), 2);
    fake_stop(&fake);
}

static void write_map(unsigned from)
{
    char text[64];
    int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    int bytes = snprintf(text, sizeof text, "0 %u 1", from);
    if (fd < 0 || write(fd, text, (size_t)bytes) != bytes)
        SKIP("no numbers can be given out in a user namespace here");
    close(fd);
}

/* Says hello outside of a user namespace, and has its first event inside. */
static void report_from_a_namespace(bool mapped, enum guest_state wanted)
{
    const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
    unsigned user = geteuid();
    if (unshare(CLONE_NEWUSER) != 0)
        SKIP("no user namespace can be made here");
    if (mapped)
        write_map(user);
    api->mark("one", 1);
    CHECK_INT(atomic_load(&guest.page->state), wanted);
}

static void run_in_a_namespace(const char *name, int said)
{
    static struct fake_recorder fake;
    fake_start(&fake, name);
    int status = run_program(name);
    fake_wait(&fake, 1);
    fake_stop(&fake);
    if (status == 77)
        SKIP("no user namespace can be made here");
    CHECK_INT(status, 0);
    CHECK_INT(count_said(&fake), said);
}

/* Nobody has a number in there: our own user's recorder looks like anybody's. */
TEST(who_has_no_number_is_nobody_we_know)
{
    if (in_the_program())
        report_from_a_namespace(false, GUEST_OFF);
    else
        run_in_a_namespace("who_has_no_number_is_nobody_we_know", 1);
}

TEST(our_user_is_known_by_its_number_in_a_namespace)
{
    if (in_the_program())
        report_from_a_namespace(true, GUEST_ON);
    else
        run_in_a_namespace("our_user_is_known_by_its_number_in_a_namespace", 2);
}

TEST(only_a_whole_map_gives_everybody_a_number)
{
    CHECK(greeting_maps_all("         0          0 4294967295\n"));
    CHECK(greeting_maps_all("0 0 1000\n1000 5000 4294966295\n"));
    CHECK(!greeting_maps_all(""));
    CHECK(!greeting_maps_all("         0       1000          1\n"));
    CHECK(!greeting_maps_all("0 1000 1\n1 100000 65536\n"));
    CHECK(!greeting_maps_all("0 0 4294967295x"));
    CHECK(!greeting_maps_all("0 0 99999999999999999999999\n1 1 1\n"));
}

TEST_MAIN(TEST_CASE(an_armed_program_sleeps_until_somebody_listens),
          TEST_CASE(a_definition_is_in_one_ring_and_in_the_next),
          TEST_CASE(the_memory_of_a_ring_is_given_back), TEST_CASE(definitions_stay_for_a_child),
          TEST_CASE(an_armed_program_does_not_wait_at_the_name),
          TEST_CASE(hello_first_ring_at_the_first_event), TEST_CASE(a_forked_child_is_born_anew),
          TEST_CASE(a_child_goes_on_with_its_parents_numbers),
          TEST_CASE(a_recorder_that_counts_otherwise_is_not_believed),
          TEST_CASE(a_child_of_a_parent_without_events_says_hello),
          TEST_CASE(a_refusal_turns_it_off), TEST_CASE(without_a_recorder_it_is_off),
          TEST_CASE(a_sandbox_without_sockets_turns_it_off),
          TEST_CASE(threads_born_together_fetch_once), TEST_CASE(a_late_recorder_is_asked_again),
          TEST_CASE(a_cancelled_thread_fetches_to_the_end),
          TEST_CASE(a_listener_of_another_user_hears_nothing),
          TEST_CASE(a_program_that_left_root_still_hears_root),
          TEST_CASE(who_has_no_number_is_nobody_we_know),
          TEST_CASE(our_user_is_known_by_its_number_in_a_namespace),
          TEST_CASE(only_a_whole_map_gives_everybody_a_number))
