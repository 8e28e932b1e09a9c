#include "fit_print.h"

#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "fit_sections.h"
#include "human.h"

struct emit *fit_emit(const struct fit_part *part)
{
    return &part->report->emit;
}

void fit_put_scope(const struct fit_part *part)
{
    emit_int(fit_emit(part), part->scope->process.id);
    emit_text(fit_emit(part), part->scope->device_text);
}

void fit_put_buf(struct emit *emit, struct buf *text)
{
    emit_text(emit, buf_string(text));
    emit->out.broken = emit->out.broken || text->broken;
    buf_clear(text);
}

/* Of --gpu, else that of a rehearsal; 0: none is known, or none is taken off. */
int64_t fit_context_off(const struct fit_part *part)
{
    const struct fit_options *options = part->options;
    if (options->gpu || options->memory == REPORT_ANY || part->context == FIT_NONE)
        return options->context;
    return part->context;
}

int64_t fit_reserve(const struct fit_part *part)
{
    int64_t reserve = part->options->reserve == REPORT_ANY ? 0 : part->options->reserve;
    return reserve + fit_context_off(part);
}

/* The smallest memory of the settings in force, or the lower bound; without what is set aside. */
int64_t fit_least_of(const struct fit_part *part)
{
    int64_t smallest = part->rows[0].need.smallest, least = part->ended.at_least;
    return part->ended.is_refused && least != FIT_NONE && least > smallest ? least : smallest;
}

int64_t fit_smallest_of(const struct fit_part *part, const struct fit_need *need)
{
    return need->smallest == FIT_NONE ? FIT_NONE : need->smallest + fit_reserve(part);
}

static const char *conf_text(const char *conf)
{
    return *conf ? conf : "default";
}

/* ---- the replay ---- */

static const struct emit_column replay_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "smallest memory", EMIT_TEXT, EMIT_PEOPLE},
    {"settings", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"limit", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"sizes", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"allocations", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"adopted", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"adopted_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"address_match", NULL, EMIT_RATIO, EMIT_PROGRAMS},
    {"segment_match", NULL, EMIT_RATIO, EMIT_PROGRAMS},
    {"addresses_equal", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"segments_equal", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"segments", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"peak_allocated", "peak allocated", EMIT_BYTES, 0},
    {NULL, "in the run", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {"peak_reserved", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "peak reserved", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "reserved, no limit", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {"reserve", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"smallest", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"at_least", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "set aside", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "replayed", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "settings", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "as recorded", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "from before", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
};

static const char *sizes_text(const struct fit_part *part)
{
    static const char *const texts[] = {"requested", "block", "both"};
    return texts[replay_sizes(&part->fit.trace)];
}

static const char *settings_source(const struct fit_part *part)
{
    if (part->options->settings)
        return "";
    if (!part->fit.trace.conf)
        return ", not in the record";
    return *part->fit.conf_trouble ? ", in place of what was recorded" : ", as recorded";
}

static void put_ratio(struct emit *emit, double ratio)
{
    if (ratio < 0)
        emit_null(emit);
    else
        emit_real(emit, ratio);
}

static void put_replayed(const struct fit_part *part)
{
    static const char *const by[] = {
        "by what was requested",
        "by the sizes of their blocks: requests are not in the record",
        "by what was requested, where that is in the record",
    };
    char number[HUMAN_MAX];
    struct buf text = {0};
    buf_print(&text, "%s allocation%s, %s",
              human_count(number, (int64_t)part->fit.as_recorded.compared),
              part->fit.as_recorded.compared == 1 ? "" : "s", by[replay_sizes(&part->fit.trace)]);
    fit_put_buf(fit_emit(part), &text);
}

static void put_match(const struct fit_part *part)
{
    const struct replay_outcome *out = &part->fit.as_recorded;
    char equal[HUMAN_MAX], all[HUMAN_MAX];
    struct buf text = {0};
    if (!part->fit.compared) {
        emit_null(fit_emit(part));
        return;
    }
    buf_print(&text, "%s of %s addresses", human_count(equal, (int64_t)out->equal),
              human_count(all, (int64_t)out->compared));
    if (out->segments_recorded)
        buf_print(&text, ", %s of %s segments", human_count(equal, (int64_t)out->segments_equal),
                  human_count(all, (int64_t)out->segments_recorded));
    fit_put_buf(fit_emit(part), &text);
}

static void put_adopted(const struct fit_part *part)
{
    const struct replay_trace *trace = &part->fit.trace;
    char number[HUMAN_MAX], bytes[HUMAN_MAX];
    struct buf text = {0};
    if (!trace->living_adopted) {
        emit_null(fit_emit(part));
        return;
    }
    buf_print(&text, "%s block%s with %s were live before the recording began, %s",
              human_count(number, (int64_t)trace->living_adopted),
              trace->living_adopted == 1 ? "" : "s",
              human_bytes(bytes, (int64_t)trace->living_adopted_bytes),
              part->rows[0].need.anew ? "allocated again" : "taken over as they lay");
    fit_put_buf(fit_emit(part), &text);
}

static bool is_bound(const struct fit_part *part)
{
    return part->ended.is_refused && fit_least_of(part) != FIT_NONE;
}

/* "776 MiB, without the CUDA context"; "more than 17.8 GiB" where a request was refused. With what
 * is set aside, or with the context of a rehearsal, that is in it: which is said, for another
 * figure of the page has it, too. */
static void put_smallest_text(const struct fit_part *part)
{
    char bytes[HUMAN_MAX], context[HUMAN_MAX];
    struct buf text = {0};
    int64_t least = fit_least_of(part);
    if (least == FIT_NONE) {
        emit_null(fit_emit(part));
        return;
    }
    buf_print(&text, "%s%s", is_bound(part) ? "more than " : "",
              human_bytes(bytes, least + fit_reserve(part)));
    if (fit_reserve(part))
        buf_text(&text, ", with what is set aside");
    else if (part->context != FIT_NONE)
        buf_print(&text, "; with %s CUDA context %s", human_bytes(context, part->context),
                  human_bytes(bytes, least + part->context));
    else
        buf_text(&text, ", without the CUDA context");
    fit_put_buf(fit_emit(part), &text);
}

static void put_smallest(const struct fit_part *part)
{
    emit_known(fit_emit(part), fit_smallest_of(part, &part->rows[0].need));
    emit_known(fit_emit(part), is_bound(part) ? fit_least_of(part) + fit_reserve(part) : FIT_NONE);
}

/* Why the replay's peak is not that of the run. */
static const char *peak_reason(const struct fit_part *part)
{
    const struct fit *fit = &part->fit;
    if (part->options->settings)
        return "the replay has other settings";
    if (fit->trace.cpu)
        return "the replay rounds sizes as on a GPU, a CPU's allocator does not";
    if (!fit->compared && fit->trace.allocator)
        return "the replay rounds sizes as PyTorch does, the program's allocator otherwise";
    return "the replay does not come to the recorded blocks";
}

/* Where `tidemark peak` has another figure. */
static void put_highest(const struct fit_part *part)
{
    char replayed[HUMAN_MAX], recorded[HUMAN_MAX];
    struct buf text = {0};
    human_bytes(replayed, part->rows[0].need.peak_allocated);
    if (part->highest != FIT_NONE && strcmp(human_bytes(recorded, part->highest), replayed) != 0)
        buf_print(&text, "%s: %s", recorded, peak_reason(part));
    emit_text(fit_emit(part), text.count ? buf_string(&text) : NULL);
    fit_emit(part)->out.broken = fit_emit(part)->out.broken || text.broken;
    buf_clear(&text);
}

static void put_replay(const struct fit_part *part)
{
    struct emit *emit = fit_emit(part);
    const struct replay_trace *trace = &part->fit.trace;
    const struct replay_outcome *out = &part->fit.as_recorded;
    const struct fit_need *need = &part->rows[0].need;
    struct buf settings = {0};
    bool below = part->answer != FIT_NOT_ASKED;
    EMIT_SECTION(emit, "fit", below ? "Smallest memory, and peaks without a limit" : NULL,
                 EMIT_RECORD, replay_columns);
    fit_put_scope(part);
    put_smallest_text(part);
    emit_text(emit, part->rows[0].text);
    emit_known(emit, trace->limit ? (int64_t)trace->limit : FIT_NONE);
    emit_text(emit, sizes_text(part));
    emit_int(emit, (int64_t)out->compared);
    emit_int(emit, (int64_t)trace->living_adopted);
    emit_int(emit, (int64_t)trace->living_adopted_bytes);
    put_ratio(emit, fit_address_match(&part->fit));
    put_ratio(emit, fit_segment_match(&part->fit));
    emit_known(emit, part->fit.compared ? (int64_t)out->equal : FIT_NONE);
    emit_known(emit, part->fit.compared ? (int64_t)out->segments_equal : FIT_NONE);
    emit_known(emit, part->fit.compared ? (int64_t)out->segments_recorded : FIT_NONE);
    emit_int(emit, need->peak_allocated);
    put_highest(part);
    emit_int(emit, need->peak_reserved);
    emit_known(emit, trace->limit ? FIT_NONE : need->peak_reserved);
    emit_known(emit, trace->limit ? need->peak_reserved : FIT_NONE);
    emit_int(emit, fit_reserve(part));
    put_smallest(part);
    emit_known(emit, fit_reserve(part) ? fit_reserve(part) : FIT_NONE);
    put_replayed(part);
    buf_print(&settings, "%s%s", conf_text(part->rows[0].text), settings_source(part));
    fit_put_buf(emit, &settings);
    put_match(part);
    put_adopted(part);
}

/* ---- the table of settings ---- */

static const struct emit_column settings_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"peak_allocated", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"peak_reserved", "peak reserved", EMIT_BYTES, 0},
    {"smallest", NULL, EMIT_BYTES, 0},
    {"difference", NULL, EMIT_DELTA, EMIT_NONE},
    {"retries", NULL, EMIT_COUNT, 0},
    {"segments", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"settings", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "settings", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME},
};

static void put_settings(const struct fit_part *part)
{
    struct emit *emit = fit_emit(part);
    int64_t first = fit_smallest_of(part, &part->rows[0].need);
    if (!part->options->table)
        return;
    EMIT_SECTION(emit, "settings", "Smallest memory under other settings", EMIT_ROWS,
                 settings_columns);
    for (size_t i = 0; i < part->row_count; i++) {
        const struct fit_need *need = &part->rows[i].need;
        fit_put_scope(part);
        emit_int(emit, need->peak_allocated);
        emit_int(emit, need->peak_reserved);
        emit_known(emit, fit_smallest_of(part, need));
        emit_known(emit, i && fit_smallest_of(part, need) != FIT_NONE && first != FIT_NONE
                             ? fit_smallest_of(part, need) - first
                             : FIT_NONE);
        emit_int(emit, need->retries);
        emit_int(emit, need->segments);
        emit_text(emit, part->rows[i].text);
        emit_text(emit, conf_text(part->rows[i].text));
    }
}

/* ---- what keeps memory ---- */

static const struct emit_column pin_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"free_bytes", "free beside blocks", EMIT_BYTES, 0},
    {"bytes", "of blocks", EMIT_BYTES, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"step", "allocated in step", EMIT_PLAIN, EMIT_NONE},
    {"phase", NULL, EMIT_TEXT, EMIT_NONE},
    {"site", "call site", EMIT_TEXT, EMIT_IF_KNOWN | EMIT_NAME},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

static void put_pins(const struct fit_part *part)
{
    struct emit *emit = fit_emit(part);
    const struct fit_refusal *refusal = &part->result.refusal;
    if (part->answer != FIT_DOES_NOT || !refusal->pin_count)
        return;
    EMIT_SECTION(emit, "pins", "Blocks beside the largest holes", EMIT_ROWS, pin_columns);
    for (size_t i = 0; i < refusal->pin_count; i++) {
        const struct fit_pin *pin = &refusal->pins[i];
        fit_put_scope(part);
        emit_int(emit, pin->free_bytes);
        emit_int(emit, pin->bytes);
        emit_int(emit, pin->blocks);
        emit_known(emit, pin->step);
        emit_text(emit, pin->phase);
        emit_text(emit, pin->site);
        emit_known(emit, pin->site_id);
    }
}

/* ---- all of it ---- */

static const struct fit_section replay = FIT_SECTION("fit", replay_columns, put_replay);
static const struct fit_section pins = FIT_SECTION("pins", pin_columns, put_pins);
static const struct fit_section settings = FIT_SECTION("settings", settings_columns, put_settings);
static const struct fit_section torch = {"torch", fit_torch_columns, FIT_TORCH_COLUMNS,
                                         fit_torch_put};
static const struct fit_section *const sections[] = {
    &replay, &fit_section_memory, &pins, &fit_section_gpus, &settings, &torch};
enum { SECTIONS = sizeof sections / sizeof *sections };

void fit_print(struct report *report, const struct fit_part *parts, size_t count)
{
    bool people = report->emit.format == EMIT_TABLE;
    for (size_t i = 0; i < count && people; i++) {
        if (!parts[i].loaded)
            continue;
        report_heading(report, "Replay", parts[i].scope);
        fit_section_memory.put(&parts[i]); /* the answer first */
        for (size_t s = 0; s < SECTIONS; s++)
            if (sections[s] != &fit_section_memory)
                sections[s]->put(&parts[i]);
    }
    /* For programs the sections are there even without a row. */
    for (size_t s = 0; s < SECTIONS && !people; s++) {
        emit_section(&report->emit, sections[s]->key, NULL, EMIT_ROWS, sections[s]->columns,
                     sections[s]->count);
        for (size_t i = 0; i < count; i++)
            if (parts[i].loaded)
                sections[s]->put(&parts[i]);
    }
}
