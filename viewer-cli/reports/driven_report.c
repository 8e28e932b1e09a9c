/* driven_report.c - the moments of such a device, who held what, and what changed. */
#include "driven_report.h"

#include <inttypes.h>
#include <string.h>

#include "peak.h"
#include "buf.h"
#include "error.h"
#include "human.h"
#include "mem.h"
#include "moment.h"
#include "query.h"

/* ---- moments ---- */

static int find(const struct report *report, const struct driven *driven, const char *name,
                struct instant *out, struct driven_moment *moment)
{
    const struct option_range *steps = &report->options->steps;
    int err = driven_find(report->db, driven, name, steps->first, steps->last, out, &moment->point);
    moment->seq = out->seq;
    return err;
}

int driven_moment_find(const struct report *report, const struct report_scope *scope,
                       const char *name, struct instant *out)
{
    struct driven driven;
    struct driven_moment moment;
    int err = driven_read(report->db, scope->process.id, scope->device, &driven);
    if (err == 0 && !driven.found)
        err = moment_find(report, scope, name, out);
    else if (err == 0)
        err = find(report, &driven, name, out, &moment);
    driven_clear(&driven);
    return err;
}

static int read_ladder(struct db *db, struct driven_part *part)
{
    struct ladder_facts facts;
    int err = ladder_read(db, part->driven.process, part->driven.device, &part->instant, &facts);
    ladder_make(&facts, &part->ladder);
    return err;
}

static int begin(const struct report *report, const struct report_scope *scope,
                 struct driven_part *out)
{
    *out = (struct driven_part){.scope = scope};
    return driven_read(report->db, scope->process.id, scope->device, &out->driven);
}

int driven_part_read(const struct report *report, const struct report_scope *scope,
                     struct driven_part *out)
{
    int err = begin(report, scope, out);
    if (err < 0 || !out->driven.found)
        return err;
    err = find(report, &out->driven, NULL, &out->instant, &out->moment);
    if (err == ERR_NOTFOUND)
        return 0;
    if (err == 0 && out->instant.phase != INSTANT_NONE)
        err = phase_path(report->db, out->instant.phase, &out->path);
    if (err == 0)
        err = read_ladder(report->db, out);
    if (err == 0)
        err = driven_held_read(report->db, &out->driven, NULL, &out->moment, &out->held);
    out->shown = err == 0;
    return err;
}

/* The first and the last step within --steps; without, the last two. */
static int two_steps(const struct report *report, int64_t process, int64_t *early, int64_t *late)
{
    const struct option_range *steps = &report->options->steps;
    bool bounded = report_has_steps(report->options);
    int64_t step;
    int count = 0;
    struct query query = query_ask(report->db,
                                   "SELECT DISTINCT step FROM phase WHERE process = ?1"
                                   " AND step BETWEEN ?2 AND ?3 ORDER BY step DESC",
                                   Q_IN(process, steps->first, steps->last), Q_OUT(Q_INT(step)));
    for (; (bounded || count < 2) && query_next(&query); count++) {
        *early = step;
        *late = count ? *late : step;
    }
    int err = query_end(&query);
    return err < 0 ? err : count < 2 ? ERR_NOTFOUND : 0;
}

static int find_step(const struct report *report, struct driven_part *part, int64_t step,
                     struct instant *out, struct driven_moment *moment)
{
    int err = driven_find(report->db, &part->driven, NULL, step, step, out, &moment->point);
    moment->seq = out->seq;
    return err;
}

int driven_part_change(const struct report *report, const struct report_scope *scope,
                       const char *first, const char *second, struct driven_part *out)
{
    int64_t early = 0, late = 0;
    int err = begin(report, scope, out);
    if (err < 0 || !out->driven.found)
        return err;
    if (first) {
        err = find(report, &out->driven, first, &out->before, &out->before_moment);
        out->instant = out->before;
        if (err == 0)
            err = find(report, &out->driven, second, &out->instant, &out->moment);
    } else {
        err = two_steps(report, scope->process.id, &early, &late);
        if (err == 0)
            err = find_step(report, out, early, &out->before, &out->before_moment);
        if (err == 0)
            err = find_step(report, out, late, &out->instant, &out->moment);
    }
    if (err == 0)
        err = driven_held_read(report->db, &out->driven, &out->before_moment, &out->moment,
                               &out->held);
    out->shown = err == 0;
    return err;
}

void driven_part_clear(struct driven_part *part)
{
    driven_clear(&part->driven);
    driven_held_clear(&part->held);
    mem_free(part->path);
    *part = (struct driven_part){0};
}

/* ---- the peak ---- */

static void put_scope(struct emit *emit, const struct driven_part *part)
{
    emit_int(emit, part->scope->process.id);
    emit_text(emit, part->scope->device_text);
}

static const struct emit_column peak_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"at_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"bytes", "from the driver", EMIT_BYTES, 0},
    {"pools", "in its pools", EMIT_BYTES, EMIT_IF_KNOWN},
    {"graphs", "for graphs", EMIT_BYTES, EMIT_IF_KNOWN},
    {"seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {NULL, "where", EMIT_TEXT, EMIT_PEOPLE},
};

static void put_where(struct emit *emit, const struct driven_part *part)
{
    struct buf text = {0};
    char time[HUMAN_MAX];
    const struct instant *instant = &part->instant;
    if (instant->step != INSTANT_NONE)
        buf_print(&text, "step %" PRId64 ", ", instant->step);
    buf_print(&text, "%s, %s after the start (seq %" PRId64 ")",
              part->path ? part->path : "no phase", human_ns(time, instant->at_ns), instant->seq);
    emit_text(emit, buf_string(&text));
    emit->out.broken = emit->out.broken || text.broken;
    buf_clear(&text);
}

void driven_put_peak(struct report *report, const struct driven_part *part)
{
    struct emit *emit = &report->emit;
    const struct driven_point *point = &part->moment.point;
    if (!part->shown)
        return;
    EMIT_SECTION(emit, "driver_peak", NULL, EMIT_RECORD, peak_columns);
    put_scope(emit, part);
    emit_known(emit, part->instant.step);
    emit_text(emit, part->path);
    emit_int(emit, part->instant.at_ns);
    emit_int(emit, point->bytes);
    emit_known(emit, point->pools ? point->pools : DRIVEN_NONE);
    emit_known(emit, point->graphs ? point->graphs : DRIVEN_NONE);
    emit_int(emit, part->instant.seq);
    emit_known(emit, part->instant.phase);
    put_where(emit, part);
}

/* ---- who held it ---- */

static const struct emit_column held_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"share", NULL, EMIT_RATIO, 0},
    {"pieces", NULL, EMIT_COUNT, EMIT_NONE},
    {"library", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "library", EMIT_TEXT, EMIT_PEOPLE},
    {"call", NULL, EMIT_TEXT, EMIT_NONE},
    {"kind", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "kind", EMIT_TEXT, EMIT_PEOPLE},
    {"site", "call site", EMIT_TEXT, EMIT_NONE | EMIT_IF_KNOWN | EMIT_NAME},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

static const char *const kind_texts[DRIVEN_KINDS] = {
    [DRIVEN_DEVICE] = "device memory",     [DRIVEN_ARRAY] = "array",
    [DRIVEN_PHYSICAL] = "physical memory", [DRIVEN_ASYNC] = "part of a pool",
    [DRIVEN_POOL] = "pools, unused",       [DRIVEN_GRAPH] = "memory of graphs",
};

static void put_pieces(struct emit *emit, const struct driven_group *group)
{
    emit_known(emit, group->library ? group->pieces : DRIVEN_NONE);
}

static void put_who(struct emit *emit, const struct driven_group *group)
{
    emit_text(emit, group->library);
    emit_text(emit, group->library ? group->library : "the driver");
    emit_text(emit, group->call);
    emit_text(emit, driven_kind_name(group->kind));
    emit_text(emit, kind_texts[group->kind]);
    emit_text(emit, group->shown);
    emit_known(emit, group->site);
}

static void put_rest(struct emit *emit, size_t more, int64_t rest, bool change)
{
    char bytes[HUMAN_MAX], count[HUMAN_MAX];
    if (more)
        emit_line(emit, "and %s in %s more: --top shows them",
                  change ? human_delta(bytes, rest) : human_bytes(bytes, rest),
                  human_count(count, (int64_t)more));
}

void driven_put_held(struct report *report, const struct driven_part *part, int64_t top)
{
    struct emit *emit = &report->emit;
    const struct driven_held *held = &part->held;
    size_t shown = held->count < (size_t)top ? held->count : (size_t)top;
    int64_t rest = held->bytes;
    if (!part->shown)
        return;
    EMIT_SECTION(emit, "driver_held", "Held by", EMIT_ROWS, held_columns);
    for (size_t i = 0; i < shown; i++) {
        const struct driven_group *group = &held->groups[i];
        rest -= group->bytes;
        put_scope(emit, part);
        emit_int(emit, group->bytes);
        emit_real(emit, held->bytes ? (double)group->bytes / (double)held->bytes : 0);
        put_pieces(emit, group);
        put_who(emit, group);
    }
    put_rest(emit, held->count - shown, rest, false);
}

/* ---- what changed ---- */

static const struct emit_column change_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"quantity", "", EMIT_TEXT, 0},
    {NULL, "change", EMIT_DELTA, EMIT_PEOPLE}, /* the answer first */
    {"before", NULL, EMIT_BYTES, 0},
    {"after", NULL, EMIT_BYTES, 0},
    {"change", NULL, EMIT_DELTA, EMIT_PROGRAMS},
    {"before_moment", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"after_moment", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"before_seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"after_seq", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

void driven_put_change(struct report *report, const struct driven_part *part)
{
    struct emit *emit = &report->emit;
    int64_t before = part->before_moment.point.bytes, after = part->moment.point.bytes;
    if (!part->shown)
        return;
    emit_line(emit, "from %s (seq %" PRId64 ")", part->before.label, part->before.seq);
    emit_line(emit, "to   %s (seq %" PRId64 ")", part->instant.label, part->instant.seq);
    EMIT_SECTION(emit, "driver_change", NULL, EMIT_ROWS, change_columns);
    put_scope(emit, part);
    emit_text(emit, "from the driver");
    emit_int(emit, after - before);
    emit_int(emit, before);
    emit_int(emit, after);
    emit_int(emit, after - before);
    emit_text(emit, part->before.label);
    emit_text(emit, part->instant.label);
    emit_int(emit, part->before.seq);
    emit_int(emit, part->instant.seq);
}

static const struct emit_column group_columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"change", NULL, EMIT_DELTA, 0},
    {"before", NULL, EMIT_BYTES, EMIT_SPARE | EMIT_PAIR},
    {"after", NULL, EMIT_BYTES, EMIT_SPARE},
    {"before_pieces", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"after_pieces", "pieces", EMIT_COUNT, EMIT_NONE},
    {"library", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "library", EMIT_TEXT, EMIT_PEOPLE},
    {"call", NULL, EMIT_TEXT, EMIT_NONE},
    {"kind", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "kind", EMIT_TEXT, EMIT_PEOPLE},
    {"site", "call site", EMIT_TEXT, EMIT_NONE | EMIT_IF_KNOWN | EMIT_NAME},
    {"site_id", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
};

void driven_put_groups(struct report *report, const struct driven_part *part, int64_t top)
{
    struct emit *emit = &report->emit;
    const struct driven_held *held = &part->held;
    size_t count = 0;
    if (!part->shown)
        return;
    while (count < held->count && driven_change(&held->groups[count]))
        count++;
    size_t shown = count < (size_t)top ? count : (size_t)top;
    int64_t rest = held->bytes - held->before_bytes;
    if (emit->format == EMIT_TABLE && !count) {
        emit_line(emit, "the same libraries hold the same bytes at both moments");
        return;
    }
    EMIT_SECTION(emit, "driver_groups", "By library", EMIT_ROWS, group_columns);
    for (size_t i = 0; i < shown; i++) {
        const struct driven_group *group = &held->groups[i];
        rest -= driven_change(group);
        put_scope(emit, part);
        emit_int(emit, driven_change(group));
        emit_int(emit, group->before_bytes);
        emit_int(emit, group->bytes);
        emit_known(emit, group->library ? group->before_pieces : DRIVEN_NONE);
        put_pieces(emit, group);
        put_who(emit, group);
    }
    put_rest(emit, count - shown, rest, true);
}
