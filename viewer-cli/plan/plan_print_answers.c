/* plan_print_answers.c - the section of what fits: see plan_print.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "plan_print.h"

static void put_value(struct print *print, size_t place)
{
    struct buf text = {0};
    if (place == PLAN_NONE || print->plan->vary.searched == VARY_NONE) {
        emit_null(&print->emit);
        return;
    }
    vary_put_value(plan_searched(print->plan), place, &text);
    emit_text(&print->emit, text.broken ? NULL : buf_string(&text));
    buf_clear(&text);
}

/* As moments are named: "1/backward". */
static void put_where(struct print *print, int64_t step, const char *phase)
{
    struct buf text = {0};
    if (step != SEEN_NONE)
        buf_print(&text, "%" PRId64 "%s", step, phase ? "/" : "");
    if (phase)
        buf_text(&text, phase);
    emit_text(&print->emit, text.count ? buf_string(&text) : NULL);
    buf_clear(&text);
}

/* Of several GPUs people see what each has and what the run needs there; of one where the peak was.
 */
static const struct emit_column answer_columns[] = {
    {"gpu", "GPU", EMIT_TEXT, EMIT_IF_KNOWN},
    {"memory_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "memory", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {"context_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"values", "values", EMIT_TEXT, EMIT_IF_KNOWN},
    {"name", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"result", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "result", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
    {"largest", NULL, EMIT_TEXT, EMIT_IF_KNOWN | EMIT_NONE},
    {"refused", "does not fit", EMIT_TEXT, EMIT_IF_KNOWN | EMIT_NONE},
    {"allocated_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"reserved_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "needs", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "allocated", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
    {NULL, "reserved", EMIT_BYTES, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
    {"needed_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "peak in", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE | EMIT_NAME | EMIT_IF_KNOWN},
    {"known_by", "known by", EMIT_TEXT, EMIT_NONE},
    {"recording", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"needs_at_least_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"sizes_not_computed", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"library_sizes_not_known", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"outside_not_known", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"numbers_not_computed", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {NULL, "unknown", EMIT_COUNT, EMIT_PEOPLE | EMIT_IF_KNOWN | EMIT_NONE},
};
enum { ANSWER_COLUMNS = sizeof answer_columns / sizeof *answer_columns };

/* However much memory there is, a program without kernels for the GPU fails there. */
static const char *result_text(const struct plan *plan, const struct plan_answer *answer)
{
    static const char *const texts[] = {"not known", "fits", "does not fit"};
    return *plan_no_kernels(plan, answer->card) ? "no kernels" : texts[answer->state];
}

/* Where there is a largest value, it is the result. */
static bool says_itself(const struct print *print, const struct plan_answer *answer)
{
    return print->plan->vary.searched != VARY_NONE && answer->state == PLAN_FOUND &&
           !*plan_no_kernels(print->plan, answer->card);
}

/* The largest rests on its own try, or on a replay of it. */
static const char *known_by(const struct plan *plan, const struct plan_answer *answer)
{
    if (answer->state == PLAN_OPEN && answer->largest == PLAN_NONE)
        return NULL;
    if (plan->way == PLAN_SCALING)
        return "scaling";
    if (answer->replayed)
        return "replay";
    bool own = answer->largest_try != PLAN_NONE || answer->refused_try != PLAN_NONE;
    return own ? "rehearsal" : "smaller values";
}

/* That of another GPU of the capability, where it was bound by that one's answer. */
static const struct plan_try *find_refused(const struct plan *plan,
                                           const struct plan_answer *answer)
{
    struct vary_at at = answer->at;
    if (answer->refused == PLAN_NONE)
        return NULL;
    plan_set_place(plan, &at, answer->refused);
    for (size_t i = 0; i < plan->try_count; i++)
        if (plan->tries[i].card == plan->cards[answer->card].model &&
            memcmp(&plan->tries[i].at, &at, sizeof at) == 0)
            return &plan->tries[i];
    return NULL;
}

const struct plan_try *print_try_of(const struct plan *plan, const struct plan_answer *answer)
{
    size_t place = answer->largest_try == PLAN_NONE ? answer->refused_try : answer->largest_try;
    return place == PLAN_NONE ? find_refused(plan, answer) : &plan->tries[place];
}

int64_t print_unknown(const struct plan_try *it)
{
    int64_t all = 0;
    for (int kind = 0; it && kind < REHEARSED_KINDS; kind++)
        all += it->seen.unknown[kind];
    return all;
}

/* What a run needs that does not fit is known where it ran on another GPU; up to the request that
 * was refused it is a lower bound. SEEN_NONE. */
static int64_t least_of(const struct plan *plan, const struct plan_answer *answer)
{
    const struct plan_try *it = print_try_of(plan, answer);
    if (answer->need != SEEN_NONE || !it)
        return answer->need;
    return it->seen.need != SEEN_NONE ? it->seen.need : it->seen.at_least;
}

static bool is_bound(const struct plan *plan, const struct plan_answer *answer)
{
    const struct plan_try *it = print_try_of(plan, answer);
    return answer->need == SEEN_NONE && it && it->seen.need == SEEN_NONE;
}

/* "22.0 GiB", "> 19.7 GiB": with the CUDA context. */
static void put_needs(struct print *print, const struct plan_answer *answer)
{
    const struct plan *plan = print->plan;
    int64_t least = least_of(plan, answer);
    char text[HUMAN_MAX + 8] = "not known", bytes[HUMAN_MAX];
    if (least != SEEN_NONE)
        snprintf(text, sizeof text, "%s%s", is_bound(plan, answer) ? "> " : "",
                 human_bytes(bytes, least + (int64_t)plan->cards[answer->card].profile.context));
    emit_text(&print->emit, plan->several ? text : NULL);
}

static void put_not_computed(struct print *print, const struct plan_answer *answer)
{
    const struct plan_try *it = print_try_of(print->plan, answer);
    int64_t all = print_unknown(it);
    for (int kind = 0; kind < REHEARSED_KINDS; kind++)
        emit_known(&print->emit, it ? it->seen.unknown[kind] : SEEN_NONE);
    emit_known(&print->emit, all ? all : SEEN_NONE);
}

/* Of several GPUs the need says more. */
static void put_peak(struct print *print, const struct plan_answer *answer)
{
    bool one = !print->plan->several;
    emit_known(&print->emit, one ? answer->allocated : SEEN_NONE);
    emit_known(&print->emit, one ? answer->reserved : SEEN_NONE);
}

static void put_answer(struct print *print, const struct plan_answer *answer)
{
    const struct plan *plan = print->plan;
    const char *path =
        answer->largest_try == PLAN_NONE ? NULL : plan->tries[answer->largest_try].path;
    int64_t memory = (int64_t)plan->cards[answer->card].profile.memory;
    print_card(print, answer->card);
    emit_int(&print->emit, memory);
    emit_known(&print->emit, plan->several ? memory : SEEN_NONE);
    emit_int(&print->emit, (int64_t)plan->cards[answer->card].profile.context);
    print_values(print, &answer->at, plan->vary.searched);
    emit_text(&print->emit, plan->vary.searched == VARY_NONE ? NULL : plan_searched(plan)->name);
    emit_text(&print->emit, result_text(plan, answer));
    emit_text(&print->emit, says_itself(print, answer) ? NULL : result_text(plan, answer));
    put_value(print, answer->largest);
    put_value(print, answer->refused);
    emit_known(&print->emit, answer->allocated);
    emit_known(&print->emit, answer->reserved);
    put_needs(print, answer);
    put_peak(print, answer);
    emit_known(&print->emit, answer->need);
    emit_known(&print->emit, answer->step);
    emit_text(&print->emit, answer->phase);
    if (plan->several)
        emit_null(&print->emit);
    else
        put_where(print, answer->step, answer->phase);
    emit_text(&print->emit, known_by(plan, answer));
    emit_text(&print->emit, path);
    emit_known(&print->emit, is_bound(plan, answer) ? least_of(plan, answer) : SEEN_NONE);
    put_not_computed(print, answer);
}

static const struct plan *ordered; /* qsort has no context */

/* By memory, then by name; of one GPU in the order of the combinations. */
static int by_memory(const void *one, const void *other)
{
    const struct plan_answer *const *a = one, *const *b = other;
    const struct plan_card *card = &ordered->cards[(*a)->card], *with = &ordered->cards[(*b)->card];
    if (card->profile.memory != with->profile.memory)
        return card->profile.memory < with->profile.memory ? -1 : 1;
    int order = strcmp(card->gpu, with->gpu);
    return order ? order : *a < *b ? -1 : *a > *b;
}

static int put_rows(struct print *print)
{
    const struct plan *plan = print->plan;
    const struct plan_answer **list = mem_alloc(plan->answer_count + 1, sizeof *list);
    if (!list)
        return ERR_NOMEM;
    for (size_t i = 0; i < plan->answer_count; i++)
        list[i] = &plan->answers[i];
    ordered = plan;
    if (plan->answer_count)
        qsort(list, plan->answer_count, sizeof *list, by_memory);
    for (size_t i = 0; i < plan->answer_count; i++)
        put_answer(print, list[i]);
    mem_free(list);
    return 0;
}

/* "largest B" stands above its column. */
int print_answers(struct print *print)
{
    const struct plan *plan = print->plan;
    memcpy(print->columns, answer_columns, sizeof answer_columns);
    snprintf(print->largest_heading, sizeof print->largest_heading, "largest %.60s",
             plan->vary.searched == VARY_NONE ? "" : plan_searched(plan)->name);
    for (size_t i = 0; i < ANSWER_COLUMNS; i++)
        if (print->columns[i].key && strcmp(print->columns[i].key, "largest") == 0)
            print->columns[i].header = print->largest_heading;
    emit_section(&print->emit, "plan", "Values that fit", EMIT_ROWS, print->columns,
                 ANSWER_COLUMNS);
    int err = put_rows(print);
    emit_close(&print->emit);
    return err;
}
