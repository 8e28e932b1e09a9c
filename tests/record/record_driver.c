/*
 * record_driver.c - the least that a command needs around record_run, for the tests of this folder.
 *
 *     record_driver [-o FILE] [-w all|root] [-a ARENA_BYTES] [-b RING_BITS] [-q QUEUE_BYTES]
 *         [-s] -g GUEST -- COMMAND ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "log.h"
#include "record.h"

static void warn(void *context, const char *text)
{
    (void)context;
    log_say(LOG_WARNING, "%s", text);
}

static int parse(int argc, char **argv, struct record_options *options)
{
    int letter;
    while ((letter = getopt(argc, argv, "+o:w:a:b:q:sg:p")) != -1) {
        if (letter == 'o')
            options->output = optarg;
        else if (letter == 'w')
            options->wait = strcmp(optarg, "all") == 0 ? RECORD_WAIT_ALL : RECORD_WAIT_ROOT;
        else if (letter == 'a')
            options->arena_bytes = strtoull(optarg, NULL, 10);
        else if (letter == 'b')
            options->ring_bits = (unsigned)atoi(optarg);
        else if (letter == 'q')
            options->queue_bytes = strtoull(optarg, NULL, 10);
        else if (letter == 's')
            options->stage = true;
        else if (letter == 'g')
            options->guest = optarg;
        else if (letter == 'p')
            options->private = true;
        else
            return -1;
    }
    return optind < argc ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct record_options options = {.warn = warn};
    struct record_result result;
    if (parse(argc, argv, &options) != 0) {
        log_say(LOG_ERROR, "wrong usage of the test's driver");
        return EXIT_USAGE;
    }
    options.argv = (const char *const *)argv + optind;
    record_run(&options, &result);
    record_print_summary(&result);
    int code = result.exit_code, signal = result.signal;
    record_result_clear(&result);
    if (signal)
        record_die_by(signal);
    return code;
}
