/*
 * bash: one function with a case for each command, which knows its options, those that take a
 * value, and what can stand there. It needs nothing but bash itself; where the package
 * bash-completion is loaded, what follows `record` completes as that program does.
 */
#include "complete.h"

static const char begin[] =
    "# bash completion for tidemark. Made by viewer-cli/manual from the command's own tables.\n"
    "\n"
    "# Files whose names end in $1 (all, if that is empty), and folders.\n"
    "_tidemark_files()\n"
    "{\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=($(compgen -d -- \"$cur\"; compgen -f -- \"$cur\" | while read -r name; do\n"
    "        [[ -d $name || $name != *\"$1\" ]] || printf '%s\\n' \"$name\"\n"
    "    done))\n"
    "    compopt -o filenames 2> /dev/null\n"
    "}\n"
    "\n"
    "_tidemark_words()\n"
    "{\n"
    "    COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
    "}\n"
    "\n"
    "# The command line that begins with word $1.\n"
    "_tidemark_program()\n"
    "{\n"
    "    if declare -F _comp_command_offset > /dev/null; then\n"
    "        _comp_command_offset \"$1\"\n"
    "    elif declare -F _command_offset > /dev/null; then\n"
    "        _command_offset \"$1\"\n"
    "    elif ((COMP_CWORD == $1)) && [[ $cur != */* ]]; then\n"
    "        COMPREPLY=($(compgen -c -- \"$cur\"))\n"
    "    else\n"
    "        _tidemark_files ''\n"
    "    fi\n"
    "}\n"
    "\n"
    "_tidemark()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} options= takes= kind= word i ended= first=\n"
    "    COMPREPLY=()\n"
    "    # '=' is a word of its own for bash: --format=json is three.\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n";

static const char middle[] = "    if ((COMP_CWORD == 1)); then\n"
                             "        _tidemark_words \"$commands help --help --version\"\n"
                             "        return\n"
                             "    fi\n"
                             "    case $command in\n"
                             "    help)\n"
                             "        ((COMP_CWORD > 2)) || _tidemark_words \"$commands\"\n"
                             "        return\n"
                             "        ;;\n";

/* Behind the first cases: options, kind and takes are known. What has a value is skipped in the
 * search for the first argument, where a program's own command line begins. */
static const char scan[] = "    *) return ;;\n"
                           "    esac\n"
                           "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                           "        word=${COMP_WORDS[i]}\n"
                           "        if [[ -z $ended && $word == -- ]]; then\n"
                           "            ended=1\n"
                           "            [[ $kind != program ]] || first=$((i + 1))\n"
                           "        elif [[ -z $ended && ${COMP_WORDS[i + 1]} == = ]]; then\n"
                           "            ((i += 2))\n"
                           "        elif [[ -z $ended && \" $takes \" == *\" $word \"* ]]; then\n"
                           "            ((++i))\n"
                           "        elif [[ -n $ended || $word != -* ]]; then\n"
                           "            first=${first:-$i}\n"
                           "        fi\n"
                           "        [[ $kind != program || -z $first ]] || break\n"
                           "    done\n"
                           "    if [[ $kind == program && -n $first ]]; then\n"
                           "        _tidemark_program \"$first\"\n"
                           "        return\n"
                           "    fi\n"
                           "    [[ -n $ended ]] || case \"$command $prev\" in\n";

static const char end[] = "    esac\n"
                          "    if [[ -z $ended && $cur == -* ]]; then\n"
                          "        _tidemark_words \"$options\"\n"
                          "        return\n"
                          "    fi\n"
                          "    [[ -z $first || -n $many ]] || return\n"
                          "    case $kind in\n"
                          "    program) _tidemark_program \"$COMP_CWORD\" ;;\n"
                          "    databases) _tidemark_files .db ;;\n"
                          "    files) _tidemark_files '' ;;\n"
                          "    esac\n"
                          "}\n"
                          "\n"
                          "complete -F _tidemark tidemark\n";

static const char *kind_name(enum complete_what what)
{
    switch (what) {
    case COMPLETE_DATABASES:
        return "databases";
    case COMPLETE_PROGRAM:
        return "program";
    case COMPLETE_FILES:
        return "files";
    default:
        return "";
    }
}

static void put_value(struct buf *out, const char *command, const struct option *option)
{
    buf_text(out, "    ");
    if (option->letter)
        buf_print(out, "'%s -%c' | ", command, option->letter);
    buf_print(out, "'%s --%s') ", command, option->name);
    switch (complete_value(option)) {
    case COMPLETE_CHOICES:
        buf_text(out, "_tidemark_words '");
        for (size_t i = 0; option->choices[i]; i++)
            buf_print(out, "%s%s", i ? " " : "", option->choices[i]);
        buf_text(out, "'; ");
        break;
    case COMPLETE_DATABASES:
        buf_text(out, "_tidemark_files .db; ");
        break;
    case COMPLETE_FILES:
        buf_text(out, "_tidemark_files ''; ");
        break;
    default:
        break;
    }
    buf_text(out, "return ;;\n");
}

static void put_names(struct buf *out, const struct option *options, bool taking)
{
    for (const struct option *o = options; o && o->name; o++) {
        if (taking && o->kind == OPT_FLAG)
            continue;
        if (taking && o->letter)
            buf_print(out, " -%c", o->letter);
        buf_print(out, " --%s", o->name);
    }
}

static void put_command(struct buf *out, const struct command *command)
{
    buf_print(out, "    %s)\n        options='--help", command->name);
    put_names(out, command->options, false);
    put_names(out, command_shared_options(command), false);
    buf_text(out, "'\n        takes='");
    put_names(out, command->options, true);
    put_names(out, command_shared_options(command), true);
    buf_print(out, "'\n        kind='%s' many='%s'\n        ;;\n",
              kind_name(complete_argument(command)), complete_many(command) ? "yes" : "");
}

static void put_values(struct buf *out, const struct command *command)
{
    const struct option *tables[] = {command->options, command_shared_options(command)};
    for (size_t t = 0; t < 2; t++)
        for (const struct option *o = tables[t]; o && o->name; o++)
            if (o->kind != OPT_FLAG)
                put_value(out, command->name, o);
}

void complete_bash(struct buf *out)
{
    buf_text(out, begin);
    buf_text(out, "    local many= commands='");
    for (const struct command *const *at = commands; *at; at++)
        buf_print(out, "%s%s", at == commands ? "" : " ", (*at)->name);
    buf_text(out, "'\n");
    buf_text(out, middle);
    for (const struct command *const *at = commands; *at; at++)
        put_command(out, *at);
    buf_text(out, scan);
    for (const struct command *const *at = commands; *at; at++)
        put_values(out, *at);
    buf_text(out, end);
}
