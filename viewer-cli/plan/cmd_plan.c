/*
 * tidemark plan: the largest batch, or whatever varies, that fits a GPU, found by rehearsing the
 * program with several values; or by scaling of CPU recordings where it cannot be rehearsed.
 */
#include <stddef.h>
#include <stdio.h>

#include "error.h"
#include "log.h"
#include "mem.h"
#include "plan.h"
#include "record.h"
#include "report.h"

static const char *const ways[] = {"auto", "rehearsal", "scaling", NULL};

static int exit_code(const struct plan *plan)
{
    bool found = false, open = plan->answer_count == 0 || plan->no != NULL;
    for (size_t i = 0; i < plan->answer_count; i++) {
        found = found || (plan->answers[i].state == PLAN_FOUND &&
                          !*plan_no_kernels(plan, plan->answers[i].card));
        open = open || plan->answers[i].state == PLAN_OPEN;
    }
    if (open)
        return EXIT_INPUT;
    return found ? EXIT_FINE : EXIT_CHECK_FAILED;
}

static int find(struct plan *plan)
{
    int err = 0;
    plan_try_watch();
    plan_progress_begin(plan);
    if (plan->way == PLAN_REHEARSAL)
        err = plan_find(plan);
    if (err >= 0 && plan->way == PLAN_SCALING)
        err = plan_find_scaled(plan);
    if (err >= 0)
        err = plan_print(plan);
    if (err < 0) {
        log_say(LOG_ERROR, "%s: %s", plan->command->name, base_err_text(err));
        return EXIT_INTERNAL;
    }
    return exit_code(plan);
}

static int cmd_plan(const struct command_call *call)
{
    static struct plan plan;
    struct plan_options options = {.gpus = 1, .steps = 3};
    char **arguments;
    int count, code;
    if (gpu_cards_is_list(call->argc, call->argv))
        return gpu_cards_print(call->command->name);
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    plan = (struct plan){.command = call->command, .options = &options, .arguments = arguments};
    code = plan_setup(&plan);
    if (!code)
        code = plan_make_folder(&plan);
    if (!code)
        code = find(&plan);
    plan_clear(&plan);
    mem_free(arguments);
    int number = plan_try_signal();
    if (number && code != EXIT_INTERNAL && fflush(stdout) == 0)
        record_die_by(number);
    return code;
}

#define AT(member) offsetof(struct plan_options, member)
static const struct option option_table[] = {
    {"vary", 'v', OPT_TEXTS, AT(vary), "NAME=VALUES",
     "what {NAME} stands for: 1..512; 8..512:8, every\n"
     "eighth; or a list, 1,2,4 or fp32,bf16. Several\n"
     "names, each with its own --vary, make a grid",
     NULL, 0},
    {"memory", 'm', OPT_SIZE, AT(memory), "SIZE", "of the GPU, such as 24GiB", NULL, 0},
    {"gpu", 'g', OPT_TEXT, AT(gpu), "NAME",
     "the GPU, as --gpu list names it; several: t4,l4,a10;\n"
     "all: each of them",
     NULL, 0},
    {"gpus", 0, OPT_INT, AT(gpus), "N", "N GPUs (1), for torchrun and its like", NULL, 1},
    {"reserve", 0, OPT_SIZE, AT(reserve), "SIZE", "of the memory, what stays free for others", NULL,
     0},
    {"env", 'e', OPT_TEXTS, AT(env), "NAME=VALUE",
     "a variable for the program; {NAME} in its value\nis replaced, too", NULL, 0},
    {"steps", 's', OPT_INT, AT(steps), "N",
     "of each try (3), then the program is ended;\n"
     "0: it ends by itself",
     NULL, 0},
    {"by", 0, OPT_CHOICE, AT(way), "WAY",
     "auto: by rehearsal, where that can be (the default);\n"
     "rehearsal; scaling: of recordings on the CPU",
     ways, 0},
    {"output", 'o', OPT_FILE, AT(output), "FOLDER",
     "for the recordings and what the program printed\n"
     "(plan.DATE-TIME-PID)",
     NULL, 0},
    REPORT_OPTION_FORMAT_TO(AT(format)),
    REPORT_OPTION_NO_COLOR_TO(AT(no_colour)),
    {0},
};

const struct command command_plan = {
    .name = "plan",
    .group = COMMAND_RECORD,
    .run = cmd_plan,
    .summary = "the largest batch (or other value) that fits a GPU, without one",
    .arguments = "[--] COMMAND [ARGUMENTS]",
    .options = option_table,
    .judges = true,
    .takes = TAKES_PROGRAM,
    .least = 1,
    .most = -1,
    .description =
        "Runs COMMAND with several values in the place of {NAME}, each as 'tidemark rehearse' "
        "does, and finds the largest that fits. A value fits if the program ends well and no "
        "request for memory was refused, in its first three steps or as many as --steps says. What "
        "is "
        "found was tried: in these the largest value fits, and the next one does not.\n"
        "\n"
        "Each try measures how much memory its value needs, and the next try is where that would "
        "reach the GPU's memory: some six tries find one value among a thousand. Where the "
        "first value fails by an error of the program, as a batch of one does in BatchNorm, the "
        "second one is tried. The recordings stay, and every report reads them.\n"
        "\n"
        "A Python program whose PyTorch is a CPU build cannot be rehearsed. It is recorded on the "
        "CPU with a few small values; the bytes of each call site make a polynomial, and the run "
        "with other values is replayed. The first line says which way it went.\n"
        "\n"
        "In csv and json these are the sections plan, tries and, by scaling, laws.",
    .examples =
        {
            {"tidemark plan --memory 24GiB --vary B=1..512 -- python3 train.py {B}",
             "the largest batch for 24 GiB"},
            {"tidemark plan --gpu all --vary B=1..512 -- python3 train.py {B}",
             "for each GPU that is known"},
            {"tidemark plan -g t4 -v B=1..64 -v T=256,512 -- python3 train.py {B} {T}",
             "for each of two lengths"},
        },
};
