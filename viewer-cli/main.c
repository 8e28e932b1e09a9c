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
    if (argc < 2 && commands_alone(&code))
        return code;
    if (argc < 2) {
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
    if (argv[1][0] == '-') {
        log_say(LOG_ERROR, "'%.60s' stands before any command; options come after its name",
                argv[1]);
        log_say(LOG_NOTE, "'tidemark --help' lists the commands");
        return EXIT_USAGE;
    }
    const struct command *command = command_find(argv[1], &near);
    if (!command && is_a_database(argv[1]))
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
