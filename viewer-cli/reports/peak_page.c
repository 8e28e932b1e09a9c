/*
 * The first screen of a peak: it fits 80 columns and 24 lines.
 *
 * Rows are taken from the page until it does: texts of changes are cut to one line, then holders
 * go.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "holders.h"
#include "human.h"
#include "peak_page.h"
#include "plot_bar.h"
#include "query.h"
#include "screen.h"

enum {
    LINES = 24,
    PIPE_WIDTH = 80,
    WIDEST_BAR = 120,
    HOLDERS = 5,
    FEW_HOLDERS = 4,
    LEAST_HOLDERS = 3,
    LEAST_HOLDER = 1000,  /* a holder of less than such a part of the peak is not shown */
    LEAST_KIND = 5,       /* per cent of a holder: less of a kind is not named */
    NEARLY_ALL = 99,      /* per cent of a holder: it is of one kind */
    LINES_OF_CHANGES = 8, /* struct tightness */
    LINES_OF_FIRST = 4,
    FEW_LINES = 4,
    FEW_RANKS = 8, /* lines above the page that count to it */
    LEAST_LINES = 2
};

struct tightness {  /* of a page: from the loosest on */
    bool unjudged;  /* that growth is not known */
    bool limits;    /* what the changes to a refused request do not say */
    bool rest;      /* a row for all that is in no other */
    bool blanks;    /* empty lines between its parts */
    unsigned lines; /* of the texts of the second change and the third, together */
    size_t holders;
    bool since;     /* what to ask about the step before */
    unsigned first; /* lines of the text of the first change: its code is copied */
};

/* What follows stands below it, or right below what is there. */
static void put_gap(struct emit *emit, const struct tightness *tight)
{
    struct buf line = {0};
    buf_text(&line, tight->blanks ? "\n" : "");
    emit_picture(emit, &line);
    buf_clear(&line);
}

/* ---- where ---- */

static void place_of(const struct peak *peak, struct buf *out)
{
    char remark[PEAK_REMARK];
    if (peak->step != PEAK_NONE)
        buf_print(out, ", step %" PRId64, peak->step);
    buf_print(out, ", %s", peak->phase_path ? peak->phase_path : "no phase");
    buf_text(out, peak_remark(remark, peak));
}

/* A call that takes a whole prompt, of a loop that generates. */
static bool is_prefill(const struct peak_part *part)
{
    return part->levers.infers && part->growth.sequence.prefill;
}

static void put_heading(const struct peak_page *page)
{
    const struct peak *peak = page->part->peak;
    struct emit *emit = page->part->emit;
    struct buf place = {0}, cut = {0};
    char text[400], bytes[HUMAN_MAX];
    place_of(peak, &place);
    if (is_prefill(page->part))
        buf_text(&place, ", prefill of a prompt");
    snprintf(text, sizeof text, "Peak: %s allocated on %s%.200s%s",
             human_bytes(bytes, peak->allocated), page->part->scope->device_text,
             buf_string(&place), page->whose);
    emit_put_cut(&cut, text, emit->width);
    emit_heading(emit, "%s", buf_string(&cut));
    emit->out.broken = emit->out.broken || place.broken || cut.broken;
    buf_clear(&place);
    buf_clear(&cut);
}

/* More than a context and libraries take: other programs, or what an extension took by itself. */
static bool has_others(const struct peak *peak, int64_t used)
{
    const int64_t own = INT64_C(2) << 30;
    return peak->reserved != PEAK_NONE && used - peak->reserved > own;
}

/* The highest, where that is more than at the peak of allocated: it decides whether a program fits.
 */
static void put_reserved(const struct peak *peak, bool highest, struct buf *line)
{
    char now[HUMAN_MAX], most[HUMAN_MAX];
    if (peak->reserved == PEAK_NONE)
        return;
    buf_print(line, "reserved %s", human_bytes(now, peak->reserved));
    human_bytes(most, peak->max_reserved != PEAK_NONE ? peak->max_reserved : peak->reserved);
    if (highest && strcmp(now, most) != 0)
        buf_print(line, " (peak %s)", most);
}

/* How much of the line there is: where it is too long, first the highest of reserved goes, then how
 * much is free. */
struct memory_detail {
    bool most, free;
};

/* "reserved 5392 MiB, device used 5631 MiB of 22.0 GiB: 16.5 GiB free"; of host memory "RSS 2.1
 * GiB, with Python and its libraries". */
static void put_memory_text(const struct peak_page *page, const struct memory_detail *detail,
                            struct buf *line)
{
    const struct peak *peak = page->part->peak;
    const struct ladder *ladder = &page->part->ladder;
    const bool host = ladder->is_host, before = line->count > 0;
    int64_t used = ladder->rungs[host ? LADDER_PROCESS : LADDER_DEVICE].bytes;
    char text[HUMAN_MAX], whole[HUMAN_MAX], rest[HUMAN_MAX];
    put_reserved(peak, detail->most, line);
    if (used != LADDER_NONE && !host && has_others(peak, used))
        buf_print(line, ", beside it %s in use", human_bytes(text, used - peak->reserved));
    else if (used != LADDER_NONE)
        buf_print(line, "%s%s %s",
                  before        ? "; "
                  : line->count ? ", "
                                : "",
                  host ? "RSS" : "device used", human_bytes(text, used));
    if (used != LADDER_NONE && page->total != LADDER_NONE) {
        buf_print(line, " of %s", human_bytes(whole, page->total));
        if (detail->free)
            buf_print(line, ": %s free", human_bytes(rest, page->total - used));
    } else if (page->total != LADDER_NONE && peak->reserved != PEAK_NONE) {
        buf_print(line, " of %s on the device", human_bytes(whole, page->total));
    }
    if (line->count && host && !before)
        buf_text(line, ", with Python and its libraries");
}

static void put_memory(const struct peak_page *page)
{
    static const struct memory_detail details[] = {{true, true}, {true, false}, {false, false}};
    const struct peak *peak = page->part->peak;
    struct emit *emit = page->part->emit;
    struct buf line = {0}, highest = {0};
    if (peak->refused && page->part->highest.step != peak->step)
        peak_oom_highest(page->part, &highest);
    if (highest.count && !page->part->ladder.is_host) {
        emit_line(emit, "%s", buf_string(&highest));
        highest.count = 0;
    }
    for (size_t i = 0; i < sizeof details / sizeof *details; i++) {
        line.count = 0;
        buf_add(&line, highest.data, highest.count);
        put_memory_text(page, &details[i], &line);
        if (!emit->width || line.count <= emit->width)
            break;
    }
    if (line.count)
        emit_line(emit, "%s", buf_string(&line));
    emit->out.broken = emit->out.broken || line.broken || highest.broken;
    buf_clear(&line);
    buf_clear(&highest);
}

/* ---- what was live ---- */

static void put_bar(const struct peak_page *page)
{
    struct emit *emit = page->part->emit;
    int64_t bytes[PURPOSES] = {0};
    struct buf lines = {0};
    unsigned width = emit->width ? emit->width : PIPE_WIDTH;
    struct plot_style style = {.width = width < WIDEST_BAR ? width : WIDEST_BAR,
                               .utf8 = screen_look().utf8,
                               .colour = emit->colour};
    for (size_t i = 0; i < page->part->peak->category_count; i++)
        bytes[page->part->peak->categories[i].purpose] = page->part->peak->categories[i].bytes;
    plot_bar(bytes, peak_other_name(page->part), &style, &lines);
    emit_picture(emit, &lines);
    buf_clear(&lines);
}

static const struct emit_column holder_columns[] = {
    {NULL, "held", EMIT_BYTES, EMIT_PEOPLE},
    {NULL, "kind", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE | EMIT_ROOMY},
    {NULL, "by module or call site", EMIT_TEXT, EMIT_PEOPLE | EMIT_MIDDLE},
};

static double share_of(const struct holder *holder, int kind)
{
    return holder->bytes ? (double)holder->held[kind] / (double)holder->bytes * 100 : 0;
}

/* Shorter than in the legend above, for two and more stand in one row. */
static const char *kind_name(const struct peak_part *part, int purpose)
{
    static const char *const names[PURPOSES] = {
        [PURPOSE_COPY] = "copies",
        [PURPOSE_GATHERED] = "gathered",
        [PURPOSE_OPTIMIZER_STATE] = "optimizer",
        [PURPOSE_BUCKET] = "buckets",
        [PURPOSE_COMMUNICATION] = "communication",
        [PURPOSE_LIBRARY] = "library",
    };
    const char *other = purpose == PURPOSE_OTHER ? peak_other_name(part) : NULL;
    if (other)
        return other;
    return names[purpose] ? names[purpose] : plot_bar_name((enum purpose)purpose);
}

/* "activations", or "activations 60 %, optimizer 27 %": the two with most of its bytes. */
static void put_kinds(const struct peak_part *part, const struct holder *holder)
{
    struct emit *emit = part->emit;
    struct buf text = {0};
    int best = 0, next = -1;
    for (int kind = 1; kind < PURPOSES; kind++)
        if (holder->held[kind] > holder->held[best])
            best = kind;
    for (int kind = 0; kind < PURPOSES; kind++)
        if (kind != best && (next < 0 || holder->held[kind] > holder->held[next]))
            next = kind;
    buf_text(&text, kind_name(part, best));
    if (share_of(holder, best) < NEARLY_ALL) {
        buf_print(&text, " %.0f %%", share_of(holder, best));
        if (share_of(holder, next) >= LEAST_KIND)
            buf_print(&text, ", %s %.0f %%", kind_name(part, next), share_of(holder, next));
    }
    emit_text(emit, buf_string(&text));
    emit->out.broken = emit->out.broken || text.broken;
    buf_clear(&text);
}

/* "<module> (train.py:24) > ..." is short for code outside of functions: "train.py:24 > ...". */
static void put_site(struct buf *out, const char *site)
{
    static const char outside[] = "<module> (";
    const char *end = strchr(site, ')');
    if (strncmp(site, outside, sizeof outside - 1) != 0 || !end) {
        buf_text(out, site);
        return;
    }
    site += sizeof outside - 1;
    buf_add(out, site, (size_t)(end - site));
    buf_text(out, end + 1);
}

void peak_put_holder_name(struct buf *out, const struct holder *holder)
{
    if (!holder->name)
        buf_text(out, "unknown: no call stack");
    else if (holder->module)
        buf_print(out, "%s%s", holder->name, holder->itself ? " (itself)" : "");
    else
        put_site(out, holder->name);
}

static void put_holder(const struct peak_page *page, const struct holder *holder)
{
    struct emit *emit = page->part->emit;
    struct buf name = {0};
    emit_int(emit, holder->bytes);
    put_kinds(page->part, holder);
    peak_put_holder_name(&name, holder);
    emit_text(emit, buf_string(&name));
    emit->out.broken = emit->out.broken || name.broken;
    buf_clear(&name);
}

/* So that the column adds up to the peak. */
static void put_rest(struct emit *emit, int64_t bytes, size_t count)
{
    char text[60];
    snprintf(text, sizeof text, "in %zu more place%s", count, count == 1 ? "" : "s");
    emit_int(emit, bytes);
    emit_null(emit);
    emit_text(emit, text);
}

static void put_holders(const struct peak_page *page, const struct tightness *tight)
{
    const struct holders *holders = page->holders;
    struct emit *emit = page->part->emit;
    int64_t rest = holders->bytes;
    size_t shown = holders->count < tight->holders ? holders->count : tight->holders;
    while (shown > 1 &&
           holders->holders[shown - 1].bytes < page->part->peak->allocated / LEAST_HOLDER)
        shown--;
    if (!shown)
        return;
    put_gap(emit, tight);
    EMIT_SECTION(emit, "holders", NULL, EMIT_ROWS, holder_columns);
    for (size_t i = 0; i < shown; i++) {
        rest -= holders->holders[i].bytes;
        put_holder(page, &holders->holders[i]);
    }
    if (tight->rest && rest >= page->part->peak->allocated / LEAST_HOLDER)
        put_rest(emit, rest, holders->count - shown + holders->rest);
}

/* ---- the page ---- */

static unsigned note_lines(const struct emit *emit)
{
    unsigned lines = emit->notes.count > 0; /* an empty line is beside them */
    unsigned width = emit->width ? emit->width : PIPE_WIDTH, used = 0;
    for (size_t i = 0; i < emit->notes.count; i++, used++)
        if (emit->notes.data[i] == '\n') {
            lines += 1 + (used ? used - 1 : 0) / width;
            used = 0;
        }
    return lines;
}

/* " run.db", where it was named. */
static const char *named(const struct report *report, char text[300])
{
    text[0] = '\0';
    if (report->named)
        snprintf(text, 300, " %.290s", report->path);
    return text;
}

static void put_next(struct report *report, const struct peak_page *page,
                     const struct tightness *tight)
{
    const struct peak_part *part = page->part;
    char path[300], host[HUMAN_MAX];
    struct buf line = {0};
    named(report, path);
    buf_print(&line, "more: tidemark peak%s --all", path);
    if (page->host)
        buf_print(&line, ", --device cpu (%s)", human_bytes(host, page->host));
    if (part->step_before != PEAK_NONE && tight->since)
        buf_print(&line, "; since step %" PRId64 ": tidemark why%s %" PRId64 "..%" PRId64,
                  part->step_before, path, part->step_before, part->peak->step);
    emit_line(part->emit, "%s", buf_string(&line));
    part->emit->out.broken = part->emit->out.broken || line.broken;
    buf_clear(&line);
}

/* Of several ranks the highest decides whether the job fits. */
static void put_whose(const struct peak_page *page)
{
    struct emit *emit = page->part->emit;
    if (!*page->whose || !page->part->levers.count)
        return;
    if (!page->weighed)
        emit_line(emit, "these savings are%s's: --rank shows those of another", page->whose + 1);
    else if (page->weighed < page->all)
        emit_line(emit,
                  "saves: off the highest of the %zu fullest ranks, with the change on all %zu",
                  page->weighed, page->all);
    else
        emit_line(emit, "saves: off the highest rank's peak, with the change on all %zu ranks",
                  page->all);
}

static void put_once(struct report *report, const struct peak_page *page,
                     const struct tightness *tight)
{
    const struct peak_part *part = page->part;
    char path[300];
    bool ended = part->ooms.shown && !part->went_on;
    peak_put_killed(part);
    if (ended)
        peak_put_refusal(part);
    else
        put_heading(page);
    put_memory(page);
    if (part->ooms.shown && part->went_on)
        peak_put_refusal(part);
    put_bar(page);
    peak_put_cause(part, page->holders);
    put_holders(page, tight);
    put_gap(part->emit, tight);
    peak_put_best_levers(part, tight->first, tight->lines, tight->limits);
    put_whose(page);
    put_gap(part->emit, tight);
    if (tight->unjudged || part->growth.kind != GROWTH_UNKNOWN)
        peak_put_growth_line(part, named(report, path));
    put_next(report, page, tight);
}

/* False: it is as tight as it can be. */
static bool tighten(struct tightness *tight)
{
    if (tight->unjudged)
        tight->unjudged = false;
    else if (tight->blanks)
        tight->blanks = false;
    else if (tight->limits)
        tight->limits = false;
    else if (tight->lines > FEW_LINES)
        tight->lines--;
    else if (tight->rest)
        tight->rest = false;
    else if (tight->holders > FEW_HOLDERS)
        tight->holders--;
    else if (tight->lines > LEAST_LINES)
        tight->lines--;
    else if (tight->holders > LEAST_HOLDERS)
        tight->holders--;
    else if (tight->since)
        tight->since = false;
    else if (tight->first > LEAST_LINES)
        tight->first--;
    else
        return false;
    return true;
}

/* A table of many ranks above the page does not count, what was said of a rehearsal does. */
static void put_fitting(struct report *report, const struct peak_page *page, size_t most)
{
    struct emit *emit = page->part->emit;
    const struct emit_mark mark = emit_here(emit);
    const unsigned above = page->above > FEW_RANKS ? page->above : 0;
    struct tightness tight = {.unjudged = true,
                              .limits = true,
                              .rest = true,
                              .blanks = true,
                              .lines = LINES_OF_CHANGES,
                              .holders = most,
                              .since = true,
                              .first = LINES_OF_FIRST};
    for (;;) {
        put_once(report, page, &tight);
        bool fits = emit_lines(emit) - above + note_lines(emit) <= LINES;
        if (fits || most > HOLDERS || !tighten(&tight))
            return;
        emit_back(emit, &mark);
    }
}

static int read_total(struct db *db, int64_t device, int64_t *total)
{
    *total = LADDER_NONE;
    return query_read(db, "SELECT total_bytes AS total FROM device WHERE id = ?1", Q_IN(device),
                      Q_OUT(Q_OPT(*total)));
}

static int put_part(struct report *report, struct peak_part *part, const struct peak_page *frame,
                    size_t most)
{
    struct holders holders = {0};
    struct peak_page page = *frame;
    page.part = part;
    page.holders = &holders;
    int err = page.ranks ? peak_ranks_weigh(report, &page, part) : 0;
    if (err >= 0)
        err = holders_read(report->db, part->scope->process.id, part->scope->device,
                           part->peak->living_seq, most, &holders);
    if (err >= 0)
        err = read_total(report->db, part->scope->device, &page.total);
    if (err >= 0)
        put_fitting(report, &page, most);
    holders_clear(&holders);
    return err;
}

int peak_put_page_of(struct report *report, const struct report_scope *scope,
                     const struct peak_page *frame, size_t most)
{
    struct peak peak = {0};
    struct peak_part part;
    int err = peak_part_read(report, scope, (int64_t)most, &part, &peak);
    if (err >= 0 && !peak_part_shows(&part))
        report_nothing(report);
    else if (err >= 0 && peak.found)
        err = put_part(report, &part, frame, most);
    else if (err >= 0) {
        report_heading(report, part.ooms.shown ? "Refused request" : "Peak", scope);
        peak_put_oom(&part);
        driven_put_peak(report, &part.driven);
        driven_put_held(report, &part.driven, (int64_t)most);
    }
    if (err >= 0 && peak.found)
        peak_note_difference(&report->emit, &peak);
    peak_clear(&peak);
    peak_part_clear(&part);
    return err;
}
