#include "complete.h"

enum complete_what complete_value(const struct option *option)
{
    if (option->choices)
        return COMPLETE_CHOICES;
    if (option->kind == OPT_DATABASE)
        return COMPLETE_DATABASES;
    return option->kind == OPT_FILE ? COMPLETE_FILES : COMPLETE_NOTHING;
}

enum complete_what complete_argument(const struct command *command)
{
    static const enum complete_what whats[] = {
        [TAKES_DATABASE] = COMPLETE_DATABASES, [TAKES_DATABASES] = COMPLETE_DATABASES,
        [TAKES_FILE] = COMPLETE_FILES,         [TAKES_PROCESS] = COMPLETE_NOTHING,
        [TAKES_PROGRAM] = COMPLETE_PROGRAM,
    };
    return whats[command->takes];
}

bool complete_many(const struct command *command)
{
    return command->takes == TAKES_DATABASES;
}
