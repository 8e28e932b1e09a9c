#include "complete.h"

#include <string.h>

enum complete_what complete_value(const struct option *option)
{
    if (option->kind == OPT_CHOICE)
        return COMPLETE_CHOICES;
    if (strcmp(option->name, "device") == 0)
        return COMPLETE_DEVICES;
    if (strcmp(option->name, "keep") == 0)
        return COMPLETE_KEEP;
    if (strcmp(option->value, "DATABASE") == 0)
        return COMPLETE_DATABASES;
    bool file = strcmp(option->value, "FILE") == 0 || strcmp(option->value, "FOLDER") == 0;
    return file ? COMPLETE_FILES : COMPLETE_NOTHING;
}

enum complete_what complete_argument(const struct command *command)
{
    if (command->runs_program)
        return COMPLETE_PROGRAM;
    if (strstr(command->arguments, ".pickle"))
        return COMPLETE_SNAPSHOTS;
    if (strstr(command->arguments, "DATABASE") || strcmp(command->arguments, "A B") == 0)
        return COMPLETE_DATABASES;
    return command->most == 0 ? COMPLETE_NOTHING : COMPLETE_FILES;
}

bool complete_many(const struct command *command)
{
    return strcmp(command->arguments, "A B") == 0;
}
