/* Frames of a free-threaded Python, made up: where a thread executes a copy of its own, and where
 * the list of the copies is replaced and freed meanwhile. With an interpreter:
 * pyframes/test_copies.py. */
#include "pyframes_walk.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "test.h"

/* Offsets that have nothing in common with a real build's. */
static const struct pyframes_layout layout = {
    .minor = 14,
    .lines = LINES_LOCATIONS,
    .shim = 3,
    .generator = 1,
    .head = 32,
    .str_state = 8,
    .position_is_pointer = true,
    .first = 8,
    .code = 0,
    .previous = 8,
    .position = 16,
    .owner = 28,
    .copy = 24,
    .code_tag = 3,
    .flags = 40,
    .first_line = 44,
    .file = 48,
    .name = 56,
    .qualified = 64,
    .line_table = 72,
    .first_traceable = 80,
    .copies = 88,
    .instructions = 96,
    .ascii_data = 56,
    .compact_data = 72,
};

enum { UNITS = 16, LIST = 64, PLACE = 2 * 5, LONG_UNITS = 8192 };

struct object {
    _Alignas(16) char bytes[192 + 2 * LONG_UNITS];
};
struct frame {
    _Alignas(8) char bytes[64];
};

static struct object code_type, str_type, bytes_type;
static struct object text, table, code, code_copy;
static struct frame frame, shim;
static char state[16];
static struct pyframes_python python;

static void put(void *at, size_t offset, uint64_t value)
{
    memcpy((char *)at + offset, &value, sizeof value);
}

static uint64_t address(const void *of)
{
    return (uint64_t)(uintptr_t)of;
}

static void be_of(struct object *object, const struct object *type, uint64_t size)
{
    put(object->bytes, pyframes_part(&layout, PY_TYPE_OF), address(type));
    put(object->bytes, pyframes_part(&layout, PY_SIZE_OF), size);
}

/* A code object with lines 1001, 1002, ... one for each unit, and a frame at unit 5 of it. */
static void make(uint64_t units)
{
    const uint32_t compact_ascii = (1u | 3u << 3) << 8;
    static const uint8_t next_line = 0x80 | 11 << 3;
    put(str_type.bytes, pyframes_part(&layout, PY_TYPE_FLAGS), PY_FLAG_STR);
    put(bytes_type.bytes, pyframes_part(&layout, PY_TYPE_FLAGS), PY_FLAG_BYTES);
    be_of(&text, &str_type, 1);
    put(text.bytes, pyframes_part(&layout, PY_STR_STATE), compact_ascii);
    text.bytes[layout.ascii_data] = 'f';
    be_of(&table, &bytes_type, UNITS);
    memset(table.bytes + pyframes_part(&layout, PY_BYTES_DATA), next_line, UNITS);
    be_of(&code, &code_type, units);
    put(code.bytes, layout.first_line, 1000);
    put(code.bytes, layout.file, address(&text));
    put(code.bytes, layout.name, address(&text));
    put(code.bytes, layout.qualified, address(&text));
    put(code.bytes, layout.line_table, address(&table));
    put(code.bytes, layout.first_traceable, 0);
    put(frame.bytes, layout.code, address(&code) | 1);
    put(frame.bytes, layout.previous, 0);
    put(state, layout.first, address(&frame));
    python = (struct pyframes_python){.layout = layout, .code_type = &code_type};
}

static void stand(const char *at, uint32_t copy, uint8_t owner)
{
    put(frame.bytes, layout.position, address(at));
    memcpy(frame.bytes + layout.copy, &copy, sizeof copy);
    frame.bytes[layout.owner] = (char)owner;
}

static void list_is(const uint64_t *list)
{
    put(code.bytes, layout.copies, address(list));
}

static int read_frames(struct pyframes_frame *out, const char **wrong)
{
    return pyframes_read(&python, state, out, true, wrong);
}

static uint32_t line_of_one(void)
{
    static struct pyframes_frame frames[ARENA_MAX_DEPTH];
    const char *wrong = NULL;
    int count = read_frames(frames, &wrong);
    CHECK_STR(wrong, NULL);
    REQUIRE(count == 1 && frames[0].code == &code);
    CHECK(!frames[0].hidden);
    return frames[0].line;
}

static const char *why_refused(void)
{
    static struct pyframes_frame frames[ARENA_MAX_DEPTH];
    const char *wrong = NULL;
    CHECK_INT(read_frames(frames, &wrong), -1);
    return wrong;
}

static const uint64_t *list_of(uint64_t count, uint64_t number, const void *copy)
{
    static uint64_t list[LIST];
    memset(list, 0, sizeof list);
    list[0] = count;
    list[1] = address(code.bytes + layout.instructions);
    list[1 + number] = address(copy);
    return list;
}

TEST(a_position_in_the_code_itself)
{
    make(UNITS);
    list_is(NULL); /* it is not looked at */
    stand(code.bytes + layout.instructions + PLACE, 0, 0);
    CHECK_INT(line_of_one(), 1006);
}

TEST(a_position_in_a_copy)
{
    make(UNITS);
    list_is(list_of(16, 3, code_copy.bytes));
    stand(code_copy.bytes + PLACE, 3, 0);
    CHECK_INT(line_of_one(), 1006);
    list_is(list_of(16, 15, code_copy.bytes));
    stand(code_copy.bytes + PLACE + 2, 15, 0);
    CHECK_INT(line_of_one(), 1007);
}

TEST(frames_that_have_not_begun)
{
    static struct pyframes_frame frames[ARENA_MAX_DEPTH];
    const char *wrong = NULL;
    make(UNITS);
    put(code.bytes, layout.first_traceable, 7); /* units */
    list_is(list_of(16, 3, code_copy.bytes));
    stand(code_copy.bytes + PLACE, 3, 0);
    CHECK_INT(read_frames(frames, &wrong), 1);
    CHECK(frames[0].hidden);
    stand(code_copy.bytes + PLACE, 3, layout.generator);
    CHECK_INT(read_frames(frames, &wrong), 1);
    CHECK(!frames[0].hidden);
}

TEST(what_cannot_be_is_refused)
{
    make(UNITS);
    list_is(list_of(16, 3, code_copy.bytes));
    stand(code_copy.bytes + PLACE, 4, 0); /* another thread's copy */
    CHECK_STR(why_refused(), "a frame's position is not inside its code");
    stand(code_copy.bytes + PLACE, 16, 0); /* behind the list */
    list_is(list_of(16, 16, code_copy.bytes));
    CHECK_STR(why_refused(), "a frame's position is not inside its code");
    stand(code_copy.bytes + PLACE, UINT32_MAX, 0);
    CHECK(why_refused() != NULL);
    stand(code_copy.bytes + 2 * UNITS, 3, 0); /* behind the copy */
    list_is(list_of(16, 3, code_copy.bytes));
    CHECK(why_refused() != NULL);
    stand(code_copy.bytes + PLACE, 3, 0);
    list_is(NULL);
    CHECK(why_refused() != NULL);
}

TEST(a_list_that_is_gone_is_no_crash)
{
    uint64_t *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(gone != MAP_FAILED);
    munmap(gone, 4096);
    make(UNITS);
    list_is(gone);
    stand(code_copy.bytes + PLACE, 3, 0);
    CHECK_STR(why_refused(), "a frame's position is not inside its code");
}

TEST(long_copies_are_not_remembered)
{
    static struct pyframes_frame frames[ARENA_MAX_DEPTH];
    const char *wrong = NULL;
    make(LONG_UNITS);
    list_is(list_of(16, 3, code_copy.bytes));
    stand(code_copy.bytes + PLACE, 3, 0);
    CHECK_INT(read_frames(frames, &wrong), 1);
    CHECK(frames[0].passing);
    stand(code.bytes + layout.instructions + PLACE, 0, 0);
    CHECK_INT(read_frames(frames, &wrong), 1);
    CHECK(!frames[0].passing);
    make(UNITS);
    stand(code_copy.bytes + PLACE, 3, 0);
    CHECK_INT(read_frames(frames, &wrong), 1);
    CHECK(!frames[0].passing);
}

static struct pyframes_stack walk(void)
{
    struct pyframes_stack stack;
    pyframes_walk(&python.layout, state, &stack);
    return stack;
}

TEST(the_code_object_is_part_of_a_stack)
{
    make(UNITS);
    stand(code_copy.bytes + PLACE, 3, 0);
    struct pyframes_stack one = walk();
    CHECK_INT(one.depth, 1);
    CHECK_INT(one.count, 2);
    put(frame.bytes, layout.code, address(&code) | 0); /* how it is held does not matter */
    struct pyframes_stack same = walk();
    CHECK(same.hash == one.hash && memcmp(same.words, one.words, 2 * sizeof *one.words) == 0);
    put(frame.bytes, layout.code, address(&text) | 1);
    CHECK(walk().hash != one.hash);
    put(frame.bytes, layout.code, address(&code) | 1);
    stand(code_copy.bytes + PLACE, 3, layout.generator);
    CHECK(walk().hash != one.hash);
}

TEST(shims_are_left_out)
{
    make(UNITS);
    stand(code_copy.bytes + PLACE, 3, 0);
    struct pyframes_stack one = walk();
    put(shim.bytes, layout.previous, address(&frame));
    shim.bytes[layout.owner] = (char)layout.shim;
    put(state, layout.first, address(&shim));
    struct pyframes_stack same = walk();
    CHECK(same.depth == 1 && same.hash == one.hash);
}

/* ---- a list that is replaced meanwhile ---- */

enum { READS = 20000 };
static _Atomic bool over;

/* As the interpreter does: a longer list, and the memory of the old one is gone at once. */
static void *replace(void *unused)
{
    uint64_t *present = NULL;
    for (uint64_t count = 16; !atomic_load(&over); count = count < 256 ? 2 * count : 16) {
        uint64_t *next =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(next != MAP_FAILED);
        next[0] = count;
        next[4] = address(code_copy.bytes);
        atomic_store((_Atomic uint64_t *)(void *)(code.bytes + layout.copies), address(next));
        if (present)
            munmap(present, 4096);
        present = next;
    }
    return unused;
}

/* A read that comes to a list that goes too often is refused; it is never wrong. */
TEST(a_list_that_is_replaced_while_it_is_read)
{
    static struct pyframes_frame frames[ARENA_MAX_DEPTH];
    pthread_t other;
    int right = 0;
    make(UNITS);
    list_is(list_of(16, 3, code_copy.bytes));
    stand(code_copy.bytes + PLACE, 3, 0);
    REQUIRE(pthread_create(&other, NULL, replace, NULL) == 0);
    for (int i = 0; i < READS; i++) {
        const char *wrong = NULL;
        int count = read_frames(frames, &wrong);
        CHECK(count == -1 || (count == 1 && frames[0].line == 1006));
        right += count == 1;
    }
    atomic_store(&over, true);
    pthread_join(other, NULL);
    CHECK(right > READS / 2);
}

TEST_MAIN(TEST_CASE(a_position_in_the_code_itself), TEST_CASE(a_position_in_a_copy),
          TEST_CASE(frames_that_have_not_begun), TEST_CASE(what_cannot_be_is_refused),
          TEST_CASE(a_list_that_is_gone_is_no_crash), TEST_CASE(long_copies_are_not_remembered),
          TEST_CASE(the_code_object_is_part_of_a_stack), TEST_CASE(shims_are_left_out),
          TEST_CASE(a_list_that_is_replaced_while_it_is_read))
