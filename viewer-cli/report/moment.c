#include "moment.h"

int moment_arguments(const struct command_call *call, char **arguments, int count,
                     struct moment_request *out)
{
    *out = (struct moment_request){0};
    for (int i = 0; i < count; i++) {
        if (!out->moment && instant_is_name(arguments[i]))
            out->moment = arguments[i];
        else if (!out->database)
            out->database = arguments[i];
        else
            return command_misused(call->command, "'%s' is no moment", arguments[i]);
    }
    return 0;
}

int moment_find(const struct report *report, const struct report_scope *scope, const char *name,
                struct instant *out)
{
    const struct option_range *steps = &report->options->steps;
    if (name)
        return instant_find(report->db, scope->process.id, scope->device, name, out);
    return instant_highest(report->db, scope->process.id, scope->device, steps->first, steps->last,
                           out);
}
