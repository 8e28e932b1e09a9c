/*
 * The machine: what it reads, what it refuses, and what damaged and hostile bytes come to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "pick.h"
#include "pickle.h"
#include "rebuild.h"
#include "test.h"

static int read_bytes(const void *bytes, size_t count, struct snapshot *snapshot,
                      struct pickle_trouble *trouble)
{
    struct pickle_input input;
    /* A copy of exactly that length, so that a read behind its end is seen. */
    char *copy = mem_copy(bytes, count);
    char *exact = realloc(copy, count ? count : 1);
    *snapshot = (struct snapshot){0};
    input_memory(&input, exact, count);
    int err = pickle_read(&input, snapshot, trouble);
    input_close(&input);
    free(exact);
    return err;
}

/* Whatever it came to: the snapshot is whole, and all memory is accounted for. */
static int read_and_forget(const void *bytes, size_t count, char *text)
{
    struct snapshot snapshot;
    struct pickle_trouble trouble;
    int err = read_bytes(bytes, count, &snapshot, &trouble);
    CHECK(snapshot_is_valid(&snapshot));
    CHECK(snapshot.budget.most <= IMPORT_BUDGET_BASE + IMPORT_BUDGET_FACTOR * count + 65536);
    CHECK((err == BASE_OK) == (trouble.text[0] == '\0'));
    if (err == BASE_OK)
        for (uint32_t d = 0; d <= snapshot.trace_count; d++) {
            struct rebuild rebuild;
            CHECK(rebuild_run(&rebuild, &snapshot, d) == BASE_OK);
            CHECK(rebuild_is_valid(&rebuild));
            rebuild_clear(&rebuild);
        }
    if (text)
        snprintf(text, PICKLE_MESSAGE_BYTES, "%s", trouble.text);
    snapshot_clear(&snapshot);
    return err;
}

/* ---- what it reads ---- */

TEST(a_snapshot_in_each_protocol)
{
    for (unsigned protocol = 2; protocol <= 5; protocol++) {
        struct pick pick = {0};
        struct snapshot snapshot;
        struct pickle_trouble trouble;
        pick_snapshot(&pick, protocol, 3000);
        CHECK_INT(read_bytes(pick.out.data, pick.out.count, &snapshot, &trouble), BASE_OK);
        CHECK_STR(trouble.text, "");
        CHECK(snapshot_is_valid(&snapshot));
        CHECK_INT(snapshot.trace_count, 1);
        CHECK_INT(snapshot.traces[0].count, 2 + 3 * 3000);
        CHECK_INT(snapshot.listed_count, 2);
        CHECK_INT(snapshot.block_count, 4);
        CHECK_INT(snapshot.note_count, 2);
        CHECK_INT(snapshot.settings.config.max_split_size, 64 << 20);
        CHECK_INT(snapshot.unknown_keys, 0);
        CHECK_INT(snapshot.odd_values, 0);
        CHECK_INT(snapshot.frames.item_count, PICK_FRAMES);
        /* Stacks begin at seven frames and have seven depths, and there are those of blocks. */
        CHECK(snapshot.sites.item_count <= 9);
        snapshot_clear(&snapshot);
        buf_clear(&pick.out);
    }
}

TEST(records_take_less_than_the_file)
{
    struct pick pick = {0};
    struct snapshot snapshot;
    struct pickle_trouble trouble;
    pick_snapshot(&pick, 4, 30000);
    CHECK_INT(read_bytes(pick.out.data, pick.out.count, &snapshot, &trouble), BASE_OK);
    CHECK(snapshot.budget.most < pick.out.count + 65536);
    snapshot_clear(&snapshot);
    buf_clear(&pick.out);
}

/* A setting of the given bytes of a LONG; UINT64_MAX is what "no limit" comes to. */
static uint64_t long_as_setting(const unsigned char *bytes, size_t count, bool wide)
{
    struct pick pick = {0};
    struct snapshot snapshot;
    struct pickle_trouble trouble;
    unsigned char length[4] = {(unsigned char)count, (unsigned char)(count >> 8), 0, 0};
    pick_begin(&pick, 4);
    pick_dict(&pick);
    pick_text(&pick, "allocator_settings");
    pick_dict(&pick);
    pick_text(&pick, "max_split_size");
    pick_op(&pick, wide ? 0x8b : 0x8a);
    buf_add(&pick.out, (const char *)length, wide ? 4 : 1);
    buf_add(&pick.out, (const char *)bytes, count);
    buf_add(&pick.out, "uu.", 3);
    CHECK_INT(read_bytes(pick.out.data, pick.out.count, &snapshot, &trouble), BASE_OK);
    uint64_t got = snapshot.settings.config.max_split_size;
    snapshot_clear(&snapshot);
    buf_clear(&pick.out);
    return got;
}

TEST(integers_of_any_length)
{
    static const unsigned char small[] = {0, 0, 0, 4}, minus[] = {0xff},
                               padded[12] = {0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    unsigned char huge[300];
    memset(huge, 0x7f, sizeof huge);
    for (int wide = 0; wide < 2; wide++) {
        CHECK_INT(long_as_setting(small, 4, wide), 64 << 20);
        CHECK_INT(long_as_setting(small, 2, wide), (int64_t)UINT64_MAX); /* 0: as if missing */
        CHECK_INT(long_as_setting(small, 0, wide), (int64_t)UINT64_MAX);
        CHECK_INT(long_as_setting(minus, 1, wide), (int64_t)UINT64_MAX);
        CHECK_INT(long_as_setting(padded, 4, wide), 1 << 20);
        CHECK_INT(long_as_setting(padded, 8, wide), 1 << 20);
        CHECK_INT(long_as_setting(padded, 9, wide), 1 << 20);
        CHECK_INT(long_as_setting(padded, 12, wide), (int64_t)UINT64_MAX);
        CHECK_INT(long_as_setting(huge, 255, wide), (int64_t)UINT64_MAX);
    }
    CHECK_INT(long_as_setting(huge, 300, true), (int64_t)UINT64_MAX);
}

#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

TEST(opcodes_of_the_stack)
{
    static const struct {
        const char *bytes;
        size_t count;
    } fine[] = {
        /* {segments: []} with POP, DUP, POP_MARK, TUPLE, DICT, LIST, sets and bytes around it */
        BYTES("\x80\x04K\x01\x30}\x8c\x08segments]s."),
        BYTES("\x80\x04(K\x01K\x02\x31}\x8c\x08segments]s."),
        BYTES("\x80\x04(0}\x8c\x08segments]s."),
        BYTES("\x80\x02(X\x08\0\0\0segments(ld."),
        BYTES("\x80\x04}\x32\x30\x8c\x08segments]s."),
        BYTES("\x80\x04(\x91\x30\x8f(K\x01\x90\x30}\x8c\x08segments]s."),
        BYTES("\x80\x04"
              "C\x01x0"
              "B\x01\0\0\0x0"
              "}\x8c\x08segments]s."),
        BYTES("\x80\x04)\x85\x30(t\x30}\x8c\x08segments]s."),
        BYTES("\x80\x04\x95\x08\0\0\0\0\0\0\0}\x8c\x08segments]s."),
        BYTES("\x80\x05\x96\x01\0\0\0\0\0\0\0x0}\x8c\x08segments]s.trailing"),
        BYTES("\x80\x05\x8d\x01\0\0\0\0\0\0\0x0}\x8c\x08segments]s."),
    };
    char text[PICKLE_MESSAGE_BYTES];
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        CHECK_INT(read_and_forget(fine[i].bytes, fine[i].count, text), BASE_OK);
        CHECK_STR(text, "");
    }
}

/* ---- what it refuses ---- */

TEST(opcodes_that_could_run_code_are_refused_by_name)
{
    static const struct {
        unsigned char opcode;
        const char *name;
    } ops[] = {
        {'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
        {'b', "BUILD"},     {'i', "INST"},          {'o', "OBJ"},
        {0x81, "NEWOBJ"},   {0x92, "NEWOBJ_EX"},    {0x82, "EXT1"},
        {0x83, "EXT2"},     {0x84, "EXT4"},         {'P', "PERSID"},
        {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
    };
    char bytes[] = "\x80\x04\x8c\x02os\x8c\x06system?", text[PICKLE_MESSAGE_BYTES], want[128];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        bytes[14] = (char)ops[i].opcode;
        CHECK_INT(read_and_forget(bytes, 15, text), ERR_CORRUPT);
        snprintf(want, sizeof want, "refused at byte 14: opcode %s could run code", ops[i].name);
        CHECK(strncmp(text, want, strlen(want)) == 0);
        CHECK_STR(pickle_opcode_name(ops[i].opcode), ops[i].name);
    }
}

TEST(every_byte_as_an_opcode)
{
    static const char text_protocol[] = "FILSVgpTU";
    char bytes[64] = "\x80\x04", text[PICKLE_MESSAGE_BYTES];
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        bytes[2] = (char)opcode;
        CHECK(read_and_forget(bytes, sizeof bytes, text) != BASE_OK);
        CHECK(text[0] != '\0');
        if (!pickle_opcode_name(opcode))
            CHECK(strstr(text, "is no opcode") != NULL);
        else if (opcode && strchr(text_protocol, (int)opcode))
            CHECK(strstr(text, "which no snapshot has") != NULL);
    }
}

static void refuses(const char *bytes, size_t count, int err, const char *words)
{
    char text[PICKLE_MESSAGE_BYTES];
    CHECK_INT(read_and_forget(bytes, count, text), err);
    if (!strstr(text, words))
        CHECK_STR(text, words);
}
#define REFUSES(bytes, err, words) refuses(bytes, sizeof bytes - 1, err, words)

TEST(what_is_no_snapshot)
{
    REFUSES("", ERR_NOTOURS, "is empty");
    REFUSES("\x80", ERR_NOTOURS, "is empty");
    REFUSES("{\"segments\": []}", ERR_NOTOURS, "JSON");
    REFUSES("PK\3\4", ERR_NOTOURS, "zip archive");
    REFUSES("\x1f\x8b\x08", ERR_NOTOURS, "compressed");
    REFUSES("(dp0\n.", ERR_NOTOURS, "protocol 2 to 5");
    REFUSES("\x80\x01}.", ERR_NEWER, "protocol 1;");
    REFUSES("\x80\x06}.", ERR_NEWER, "protocol 6;");
    REFUSES("\x80\x04}.", ERR_NOTOURS, "not a snapshot");
    REFUSES("\x80\x04].", ERR_NOTOURS, "not a snapshot");
    REFUSES("\x80\x04K\x01.", ERR_NOTOURS, "not a snapshot");
    REFUSES("\x80\x04](K\x01K\x02"
            "e.",
            ERR_NOTOURS, "not a snapshot");
}

TEST(damaged_machines)
{
    REFUSES("\x80\x04.", ERR_CORRUPT, "one value at the end");
    REFUSES("\x80\x04}}.", ERR_CORRUPT, "one value at the end");
    REFUSES("\x80\x04}(.", ERR_CORRUPT, "one value at the end");
    REFUSES("\x80\x04"
            "0",
            ERR_CORRUPT, "nothing on the stack");
    REFUSES("\x80\x04"
            "1",
            ERR_CORRUPT, "nothing on the stack");
    REFUSES("\x80\x04"
            "2",
            ERR_CORRUPT, "nothing on the stack");
    REFUSES("\x80\x04\x94", ERR_CORRUPT, "nothing on the stack");
    REFUSES("\x80\x04"
            "e",
            ERR_CORRUPT, "nothing on the stack");
    REFUSES("\x80\x04(e", ERR_CORRUPT, "nothing on the stack");
    REFUSES("\x80\x04](a", ERR_CORRUPT, "nothing on the stack");
    REFUSES("\x80\x04}(K\x01s", ERR_CORRUPT, "nothing on the stack");
    REFUSES("\x80\x04}(K\x01u", ERR_CORRUPT, "no value");
    REFUSES("\x80\x04(K\x01"
            "d",
            ERR_CORRUPT, "no value");
    REFUSES("\x80\x04K\x01K\x02"
            "a",
            ERR_CORRUPT, "no list");
    REFUSES("\x80\x04]K\x01K\x02s", ERR_CORRUPT, "no dictionary");
    REFUSES("\x80\x04}K\x02"
            "a",
            ERR_CORRUPT, "no list");
    REFUSES("\x80\x04h\x01", ERR_CORRUPT, "memo number");
    REFUSES("\x80\x04}r\xff\xff\xff\xff", ERR_CORRUPT, "memo number");
    REFUSES("\x80\x04\x8b\xff\xff\xff\xff", ERR_CORRUPT, "negative");
    REFUSES("\x80\x04\x8d\0\0\0\0\0\0\0\x40x", ERR_CORRUPT, "cut off");
    REFUSES("\x80\x04X\xff\xff\xff\xffx", ERR_CORRUPT, "cut off");
    REFUSES("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xffx", ERR_CORRUPT, "cut off");
    REFUSES("\x80\x04\x8b\xff\xff\xff\x7fx", ERR_CORRUPT, "cut off");
}

/* A list that holds itself, a dictionary that is its own value, and both used as what they could
 * be. */
TEST(containers_that_hold_themselves)
{
    REFUSES("\x80\x04]\x94h\0a.", ERR_NOTOURS, "not a snapshot");
    REFUSES("\x80\x04}\x94\x8c\x08segmentsh\0s.", ERR_CORRUPT, "it holds itself");
    REFUSES("\x80\x04]2a.", ERR_NOTOURS, "not a snapshot");
    char text[PICKLE_MESSAGE_BYTES];
    static const char traces[] = "\x80\x04}\x8c\x0d"
                                 "device_traces]\x94h\0as.";
    int err = read_and_forget(traces, sizeof traces - 1, text);
    CHECK(err == BASE_OK || err == ERR_CORRUPT);
    static const char blocks[] = "\x80\x04}\x94(\x8c\x06"
                                 "blocks]\x94h\1a\x8c\x07historyh\1u.";
    CHECK(read_and_forget(blocks, sizeof blocks - 1, text) != BASE_OK);
}

/* ---- damage ---- */

TEST(cut_off_at_every_byte)
{
    struct pick pick = {0};
    pick_snapshot(&pick, 4, 4);
    for (size_t n = 0; n < pick.out.count; n++) {
        int err = read_and_forget(pick.out.data, n, NULL);
        CHECK_INT(err, n < 2 ? ERR_NOTOURS : ERR_CORRUPT);
    }
    CHECK_INT(read_and_forget(pick.out.data, pick.out.count, NULL), BASE_OK);
    buf_clear(&pick.out);
}

TEST(changed_at_random)
{
    struct pick pick = {0};
    uint64_t seed = 7;
    pick_snapshot(&pick, 4, 6);
    for (int i = 0; i < 1500; i++) {
        char *copy = mem_copy(pick.out.data, pick.out.count);
        for (uint64_t k = 0, n = 1 + test_random(&seed) % 4; k < n; k++)
            copy[2 + test_random(&seed) % (pick.out.count - 2)] = (char)test_random(&seed);
        read_and_forget(copy, pick.out.count, NULL);
        mem_free(copy);
    }
    buf_clear(&pick.out);
}

/* Pieces of it in another order: opcodes that are whole, but stand where they should not. */
TEST(spliced_at_random)
{
    struct pick pick = {0};
    uint64_t seed = 11;
    pick_snapshot(&pick, 2, 6);
    for (int i = 0; i < 1500; i++) {
        size_t count = pick.out.count;
        char *copy = mem_copy(pick.out.data, count);
        size_t from = 2 + test_random(&seed) % (count - 2),
               to = 2 + test_random(&seed) % (count - 2);
        size_t room = count - (from > to ? from : to), n = 1 + test_random(&seed) % 64;
        memmove(copy + to, pick.out.data + from, n < room ? n : room);
        read_and_forget(copy, count, NULL);
        mem_free(copy);
    }
    buf_clear(&pick.out);
}

/* ---- hostile ---- */

/* `unit` over and over. */
static int read_repeated(const char *unit, size_t bytes, size_t total, char *text)
{
    struct buf out = {0};
    buf_add(&out, "\x80\x04", 2);
    while (out.count < total)
        buf_add(&out, unit, bytes);
    int err = read_and_forget(out.data, out.count, text);
    buf_clear(&out);
    return err;
}

TEST(what_grows_faster_than_its_bytes_is_stopped)
{
    static const struct {
        const char *unit;
        size_t bytes;
    } units[] = {
        {"N", 1},     {"(", 1},     {"]", 1},        {"}", 1},
        {"]\x94", 2}, {"}\x94", 2}, {"\x8f\x94", 2}, {"](]", 3},
    };
    char text[PICKLE_MESSAGE_BYTES];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        int err = read_repeated(units[i].unit, units[i].bytes, 6 << 20, text);
        CHECK(err == ERR_LIMIT || err == ERR_CORRUPT);
        if (err == ERR_LIMIT)
            CHECK(strstr(text, "times its size in memory") != NULL);
    }
    CHECK_INT(read_repeated("]", 1, 6 << 20, text), ERR_LIMIT);
}

TEST(deep_nesting_is_only_data)
{
    struct buf out = {0};
    buf_add(&out, "\x80\x04", 2);
    for (int i = 0; i < 100000; i++)
        buf_add(&out, "]", 1);
    for (int i = 0; i < 99999; i++)
        buf_add(&out, "a", 1);
    buf_add(&out, ".", 1);
    CHECK_INT(read_and_forget(out.data, out.count, NULL), ERR_NOTOURS);
    buf_clear(&out);
}

TEST(too_many_devices)
{
    struct buf out = {0};
    buf_add(&out,
            "\x80\x04}\x8c\x0d"
            "device_traces](",
            20);
    for (int i = 0; i < 257; i++)
        buf_add(&out, "]", 1);
    buf_add(&out, "es.", 3);
    refuses(out.data, out.count, ERR_LIMIT, "more than 256 devices");
    buf_clear(&out);
    REFUSES("\x80\x04}(\x8c\x0atotal_sizeK\x01\x8c\x06"
            "deviceM\x01\x01u.",
            ERR_LIMIT, "more than 256 devices");
}

#define ADD_BYTES(out, text) buf_add((out), (text), sizeof(text) - 1)

TEST(too_many_streams)
{
    struct buf out = {0};
    ADD_BYTES(&out, "\x80\x04}\x8c\x0d"
                    "device_traces](](");
    for (unsigned i = 0; i < 5000; i++) {
        const char stream[2] = {(char)i, (char)(i >> 8)};
        ADD_BYTES(&out, "}(\x8c\x06"
                        "action\x8c\x05"
                        "alloc\x8c\x06"
                        "streamM");
        buf_add(&out, stream, 2);
        ADD_BYTES(&out, "u");
    }
    ADD_BYTES(&out, "ees.");
    refuses(out.data, out.count, ERR_LIMIT, "more than 4096 streams and pools");
    buf_clear(&out);
}

/* A list that is put into another again and again is not looked through each time. */
TEST(a_long_list_many_times)
{
    struct buf out = {0};
    buf_add(&out, "\x80\x04]\x94(", 5);
    for (int i = 0; i < 200000; i++)
        buf_add(&out, "]", 1);
    buf_add(&out, "e](", 3);
    for (int i = 0; i < 200000; i++)
        buf_add(&out, "h\0", 2);
    buf_add(&out, "e0.", 3);
    CHECK_INT(read_and_forget(out.data, out.count, NULL), ERR_NOTOURS);
    buf_clear(&out);
}

/* Each time it is an event of its own. */
TEST(one_event_many_times)
{
    struct buf out = {0};
    struct snapshot snapshot;
    struct pickle_trouble trouble;
    ADD_BYTES(&out, "\x80\x04}\x8c\x0d"
                    "device_traces]]}\x94\x8c\x06"
                    "action\x8c\x05"
                    "allocsa(");
    for (int i = 0; i < 1000; i++)
        ADD_BYTES(&out, "h\0");
    ADD_BYTES(&out, "eas.");
    CHECK_INT(read_bytes(out.data, out.count, &snapshot, &trouble), BASE_OK);
    CHECK_STR(trouble.text, "");
    CHECK_INT(snapshot.traces[0].count, 1001);
    CHECK(snapshot_is_valid(&snapshot));
    snapshot_clear(&snapshot);
    buf_clear(&out);
}

/* ---- without memory ---- */

TEST(without_memory)
{
    struct pick pick = {0};
    int err = ERR_NOMEM;
    pick_snapshot(&pick, 4, 4);
    for (long n = 1; err != BASE_OK && n < 100000; n++) {
        struct snapshot snapshot = {0};
        struct pickle_trouble trouble;
        struct pickle_input input;
        input_memory(&input, pick.out.data, pick.out.count);
        mem_fail_after(n);
        err = pickle_read(&input, &snapshot, &trouble);
        mem_fail_after(0);
        CHECK(err == BASE_OK || err == ERR_NOMEM);
        snapshot_clear(&snapshot);
    }
    CHECK_INT(err, BASE_OK);
    buf_clear(&pick.out);
}

TEST_MAIN(TEST_CASE(a_snapshot_in_each_protocol), TEST_CASE(records_take_less_than_the_file),
          TEST_CASE(integers_of_any_length), TEST_CASE(opcodes_of_the_stack),
          TEST_CASE(opcodes_that_could_run_code_are_refused_by_name),
          TEST_CASE(every_byte_as_an_opcode), TEST_CASE(what_is_no_snapshot),
          TEST_CASE(damaged_machines), TEST_CASE(containers_that_hold_themselves),
          TEST_CASE(cut_off_at_every_byte), TEST_CASE(changed_at_random),
          TEST_CASE(spliced_at_random), TEST_CASE(what_grows_faster_than_its_bytes_is_stopped),
          TEST_CASE(deep_nesting_is_only_data), TEST_CASE(too_many_devices),
          TEST_CASE(too_many_streams), TEST_CASE(a_long_list_many_times),
          TEST_CASE(one_event_many_times), TEST_CASE(without_memory))
