/*
 * tidemark rehearse: `record` on a machine without a GPU. The program, PyTorch's CUDA build under
 * it and its allocator are the real ones; stand-ins for CUDA's libraries give out addresses of a
 * card that a profile describes, and compute nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "gpu_cards.h"
#include "guest_path.h"
#include "human.h"
#include "log.h"
#include "mem.h"
#include "profile.h"
#include "record_call.h"
#include "rehearse_closing.h"
#include "rehearse_program.h"
#include "settings.h"

#define GPUS_MOST 64
#define CONTEXT_UNKNOWN (-1)

struct rehearse_command {
    struct record_call call;
    const char *gpu;
    int64_t gpus;
    int64_t memory; /* 0: what the profile has */
};

/* Everything that the recorder's options point to. */
struct rehearse_plan {
    struct settings settings;
    struct record_rehearsal rehearsal;
    struct rehearse_program program;
    const char *name; /* of the GPU, as it was typed */
    char text[SETTINGS_TEXT_MAX], gpu[160];
    char library[PATH_MAX], folder[PATH_MAX];
};

/* ---- what is to be rehearsed ---- */

static int read_settings(const struct command *command, const struct rehearse_command *options,
                         struct settings *settings)
{
    char why[256];
    if (!options->gpu)
        return command_misused(command, "needs --gpu NAME; '--gpu list' shows the names");
    *settings = (struct settings){.devices = (int32_t)options->gpus};
    if (profile_read(options->gpu, &settings->gpu, why, sizeof why) != BASE_OK)
        return command_misused(command, "--gpu: %s", why);
    if (options->gpus < 1 || options->gpus > GPUS_MOST)
        return command_misused(command, "--gpus is a number from 1 to %d", GPUS_MOST);
    if (options->memory)
        settings->gpu.memory = (uint64_t)options->memory;
    return 0;
}

/* "2 x NVIDIA A100-SXM4-40GB, 39.4 GiB, capability 8.0" */
static void describe(const struct settings *settings, char *text, size_t room)
{
    char memory[HUMAN_MAX], count[16] = "";
    const struct profile *gpu = &settings->gpu;
    if (settings->devices > 1)
        snprintf(count, sizeof count, "%d x ", settings->devices);
    snprintf(text, room, "%s%s, %s, capability %d.%d", count, gpu->title,
             human_bytes(memory, (int64_t)gpu->memory), gpu->capability->major,
             gpu->capability->minor);
}

/* The driver's stand-in is preloaded, and tried before; NVML's is found by its name. */
static bool find_libraries(struct rehearse_plan *plan, const struct record_call *call)
{
    char nvml[PATH_MAX + 32];
    const char *missing = NULL;
    if (!call->record.guest)
        missing = "libtidemark.so";
    else if (guest_path_rehearsal(call->guest, plan->library, plan->folder, PATH_MAX) != BASE_OK)
        missing = *plan->library ? plan->library : "rehearsal/libcuda.so.1";
    snprintf(nvml, sizeof nvml, "%s/libnvidia-ml.so.1", plan->folder);
    if (!missing && access(nvml, R_OK) != 0)
        missing = nvml;
    if (missing)
        log_say(LOG_ERROR,
                "cannot rehearse: this installation has no %s that can be read: install Tidemark "
                "again",
                missing);
    return !missing;
}

static int plan_rehearsal(struct rehearse_plan *plan, struct record_call *call)
{
    if (!find_libraries(plan, call))
        return EXIT_INPUT;
    if (!settings_write(&plan->settings, plan->text, sizeof plan->text))
        return EXIT_INTERNAL;
    describe(&plan->settings, plan->gpu, sizeof plan->gpu);
    plan->rehearsal =
        (struct record_rehearsal){.variable = SETTINGS_ENV,
                                  .settings = plan->text,
                                  .library = plan->library,
                                  .folder = plan->folder,
                                  .gpu = plan->gpu,
                                  .memory = plan->settings.gpu.memory,
                                  .context = plan->settings.gpu.context,
                                  .context_measured = plan->settings.gpu.context_measured,
                                  .context_from = plan->settings.gpu.context_from};
    call->record.rehearsal = &plan->rehearsal;
    return 0;
}

static void close_rehearsal(void *context, const struct record_result *result)
{
    const struct rehearse_plan *plan = context;
    struct buf line = {0};
    const struct rehearse_closing closing = {.path = buf_string(&result->summary.file),
                                             .gpu = plan->name,
                                             .profile = &plan->settings.gpu,
                                             .no_kernels = *plan->program.no_kernels,
                                             .exit_code = result->exit_code,
                                             .signal = result->signal};
    rehearse_closing_put(&closing, &line);
    fputs(buf_string(&line), stderr);
    buf_clear(&line);
}

static int rehearse(const struct command_call *call, struct rehearse_command *options,
                    char *const *arguments)
{
    static struct rehearse_plan plan;
    int code = read_settings(call->command, options, &plan.settings);
    if (code)
        return code;
    if (!record_call_prepare(call->command, &options->call, arguments))
        return EXIT_USAGE;
    code = plan_rehearsal(&plan, &options->call);
    if (!code &&
        !rehearse_program_can(arguments[0], plan.library, &plan.settings.gpu, &plan.program))
        code = EXIT_INPUT;
    plan.rehearsal.targets = plan.program.targets;
    plan.rehearsal.no_kernels = plan.program.no_kernels;
    plan.name = options->gpu;
    options->call.closing = close_rehearsal;
    options->call.context = &plan;
    return code ? code : record_call_run(&options->call);
}

static int cmd_rehearse(const struct command_call *call)
{
    struct rehearse_command options = {.gpus = 1};
    char **arguments;
    int count, code;
    if (gpu_cards_is_list(call->argc, call->argv))
        return gpu_cards_print(call->command->name);
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = rehearse(call, &options, arguments);
    mem_free(arguments);
    return code;
}

#define AT(member) offsetof(struct rehearse_command, member)
static const struct option option_table[] = {
    {"gpu", 'g', OPT_TEXT, AT(gpu), "NAME",
     "the GPU to stand in for, such as a100-80gb; list: show\n"
     "the names; or its parts: cc=8.0,memory=40GiB",
     NULL, 0},
    {"gpus", 0, OPT_INT, AT(gpus), "N", "N GPUs (1)", NULL, 0},
    {"memory", 'm', OPT_SIZE, AT(memory), "SIZE", "of each GPU, instead of what the profile says",
     NULL, 0},
    {0},
};

const struct command command_rehearse = {
    .name = "rehearse",
    .group = COMMAND_RECORD,
    .run = cmd_rehearse,
    .summary = "record a CUDA program on a machine without a GPU",
    .arguments = "[--] COMMAND [ARGUMENTS]",
    .options = option_table,
    .shared = &record_call_shared,
    .takes = TAKES_PROGRAM,
    .least = 1,
    .most = -1,
    .description =
        "Runs COMMAND as 'tidemark record' does, on stand-ins for CUDA's libraries: the program, "
        "PyTorch's CUDA build and its allocator are the real ones, device memory is address space "
        "of a GPU's size, and nothing is computed. Requests, segments and out-of-memory errors "
        "come as on that GPU; values read from it are zero.\n"
        "\n"
        "The first lines of each report say what that means for its figures. 'modelled' is the "
        "CUDA context, which is in no block: measured on such a GPU, or computed by a "
        "rule. A size that 'came from a value that is not computed' is 0 in the recording, and of "
        "any size on a GPU: a mask that is counted, experts that are chosen. A library's size that "
        "is 'not known', such as a convolution's workspace, is more than 0 on a GPU; one that is "
        "'modelled', such as an RNN's, is in the figures, by a formula. A number that was "
        "read and not computed is 0 for the program: where a test or a loop depends on it, the "
        "program may go another way than on a GPU.",
    .examples =
        {
            {"tidemark rehearse --gpu a100-40gb -- python3 train.py", "then: tidemark peak"},
            {"tidemark rehearse --gpu a100-40gb --steps 3 -- python3 train.py",
             "three steps are enough for most trainings"},
            {"tidemark rehearse -g t4 --gpus 2 -- torchrun --nproc-per-node 2 ddp.py",
             "two ranks, each with its own GPU"},
        },
};
