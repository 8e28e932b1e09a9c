/*
 * tidemark import: what another tool recorded becomes a recording. All the work is
 * recorder/import's; here are the options, the output file and what is said of it.
 */
#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "error.h"
#include "human.h"
#include "import.h"
#include "log.h"
#include "mem.h"
#include "record_output.h"

struct import_command {
    const char *output;
    bool all_frames;
};

/* ---- what is said ---- */

static void put_count(struct buf *out, uint64_t count, const char *one, const char *many)
{
    char text[HUMAN_MAX];
    buf_print(out, "%s %s", human_count(text, (int64_t)count), count == 1 ? one : many);
}

static void say_buf(enum log_level level, struct buf *text)
{
    log_say(level, "%s", buf_string(text));
    buf_clear(text);
}

static void say_found(const struct import_result *result)
{
    const struct import_instead *instead = &result->instead;
    struct buf text = {0};
    put_count(&text, result->events, "event", "events");
    buf_text(&text, " of ");
    put_count(&text, result->devices, "device", "devices");
    buf_text(&text, ": ");
    if (instead->count) {
        put_count(&text, instead->count, instead->one, instead->many);
    } else {
        put_count(&text, result->blocks, "block", "blocks");
        buf_text(&text, " allocated");
    }
    if (result->is_snapshot) {
        buf_text(&text, ", ");
        put_count(&text, result->segments, "segment", "segments");
        buf_text(&text, " taken");
    }
    if (result->ooms) {
        buf_text(&text, ", ");
        put_count(&text, result->ooms, "request failed", "requests failed");
    }
    say_buf(LOG_NOTE, &text);
    if (!result->blocks_before && !result->segments_before)
        return;
    put_count(&text, result->blocks_before, "block", "blocks");
    if (result->is_snapshot) {
        buf_text(&text, " in ");
        put_count(&text, result->segments_before, "segment", "segments");
        buf_text(&text, " live when the trace began; call sites are known only of those that are "
                        "live at the end");
    } else {
        buf_print(&text, " live when it began, known only by %s",
                  result->blocks_before == 1 ? "its free" : "their frees");
    }
    say_buf(LOG_NOTE, &text);
}

static void say_count(uint64_t count, const char *one, const char *many, const char *what)
{
    struct buf text = {0};
    if (!count)
        return;
    put_count(&text, count, one, many);
    buf_print(&text, " %s", what);
    say_buf(LOG_WARNING, &text);
}

static void say_overflow(const struct import_result *result)
{
    struct buf text = {0};
    if (result->left_host)
        log_say(LOG_WARNING,
                "some pinned host memory is in it that could not be read, and was left out");
    if (!result->overflowed)
        return;
    buf_text(&text, "the history was full");
    if (result->max_entries) {
        buf_text(&text, " (");
        put_count(&text, result->max_entries, "event", "events");
        buf_text(&text, ")");
    }
    buf_text(&text, ": older events were overwritten");
    say_buf(LOG_WARNING, &text);
}

static void say_throughout(const struct import_result *result)
{
    char bytes[HUMAN_MAX];
    if (result->throughout)
        log_say(LOG_NOTE, "%s live all the time: one block on each device, by the allocator's sum",
                human_bytes(bytes, (int64_t)(result->throughout & INT64_MAX)));
}

static void say_trouble(const struct import_result *result)
{
    if (result->is_xpu)
        log_say(LOG_NOTE, "it is a snapshot of an XPU: its devices are called xpu");
    if (result->lacks)
        log_say(LOG_NOTE, "%s has no %s", result->format, result->lacks);
    say_throughout(result);
    if (!result->is_snapshot && !result->blocks && !result->blocks_before && !result->instead.count)
        log_say(LOG_WARNING, "no allocations are in it");
    else if (!result->is_snapshot)
        ;
    else if (!result->blocks && !result->blocks_before)
        log_say(LOG_WARNING, "no blocks are in it: was _record_memory_history on?");
    else if (!result->events)
        log_say(LOG_WARNING, "it has no history, only the end: was _record_memory_history on?");
    say_overflow(result);
    say_count(result->frees_lost, "block is", "blocks are",
              "gone at the end, and the trace does not say when");
    say_count(result->frees_unmatched, "free was", "frees were",
              "left out: the block stays live, as the end or a later free shows");
    say_count(result->segments_unmatched, "segment", "segments",
              "of the trace do not fit to those at the end");
    say_count(result->misplaced, "block was", "blocks were",
              "allocated where no free memory is known");
    say_count(result->sizes_differ, "block is", "blocks are",
              "not as large as the allocator's rules make it: the size at the end was taken");
    say_count(result->odd_blocks, "block", "blocks", "at the end could not be placed");
    say_count(result->unknown_actions, "event", "events", "of a kind not known left out");
    say_count(result->misfits, "event does", "events do",
              "not fit to what came before: see Trouble in tidemark info");
    say_count(result->annotations_skipped, "annotation", "annotations",
              "ended without a beginning, or began too deep");
    say_count(result->odd_values, "value was", "values were", "not of the kind expected");
    say_count(result->groups, "block stands", "blocks stand",
              "for several whose own sizes are not known");
    say_count(result->left_out.count, result->left_out.one, result->left_out.many,
              result->left_out.why);
    say_count(result->cut_lines, "line", "lines", "at the end, cut off, was left out");
    say_count(result->cut_strings, "text was", "texts were", "cut: longer than 32 KiB");
}

static void say_done(const struct import_result *result, const char *path)
{
    char peak[HUMAN_MAX];
    const struct import_instead *instead = result->instead.count ? &result->instead : NULL;
    say_found(result);
    say_trouble(result);
    log_say(LOG_NOTE, "wrote %s; peak of %s %s", path, instead ? instead->peak_of : "allocated",
            human_bytes(peak, (int64_t)(instead ? instead->peak : result->peak_allocated)));
    log_say(LOG_NOTE, "ask it: tidemark peak %s", path);
}

/* ---- the command ---- */

static int exit_of(int err)
{
    return err == ERR_NOMEM || err == ERR_INTERNAL ? EXIT_INTERNAL : EXIT_INPUT;
}

static int failed(const char *path, const struct record_output *output, int err,
                  const struct import_result *result)
{
    log_say(LOG_ERROR, "%s: %s", result->wrote ? output->wanted : path, result->message);
    record_output_discard(output);
    return exit_of(err);
}

static int import(const char *path, const struct import_command *command)
{
    struct record_output output;
    struct import_result result;
    struct buf why = {0};
    const char *slash = strrchr(path, '/');
    int err = record_output_choose(&output, command->output, false, &why);
    if (err) {
        say_buf(LOG_ERROR, &why);
        return exit_of(err);
    }
    struct import_options options = {.output = output.work,
                                     .source = slash ? slash + 1 : path,
                                     .all_frames = command->all_frames};
    err = import_file(path, &options, &result);
    if (err)
        return failed(path, &output, err, &result);
    err = record_output_move(&output, &why);
    if (err) {
        say_buf(LOG_ERROR, &why);
        return exit_of(err);
    }
    say_done(&result, output.wanted);
    return EXIT_FINE;
}

static int cmd_import(const struct command_call *call)
{
    struct import_command options = {0};
    char **arguments;
    int count, code;
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = import(arguments[0], &options);
    mem_free(arguments);
    return code;
}

static const struct option option_table[] = {
    {"output", 'o', OPT_FILE, offsetof(struct import_command, output), "FILE",
     "the database to make (tidemark.DATE-TIME-PID.db)", NULL, 0},
    {"all-frames", 0, OPT_FLAG, offsetof(struct import_command, all_frames), NULL,
     "keep the frames of C, C++ and operators in call stacks\nthat have frames of Python", NULL, 0},
    {0},
};

#define FORMAT(name, plain, about, example, note) +1
static_assert(0
#include "formats.def"
                  <= COMMAND_EXAMPLES,
              "each format has an example");
#undef FORMAT

const struct command command_import = {
    .name = "import",
    .group = COMMAND_RECORD,
    .run = cmd_import,
    .summary = "make a recording of another tool's file",
    .arguments = "FILE",
    .takes = TAKES_FILE,
    .options = option_table,
    .least = 1,
    .most = 1,
    .description =
        "Makes a database of a file that another tool wrote, as if it had been recorded. The first "
        "bytes of the file say which kind it is, not its name.\n"
        "\n"
#define FORMAT(name, plain, about, example, note) about "\n\n"
#include "formats.def"
#undef FORMAT
        "All but SQLite may be compressed by gzip.",
    .examples =
        {
#define FORMAT(name, plain, about, example, note) {example, note},
#include "formats.def"
#undef FORMAT
        },
};
