/*
 * tidemark fit: how much memory the recorded run needs, by doing it again.
 */
#include <stddef.h>
#include <string.h>

#include "error.h"
#include "fit_print.h"
#include "mem.h"
#include "workers.h"

static_assert((int)FIT_TRIED < (int)FIT_ROWS, "and the row of what is asked for");

/* ---- one process on one device ---- */

/* The memory under which garbage collection is looked at; 0 = there is none to name. */
static uint64_t ceiling_of(const struct fit_part *part)
{
    const struct replay_trace *trace = &part->fit.trace;
    uint64_t reserve = (uint64_t)fit_reserve(part);
    if (part->options->memory != REPORT_ANY)
        return (uint64_t)part->options->memory - reserve;
    if (trace->limit)
        return trace->limit;
    return trace->total > reserve ? trace->total - reserve : 0;
}

static int measure(struct fit_part *part, const struct alloc_config *config, const char *text)
{
    struct fit_row *row = &part->rows[part->row_count];
    row->text = text;
    alloc_config_format(config, row->conf, sizeof row->conf);
    for (size_t i = 0; i < part->row_count; i++)
        if (strcmp(part->rows[i].conf, row->conf) == 0)
            return 0;
    part->row_count++;
    return fit_measure(&part->fit, config, ceiling_of(part), &row->need);
}

/* The record's own words, unless they mean nothing to us. */
static const char *asked_text(const struct fit_part *part)
{
    const struct fit *fit = &part->fit;
    if (part->options->settings)
        return part->options->settings;
    return fit->trace.conf && !*fit->conf_trouble ? fit->trace.conf : "";
}

static int measure_all(struct fit_part *part, const struct alloc_config *asked)
{
    int err = measure(part, asked, asked_text(part));
    for (size_t i = 0; i < FIT_TRIED && part->options->table && err >= 0; i++) {
        struct alloc_config config;
        alloc_config_default(&config);
        err = alloc_config_parse(&config, fit_tried[i], NULL, 0);
        if (err >= 0)
            err = measure(part, &config, fit_tried[i]);
    }
    return err;
}

/* Of a CPU's recording it is not known what a GPU's context and libraries would take: what does not
 * fit without them does not fit, and what fits without them fits if they need less than the rest.
 */
static int judge(struct fit_part *part, const struct alloc_config *asked)
{
    const struct fit_options *options = part->options;
    if (options->memory == REPORT_ANY)
        return 0;
    int err = fit_try(&part->fit, part->report->db, asked, ceiling_of(part), &part->result);
    part->answer = part->result.fits ? FIT_FITS : FIT_DOES_NOT;
    if (part->result.fits && part->fit.trace.cpu && options->reserve == REPORT_ANY)
        part->answer = FIT_UNKNOWN;
    return err;
}

/* A bit for each thing that is said once, however many processes it is true of. */
enum note {
    NOTE_CPU = 1 << 0,
    NOTE_OTHERS = 1 << 1,
    NOTE_NO_SEGMENTS = 1 << 2,
    NOTE_UNKNOWN = 1 << 3,
    NOTE_NOT_IN = 1 << 4
};

static bool is_new(unsigned *said, enum note which)
{
    bool first = !(*said & which);
    *said |= which;
    return first;
}

static void note_addresses(struct emit *emit, const struct fit_part *part, unsigned *said)
{
    const struct fit *fit = &part->fit;
    const char *allocator = fit->trace.allocator;
    if (fit->trace.settings_changed && fit_address_match(fit) < 1)
        emit_warning(emit,
                     "process %lld, %s: settings changed at times not recorded: the last are used",
                     (long long)part->scope->process.id, part->scope->device_text);
    else if (fit->compared && fit_address_match(fit) < 0.5)
        emit_warning(emit,
                     "process %lld, %s: most addresses differ: another policy, or other settings",
                     (long long)part->scope->process.id, part->scope->device_text);
    if (fit->compared)
        return;
    if (fit->trace.cpu && is_new(said, NOTE_CPU))
        emit_note(emit, "no addresses are compared: a CPU's allocator gave them, "
                        "not PyTorch's policy");
    else if (!fit->trace.cpu && allocator && is_new(said, NOTE_OTHERS))
        emit_note(emit, "no addresses are compared: %s gave them, not PyTorch's policy", allocator);
    else if (!fit->trace.cpu && !allocator && is_new(said, NOTE_NO_SEGMENTS))
        emit_note(emit, "no addresses are compared: the record has no segments");
}

/* A request that was refused left no block, so the replay does not make it. */
static void note_refusals(struct emit *emit, const struct fit_part *part)
{
    const struct fit *fit = &part->fit;
    if (fit->trace.refusals)
        emit_warning(emit,
                     "process %lld, %s: %llu request%s refused in this run and not replayed: the "
                     "smallest memory is a lower bound",
                     (long long)part->scope->process.id, part->scope->device_text,
                     (unsigned long long)fit->trace.refusals,
                     fit->trace.refusals == 1 ? " was" : "s were");
}

static void note_all(struct emit *emit, const struct fit_part *part, unsigned *said)
{
    note_addresses(emit, part, said);
    note_refusals(emit, part);
    if (*part->fit.conf_trouble)
        emit_warning(emit, "the recorded settings are replayed as the default: %s",
                     part->fit.conf_trouble);
    if (part->answer == FIT_UNKNOWN && is_new(said, NOTE_UNKNOWN))
        emit_note(emit, "not in a CPU recording: the CUDA context, the workspaces of libraries, "
                        "other kernels; --reserve SIZE sets memory aside for them");
    if (part->answer != FIT_UNKNOWN && fit_reserve(part) == 0 && is_new(said, NOTE_NOT_IN))
        emit_note(emit,
                  "not in it: context, libraries and other processes; --reserve SIZE adds them");
}

static int load(struct fit_part *part)
{
    const struct alloc_config *asked;
    int err = fit_begin(part->report->db, part->scope->process.id, part->scope->device, &part->fit);
    part->loaded = err >= 0 && part->fit.trace.block_count > 0;
    if (!part->loaded)
        return err;
    asked = part->options->settings ? &part->options->given : &part->fit.recorded;
    err = measure_all(part, asked);
    if (err >= 0)
        err = judge(part, asked);
    return err;
}

/* ---- the command ---- */

/* The host's own memory is not what a run on a GPU has to fit into. */
static bool is_skipped(const struct report *report, const struct report_scope *scope)
{
    if (report->options->device || strcmp(scope->device_text, "cpu") != 0)
        return false;
    for (size_t i = 0; i < report->scope_count; i++)
        if (strcmp(report->scopes[i].device_text, "cpu") != 0)
            return true;
    return false;
}

static int put_all(struct report *report, const struct fit_options *options, bool *fits)
{
    size_t count = report->scope_count;
    struct fit_part *parts = mem_alloc(count + 1, sizeof *parts);
    int err = parts ? 0 : ERR_NOMEM;
    unsigned said = 0;
    bool any = false;
    *fits = true;
    for (size_t i = 0; i < count && err >= 0; i++) {
        parts[i] =
            (struct fit_part){.report = report, .options = options, .scope = &report->scopes[i]};
        if (!is_skipped(report, &report->scopes[i]))
            err = load(&parts[i]);
        any = any || parts[i].loaded;
        *fits = *fits && parts[i].answer != FIT_DOES_NOT && parts[i].answer != FIT_UNKNOWN;
    }
    if (err >= 0 && !any)
        report_nothing(report);
    if (err >= 0)
        fit_print(report, parts, count);
    for (size_t i = 0; i < count && parts; i++) {
        if (err >= 0 && parts[i].loaded)
            note_all(&report->emit, &parts[i], &said);
        fit_verdict_clear(&parts[i].result);
        fit_clear(&parts[i].fit);
    }
    mem_free(parts);
    *fits = *fits && (any || options->memory == REPORT_ANY);
    return err;
}

static int check(const struct command_call *call, struct fit_options *options)
{
    char why[160] = "";
    alloc_config_default(&options->given);
    if (options->settings &&
        alloc_config_parse(&options->given, options->settings, why, sizeof why) < 0)
        return command_misused(call->command, "--settings: %s", why);
    if (options->memory == 0)
        return command_misused(call->command, "--memory must be more than nothing");
    if (options->memory != REPORT_ANY && options->reserve >= options->memory)
        return command_misused(call->command, "--reserve leaves nothing of --memory");
    return 0;
}

static int cmd_fit(const struct command_call *call)
{
    struct fit_options options = {
        .common = REPORT_OPTIONS, .memory = REPORT_ANY, .reserve = REPORT_ANY};
    struct report report;
    char **arguments;
    int count, code;
    bool fits = true;

    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = check(call, &options);
    if (!code)
        code = report_begin(&report, call->command, &options.common, count ? arguments[0] : NULL);
    mem_free(arguments);
    if (code)
        return code;
    /* Whether all of them fit is asked of all of them. */
    int err = options.memory == REPORT_ANY ? workers_fold(&report) : 0;
    if (err >= 0)
        err = put_all(&report, &options, &fits);
    code = report_end(&report, err);
    return code == EXIT_FINE && !fits ? EXIT_CHECK_FAILED : code;
}

static const struct option option_table[] = {
    {"memory", 'm', OPT_SIZE, offsetof(struct fit_options, memory), "SIZE",
     "does it fit in that much, such as 24GiB; where not,\nthe first request that is refused", NULL,
     0},
    {"reserve", 0, OPT_SIZE, offsetof(struct fit_options, reserve), "SIZE",
     "of the memory, what the allocator does not get: the\ncontext, libraries, other processes",
     NULL, 0},
    {"table", 't', OPT_FLAG, offsetof(struct fit_options, table), NULL,
     "compare with other settings of the allocator", NULL, 0},
    {"settings", 0, OPT_TEXT, offsetof(struct fit_options, settings), "STRING",
     "replay with these, as PYTORCH_CUDA_ALLOC_CONF has\nthem, not with those recorded", NULL, 0},
    REPORT_OPTION_PROCESS,
    REPORT_OPTION_RANK,
    {"device", 'd', OPT_TEXT, REPORT_AT(device), "NAME", "only this device, such as cpu or cuda:0",
     NULL, 0},
    REPORT_OPTION_FORMAT,
    REPORT_OPTION_NO_COLOR,
    {0},
};

const struct command command_fit = {
    .name = "fit",
    .group = COMMAND_ASK,
    .run = cmd_fit,
    .thinned = "blocks",
    .summary = "the smallest GPU memory that this run fits in, by replay",
    .arguments = "[DATABASE]",
    .options = option_table,
    .judges = true,
    .most = 1,
    .description =
        "Replays the recorded requests and frees through PyTorch's allocation policy. First with "
        "the recorded settings, to say how many addresses come out as recorded: so far the rest "
        "can be believed. Then with less and less memory, for the smallest that survives; it is "
        "the smallest that bisection found in steps of 2 MiB.\n"
        "\n"
        "With --memory the exit status is 0 if the run fits, and 1 if it does not or if that "
        "depends on what a CPU recording does not have: memory of the CUDA context and of "
        "libraries. --reserve sets memory aside for them. There is no --steps: what a step finds "
        "in the cache is left there by all "
        "steps before it.\n"
        "\n"
        "In csv and json these are the sections fit, memory, pins and settings.",
    .examples =
        {
            {"tidemark fit", "the newest recording in this folder"},
            {"tidemark fit run.db --memory 24GiB --reserve 1GiB", "would it run on a smaller card"},
            {"tidemark fit run.db --table", "what other settings would change"},
        },
};
