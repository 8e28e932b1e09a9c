/* functor.c - see functor.h. */
#include "functor.h"

#include <string.h>

/* As in PyTorch: the numbers that its functors hold. */
enum { COMPARE_AT_LEAST, COMPARE_MORE, COMPARE_AT_MOST, COMPARE_LESS };
enum { EQUAL_IS, EQUAL_IS_NOT };
enum { CLAMP_LOW, CLAMP_HIGH, CLAMP_BOTH };

int64_t functor_load(char type, const void *at)
{
    int64_t value = 0;
    uint32_t bytes = kernel_type_bytes(type);
    memcpy(&value, at, bytes);
    switch (type) {
    case 'a':
        return (int8_t)value;
    case 's':
        return (int16_t)value;
    case 'i':
        return (int32_t)value;
    case 'b':
        return value != 0;
    default:
        return value;
    }
}

void functor_store(char type, void *at, int64_t value)
{
    if (type == 'b')
        value = value != 0;
    memcpy(at, &value, kernel_type_bytes(type));
}

/* ---- what a functor holds ---- */

/* Where a number of this type lies behind so many bytes. */
static uint32_t behind(uint32_t bytes, char type)
{
    uint32_t size = kernel_type_bytes(type);
    return (bytes + size - 1) / size * size;
}

static int32_t read_which(const char *at)
{
    int32_t which;
    memcpy(&which, at, sizeof which);
    return which;
}

bool functor_read(const struct kernel *kernel, const void *functor, struct functor_call *call)
{
    const char *at = functor;
    char type = kernel->inputs ? kernel->input[0] : kernel->output;
    uint32_t size = kernel_type_bytes(type);
    *call = (struct functor_call){.kernel = kernel};
    switch (kernel->form) {
    case FORM_FILL:
        call->first = functor_load(type, at);
        return true;
    case FORM_MASKED_FILL:
        call->first = functor_load(kernel->output, at);
        return true;
    case FORM_SCALAR_LEFT:
    case FORM_SCALAR_RIGHT:
        call->which = kernel->op == OP_EQUAL ? read_which(at) : 0;
        call->first = functor_load(type, at + behind(kernel->op == OP_EQUAL ? 4 : 1, type));
        return true;
    case FORM_ADD:
        call->second = functor_load(type, at);
        return true;
    case FORM_ADD_RIGHT:
    case FORM_ADD_LEFT:
        call->first = functor_load(type, at);
        call->second = functor_load(type, at + size);
        return true;
    case FORM_BINARY:
        call->which = kernel->op == OP_EQUAL ? read_which(at) : 0;
        return true;
    case FORM_COMPARE:
        call->which = read_which(at);
        return true;
    case FORM_COMPARE_SCALAR:
        call->which = read_which(at);
        call->first = functor_load(type, at + behind(4, type));
        return true;
    case FORM_CLAMP:
        call->which = read_which(at);
        call->first = functor_load(type, at + behind(4, type));
        call->second = functor_load(type, at + behind(4, type) + size);
        return true;
    case FORM_RANGE:
        call->first = functor_load('l', at);
        call->second = functor_load('l', at + 8);
        return true;
    case FORM_COPY:
    case FORM_UNARY:
    case FORM_WHERE:
        return true;
    case FORM_NONE:
        break;
    }
    return false;
}

/* ---- arithmetic: unsigned, for it wraps ---- */

static int64_t plus(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static int64_t times(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

/* By zero it is nothing; the smallest by -1 is itself. */
static int64_t divide(int64_t x, int64_t y)
{
    if (y == 0)
        return 0;
    return y == -1 ? times(x, -1) : x / y;
}

static int64_t divide_down(int64_t x, int64_t y)
{
    int64_t quotient = divide(x, y);
    bool rest = y != 0 && y != -1 && x % y != 0;
    return rest && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

static int64_t shift(int64_t x, int64_t y, bool left)
{
    if (y < 0 || y >= 64)
        return left || x >= 0 ? 0 : -1;
    return left ? (int64_t)((uint64_t)x << y) : x >> y;
}

static int64_t operate(const struct functor_call *call, int64_t x, int64_t y)
{
    switch (call->kernel->op) {
    case OP_EQUAL:
        return (x == y) == (call->which == EQUAL_IS);
    case OP_MULTIPLY:
        return times(x, y);
    case OP_AND:
        return x & y;
    case OP_OR:
        return x | y;
    case OP_XOR:
        return x ^ y;
    case OP_DIVIDE_DOWN:
        return divide_down(x, y);
    case OP_DIVIDE:
        return divide(x, y);
    case OP_REMAINDER:
        return plus(x, -times(divide_down(x, y), y));
    case OP_SHIFT_LEFT:
        return shift(x, y, true);
    case OP_SHIFT_RIGHT:
        return shift(x, y, false);
    case OP_LARGER:
        return x > y ? x : y;
    case OP_SMALLER:
        return x < y ? x : y;
    case OP_BOTH:
        return x && y;
    case OP_EITHER:
        return x || y;
    case OP_NOT:
        return call->kernel->output == 'b' ? !x : ~x;
    case OP_IS_ZERO:
        return !x;
    case OP_NEGATE:
        return times(x, -1);
    case OP_ABSOLUTE:
        return x < 0 ? times(x, -1) : x;
    default:
        return 0;
    }
}

static int64_t compare(int32_t which, int64_t x, int64_t y)
{
    switch (which) {
    case COMPARE_AT_LEAST:
        return x >= y;
    case COMPARE_MORE:
        return x > y;
    case COMPARE_AT_MOST:
        return x <= y;
    default:
        return x < y;
    }
}

static int64_t clamp(const struct functor_call *call, int64_t x)
{
    if (call->which != CLAMP_HIGH && x < call->first)
        x = call->first;
    if (call->which != CLAMP_LOW && x > call->second)
        x = call->second;
    return x;
}

int64_t functor_apply(const struct functor_call *call, const int64_t *in)
{
    switch (call->kernel->form) {
    case FORM_FILL:
        return call->first;
    case FORM_RANGE:
        return plus(call->first, times(call->second, in[0]));
    case FORM_COPY:
        return in[0];
    case FORM_UNARY:
        return operate(call, in[0], 0);
    case FORM_BINARY:
        return operate(call, in[0], in[1]);
    case FORM_SCALAR_LEFT:
        return operate(call, call->first, in[0]);
    case FORM_SCALAR_RIGHT:
        return operate(call, in[0], call->first);
    case FORM_ADD:
        return plus(in[0], times(call->second, in[1]));
    case FORM_ADD_RIGHT:
        return plus(in[0], times(call->second, call->first));
    case FORM_ADD_LEFT:
        return plus(call->first, times(call->second, in[0]));
    case FORM_COMPARE:
        return compare(call->which, in[0], in[1]);
    case FORM_COMPARE_SCALAR:
        return compare(call->which, in[0], call->first);
    case FORM_CLAMP:
        return clamp(call, in[0]);
    case FORM_MASKED_FILL:
        return in[1] ? call->first : in[0];
    case FORM_WHERE:
        return in[0] ? in[1] : in[2];
    default:
        return 0;
    }
}
