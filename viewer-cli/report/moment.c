#include "moment.h"

#include "error.h"
#include "mem.h"
#include "workers.h"

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

int moment_each(struct report *report, const char *name, moment_finder *find,
                int (*put)(struct report *report, const struct report_scope *scope,
                           const struct instant *instant, const void *how),
                const void *how)
{
    struct instant instant = {0};
    bool any = false;
    int err = 0;
    if (!name)
        report_needs_steps(report);
    for (size_t i = 0; i < report->scope_count && err >= 0; i++) {
        err = find(report, &report->scopes[i], name, &instant);
        if (err == ERR_NOTFOUND) {
            report_misses(report, &report->scopes[i], &instant);
            err = 0;
            continue;
        }
        if (err == 0)
            err = report_sees(report, report->scopes[i].process.id, instant.seq);
        if (err == 0)
            err = put(report, &report->scopes[i], &instant, how);
        any = true;
    }
    if (err >= 0 && !any && report->scope_count && name)
        report_no_moment(report, &instant);
    else if (err >= 0 && !any)
        report_nothing(report);
    return err;
}

int moment_report(const struct command_call *call, void *options,
                  int (*put)(struct report *report, const char *moment, const void *options))
{
    struct moment_request request;
    struct report report;
    char **arguments;
    int count, code;

    if (!command_parse(call, options, &arguments, &count, &code))
        return code;
    code = moment_arguments(call, arguments, count, &request);
    if (!code)
        code = report_begin(&report, call->command, options, request.database);
    if (!code) {
        int err = workers_fold(&report);
        code = report_end(&report, err < 0 ? err : put(&report, request.moment, options));
    }
    mem_free(arguments);
    return code;
}
