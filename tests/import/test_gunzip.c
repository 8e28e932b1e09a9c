/*
 * The reader of gzip: the three kinds of blocks, members behind each other, what is cut off or
 * cannot be, and how much may come out. test_kineto.py has what Python's zlib packs.
 */
#include <string.h>

#include "gunzip.h"
#include "mem.h"
#include "test.h"

static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};

/* Unpacks in pieces of `step` bytes; returns how many come out, of which `most` are kept. */
static size_t unpack(const void *bytes, size_t count, size_t step, unsigned char *out, size_t most,
                     const char **trouble)
{
    struct gunzip *gunzip = mem_alloc(1, sizeof *gunzip);
    unsigned char piece[4096];
    struct pickle_input input;
    size_t whole = 0, n;
    REQUIRE(gunzip != NULL);
    input_memory(&input, bytes, count);
    gunzip_start(gunzip, &input);
    while ((n = gunzip_read(gunzip, piece, step)) > 0) {
        CHECK(gunzip_is_valid(gunzip));
        for (size_t i = 0; i < n && whole + i < most; i++)
            out[whole + i] = piece[i];
        whole += n;
    }
    CHECK(gunzip->state == GUNZIP_END || gunzip->state == GUNZIP_WRONG);
    CHECK((gunzip->state == GUNZIP_WRONG) == (gunzip->trouble != NULL));
    *trouble = gunzip->trouble;
    gunzip_clear(gunzip);
    mem_free(gunzip);
    return whole;
}

static void check(const void *bytes, size_t count, const char *text)
{
    unsigned char out[512] = {0};
    const char *trouble;
    for (size_t step = 1; step <= 64; step += 21) {
        size_t n = unpack(bytes, count, step, out, sizeof out, &trouble);
        CHECK_INT(n, strlen(text));
        CHECK(memcmp(out, text, n) == 0);
        CHECK(trouble == NULL);
    }
    for (size_t cut = 0; cut < count; cut++) {
        unpack(bytes, cut, 64, out, sizeof out, &trouble);
        CHECK_STR(trouble ? trouble : "none", "it is compressed by gzip and cut off");
    }
}

static void check_wrong(const void *bytes, size_t count, const char *why)
{
    unsigned char out[512];
    const char *trouble;
    unpack(bytes, count, 64, out, sizeof out, &trouble);
    CHECK_STR(trouble ? trouble : "none", why);
}

#define DAMAGED "it is compressed by gzip and damaged"

/* "abcabc" and its checksum; `body` is the deflate stream. */
static size_t member(unsigned char *out, const unsigned char *body, size_t count)
{
    static const unsigned char tail[8] = {0x4c, 0x99, 0x6e, 0x72, 6, 0, 0, 0};
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, body, count);
    memcpy(out + sizeof head + count, tail, sizeof tail);
    return sizeof head + count + sizeof tail;
}

static const unsigned char stored[] = {1, 6, 0, 0xf9, 0xff, 'a', 'b', 'c', 'a', 'b', 'c'};
/* By the fixed codes: literals a, b, c, and a copy of three from three before. */
static const unsigned char fixed[] = {0x4b, 0x4c, 0x4a, 0x06, 0x22, 0x00};

TEST(stored_bytes)
{
    unsigned char bytes[64];
    check(bytes, member(bytes, stored, sizeof stored), "abcabc");
}

TEST(a_copy)
{
    unsigned char bytes[64];
    check(bytes, member(bytes, fixed, sizeof fixed), "abcabc");
}

TEST(members_and_zeros)
{
    unsigned char bytes[160] = {0};
    const char *trouble;
    unsigned char out[64];
    size_t n = member(bytes, stored, sizeof stored);
    n += member(bytes + n, fixed, sizeof fixed);
    CHECK_INT(unpack(bytes, n, 7, out, sizeof out, &trouble), 12);
    CHECK(!trouble && memcmp(out, "abcabcabcabc", 12) == 0);
    CHECK_INT(unpack(bytes, n + 9, 7, out, sizeof out, &trouble), 12);
    CHECK(!trouble);
    bytes[n + 3] = 'x';
    check_wrong(bytes, n + 9, "something stands behind its gzip stream");
}

TEST(a_head_with_everything)
{
    unsigned char bytes[96];
    static const unsigned char more[] = {2, 0, 7, 7, 'n', 0, 'c', 0, 1, 2};
    size_t n = member(bytes, fixed, sizeof fixed);
    memmove(bytes + sizeof head + sizeof more, bytes + sizeof head, n - sizeof head);
    memcpy(bytes + sizeof head, more, sizeof more);
    bytes[3] = 2 | 4 | 8 | 16;
    check(bytes, n + sizeof more, "abcabc");
}

TEST(what_cannot_be)
{
    static const struct {
        unsigned char body[8];
        const char *why;
    } cases[] = {
        {{7}, DAMAGED},                      /* a block of no kind */
        {{1, 6, 0, 0, 0}, DAMAGED},          /* a length without its complement */
        {{0x4b, 0x04, 0x42, 0x00}, DAMAGED}, /* a copy from before the beginning */
        {{0x1b, 0x03}, DAMAGED},             /* a symbol that is none */
        {{0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, DAMAGED}, /* too many codes */
    };
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_wrong(bytes, member(bytes, cases[i].body, 8), cases[i].why);
}

TEST(checksum_and_length)
{
    unsigned char bytes[64];
    size_t n = member(bytes, stored, sizeof stored);
    bytes[n - 1] ^= 1;
    check_wrong(bytes, n, DAMAGED);
    bytes[n - 1] ^= 1;
    bytes[n - 6] ^= 1;
    check_wrong(bytes, n, DAMAGED);
}

/* A block of the fixed codes that is one copy of 258 bytes after the other: 13 bits each. */
TEST(what_comes_out_is_bounded)
{
    size_t count = 2 << 20;
    unsigned char *bytes = mem_alloc(count, 1), out[8];
    const char *trouble;
    REQUIRE(bytes != NULL);
    memcpy(bytes, head, sizeof head);
    uint64_t at = 8 * sizeof head;
#define PUT(value, bits)                                                                           \
    for (unsigned i = 0; i < (bits); i++, at++)                                                    \
    bytes[at / 8] |= (unsigned char)(((value) >> i & 1) << at % 8)
    PUT(3u, 3u);
    PUT(0x0cu, 8u); /* the literal 0, mirrored */
    while (at + 64 < 8 * count) {
        PUT(0xa3u, 8u); /* 285: 11000101 */
        PUT(0u, 5u);
    }
    size_t n = unpack(bytes, count, sizeof out * 512, out, sizeof out, &trouble);
    CHECK(n >= GUNZIP_BASE && n <= GUNZIP_BASE + GUNZIP_FACTOR * count + 4096);
    CHECK_STR(trouble ? trouble : "none",
              "it is compressed by gzip and unpacks to more than 100 times its size");
    mem_free(bytes);
}

TEST_MAIN(TEST_CASE(stored_bytes), TEST_CASE(a_copy), TEST_CASE(members_and_zeros),
          TEST_CASE(a_head_with_everything), TEST_CASE(what_cannot_be),
          TEST_CASE(checksum_and_length), TEST_CASE(what_comes_out_is_bounded))
