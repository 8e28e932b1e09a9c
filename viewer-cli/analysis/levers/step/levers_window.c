/*
 * All steps that were asked about, if they are not too many; else the peak's own, then the next and
 * the one before in turn, as long as there is room. What the program does behind its last step is
 * part of the last window, if nobody asked for some steps only.
 *
 * A step that was cut short, as by the end of a recording, is none of them, unless the peak is in
 * it: a change is not seen in what the rest of the step would have freed, and it would be said to
 * save less than it does.
 */
#include "levers_window.h"

#include <stdlib.h>

#include "category_rules.h"
#include "error.h"
#include "mem.h"
#include "query.h"

enum { EVENTS_MOST = 400000 };

struct bounds {
    int64_t step, begin, end;
};

struct window {
    struct bounds *steps; /* by begin */
    size_t count, own, first, last;
    bool cut; /* a step is not among them */
};

static int by_begin(const void *one, const void *other)
{
    const struct bounds *a = one, *b = other;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int read_last(struct db *db, int64_t process, int64_t *last)
{
    int64_t last_seq = QUERY_NONE;
    int err = query_read(db, "SELECT last_seq FROM process WHERE id = ?1", Q_IN(process),
                         Q_OUT(Q_OPT(last_seq)));
    *last = last_seq == QUERY_NONE ? INT64_MIN : last_seq;
    return err;
}

static void take_steps(const struct category_rules *rules, const struct peak *peak, int64_t last,
                       struct window *window)
{
    for (size_t i = 0; i < rules->step_count; i++) {
        const struct category_bounds *step = &rules->steps[i];
        if (step->step < peak->first_step || step->step > peak->last_step)
            continue;
        if (step->cut_seq != CATEGORY_UNKNOWN && step->step != peak->step) {
            window->cut = true;
            continue;
        }
        int64_t end = step->end_seq == CATEGORY_UNKNOWN ? last : step->end_seq;
        if (step->step == peak->step && end < peak->seq)
            end = peak->seq;
        window->steps[window->count++] = (struct bounds){
            step->step, step->begin_seq, end < step->begin_seq ? step->begin_seq : end};
    }
    if (window->count)
        qsort(window->steps, window->count, sizeof *window->steps, by_begin);
    while (window->own < window->count && window->steps[window->own].step != peak->step)
        window->own++;
}

static bool has_room(const struct window *window, size_t first, size_t last)
{
    return window->steps[last].end - window->steps[first].begin <= EVENTS_MOST;
}

static void widen(struct window *window)
{
    bool more = true;
    window->first = window->last = window->own;
    while (more) {
        more = false;
        if (window->last + 1 < window->count && has_room(window, window->first, window->last + 1)) {
            window->last++;
            more = true;
        }
        if (window->first > 0 && has_room(window, window->first - 1, window->last)) {
            window->first--;
            more = true;
        }
    }
}

static void take_window(const struct window *window, const struct peak *peak, int64_t last,
                        struct levers_step *out)
{
    bool all = peak->first_step == INT64_MIN && peak->last_step == INT64_MAX;
    const struct bounds *own = &window->steps[window->own];
    out->own_begin = own->begin;
    out->own_end = own->end;
    out->first = window->steps[window->first].step;
    out->last = window->steps[window->last].step;
    out->begin = window->steps[window->first].begin;
    out->end = own->end;
    for (size_t i = window->first; i <= window->last; i++)
        out->end = window->steps[i].end > out->end ? window->steps[i].end : out->end;
    out->whole = window->first == 0 && window->last + 1 == window->count;
    if (all && out->whole && !window->cut && last > out->end && last - out->begin <= EVENTS_MOST)
        out->end = last;
}

int levers_window_find(struct db *db, const struct peak *peak, struct levers_step *out)
{
    struct category_rules *rules;
    struct window window = {0};
    int64_t last = INT64_MIN;
    int err = read_last(db, peak->process, &last);
    if (err == 0)
        err = category_load(db, peak->process, &rules);
    if (err < 0)
        return err;
    if (!(window.steps = mem_alloc(rules->step_count + 1, sizeof *window.steps)))
        err = ERR_NOMEM;
    if (err == 0) {
        take_steps(rules, peak, last, &window);
        err = window.own < window.count ? 0 : ERR_NOTFOUND;
    }
    category_free(rules);
    if (err == 0) {
        widen(&window);
        take_window(&window, peak, last, out);
    }
    mem_free(window.steps);
    return err;
}

int levers_window_run(struct db *db, const struct peak *peak, struct levers_step *out)
{
    int64_t last;
    int err = read_last(db, peak->process, &last);
    if (err < 0 || last == INT64_MIN)
        return err < 0 ? err : ERR_NOTFOUND;
    if (last > EVENTS_MOST)
        return ERR_LIMIT;
    out->end = out->own_end = last > peak->seq ? last : peak->seq;
    out->first = out->last = peak->step;
    out->whole = true;
    return 0;
}
