/* kernel_name.c - see kernel_name.h. */
#include "kernel_name.h"

#include <string.h>

#include "kernel_shape.h"

/* Where the letters of a functor's types stand: see kernels.def. */
enum types {
    TYPES_TEMPLATE,
    TYPES_ONE,
    TYPES_ONE_BOOL,
    TYPES_LAMBDA,
    TYPES_LAMBDA_FIRST,
    TYPES_LAMBDA_BOOL,
    TYPES_RANGE
};

#define LETTERS 8

static const struct {
    const char *text, *also;
    enum kernel_walk walk;
} walks[] = {
#define WALK(text, also, walk) {text, also, walk},
#define FUNCTOR(text, form, types)
#define OPERATION(text, op)
#define REDUCTION(text, op, types)
#include "kernels.def"
#undef WALK
#undef FUNCTOR
#undef OPERATION
#undef REDUCTION
};

static const struct functor {
    const char *text;
    enum kernel_form form;
    enum types types;
} functors[] = {
#define WALK(text, also, walk)
#define FUNCTOR(text, form, types) {text, form, types},
#define OPERATION(text, op)
#define REDUCTION(text, op, types)
#include "kernels.def"
#undef WALK
#undef FUNCTOR
#undef OPERATION
#undef REDUCTION
};

static const struct operation {
    const char *text;
    enum kernel_op op;
    enum types types; /* of a reduction */
} operations[] =
    {
#define WALK(text, also, walk)
#define FUNCTOR(text, form, types)
#define OPERATION(text, op) {text, op, TYPES_ONE},
#define REDUCTION(text, op, types)
#include "kernels.def"
#undef OPERATION
#undef REDUCTION
},
  reductions[] = {
#define OPERATION(text, op)
#define REDUCTION(text, op, types) {text, op, types},
#include "kernels.def"
#undef WALK
#undef FUNCTOR
#undef OPERATION
#undef REDUCTION
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Letters of built-in types in C++'s names; the program runs where these are their sizes. */
bool kernel_type_is_whole(char type)
{
    return type && strchr("bstijlmxy", type);
}

uint32_t kernel_type_bytes(char type)
{
    switch (type) {
    case 'b':
    case 'a':
    case 'h':
    case 'c':
        return 1;
    case 's':
    case 't':
        return 2;
    case 'i':
    case 'j':
        return 4;
    case 'l':
    case 'm':
    case 'x':
    case 'y':
        return 8;
    default:
        return 0;
    }
}

static bool is_number(char letter)
{
    return kernel_type_bytes(letter) || letter == 'f' || letter == 'd';
}

/* The letters of numbers that a text begins with. */
static uint32_t read_letters(const char *at, char *letters)
{
    uint32_t count = 0;
    while (count < LETTERS && is_number(at[count]))
        count++;
    memcpy(letters, at, count);
    return count;
}

/* The parameters of the first lambda that takes whole numbers and nothing else: "UllbE" has two. */
static uint32_t read_lambda(const char *name, char *letters)
{
    for (const char *at = strstr(name, "Ul"); at; at = strstr(at + 2, "Ul")) {
        uint32_t count = read_letters(at + 2, letters);
        if (at[2 + count] == 'E')
            return count;
        if (at[2] != 'v' && at[2] != 'E')
            return 0; /* of some other type: the functor's own */
    }
    return 0;
}

/* A range's functor takes an index; the type that it makes is told by which of the lambdas of the
 * dispatch it stands in: the third is of int, the fourth of long. */
static char read_range(const char *name)
{
    if (strstr(name, "UlvE2_clEvEUllE"))
        return 'l';
    return strstr(name, "UlvE1_clEvEUllE") ? 'i' : 0;
}

static uint32_t inputs_of(enum kernel_form form)
{
    switch (form) {
    case FORM_NONE:
    case FORM_FILL:
    case FORM_RANGE:
        return 0;
    case FORM_BINARY:
    case FORM_ADD:
    case FORM_COMPARE:
    case FORM_MASKED_FILL:
        return 2;
    case FORM_WHERE:
        return 3;
    default:
        return 1;
    }
}

/* The inputs' types, of `inputs` of them. False: they are not whole numbers. */
static bool read_types(const char *name, const char *behind, enum types types,
                       struct kernel *kernel)
{
    char letters[LETTERS];
    if (types == TYPES_RANGE)
        return (kernel->output = read_range(name)) != 0;
    bool lambda = types >= TYPES_LAMBDA;
    uint32_t count = lambda ? read_lambda(name, letters) : read_letters(behind, letters);
    bool each = types == TYPES_TEMPLATE || lambda;
    if (count < (each && kernel->inputs ? kernel->inputs : 1))
        return false;
    for (uint32_t i = 0; i < kernel->inputs; i++)
        kernel->input[i] = each ? letters[i] : letters[0];
    if (types == TYPES_ONE_BOOL || types == TYPES_LAMBDA_BOOL)
        kernel->output = 'b';
    else if (types == TYPES_TEMPLATE || types == TYPES_LAMBDA)
        kernel->output = letters[count - 1];
    else
        kernel->output = letters[0];
    for (uint32_t i = 0; i <= kernel->inputs; i++) {
        char letter = i < kernel->inputs ? kernel->input[i] : kernel->output;
        kernel->real |= letter == 'f' || letter == 'd';
    }
    return true;
}

/* What is computed of floats; `real` is not looked at where nothing is. */
static bool is_form_of_reals(enum kernel_form form)
{
    return form == FORM_FILL || form == FORM_COPY || form == FORM_UNARY || form == FORM_BINARY ||
           (form >= FORM_SCALAR_LEFT && form <= FORM_COMPARE_SCALAR);
}

static enum kernel_op find_operation(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        if (strstr(name, operations[i].text))
            return operations[i].op;
    return OP_NONE;
}

static bool takes_operation(enum kernel_form form)
{
    return form == FORM_UNARY || form == FORM_BINARY || form == FORM_SCALAR_LEFT ||
           form == FORM_SCALAR_RIGHT;
}

/* A functor that takes the two types of a template before what it returns. */
static void of_functor(const char *name, struct kernel *kernel)
{
    for (size_t i = 0; i < COUNT_OF(functors); i++) {
        const char *at = strstr(name, functors[i].text);
        if (!at)
            continue;
        kernel->inputs = inputs_of(functors[i].form);
        kernel->op = takes_operation(functors[i].form) ? find_operation(name) : OP_NONE;
        if ((kernel->op || !takes_operation(functors[i].form)) &&
            read_types(name, at + strlen(functors[i].text), functors[i].types, kernel))
            kernel->form = functors[i].form;
        if (kernel->real && (!is_form_of_reals(kernel->form) || kernel->walk == WALK_INDEX))
            kernel->form = FORM_NONE;
        return;
    }
}

static bool is_op_of_reals(enum kernel_op op)
{
    return op == OP_SUM || op == OP_MEAN || op == OP_LARGEST || op == OP_SMALLEST;
}

/* What it reads is the first type of the template, whatever the functor takes. */
static void of_reduction(const char *name, struct kernel *kernel)
{
    static const char reduced[] = "8ReduceOpI";
    const char *of = strstr(name, reduced);
    kernel->inputs = 1;
    for (size_t i = 0; i < COUNT_OF(reductions); i++) {
        const char *at = strstr(name, reductions[i].text);
        if (!at)
            continue;
        if (read_types(name, at + strlen(reductions[i].text), reductions[i].types, kernel))
            kernel->op = reductions[i].op;
        kernel->input[1] = kernel->input[0]; /* what is summed up in: of 2.6's any, longs */
        kernel->input[0] = of ? of[sizeof reduced - 1] : 0;
        if (!kernel_type_bytes(kernel->input[0]) && !kernel->real)
            kernel->op = OP_NONE;
        if (kernel->real && (kernel->input[0] != kernel->output || !is_op_of_reals(kernel->op)))
            kernel->op = OP_NONE;
        if (!kernel->real && kernel->op == OP_MEAN)
            kernel->op = OP_NONE;
        return;
    }
}

/* What it makes of small floats and whole numbers. */
static void of_lists(const char *name, struct kernel *kernel)
{
    bool copies = strstr(name, "14UnaryOpFunctorI") && strstr(name, "4CopyI");
    bool lists = strstr(name, "24BinaryOpListAlphaFunctorI") != NULL;
    bool one =
        strstr(name, "21BinaryOpScalarFunctorI") || strstr(name, "25BinaryOpScalarListFunctorI");
    kernel->by_address = strstr(name, "27BinaryOpScalarTensorFunctorI") != NULL;
    kernel->op = copies ? OP_NONE : find_operation(name);
    kernel->inputs = lists ? 2 : 1;
    if (!kernel->output || !kernel->result || (!copies && !kernel->op))
        return;
    if (copies &&
        strncmp(strstr(name, "4CopyI") + 6, (char[]){kernel->output, kernel->output, 0}, 2) == 0)
        kernel->form = FORM_COPY;
    else if (lists)
        kernel->form = FORM_BINARY;
    else if (one || kernel->by_address)
        kernel->form = FORM_SCALAR_RIGHT;
}

void kernel_of_name(const char *name, struct kernel *kernel)
{
    *kernel = (struct kernel){.walk = WALK_UNKNOWN};
    for (size_t i = 0; i < COUNT_OF(walks) && kernel->walk == WALK_UNKNOWN; i++)
        if (strstr(name, walks[i].text) && strstr(name, walks[i].also))
            kernel->walk = walks[i].walk;
    kernel->converts = strstr(name, "LoadWithCast") != NULL;
    kernel->is_plain = !strstr(name, "16OffsetCalculator");
    if (kernel->walk == WALK_STRIDED && !strstr(name, "gpu_kernel_impl_nocast"))
        kernel->form = FORM_NONE; /* it converts: its types are not in its name */
    else if (kernel->walk == WALK_REDUCE)
        of_reduction(name, kernel);
    else if (kernel->walk >= WALK_FLAT && kernel->walk <= WALK_INDEX)
        of_functor(name, kernel);
    else if (kernel->walk == WALK_COUNT)
        kernel->input[0] = strstr(name, "NonZeroOpI")[sizeof "NonZeroOpI" - 1];
    else
        kernel_shape_of_name(name, kernel);
    if (kernel->walk == WALK_LISTS)
        of_lists(name, kernel);
}
