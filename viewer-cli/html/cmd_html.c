/*
 * tidemark html: one page with all of a recording that a person looks at, or of two beside each
 * other.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asked.h"
#include "data.h"
#include "error.h"
#include "human.h"
#include "log.h"
#include "mem.h"
#include "page.h"
#include "report.h"

struct html_options {
    struct report_options common;
    const char *output;
};

/* ---- what stands in it ---- */

/* The sub-reports take it for a name of a file, whatever it looks like. */
static char *plain_path(const char *path)
{
    struct buf text = {0};
    buf_print(&text, "%s%s", strchr(path, '/') ? "" : "./", path);
    return text.broken ? NULL : text.data;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int read_recording(struct report *report, const char *path, const char *other,
                          const struct report_options *options, struct buf *out)
{
    struct buf json = {0}, beside = {0};
    int code = asked_reports(path, options, &json);
    if (code == EXIT_FINE && other) {
        code = asked_diff(path, other, options, &beside);
        if (json.count && beside.count > 1) { /* one object of the two */
            json.count--;
            buf_text(&json, ",");
            buf_text(&json, buf_string(&beside) + 1);
        }
    }
    int err = json.broken || beside.broken ? ERR_NOMEM : 0;
    if (code == EXIT_FINE && err == 0)
        err = data_recording(report, name_of(path), &json, out);
    if (code == EXIT_FINE && err < 0)
        code = report_failed(report->path, err, db_message(report->db));
    buf_clear(&json);
    buf_clear(&beside);
    return code;
}

/* Its own last lines stand in the reports that the page is made of. */
static int end_quietly(struct report *report)
{
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        return report_end(report, base_err_from_errno(errno));
    report_send_to(nowhere);
    int code = report_end(report, 0);
    report_send_to(NULL);
    fclose(nowhere);
    return code;
}

static int add_recording(const struct command_call *call, const struct html_options *options,
                         const char *named, const char *other, struct buf *out, char **found)
{
    struct report report;
    int code = report_begin(&report, call->command, &options->common, named);
    if (code)
        return code;
    char *path = plain_path(report.path);
    if (!path)
        return report_end(&report, ERR_NOMEM);
    code = read_recording(&report, path, other, &options->common, out);
    if (code) /* it was said */
        report_abandon(&report);
    else
        code = end_quietly(&report);
    if (found)
        *found = path;
    else
        mem_free(path);
    return code;
}

/* ---- where it goes ---- */

/* A recording must not be lost to a slip of the hand. */
static bool is_database(const char *path)
{
    char head[16] = "";
    FILE *file = fopen(path, "rb");
    size_t count = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    return count == sizeof head && memcmp(head, "SQLite format 3", 16) == 0;
}

static int write_failed(const char *path, int err)
{
    log_say(LOG_ERROR, "%s: %s", path, err == ERR_IO ? strerror(errno) : base_err_text(err));
    return EXIT_INTERNAL;
}

/* A pipe or a device is written as it is; a file is there as a whole or not at all. */
static int write_file(const char *path, const struct buf *data)
{
    struct stat status;
    struct buf made = {0};
    bool whole = stat(path, &status) != 0 || S_ISREG(status.st_mode);
    buf_print(&made, "%s%s", path, whole ? ".new" : "");
    FILE *file = made.broken ? NULL : fopen(buf_string(&made), "wb");
    int code = EXIT_FINE, err = file ? page_write(file, data) : ERR_IO;
    if (file && fclose(file) != 0 && err == 0)
        err = ERR_IO;
    if (err == 0 && whole && rename(buf_string(&made), path) != 0)
        err = ERR_IO;
    if (err < 0) {
        code = write_failed(path, err);
        if (file && whole)
            unlink(buf_string(&made));
    }
    buf_clear(&made);
    return code;
}

static int write_page(const struct command_call *call, const char *path, const struct buf *data)
{
    if (strcmp(path, "-") == 0) {
        int err = page_write(stdout, data);
        return err == ERR_NOMEM ? write_failed("-", err) : EXIT_FINE; /* main() sees the rest */
    }
    if (is_database(path))
        return command_misused(call->command, "%.200s is a database: the page is not written there",
                               path);
    int code = write_file(path, data);
    if (code == EXIT_FINE)
        printf("%s\n", strncmp(path, "./", 2) == 0 ? path + 2 : path);
    return code;
}

/* run.db -> run.html */
static char *page_path(const char *database)
{
    struct buf text = {0};
    size_t bytes = strlen(database);
    if (bytes > 3 && strcmp(database + bytes - 3, ".db") == 0)
        bytes -= 3;
    buf_print(&text, "%.*s.html", (int)bytes, database);
    return text.broken ? NULL : text.data;
}

/* ---- the command ---- */

static int make_page(const struct command_call *call, const struct html_options *options,
                     char **named, int count)
{
    struct buf data = {0};
    char *path = NULL, *made = NULL, *other = count > 1 ? plain_path(named[1]) : NULL;
    data_begin(&data, count > 1 ? 2 : 1);
    int code = count > 1 && !other ? write_failed(named[1], ERR_NOMEM) : EXIT_FINE;
    if (code == EXIT_FINE)
        code = add_recording(call, options, count ? named[0] : NULL, other, &data, &path);
    if (code == EXIT_FINE && other)
        code = add_recording(call, options, other, NULL, &data, NULL);
    if (code == EXIT_FINE && !options->output)
        made = page_path(path);
    if (code == EXIT_FINE && (data.broken || (!options->output && !made)))
        code = write_failed(path, ERR_NOMEM);
    if (code == EXIT_FINE)
        code = write_page(call, made ? made : options->output, &data);
    mem_free(path);
    mem_free(made);
    mem_free(other);
    buf_clear(&data);
    return code;
}

static int cmd_html(const struct command_call *call)
{
    struct html_options options = {.common = REPORT_OPTIONS};
    char **arguments;
    int count, code;

    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = make_page(call, &options, arguments, count);
    mem_free(arguments);
    return code;
}

static const struct option option_table[] = {
    {"output", 'o', OPT_FILE, offsetof(struct html_options, output), "FILE",
     "write the page there, '-': to stdout (the recording's\nname, with .html for .db)", NULL, 0},
    REPORT_OPTION_PROCESS,
    REPORT_OPTION_RANK,
    REPORT_OPTION_DEVICE,
    {0},
};

const struct command command_html = {
    .name = "html",
    .group = COMMAND_LOOK,
    .run = cmd_html,
    .summary = "a page for the browser: the peak, its causes, and memory over time",
    .arguments = "[DATABASE [OTHER]]",
    .takes = TAKES_DATABASES,
    .options = option_table,
    .thinned = "blocks",
    .most = 2,
    .description =
        "Writes one file that a browser opens, from a disk as well as from a server. All is in it: "
        "it asks no network for anything, and can be sent to somebody who has nothing of Tidemark. "
        "It has what held the peak, why, and changes that lower it; memory over time by kind, by "
        "module and by the phase that it was allocated in, with steps, phases and refused "
        "requests; for a moment that is clicked on, what was live then, by module and by call "
        "stack, "
        "and the largest blocks; growth from step to step; ranks; and a map of the segments at the "
        "peak. With a second recording, both and what changed between their peaks.\n"
        "\n"
        "Its figures are those of peak, leaks, frag, ladder and diff. Of a recording with more "
        "than 60,000 blocks on a device some thousand moments are in the page, each exact: the "
        "highest points and the ends of phases, refused requests, and moments between. The page "
        "says of what is shown whether it is all.",
    .examples =
        {
            {"tidemark html run.db", "writes run.html"},
            {"tidemark html -o peak.html", "of the newest recording in this folder"},
            {"tidemark html before.db after.db -o change.html", "two recordings beside each other"},
        },
};
