/*
 * tidemark rehearse: `record` on a machine without a GPU. The program, PyTorch's CUDA build under
 * it and its allocator are the real ones; stand-ins for CUDA's libraries give out addresses of a
 * card that a profile describes, and compute nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "error.h"
#include "guest_path.h"
#include "human.h"
#include "log.h"
#include "mem.h"
#include "profile.h"
#include "record_call.h"
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
    struct record_call_plan plan;
    struct settings settings;
    struct record_rehearsal rehearsal;
    char text[SETTINGS_TEXT_MAX], gpu[160];
    char library[PATH_MAX], folder[PATH_MAX];
};

/* ---- --gpu list ---- */

static const struct emit_column gpu_columns[] = {
    {"name", NULL, EMIT_TEXT, 0},
    {"title", "the driver's name", EMIT_TEXT, 0},
    {"capability", "cc", EMIT_TEXT, 0},
    {"memory_bytes", "memory", EMIT_BYTES, 0},
    {"multiprocessors", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"source", NULL, EMIT_TEXT, EMIT_PROGRAMS},
};

static int list_gpus(void)
{
    struct emit emit;
    struct profile gpu;
    char capability[16];
    emit_begin(&emit, EMIT_TABLE, false, "rehearse", NULL);
    EMIT_SECTION(&emit, "gpus", NULL, EMIT_ROWS, gpu_columns);
    for (size_t i = 0; profile_at(i, &gpu); i++) {
        snprintf(capability, sizeof capability, "%d.%d", gpu.capability->major,
                 gpu.capability->minor);
        emit_text(&emit, gpu.name);
        emit_text(&emit, gpu.title);
        emit_text(&emit, capability);
        emit_int(&emit, (int64_t)gpu.memory);
        emit_int(&emit, gpu.sms);
        emit_text(&emit, gpu.from);
    }
    emit_close(&emit);
    emit_line(&emit, "cc: compute capability. Any other GPU: --gpu cc=8.0,memory=40GiB,sms=108");
    return emit_finish(&emit, stdout) == 0 ? EXIT_FINE : EXIT_INTERNAL;
}

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

static int plan_rehearsal(struct rehearse_plan *plan)
{
    if (!plan->plan.record.guest ||
        guest_path_rehearsal(plan->plan.guest, plan->library, plan->folder, PATH_MAX) != BASE_OK) {
        log_say(LOG_ERROR, "this installation has no libraries for a rehearsal");
        return EXIT_INPUT;
    }
    if (!settings_write(&plan->settings, plan->text, sizeof plan->text))
        return EXIT_INTERNAL;
    describe(&plan->settings, plan->gpu, sizeof plan->gpu);
    plan->rehearsal = (struct record_rehearsal){.variable = SETTINGS_ENV,
                                                .settings = plan->text,
                                                .library = plan->library,
                                                .folder = plan->folder,
                                                .gpu = plan->gpu};
    plan->plan.record.rehearsal = &plan->rehearsal;
    return 0;
}

static bool is_list(int argc, char *const *argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--gpu=list") == 0 ||
            (strcmp(argv[i], "--gpu") == 0 && i + 1 < argc && strcmp(argv[i + 1], "list") == 0))
            return true;
        else if (argv[i][0] != '-' || strcmp(argv[i], "--") == 0)
            return false;
    return false;
}

static int rehearse(const struct command_call *call, const struct rehearse_command *options,
                    char *const *arguments)
{
    static struct rehearse_plan plan;
    int code = read_settings(call->command, options, &plan.settings);
    if (code)
        return code;
    if (!record_call_prepare(call->command, &options->call, arguments, &plan.plan))
        return EXIT_USAGE;
    code = plan_rehearsal(&plan);
    if (!code && !rehearse_program_can(arguments[0], plan.library))
        code = EXIT_INPUT;
    return code ? code : record_call_run(&options->call, &plan.plan);
}

static int cmd_rehearse(const struct command_call *call)
{
    struct rehearse_command options = {.gpus = 1};
    char **arguments;
    int count, code;
    if (is_list(call->argc, call->argv))
        return list_gpus();
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
    {"gpus", 0, OPT_INT, AT(gpus), "N", "so many of them (1)", NULL, 0},
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
    .records = true,
    .runs_program = true,
    .least = 1,
    .most = -1,
    .description =
        "Runs COMMAND as 'tidemark record' does, on stand-ins for CUDA's libraries: the program, "
        "PyTorch's CUDA build and its allocator are the real ones, device memory is address space "
        "of a GPU's size, and nothing is computed. Requests, segments and out-of-memory errors "
        "come as on that GPU; values read from it are zero.",
    .examples =
        {
            {"tidemark rehearse --gpu a100-40gb -- python3 train.py", "then: tidemark peak"},
            {"tidemark rehearse --gpu a100-40gb --steps 3 -- python3 train.py",
             "three steps are enough for most trainings"},
            {"tidemark rehearse -g t4 --gpus 2 -- torchrun --nproc-per-node 2 ddp.py",
             "two ranks, each with its own GPU"},
        },
};
