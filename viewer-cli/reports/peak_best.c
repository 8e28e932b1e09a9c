/*
 * The changes that a person sees first: three, as code, and what all of them are worth together.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "human.h"
#include "peak_parts.h"

enum { BEST = 3 };

/* What the words in front of figures say. */
enum grades { PROMISES, ESTIMATES, BOUNDS, BOTH, GRADES };

/* All lists of changes have the same heading. Behind it, which stand first and what the words in
 * front of figures mean: all of that, or what there is room for, in this order. */
enum { HEADINGS = 3 };

#define COLUMNS(text)                                                                              \
    {                                                                                              \
        {NULL, "saves", EMIT_TEXT, EMIT_PEOPLE},                                                   \
        {                                                                                          \
            NULL, "changes that lower the peak" text, EMIT_TEXT, EMIT_PEOPLE | EMIT_WRAP           \
        }                                                                                          \
    }
#define ORDERS(grades)                                                                             \
    {                                                                                              \
        {COLUMNS(", best first" grades), COLUMNS(grades), COLUMNS(", best first")},                \
        {                                                                                          \
            COLUMNS(", same results first" grades), COLUMNS(", same results first"),               \
                COLUMNS(", same results first")                                                    \
        }                                                                                          \
    }

/* The second of each: one that changes the training's numbers saves more than the first. */
static const struct emit_column best_columns[GRADES][2][HEADINGS][2] = {
    [PROMISES] = ORDERS(""),
    [ESTIMATES] = ORDERS(" (about: estimated; else to 1 %)"),
    [BOUNDS] = ORDERS(" (at most: bound; else to 1 %)"),
    [BOTH] = ORDERS(" (about: estimated, at most: bound)"),
};

/* `used`: columns before the heading. */
static void open_best(struct emit *emit, const struct lever *const *best, size_t count,
                      unsigned used)
{
    bool about = false, at_most = false, outdone = false;
    for (size_t i = 0; i < count; i++) {
        at_most = at_most || levers_is_bound(best[i]);
        about = about || (levers_is_estimate(best[i]) && !levers_is_bound(best[i]));
        outdone = outdone || levers_worth(best[i]) > levers_worth(best[0]);
    }
    enum grades grades = about && at_most ? BOTH : about ? ESTIMATES : at_most ? BOUNDS : PROMISES;
    const struct emit_column(*columns)[2] = best_columns[grades][outdone];
    size_t at = 0;
    while (at + 1 < HEADINGS && emit->width && used + strlen(columns[at][1].header) > emit->width)
        at++;
    emit_section(emit, "best_levers", NULL, EMIT_ROWS, columns[at], 2);
}

/* How deep in brackets a place is, from that of the character before it. */
static int depth_behind(int depth, char c)
{
    return depth + (c == '(' || c == '[') - (c == ')' || c == ']');
}

/* How much of a text is a clause that can stand alone, less than `most`: up to a colon where its
 * code begins, up to a comma before that, or without an addition behind a semicolon. Not inside of
 * brackets or of backticks, which are code or a place. 0: there is none. */
static size_t find_clause(const char *text, size_t most)
{
    size_t longest = 0;
    bool code = false, added = false, quoted = false;
    int depth = 0;
    for (size_t at = 0; text[at] && at < most && !added; at++) {
        depth = depth_behind(depth, text[at]);
        quoted = quoted != (text[at] == '`');
        if (depth || quoted || text[at + 1] != ' ')
            continue;
        added = text[at] == ';';
        if (added || (!code && (text[at] == ':' || text[at] == ',')))
            longest = at;
        code = code || text[at] == ':';
    }
    return longest;
}

static bool is_cut(const struct buf *text, const struct buf *cut)
{
    if (text->count != cut->count)
        return true;
    return text->count && memcmp(text->data, cut->data, text->count) != 0;
}

struct fitting { /* of a clause: what stands behind it, and in how many lines more */
    bool pointer;
    unsigned more;
};

/* The longest that fits so. False: none does. */
static bool put_fitting(struct buf *cut, const char *text, const char *rest,
                        const struct fitting *how, unsigned width, unsigned lines)
{
    struct buf clause = {0}, shown = {0};
    bool done = false;
    for (size_t bytes = strlen(text); !done && (bytes = find_clause(text, bytes)) > 0;) {
        clause.count = shown.count = 0;
        buf_print(&clause, "%.*s%s%s", (int)bytes, text, how->pointer ? " (see --levers)" : "",
                  rest);
        emit_put_cut_lines(&shown, buf_string(&clause), width, lines + how->more);
        done = !is_cut(&clause, &shown);
    }
    if (done) {
        cut->count = 0;
        buf_add(cut, shown.data, shown.count);
    }
    cut->broken = cut->broken || clause.broken || shown.broken;
    buf_clear(&clause);
    buf_clear(&shown);
    return done;
}

/* A part of a line of code does something else, or nothing: what does not fit goes as a whole, and
 * what the change is stays, and `rest`. */
static void put_clause(struct buf *cut, const char *text, const char *rest, unsigned width,
                       unsigned lines)
{
    static const struct fitting ways[] = {{true, 0}, {false, 0}, {true, 1}};
    bool done = false;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !done; i++)
        done = put_fitting(cut, text, rest, &ways[i], width, lines);
    if (done)
        return;
    cut->count = 0;
    emit_put_cut_lines(cut, text, width, lines + 1);
}

/* Why it saves less than it is about: "; the peak is then in optimizer". */
static void put_limit(struct buf *out, const struct lever *lever)
{
    if (levers_is_bound(lever))
        return;
    if (lever->next_phase && lever->bytes < lever->alive / 10 * 9)
        buf_print(out, "; the peak is then in %s", lever->next_phase);
    else if (lever->shared && *lever->over_phase && lever->over_ranks < lever->bytes / 10 * 9)
        buf_print(out, "; another rank's %s is then the peak", lever->over_phase);
}

/* A text of so many lines at most, as wide as there is room beside `used` columns. */
static void put_cut_text(struct emit *emit, const struct lever *lever, unsigned lines,
                         unsigned used)
{
    enum { NARROW = 24 }; /* no narrower than a column that is wrapped */
    struct buf cut = {0}, text = {0}, limit = {0}, whole = {0};
    unsigned width = emit->width > used + NARROW ? emit->width - used : NARROW;
    buf_print(&text, "%s%s", lever->changes ? "(changes results) " : "", lever->text);
    put_limit(&limit, lever);
    buf_print(&whole, "%s%s", buf_string(&text), buf_string(&limit));
    emit_put_cut_lines(&cut, buf_string(&whole), emit->width ? width : 0, lines);
    bool code = !is_cut(&whole, &cut);
    if (!code) { /* it goes before what limits it */
        cut.count = 0;
        emit_put_cut_lines(&cut, buf_string(&text), emit->width ? width : 0, lines);
        code = !is_cut(&text, &cut);
    }
    if (!code)
        put_clause(&cut, buf_string(&text), buf_string(&limit), width, lines);
    emit_text(emit, buf_string(&cut));
    emit->out.broken =
        emit->out.broken || cut.broken || text.broken || limit.broken || whole.broken;
    buf_clear(&cut);
    buf_clear(&text);
    buf_clear(&limit);
    buf_clear(&whole);
}

static const struct lever *find_together(const struct levers *levers)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].kind == LEVER_TOGETHER)
            return &levers->levers[i];
    return NULL;
}

/* While each alone leaves another moment of the step as high as it is. */
static bool is_more_than_sum(const struct levers *levers, const struct lever *all)
{
    int64_t sum = 0;
    for (size_t i = 0; i < levers->count; i++)
        sum += levers->levers[i].joined ? levers_worth(&levers->levers[i]) : 0;
    return levers_worth(all) > sum;
}

/* Where the next of names begins, or their end: a comma in brackets is one name's. */
static size_t next_name(const char *names, size_t at)
{
    int depth = 0;
    for (; names[at]; at++) {
        depth = depth_behind(depth, names[at]);
        if (!depth && names[at] == ',' && names[at + 1] == ' ')
            return at + 2;
    }
    return at;
}

static size_t count_names(const char *names)
{
    size_t count = 0;
    for (size_t at = 0; names[at]; at = next_name(names, at))
        count++;
    return count;
}

/* As many whole names as have room, "and 3 more", and `see`. False: not even one has. */
static bool put_some_names(struct buf *line, const char *names, size_t room, const char *see)
{
    const size_t count = count_names(names);
    char rest[64], fitting[64] = "";
    size_t at = 0, end = 0;
    for (size_t shown = 1; shown < count; shown++) {
        at = next_name(names, at);
        int n = snprintf(rest, sizeof rest, ", and %zu more%s", count - shown, see);
        if (at - 2 + (size_t)n > room)
            break;
        end = at - 2;
        memcpy(fitting, rest, sizeof fitting);
    }
    buf_add(line, names, end);
    buf_text(line, fitting);
    return end > 0;
}

/* Behind what is there, names in one line of so many columns, 0: any number. The pointer to the
 * rest goes before the last name does. */
static void put_names(struct buf *line, const char *names, unsigned width)
{
    static const char see[] = " (see --levers)";
    const size_t bytes = strlen(names), room = width > line->count ? width - line->count : 0;
    bool pointer = !width || bytes + sizeof see - 1 <= room;
    if (pointer || bytes <= room)
        buf_print(line, "%s%s", names, pointer ? see : "");
    else if (!put_some_names(line, names, room, see) && !put_some_names(line, names, room, ""))
        buf_print(line, "%zu changes", count_names(names));
}

/* Not all combine: without a large estimate that does not, they may save less than that one alone,
 * which would be read as a mistake. So it says which do: not all stand above, and not all above do.
 */
static void put_together(const struct peak_part *part, const struct lever *largest)
{
    const struct lever *all = find_together(&part->levers);
    struct buf line = {0};
    char bytes[HUMAN_MAX];
    if (!all || levers_worth(all) <= levers_worth(largest))
        return;
    buf_print(&line, "together: %s%s%s for ", peak_grade_of_worth(all),
              human_bytes(bytes, levers_worth(all)),
              is_more_than_sum(&part->levers, all) ? ", more than their sum," : "");
    put_names(&line, all->text + all->names_at, part->emit->width);
    emit_line(part->emit, "%s", buf_string(&line));
    part->emit->out.broken = part->emit->out.broken || line.broken;
    buf_clear(&line);
}

/* Behind what is there, in one line of so many columns, 0: any number; its code goes first. */
static void put_short(struct buf *line, const char *text, unsigned width)
{
    size_t bytes = strlen(text);
    size_t room = width > line->count ? width - line->count : 0;
    for (size_t less = bytes; width && bytes > room && less;)
        if ((less = find_clause(text, less)) > 0)
            bytes = less;
    buf_add(line, text, bytes);
}

/* What changes the training's numbers stands behind the others: who sees those alone would think
 * that nothing helps more. */
static void put_larger(const struct peak_part *part, const struct lever *const *best, size_t count)
{
    const struct lever *larger = NULL;
    struct buf line = {0}, cut = {0};
    char bytes[HUMAN_MAX];
    for (size_t i = 0; i < part->levers.count; i++) {
        const struct lever *one = &part->levers.levers[i];
        if (one->changes && levers_worth(one) > levers_worth(larger ? larger : best[0]))
            larger = one;
    }
    for (size_t i = 0; i < count && larger; i++)
        larger = best[i] == larger ? NULL : larger;
    if (!larger)
        return;
    buf_print(&line, "more, but it changes results: %s%s, ", peak_grade_of_worth(larger),
              human_bytes(bytes, levers_worth(larger)));
    put_short(&line, larger->text, part->emit->width);
    emit_put_cut_lines(&cut, buf_string(&line), part->emit->width, 1);
    emit_line(part->emit, "%s", buf_string(&cut));
    part->emit->out.broken = part->emit->out.broken || line.broken || cut.broken;
    buf_clear(&line);
    buf_clear(&cut);
}

/* Of the request that ended the run. */
static int64_t missing(const struct peak_part *part)
{
    bool known = part->peak->refused && part->ooms.shown && part->oom_fit.short_by > 0;
    return known ? part->oom_fit.short_by : LEVERS_NONE;
}

void peak_put_best_levers(const struct peak_part *part, unsigned first, unsigned lines, bool limits)
{
    const struct lever *best[BEST];
    const size_t count = levers_best(&part->levers, missing(part), BEST, best);
    unsigned widest = 5; /* "saves" */
    if (!count) {
        peak_put_why_none(part);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char text[HUMAN_MAX], amount[HUMAN_MAX + 16];
        int n = snprintf(amount, sizeof amount, "%s%s", peak_grade_of_worth(best[i]),
                         human_bytes(text, levers_worth(best[i])));
        widest = (unsigned)n > widest ? (unsigned)n : widest;
    }
    open_best(part->emit, best, count, widest + 2);
    for (size_t i = 0; i < count; i++) {
        peak_put_amount(part->emit, levers_worth(best[i]), peak_grade_of_worth(best[i]));
        put_cut_text(part->emit, best[i], i ? (lines + 2 - (unsigned)i) / 2 : first, widest + 2);
    }
    put_together(part, best[0]);
    put_larger(part, best, count);
    if (part->peak->refused && limits)
        emit_line(part->emit, "for this request; what the run would ask for later is not known");
}
