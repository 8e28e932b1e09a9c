/* The fields of a message: numbers of all lengths, what does not end, what is no field. */
#include <string.h>

#include "buf.h"
#include "protobuf.h"
#include "test.h"

static void check(const char *bytes, size_t count, const char *fields)
{
    struct protobuf in = protobuf_of((const unsigned char *)bytes, count);
    struct protobuf_field field;
    struct buf out = {0};
    while (protobuf_next(&in, &field)) {
        if (field.is_bytes)
            buf_print(&out, "%u='%.*s' ", field.number, (int)field.count,
                      (const char *)field.bytes);
        else
            buf_print(&out, "%u=%llu ", field.number, (unsigned long long)field.value);
    }
    buf_text(&out, in.wrong ? "wrong" : "end");
    CHECK_STR(buf_string(&out), fields);
    buf_clear(&out);
}
#define CHECK_FIELDS(bytes, fields) check(bytes, sizeof(bytes) - 1, fields)

TEST(fields)
{
    CHECK_FIELDS("", "end");
    CHECK_FIELDS("\x08\x05", "1=5 end");
    CHECK_FIELDS("\x08\xac\x02\x12\x03"
                 "abc",
                 "1=300 2='abc' end");
    CHECK_FIELDS("\x12\x00\x08\x01", "2='' 1=1 end");
    CHECK_FIELDS("\x0d\x01\x00\x00\x00\x09\x02\x00\x00\x00\x00\x00\x00\x00", "1=1 1=2 end");
    CHECK_FIELDS("\xf8\xff\xff\xff\x7f\x00", "4294967295=0 end");
    CHECK_FIELDS("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "1=18446744073709551615 end");
}

TEST(what_is_wrong)
{
    CHECK_FIELDS("\x08", "wrong");
    CHECK_FIELDS("\x08\x80", "wrong");
    CHECK_FIELDS("\x12", "wrong");
    CHECK_FIELDS("\x12\x04"
                 "abc",
                 "wrong");
    CHECK_FIELDS("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "wrong");
    CHECK_FIELDS("\x00\x01", "wrong");
    CHECK_FIELDS("\x0b", "wrong");
    CHECK_FIELDS("\x0d\x01\x02\x03", "wrong");
    CHECK_FIELDS("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "wrong");
    CHECK_FIELDS("\xf8\xff\xff\xff\xff\xff\x01\x00", "wrong");
}

TEST_MAIN(TEST_CASE(fields), TEST_CASE(what_is_wrong))
