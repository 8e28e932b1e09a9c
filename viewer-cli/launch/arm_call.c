/* arm_call.c - see arm_call.h. */
#include "arm_call.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "error.h"
#include "log.h"
#include "mem.h"
#include "process.h"

#define SECONDS_MOST (INT64_C(1) << 32)

static bool read_pid(const char *text, pid_t *pid)
{
    int64_t number;
    if (!option_read_int(text, &number) || number <= 0 || number > INT32_MAX)
        return false;
    *pid = (pid_t)number;
    return true;
}

/* As far as there is room: for people to know it by. */
static void read_arguments(struct arm_call *arm)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)arm->armed.pid);
    FILE *file = fopen(path, "re");
    size_t bytes = file ? fread(arm->text, 1, sizeof arm->text - 1, file) : 0;
    if (file)
        fclose(file);
    for (size_t at = 0; at < bytes && count < ARM_ARGUMENTS; at += strlen(arm->text + at) + 1)
        arm->argv[count++] = arm->text + at;
    if (count == 0)
        arm->argv[0] = "?";
}

static int arm_program(const struct command *command, struct arm_call *arm, const char *pid,
                       arm_call_find *find)
{
    struct buf why = {0};
    if (!read_pid(pid, &arm->armed.pid))
        return command_misused(command, "'%.60s' is no process id", pid);
    if (!record_call_prepare_file(command, &arm->call))
        return EXIT_USAGE;
    if (!find(&arm->armed, arm->armed.pid, &why)) {
        log_say(LOG_ERROR, "%s", buf_string(&why));
        buf_clear(&why);
        return EXIT_INPUT;
    }
    int64_t seconds = arm->seconds < SECONDS_MOST ? arm->seconds : SECONDS_MOST;
    arm->armed.for_ns = (uint64_t)seconds * NS_PER_S;
    read_arguments(arm);
    arm->call.record.argv = arm->argv;
    arm->call.record.armed = &arm->armed;
    return record_call_run(&arm->call);
}

int arm_call_run(const struct command_call *call, arm_call_find *find)
{
    static struct arm_call arm;
    char **arguments;
    int count, code;
    if (!command_parse(call, &arm, &arguments, &count, &code))
        return code;
    code = arm_program(call->command, &arm, arguments[0], find);
    mem_free(arguments);
    return code;
}

#define AT(member) offsetof(struct arm_call, member)
static const char *const keeps[] = {"all", "steps=", NULL};
const struct option arm_call_options[] = {
    {"output", 'o', OPT_FILE, AT(call.record.output), "FILE",
     "the database to make (tidemark.DATE-TIME-PID.db)", NULL, 0},
    {"force", 0, OPT_FLAG, AT(call.force), NULL, "replace a finished recording of that name", NULL,
     0},
    {"for", 0, OPT_INT, AT(seconds), "SECONDS", "stop recording after so many", NULL, 1},
    {"steps", 's', OPT_INT, AT(call.record.most_steps), "N",
     "stop recording after N steps: the program goes on", NULL, 1},
    {"keep", 0, OPT_TEXT, AT(call.keep), "WHAT", "as for 'tidemark record'", keeps, 0},
    {"max-size", 0, OPT_SIZE, AT(call.record.retention.max_bytes), "SIZE",
     "as for 'tidemark record'", NULL, 0},
    {"private", 0, OPT_FLAG, AT(call.record.private), NULL, "as for 'tidemark record'", NULL, 0},
    {"metrics", 0, OPT_FILE, AT(call.record.metrics), "FILE", "as for 'tidemark record'", NULL, 0},
    {"progress", 0, OPT_CHOICE, AT(call.progress), "WHEN", "as for 'tidemark record'",
     progress_choices, 0},
    {0},
};
