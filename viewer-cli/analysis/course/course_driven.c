/*
 * course_driven.c - the timeline of a device that no framework had a block on: the points of
 * driven.h are its events.
 */
#include "course_parts.h"
#include "error.h"
#include "mem.h"

int course_driven_range(struct course_work *work)
{
    const struct driven *driven = &work->driven;
    struct course *out = work->out;
    struct instant end;
    struct driven_point point;
    int err = driven_find(work->db, driven, "end", INT64_MIN, INT64_MAX, &end, &point);
    if (err < 0 || !driven->count)
        return err == ERR_NOTFOUND ? 0 : err;
    const struct driven_point *last = &driven->points[driven->count - 1];
    out->first_seq = driven->points[0].seq;
    out->from_ns = driven->points[0].ns;
    out->last_seq = end.seq > last->seq ? end.seq : last->seq;
    out->until_ns = end.at_ns > last->ns ? end.at_ns : last->ns + 1;
    return 1;
}

/* Their sum as the range begins is the base. */
int course_driven_events(struct course_work *work)
{
    const struct driven *driven = &work->driven;
    const struct course *out = work->out;
    int64_t before = 0;
    for (size_t i = 0; i < driven->count; i++) {
        const struct driven_point *point = &driven->points[i];
        struct course_event event = {.seq = point->seq,
                                     .ns = point->ns,
                                     .change = point->bytes - before,
                                     .purpose = PURPOSE_OTHER};
        before = point->bytes;
        if (point->ns < out->from_ns) {
            work->base[PURPOSE_OTHER] += event.change;
            continue;
        }
        if (point->ns > out->until_ns)
            break;
        if (!MEM_GROW(work->events, work->event_cap, work->event_count + 1))
            return ERR_NOMEM;
        work->events[work->event_count++] = event;
    }
    return 0;
}

int course_driven_peak(struct course_work *work)
{
    struct course *out = work->out;
    struct instant instant;
    struct driven_point point;
    out->peak_at = 0;
    for (unsigned i = 0; i < out->count; i++)
        if (out->columns[i].max > out->columns[out->peak_at].max)
            out->peak_at = i;
    const struct course_column *column = &out->columns[out->peak_at];
    out->peak = column->max;
    out->peak_ns = column->from_ns;
    out->peak_seq = out->peak_step = COURSE_NONE;
    int err = driven_find(work->db, &work->driven, NULL, work->request->first_step,
                          work->request->last_step, &instant, &point);
    if (err < 0 || point.bytes != out->peak)
        return err == ERR_NOTFOUND ? 0 : err;
    out->peak_ns = instant.at_ns;
    out->peak_seq = instant.seq;
    out->peak_step = instant.step == INSTANT_NONE ? COURSE_NONE : instant.step;
    return instant.phase == INSTANT_NONE ? 0 : phase_path(work->db, instant.phase, &out->peak_path);
}
