/*
 * pyframes_walk.c - see pyframes_walk.h. Since 3.11 a frame's position is the address of an
 * instruction, which stands inside the code object: the address alone says both. The owner is part
 * of the word, because of the frames that a position alone does not tell apart (a generator that
 * was thrown into before it began stands where a frame that is not complete stands).
 *
 * Free-threaded since 3.14, an instruction may stand in a copy of the thread's own, outside of the
 * code object. Once the thread has ended the copy can be freed (sys._clear_internal_caches), and
 * its memory become a copy of another code object: so the code object is a second word. It may
 * become a copy of the same one again, too. Python's allocator puts blocks of one size at the same
 * addresses then, but for those of more than 8 KiB: a frame in such a copy is `passing`.
 */
#include "pyframes_walk.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pyframes_lines.h"
#include "pyframes_text.h"

#define OWNER_SHIFT 56
enum { STEADY_COPY = 8 << 10 };

/* ---- walking ---- */

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
    return hash * 0x9e3779b97f4a7c15ull + word;
}

static uint64_t finish(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93ull;
    return hash ^ hash >> 32;
}

/* 3.9 and 3.10. */
static void walk_objects(const struct pyframes_layout *layout, const char *frame,
                         struct pyframes_stack *stack)
{
    uint64_t hash = 0;
    uint32_t depth = 0;
    for (; frame && depth < ARENA_MAX_DEPTH; depth++) {
        uint64_t code = pyframes_word(frame, layout->code);
        uint64_t position = (uint32_t)pyframes_int(frame, layout->position);
        stack->words[2 * depth] = code;
        stack->words[2 * depth + 1] = position;
        hash = mix(mix(hash, code), position);
        frame = pyframes_pointer(frame, layout->previous);
    }
    stack->depth = depth;
    stack->count = 2 * depth;
    stack->hash = finish(hash);
}

static void walk_frames(const struct pyframes_layout *layout, const char *frame,
                        struct pyframes_stack *stack)
{
    const uint64_t previous = layout->previous, at = layout->position, owned = layout->owner;
    const uint8_t shim = layout->shim;
    uint64_t hash = 0;
    uint32_t depth = 0;
    while (frame && depth < ARENA_MAX_DEPTH) {
        uint8_t owner = pyframes_byte(frame, owned);
        uint64_t word = pyframes_word(frame, at) ^ (uint64_t)owner << OWNER_SHIFT;
        frame = pyframes_pointer(frame, previous);
        if (owner >= shim)
            continue;
        stack->words[depth++] = word;
        hash = mix(hash, word);
    }
    stack->depth = depth;
    stack->count = depth;
    stack->hash = finish(hash);
}

/* Where instructions may stand in copies. */
static void walk_copies(const struct pyframes_layout *layout, const char *frame,
                        struct pyframes_stack *stack)
{
    uint64_t hash = 0;
    uint32_t depth = 0;
    while (frame && depth < ARENA_MAX_DEPTH) {
        uint8_t owner = pyframes_byte(frame, layout->owner);
        uint64_t code = pyframes_word(frame, layout->code) & ~layout->code_tag;
        uint64_t word = pyframes_word(frame, layout->position) ^ (uint64_t)owner << OWNER_SHIFT;
        frame = pyframes_pointer(frame, layout->previous);
        if (owner >= layout->shim)
            continue;
        stack->words[2 * depth] = code;
        stack->words[2 * depth + 1] = word;
        hash = mix(mix(hash, code), word);
        depth++;
    }
    stack->depth = depth;
    stack->count = 2 * depth;
    stack->hash = finish(hash);
}

void pyframes_walk(const struct pyframes_layout *layout, const void *state,
                   struct pyframes_stack *stack)
{
    const char *frame = pyframes_innermost(layout, state);
    if (layout->copies)
        walk_copies(layout, frame, stack);
    else if (layout->position_is_pointer)
        walk_frames(layout, frame, stack);
    else
        walk_objects(layout, frame, stack);
}

/* ---- reading with care ---- */

struct reader {
    const struct pyframes_python *python;
    bool carefully;
    const char *wrong;
};

/* Where the kernel will not say, the tables that were checked before must do. */
bool pyframes_can_read(const void *at, size_t bytes)
{
    enum { PIECE = 1024, PIECES = 66 };
    char copy[PIECE];
    struct iovec here[PIECES], there = {(void *)(uintptr_t)at, bytes};
    if (!at)
        return false;
    unsigned long pieces = 0;
    for (size_t left = bytes; left > 0 && pieces < PIECES; pieces++) {
        here[pieces] = (struct iovec){copy, left < PIECE ? left : PIECE};
        left -= here[pieces].iov_len;
    }
    int saved = errno;
    long pid = syscall(SYS_getpid);
    long got = syscall(SYS_process_vm_readv, pid, here, pieces, &there, 1ul, 0ul);
    bool readable = got == (long)bytes || (got < 0 && errno != EFAULT);
    errno = saved;
    return readable;
}

/* Two words, through the kernel where it can be asked: what holds them may be gone. */
static bool copy_words(const void *from[2], uint64_t out[2])
{
    struct iovec here = {out, 2 * sizeof *out};
    struct iovec there[] = {{(void *)(uintptr_t)from[0], sizeof *out},
                            {(void *)(uintptr_t)from[1], sizeof *out}};
    int saved = errno;
    long pid = syscall(SYS_getpid);
    long got = syscall(SYS_process_vm_readv, pid, &here, 1ul, there, 2ul, 0ul);
    bool refused = got < 0 && errno != EFAULT;
    errno = saved;
    if (refused)
        for (int i = 0; i < 2; i++)
            out[i] = pyframes_word(from[i], 0);
    return refused || got == (long)(2 * sizeof *out);
}

static bool can_read(const struct reader *reader, const void *at, size_t bytes)
{
    return reader->carefully ? pyframes_can_read(at, bytes) : at != NULL;
}

static bool fails(struct reader *reader, const char *wrong)
{
    reader->wrong = wrong;
    return false;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t frame_bytes(const struct pyframes_layout *layout)
{
    size_t links = larger(layout->code, layout->previous);
    size_t rest = larger(larger(layout->position, layout->owner), layout->copy);
    return larger(links, rest) + sizeof(uint64_t);
}

static size_t code_bytes(const struct pyframes_layout *layout)
{
    size_t names = larger(larger(layout->file, layout->name), layout->qualified);
    size_t tables = larger(larger(layout->line_table, layout->bytecode), layout->first_line);
    size_t rest = larger(layout->first_traceable, layout->copies);
    return larger(larger(names, tables), rest) + sizeof(uint64_t);
}

/* Whether `object` is of a type with that flag. */
static bool is_of(struct reader *reader, const void *object, uint64_t flag)
{
    const struct pyframes_layout *layout = &reader->python->layout;
    if (!can_read(reader, object, layout->ascii_data))
        return false;
    const void *type = pyframes_type_of(layout, object);
    uint64_t flags = pyframes_part(layout, PY_TYPE_FLAGS);
    return can_read(reader, type, flags + 8) && pyframes_word(type, flags) & flag;
}

static bool text_is_sound(struct reader *reader, const void *object)
{
    if (is_of(reader, object, PY_FLAG_STR) && pyframes_is_text(&reader->python->layout, object))
        return true;
    return fails(reader, "a code object's name is not a str");
}

static bool bytes_are_sound(struct reader *reader, const void *object)
{
    if (is_of(reader, object, PY_FLAG_BYTES))
        return true;
    return fails(reader, "a code object's table is not a bytes object");
}

static bool code_is_sound(struct reader *reader, const void *code)
{
    const struct pyframes_layout *layout = &reader->python->layout;
    return text_is_sound(reader, pyframes_pointer(code, layout->file)) &&
           text_is_sound(reader, pyframes_pointer(code, layout->name)) &&
           (!layout->qualified ||
            text_is_sound(reader, pyframes_pointer(code, layout->qualified))) &&
           (!layout->bytecode ||
            bytes_are_sound(reader, pyframes_pointer(code, layout->bytecode))) &&
           bytes_are_sound(reader, pyframes_pointer(code, layout->line_table));
}

static bool is_within(int64_t offset, int64_t bytes)
{
    return offset >= -2 && offset < bytes;
}

/* What was read so far was read before what follows. */
static void keep_order(void)
{
#ifndef __SANITIZE_THREAD__ /* which knows no fences */
    atomic_thread_fence(memory_order_acquire);
#endif
}

/* The byte offset of a position in the thread's own copy of its code, -3 if it is in none. Another
 * thread that begins to execute the code may put a longer list in the place of this one, and then
 * frees this one at once where our thread is inside C without being counted as one of Python's. The
 * copy itself stays as long as its thread. */
static int64_t offset_in_copy(const struct pyframes_layout *layout, const char *frame,
                              const void *code, int64_t bytes)
{
    enum { TRIES = 16, IN_NONE = -3 };
    const _Atomic(const char *) *at = (const void *)((const char *)code + layout->copies);
    uint32_t number = (uint32_t)pyframes_int(frame, layout->copy);
    for (int i = 0; i < TRIES; i++) {
        const char *list = atomic_load_explicit(at, memory_order_acquire);
        const void *from[2] = {list, list + 8 + 8ull * number};
        uint64_t read[2];
        if (!list || number >= 1u << 20 || !copy_words(from, read))
            continue;
        int64_t offset = (int64_t)(pyframes_word(frame, layout->position) - read[1]);
        keep_order();
        if (atomic_load_explicit(at, memory_order_relaxed) == list && number < read[0] &&
            is_within(offset, bytes))
            return offset;
    }
    return IN_NONE;
}

/* The byte offset of the frame's instruction in its code, -1 if it has not begun; *bytes: how long
 * the code is; *copied: it stands in a copy of the code. */
static int64_t offset_in_code(const struct pyframes_layout *layout, const char *frame,
                              const void *code, int64_t *bytes, bool *copied)
{
    *copied = false;
    if (layout->position_is_pointer) {
        *bytes = 2 * (int64_t)pyframes_size_of(layout, code);
        int64_t offset = (int64_t)(pyframes_word(frame, layout->position) -
                                   (uint64_t)(uintptr_t)code - layout->instructions);
        *copied = layout->copies && !is_within(offset, *bytes);
        return *copied ? offset_in_copy(layout, frame, code, *bytes) : offset;
    }
    int64_t position = pyframes_int(frame, layout->position);
    *bytes = (int64_t)pyframes_size_of(layout, pyframes_pointer(code, layout->bytecode));
    return position < 0 ? -1 : position * layout->position_unit;
}

static uint32_t line_at(const struct pyframes_layout *layout, const void *code, int64_t offset)
{
    const void *table = pyframes_pointer(code, layout->line_table);
    struct pyframes_line_table view = {
        (const uint8_t *)table + pyframes_part(layout, PY_BYTES_DATA),
        pyframes_size_of(layout, table), pyframes_int(code, layout->first_line)};
    return pyframes_line(layout->lines, &view, offset);
}

static bool not_begun(const struct pyframes_layout *layout, const char *frame, const void *code,
                      int64_t offset)
{
    return layout->first_traceable && pyframes_byte(frame, layout->owner) != layout->generator &&
           offset < 2 * (int64_t)pyframes_int(code, layout->first_traceable);
}

static bool read_frame(struct reader *reader, const char *frame, struct pyframes_frame *out)
{
    const struct pyframes_layout *layout = &reader->python->layout;
    int64_t bytes;
    bool copied;
    uint64_t tagged = pyframes_word(frame, layout->code);
    const void *code = (const void *)(uintptr_t)(tagged & ~layout->code_tag);
    *out = (struct pyframes_frame){.code = code};
    if (!can_read(reader, code, layout->head))
        return fails(reader, "a frame has no code object where it should be");
    if (pyframes_type_of(layout, code) != reader->python->code_type) {
        out->hidden = layout->minor >= 13; /* a frame may execute something else */
        return out->hidden || fails(reader, "a frame's code object is of another type");
    }
    if (!can_read(reader, code, code_bytes(layout)) || !code_is_sound(reader, code))
        return false;
    int64_t offset = offset_in_code(layout, frame, code, &bytes, &copied);
    if (!is_within(offset, bytes))
        return fails(reader, "a frame's position is not inside its code");
    out->hidden = not_begun(layout, frame, code, offset);
    out->line = line_at(layout, code, offset);
    out->passing = copied && bytes > STEADY_COPY;
    return true;
}

int pyframes_read(const struct pyframes_python *python, const void *state,
                  struct pyframes_frame *out, bool carefully, const char **wrong)
{
    const struct pyframes_layout *layout = &python->layout;
    struct reader reader = {python, carefully, "the thread state is not what it should be"};
    uint32_t depth = 0, steps = 0;
    if (!can_read(&reader, state, layout->first + sizeof(void *)) ||
        (layout->via_cframe &&
         !can_read(&reader, pyframes_pointer(state, layout->first), layout->cframe_current + 8u)))
        goto wrong;
    const char *frame = pyframes_innermost(layout, state);
    while (frame && depth < ARENA_MAX_DEPTH) {
        reader.wrong = "the chain of frames is not what it should be";
        if (!can_read(&reader, frame, frame_bytes(layout)) || steps++ > 4 * ARENA_MAX_DEPTH)
            goto wrong;
        bool shim =
            layout->position_is_pointer && pyframes_byte(frame, layout->owner) >= layout->shim;
        if (!shim && !read_frame(&reader, frame, &out[depth++]))
            goto wrong;
        frame = pyframes_pointer(frame, layout->previous);
    }
    return (int)depth;
wrong:
    *wrong = reader.wrong;
    return -1;
}
