#include "commands.h"

#include <string.h>

#include "suggest.h"

#define COMMAND(name) extern const struct command command_##name;
#include "commands.def"
#undef COMMAND

/* What `tidemark` alone runs; not in the list of the help. */
extern const struct command command_recordings;

#define COMMAND(name) &command_##name,
const struct command *const commands[] = {
#include "commands.def"
    NULL,
};
#undef COMMAND

const struct command *command_find(const char *name, const char **near)
{
    struct suggest suggest = {.word = name};
    *near = NULL;
    for (const struct command *const *at = commands; *at; at++) {
        if (strcmp((*at)->name, name) == 0)
            return *at;
        suggest_offer(&suggest, (*at)->name);
    }
    suggest_offer(&suggest, "help");
    *near = suggest.best;
    return NULL;
}

bool commands_alone(int argc, char **argv, int *code)
{
    *code = command_recordings.run(&(struct command_call){&command_recordings, argc, argv});
    return *code >= 0;
}
