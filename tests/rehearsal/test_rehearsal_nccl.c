/* What collectives bring, between ranks that all do the same; and what Triton's module asks of the
 * driver. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

#define KIB ((size_t)1 << 10)

static char *on_device; /* 1 MiB */

static void copy(void *to, const void *from, size_t bytes)
{
    CHECK_INT(CALL(int, cudaMemcpyAsync, (void *, const void *, size_t, int, void *),
                   (to, from, bytes, 4, NULL)),
              0);
}

static void start(void)
{
    void *p;
    REQUIRE(setenv("TIDEMARK_REHEARSAL", "gpu=a100-40gb;devices=2", 1) == 0);
    library = dlopen(getenv("TIDEMARK_STANDIN"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    REQUIRE(CALL(int, cudaMalloc, (void **, size_t), (&p, 1024 * KIB)) == 0);
    on_device = p;
}

static int64_t read_number(const void *at)
{
    int64_t value = -1;
    copy(&value, at, sizeof value);
    return value;
}

static void write_number(void *at, int64_t value)
{
    copy(at, &value, sizeof value);
}

/* ---- collectives ---- */

struct unique_id {
    char bytes[128];
};

static void *join(int size, int rank)
{
    struct unique_id id = {{0}}; /* the others are not there to be met */
    void *communicator;
    start();
    CHECK_INT(CALL(int, ncclCommInitRank, (void **, int, struct unique_id, int),
                   (&communicator, size, id, rank)),
              0);
    return communicator;
}

enum { INT32 = 2, INT64 = 4, FLOAT64 = 8, BFLOAT16 = 9 };
enum { SUM = 0, PRODUCT = 1, MAX = 2 };

static void reduce(void *from, void *to, size_t count, int type, int operation, void *communicator)
{
    CHECK_INT(CALL(int, ncclAllReduce, (const void *, void *, size_t, int, int, void *, void *),
                   (from, to, count, type, operation, communicator, NULL)),
              0);
}

TEST(one_rank_alone_has_its_own)
{
    void *communicator = join(1, 0);
    char *to = on_device + 4096;
    double half = 0.5;
    write_number(on_device, 6);
    write_number(on_device + 8, 7);
    CHECK_INT(CALL(int, ncclAllGather, (const void *, void *, size_t, int, void *, void *),
                   (on_device, to, 2, INT64, communicator, NULL)),
              0);
    CHECK_INT(read_number(to), 6);
    CHECK_INT(read_number(to + 8), 7);
    reduce(on_device, to, 2, INT64, SUM, communicator);
    CHECK_INT(read_number(to), 6);
    CHECK_INT(read_number(to + 8), 7);
    copy(on_device, &half, sizeof half);
    reduce(on_device, on_device, 1, FLOAT64, SUM, communicator);
    copy(&half, on_device, sizeof half);
    CHECK(half == 0.5);
    reduce(on_device, to, 4, BFLOAT16, SUM, communicator); /* not added up here: unknown */
    CHECK_INT(read_number(to), 0);
}

/* What the others would bring is not what this rank brings. */
static void meets_nobody(void *communicator)
{
    char *to = on_device + 4096;
    write_number(on_device, 6);
    write_number(on_device + 8, 7);
    write_number(to, 5);
    reduce(on_device, to, 1, INT64, MAX, communicator);
    CHECK_INT(read_number(to), 0);
    write_number(to, 5);
    write_number(to + 8, 5);
    CHECK_INT(CALL(int, ncclAllGather, (const void *, void *, size_t, int, void *, void *),
                   (on_device, to, 1, INT64, communicator, NULL)),
              0);
    CHECK_INT(read_number(to), 0);
    CHECK_INT(read_number(to + 8), 0);
    write_number(to, 5);
    CHECK_INT(CALL(int, ncclBroadcast, (const void *, void *, size_t, int, int, void *, void *),
                   (to, to, 1, INT64, 0, communicator, NULL)),
              0);
    CHECK_INT(read_number(to), 0);
    CHECK_INT(CALL(int, ncclBroadcast, (const void *, void *, size_t, int, int, void *, void *),
                   (on_device, to, 1, INT64, 1, communicator, NULL)),
              0);
    CHECK_INT(read_number(to), 6); /* this rank's own */
    CHECK_INT(CALL(int, ncclRecv, (void *, size_t, int, int, void *, void *),
                   (to, 1, INT64, 0, communicator, NULL)),
              0);
    CHECK_INT(read_number(to), 0);
}

TEST(who_cannot_meet_knows_nothing_of_the_others)
{
    meets_nobody(join(3, 1));
}

/* As many as can meet, and one more. */
TEST(many_ranks_meet)
{
    static void *communicators[65];
    start();
    char *to = on_device + 4096;
    for (int size = 64; size <= 65; size++) {
        CHECK_INT(
            CALL(int, ncclCommInitAll, (void **, int, const int *), (communicators, size, NULL)),
            0);
        write_number(on_device, 3);
        write_number(to, 5);
        for (int i = 0; i < size; i++)
            reduce(on_device, to, 1, INT64, SUM, communicators[i]);
        CHECK_INT(read_number(to), size == 64 ? 3 * 64 : 0);
        for (int i = 0; i < size; i++)
            CHECK_INT(CALL(int, ncclCommDestroy, (void *), (communicators[i])), 0);
    }
}

/* The last of so many have no place to meet. */
TEST(nor_who_comes_when_all_places_are_taken)
{
    void *communicators[300][2];
    start();
    for (int i = 0; i < 300; i++)
        CHECK_INT(
            CALL(int, ncclCommInitAll, (void **, int, const int *), (communicators[i], 2, NULL)),
            0);
    meets_nobody(communicators[299][1]);
}

/* ---- limits of a context, as Triton's module sets them ---- */

TEST(a_limit_is_said_again)
{
    size_t value = 0;
    start();
    CHECK_INT(CALL(int, cuCtxGetLimit, (size_t *, unsigned), (&value, 1)), 0);
    CHECK_INT(value, 1024 * KIB);
    CHECK_INT(CALL(int, cuCtxSetLimit, (unsigned, size_t), (1, 5 * KIB)), 0);
    CHECK_INT(CALL(int, cudaDeviceGetLimit, (size_t *, unsigned), (&value, 1)), 0);
    CHECK_INT(value, 5 * KIB);
    CHECK_INT(CALL(int, cuCtxSetLimit, (unsigned, size_t), (99, 1)), 1);
    CHECK_INT(CALL(int, cudaDeviceGetLimit, (size_t *, unsigned), (&value, 99)), 1);
}

/* A piece of the device, by the driver's own copies. */
TEST(the_driver_copies_too)
{
    uint64_t at;
    int64_t five = 5, back = 0;
    start();
    at = (uint64_t)(uintptr_t)on_device;
    CHECK_INT(CALL(int, cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), (at, &five, 8)), 0);
    CHECK_INT(CALL(int, cuMemcpyDtoD_v2, (uint64_t, uint64_t, size_t), (at + 64, at, 8)), 0);
    CHECK_INT(CALL(int, cuMemcpyDtoH_v2, (void *, uint64_t, size_t), (&back, at + 64, 8)), 0);
    CHECK_INT(back, 5);
    CHECK_INT(
        CALL(int, cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *), (at, 1, 8, NULL)), 0);
    CHECK_INT(read_number(on_device), INT64_C(0x0101010101010101));
    CHECK_INT(CALL(int, cuMemsetD32Async, (uint64_t, unsigned, size_t, void *), (at, 1, 2, NULL)),
              0);
    CHECK_INT(read_number(on_device), 0);
}

TEST_MAIN(TEST_CASE(the_driver_copies_too), TEST_CASE(one_rank_alone_has_its_own),
          TEST_CASE(who_cannot_meet_knows_nothing_of_the_others), TEST_CASE(many_ranks_meet),
          TEST_CASE(nor_who_comes_when_all_places_are_taken), TEST_CASE(a_limit_is_said_again))
