/* plan_print.c - what a plan found, printed: see plan.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "plan_print.h"

void print_values(struct print *print, const struct vary_at *at, size_t without)
{
    struct buf text = {0};
    vary_put_text(&print->plan->vary, at, without, ", ", &text);
    emit_text(&print->emit, text.count ? buf_string(&text) : NULL);
    buf_clear(&text);
}

void print_card(struct print *print, size_t card)
{
    const struct plan *plan = print->plan;
    emit_text(&print->emit, plan->several && card != PLAN_NONE ? plan->cards[card].gpu : NULL);
}

/* ---- which way it went ---- */

static size_t count_recorded(const struct plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->try_count; i++)
        count += plan->tries[i].card == PLAN_NONE;
    return count;
}

/* A GPU that is named by its capability has it in its title. */
static void put_gpu(const struct profile *profile, struct buf *line)
{
    char memory[HUMAN_MAX];
    buf_print(line, "%s, %s", profile->title, human_bytes(memory, (int64_t)profile->memory));
    if (!strstr(profile->title, "capability"))
        buf_print(line, ", capability %d.%d", profile->capability->major,
                  profile->capability->minor);
}

static void say_way(struct print *print)
{
    const struct plan *plan = print->plan;
    struct buf line = {0};
    char memory[HUMAN_MAX], count[32] = "";
    const struct plan_card *card = &plan->cards[0];
    size_t recorded = count_recorded(plan);
    if (plan->options->gpus > 1)
        snprintf(count, sizeof count, "%" PRId64 " x ", plan->options->gpus);
    if (plan->way == PLAN_SCALING)
        buf_print(&line, "by scaling of %zu CPU recording%s", recorded, recorded == 1 ? "" : "s");
    else
        buf_print(&line, "by %zu rehearsal%s", plan->try_count, plan->try_count == 1 ? "" : "s");
    if (plan->several)
        buf_print(&line, ", for %zu GPUs", plan->card_count);
    else if (plan->way == PLAN_SCALING)
        buf_print(&line, ", for %s", human_bytes(memory, (int64_t)card->profile.memory));
    else {
        buf_print(&line, ", as on %s", count);
        put_gpu(&card->profile, &line);
    }
    if (plan->options->reserve)
        buf_print(&line, ", %s set aside", human_bytes(memory, plan->options->reserve));
    buf_print(&line, "; recordings in %s", plan->folder);
    if (print->emit.format == EMIT_TABLE)
        emit_line(&print->emit, "%s", buf_string(&line));
    else
        emit_warning(&print->emit, "%s", buf_string(&line));
    buf_clear(&line);
}

/* ---- laws of a scaled run ---- */

static const struct emit_column law_columns[] = {
    {"gpu", "GPU", EMIT_TEXT, EMIT_IF_KNOWN | EMIT_PROGRAMS},
    {"values", "at", EMIT_TEXT, EMIT_IF_KNOWN},
    {"bytes", NULL, EMIT_BYTES, 0},
    {"blocks", NULL, EMIT_COUNT, 0},
    {"law", "grows", EMIT_TEXT, 0},
    {"site", "call site", EMIT_TEXT, EMIT_NAME | EMIT_NONE},
};

static void put_laws_of(struct print *print, const struct plan_answer *answer)
{
    for (size_t i = 0; i < answer->peak.sites.count && i < PLAN_SITES; i++) {
        const struct group *group = &answer->peak.sites.groups[i];
        print_card(print, answer->card);
        print_values(print, &answer->at, VARY_NONE);
        emit_int(&print->emit, group->bytes);
        emit_int(&print->emit, group->blocks);
        emit_text(&print->emit, group->kind);
        emit_text(&print->emit, group->shown);
    }
}

/* People read those of the first answer; programs all. */
static void put_laws(struct print *print)
{
    const struct plan *plan = print->plan;
    bool people = print->emit.format == EMIT_TABLE;
    EMIT_SECTION(&print->emit, "laws", "How the largest call sites grow", EMIT_ROWS, law_columns);
    for (size_t i = 0; i < plan->answer_count; i++) {
        bool found = plan->answers[i].peak.sites.count > 0;
        if (found)
            put_laws_of(print, &plan->answers[i]);
        if (found && people)
            break;
    }
    emit_close(&print->emit);
}

static void note_laws(struct print *print, const struct plan_answer *answer)
{
    char constant[HUMAN_MAX], line[HUMAN_MAX], parabola[HUMAN_MAX], none[HUMAN_MAX];
    struct buf at = {0};
    const struct scale_peak *peak = &answer->peak;
    if (!peak->bytes)
        return;
    vary_put_text(&print->plan->vary, &answer->at, VARY_NONE, ", ", &at);
    emit_note(&print->emit, "of the bytes at %s: constant %s, linear %s, quadratic %s",
              buf_string(&at), human_bytes(constant, peak->law[SCALE_CONSTANT]),
              human_bytes(line, peak->law[SCALE_LINE]),
              human_bytes(parabola, peak->law[SCALE_PARABOLA]));
    if (peak->law[SCALE_NONE])
        emit_warning(&print->emit,
                     "does not scale as a polynomial: %" PRId64
                     " call site%s, %s at %s; taken to grow in proportion",
                     peak->sites_without_law, peak->sites_without_law == 1 ? "" : "s",
                     human_bytes(none, peak->law[SCALE_NONE]), buf_string(&at));
    buf_clear(&at);
}

/* ---- what else there is to say ---- */

static void note_failures(struct print *print)
{
    const struct plan *plan = print->plan;
    char status[64];
    for (size_t i = 0; i < plan->try_count; i++) {
        const struct plan_try *it = &plan->tries[i];
        if (it->result != TRY_FAILED)
            continue;
        plan_try_status(it, status, sizeof status);
        emit_warning(&print->emit, "%s%sfailed, %s, but not out of memory: %s (%s)", it->name,
                     *it->name ? " " : "", status, it->words ? it->words : "it printed nothing",
                     it->log);
    }
}

/* Where that is not what is said of the whole plan. */
static void note_unused(struct print *print)
{
    const struct plan *plan = print->plan;
    for (size_t i = 0; i < plan->try_count && !plan->no; i++) {
        const struct plan_try *it = &plan->tries[i];
        if (it->result == TRY_UNUSED)
            emit_warning(&print->emit, "%s%snever used the GPU%s (%s)", it->name,
                         *it->name ? " " : "the program ",
                         plan->way == PLAN_SCALING ? ": its memory on the CPU was taken" : "",
                         it->log);
    }
}

/* The program ended well, and yet it was refused memory: it has a way to live with that. */
static void note_survivors(struct print *print)
{
    const struct plan *plan = print->plan;
    for (size_t i = 0; i < plan->try_count; i++) {
        const struct plan_try *it = &plan->tries[i];
        bool told = it->words && plan_words_refuse(it->words); /* it died of that, behind --steps */
        if (it->result == TRY_REFUSED && it->status == 0 && it->seen.refusals && !told)
            emit_note(&print->emit, "%s%sran on after a request was refused", it->name,
                      *it->name ? " " : "");
    }
}

static void note_steps(struct print *print)
{
    const struct plan *plan = print->plan;
    bool cut = false;
    for (size_t i = 0; i < plan->try_count; i++) {
        const struct plan_try *it = &plan->tries[i];
        cut |= it->seen.cut;
        if (plan_is_stepless(plan, it))
            emit_warning(&print->emit,
                         "%s%sran no training step, and others did: what it needs is not known",
                         it->name, *it->name ? " " : "");
    }
    if (cut)
        emit_note(&print->emit,
                  "only the first %" PRId64 " step%s of each try count: a validation, a checkpoint "
                  "or a larger batch behind them is not in the answer; --steps 0 runs the whole "
                  "program",
                  plan->options->steps, plan->options->steps == 1 ? "" : "s");
}

/* Once for each capability. */
static void note_kernels(struct print *print)
{
    const struct plan *plan = print->plan;
    for (size_t i = 0; i < plan->card_count; i++)
        if (plan->cards[i].model == i && *plan_no_kernels(plan, i))
            emit_warning(&print->emit, "%s", plan_no_kernels(plan, i));
}

/* Of the first answer that rests on such values. */
static void note_not_computed(struct print *print)
{
    const struct plan *plan = print->plan;
    for (size_t i = 0; i < plan->answer_count; i++) {
        const struct plan_try *it = print_try_of(plan, &plan->answers[i]);
        int64_t all = print_unknown(it);
        if (!all)
            continue;
        emit_warning(&print->emit,
                     "unknown: the answer rests on %" PRId64 " value%s that a rehearsal does "
                     "not compute and takes as 0; tidemark peak %s says where",
                     all, all == 1 ? "" : "s", it->path);
        return;
    }
}

static void note_context(struct print *print)
{
    const struct plan *plan = print->plan;
    const struct profile *profile = &plan->cards[0].profile;
    char bytes[HUMAN_MAX];
    if (plan->several)
        emit_note(&print->emit,
                  "needs: the smallest memory that the run fits in, by replay, with the CUDA "
                  "context; >: more, for a request was refused, and what follows is not recorded");
    else
        emit_note(&print->emit, "of the memory %s are taken off for the CUDA context (%s)",
                  human_bytes(bytes, (int64_t)profile->context), profile->context_from);
    if (plan->way == PLAN_SCALING)
        emit_note(&print->emit, "not in a CPU recording: the workspaces of libraries, and what "
                                "other kernels take; --reserve SIZE sets memory aside for them");
}

static void note_all(struct print *print)
{
    const struct plan *plan = print->plan;
    note_failures(print);
    note_unused(print);
    note_survivors(print);
    note_steps(print);
    note_kernels(print);
    note_not_computed(print);
    if (plan->way == PLAN_SCALING && plan->answer_count)
        note_laws(print, &plan->answers[0]);
    if (plan_try_signal())
        emit_warning(&print->emit, "interrupted: what is known so far");
    if (plan->no)
        emit_warning(&print->emit, "%s (%s)", plan->no, plan->tries[plan->try_count - 1].log);
    else
        note_context(print);
}

/* The largest that fits is the last that was asked for: nothing says that it is the largest. */
static void say_end_of_range(struct print *print)
{
    const struct plan *plan = print->plan;
    struct buf value = {0};
    bool any = false;
    if (plan->vary.searched == VARY_NONE || print->emit.format != EMIT_TABLE)
        return;
    const struct vary_name *name = plan_searched(plan);
    for (size_t i = 0; i < plan->answer_count && !any; i++)
        any = plan->answers[i].largest == name->count - 1;
    if (!any)
        return;
    vary_put_value(name, name->count - 1, &value);
    emit_line(&print->emit, "%.60s=%s is the last value of --vary: larger values may fit",
              name->name, buf_string(&value));
    buf_clear(&value);
}

int plan_print(struct plan *plan)
{
    struct print print = {.plan = plan};
    emit_begin(&print.emit, (enum emit_format)plan->options->format,
               plan->options->no_colour ? EMIT_COLOUR_NEVER : EMIT_COLOUR_AUTO, plan->command->name,
               NULL);
    say_way(&print);
    int err = print_answers(&print);
    if (err == 0)
        say_end_of_range(&print);
    if (err == 0)
        err = print_tries(&print);
    if (err == 0 && plan->way == PLAN_SCALING)
        put_laws(&print);
    if (err < 0) {
        emit_drop(&print.emit);
        return err;
    }
    note_all(&print);
    return emit_finish(&print.emit, stdout);
}
