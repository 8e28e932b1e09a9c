/* reals.c - see reals.h. */
#include "reals.h"

#include <math.h>
#include <string.h>

#define WHOLE_MOST 9007199254740992.0 /* up to here a double has every whole number */

bool real_is(char type)
{
    return type == 'f' || type == 'd';
}

uint32_t real_bytes(char type)
{
    return type == 'f' ? 4 : type == 'd' ? 8 : kernel_type_bytes(type);
}

bool real_load(char type, const void *at, double *value)
{
    float narrow;
    if (type == 'd') {
        memcpy(value, at, sizeof *value);
    } else if (type == 'f') {
        memcpy(&narrow, at, sizeof narrow);
        *value = (double)narrow;
    } else {
        *value = (double)functor_load(type, at);
    }
    return fabs(*value) <= WHOLE_MOST || isinf(*value); /* and is a number */
}

/* Of another type, as C converts; what does not fit is not known. */
static bool convert(char type, double *value)
{
    if (type == 'f')
        *value = (double)(float)*value;
    else if (type == 'b')
        *value = *value != 0;
    else if (type != 'd')
        *value = trunc(*value);
    if (real_is(type) || type == 'b')
        return fabs(*value) <= WHOLE_MOST || isinf(*value);
    double most = ldexp(1, (int)(8 * kernel_type_bytes(type)) - 1);
    return fabs(*value) < most && fabs(*value) <= WHOLE_MOST;
}

static void store(char type, void *at, double value)
{
    float narrow = (float)value;
    if (type == 'd')
        memcpy(at, &value, sizeof value);
    else if (type == 'f')
        memcpy(at, &narrow, sizeof narrow);
    else
        functor_store(type, at, (int64_t)value);
}

/* ---- what a functor holds ---- */

static double scalar(char type, const char *at)
{
    double value = 0;
    (void)real_load(type, at, &value);
    return value;
}

bool real_read(const struct kernel *kernel, const void *functor, struct real_call *call)
{
    const char *at = functor;
    char type = kernel->input[0];
    uint32_t size = real_bytes(type);
    *call = (struct real_call){.kernel = kernel};
    switch (kernel->form) {
    case FORM_FILL:
        call->first = scalar(kernel->output, at);
        return true;
    case FORM_COPY:
    case FORM_UNARY:
        return true;
    case FORM_BINARY:
    case FORM_SCALAR_LEFT:
    case FORM_SCALAR_RIGHT:
        if (kernel->op == OP_EQUAL)
            memcpy(&call->which, at, sizeof call->which);
        if (kernel->form != FORM_BINARY)
            call->first = scalar(type, at + size); /* behind an operation that is empty, or which */
        return kernel->op == OP_MULTIPLY || kernel->op == OP_DIVIDE_REAL || kernel->op == OP_EQUAL;
    case FORM_ADD:
        call->second = scalar(type, at);
        return true;
    case FORM_ADD_RIGHT:
    case FORM_ADD_LEFT:
        call->first = scalar(type, at);
        call->second = scalar(type, at + size);
        return true;
    case FORM_COMPARE:
        memcpy(&call->which, at, sizeof call->which);
        return true;
    case FORM_COMPARE_SCALAR:
        memcpy(&call->which, at, sizeof call->which);
        call->first = scalar(type, at + size);
        return true;
    default:
        return false;
    }
}

/* ---- arithmetic ---- */

/* x + alpha y: the device may round once or twice, so the product has to fit. */
static bool add(char type, double x, double alpha, double y, double *value)
{
    double product = alpha * y, sum = x + product;
    if (type == 'f' && (double)(float)product != product)
        return false;
    if (type == 'd' && alpha != 1 && alpha != -1)
        return false;
    *value = sum;
    /* What a double rounds a float's sum would round again. */
    return type == 'd' || sum - x == product;
}

static bool operate(const struct real_call *call, double x, double y, double *value)
{
    switch (call->kernel->op) {
    case OP_EQUAL:
        *value = (x == y) == (call->which == 0);
        return true;
    case OP_MULTIPLY:
        *value = x * y;
        return true;
    case OP_DIVIDE_REAL:
        *value = x / y;
        return y != 0;
    case OP_UP:
        *value = ceil(x);
        return true;
    case OP_DOWN:
        *value = floor(x);
        return true;
    case OP_NEAREST:
        *value = nearbyint(x);
        return true;
    case OP_TOWARDS_ZERO:
        *value = trunc(x);
        return true;
    case OP_NEGATE:
        *value = -x;
        return true;
    default:
        return false;
    }
}

static bool compare(int32_t which, double x, double y)
{
    const bool answers[] = {x >= y, x > y, x <= y, x < y};
    return answers[which & 3];
}

static bool apply(const struct real_call *call, const double *in, double *value)
{
    const struct kernel *kernel = call->kernel;
    char type = kernel->input[0];
    switch (kernel->form) {
    case FORM_FILL:
        *value = call->first;
        return true;
    case FORM_COPY:
        *value = in[0];
        return true;
    case FORM_UNARY:
        return operate(call, in[0], 0, value);
    case FORM_BINARY:
        return operate(call, in[0], in[1], value);
    case FORM_SCALAR_LEFT:
        return operate(call, call->first, in[0], value);
    case FORM_SCALAR_RIGHT:
        return operate(call, in[0], call->first, value);
    case FORM_ADD:
        return add(type, in[0], call->second, in[1], value);
    case FORM_ADD_RIGHT:
        return add(type, in[0], call->second, call->first, value);
    case FORM_ADD_LEFT:
        return add(type, call->first, call->second, in[0], value);
    case FORM_COMPARE:
        *value = compare(call->which, in[0], in[1]);
        return true;
    case FORM_COMPARE_SCALAR:
        *value = compare(call->which, in[0], call->first);
        return true;
    default:
        return false;
    }
}

bool real_element(const struct real_call *call, const char *types, const uint8_t *const *in,
                  uint8_t *out)
{
    const struct kernel *kernel = call->kernel;
    double values[KERNEL_INPUTS] = {0}, value = 0;
    for (uint32_t k = 0; k < kernel->inputs; k++)
        if (!real_load(types[k + 1], in[k], &values[k]) || !convert(kernel->input[k], &values[k]))
            return false;
    if (!apply(call, values, &value) || !convert(kernel->output, &value) ||
        !convert(types[0], &value))
        return false;
    store(types[0], out, value);
    return true;
}

/* What counts begins with 0 or 1, and a mask is filled with minus infinity: of other fills nothing
 * follows but what is not known, such as the factor by which a loss is scaled. */
uint64_t real_most(const struct real_call *call)
{
    const struct kernel *kernel = call->kernel;
    if (kernel->form == FORM_FILL)
        return call->first == 0 || call->first == 1 ? 1 : isinf(call->first) ? REALS_MASK : 0;
    return kernel->op == OP_EQUAL ? REALS_MASK : REALS_MOST;
}

bool real_compute(const struct real_call *call, const struct offsets *offsets, const char *types,
                  uint64_t count, const struct piece *in, uint8_t *out)
{
    const struct kernel *kernel = call->kernel;
    struct offsets_walk places;
    offsets_begin(offsets, &places);
    for (uint64_t i = 0; i < count; i++, offsets_next(&places)) {
        const uint8_t *from[KERNEL_INPUTS] = {0};
        for (uint32_t k = 0; k < kernel->inputs; k++)
            from[k] = in[k].bytes + places.at[k + 1];
        if (!real_element(call, types, from, out + places.at[0]))
            return false;
    }
    return true;
}

/* In which order the device adds is not known: each sum on the way has to fit. */
bool real_reduce(enum kernel_op op, char type, const uint8_t *from, const struct offsets *offsets,
                 uint64_t count, float factor, uint8_t *result)
{
    double value = 0, size = 0;
    for (uint64_t i = 0; i < count; i++) {
        double one;
        if (!real_load(type, from + offsets_of(offsets, i, 0), &one))
            return false;
        size += fabs(one);
        if (op == OP_SUM || op == OP_MEAN)
            value += one == trunc(one) ? one : NAN;
        else if (op == OP_LARGEST)
            value = i == 0 || one > value ? one : value;
        else if (op == OP_SMALLEST)
            value = i == 0 || one < value ? one : value;
        else
            return false;
    }
    bool adds = op == OP_SUM || op == OP_MEAN;
    if (isnan(value) || (adds && size > (type == 'f' ? 16777216.0 : WHOLE_MOST)))
        return false;
    if (op == OP_MEAN && type == 'f')
        value = (double)((float)value * factor);
    else if (op == OP_MEAN)
        return false;
    store(type, result, value);
    return true;
}
