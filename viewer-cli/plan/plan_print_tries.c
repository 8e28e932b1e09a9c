/* plan_print_tries.c - all that was tried, in the order of the values: see plan_print.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "plan_print.h"

static const struct emit_column try_columns[] = {
    {"gpu", "rehearsed on", EMIT_TEXT, EMIT_IF_KNOWN},
    {"values", "tried", EMIT_TEXT, EMIT_IF_KNOWN},
    {"result", NULL, EMIT_TEXT, 0},
    {"allocated_bytes", "allocated", EMIT_BYTES, EMIT_NONE},
    {"reserved_bytes", "reserved", EMIT_BYTES, EMIT_NONE},
    {"needed_bytes", "needed", EMIT_BYTES, EMIT_PROGRAMS},
    {"asked_bytes", "refused", EMIT_BYTES, EMIT_PROGRAMS},
    {"step", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"phase", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "moment", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {"grew_bytes", NULL, EMIT_DELTA, EMIT_PROGRAMS},
    {"grew_category", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"grew_site", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"took_ns", NULL, EMIT_NS, EMIT_PROGRAMS},
    {"exit_code", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"signal", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"last_words", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"recording", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "grew most", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE | EMIT_IF_KNOWN | EMIT_WRAP},
};

/* As moments are named: "1/backward". */
static void put_moment(struct print *print, const struct plan_try *it)
{
    struct buf text = {0};
    if (it->seen.found && it->seen.step != SEEN_NONE)
        buf_print(&text, "%" PRId64 "%s", it->seen.step, it->seen.phase ? "/" : "");
    if (it->seen.phase)
        buf_text(&text, it->seen.phase);
    emit_text(&print->emit, text.count ? buf_string(&text) : NULL);
    buf_clear(&text);
}

/* "+296 MiB activation, main (train.py:50)" */
static void put_growth(struct print *print, const struct plan_growth *growth)
{
    struct buf text = {0};
    char bytes[HUMAN_MAX];
    if (growth->bytes)
        buf_print(&text, "%s %s%s%s", human_delta(bytes, growth->bytes), growth->category,
                  growth->site ? ", " : "", growth->site ? growth->site : "");
    emit_text(&print->emit, text.count ? buf_string(&text) : NULL);
    buf_clear(&text);
}

static const char *result_of(const struct plan *plan, const struct plan_try *it)
{
    bool recorded = plan->way == PLAN_SCALING && it->result == TRY_FITS;
    if (plan_is_stepless(plan, it))
        return "no step";
    return recorded ? "recorded" : try_result_text(it->result);
}

static void put_try(struct print *print, const struct plan_try *it)
{
    struct emit *emit = &print->emit;
    int status = it->status;
    bool killed = (status & 0x7f) != 0;
    print_card(print, it->card);
    print_values(print, &it->at, VARY_NONE);
    emit_text(emit, result_of(print->plan, it));
    emit_known(emit, it->seen.found ? it->seen.allocated : SEEN_NONE);
    emit_known(emit, it->seen.found ? it->seen.reserved : SEEN_NONE);
    emit_known(emit, it->seen.found ? it->seen.need : SEEN_NONE);
    emit_known(emit, it->seen.found ? it->seen.asked : SEEN_NONE);
    emit_known(emit, it->seen.found ? it->seen.step : SEEN_NONE);
    emit_text(emit, it->seen.phase);
    put_moment(print, it);
    emit_known(emit, it->growth.bytes ? it->growth.bytes : SEEN_NONE);
    emit_text(emit, it->growth.category);
    emit_text(emit, it->growth.site);
    emit_int(emit, it->took_ns);
    emit_known(emit, killed ? SEEN_NONE : (status >> 8) & 0xff);
    emit_known(emit, killed ? status & 0x7f : SEEN_NONE);
    emit_text(emit, it->words);
    emit_text(emit, it->path);
    put_growth(print, &it->growth);
}

static const struct plan *sorted_plan; /* qsort has no context */

static int by_values(const void *one, const void *other)
{
    const struct plan_try *a = one, *b = other;
    const struct vary *vary = &sorted_plan->vary;
    if (a->card != b->card)
        return a->card < b->card ? -1 : 1;
    for (int searched = 0; searched < 2; searched++)
        for (size_t i = 0; i < vary->count; i++)
            if ((i == vary->searched) == searched && a->at.of[i] != b->at.of[i])
                return a->at.of[i] < b->at.of[i] ? -1 : 1;
    return 0;
}

/* Both are of one combination and one card. */
static bool belong_together(const struct plan *plan, const struct plan_try *a,
                            const struct plan_try *b)
{
    return a->card == b->card && vary_is_less(&plan->vary, &a->at, &b->at) &&
           vary_is_less(&plan->vary, &b->at, &a->at);
}

/* Against the try before it that has a recording of a run that did not fail early. A database that
 * cannot be read again costs the column only. */
static int find_growth(struct plan *plan, struct plan_try *list, size_t at)
{
    struct plan_try *it = &list[at];
    size_t before = at;
    while (before-- > 0 && belong_together(plan, &list[before], it))
        if (list[before].seen.found && it->seen.found && list[before].result != TRY_FAILED) {
            int err = plan_read_growth(list[before].path, &list[before].seen, it->path, &it->seen,
                                       &it->growth);
            return err == ERR_NOMEM ? err : 0;
        }
    return 0;
}

/* In the order of their values; answers name tries by their places, so the list itself stays. */
int print_tries(struct print *print)
{
    struct plan *plan = print->plan;
    struct plan_try *list = mem_alloc(plan->try_count + 1, sizeof *list);
    int err = list ? 0 : ERR_NOMEM;
    if (list && plan->try_count)
        memcpy(list, plan->tries, plan->try_count * sizeof *list);
    sorted_plan = plan;
    if (list && plan->try_count > 1)
        qsort(list, plan->try_count, sizeof *list, by_values);
    EMIT_SECTION(&print->emit, "tries", "Tried", EMIT_ROWS, try_columns);
    for (size_t i = 0; i < plan->try_count && err == 0; i++) {
        err = find_growth(plan, list, i);
        if (err == 0)
            put_try(print, &list[i]);
        plan_growth_clear(&list[i].growth);
    }
    mem_free(list);
    return err;
}
