/* kernel_shape.c - see kernel_shape.h. */
#include "kernel_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTS_MOST 5u
#define OUTPUTS_MOST 8u

/* The text behind `what` in the name; NULL: it is not there. */
static const char *behind(const char *name, const char *what)
{
    const char *at = strstr(name, what);
    return at ? at + strlen(what) : NULL;
}

/* A type of the template, with its bytes: a letter, one of c10's, or one that is only bytes.
 * Returns what stands behind it; NULL: it is another one. */
static const char *read_type(const char *at, char *letter, uint32_t *bytes)
{
    static const struct {
        const char *text;
        uint32_t bytes;
    } others[] = {{"f", 4}, {"d", 8}, {"N3c104HalfE", 2}, {"N3c108BFloat16E", 2}};
    *letter = 0;
    *bytes = at ? kernel_type_bytes(*at) : 0;
    if (*bytes) {
        *letter = *at;
        return at + 1;
    }
    for (size_t i = 0; at && i < sizeof others / sizeof *others; i++) {
        *bytes = others[i].bytes;
        if (strncmp(at, others[i].text, strlen(others[i].text)) == 0)
            return at + strlen(others[i].text);
    }
    *bytes = 0;
    const char *opaque = at ? behind(at, "10OpaqueTypeIL") : NULL;
    if (!opaque || opaque > at + 40)
        return NULL;
    *bytes = (uint32_t)strtoul(opaque + 1, NULL, 10); /* "i8EE", "j8EE" */
    const char *end = strstr(opaque, "EEE");
    return end ? end + 3 : NULL;
}

/* The numbers that follow: "Li2ELi128E". Returns what stands behind them. */
static const char *read_numbers(const char *at, uint32_t *numbers, uint32_t most)
{
    for (uint32_t i = 0; i < most; i++)
        numbers[i] = 0;
    for (uint32_t i = 0; at && i < most && strncmp(at, "Li", 2) == 0; i++) {
        char *end;
        at += 2 + (at[2] == 'n'); /* n: negative */
        numbers[i] = (uint32_t)strtoul(at, &end, 10);
        at = *end == 'E' ? end + 1 : NULL;
    }
    return at;
}

/* <element, counted in, dimensions, batch, strides of each or of none, alignment, elements at once>
 */
static void of_join(const char *name, struct kernel *kernel)
{
    uint32_t numbers[5];
    char letter;
    const char *at = strstr(name, "CatArrayBatchedCopy");
    at = at ? strchr(at, 'I') : NULL;
    at = at ? read_type(at + 1, &letter, &kernel->bytes) : NULL;
    if (!at || *at != 'j' || !read_numbers(at + 1, numbers, 5)) {
        kernel->bytes = 0;
        return;
    }
    kernel->dimensions = numbers[0];
    kernel->batch = numbers[1];
    kernel->strided = numbers[2] > 1;
    kernel->wide = strstr(name, "Copy_vectorized") ? numbers[4] : 0;
    if (strstr(name, "Copy_vectorized") && !kernel->wide)
        kernel->bytes = 0;
}

static void of_index(const char *name, struct kernel *kernel)
{
    char letter;
    kernel->puts = strstr(name, "index_put_kernel_impl") != NULL;
    const char *at = behind(name, kernel->puts ? "index_put_kernel_implI" : "index_kernel_implI");
    if (!at)
        at = behind(name, "flip_kernel_implI");
    (void)read_type(at, &letter, &kernel->bytes);
}

/* The operation is a class: TensorAssign, ReduceAdd, or one that is not computed. */
static void of_gather(const char *name, struct kernel *kernel)
{
    const char *at = behind(name, "_cuda_scatter_gather_internal_kernelILb");
    kernel->fills = !at;
    kernel->puts = kernel->fills || *at == '1';
    at = kernel->fills ? behind(name, "_cuda_scatter_fill_internal_kernelI") : at + 2;
    at = read_type(at, &kernel->output, &kernel->bytes);
    kernel->index = at && kernel_type_bytes(*at) ? *at : 'l';
    if (strstr(name, "ReduceAdd"))
        kernel->op = OP_SUM;
    else if (!strstr(name, "TensorAssign"))
        kernel->op = OP_MULTIPLY;
    if (!at)
        kernel->bytes = 0;
}

/* <element, index, counted in, ...> */
static void of_select(const char *name, struct kernel *kernel)
{
    kernel->puts = strstr(name, "LargeIndexI") != NULL;
    const char *at = behind(name, kernel->puts ? "LargeIndexI" : "SmallIndexI");
    at = read_type(at, &kernel->output, &kernel->bytes);
    if (!at || !kernel_type_bytes(at[0]) || !kernel_type_bytes(at[1])) {
        kernel->bytes = 0;
        return;
    }
    kernel->index = at[0];
    kernel->counts = at[1];
}

static void of_triangle(const char *name, struct kernel *kernel)
{
    const char *at = read_type(behind(name, "triu_tril_kernelI"), &kernel->output, &kernel->bytes);
    kernel->counts = at ? *at : 0;
    kernel->upper = at && strncmp(at + 1, "Lb1E", 4) == 0;
}

/* <output, input, counted in, ...>: without weights. */
static void of_histogram(const char *name, struct kernel *kernel)
{
    const char *at = behind(name, "kernelHistogram1DI");
    const char *weights = behind(name, "CUDA_tensor_histogramI");
    if (!at || !weights || at[2] != 'l' || strncmp(weights + 2, "Lb0E", 4) != 0)
        return;
    kernel->output = at[0];
    kernel->input[0] = at[1];
}

/* <dimensions of the keys, of the values, two of the launch, key, value, ...> */
static void of_sort(const char *name, struct kernel *kernel)
{
    uint32_t numbers[4];
    const char *at = behind(name, "SortKVInPlaceI");
    at = at ? read_numbers(at, numbers, 4) : NULL;
    if (!at)
        return;
    kernel->input[0] = kernel_type_bytes(at[0]) ? at[0] : 0;
    kernel->output = at[1];
    const char *less = behind(at, "4LTOpI"), *more = behind(at, "4GTOpI");
    const char *behind_types = less ? less : more ? more : NULL;
    kernel->upper = more != NULL;
    if (behind_types) /* "lLb1EEj": whether it looks at what is no number, then counted in */
        kernel->counts = behind_types[5] == 'E' && behind_types[6] == 'E' ? behind_types[7] : 0;
    else
        kernel->counts = at[2];
    if (behind_types && behind_types[5] == 'E' && behind_types[6] != 'E')
        kernel->counts = behind_types[6];
}

static void of_radix(const char *name, struct kernel *kernel)
{
    char letter;
    const char *at = behind(name, "10policy_hubI");
    if (!at)
        at = behind(name, "21DeviceRadixSortPolicyI"); /* before CUDA 12.8 */
    kernel->input[0] = at && kernel_type_bytes(*at) ? *at : 0;
    if (!kernel->input[0])
        return;
    kernel->upper = strstr(name, "9SortOrderE1") || strstr(name, "9Policy900ELb1E");
    if (strncmp(at + 1, "NS0_8NullType", 13) != 0 && !read_type(at + 1, &letter, &kernel->bytes))
        kernel->input[0] = 0;
}

/* The type of a number that stands with each tensor. Returns what stands behind it. */
static const char *read_number_type(const char *at, char *letter)
{
    static const char complex[] = "N3c107complexIfEE";
    bool is_float = *at == 'f' || *at == 'd';
    bool is_complex = strncmp(at, complex, sizeof complex - 1) == 0;
    *letter = is_complex ? 'l' : *at; /* as wide */
    if (!is_float && !is_complex && !kernel_type_bytes(*at))
        return NULL;
    return at + (is_complex ? sizeof complex - 1 : 1);
}

/* The structures of PyTorch's that hold lists, with how many they hold. */
static void read_lists(const char *name, struct kernel *kernel)
{
    const char *at = behind(name, "18TensorListMetadataI");
    const char *steps = behind(name, "32FusedOptimizerTensorListMetadataI");
    const char *numbers = behind(name, "28TensorListScalarListMetadataI");
    kernel->steps = steps != NULL;
    kernel->numbers = numbers != NULL;
    at = at ? at : steps;
    if (numbers)
        at = read_number_type(numbers, &kernel->number);
    if (at)
        (void)read_numbers(at, &kernel->lists, 1);
    if (kernel->lists > LISTS_MOST)
        kernel->lists = 0;
}

/* <type, lists, lists that are read, which one is written>. A fused optimizer writes any of them;
 * what a functor of another kind writes, or one with a lambda, does not only lie in its lists. */
static void of_lists(const char *name, struct kernel *kernel)
{
    static const char *const plain[] = {"BinaryOp", "PointwiseOp", "TernaryOp", "14UnaryOpFunctorI",
                                        "11CopyFunctorI"};
    uint32_t numbers[3] = {0};
    const char *at = behind(name, "FunctorI");
    bool is_plain = false;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        is_plain |= at && strstr(name, plain[i]) && !strstr(name, "EUl");
    read_lists(name, kernel);
    kernel->elsewhere = !is_plain && !strstr(name, "MathFunctorI");
    if (!is_plain)
        return;
    (void)read_numbers(strstr(at, "Li"), numbers, 3);
    if (numbers[0] != kernel->lists || numbers[2] >= kernel->lists)
        kernel->lists = 0;
    kernel->result = numbers[2] + 1;
    kernel->output = kernel_type_bytes(*at) || *at == 'f' || *at == 'd' ? *at : 0;
}

/* The letter that an address of a constant leads to: "PKl". */
static char letter_behind(const char *name, const char *what)
{
    const char *at = behind(name, what);
    return at && kernel_type_bytes(*at) ? *at : 0;
}

/* The policy is followed by the types of input and output, "PKlPl"; the operation's own is none. */
static void of_scan(const char *name, struct kernel *kernel)
{
    const char *at = behind(name, "EPK");
    if (!at || !strstr(name, "8NullType") || at[1] != 'P')
        return;
    kernel->input[0] = kernel_type_bytes(at[0]) ? at[0] : 0;
    kernel->output = kernel_type_bytes(at[2]) ? at[2] : 0;
}

void kernel_shape_of_name(const char *name, struct kernel *kernel)
{
    const char *at;
    switch (kernel->walk) {
    case WALK_SCAN:
        of_scan(name, kernel);
        break;
    case WALK_SCAN_ROWS:
        kernel->output = letter_behind(name, "scan_innermost_dimI");
        break;
    case WALK_SCAN_COLUMNS:
        kernel->output = letter_behind(name, "scan_outer_dimI");
        kernel->counts = kernel->output ? *(behind(name, "scan_outer_dimI") + 1) : 0;
        if (kernel->counts == 'S') /* of 2.6, which says no type: the operation follows */
            kernel->counts = 'j';
        break;
    case WALK_OUTPUTS:
        (void)read_numbers(behind(name, "for_multi_outputsI"), &kernel->outputs, 1);
        if (kernel->outputs > OUTPUTS_MOST)
            kernel->outputs = 0;
        break;
    case WALK_RANDOM: /* the second of two lambdas */
        kernel->strided = strstr(name, "E0_EEvlNS_15PhiloxCudaState") != NULL;
        break;
    case WALK_LISTS:
        of_lists(name, kernel);
        break;
    case WALK_JOIN:
        of_join(name, kernel);
        break;
    case WALK_INDEXED:
    case WALK_FLIP:
        of_index(name, kernel);
        break;
    case WALK_GATHERED:
        of_gather(name, kernel);
        break;
    case WALK_ROWS:
        at = behind(name, "vectorized_gather_kernelILi");
        at = at ? strchr(at, 'E') : NULL;
        kernel->index = at ? at[1] : 0;
        break;
    case WALK_SELECTED:
        of_select(name, kernel);
        break;
    case WALK_ROLL:
        (void)read_type(behind(name, "roll_cuda_kernelI"), &kernel->output, &kernel->bytes);
        break;
    case WALK_TRIANGLE:
        of_triangle(name, kernel);
        break;
    case WALK_HISTOGRAM:
        of_histogram(name, kernel);
        break;
    case WALK_REPEAT:
        kernel->index = letter_behind(name, "compute_cuda_kernelI");
        break;
    case WALK_SEARCH:
        kernel->input[0] = letter_behind(name, "searchsorted_cuda_kernelI");
        kernel->output = kernel->input[0] ? *(behind(name, "searchsorted_cuda_kernelI") + 1) : 0;
        break;
    case WALK_FLAGGED:
        kernel->input[0] = letter_behind(name, "NonZeroOpI");
        break;
    case WALK_CHANGES:
        kernel->input[0] = letter_behind(name, "adjacent_difference_kernelIPK");
        break;
    case WALK_RUNS:
    case WALK_DISTINCT:
        kernel->input[0] = letter_behind(name, "EPK");
        break;
    case WALK_SORT:
    case WALK_SORT_NETWORK:
    case WALK_SORT_RADIX:
    case WALK_TOPK:
        of_sort(name, kernel);
        if (kernel->walk == WALK_TOPK) {
            kernel->input[0] = letter_behind(name, "gatherTopKI");
            kernel->counts = kernel->input[0] ? *(behind(name, "gatherTopKI") + 1) : 0;
        }
        break;
    case WALK_RADIX_TILE:
    case WALK_RADIX_PASS:
        of_radix(name, kernel);
        break;
    default:
        break;
    }
}
