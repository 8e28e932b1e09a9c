/*
 * tidemark fit: how much memory the recorded run needs, by doing it again.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "rehearsed.h"
#include "error.h"
#include "fatbin.h"
#include "fit_print.h"
#include "mem.h"
#include "peak.h"
#include "workers.h"

static_assert((int)FIT_TRIED < (int)FIT_ROWS, "and the row of the wanted memory");

enum { UNIT_FORGOTTEN = 1 << 20, MOST_GIB = 4096 }; /* bytes: no run fits, a card has more */

/* ---- one process on one device ---- */

/* The memory under which garbage collection is looked at; 0 = there is none to name. */
static uint64_t ceiling_of(const struct fit_part *part)
{
    const struct replay_trace *trace = &part->fit.trace;
    uint64_t reserve = (uint64_t)fit_reserve(part);
    uint64_t memory = (uint64_t)part->options->memory;
    if (part->options->memory != REPORT_ANY)
        return memory > reserve ? memory - reserve : 0;
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

/* ---- what was refused ---- */

static int read_ended(struct fit_part *part)
{
    struct db *db = part->report->db;
    struct fit_ended *ended = &part->ended;
    int64_t process = part->scope->process.id, device = part->scope->device;
    struct fit_need need;
    int err = oom_read_newest(db, process, device, INT64_MIN, INT64_MAX, 1, &ended->oom);
    ended->is_refused = ended->oom.shown || part->fit.trace.refusals;
    ended->at_least = FIT_NONE;
    if (err < 0 || !ended->oom.shown)
        return err;
    const struct oom *oom = &ended->oom.failures[0];
    err = oom_went_on(db, process, device, oom->seq, &ended->went_on);
    if (err >= 0)
        err = fit_begin_refused(db, process, device, oom->seq, (uint64_t)oom->asked, &ended->until);
    if (err == ERR_NOTFOUND) /* a request of more than any device has */
        return 0;
    ended->is_replayed = err >= 0;
    if (err >= 0)
        err = fit_measure(&ended->until, &ended->until.recorded, 0, &need);
    if (err >= 0)
        ended->at_least = need.smallest;
    return err;
}

static char *copy_text(const char *text)
{
    return text ? mem_copy(text, strlen(text)) : NULL;
}

/* The request left no block that could say where it was. */
static int place_refusal(const struct oom *oom, struct fit_refusal *out)
{
    if (out->before || out->at_ns != FIT_NONE)
        return 0;
    out->allocation = oom->seq;
    out->at_ns = oom->at_ns;
    out->step = oom->step;
    out->phase = copy_text(oom->phase);
    out->site = copy_text(oom->shown);
    return (out->phase || !oom->phase) && (out->site || !oom->shown) ? 0 : ERR_NOMEM;
}

/* What fits up to the refusal and with it may still not fit behind it. */
static int judge_refused(struct fit_part *part, const struct alloc_config *asked, uint64_t memory,
                         struct fit_verdict *out, enum fit_answer *answer)
{
    struct fit_ended *ended = &part->ended;
    *answer = FIT_UNKNOWN;
    if (!ended->oom.shown)
        return 0;
    fit_verdict_clear(out);
    if (!ended->is_replayed) {
        *answer = FIT_DOES_NOT;
        out->fits = false;
        out->refusal.at_ns = FIT_NONE;
        return place_refusal(&ended->oom.failures[0], &out->refusal);
    }
    int err = fit_try(&ended->until, part->report->db, asked, memory, out);
    if (err >= 0 && !out->fits) {
        *answer = FIT_DOES_NOT;
        err = place_refusal(&ended->oom.failures[0], &out->refusal);
    }
    return err;
}

static int judge_memory(struct fit_part *part, const struct alloc_config *asked, int64_t memory,
                        struct fit_verdict *out, enum fit_answer *answer)
{
    *answer = FIT_DOES_NOT;
    if (memory <= 0)
        return 0;
    int err = fit_try(&part->fit, part->report->db, asked, (uint64_t)memory, out);
    if (err < 0 || !out->fits)
        return err;
    *answer = FIT_FITS;
    if (part->ended.is_refused)
        return judge_refused(part, asked, (uint64_t)memory, out, answer);
    if (part->fit.trace.cpu && part->options->reserve == REPORT_ANY)
        *answer = FIT_UNKNOWN;
    return 0;
}

static int read_rehearsed(struct fit_part *part)
{
    struct rehearsed rehearsed;
    int err = rehearsed_read(part->report->db, &rehearsed);
    snprintf(part->targets, sizeof part->targets, "%s", rehearsed.targets);
    part->context = rehearsed.is_one && !part->fit.trace.cpu ? rehearsed.context : FIT_NONE;
    return err;
}

static void judge_kernels(const struct fit_part *part, size_t card, enum fit_answer *answer)
{
    const struct capability *gpu = part->options->cards.list[card].profile.capability;
    if (fatbin_written_lacks(part->targets, gpu->major, gpu->minor))
        *answer = FIT_NO_KERNELS;
}

static int judge_cards(struct fit_part *part, const struct alloc_config *asked)
{
    const struct gpu_cards *cards = &part->options->cards;
    int err = 0;
    for (size_t i = 0; i < cards->count && err >= 0; i++) {
        struct fit_verdict verdict = {0};
        int64_t room = gpu_card_room(&cards->list[i].profile, fit_reserve(part));
        err = judge_memory(part, asked, room, &verdict, &part->answers[i]);
        fit_verdict_clear(&verdict);
        judge_kernels(part, i, &part->answers[i]);
    }
    return err;
}

/* Of a CPU's recording it is not known what a GPU's context and libraries would take: what does not
 * fit without them does not fit, and what fits without them fits if they need less than the rest.
 */
static int judge(struct fit_part *part, const struct alloc_config *asked)
{
    if (part->options->cards.several)
        return judge_cards(part, asked);
    if (part->options->memory == REPORT_ANY)
        return 0;
    int err = judge_memory(part, asked, (int64_t)ceiling_of(part), &part->result, &part->answer);
    if (part->options->gpu)
        judge_kernels(part, 0, &part->answer);
    return err;
}

/* A bit for each thing that is said once, however many processes it is true of. */
enum note {
    NOTE_CPU = 1 << 0,
    NOTE_OTHERS = 1 << 1,
    NOTE_NO_SEGMENTS = 1 << 2,
    NOTE_UNKNOWN = 1 << 3,
    NOTE_NOT_IN = 1 << 4,
    NOTE_KERNELS = 1 << 5,
    NOTE_TORCH = 1 << 6
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
    const struct fit_ended *ended = &part->ended;
    int64_t count = ended->oom.count ? ended->oom.count : (int64_t)part->fit.trace.refusals;
    if (!ended->is_refused)
        return;
    emit_warning(emit,
                 "process %lld, %s: %lld request%s refused%s: what the run would have needed "
                 "is not known, the smallest memory is a lower bound",
                 (long long)part->scope->process.id, part->scope->device_text, (long long)count,
                 count == 1 ? " was" : "s were",
                 ended->went_on || !ended->oom.shown ? "" : ", and the recording ended at that");
}

static bool knows_context(const struct fit_part *part)
{
    return part->options->gpu || part->context != FIT_NONE;
}

static void note_all(struct emit *emit, const struct fit_part *part, unsigned *said)
{
    note_addresses(emit, part, said);
    note_refusals(emit, part);
    if (*part->fit.conf_trouble)
        emit_warning(emit, "the recorded settings are replayed as the default: %s",
                     part->fit.conf_trouble);
    if (part->options->cards.several && is_new(said, NOTE_KERNELS))
        emit_note(emit, "the requests are those of the GPU that was recorded: kernels of another "
                        "capability may ask for more; tidemark plan --gpu rehearses each");
    if (part->version_count && is_new(said, NOTE_TORCH))
        emit_note(emit, "of another version only the rules of its allocator are replayed: its "
                        "operators may request other sizes");
    bool on_cpu = part->fit.trace.cpu && part->options->reserve == REPORT_ANY;
    bool asked = part->answer != FIT_NOT_ASKED || part->options->cards.several;
    if (asked && on_cpu && part->answer != FIT_DOES_NOT && is_new(said, NOTE_UNKNOWN))
        emit_note(emit, "not in a CPU recording: the CUDA context, the workspaces of libraries, "
                        "other kernels; --reserve SIZE sets memory aside for them");
    else if (knows_context(part) && part->options->reserve == REPORT_ANY &&
             is_new(said, NOTE_NOT_IN))
        emit_note(emit,
                  "not counted: buffers of libraries and other processes; --reserve SIZE adds "
                  "them");
    else if (fit_reserve(part) == 0 && !knows_context(part) && is_new(said, NOTE_NOT_IN))
        emit_note(emit,
                  "not counted: context, libraries and other processes; --reserve SIZE adds them");
}

static int read_highest(struct fit_part *part)
{
    struct peak peak;
    int err = peak_find(part->report->db, part->scope->process.id, part->scope->device, INT64_MIN,
                        INT64_MAX, &peak);
    part->highest = err >= 0 && peak.found ? peak.allocated : FIT_NONE;
    peak_clear(&peak);
    return err;
}

/* --settings are read by the policy of the record, which may know fewer of them. */
static int read_asked(const struct fit_part *part, struct alloc_config *asked)
{
    *asked = part->fit.recorded;
    if (!part->options->settings)
        return 0;
    alloc_config_default(asked);
    asked->policy = part->fit.recorded.policy;
    asked->policy.missing = 0;
    return alloc_config_parse(asked, part->options->settings, NULL, 0);
}

static int load(struct fit_part *part)
{
    struct alloc_config asked;
    int err = fit_begin(part->report->db, part->scope->process.id, part->scope->device, &part->fit);
    part->loaded = err >= 0 && part->fit.trace.block_count > 0;
    if (!part->loaded)
        return err;
    err = read_rehearsed(part); /* before whatever asks for fit_reserve() */
    part->fit.aside = (uint64_t)fit_reserve(part);
    if (err >= 0)
        err = read_asked(part, &asked);
    if (err >= 0)
        err = read_ended(part);
    if (err >= 0)
        err = measure_all(part, &asked);
    if (err >= 0)
        err = fit_torch_measure(part, &asked, asked_text(part), ceiling_of(part));
    if (err >= 0)
        err = judge(part, &asked);
    if (err >= 0)
        err = read_highest(part);
    return err;
}

/* ---- the command ---- */

/* The host's own memory is not what a run on a GPU has to fit into. */
static bool is_skipped(const struct report *report, const struct report_scope *scope)
{
    if (report->options->device || !report_is_host(scope))
        return false;
    for (size_t i = 0; i < report->scope_count; i++)
        if (!report_is_host(&report->scopes[i]))
            return true;
    return false;
}

/* Of several GPUs one is enough. */
static bool is_well(const struct fit_part *part)
{
    for (size_t i = 0; part->loaded && i < part->options->cards.count; i++)
        if (part->options->cards.several && part->answers[i] == FIT_FITS)
            return true;
    bool several = part->loaded && part->options->cards.several;
    return !several && (part->answer == FIT_FITS || part->answer == FIT_NOT_ASKED);
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
        *fits = *fits && is_well(&parts[i]);
    }
    if (err >= 0 && !any)
        report_nothing(report);
    if (err >= 0)
        fit_print(report, parts, count);
    for (size_t i = 0; i < count && parts; i++) {
        if (err >= 0 && parts[i].loaded)
            note_all(&report->emit, &parts[i], &said);
        fit_verdict_clear(&parts[i].result);
        fit_torch_clear(&parts[i]);
        fit_clear(&parts[i].fit);
        fit_clear(&parts[i].ended.until);
        ooms_clear(&parts[i].ended.oom);
    }
    mem_free(parts);
    *fits = *fits && (any || (options->memory == REPORT_ANY && !options->gpu));
    return err;
}

/* One GPU gives its memory, unless --memory says how much, and its context. */
static int read_gpu(const struct command_call *call, struct fit_options *options)
{
    char why[256];
    struct gpu_cards *cards = &options->cards;
    if (!options->gpu)
        return 0;
    if (gpu_cards_read(options->gpu, cards, why, sizeof why) != BASE_OK)
        return command_misused(call->command, "--gpu: %s", why);
    if (cards->several && options->memory != REPORT_ANY)
        return command_misused(call->command, "--memory goes with one GPU, not with several");
    if (cards->several)
        return 0;
    options->context = (int64_t)cards->list[0].profile.context;
    if (options->memory == REPORT_ANY)
        options->memory = (int64_t)cards->list[0].profile.memory;
    int64_t reserve = options->reserve == REPORT_ANY ? 0 : options->reserve;
    if (options->memory <= options->context + reserve)
        return command_misused(call->command, "of the memory the CUDA context%s nothing",
                               reserve ? " and --reserve leave" : " leaves");
    return 0;
}

static int check(const struct command_call *call, struct fit_options *options)
{
    char why[160] = "";
    struct alloc_config given;
    alloc_config_default(&given);
    if (options->settings && alloc_config_parse(&given, options->settings, why, sizeof why) < 0)
        return command_misused(call->command, "--settings: %s", why);
    if (options->torch && !fit_torch_read(options->torch, &options->releases, why, sizeof why))
        return command_misused(call->command, "--torch: %s", why);
    if (options->memory == 0)
        return command_misused(call->command, "--memory must be more than nothing");
    if (options->memory > 0 && options->memory <= UNIT_FORGOTTEN)
        return command_misused(
            call->command, "--memory %" PRId64 " is bytes: was --memory %" PRId64 "%s meant?",
            options->memory, options->memory, options->memory <= MOST_GIB ? "GiB" : "MiB");
    if (options->memory != REPORT_ANY && options->reserve >= options->memory)
        return command_misused(call->command, "--reserve leaves nothing of --memory");
    return read_gpu(call, options);
}

static int cmd_fit(const struct command_call *call)
{
    static struct fit_options options;
    struct report report;
    char **arguments;
    int count, code;
    bool fits = true;

    if (gpu_cards_is_list(call->argc, call->argv))
        return gpu_cards_print(call->command->name);
    options =
        (struct fit_options){.common = REPORT_OPTIONS, .memory = REPORT_ANY, .reserve = REPORT_ANY};
    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = check(call, &options);
    if (!code)
        code = report_begin(&report, call->command, &options.common, count ? arguments[0] : NULL);
    mem_free(arguments);
    if (code)
        return code;
    /* Whether all of them fit is asked of all of them. */
    bool judges = options.memory != REPORT_ANY || options.cards.several;
    int err = judges ? 0 : workers_fold(&report);
    if (err >= 0)
        err = put_all(&report, &options, &fits);
    code = report_end(&report, err);
    return code == EXIT_FINE && !fits ? EXIT_CHECK_FAILED : code;
}

static const struct option option_table[] = {
    {"memory", 'm', OPT_SIZE, offsetof(struct fit_options, memory), "SIZE",
     "does it fit in that much, such as 24GiB; where not,\nthe first request that is refused", NULL,
     0},
    {"gpu", 'g', OPT_TEXT, offsetof(struct fit_options, gpu), "NAME",
     "does it fit that GPU, less its CUDA context; several:\nt4,l4,a10; all: each; list: the names",
     NULL, 0},
    {"reserve", 0, OPT_SIZE, offsetof(struct fit_options, reserve), "SIZE",
     "of the memory, what the allocator does not get: the\ncontext, libraries, other processes",
     NULL, 0},
    {"table", 't', OPT_FLAG, offsetof(struct fit_options, table), NULL,
     "compare with other settings of the allocator", NULL, 0},
    {"settings", 0, OPT_TEXT, offsetof(struct fit_options, settings), "STRING",
     "replay with these, as PYTORCH_CUDA_ALLOC_CONF has\nthem, not with those recorded", NULL, 0},
    {"torch", 0, OPT_TEXT, offsetof(struct fit_options, torch), "VERSION",
     "replay by the rules of other versions of PyTorch, such\nas 2.6,2.9; all: each", NULL, 0},
    REPORT_OPTION_PROCESS,
    REPORT_OPTION_RANK,
    REPORT_OPTION_DEVICE,
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
        "the recorded settings, to say how many addresses come out as recorded: the more, the "
        "closer the other figures are to the run. Then with less and less memory: the smallest "
        "memory is the least in which no request was refused, found by bisection in steps of "
        "2 MiB.\n"
        "\n"
        "With --memory the exit status is 0 if the run fits, and 1 if it does not or if that "
        "depends on what a CPU recording does not have: memory of the CUDA context and of "
        "libraries, or on what followed a request that was refused. --reserve sets memory aside "
        "for them; --gpu takes the GPU's memory, less what its CUDA context takes, as 'tidemark "
        "plan' does. Of a rehearsal --memory takes off the context of the GPU that it stood in "
        "for, as 'tidemark rehearse --memory' does. There is no --steps: what a step finds "
        "in the cache is left there by all "
        "steps before it.\n"
        "\n"
        "With --torch the run is replayed by the allocation rules of other versions of PyTorch. "
        "A row for each has its smallest memory, and the first request that it places differently "
        "from the recorded version, with the rule that differs. Of the other version only the "
        "allocator is replayed, not its operators.\n"
        "\n"
        "In csv and json these are the sections fit, memory, pins, gpus, settings and torch.",
    .examples =
        {
            {"tidemark fit", "the newest recording in this folder"},
            {"tidemark fit run.db --memory 24GiB --reserve 1GiB", "would it run on a smaller card"},
            {"tidemark fit run.db --gpu all", "on which GPUs would it run"},
            {"tidemark fit run.db --table", "what other settings would change"},
            {"tidemark fit run.db --torch 2.6,2.14", "what another PyTorch would change"},
        },
};
