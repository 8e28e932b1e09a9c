#include "merge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "derive.h"
#include "error.h"
#include "mem.h"
#include "merge_types.h"

const char *merge_way_text(enum merge_way way)
{
    static const char *const texts[MERGE_WAYS] = {
        [MERGE_WAY_FIRST] = "first",
        [MERGE_WAY_SAME] = "same clock",
        [MERGE_WAY_COLLECTIVES] = "collectives",
        [MERGE_WAY_CALENDAR] = "calendar",
        [MERGE_WAY_BEGIN] = "begin",
    };
    return texts[way];
}

/* ---- what went wrong ---- */

__attribute__((format(printf, 2, 0))) static void print(struct merge_result *result,
                                                        const char *format, va_list args)
{
    if (!*result->message)
        vsnprintf(result->message, sizeof result->message, format, args);
}

int merge_say(struct merge *merge, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print(merge->result, format, args);
    va_end(args);
    return err;
}

int merge_input_failed(struct merge *merge, const struct merge_input *input, struct db *db, int err)
{
    const char *detail = *db_message(db) ? db_message(db) : base_err_text(err);
    if (err == ERR_CORRUPT)
        return merge_damaged(merge, input, "%.300s", detail);
    return merge_say(merge, err, "%s: %.300s", input->path, detail);
}

int merge_out_failed(struct merge *merge, int err)
{
    merge->result->wrote = true;
    return merge_say(merge, err, "%s: %.300s", merge->options->output,
                     merge->out && *db_message(merge->out) ? db_message(merge->out)
                                                           : base_err_text(err));
}

int merge_damaged(struct merge *merge, const struct merge_input *input, const char *format, ...)
{
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    merge->result->damaged = input->path;
    return merge_say(merge, ERR_CORRUPT, "%s is damaged: %s", input->path, text);
}

/* ---- the steps ---- */

static int begin(struct merge *merge)
{
    const struct merge_options *options = merge->options;
    merge->inputs = mem_alloc(options->count, sizeof *merge->inputs);
    merge->result->told = mem_alloc(options->count, sizeof *merge->result->told);
    if (!merge->inputs || !merge->result->told)
        return ERR_NOMEM;
    for (size_t i = 0; i < options->count; i++)
        merge->inputs[i].path = options->paths[i];
    int err = db_create(&merge->out, options->output);
    if (err < 0) {
        merge->result->wrote = true;
        return merge_say(merge, err, "%s", db_open_message());
    }
    err = spool_open(&merge->spool, options->output);
    return err < 0 ? merge_out_failed(merge, err) : 0;
}

static int read_inputs(struct merge *merge)
{
    int err = merge_out_begin(merge);
    for (size_t i = 0; i < merge->options->count && err == 0; i++) {
        struct merge_input *input = &merge->inputs[i];
        err = merge_read(merge, input);
        if (input->side.run_ns < input->last_ns)
            input->side.run_ns = input->last_ns;
    }
    return err < 0 ? err : merge_out_end(merge);
}

/* Sides stand together while they are aligned. */
static int align(struct merge *merge)
{
    size_t count = merge->options->count;
    struct clock_side *sides = mem_alloc(count, sizeof *sides);
    if (!sides)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        sides[i] = merge->inputs[i].side;
    int err = clock_align(sides, count);
    for (size_t i = 0; i < count; i++)
        merge->inputs[i].side = sides[i];
    mem_free(sides);
    return err;
}

static int put_in_order(struct merge *merge)
{
    size_t count = merge->options->count;
    struct turns_input *inputs = mem_alloc(count, sizeof *inputs);
    if (!inputs)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        struct merge_input *input = &merge->inputs[i];
        inputs[i] = (struct turns_input){
            .side = &input->side,
            .events = &input->events,
            .last_seq = input->last_seq,
            .map = &input->order,
        };
        merge->result->blocks += input->rows[MERGE_TABLE_allocation].count;
    }
    int err = turns_make(&merge->spool, inputs, count, &merge->result->events);
    mem_free(inputs);
    return err;
}

static int derive(struct merge *merge)
{
    struct derive_options options = {.facts = merge->out,
                                     .out = merge->out,
                                     .blocks_whole = true,
                                     .segments_whole = true,
                                     .curve_whole = true};
    struct derive_result result;
    bool from_out;
    for (size_t i = 0; i < merge->options->count; i++)
        options.blocks_whole = options.blocks_whole && !merge->inputs[i].damaged;
    int err = derive_rebuild(&options, &result, &from_out);
    return err < 0 ? merge_out_failed(merge, err) : 0;
}

static int finish(struct merge *merge)
{
    int err = db_checkpoint(merge->out, true);
    if (err >= 0)
        err = db_single_file(merge->out);
    return err < 0 && err != ERR_BUSY ? merge_out_failed(merge, err) : 0;
}

static int run(struct merge *merge)
{
    int (*const steps[])(struct merge *) = {
        begin,        read_inputs, merge_check,       merge_find_jobs, align,
        put_in_order, merge_write, merge_write_facts, derive,          finish,
    };
    int err = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && err == 0; i++)
        err = steps[i](merge);
    return err < 0 ? merge_say(merge, err, "%s", base_err_text(err)) : 0;
}

/* ---- the end ---- */

static void clear_input(struct merge_input *input)
{
    for (int i = 0; i < MERGE_TABLES; i++)
        spool_stream_clear(&input->rows[i].stream);
    for (int kind = 0; kind < CLOCK_KINDS; kind++)
        clock_clear(&input->side.meetings[kind]);
    for (int kind = 0; kind < MERGE_KINDS; kind++)
        map_clear(&input->names[kind]);
    spool_stream_clear(&input->events);
    turns_clear(&input->order);
    mem_free(input->host);
    mem_free(input->argv);
    mem_free(input->inode);
    mem_free(input->ranks);
}

static void clear(struct merge *merge)
{
    for (size_t i = 0; merge->inputs && i < merge->options->count; i++)
        clear_input(&merge->inputs[i]);
    mem_free(merge->inputs);
    intern_clear(&merge->names.strings);
    intern_clear(&merge->names.frames);
    intern_clear(&merge->names.sites);
    intern_clear(&merge->names.tags);
    intern_clear(&merge->names.modules);
    merge_clear_facts(merge);
    spool_close(&merge->spool);
    if (merge->out && db_in_transaction(merge->out))
        db_rollback(merge->out);
    db_close(merge->out);
}

int merge_files(const struct merge_options *options, struct merge_result *result)
{
    struct merge merge = {.options = options, .result = result, .spool = {.file = -1}};
    *result = (struct merge_result){0};
    int err = run(&merge);
    clear(&merge);
    return err;
}

void merge_result_clear(struct merge_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        mem_free(result->told[i].host);
    mem_free(result->told);
    *result = (struct merge_result){0};
}
