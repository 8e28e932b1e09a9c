/*
 * main.c - finds the command, runs it, and makes sure that what it printed has arrived.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "error.h"
#include "glossary.h"
#include "help.h"
#include "log.h"
#include "version.h"

/* Has whoever read our output gone away? Asked of the pipe itself, because the errno of a write
 * that failed inside stdio may be long gone. */
static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* A full disk or a closed pipe shows when the last bytes are written; a reader that had enough, as
 * `head` has, is told nothing. */
static int check_stdout(int exit_code)
{
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    int number = errno;
    if (!failed)
        return exit_code;
    if (number != EPIPE && !reader_is_gone())
        log_say(LOG_ERROR, "cannot write to stdout: %s", strerror(number));
    return exit_code ? exit_code : EXIT_INTERNAL;
}

static int unknown_command(const char *name, const char *near)
{
    if (near)
        log_say(LOG_ERROR, "unknown command '%.60s'; did you mean '%s'?", name, near);
    else
        log_say(LOG_ERROR, "unknown command '%.60s'", name);
    log_say(LOG_NOTE, "'tidemark --help' lists the commands");
    return EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    const char *near;
    if (argc == 0) {
        help_overview(stdout, commands);
        return EXIT_FINE;
    }
    if (strcmp(argv[0], "glossary") == 0) {
        glossary_print(stdout);
        return EXIT_FINE;
    }
    const struct command *command = command_find(argv[0], &near);
    if (!command)
        return unknown_command(argv[0], near);
    help_command(stdout, command);
    return EXIT_FINE;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || (c && strcmp(word, c) == 0);
}

static bool is_a_database(const char *word)
{
    size_t n = strlen(word);
    return n > 3 && strcmp(word + n - 3, ".db") == 0;
}

/* --color=WHEN, which may stand before a recording, or alone. */
static bool is_colour(const char *word)
{
    return is_one_of(word, "--color=auto", "--color=always", "--color=never");
}

/* Of a word that is no command: a file was meant. No command has such a letter. */
static bool names_a_file(const char *word)
{
    return strpbrk(word, "./") != NULL;
}

static int no_such_file(const char *name)
{
    log_say(LOG_ERROR, "%.200s: %s", name, strerror(ENOENT));
    log_say(LOG_NOTE, "'tidemark' alone lists the recordings in this folder");
    return EXIT_INPUT;
}

/* A recording alone is the question that is asked most. */
static int peak_of(int argc, char **argv)
{
    const char *near;
    const struct command *peak = command_find("peak", &near);
    return peak->run(&(struct command_call){peak, argc, argv});
}

static int dispatch(int argc, char **argv)
{
    const char *near;
    int code;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    bool alone = argc < 2 || (argc == 2 && is_colour(argv[1]));
    if (alone && commands_alone(argc - 1, argv + 1, &code))
        return code;
    if (alone) {
        log_say(LOG_ERROR, "no recordings in this folder");
        help_overview(stderr, commands);
        return EXIT_USAGE;
    }
    if (is_one_of(argv[1], "help", "--help", "-h"))
        return help(argc - 2, argv + 2);
    if (is_one_of(argv[1], "--version", "-V", NULL)) {
        version_print(stdout);
        return EXIT_FINE;
    }
    if (is_colour(argv[1]) && is_a_database(argv[2]))
        return peak_of(argc - 1, argv + 1);
    if (argv[1][0] == '-') {
        log_say(LOG_ERROR, "'%.60s' stands before any command; options come after its name",
                argv[1]);
        log_say(LOG_NOTE, "'tidemark --help' lists the commands");
        return EXIT_USAGE;
    }
    const struct command *command = command_find(argv[1], &near);
    bool file = !command && names_a_file(argv[1]);
    if (file && !is_a_database(argv[1]) && access(argv[1], F_OK) < 0)
        return no_such_file(argv[1]);
    if (file)
        return peak_of(argc - 1, argv + 1);
    if (!command)
        return unknown_command(argv[1], near);
    /* A recorded program must begin with signals as they are; all else here sees EPIPE instead. */
    if (command->takes == TAKES_PROGRAM)
        signal(SIGPIPE, before);
    return command->run(&(struct command_call){command, argc - 2, argv + 2});
}

int main(int argc, char **argv)
{
    return check_stdout(dispatch(argc, argv));
}
