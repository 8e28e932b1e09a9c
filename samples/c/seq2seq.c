/*
 * seq2seq - a training loop with a known memory story, told through tidemark.h: no GPU, no real
 * memory, only the addresses and sizes that the tensors of the model would have. README.md shows
 * what it prints and what the same loop printed on a GPU.
 *
 *     tidemark record -o seq2seq.db -- seq2seq
 *     tidemark phases seq2seq.db
 *
 * heap.c hands out addresses, tensor.c counts their holders, tape.c is the autograd, ops.c the
 * operations, forward.c and model.c the model. Without a recorder it runs the same, and prints its
 * own count.
 */
#include "model.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE_ERROR = 2 };

struct options {
    struct dimensions size;
    uint64_t steps, limit;
    bool drop_logits, csv, help;
};

struct number_option {
    const char *name, *help;
    uint64_t most;
    size_t offset;
};

#define NUMBER(name, help, most, field)                                                            \
    {                                                                                              \
        name, help, (uint64_t)(most), offsetof(struct options, field)                              \
    }

/* The limits keep every product of dimensions, and the sum of all tensors, below 2^62. */
static const struct number_option numbers[] = {
    NUMBER("batch", "sequences in a batch", 1 << 14, size.batch),
    NUMBER("length", "tokens in a sequence", 1 << 12, size.length),
    NUMBER("vocab", "words", 1 << 24, size.vocab),
    NUMBER("input", "size of an embedded word", 1 << 16, size.input),
    NUMBER("hidden", "size of a GRU's state", 1 << 16, size.hidden),
    NUMBER("attention", "size of the attention", 1 << 16, size.attention),
    NUMBER("steps", "training steps", 1000000, steps),
};

enum {
    NUMBERS = sizeof numbers / sizeof *numbers,
    OPTION_CSV = 100,
    OPTION_LIMIT,
    OPTION_DROP,
    OPTION_HELP
};

static const struct options defaults = {
    .size = {.batch = 80,
             .length = 50,
             .vocab = 30000,
             .input = 500,
             .hidden = 1000,
             .attention = 1000},
    .steps = 3,
};

static uint64_t *field(struct options *options, const struct number_option *option)
{
    return (uint64_t *)(void *)((char *)options + option->offset);
}

static void print_help(void)
{
    struct options options = defaults;
    puts("usage: seq2seq [--NAME=NUMBER ...] [--csv]\n"
         "Reports the tensors of a sequence-to-sequence training loop to Tidemark.\n");
    for (unsigned i = 0; i < NUMBERS; i++)
        printf("  --%-10s %-26s (1 to %" PRIu64 ", default %" PRIu64 ")\n", numbers[i].name,
               numbers[i].help, numbers[i].most, *field(&options, &numbers[i]));
    puts("  --limit      bytes that may be taken from the device, as 4GiB (default: all)\n"
         "  --drop-logits  let go of the logits before backward\n"
         "  --csv        bytes, with commas between\n"
         "  --help       this text");
}

static bool parse_number(const char *text, const struct number_option *option, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < 1 || number > option->most) {
        fprintf(stderr, "seq2seq: --%s needs a number from 1 to %" PRIu64 ", not '%s'\n",
                option->name, option->most, text);
        return false;
    }
    *value = number;
    return true;
}

static bool parse_limit(const char *text, uint64_t *bytes)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = strcmp(end, "GiB") == 0 ? 30 : strcmp(end, "MiB") == 0 ? 20 : 0;
    if (*text < '0' || *text > '9' || (*end && !shift) || errno ||
        number > UINT64_MAX >> 20 >> shift) {
        fprintf(stderr, "seq2seq: --limit needs a size such as 4GiB, not '%s'\n", text);
        return false;
    }
    *bytes = (uint64_t)number << shift;
    return true;
}

static bool parse_option(int which, struct options *options)
{
    if (which == OPTION_CSV)
        options->csv = true;
    else if (which == OPTION_HELP)
        options->help = true;
    else if (which == OPTION_DROP)
        options->drop_logits = true;
    else if (which == OPTION_LIMIT)
        return parse_limit(optarg, &options->limit);
    else if (which < 1 || which > NUMBERS)
        return false;
    else
        return parse_number(optarg, &numbers[which - 1], field(options, &numbers[which - 1]));
    return true;
}

/* False on wrong usage, after saying what is wrong. */
static bool parse_options(int argc, char **argv, struct options *options)
{
    struct option table[NUMBERS + 5] = {{0}};
    for (int i = 0; i < NUMBERS; i++)
        table[i] = (struct option){numbers[i].name, required_argument, NULL, i + 1};
    table[NUMBERS] = (struct option){"csv", no_argument, NULL, OPTION_CSV};
    table[NUMBERS + 1] = (struct option){"limit", required_argument, NULL, OPTION_LIMIT};
    table[NUMBERS + 2] = (struct option){"drop-logits", no_argument, NULL, OPTION_DROP};
    table[NUMBERS + 3] = (struct option){"help", no_argument, NULL, OPTION_HELP};
    *options = defaults;
    int which;
    while ((which = getopt_long(argc, argv, "", table, NULL)) != -1)
        if (!parse_option(which, options))
            return false;
    if (optind < argc)
        fprintf(stderr, "seq2seq: unexpected argument '%s'\n", argv[optind]);
    return optind == argc;
}

static void print_title(const struct options *options)
{
    if (options->csv)
        puts("step,phase,allocated,max_allocated,reserved,max_reserved,unsplit");
    else
        puts("step  phase      allocated  max allocated  reserved  max reserved  (MiB)");
}

/* `step` is empty before the first one. */
static void print_row(const struct options *options, const char *step, const char *phase,
                      const struct heap *heap)
{
    const uint64_t values[] = {heap->allocated, heap->max_allocated, heap->reserved,
                               heap->max_reserved, heap->unsplit};
    const int widths[] = {11, 14, 9, 13};
    if (options->csv) {
        printf("%s,%s", step, phase);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            printf(",%" PRIu64, values[i]);
    } else {
        printf("%4s  %-9s", step, phase);
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
            printf(" %*.1f", widths[i], (double)values[i] / (1 << 20));
    }
    putchar('\n');
}

static const struct {
    const char *name;
    void (*work)(struct model *model);
} phases[] = {
    {"zero_grad", model_zero_grad}, {"forward", model_forward},     {"loss", model_loss},
    {"backward", model_backward},   {"optimizer", model_optimizer},
};

static void train_step(struct model *model, const struct options *options, uint64_t number)
{
    char step[24];
    snprintf(step, sizeof step, "%" PRIu64, number);
    tidemark_step_begin(number);
    model_next_batch(model);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        tidemark_phase_begin(phases[i].name);
        phases[i].work(model);
        if (options->drop_logits && phases[i].work == model_loss)
            model_drop_logits(model);
        tidemark_phase_end(phases[i].name);
        print_row(options, step, phases[i].name, model->heap);
    }
}

static void train(const struct options *options)
{
    struct heap heap;
    struct model model;
    heap_open(&heap, "tensors");
    heap_limit(&heap, options->limit);
    print_title(options);
    tidemark_phase_begin("beginning");
    model_build(&model, &heap, &options->size);
    tidemark_phase_end("beginning");
    print_row(options, "", "beginning", &heap);
    for (uint64_t i = 0; i < options->steps; i++)
        train_step(&model, options, i);
    tidemark_step_end();
    model_close(&model);
    heap_close(&heap);
}

int main(int argc, char **argv)
{
    struct options options;
    if (!parse_options(argc, argv, &options)) {
        fputs("try 'seq2seq --help'\n", stderr);
        return USAGE_ERROR;
    }
    if (options.help)
        print_help();
    else
        train(&options);
    if (fflush(stdout) || ferror(stdout)) {
        perror("seq2seq: stdout");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
