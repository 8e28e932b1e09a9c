/* What ranks share, without a stand-in around it: a channel that is full, and ranks that never
 * come. The test is built with shorter waits. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "meeting.h"
#include "test.h"

#define PIECES (CHANNEL_DATA / CHANNEL_BYTES)

static struct channel *new_channel(void)
{
    void *it = mmap(NULL, sizeof(struct channel), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(it != MAP_FAILED);
    return it;
}

static enum channel_state read_as(const struct channel *channel, uint64_t number, size_t count,
                                  int want)
{
    static uint8_t bytes[CHANNEL_BYTES];
    enum channel_state state = channel_read(channel, number, bytes, count);
    for (size_t i = 0; state == CHANNEL_HERE && i < count; i++)
        REQUIRE(bytes[i] == (uint8_t)want);
    return state;
}

static uint64_t post(struct channel *channel, int readers, int value, size_t count)
{
    static uint8_t bytes[CHANNEL_BYTES];
    memset(bytes, value, count);
    return channel_post(channel, readers, bytes, count);
}

TEST(small_pieces_have_room_for_as_many_as_there_are_entries)
{
    struct channel *channel = new_channel();
    for (unsigned i = 1; i <= CHANNEL_ENTRIES; i++) {
        REQUIRE(channel_has_room(channel, 1, 16));
        REQUIRE(post(channel, 1, (int)i, 16) == i);
    }
    CHECK(!channel_has_room(channel, 1, 16));
    CHECK(!channel_has_room(channel, 1, 0));
    for (unsigned i = 1; i <= CHANNEL_ENTRIES; i++)
        REQUIRE(read_as(channel, i, 16, (int)i) == CHANNEL_HERE);
    CHECK_INT(read_as(channel, CHANNEL_ENTRIES + 1, 16, 0), CHANNEL_NOT_YET);
}

/* The one that found no room is not known later either; those before it and behind it are. */
TEST(what_finds_no_room_writes_over_nothing)
{
    struct channel *channel = new_channel();
    for (unsigned i = 1; i <= CHANNEL_ENTRIES + 1; i++)
        REQUIRE(post(channel, 2, (int)i, 16) == i);
    CHECK_INT(read_as(channel, 1, 16, 1), CHANNEL_HERE);
    CHECK_INT(read_as(channel, CHANNEL_ENTRIES + 1, 16, 0), CHANNEL_UNKNOWN);
    channel_take(channel, 0, 5);
    CHECK(!channel_has_room(channel, 2, 16)); /* the other reader has taken none */
    channel_take(channel, 1, 3);
    CHECK(channel_has_room(channel, 2, 16));
    for (unsigned i = 2; i <= 3; i++)
        REQUIRE(post(channel, 2, 100 + (int)i, 16) == CHANNEL_ENTRIES + i);
    CHECK(!channel_has_room(channel, 2, 16));
    CHECK_INT(read_as(channel, 3, 16, 3), CHANNEL_UNKNOWN);
    CHECK_INT(read_as(channel, 4, 16, 4), CHANNEL_HERE);
    CHECK_INT(read_as(channel, CHANNEL_ENTRIES + 1, 16, 0), CHANNEL_UNKNOWN);
    CHECK_INT(read_as(channel, CHANNEL_ENTRIES + 3, 16, 103), CHANNEL_HERE);
}

TEST(large_pieces_share_the_bytes)
{
    struct channel *channel = new_channel();
    for (unsigned i = 1; i <= PIECES; i++)
        REQUIRE(post(channel, 1, (int)i, CHANNEL_BYTES) == i);
    CHECK(!channel_has_room(channel, 1, 1));
    CHECK(channel_has_room(channel, 1, 0)); /* one that is not known */
    CHECK(channel_has_room(channel, 1, CHANNEL_BYTES + 1));
    REQUIRE(post(channel, 1, 1, 1) == PIECES + 1);
    CHECK_INT(read_as(channel, PIECES + 1, 1, 1), CHANNEL_UNKNOWN);
    channel_take(channel, 0, 1);
    CHECK(channel_has_room(channel, 1, CHANNEL_BYTES));
    REQUIRE(post(channel, 1, 99, CHANNEL_BYTES) == PIECES + 2);
    CHECK_INT(read_as(channel, PIECES + 2, CHANNEL_BYTES, 99), CHANNEL_HERE);
    CHECK_INT(read_as(channel, 2, CHANNEL_BYTES, 2), CHANNEL_HERE);
    CHECK_INT(read_as(channel, 1, CHANNEL_BYTES, 1), CHANNEL_UNKNOWN);
}

/* Pieces of all sizes, read some time after they were put in: against their numbers. */
TEST(pieces_of_all_sizes_go_round)
{
    struct channel *channel = new_channel();
    uint64_t seed = 1, taken = 0;
    static size_t sizes[20001];
    static bool had_room[20001];
    for (uint64_t i = 1; i <= 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sizes[i] = (seed >> 33) % (i % 50 ? 700 : CHANNEL_BYTES) + 1;
        had_room[i] = channel_has_room(channel, 1, sizes[i]);
        REQUIRE(post(channel, 1, (int)i, sizes[i]) == i);
        if ((seed >> 60) || i - taken < 3000)
            continue;
        for (; taken < i - (seed >> 40) % 100; taken++)
            REQUIRE(read_as(channel, taken + 1, sizes[taken + 1], (int)(taken + 1)) ==
                    (had_room[taken + 1] ? CHANNEL_HERE : CHANNEL_UNKNOWN));
        channel_take(channel, 0, taken);
    }
    CHECK(taken > 10000);
}

/* ---- ranks that are ahead, and ranks that never come ---- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Two ranks of this process. */
static void two(uint32_t *made)
{
    struct meeting_place place = meeting_make();
    for (int i = 0; i < 2; i++)
        REQUIRE((made[i] = meeting_join(&place, 2, i, false)) != 0);
    meeting_close(&place);
}

static enum channel_state receive(uint32_t meeting, uint64_t *value)
{
    struct works works = {0};
    uint64_t message = meeting_receive(meeting, 0, 1, &works);
    enum channel_state state = meeting_read_sent(meeting, message, 0, value, sizeof *value);
    meeting_release_sent(meeting, message, 0);
    return state;
}

TEST(who_sends_too_much_waits_once_and_loses_the_rest)
{
    uint32_t ranks[2];
    uint64_t value;
    double began = seconds();
    two(ranks);
    for (value = 1; value <= 5000; value++)
        meeting_send(ranks[0], 1, &value, sizeof value);
    CHECK(seconds() - began > 0.9);
    CHECK(seconds() - began < 8);
    for (uint64_t i = 1; i <= 5000; i++) {
        bool fits = i <= CHANNEL_ENTRIES;
        REQUIRE(receive(ranks[1], &value) == (fits ? CHANNEL_HERE : CHANNEL_UNKNOWN));
        REQUIRE(!fits || value == i);
    }
    value = 77;
    meeting_send(ranks[0], 1, &value, sizeof value); /* there is room again */
    CHECK_INT(receive(ranks[1], &value), CHANNEL_HERE);
    CHECK_INT(value, 77);
    for (int i = 0; i < 2; i++)
        meeting_leave(ranks[i]);
}

/* What takes no room comes between: the next large one does not wait again. */
TEST(what_always_has_room_begins_no_new_wait)
{
    static uint8_t large[CHANNEL_BYTES];
    uint32_t ranks[2];
    double began = seconds();
    two(ranks);
    for (size_t i = 0; i < PIECES + 20; i++) {
        meeting_send(ranks[0], 1, large, sizeof large);
        meeting_send(ranks[0], 1, NULL, sizeof large);
    }
    CHECK(seconds() - began < 8);
    for (int i = 0; i < 2; i++)
        meeting_leave(ranks[i]);
}

/* One rank puts in, with all that is held, more than a channel has entries: what the other brings
 * later is held as well. */
TEST(who_is_ahead_holds_all)
{
    uint32_t ranks[2];
    struct works works = {0};
    uint64_t value, wrong = 0;
    two(ranks);
    for (uint64_t i = 1; i <= 5000; i++)
        REQUIRE(meeting_put(ranks[0], &i, sizeof i, 1, &works) == i);
    CHECK(!works_are_done(&works));
    for (uint64_t i = 1; i <= 5000; i++) {
        REQUIRE(meeting_put(ranks[1], &i, sizeof i, 0, &works) == i);
        wrong += meeting_read(ranks[0], i, 1, &value, sizeof value) != CHANNEL_HERE || value != i;
        wrong += meeting_read(ranks[0], i, 0, &value, sizeof value) !=
                 (i <= CHANNEL_ENTRIES ? CHANNEL_HERE : CHANNEL_UNKNOWN);
        meeting_release(ranks[0], i);
    }
    CHECK_INT(wrong, 0);
    CHECK(works_are_done(&works));
    for (int i = 0; i < 2; i++)
        meeting_leave(ranks[i]);
}

/* Rank 1 of three comes later than rank 0 and long before it is given up; rank 2 never does. */
static void meet(const struct meeting_place *place, int rank)
{
    struct works works = {0};
    uint64_t value = 0, own = 5 + (uint64_t)rank;
    if (rank == 1)
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    double began = seconds();
    uint32_t meeting = meeting_join(place, 3, rank, true), made;
    REQUIRE(meeting != 0);
    REQUIRE(seconds() - began > 1e-3 * MEETING_COMES_MS - 0.1);
    uint64_t work = meeting_put(meeting, &own, sizeof own, 1, &works);
    works_wait(&works);
    REQUIRE(meeting_read(meeting, work, 1 - rank, &value, sizeof value) == CHANNEL_HERE);
    REQUIRE(value == 6 - (uint64_t)rank);
    REQUIRE(meeting_read(meeting, work, 2, &value, sizeof value) == CHANNEL_UNKNOWN);
    int size = 0, place_in_it = -1;
    REQUIRE(meeting_split(meeting, 0, 0, &made, &size, &place_in_it));
    REQUIRE(size == 2 && place_in_it == rank && made != 0);
    meeting_leave(made);
    meeting_leave(meeting);
}

TEST(who_never_comes_is_not_waited_for_without_end)
{
    struct meeting_place place = meeting_make();
    double began = seconds();
    REQUIRE(place.key != 0);
    pid_t other = fork();
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        meet(&place, 1);
        _exit(0);
    }
    meet(&place, 0);
    int status = -1;
    REQUIRE(waitpid(other, &status, 0) == other);
    CHECK_INT(status, 0);
    CHECK(seconds() - began < 600);
}

/* One who comes to a split when the others have gone on is in no group; nobody counts it. */
static void split_late(const struct meeting_place *place, int rank)
{
    uint32_t meeting = meeting_join(place, 2, rank, false), made = 0;
    int size = 0, place_in_it = -1;
    if (rank == 0) {
        REQUIRE(meeting_split(meeting, 0, 0, &made, &size, &place_in_it));
        REQUIRE(size == 1 && made == 0);
    } else {
        REQUIRE(!meeting_split(meeting, 0, 0, &made, &size, &place_in_it));
    }
    meeting_leave(meeting);
}

TEST(who_is_late_for_a_split_is_left_out)
{
    struct meeting_place place = meeting_make();
    REQUIRE(place.key != 0);
    split_late(&place, 0);
    split_late(&place, 1);
    meeting_close(&place);
}

TEST_MAIN(TEST_CASE(small_pieces_have_room_for_as_many_as_there_are_entries),
          TEST_CASE(what_finds_no_room_writes_over_nothing),
          TEST_CASE(large_pieces_share_the_bytes), TEST_CASE(pieces_of_all_sizes_go_round),
          TEST_CASE(who_sends_too_much_waits_once_and_loses_the_rest),
          TEST_CASE(what_always_has_room_begins_no_new_wait), TEST_CASE(who_is_ahead_holds_all),
          TEST_CASE(who_never_comes_is_not_waited_for_without_end),
          TEST_CASE(who_is_late_for_a_split_is_left_out))
