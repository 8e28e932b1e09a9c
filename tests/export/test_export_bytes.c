/* The bytes of exports: protocol buffers, gzip, pickles, as their formats say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "export_out.h"
#include "gzip.h"
#include "pickle_put.h"
#include "proto.h"
#include "stack.h"
#include "test.h"

/* ---- a place to write to ---- */

static struct buf read_back(FILE *file)
{
    struct buf bytes = {0};
    char part[4096];
    size_t n;
    rewind(file);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(&bytes, part, n);
    fclose(file);
    return bytes;
}

static struct export_out begin(void)
{
    struct export_out out = {.file = tmpfile(), .path = "a file"};
    REQUIRE(out.file && out_is_valid(&out));
    return out;
}

#define CHECK_BYTES(buf, literal)                                                                  \
    do {                                                                                           \
        CHECK_INT((int64_t)(buf).count, (int64_t)sizeof(literal) - 1);                             \
        CHECK((buf).count == sizeof(literal) - 1 &&                                                \
              memcmp((buf).data, literal, sizeof(literal) - 1) == 0);                              \
    } while (0)

/* ---- protocol buffers ---- */

TEST(numbers_take_as_many_bytes_as_they_need)
{
    struct buf message = {0};
    proto_uint(&message, 1, 150);
    proto_uint(&message, 16, 0);
    proto_int(&message, 2, -1);
    CHECK_BYTES(message, "\x08\x96\x01\x80\x01\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    buf_clear(&message);
    proto_double(&message, 3, 1.0);
    CHECK_BYTES(message, "\x19\0\0\0\0\0\0\xf0\x3f");
    buf_clear(&message);
}

TEST(a_message_has_its_length_before_it)
{
    struct buf message = {0}, inner = {0};
    proto_uint(&inner, 1, 150);
    proto_message(&message, 3, &inner);
    CHECK_BYTES(message, "\x1a\x03\x08\x96\x01");
    CHECK_INT((int64_t)inner.count, 0);
    buf_clear(&message);
    buf_clear(&inner);
}

TEST(a_text_is_utf8)
{
    struct buf message = {0};
    proto_text(&message, 2, "a\xff\xc3\xa9\xc3");
    CHECK_BYTES(message, "\x12\x09"
                         "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
    buf_clear(&message);
}

/* ---- gzip ---- */

TEST(crc_is_that_of_rfc_1952)
{
    CHECK(gzip_crc(0, "123456789", 9) == 0xcbf43926u);
    CHECK(gzip_crc(gzip_crc(0, "1234", 4), "56789", 5) == 0xcbf43926u);
}

TEST(blocks_are_stored_and_sum_up)
{
    struct export_out out = begin();
    struct gzip *gzip = malloc(sizeof *gzip);
    char *bytes = calloc(1, 70000);
    REQUIRE(gzip && bytes);
    gzip_begin(gzip, &out);
    gzip_put(gzip, bytes, 70000);
    gzip_end(gzip);
    struct buf whole = read_back(out.file);
    CHECK_INT((int64_t)whole.count, 10 + 5 + 65535 + 5 + 4465 + 8);
    CHECK(memcmp(whole.data + 10, "\0\xff\xff\0\0", 5) == 0);
    CHECK(memcmp(whole.data + 10 + 5 + 65535, "\x01\x71\x11\x8e\xee", 5) == 0);
    CHECK(memcmp(whole.data + whole.count - 4, "\x70\x11\x01\0", 4) == 0);
    buf_clear(&whole);
    free(bytes);
    free(gzip);
}

/* ---- pickles ---- */

TEST(numbers_of_a_pickle_are_as_small_as_readers_know)
{
    struct export_out out = begin();
    struct pickle_put pickle;
    pickle_begin(&pickle, &out);
    pickle_int(&pickle, 255);
    pickle_int(&pickle, 65535);
    pickle_int(&pickle, -2);
    pickle_int(&pickle, INT64_C(1) << 40);
    pickle_uint(&pickle, UINT64_C(1) << 63);
    pickle_end(&pickle);
    struct buf whole = read_back(out.file);
    CHECK_BYTES(whole, "\x80\x04K\xffM\xff\xffJ\xfe\xff\xff\xff\x8a\x08\0\0\0\0\0\x01\0\0"
                       "\x8a\x09\0\0\0\0\0\0\0\x80\0.");
    buf_clear(&whole);
}

TEST(a_list_comes_in_batches)
{
    struct export_out out = begin();
    struct pickle_put pickle;
    pickle_begin(&pickle, &out);
    pickle_list(&pickle);
    for (int i = 0; i < 1001; i++) {
        pickle_item(&pickle);
        pickle_bool(&pickle, true);
    }
    pickle_list_end(&pickle);
    pickle_list(&pickle); /* an empty one needs no mark */
    pickle_list_end(&pickle);
    pickle_end(&pickle);
    struct buf whole = read_back(out.file);
    CHECK_INT((int64_t)whole.count, 2 + 2 + 1000 + 1 + 1 + 1 + 1 + 1 + 1);
    CHECK(memcmp(whole.data + 2, "](\x88", 3) == 0);
    CHECK(memcmp(whole.data + 4 + 1000,
                 "e(\x88"
                 "e].",
                 6) == 0);
    buf_clear(&whole);
}

TEST(what_was_remembered_is_named_by_number)
{
    struct export_out out = begin();
    struct pickle_put pickle;
    pickle_begin(&pickle, &out);
    for (uint32_t i = 0; i < 257; i++) {
        pickle_text(&pickle, "");
        CHECK(pickle_remember(&pickle) == i);
    }
    pickle_again(&pickle, 255);
    pickle_again(&pickle, 256);
    pickle_pair(&pickle, 0, 1);
    pickle_end(&pickle);
    struct buf whole = read_back(out.file);
    static const char end[] = "h\xffj\0\x01\0\0K\0K\x01\x86.";
    CHECK(memcmp(whole.data + whole.count - (sizeof end - 1), end, sizeof end - 1) == 0);
    buf_clear(&whole);
}

/* ---- files ---- */

TEST(a_file_that_is_there_stays_and_one_that_failed_goes)
{
    char path[] = "/tmp/export.XXXXXX";
    struct export_out out;
    struct buf why = {0};
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    CHECK(out_open(&out, path, &why) == ERR_EXISTS && why.count > 0);
    remove(path);
    CHECK(out_open(&out, path, &why) == 0);
    out_text(&out, "half");
    CHECK(out_close(&out, ERR_CORRUPT, &why) == ERR_CORRUPT);
    FILE *left = fopen(path, "r");
    CHECK(!left);
    CHECK(out_open(&out, "/dev/full", &why) == 0);
    out_text(&out, "no room");
    buf_clear(&why);
    CHECK(out_close(&out, 0, &why) < 0 && why.count > 0);
    left = fopen("/dev/full", "r");
    CHECK(left);
    if (left)
        fclose(left);
    buf_clear(&why);
}

TEST(things_are_numbered_as_they_come)
{
    struct numbered numbered = {0};
    size_t number;
    bool is_new;
    CHECK(numbered_put(&numbered, -7, &number, &is_new) && number == 0 && is_new);
    CHECK(numbered_put(&numbered, INT64_MIN, &number, &is_new) && number == 1 && is_new);
    CHECK(numbered_put(&numbered, -7, &number, &is_new) && number == 0 && !is_new);
    CHECK_INT((int64_t)numbered.count, 2);
    numbered_clear(&numbered);
}

TEST_MAIN(TEST_CASE(numbers_take_as_many_bytes_as_they_need),
          TEST_CASE(a_message_has_its_length_before_it), TEST_CASE(a_text_is_utf8),
          TEST_CASE(crc_is_that_of_rfc_1952), TEST_CASE(blocks_are_stored_and_sum_up),
          TEST_CASE(numbers_of_a_pickle_are_as_small_as_readers_know),
          TEST_CASE(a_list_comes_in_batches), TEST_CASE(what_was_remembered_is_named_by_number),
          TEST_CASE(a_file_that_is_there_stays_and_one_that_failed_goes),
          TEST_CASE(things_are_numbered_as_they_come))
