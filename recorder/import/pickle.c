/*
 * The machine. One opcode after the other: operands come from the input, values from a stack, and
 * MARK remembers a height of it. The stack holds what is not in a container yet, so an opcode that
 * asks for more than lies above the last mark is an error, never a look below it.
 */
#include "pickle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "error.h"
#include "mem.h"

struct pickle {
    struct pickle_input *input;
    struct snapshot *snapshot;
    struct build build;
    struct pickle_trouble *trouble;
    value *stack;
    size_t count, cap;
    size_t *marks;
    size_t mark_count, mark_cap;
    uint64_t memoized; /* number that MEMOIZE uses next */
    uint64_t at;       /* offset of the opcode */
    unsigned opcode;
};

enum { GO_ON = 0, STOPPED = 1 }; /* or a negative base_err */

static int fail(struct pickle *pickle, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int fail(struct pickle *pickle, int err, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(pickle->trouble->text, sizeof pickle->trouble->text, format, list);
    va_end(list);
    pickle->trouble->offset = pickle->at;
    return err;
}

static int truncated(struct pickle *pickle)
{
    if (pickle->input->error)
        return fail(pickle, input_failure(pickle->input), "cannot read on: %s",
                    input_trouble(pickle->input));
    pickle->at = input_offset(pickle->input);
    return fail(pickle, ERR_CORRUPT, "it is cut off: the pickle goes on behind byte %llu",
                (unsigned long long)(pickle->input->base + pickle->input->end));
}

static int no_memory(struct pickle *pickle)
{
    if (pickle->snapshot->budget.refused)
        return fail(pickle, ERR_LIMIT,
                    "at byte %llu it needs more than %u times its size in memory",
                    (unsigned long long)pickle->at, IMPORT_BUDGET_FACTOR);
    if (pickle->snapshot->too_many_places)
        return fail(pickle, ERR_LIMIT, "it has more than %u streams and pools", IMPORT_MAX_PLACES);
    return fail(pickle, ERR_NOMEM, "not enough memory");
}

static int damaged(struct pickle *pickle, const char *why)
{
    const char *name = pickle_opcode_name(pickle->opcode);
    return fail(pickle, ERR_CORRUPT, "damaged at byte %llu (%s): %s",
                (unsigned long long)pickle->at, name ? name : "?", why);
}

/* What a builder's function came to. */
static int check(struct pickle *pickle, int err)
{
    if (err == BASE_OK)
        return GO_ON;
    if (err == ERR_NOMEM)
        return no_memory(pickle);
    if (err == ERR_LIMIT)
        return fail(pickle, ERR_LIMIT, "at byte %llu: more than %u devices, or too many records",
                    (unsigned long long)pickle->at, IMPORT_MAX_DEVICES);
    const char *why = pickle->build.trouble;
    if (err == ERR_NOTOURS)
        return fail(pickle, err, "%s", why);
    return damaged(pickle, why ? why : "it holds itself, or names what is not there");
}

/* ---- the stack ---- */

static int push(struct pickle *pickle, value v)
{
    if (!BUDGET_GROW(&pickle->snapshot->budget, pickle->stack, pickle->cap, pickle->count + 1))
        return no_memory(pickle);
    pickle->stack[pickle->count++] = v;
    return GO_ON;
}

static size_t floor_of(const struct pickle *pickle)
{
    return pickle->mark_count ? pickle->marks[pickle->mark_count - 1] : 0;
}

static bool has(const struct pickle *pickle, size_t n)
{
    return pickle->count - floor_of(pickle) >= n;
}

static int underflow(struct pickle *pickle)
{
    return damaged(pickle, "there is nothing on the stack for it");
}

static int mark(struct pickle *pickle)
{
    if (!BUDGET_GROW(&pickle->snapshot->budget, pickle->marks, pickle->mark_cap,
                     pickle->mark_count + 1))
        return no_memory(pickle);
    pickle->marks[pickle->mark_count++] = pickle->count;
    return GO_ON;
}

/* Takes the last mark away: *from is where the values above it begin. */
static bool pop_mark(struct pickle *pickle, size_t *from)
{
    if (!pickle->mark_count)
        return false;
    *from = pickle->marks[--pickle->mark_count];
    return true;
}

/* ---- operands ---- */

static uint64_t little(const unsigned char *bytes, unsigned n)
{
    uint64_t number = 0;
    for (unsigned i = n; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

static bool operand(struct pickle *pickle, unsigned bytes, uint64_t *number)
{
    const unsigned char *from = input_take(pickle->input, bytes);
    *number = from ? little(from, bytes) : 0;
    return from != NULL;
}

static int push_int(struct pickle *pickle, unsigned bytes)
{
    uint64_t number;
    if (!operand(pickle, bytes, &number))
        return truncated(pickle);
    int64_t with_sign = bytes == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
    return push(pickle, value_of_int(with_sign));
}

/* Two's complement of any length, lowest byte first. */
static int push_long(struct pickle *pickle, unsigned length_bytes)
{
    uint64_t count;
    if (!operand(pickle, length_bytes, &count))
        return truncated(pickle);
    if (count == 0)
        return push(pickle, value_of_int(0));
    if (length_bytes == 4 && count > INT32_MAX)
        return damaged(pickle, "its length is negative");
    uint64_t low = count < 9 ? count : 9, number;
    const unsigned char *bytes = input_take(pickle->input, (size_t)low);
    if (!bytes)
        return truncated(pickle);
    unsigned char ninth = low == 9 ? bytes[8] : 0, last = bytes[low - 1];
    number = little(bytes, low < 8 ? (unsigned)low : 8);
    if (count > 9) {
        if (!input_skip(pickle->input, count - 10) || !(bytes = input_take(pickle->input, 1)))
            return truncated(pickle);
        return push(pickle, value_make(VALUE_HUGE, *bytes >> 7));
    }
    if (low == 9 && ninth)
        return push(pickle, value_make(VALUE_HUGE, last >> 7));
    if (low == 9)
        return push(pickle,
                    number > INT64_MAX ? value_make(VALUE_HUGE, 0) : value_of_int((int64_t)number));
    if (low < 8 && last & 0x80)
        number |= UINT64_MAX << (8 * low);
    return push(pickle, value_of_int((int64_t)number));
}

static int push_real(struct pickle *pickle)
{
    const unsigned char *bytes = input_take(pickle->input, 8);
    uint64_t bits = 0;
    double number;
    if (!bytes)
        return truncated(pickle);
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&number, &bits, sizeof number);
    return push(pickle, value_of_real(number));
}

/* Of a text that is too long only the beginning is looked at. */
static int push_text(struct pickle *pickle, unsigned length_bytes)
{
    uint64_t count;
    value v;
    if (!operand(pickle, length_bytes, &count))
        return truncated(pickle);
    size_t kept = count < PICKLE_INPUT_BYTES ? (size_t)count : PICKLE_INPUT_BYTES;
    const unsigned char *bytes = input_take(pickle->input, kept);
    if (!bytes)
        return truncated(pickle);
    int err = check(pickle, build_string(&pickle->build, bytes, kept, &v));
    if (err == GO_ON && !input_skip(pickle->input, count - kept))
        return truncated(pickle);
    return err == GO_ON ? push(pickle, v) : err;
}

/* Bytes mean nothing in a snapshot. */
static int push_bytes(struct pickle *pickle, unsigned length_bytes)
{
    uint64_t count;
    if (!operand(pickle, length_bytes, &count) || !input_skip(pickle->input, count))
        return truncated(pickle);
    return push(pickle, value_make(VALUE_OTHER, 0));
}

/* ---- containers ---- */

static int push_list(struct pickle *pickle)
{
    value v;
    int err = check(pickle, build_list(&pickle->build, &v));
    return err == GO_ON ? push(pickle, v) : err;
}

static int push_dict(struct pickle *pickle)
{
    value v;
    int err = check(pickle, build_dict(&pickle->build, &v));
    return err == GO_ON ? push(pickle, v) : err;
}

/* Appends the values above `from` to the list below them, and takes them off the stack. */
static int append(struct pickle *pickle, size_t from)
{
    if (from <= floor_of(pickle))
        return underflow(pickle);
    int err = build_append(&pickle->build, pickle->stack[from - 1], pickle->stack + from,
                           pickle->count - from);
    pickle->count = from;
    return check(pickle, err);
}

static int set_items(struct pickle *pickle, size_t from)
{
    size_t count = pickle->count - from;
    if (from <= floor_of(pickle))
        return underflow(pickle);
    if (count % 2)
        return damaged(pickle, "a key has no value");
    int err = build_set(&pickle->build, &pickle->stack[from - 1], pickle->stack + from, count / 2);
    pickle->count = from;
    return check(pickle, err);
}

/* LIST and DICT make their container only now, below what is to go into it. */
static int from_mark(struct pickle *pickle, bool dict)
{
    size_t from;
    value v;
    if (!pop_mark(pickle, &from))
        return underflow(pickle);
    if (dict && (pickle->count - from) % 2)
        return damaged(pickle, "a key has no value");
    int err = check(pickle, dict ? build_dict(&pickle->build, &v) : build_list(&pickle->build, &v));
    if (err == GO_ON)
        err = check(
            pickle,
            dict ? build_set(&pickle->build, &v, pickle->stack + from, (pickle->count - from) / 2)
                 : build_append(&pickle->build, v, pickle->stack + from, pickle->count - from));
    pickle->count = from;
    return err == GO_ON ? push(pickle, v) : err;
}

static int tuple(struct pickle *pickle, size_t from)
{
    value v;
    int err =
        check(pickle, build_tuple(&pickle->build, pickle->stack + from, pickle->count - from, &v));
    pickle->count = from;
    return err == GO_ON ? push(pickle, v) : err;
}

static int tuple_of(struct pickle *pickle, size_t n)
{
    return has(pickle, n) ? tuple(pickle, pickle->count - n) : underflow(pickle);
}

/* ---- memo ---- */

static int put(struct pickle *pickle, uint64_t number)
{
    if (!has(pickle, 1))
        return underflow(pickle);
    if (number > pickle->at)
        return damaged(pickle, "a memo number that the bytes so far cannot have reached");
    return check(pickle, build_memo_put(&pickle->build, number, pickle->stack[pickle->count - 1]));
}

static int put_operand(struct pickle *pickle, unsigned bytes)
{
    uint64_t number;
    if (!operand(pickle, bytes, &number))
        return truncated(pickle);
    return put(pickle, number);
}

static int get_operand(struct pickle *pickle, unsigned bytes)
{
    uint64_t number;
    value v;
    if (!operand(pickle, bytes, &number))
        return truncated(pickle);
    if (build_memo_get(&pickle->build, number, &v) != BASE_OK)
        return damaged(pickle, "nothing was stored under this memo number");
    return push(pickle, v);
}

/* ---- the opcodes ---- */

static int refused(struct pickle *pickle)
{
    const char *name = pickle_opcode_name(pickle->opcode);
    if (!name)
        return fail(pickle, ERR_CORRUPT, "damaged at byte %llu: 0x%02x is no opcode",
                    (unsigned long long)pickle->at, pickle->opcode);
    if (strchr("FILSVgpTU", (int)pickle->opcode) && pickle->opcode)
        return fail(pickle, ERR_CORRUPT, "refused at byte %llu: opcode %s, which no snapshot has",
                    (unsigned long long)pickle->at, name);
    return fail(pickle, ERR_CORRUPT,
                "refused at byte %llu: opcode %s could run code or reach outside the file",
                (unsigned long long)pickle->at, name);
}

static int pop_to_mark(struct pickle *pickle)
{
    size_t from;
    if (!pop_mark(pickle, &from))
        return underflow(pickle);
    pickle->count = from;
    return GO_ON;
}

static int stack_opcode(struct pickle *pickle)
{
    size_t from;
    switch (pickle->opcode) {
    case '(':
        return mark(pickle);
    case '0': /* POP, which also takes a mark */
        if (has(pickle, 1))
            pickle->count--;
        else if (!pop_mark(pickle, &from))
            return underflow(pickle);
        return GO_ON;
    case '1':
        return pop_to_mark(pickle);
    case '2':
        if (!has(pickle, 1))
            return underflow(pickle);
        build_named_again(&pickle->build, pickle->stack[pickle->count - 1]);
        return push(pickle, pickle->stack[pickle->count - 1]);
    case 0x8f: /* EMPTY_SET: nothing that is read is in one */
        return push(pickle, value_make(VALUE_OTHER, 0));
    case 0x90: /* ADDITEMS */
        return pop_to_mark(pickle) == GO_ON ? (has(pickle, 1) ? GO_ON : underflow(pickle))
                                            : ERR_CORRUPT;
    case 0x91: /* FROZENSET */
        return pop_to_mark(pickle) == GO_ON ? push(pickle, value_make(VALUE_OTHER, 0))
                                            : ERR_CORRUPT;
    default:
        return refused(pickle);
    }
}

static int container_opcode(struct pickle *pickle)
{
    size_t from;
    switch (pickle->opcode) {
    case ']':
        return push_list(pickle);
    case '}':
        return push_dict(pickle);
    case 'a':
        return has(pickle, 2) ? append(pickle, pickle->count - 1) : underflow(pickle);
    case 'e':
        return pop_mark(pickle, &from) ? append(pickle, from) : underflow(pickle);
    case 's':
        return has(pickle, 3) ? set_items(pickle, pickle->count - 2) : underflow(pickle);
    case 'u':
        return pop_mark(pickle, &from) ? set_items(pickle, from) : underflow(pickle);
    case 'l':
        return from_mark(pickle, false);
    case 'd':
        return from_mark(pickle, true);
    case ')':
        return tuple_of(pickle, 0);
    case 0x85:
    case 0x86:
    case 0x87:
        return tuple_of(pickle, pickle->opcode - 0x84u);
    case 't':
        return pop_mark(pickle, &from) ? tuple(pickle, from) : underflow(pickle);
    default:
        return stack_opcode(pickle);
    }
}

static int memo_opcode(struct pickle *pickle)
{
    uint64_t ignored;
    switch (pickle->opcode) {
    case 'q':
        return put_operand(pickle, 1);
    case 'r':
        return put_operand(pickle, 4);
    case 0x94:
        return put(pickle, pickle->memoized++);
    case 'h':
        return get_operand(pickle, 1);
    case 'j':
        return get_operand(pickle, 4);
    case 0x95: /* FRAME: how far a reader may read ahead */
        return operand(pickle, 8, &ignored) ? GO_ON : truncated(pickle);
    case 0x80:
        return operand(pickle, 1, &ignored) ? GO_ON : truncated(pickle);
    default:
        return container_opcode(pickle);
    }
}

static int step(struct pickle *pickle)
{
    switch (pickle->opcode) {
    case 'N':
        return push(pickle, value_make(VALUE_NONE, 0));
    case 0x88:
        return push(pickle, value_make(VALUE_BOOL, 1));
    case 0x89:
        return push(pickle, value_make(VALUE_BOOL, 0));
    case 'K':
        return push_int(pickle, 1);
    case 'M':
        return push_int(pickle, 2);
    case 'J':
        return push_int(pickle, 4);
    case 0x8a:
        return push_long(pickle, 1);
    case 0x8b:
        return push_long(pickle, 4);
    case 'G':
        return push_real(pickle);
    case 0x8c:
        return push_text(pickle, 1);
    case 'X':
        return push_text(pickle, 4);
    case 0x8d:
        return push_text(pickle, 8);
    case 'C':
        return push_bytes(pickle, 1);
    case 'B':
        return push_bytes(pickle, 4);
    case 0x8e:
    case 0x96:
        return push_bytes(pickle, 8);
    case '.':
        return STOPPED;
    default:
        return memo_opcode(pickle);
    }
}

/* ---- the whole ---- */

/* Each behind a comma and a blank. */
#define FORMAT(name, plain, about, example, note) ", " plain
static const char all_formats[] =
#include "formats.def"
    ;
#undef FORMAT

static int begin(struct pickle *pickle)
{
    const unsigned char *head = input_take(pickle->input, 2);
    if (!head)
        return pickle->input->error
                   ? truncated(pickle)
                   : fail(pickle, ERR_NOTOURS, "the file is empty, or has a byte");
    if (head[0] == '{' || head[0] == '[')
        return fail(pickle, ERR_NOTOURS, "it is not a pickle; it looks like JSON");
    if (head[0] == 'P' && head[1] == 'K')
        return fail(pickle, ERR_NOTOURS,
                    "it is not a pickle but a zip archive, as torch.save writes them");
    if (head[0] == 0x1f && head[1] == 0x8b)
        return fail(pickle, ERR_NOTOURS, "it is compressed in a way that is not known");
    if (head[0] != 0x80)
        return fail(pickle, ERR_NOTOURS, "the file is no %s", all_formats + 2);
    if (head[1] < 2 || head[1] > 5)
        return fail(pickle, ERR_NEWER, "it is a pickle of protocol %u; 2 to 5 can be read",
                    head[1]);
    return GO_ON;
}

static int run(struct pickle *pickle)
{
    struct budget *budget = &pickle->snapshot->budget;
    int err = begin(pickle);
    while (err == GO_ON) {
        pickle->at = input_offset(pickle->input);
        budget->limit = IMPORT_BUDGET_BASE + (size_t)pickle->at * IMPORT_BUDGET_FACTOR;
        const unsigned char *opcode = input_take(pickle->input, 1);
        if (!opcode)
            return truncated(pickle);
        pickle->opcode = *opcode;
        err = step(pickle);
    }
    if (err != STOPPED)
        return err;
    if (pickle->count != 1 || pickle->mark_count)
        return damaged(pickle, "the stack does not hold one value at the end");
    return check(pickle, build_finish(&pickle->build, pickle->stack[0]));
}

int pickle_read(struct pickle_input *input, struct snapshot *snapshot,
                struct pickle_trouble *trouble)
{
    struct pickle pickle = {.input = input, .snapshot = snapshot, .trouble = trouble};
    struct budget *budget = &snapshot->budget;
    *trouble = (struct pickle_trouble){0};
    budget->limit = IMPORT_BUDGET_BASE;
    int err = build_start(&pickle.build, snapshot);
    if (err == BASE_OK && !BUDGET_GROW(budget, pickle.stack, pickle.cap, 64))
        err = ERR_NOMEM;
    err = err ? no_memory(&pickle) : run(&pickle);
    budget_free(budget, pickle.stack, pickle.cap, sizeof *pickle.stack);
    budget_free(budget, pickle.marks, pickle.mark_cap, sizeof *pickle.marks);
    build_clear(&pickle.build);
    return err;
}
