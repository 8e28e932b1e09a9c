/*
 * A program that scribbles over its ring: the drain must not read or write outside of it, must not
 * loop for ever, and must go on with other rings. Run under ASan to mean the most. And the other
 * way round: a listener that gives out memory which is no ring, or does not stay one, harms no
 * program.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "guarded_ring.h"
#include "ring_support.h"

enum { BITS = 8, SLOTS = 1 << BITS };

TEST(a_head_from_nowhere_is_cut_to_the_ring)
{
    const uint64_t heads[] = {UINT64_MAX, 1ull << 40, SLOTS + 1, 0};
    for (int i = 0; i < 4; i++) {
        struct ring_shared *ring = new_ring(BITS);
        struct ring_reader reader;
        struct event out[SLOTS];
        struct ring_torn torn[SLOTS];
        size_t torn_n;
        ring_reader_init(&reader, ring);
        atomic_store(&ring->head, heads[i]);
        CHECK(ring_reader_backlog(&reader) <= SLOTS);
        CHECK_INT(take(&reader, out, SLOTS, true, torn, SLOTS, &torn_n), 0);
        CHECK(torn_n <= SLOTS);
        ring_reader_release(&reader);
        CHECK_INT(take(&reader, out, SLOTS, true, torn, SLOTS, &torn_n), 0);
        ring_destroy(ring, BITS, ARENA_BYTES);
    }
}

TEST(random_bytes_do_no_harm)
{
    uint64_t seed = 3;
    for (int round = 0; round < 200; round++) {
        struct ring_shared *ring = new_ring(BITS);
        struct ring_reader reader;
        struct arena_reader arena;
        struct arena_record record;
        const void *payload;
        struct event out[SLOTS];
        struct ring_torn torn[SLOTS];
        uint64_t lost[EVENT_KIND_SLOTS];
        size_t torn_n;
        ring_reader_init(&reader, ring);
        arena_reader_init(&arena, ring);
        uint64_t *words = (uint64_t *)(void *)ring;
        size_t count = ring_bytes(BITS, ARENA_BYTES) / 8;
        for (size_t i = 0; i < count; i++)
            if (test_random(&seed) % 4 == 0)
                words[i] = test_random(&seed) >> (test_random(&seed) % 64);
        for (int i = 0; i < 4; i++) {
            CHECK(take(&reader, out, SLOTS, i & 1, torn, SLOTS, &torn_n) <= SLOTS);
            ring_reader_release(&reader);
            ring_reader_losses(&reader, lost);
        }
        for (int i = 0; i < 100000 && arena_next(&arena, &record, &payload) == 1; i++)
            CHECK(record.bytes <= ARENA_MAX_PAYLOAD);
        ring_destroy(ring, BITS, ARENA_BYTES);
    }
}

TEST(a_lying_arena_is_corrupt_not_a_crash)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring writer;
    struct arena_reader reader;
    struct arena_record record;
    const void *payload;
    ring_use(&writer, ring);
    REQUIRE(arena_define(&writer.arena, ARENA_STRING, "abc", 3) == 1);
    arena_reader_init(&reader, ring);
    atomic_store(&ring->arena_used, ring->arena_bytes + 8);
    CHECK_INT(arena_next(&reader, &record, &payload), ERR_CORRUPT);
    atomic_store(&ring->arena_used, 16);
    uint32_t huge = 0xfffffff0u;
    memcpy((char *)ring + ring->arena_offset, &huge, sizeof huge);
    CHECK_INT(arena_next(&reader, &record, &payload), ERR_CORRUPT);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST(nobody_cuts_the_memory_short)
{
    struct ring_shared *ring = NULL;
    int fd = -1;
    REQUIRE(ring_create(&ring, BITS, ARENA_BYTES, &fd) == 0);
    off_t bytes = (off_t)ring_bytes(BITS, ARENA_BYTES);
    CHECK_INT(lseek(fd, 0, SEEK_END), bytes);
    CHECK_INT(ftruncate(fd, 0), -1);
    CHECK_INT(ftruncate(fd, 2 * bytes), -1);
    CHECK_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    CHECK_INT(lseek(fd, 0, SEEK_END), bytes);
    struct ring attached;
    CHECK_INT(ring_attach(&attached, fd), 0);
    ring_detach(&attached);
    close(fd);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

/* A memfd of that size and those seals whose first page is `header`. */
static int memory_with(const struct ring_shared *header, uint64_t bytes, int seals)
{
    int fd = memfd_create("hostile", MFD_ALLOW_SEALING);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    REQUIRE(pwrite(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header);
    REQUIRE(fcntl(fd, F_ADD_SEALS, seals) == 0);
    return fd;
}

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

TEST(memory_whose_size_can_change_is_refused)
{
    const int seals[] = {ALL_SEALS, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_SEAL,
                         F_SEAL_GROW | F_SEAL_SEAL, 0};
    struct ring_shared header = {0};
    ring_lay_out(&header, BITS, ARENA_BYTES);
    for (size_t i = 0; i < sizeof seals / sizeof *seals; i++) {
        struct ring ring;
        int fd = memory_with(&header, header.map_bytes, seals[i]);
        CHECK_INT(ring_attach(&ring, fd), i == 0 ? 0 : ERR_CORRUPT);
        close(fd);
    }
    char path[] = "/dev/zero"; /* nothing that has seals */
    struct ring ring;
    int fd = open(path, O_RDWR);
    CHECK_INT(ring_attach(&ring, fd), ERR_CORRUPT);
    close(fd);
}

static void check_header_refused(const struct ring_shared *header, uint64_t bytes)
{
    struct ring ring;
    int fd = memory_with(header, bytes, ALL_SEALS);
    CHECK_INT(ring_attach(&ring, fd), ERR_CORRUPT);
    close(fd);
}

TEST(a_header_that_lies_is_refused)
{
    struct ring_shared plan = {0}, header;
    ring_lay_out(&plan, BITS, ARENA_BYTES);
    header = plan;
    header.slots_offset = 0x4141414141414141ull;
    check_header_refused(&header, plan.map_bytes);
    header = plan;
    header.arena_offset += 8;
    check_header_refused(&header, plan.map_bytes);
    header = plan;
    header.slot_bits = RING_MAX_BITS + 1;
    check_header_refused(&header, plan.map_bytes);
    check_header_refused(&plan, plan.map_bytes - 4096);
    check_header_refused(&plan, plan.map_bytes + 4096);
    /* Sums that run over: as large as the file, but the slots end behind it. */
    header = plan;
    header.arena_bytes = 0 - (uint64_t)4096;
    header.map_bytes = plan.arena_offset - 4096;
    check_header_refused(&header, header.map_bytes);
    header.arena_bytes = UINT64_MAX;
    header.map_bytes = plan.arena_offset;
    check_header_refused(&header, header.map_bytes);
}

/* All over the mapping, until somebody ends it; the owner counts as dead, so that nobody waits for
 * room. */
static void scribble(struct ring_shared *ring)
{
    _Atomic uint64_t *words = (_Atomic uint64_t *)(void *)ring;
    size_t count = ring_bytes(BITS, ARENA_BYTES) / sizeof *words, header = sizeof *ring / 8;
    uint64_t seed = 5;
    for (;;) {
        size_t at = test_random(&seed) % (test_random(&seed) % 2 ? header : count);
        atomic_store(&words[at], test_random(&seed) >> (test_random(&seed) % 64));
        atomic_store(&ring->mode, RING_OPEN);
        atomic_store(&ring->limit, UINT64_MAX >> (test_random(&seed) % 64));
        atomic_fetch_or(&ring->owner.thread, FUTEX_OWNER_DIED);
    }
}

static void use_all_of_it(struct ring *ring, uint64_t *seed)
{
    char text[256] = {0};
    struct arena_record record;
    struct arena_hold hold;
    uint64_t place = 0, sum = 0;
    struct event event = numbered(1);
    ring_push(ring, &event);
    if (!arena_lock(&ring->arena, &hold))
        return;
    arena_append(&ring->arena, ARENA_STRING, text, test_random(seed) % sizeof text, &place);
    arena_unlock(&ring->arena, &hold);
    const char *payload = arena_at(&ring->arena, place, &record);
    for (uint32_t i = 0; payload && i < record.bytes; i++)
        sum += (unsigned char)payload[i];
    CHECK(sum <= 255ull * UINT32_MAX);
}

TEST(no_value_leads_a_program_out_of_its_mapping)
{
    struct ring_shared *shared = guarded_ring(BITS, ARENA_BYTES);
    struct ring ring;
    uint64_t seed = 9;
    ring_use(&ring, shared);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        scribble(shared);
    for (int i = 0; i < 20000; i++)
        use_all_of_it(&ring, &seed);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(arena_is_valid(&ring.arena));
}

/* What the loop of a producer asks for all looks as if it were taken. */
TEST(slots_without_an_end_are_left)
{
    struct ring_shared *shared = guarded_ring(BITS, ARENA_BYTES);
    struct ring ring;
    struct event event = numbered(1);
    ring_use(&ring, shared);
    for (int i = 0; i < SLOTS; i++)
        __atomic_store_n(&ring.slots[i].word, 12345ull << 40, __ATOMIC_RELAXED);
    atomic_store(&shared->limit, UINT64_MAX);
    CHECK_INT(ring_push(&ring, &event), RING_DROPPED); /* when its patience is at its end */
    CHECK_INT(atomic_load(&shared->mode), RING_DROPPING);
}

TEST(counters_that_cannot_be_are_no_losses)
{
    struct ring_shared *ring = new_ring(BITS);
    struct ring_reader reader;
    uint64_t lost[EVENT_KIND_SLOTS];
    ring_reader_init(&reader, ring);
    atomic_store(&ring->dropped[3], 10);
    CHECK_INT(ring_reader_losses(&reader, lost), 10);
    atomic_store(&ring->dropped[3], 4); /* backwards */
    CHECK_INT(ring_reader_losses(&reader, lost), 0);
    atomic_store(&ring->dropped[3], UINT64_MAX);
    CHECK_INT(ring_reader_losses(&reader, lost), 0);
    atomic_store(&ring->dropped[3], 12);
    CHECK_INT(ring_reader_losses(&reader, lost), 2);
    CHECK_INT(lost[3], 2);
    ring_destroy(ring, BITS, ARENA_BYTES);
}

TEST_MAIN(TEST_CASE(nobody_cuts_the_memory_short),
          TEST_CASE(memory_whose_size_can_change_is_refused),
          TEST_CASE(a_header_that_lies_is_refused),
          TEST_CASE(no_value_leads_a_program_out_of_its_mapping),
          TEST_CASE(slots_without_an_end_are_left),
          TEST_CASE(counters_that_cannot_be_are_no_losses),
          TEST_CASE(a_head_from_nowhere_is_cut_to_the_ring), TEST_CASE(random_bytes_do_no_harm),
          TEST_CASE(a_lying_arena_is_corrupt_not_a_crash))
