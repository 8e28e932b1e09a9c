#include "oom_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "phase_text.h"
#include "frag_report.h"
#include "human.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- for people ---- */

static const struct emit_column people_columns[] = {
    {NULL, "requested", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "moment", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "allocated", EMIT_BYTES, EMIT_PEOPLE},
    {NULL, "reserved", EMIT_BYTES, EMIT_PEOPLE},
    {NULL, "free", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "device", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "limit", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "RSS", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "addresses", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "data", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "cgroup", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "grows", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "cause", EMIT_TEXT, EMIT_PEOPLE},
};

static void put_place(struct emit *emit, const struct oom *oom)
{
    char text[300], time[HUMAN_MAX], step[40] = "";
    const char *place = oom->between ? PHASE_BETWEEN : oom->phase ? oom->phase : "no phase";
    if (oom->step != OOM_NONE)
        snprintf(step, sizeof step, "step %" PRId64 ", ", oom->step);
    snprintf(text, sizeof text, "%s%.160s, %s after the start (seq %" PRId64 ")", step, place,
             human_ns(time, oom->at_ns), oom->seq);
    emit_text(emit, text);
}

static void put_free(struct emit *emit, const struct oom *oom)
{
    char text[160], bytes[HUMAN_MAX], hole[HUMAN_MAX];
    if (oom->frag.known)
        snprintf(text, sizeof text, "%s in holes, the largest %s",
                 human_bytes(bytes, oom->frag.free_bytes), human_bytes(hole, oom->frag.largest));
    emit_text(emit, oom->frag.known ? text : NULL);
}

static void put_device(struct emit *emit, const struct oom *oom)
{
    char text[160], total[HUMAN_MAX], rest[HUMAN_MAX];
    bool known = oom->total != OOM_NONE && oom->reserved != OOM_NONE;
    if (known)
        snprintf(text, sizeof text, "%s in all, %s not reserved by this process",
                 human_bytes(total, oom->total), human_bytes(rest, oom->total - oom->reserved));
    emit_text(emit, known ? text : NULL);
}

static void put_limit(struct emit *emit, const struct oom *oom, const struct oom_fit *fit)
{
    char text[160], limit[HUMAN_MAX], rest[HUMAN_MAX];
    bool known = fit && fit->exact && oom->reserved != OOM_NONE;
    if (known)
        snprintf(text, sizeof text, "%s, %s not reserved", human_bytes(limit, fit->high),
                 human_bytes(rest, fit->high - oom->reserved));
    emit_text(emit, known ? text : NULL);
}

static void put_rss(struct emit *emit, const struct oom *oom)
{
    char text[120], rss[HUMAN_MAX], left[HUMAN_MAX];
    const struct host *host = &oom->host;
    bool known = oom->on_cpu && host->rss != HOST_NONE;
    if (known && host->available != HOST_NONE)
        snprintf(text, sizeof text, "%s; the machine has %s available", human_bytes(rss, host->rss),
                 human_bytes(left, host->available));
    else if (known)
        human_bytes(text, host->rss);
    emit_text(emit, known ? text : NULL);
}

/* Where there is such a limit. */
static void put_used(struct emit *emit, const struct oom *oom, int64_t used, int64_t limit,
                     const char *whose)
{
    char text[120], one[HUMAN_MAX], all[HUMAN_MAX];
    bool known = oom->on_cpu && used != HOST_NONE && limit != HOST_NONE;
    if (known)
        snprintf(text, sizeof text, "%s of %s (%s)", human_bytes(one, used),
                 human_bytes(all, limit), whose);
    emit_text(emit, known ? text : NULL);
}

static void put_host(struct emit *emit, const struct oom *oom)
{
    const struct host *host = &oom->host;
    put_rss(emit, oom);
    put_used(emit, oom, host->address_space, host->limit_address_space, "RLIMIT_AS, ulimit -v");
    put_used(emit, oom, host->data, host->limit_data, "RLIMIT_DATA, ulimit -d");
    put_used(emit, oom, host->group_used, host->group_limit, "memory limit");
}

/* "since step 2: request 8.0 -> 16.0 MiB, inputs 8.0 MiB -> 16.0 MiB; larger in each step since
 * step 0". */
static void put_growth(struct buf *out, const struct oom *oom)
{
    const struct oom_growth *growth = &oom->growth;
    char before[HUMAN_MAX], now[HUMAN_MAX];
    if (!growth->found)
        return;
    buf_print(out, "since step %" PRId64 ": request %s -> %s", oom->step - 1,
              human_bytes(before, growth->before), human_bytes(now, oom->asked));
    if (growth->input)
        buf_print(out, ", inputs %s -> %s", human_bytes(before, growth->input_before),
                  human_bytes(now, growth->input));
    if (growth->since < oom->step - 1)
        buf_print(out, "; growing since step %" PRId64, growth->since);
}

/* A limit that the program gave itself. */
static const char *own_limit_text(char text[160], const struct oom *oom)
{
    char time[HUMAN_MAX];
    bool space = oom->wall == HOST_WALL_ADDRESS_SPACE;
    snprintf(text, 160, "%s, set by the program itself after %s (setrlimit): raise it",
             space ? "RLIMIT_AS" : "RLIMIT_DATA", human_ns(time, oom->wall_ns));
    return text;
}

static const char *host_text(const struct oom *oom)
{
    static const char *const texts[] = {
        "the host refused it: no free RAM, or a limit of address space (ulimit -v) or of a cgroup",
        "the limit of address space, RLIMIT_AS (ulimit -v): raise it, or take it away with "
        "ulimit -v unlimited",
        "the limit of data, RLIMIT_DATA (ulimit -d): raise it, or take it away with "
        "ulimit -d unlimited",
        "the cgroup has less left than the request",
        "the machine has less left than the request",
    };
    if (oom->wall == HOST_WALL_UNKNOWN && oom->host.rss != HOST_NONE)
        return "the host refused it; no limit that was read is below the request";
    return texts[oom->wall];
}

/* Where the limit is known, more is: what is not reserved counts, too. */
static const char *why_text(char text[160], const struct oom *oom, const struct oom_fit *fit)
{
    char bytes[HUMAN_MAX];
    const char *verdict = oom_verdict_text(oom->verdict);
    bool known = fit && fit->short_by != OOM_NONE;
    if (oom->on_cpu && oom->wall_ns != OOM_NONE)
        own_limit_text(text, oom);
    else if (oom->on_cpu)
        snprintf(text, 160, "%s", host_text(oom));
    else if (known && fit->short_by > 0)
        snprintf(text, 160, "%s too few, however it is arranged",
                 human_bytes(bytes, fit->short_by));
    else if (known && oom->verdict == OOM_FULL)
        snprintf(text, 160, "enough is free, but not in one piece");
    else
        snprintf(text, 160, "%s", verdict);
    return text;
}

static void put_so(struct emit *emit, const struct oom *oom, const struct oom_fit *fit)
{
    char text[160];
    emit_text(emit, why_text(text, oom, fit));
}

static void put_steps(struct emit *emit, const struct oom *oom)
{
    struct buf text = {0};
    put_growth(&text, oom);
    emit_text(emit, text.count ? buf_string(&text) : NULL);
    emit->out.broken = emit->out.broken || text.broken;
    buf_clear(&text);
}

static const struct oom_fit *fit_of(const struct oom_part *part, const struct oom *oom)
{
    return oom == &part->ooms->failures[part->ooms->shown - 1] ? part->fit : NULL;
}

static void put_failure(const struct oom_part *part, const struct oom *oom, const char *title)
{
    struct emit *emit = part->emit;
    char asked[HUMAN_MAX];
    EMIT_SECTION(emit, "oom", title, EMIT_RECORD, people_columns);
    emit_text(emit, human_bytes(asked, oom->asked));
    emit_text(emit, oom->shown);
    put_place(emit, oom);
    emit_known(emit, oom->allocated);
    emit_known(emit, oom->reserved);
    put_free(emit, oom);
    put_device(emit, oom);
    put_limit(emit, oom, fit_of(part, oom));
    put_host(emit, oom);
    put_steps(emit, oom);
    put_so(emit, oom, fit_of(part, oom));
}

static const struct emit_column heap_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"stream", NULL, EMIT_PLAIN, 0},
    {"pool", NULL, EMIT_PLAIN, 0},
    {"reserved", NULL, EMIT_BYTES, 0},
    {"free", NULL, EMIT_BYTES, 0},
    {"largest_hole", "largest hole", EMIT_BYTES, 0},
};

static void put_heaps(const struct oom_part *part, const struct oom *oom)
{
    struct emit *emit = part->emit;
    for (size_t i = 0; i < oom->frag.heap_count; i++) {
        const struct frag_heap *heap = &oom->frag.heaps[i];
        emit_int(emit, part->scope->process.id);
        emit_text(emit, part->scope->device_text);
        emit_int(emit, oom->seq);
        emit_int(emit, heap->stream);
        emit_int(emit, heap->pool);
        emit_int(emit, heap->reserved);
        emit_int(emit, heap->free);
        emit_int(emit, heap->largest);
    }
}

static void put_holes(const struct oom_part *part, const struct oom *oom, int64_t top)
{
    const struct frag_part sites = {
        .emit = part->emit, .scope = part->scope, .frag = &oom->frag, .top = top};
    if (oom->frag.heap_count > 1) {
        EMIT_SECTION(part->emit, "oom_heaps", "Stream of the request not known; the holes of each",
                     EMIT_ROWS, heap_columns);
        put_heaps(part, oom);
    }
    frag_put_sites(&sites, "Pinned by");
}

void oom_put_people(const struct oom_part *part)
{
    char number[HUMAN_MAX];
    for (size_t i = 0; i < part->ooms->shown; i++) {
        const struct oom *oom = &part->ooms->failures[i];
        put_failure(part, oom, NULL);
        put_holes(part, oom, part->top);
        if (fit_of(part, oom))
            oom_fit_put_people(part, oom);
    }
    if (part->ooms->count > (int64_t)part->ooms->shown)
        emit_line(part->emit, "and %s more failed later: --top shows them",
                  human_count(number, part->ooms->count - (int64_t)part->ooms->shown));
}

void oom_put_brief(const struct oom_part *part, const char *title)
{
    enum { PINS = 3 };
    const struct oom *oom = &part->ooms->failures[0];
    const struct oom_fit *fit = fit_of(part, oom);
    char number[HUMAN_MAX];
    bool full = fit && fit->short_by != OOM_NONE ? fit->short_by > 0 : oom->verdict == OOM_FULL;
    put_failure(part, oom, title);
    if (!full)
        put_holes(part, oom, part->top < PINS ? part->top : PINS);
    if (fit)
        oom_fit_put_people(part, oom);
    if (part->ooms->count > 1)
        emit_line(part->emit, "%s more failed before it: tidemark frag --oom",
                  human_count(number, part->ooms->count - 1));
}

/* ---- the first screen ---- */

static const char *where_text(char text[240], const struct oom *oom)
{
    const char *place = oom->between ? PHASE_BETWEEN : oom->phase ? oom->phase : "no phase";
    if (oom->step != OOM_NONE)
        snprintf(text, 240, "step %" PRId64 ", %.160s", oom->step, place);
    else
        snprintf(text, 240, "%.160s", place);
    return text;
}

/* "; address space 3205 MiB of 3210 MiB: 11.0 MiB short" of what was asked for. */
static void put_wall(struct buf *line, const char *name, int64_t used, int64_t most, int64_t asked)
{
    char bytes[HUMAN_MAX], limit[HUMAN_MAX], missing[HUMAN_MAX];
    buf_print(line, "%s%s %s of %s", line->count ? "; " : "", name, human_bytes(bytes, used),
              human_bytes(limit, most));
    if (asked > 0 && used <= most && asked > most - used)
        buf_print(line, ": %s short", human_bytes(missing, asked - (most - used)));
}

/* "allocated 352 MiB; address space 3205 MiB of 3210 MiB": of host memory. */
static void put_host_room(struct buf *line, const struct oom *oom)
{
    const struct host *host = &oom->host;
    char bytes[HUMAN_MAX];
    const struct {
        enum host_wall wall;
        const char *name;
        int64_t used, limit;
    } walls[] = {
        {HOST_WALL_ADDRESS_SPACE, "address space", host->address_space, host->limit_address_space},
        {HOST_WALL_DATA, "data", host->data, host->limit_data},
        {HOST_WALL_GROUP, "cgroup", host->group_used, host->group_limit},
    };
    if (oom->allocated != OOM_NONE)
        buf_print(line, "allocated %s", human_bytes(bytes, oom->allocated));
    for (size_t i = 0; i < sizeof walls / sizeof *walls; i++)
        if (walls[i].wall == oom->wall && walls[i].used != HOST_NONE && walls[i].limit != HOST_NONE)
            put_wall(line, walls[i].name, walls[i].used, walls[i].limit, oom->asked);
}

/* "free: 206 MiB in the cache, the largest free block 20.0 MiB; limit 4.0 GiB" */
static void put_room(struct emit *emit, const struct oom *oom, const struct oom_fit *fit)
{
    struct buf line = {0};
    char bytes[HUMAN_MAX], more[HUMAN_MAX];
    if (oom->on_cpu)
        put_host_room(&line, oom);
    if (oom->frag.known)
        buf_print(&line, "free: %s reserved but unused, the largest free block %s",
                  human_bytes(bytes, oom->frag.free_bytes), human_bytes(more, oom->frag.largest));
    if (fit && fit->exact)
        buf_print(&line, "%slimit %s", line.count ? "; " : "", human_bytes(bytes, fit->high));
    if (line.count)
        emit_line(emit, "%s", buf_string(&line));
    emit->out.broken = emit->out.broken || line.broken;
    buf_clear(&line);
}

static void put_setting(struct emit *emit, const struct oom_fit *fit)
{
    for (size_t i = 0; fit && i < fit->count; i++)
        if (fit->settings[i].through == OOM_THROUGH) {
            emit_line(emit, "PYTORCH_CUDA_ALLOC_CONF=%s lets this request through (by replay)",
                      fit->settings[i].text);
            return;
        }
}

/* Of the step before and of this one. */
static void put_more(struct emit *emit, const struct oom *oom)
{
    struct buf text = {0};
    put_growth(&text, oom);
    if (text.count)
        emit_line(emit, "larger %s", buf_string(&text));
    emit->out.broken = emit->out.broken || text.broken;
    buf_clear(&text);
}

void oom_put_refusal(const struct oom_part *part, bool went_on)
{
    const struct oom *oom = &part->ooms->failures[part->ooms->shown - 1];
    const struct oom_fit *fit = fit_of(part, oom);
    char asked[HUMAN_MAX], where[240], why[160];
    if (went_on) {
        emit_line(part->emit,
                  "out of memory: %s refused in %s; the run went on: tidemark frag --oom",
                  human_bytes(asked, oom->asked), where_text(where, oom));
        return;
    }
    emit_heading(part->emit, "Out of memory on %s: %s refused in %s", part->scope->device_text,
                 human_bytes(asked, oom->asked), where_text(where, oom));
    if (oom->shown)
        emit_line(part->emit, "call site: %s", oom->shown);
    put_more(part->emit, oom);
    put_room(part->emit, oom, fit);
    emit_line(part->emit, "why: %s", why_text(why, oom, fit));
    put_setting(part->emit, fit);
}

/* ---- for programs ---- */

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, 0},
    {"seq", NULL, EMIT_PLAIN, 0},
    {"at_ns", NULL, EMIT_NS, 0},
    {"step", NULL, EMIT_PLAIN, 0},
    {"phase", NULL, EMIT_TEXT, 0},
    {"asked", NULL, EMIT_BYTES, 0},
    {"allocated", NULL, EMIT_BYTES, 0},
    {"reserved", NULL, EMIT_BYTES, 0},
    {"free", NULL, EMIT_BYTES, 0},
    {"largest_hole", NULL, EMIT_BYTES, 0},
    {"inactive_split", NULL, EMIT_BYTES, 0},
    {"device_total", NULL, EMIT_BYTES, 0},
    {"verdict", NULL, EMIT_TEXT, 0},
    {"site", NULL, EMIT_TEXT, 0},
    {"site_id", NULL, EMIT_PLAIN, 0},
    {"site_short", NULL, EMIT_TEXT, 0},
    {"rss", NULL, EMIT_BYTES, 0},
    {"address_space", NULL, EMIT_BYTES, 0},
    {"limit_address_space", NULL, EMIT_BYTES, 0},
    {"data", NULL, EMIT_BYTES, 0},
    {"limit_data", NULL, EMIT_BYTES, 0},
    {"cgroup_used", NULL, EMIT_BYTES, 0},
    {"cgroup_limit", NULL, EMIT_BYTES, 0},
    {"machine_available", NULL, EMIT_BYTES, 0},
    {"limit_set_ns", NULL, EMIT_NS, 0},
    {"asked_step_before", NULL, EMIT_BYTES, 0},
};

static void put_host_row(struct emit *emit, const struct oom *oom)
{
    const struct host *host = &oom->host;
    const int64_t values[] = {host->rss,         host->address_space, host->limit_address_space,
                              host->data,        host->limit_data,    host->group_used,
                              host->group_limit, host->available};
    for (size_t i = 0; i < COUNT(values); i++)
        emit_known(emit, oom->on_cpu ? values[i] : HOST_NONE);
}

static void put_row(const struct oom_part *part, const struct oom *oom)
{
    struct emit *emit = part->emit;
    const struct frag *frag = &oom->frag;
    emit_int(emit, part->scope->process.id);
    emit_text(emit, part->scope->device_text);
    emit_int(emit, oom->seq);
    emit_int(emit, oom->at_ns);
    emit_known(emit, oom->step);
    emit_text(emit, oom->phase);
    emit_int(emit, oom->asked);
    emit_known(emit, oom->allocated);
    emit_known(emit, oom->reserved);
    emit_known(emit, frag->known ? frag->free_bytes : OOM_NONE);
    emit_known(emit, frag->known ? frag->largest : OOM_NONE);
    emit_known(emit, frag->known ? frag->causes[FRAG_SPLIT] : OOM_NONE);
    emit_known(emit, oom->total);
    emit_text(emit, oom_verdict_text(oom->verdict));
    emit_text(emit, oom->name);
    emit_known(emit, oom->site);
    emit_text(emit, oom->shown);
    put_host_row(emit, oom);
    emit_known(emit, oom->wall_ns);
    emit_known(emit, oom->growth.found ? oom->growth.before : OOM_NONE);
}

static const struct emit_column site_columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},   {"device", NULL, EMIT_TEXT, 0},
    {"seq", NULL, EMIT_PLAIN, 0},       {"returns", NULL, EMIT_BYTES, 0},
    {"beside", NULL, EMIT_BYTES, 0},    {"blocks", NULL, EMIT_COUNT, 0},
    {"bytes", NULL, EMIT_BYTES, 0},     {"category", NULL, EMIT_TEXT, 0},
    {"site", NULL, EMIT_TEXT, 0},       {"site_id", NULL, EMIT_PLAIN, 0},
    {"site_short", NULL, EMIT_TEXT, 0},
};

static void put_sites(const struct oom_part *part, const struct oom *oom)
{
    struct emit *emit = part->emit;
    for (size_t i = 0; i < oom->frag.site_count && (int64_t)i < part->top; i++) {
        const struct frag_site *site = &oom->frag.sites[i];
        emit_int(emit, part->scope->process.id);
        emit_text(emit, part->scope->device_text);
        emit_int(emit, oom->seq);
        emit_int(emit, site->returns);
        emit_int(emit, site->beside);
        emit_int(emit, site->blocks);
        emit_int(emit, site->bytes);
        emit_text(emit, purpose_name(site->purpose));
        emit_text(emit, site->name);
        emit_known(emit, site->site);
        emit_text(emit, site->shown);
    }
}

void oom_put_programs(struct emit *emit, const struct oom_part *parts, size_t count)
{
    static const struct {
        const char *key;
        const struct emit_column *columns;
        size_t count;
        void (*put)(const struct oom_part *part, const struct oom *oom);
    } sections[] = {
        {"oom", columns, COUNT(columns), put_row},
        {"oom_heaps", heap_columns, COUNT(heap_columns), put_heaps},
        {"oom_sites", site_columns, COUNT(site_columns), put_sites},
    };
    for (size_t s = 0; s < COUNT(sections); s++) {
        emit_section(emit, sections[s].key, NULL, EMIT_ROWS, sections[s].columns,
                     sections[s].count);
        for (size_t p = 0; p < count; p++)
            for (size_t i = 0; i < parts[p].ooms->shown; i++)
                sections[s].put(&parts[p], &parts[p].ooms->failures[i]);
    }
    oom_fit_put_programs(emit, parts, count);
}
