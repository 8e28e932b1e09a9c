#include "asked.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "error.h"
#include "json_cut.h"
#include "log.h"
#include "pack.h"

extern const struct command command_info, command_peak, command_leaks, command_frag, command_ladder,
    command_diff;

enum { ARGUMENTS = 16, DIGITS = 24 };

struct line {
    char *argv[ARGUMENTS];
    int argc;
    char process[DIGITS], rank[DIGITS];
};

static void add(struct line *line, const char *text)
{
    line->argv[line->argc++] = (char *)(uintptr_t)text;
}

static void add_number(struct line *line, const char *option, char *room, int64_t number)
{
    if (number == REPORT_ANY)
        return;
    snprintf(room, DIGITS, "%" PRId64, number);
    add(line, option);
    add(line, room);
}

static void add_options(struct line *line, const struct report_options *options)
{
    add(line, "--format");
    add(line, "json");
    add_number(line, "--process", line->process, options->process);
    add_number(line, "--rank", line->rank, options->rank);
    if (options->device) {
        add(line, "--device");
        add(line, options->device);
    }
}

/* Its json, or null. */
static int ask(const struct command *command, struct line *line, struct buf *out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) {
        log_say(LOG_ERROR, "%s", base_err_text(ERR_NOMEM));
        return EXIT_INTERNAL;
    }
    const struct command_call call = {command, line->argc, line->argv};
    report_send_to(file);
    int code = command->run(&call);
    report_send_to(NULL);
    if (fclose(file) != 0 && code == EXIT_FINE)
        code = EXIT_INTERNAL;
    if (code == EXIT_FINE && bytes)
        json_cut(out, text, bytes, PACK_TEXT_MOST);
    else
        buf_text(out, "null");
    free(text);
    return code;
}

/* One that lacks what was asked for has nothing to say; what is damaged ends it all. */
static bool is_over(int code)
{
    return code == EXIT_INPUT || code == EXIT_INTERNAL;
}

int asked_reports(const char *path, const struct report_options *options, struct buf *out)
{
    static const struct {
        const struct command *command;
        const char *top;
        bool whole; /* takes no process */
    } reports[] = {
        {&command_info, NULL, true},  {&command_peak, "30", false},   {&command_leaks, "20", false},
        {&command_frag, "20", false}, {&command_ladder, NULL, false},
    };
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct line line = {0};
        struct report_options asked = *options;
        if (reports[i].whole) {
            asked.process = asked.rank = REPORT_ANY;
            asked.device = NULL;
        }
        add(&line, path);
        add_options(&line, &asked);
        if (reports[i].top) {
            add(&line, "--top");
            add(&line, reports[i].top);
        }
        buf_print(out, "%s\"%s\":", i ? "," : "{", reports[i].command->name);
        int code = ask(reports[i].command, &line, out);
        if (is_over(code))
            return code;
    }
    buf_text(out, "}");
    return EXIT_FINE;
}

int asked_diff(const char *path, const char *other, const struct report_options *options,
               struct buf *out)
{
    struct line line = {0};
    add(&line, path);
    add(&line, other);
    add_options(&line, options);
    add(&line, "--top");
    add(&line, "30");
    buf_text(out, "{\"diff\":");
    int code = ask(&command_diff, &line, out);
    buf_text(out, "}");
    return is_over(code) ? code : EXIT_FINE;
}
