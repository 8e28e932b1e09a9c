#include "sim.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE_ERROR = 2, OPTIONS_MOST = 24, HELP = OPTIONS_MOST };

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

void *sim_memory(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        perror("no memory");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ---- options ---- */

/* How many bytes the unit behind a number stands for; 0 = no unit of ours. */
static uint64_t unit_of(const char *text)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text, units[i].name) == 0)
            return units[i].bytes;
    return 0;
}

static bool parse_number(const struct sim_option *option, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    uint64_t unit = option->bytes ? unit_of(end) : *end == '\0';
    if (*text < '0' || *text > '9' || errno || !unit || number > option->most / unit ||
        number * unit < option->least)
        return false;
    *option->value = number * unit;
    return true;
}

static void print_help(const char *program, const char *about, const struct sim_option *options,
                       size_t option_count, const struct sim_flag *flags, size_t flag_count)
{
    printf("usage: %s [--NAME=NUMBER ...] [--NAME ...]\n%s\n\n", program, about);
    for (size_t i = 0; i < option_count; i++)
        printf("  --%-12s %s (%" PRIu64 " to %" PRIu64 "%s, default %" PRIu64 ")\n",
               options[i].name, options[i].help, options[i].least, options[i].most,
               options[i].bytes ? " bytes, or as 512MiB" : "", *options[i].value);
    for (size_t i = 0; i < flag_count; i++)
        printf("  --%-12s %s\n", flags[i].name, flags[i].help);
    printf("  --%-12s this text\n", "help");
}

_Noreturn static void wrong_usage(const char *program)
{
    fprintf(stderr, "try '%s --help'\n", program);
    exit(USAGE_ERROR);
}

void sim_options(int argc, char **argv, const char *about, const struct sim_option *options,
                 size_t option_count, const struct sim_flag *flags, size_t flag_count)
{
    struct option table[OPTIONS_MOST + 1] = {{0}};
    const char *slash = strrchr(argv[0], '/'), *program = slash ? slash + 1 : argv[0];
    size_t count = 0;
    for (size_t i = 0; i < option_count; i++, count++)
        table[count] = (struct option){options[i].name, required_argument, NULL, (int)count};
    for (size_t i = 0; i < flag_count; i++, count++)
        table[count] = (struct option){flags[i].name, no_argument, NULL, (int)count};
    table[count] = (struct option){"help", no_argument, NULL, HELP};
    int which;
    while ((which = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (which == HELP) {
            print_help(program, about, options, option_count, flags, flag_count);
            exit(EXIT_SUCCESS);
        }
        if (which < 0 || (size_t)which >= count)
            wrong_usage(program);
        size_t at = (size_t)which;
        if (at >= option_count) {
            *flags[at - option_count].value = true;
        } else if (!parse_number(&options[at], optarg)) {
            fprintf(stderr, "%s: --%s: not a number that it takes: '%s'\n", program,
                    options[at].name, optarg);
            wrong_usage(program);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: unexpected argument '%s'\n", program, argv[optind]);
        wrong_usage(program);
    }
}

/* ---- the device ---- */

void sim_open(struct sim *sim, const char *program, uint64_t limit)
{
    char why[256] = "";
    struct tidemark_allocator_desc desc = {.size = sizeof desc,
                                           .device_kind = TIDEMARK_DEVICE_VIRTUAL,
                                           .limit = limit,
                                           .config = getenv("PYTORCH_CUDA_ALLOC_CONF"),
                                           .name = "tensors",
                                           .why = why,
                                           .why_size = sizeof why};
    *sim = (struct sim){.program = program};
    int result = tidemark_allocator_new(&sim->allocator, &desc);
    if (result == TIDEMARK_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", program, tidemark_result_text(result), why);
    exit(result == TIDEMARK_BAD_ARGUMENT ? USAGE_ERROR : EXIT_FAILURE);
}

int sim_close(struct sim *sim)
{
    tidemark_step_end();
    tidemark_allocator_delete(sim->allocator);
    sim->allocator = NULL;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_SUCCESS;
    perror("stdout");
    return EXIT_FAILURE;
}

struct tidemark_allocator_stats sim_stats(const struct sim *sim)
{
    struct tidemark_allocator_stats stats = {.size = sizeof stats};
    tidemark_allocator_get_stats(sim->allocator, &stats);
    return stats;
}

/* ---- tensors ---- */

void sim_new_at(struct sim *sim, struct tensor *tensor, uint64_t bytes, tidemark_site_t site)
{
    struct tidemark_refusal refusal = {.size = sizeof refusal};
    struct tidemark_request request = {
        .size = sizeof request, .site = site, .bytes = bytes, .refusal = &refusal};
    tensor->bytes = bytes;
    int result = tidemark_allocator_malloc(sim->allocator, &request, &tensor->address);
    if (result == TIDEMARK_OK)
        return;
    fflush(stdout);
    if (result == TIDEMARK_NO_MEMORY)
        fprintf(stderr,
                "%s: out of memory: tried to allocate %.1f MiB; %.1f MiB are allocated, %.1f MiB "
                "are reserved, the limit is %.1f MiB\n",
                sim->program, mib(refusal.segment_size), mib(refusal.allocated),
                mib(refusal.reserved), mib(refusal.limit));
    else
        fprintf(stderr, "%s: %s\n", sim->program, tidemark_result_text(result));
    tidemark_allocator_delete(sim->allocator);
    exit(EXIT_FAILURE);
}

void sim_drop(struct sim *sim, struct tensor *tensor)
{
    tidemark_allocator_free(sim->allocator, tensor->address);
    *tensor = (struct tensor){0};
}

void sim_tag(struct sim *sim, const struct tensor *tensor, enum tidemark_category category,
             const char *name)
{
    tidemark_tag(tidemark_allocator_heap(sim->allocator, 0), tensor->address, tensor->bytes,
                 category, name);
}

/* ---- phases, and what is printed ---- */

void sim_title(const struct sim *sim)
{
    if (sim->csv)
        puts("step,phase,allocated,max_allocated,reserved,max_reserved");
    else
        puts("simulated: no GPU and no memory, only what would be asked for\n"
             "step  phase      allocated  max allocated  reserved  max reserved  (MiB)");
}

void sim_row(const struct sim *sim, const char *phase)
{
    struct tidemark_allocator_stats stats = sim_stats(sim);
    const uint64_t values[] = {stats.allocated_bytes.current, stats.allocated_bytes.peak,
                               stats.reserved_bytes.current, stats.reserved_bytes.peak};
    const int widths[] = {11, 14, 9, 13};
    printf(sim->csv ? "%s,%s" : "%4s  %-9s", sim->step, phase);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (sim->csv)
            printf(",%" PRIu64, values[i]);
        else
            printf(" %*.1f", widths[i], mib(values[i]));
    }
    putchar('\n');
}

void sim_step(struct sim *sim, uint64_t number)
{
    snprintf(sim->step, sizeof sim->step, "%" PRIu64, number);
    tidemark_step_begin(number);
}

void sim_phase(const char *name, void (*work)(void *self), void *self)
{
    tidemark_phase_begin(name);
    work(self);
    tidemark_phase_end(name);
}

void sim_part(const struct sim *sim, const char *name, void (*work)(void *self), void *self)
{
    sim_phase(name, work, self);
    sim_row(sim, name);
}

void sim_train(struct sim *sim, uint64_t step, const struct sim_part *parts, size_t count,
               void *self)
{
    sim_step(sim, step);
    for (size_t i = 0; i < count; i++)
        sim_part(sim, parts[i].name, parts[i].work, self);
}
