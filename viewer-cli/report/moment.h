/*
 * moment.h - the arguments and the default of reports on one moment: [DATABASE] [MOMENT].
 */
#ifndef TIDEMARK_VIEWER_MOMENT_H
#define TIDEMARK_VIEWER_MOMENT_H

#include "instant.h"
#include "command.h"
#include "report.h"

struct moment_request { /* both point into the arguments; NULL: was not given */
    const char *database;
    const char *moment;
};

/* Which of the arguments is which. 0, or the exit code after the message was printed. */
int moment_arguments(const struct command_call *call, char **arguments, int count,
                     struct moment_request *out);
/* As instant_find; without a name the highest point of --steps. */
int moment_find(const struct report *report, const struct report_scope *scope, const char *name,
                struct instant *out);

/* Of each scope its moment, found by `find`: says which were thinned out, and what was not there in
 * any. 0 or an error. */
typedef int moment_finder(const struct report *report, const struct report_scope *scope,
                          const char *name, struct instant *out);
int moment_each(struct report *report, const char *name, moment_finder *find,
                int (*put)(struct report *report, const struct report_scope *scope,
                           const struct instant *instant, const void *how),
                const void *how);
/* A report on one moment as a command, of processes that are folded as workers_fold has it:
 * `options`, which begin with struct report_options and have their defaults, are read, and `put`
 * prints all that is to be seen. An exit code. */
int moment_report(const struct command_call *call, void *options,
                  int (*put)(struct report *report, const char *moment, const void *options));

#endif
