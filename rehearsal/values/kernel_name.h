/*
 * kernel_name.h - what a kernel of PyTorch does, by its name. A kernel is registered under its
 * mangled C++ name, in which its template stands with the operation and the types: enough to know
 * how its arguments lie. The names are those of PyTorch 2.6 and 2.14; what another version calls
 * otherwise is a kernel that is not known, and computes nothing.
 */
#ifndef TIDEMARK_REHEARSAL_KERNEL_NAME_H
#define TIDEMARK_REHEARSAL_KERNEL_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* How a kernel walks over its operands. */
enum kernel_walk {
    WALK_UNKNOWN,   /* who knows what it writes */
    WALK_READS,     /* writes what its first argument leads to, or memory that is new */
    WALK_FLAT,      /* (count, functor, addresses): all of them contiguous */
    WALK_CAST,      /* the same with offsets, and types to convert from and to */
    WALK_STRIDED,   /* (count, {offsets, addresses, functor}) */
    WALK_INDEX,     /* (count, functor, output): of the index alone */
    WALK_OUTPUTS,   /* (count, functor, addresses): of several outputs and then of inputs */
    WALK_RANDOM,    /* (count, state, what makes them, lambda): random numbers */
    WALK_LISTS,     /* ({lists}, functor, operation, number): lists of tensors */
    WALK_REDUCE,    /* ({functor, sizes, offsets, addresses}) */
    WALK_COUNT,     /* (input, output, count): CUB's number of those that are not zero */
    WALK_SUM,       /* (input, output, count): CUB's sum of such numbers */
    WALK_SCAN,      /* (input, output, state, tile, operation, first, count): CUB's running sum */
    WALK_SCAN_ROWS, /* (output, input, rows, length of a row, ...): PyTorch's own */
    WALK_SCAN_COLUMNS,
    /* picks.c */
    WALK_INDEXED,
    WALK_GATHERED,
    WALK_ROWS,
    WALK_SELECTED,
    /* joins.c */
    WALK_JOIN,
    WALK_FLIP,
    WALK_ROLL,
    WALK_TRIANGLE,
    /* counts.c */
    WALK_HISTOGRAM,
    WALK_REPEAT,
    WALK_SEARCH,
    WALK_FLAGGED,
    WALK_UNRAVEL,
    WALK_CHANGES,
    WALK_SCATTER,
    WALK_RUNS,
    WALK_DISTINCT,
    /* sorts.c */
    WALK_SORT,
    WALK_SORT_NETWORK,
    WALK_SORT_RADIX,
    WALK_RADIX_TILE,
    WALK_RADIX_PASS,
    WALK_ROW_INDICES,
    WALK_TOPK,
    WALK_COUNT_OF
};

/* What the functor holds, and what it makes of its inputs. */
enum kernel_form {
    FORM_NONE, /* not known: what it writes is not */
    FORM_FILL,
    FORM_COPY,
    FORM_UNARY,
    FORM_BINARY,
    FORM_SCALAR_LEFT,  /* a number of its own, then the input */
    FORM_SCALAR_RIGHT, /* the input, then a number of its own */
    FORM_ADD,          /* x + alpha y */
    FORM_ADD_RIGHT,    /* x + alpha y, y and alpha its own */
    FORM_ADD_LEFT,     /* x + alpha y, x and alpha its own */
    FORM_COMPARE,      /* which comparison it is, is its own */
    FORM_COMPARE_SCALAR,
    FORM_CLAMP,
    FORM_MASKED_FILL,
    FORM_WHERE,
    FORM_RANGE /* first, step */
};

enum kernel_op {
    OP_NONE,
    OP_EQUAL, /* or not equal: the functor says which */
    OP_MULTIPLY,
    OP_AND,
    OP_OR,
    OP_XOR,
    OP_DIVIDE_DOWN,
    OP_DIVIDE,
    OP_REMAINDER,
    OP_SHIFT_LEFT,
    OP_SHIFT_RIGHT,
    OP_LARGER,
    OP_SMALLER,
    OP_NOT,
    OP_IS_ZERO,
    OP_NEGATE,
    OP_BOTH,
    OP_EITHER,
    OP_ABSOLUTE,
    /* of lists of tensors alone */
    OP_PLUS,
    OP_MINUS,
    /* of floats alone */
    OP_DIVIDE_REAL,
    OP_UP,
    OP_DOWN,
    OP_NEAREST,
    OP_TOWARDS_ZERO,
    /* reductions */
    OP_SUM,
    OP_ALL,
    OP_ANY,
    OP_LARGEST,
    OP_SMALLEST,
    OP_LARGEST_AT, /* its value and its index */
    OP_SMALLEST_AT,
    OP_AT_LARGEST, /* its index alone */
    OP_AT_SMALLEST,
    OP_RANGE_OF, /* smallest and largest */
    OP_MEAN
};

#define KERNEL_INPUTS 3

struct kernel {
    enum kernel_walk walk;
    enum kernel_form form;
    enum kernel_op op;
    bool converts, is_plain; /* WALK_CAST: its types are in its arguments; its operands are flat */
    uint32_t inputs;
    char input[KERNEL_INPUTS]; /* the types' letters of C++ ABI: l, i, b, ...; 0 where not known */
    char output;
    bool real; /* one of them is a float, 'f' or 'd' (reals.h) */
    /* Of those that bring elements (kernel_shape.h): 0 where the name does not say it. */
    uint32_t bytes;             /* of an element */
    uint32_t batch, dimensions; /* of a join, and elements that are moved at once */
    uint32_t wide;
    char index, counts; /* types of an index, and of sizes and strides */
    bool puts, fills, strided, upper;
    uint32_t outputs; /* of a kernel that has several; 0 if the name does not say it */
    /* Of lists of tensors: how many there are, 0 if the name does not say it, and which of them is
     * written, from 1; 0: any. `elsewhere`: it writes more than these. */
    uint32_t lists, result;
    bool elsewhere;
    bool numbers, steps; /* with each tensor stands a number, or the address of its step */
    bool by_address;     /* the number for all of them lies on the device */
    char number;         /* type of those that stand with the tensors */
};

/* `name` as it was registered. Integers and truth values, and floats of 32 and
 * 64 bits where `real` says so: of others the form is FORM_NONE. */
void kernel_of_name(const char *name, struct kernel *kernel);

/* Bytes of a whole number of this letter; 0: it is none. */
uint32_t kernel_type_bytes(char type);
/* Of truth values and numbers, but those of one byte: images are made of these. */
bool kernel_type_is_whole(char type);

#endif
