#include "become.h"

#include <string.h>

#include "error.h"
#include "launch.h"
#include "record.h"

static void warn(const struct record_options *options, const struct buf *why)
{
    struct buf line = {0};
    buf_print(&line, "the library cannot be loaded here: %s; the program runs unrecorded",
              buf_string(why));
    if (options->warn)
        options->warn(options->context, buf_string(&line));
    buf_clear(&line);
}

/* False: *why has the reason. */
static bool can_be_loaded(const struct record_options *options, const struct launch_origin *origin,
                          struct buf *why)
{
    if (options->guest)
        return launch_try_guest(options->guest, origin, LAUNCH_PATIENCE_NS, why);
    buf_text(why, "libtidemark.so was not found");
    return false;
}

int become(const struct record_options *options, const struct launch_words *words, const char *note,
           struct buf *why)
{
    struct launch_origin origin;
    struct buf trouble = {0};
    struct launch launch = {.argv = options->argv, .origin = &origin};
    int signal_fd = launch_take_signals(&origin);
    if (signal_fd < 0) {
        buf_print(why, "cannot start: %s", base_err_text(signal_fd));
        return EXIT_INTERNAL;
    }
    if (can_be_loaded(options, &origin, &trouble)) {
        launch.words = *words;
        launch.words.guest = options->guest;
        launch.words.python = options->python;
        launch.words.wants = options->wants;
        if (note && options->note)
            options->note(options->context, note);
    } else {
        warn(options, &trouble);
    }
    buf_clear(&trouble);
    int number = launch_become(&launch);
    buf_print(why, "cannot run %s: %s", launch.argv[0], strerror(number));
    return launch_exit_code(number);
}
