#include "command.h"

#include <stdarg.h>
#include <stdio.h>

#include "error.h"
#include "help.h"
#include "log.h"
#include "mem.h"

int command_misused(const struct command *command, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    log_say(LOG_ERROR, "%s: %s", command->name, text);
    log_say(LOG_NOTE, "'tidemark %s --help' shows what it takes", command->name);
    return EXIT_USAGE;
}

static int count_wrong(const struct command *command, int count, char **arguments)
{
    if (count < command->least)
        return command_misused(command, "needs %s", command->arguments);
    return command_misused(command, "does not know what to do with '%.60s'",
                           arguments[command->most]);
}

const struct option *command_shared_options(const struct command *command)
{
    return command->shared ? command->shared->options : NULL;
}

bool command_parse(const struct command_call *call, void *options, char ***arguments, int *count,
                   int *exit_code)
{
    const struct command *command = call->command;
    struct options_parse parse = {
        .tables = {command->options, command_shared_options(command)},
        .target = options,
        .first_argument_ends = command->takes == TAKES_PROGRAM,
        .arguments = mem_alloc((size_t)call->argc + 1, sizeof(char *)),
    };
    *arguments = NULL;
    *count = 0;
    *exit_code = EXIT_INTERNAL;
    if (!parse.arguments) {
        log_say(LOG_ERROR, "%s", base_err_text(ERR_NOMEM));
        return false;
    }
    if (options_parse(&parse, call->argc, call->argv) < 0) {
        *exit_code = command_misused(command, "%s", parse.message);
    } else if (parse.help) {
        help_command(stdout, command);
        *exit_code = EXIT_FINE;
    } else if (parse.argument_count < command->least ||
               (command->most >= 0 && parse.argument_count > command->most)) {
        *exit_code = count_wrong(command, parse.argument_count, parse.arguments);
    } else {
        *arguments = parse.arguments;
        *count = parse.argument_count;
        return true;
    }
    mem_free(parse.arguments);
    return false;
}
