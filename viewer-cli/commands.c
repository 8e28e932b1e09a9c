#include "commands.h"

#include <string.h>

#include "suggest.h"

extern const struct command command_record, command_arm, command_attach, command_rehearse,
    command_import, command_merge, command_info, command_repair, command_phases, command_timeline,
    command_peak, command_why, command_frag, command_ladder, command_leaks, command_modules,
    command_fit, command_diff, command_check, command_live, command_show, command_skew, command_sql,
    command_plan, command_recordings, command_export, command_html;

const struct command *const commands[] = {
    &command_record,   &command_arm,   &command_attach, &command_rehearse, &command_plan,
    &command_import,   &command_merge, &command_info,   &command_repair,   &command_phases,
    &command_timeline, &command_peak,  &command_html,   &command_why,      &command_modules,
    &command_live,     &command_show,  &command_frag,   &command_ladder,   &command_leaks,
    &command_fit,      &command_diff,  &command_skew,   &command_check,    &command_sql,
    &command_export,   NULL,
};

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
