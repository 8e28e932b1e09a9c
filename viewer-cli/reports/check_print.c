/* What tidemark check prints: rows, the verdict, and the cases of its JUnit file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check_fold.h"
#include "check_run.h"
#include "error.h"
#include "human.h"
#include "junit.h"
#include "mem.h"

/* ---- rows ---- */

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"result", NULL, EMIT_TEXT, 0},
    {"check", NULL, EMIT_TEXT, 0},
    {NULL, "measured", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {NULL, "limit", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {"measured", NULL, EMIT_ANY, EMIT_PROGRAMS},
    {"limit", NULL, EMIT_ANY, EMIT_PROGRAMS},
    {"unit", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"note", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "where", EMIT_TEXT, EMIT_PEOPLE | EMIT_WRAP | EMIT_NONE},
};

static const char *text_of(char text[HUMAN_MAX], enum check_unit unit, int64_t value, double ratio)
{
    switch (unit) {
    case CHECK_BYTES:
        return value < 0 ? human_delta(text, value) : human_bytes(text, value);
    case CHECK_RATIO:
        return human_percent(text, ratio);
    default:
        return human_count(text, value);
    }
}

struct texts {
    char measured[HUMAN_MAX], limit[HUMAN_MAX];
};

/* What was measured and its limit. Where they look the same and are not, all their digits. */
static void put_texts(struct texts *texts, const struct check_finding *finding)
{
    text_of(texts->measured, finding->unit, finding->value, finding->ratio);
    text_of(texts->limit, finding->unit, finding->limit, finding->limit_ratio);
    if (strcmp(texts->measured, texts->limit) != 0)
        return;
    if (finding->unit == CHECK_BYTES && finding->value != finding->limit) {
        snprintf(texts->measured, HUMAN_MAX, "%" PRId64 " B", finding->value);
        snprintf(texts->limit, HUMAN_MAX, "%" PRId64 " B", finding->limit);
    } else if (finding->unit == CHECK_RATIO && finding->result == CHECK_FAILED) {
        snprintf(texts->measured, HUMAN_MAX, "%.6g %%", finding->ratio * 100);
        snprintf(texts->limit, HUMAN_MAX, "%.6g %%", finding->limit_ratio * 100);
    }
}

static bool has_limit(const struct check_finding *finding)
{
    return finding->known || !finding->relative;
}

static void join(struct buf *out, const char *text)
{
    if (!text || !*text)
        return;
    buf_print(out, "%s%s", out->count ? "; " : "", text);
}

/* Why it is not known, or where it was and what else there is to say. */
static void put_where(struct buf *out, const struct check_finding *finding)
{
    if (finding->result == CHECK_UNKNOWN)
        join(out, finding->why_not);
    if (finding->step != GROUP_NONE)
        buf_print(out, "%sstep %" PRId64 "%s%s", out->count ? "; " : "", finding->step,
                  finding->phase ? ", " : "", finding->phase ? finding->phase : "");
    else
        join(out, finding->phase);
    join(out, finding->site);
    join(out, finding->note);
}

static void put_whose(struct buf *out, const struct check_row *row)
{
    if (!row->process) {
        buf_text(out, "no process");
        return;
    }
    buf_print(out, "process %" PRId64 " (pid %" PRId64, row->process->id, row->process->pid);
    if (row->process->rank != REPORT_ANY)
        buf_print(out, ", rank %" PRId64, row->process->rank);
    buf_text(out, ")");
    if (row->scope)
        buf_print(out, " on %s", row->scope->device_text);
}

static void put_number(struct emit *emit, const struct check_finding *finding, bool there,
                       int64_t value, double ratio)
{
    if (!there)
        emit_null(emit);
    else if (finding->unit == CHECK_RATIO)
        emit_real(emit, ratio);
    else
        emit_int(emit, value);
}

/* "rank 3, step 7, backward": of the worst of many, whose it is. */
static void put_owner(struct buf *where, const struct check_row *row)
{
    const struct report_process *process = row->process;
    struct buf rest = *where;
    if (!row->finding.known || !rest.count)
        return;
    *where = (struct buf){0};
    if (process->rank != REPORT_ANY)
        buf_print(where, "rank %" PRId64, process->rank);
    else
        buf_print(where, "process %" PRId64, process->id);
    buf_print(where, ", %s", buf_string(&rest));
    where->broken = where->broken || rest.broken;
    buf_clear(&rest);
}

/* `of_many`: the worst of places that fare alike. */
static int put_row(struct emit *emit, const struct check_row *row, bool of_many)
{
    static const char *const units[] = {"bytes", "ratio", "count"};
    const struct check_finding *finding = &row->finding;
    struct texts texts;
    struct buf where = {0};
    put_where(&where, finding);
    if (of_many)
        put_owner(&where, row);
    put_texts(&texts, finding);
    if (row->process)
        emit_int(emit, row->process->id);
    else
        emit_null(emit);
    emit_text(emit, row->scope ? row->scope->device_text : NULL);
    emit_text(emit, check_result_text(finding->result));
    emit_text(emit, finding->check);
    emit_text(emit, finding->known ? texts.measured : NULL);
    emit_text(emit, has_limit(finding) ? texts.limit : NULL);
    put_number(emit, finding, finding->known, finding->value, finding->ratio);
    put_number(emit, finding, has_limit(finding), finding->limit, finding->limit_ratio);
    emit_text(emit, units[finding->unit]);
    emit_known(emit, finding->step);
    emit_text(emit, finding->phase);
    emit_text(emit, finding->site);
    if (finding->result == CHECK_UNKNOWN)
        emit_text(emit, finding->why_not);
    else
        emit_text(emit, *finding->note ? finding->note : NULL);
    emit_text(emit, where.count ? buf_string(&where) : NULL);
    int err = where.broken ? ERR_NOMEM : 0;
    buf_clear(&where);
    return err;
}

bool check_same_table(const struct check_run *run, const struct check_row *row,
                      const struct check_row *before)
{
    const struct report *report = run->report;
    if (!row->process || !before->process)
        return row->process == before->process;
    if (row->process->id != before->process->id)
        return false;
    if (row->scope || !before->scope)
        return row->scope == before->scope;
    size_t next = report_scopes_from(report, row->process->id) + 1;
    return next >= report->scope_count || report->scopes[next].process.id != row->process->id;
}

static int open_table(struct emit *emit, const struct check_row *row)
{
    struct buf whose = {0};
    put_whose(&whose, row);
    if (row->process)
        emit_heading(emit, "Limits of %s", buf_string(&whose));
    EMIT_SECTION(emit, "checks", NULL, EMIT_ROWS, columns);
    int err = whose.broken ? ERR_NOMEM : 0;
    buf_clear(&whose);
    return err;
}

/* Of many places that fare alike. */
static int put_worst(struct emit *emit, const struct check_places *places, size_t at)
{
    const struct check_place *place = &places->list[at];
    struct buf names = {0};
    check_place_names(places, at, &names);
    emit_heading(emit, "Limits of %s: the worst of each check", buf_string(&names));
    EMIT_SECTION(emit, "checks", NULL, EMIT_ROWS, columns);
    int err = names.broken ? ERR_NOMEM : 0;
    for (size_t i = 0; i < place->count && err == 0; i++)
        err = put_row(emit, check_place_worst(places, at, i), true);
    buf_clear(&names);
    return err;
}

static int put_place(struct emit *emit, const struct check_places *places, size_t at)
{
    const struct check_place *place = &places->list[at];
    const struct check_row *rows = places->run->rows;
    int err = open_table(emit, &rows[place->first]);
    for (size_t i = 0; i < place->count && err == 0; i++)
        err = put_row(emit, &rows[place->first + i], false);
    return err;
}

static int put_tables(struct check_run *run)
{
    struct emit *emit = &run->report->emit;
    struct check_places places;
    bool folded = false;
    int err = check_places_find(run, &places);
    for (size_t i = 0; i < places.count && err == 0; i++) {
        if (check_place_is_folded(&places, i))
            continue;
        bool many = places.list[i].members > CHECK_FEW;
        err = many ? put_worst(emit, &places, i) : put_place(emit, &places, i);
        folded = folded || many;
    }
    if (folded)
        emit_note(emit, "those with the same results are in one table: --process or --rank shows "
                        "one of them, --format csv each");
    check_places_clear(&places);
    return err;
}

int check_put_rows(struct check_run *run)
{
    struct emit *emit = &run->report->emit;
    bool people = emit->format == EMIT_TABLE;
    int err = people ? put_tables(run) : 0;
    if (!people)
        EMIT_SECTION(emit, "checks", NULL, EMIT_ROWS, columns);
    for (size_t i = 0; i < run->count && err == 0 && !people; i++)
        err = put_row(emit, &run->rows[i], false);
    emit_close(emit);
    return err;
}

/* ---- the verdict ---- */

static bool is_failure(const struct check_run *run, const struct check_finding *finding)
{
    return finding->result == CHECK_FAILED ||
           (finding->result == CHECK_UNKNOWN && !run->options->limits.allow_unknown);
}

void check_say_verdict(const struct check_run *run)
{
    struct emit *emit = &run->report->emit;
    size_t failed = 0, unknown = 0;
    char more[40] = "";
    for (size_t i = 0; i < run->count; i++) {
        failed += run->rows[i].finding.result == CHECK_FAILED;
        unknown += run->rows[i].finding.result == CHECK_UNKNOWN;
    }
    const char *plural = run->count == 1 ? "" : "s";
    if (unknown)
        snprintf(more, sizeof more, ", %zu not known", unknown);
    if (failed)
        emit_note(emit, "%zu of %zu check%s failed%s", failed, run->count, plural, more);
    else if (unknown)
        emit_note(emit, "%zu of %zu check%s passed%s", run->count - unknown, run->count, plural,
                  more);
    else
        emit_note(emit, "%zu check%s passed", run->count, plural);
    if (unknown && !run->options->limits.allow_unknown)
        emit_note(emit, "what is not known counts as failed; --allow-unknown lets it pass");
}

bool check_any_failure(const struct check_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        if (is_failure(run, &run->rows[i].finding))
            return true;
    return false;
}

bool check_failed_by(const struct check_run *run, bool growth)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct check_finding *finding = &run->rows[i].finding;
        bool is_growth = finding->result == CHECK_FAILED && finding->growth;
        if (is_growth == growth && is_failure(run, finding))
            return true;
    }
    return false;
}

/* ---- JUnit ---- */

static void describe(struct buf *out, const struct check_finding *finding)
{
    struct texts texts;
    struct buf where = {0};
    put_where(&where, finding);
    put_texts(&texts, finding);
    buf_text(out, check_result_text(finding->result));
    if (finding->known)
        buf_print(out, ": %s, limit %s", texts.measured, texts.limit);
    if (where.count)
        buf_print(out, "; %s", buf_string(&where));
    out->broken = out->broken || where.broken;
    buf_clear(&where);
}

static int make_cases(const struct check_run *run, struct junit_case *cases, struct buf *texts)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct check_row *row = &run->rows[i];
        struct buf *group = &texts[2 * i], *message = &texts[2 * i + 1];
        put_whose(group, row);
        describe(message, &row->finding);
        if (group->broken || message->broken)
            return ERR_NOMEM;
        cases[i] = (struct junit_case){buf_string(group), row->finding.check,
                                       is_failure(run, &row->finding)         ? JUNIT_FAILED
                                       : row->finding.result == CHECK_UNKNOWN ? JUNIT_SKIPPED
                                                                              : JUNIT_PASSED,
                                       buf_string(message)};
    }
    return 0;
}

int check_make_junit(const struct check_run *run, struct buf *out)
{
    struct junit_case *cases = mem_alloc(run->count + 1, sizeof *cases);
    struct buf *texts = mem_alloc(2 * run->count + 1, sizeof *texts), suite = {0};
    int err = cases && texts ? make_cases(run, cases, texts) : ERR_NOMEM;
    buf_print(&suite, "tidemark check %s", run->report->path);
    if (err == 0)
        junit_put(out, buf_string(&suite), cases, run->count);
    if (suite.broken || out->broken)
        err = ERR_NOMEM;
    for (size_t i = 0; texts && i < 2 * run->count; i++)
        buf_clear(&texts[i]);
    buf_clear(&suite);
    mem_free(texts);
    mem_free(cases);
    return err;
}
